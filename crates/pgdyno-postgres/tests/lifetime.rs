//! A server that must not outlive whoever started it.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use pgdyno_postgres::provision::{Dirs, Environment, Lifetime, Request, Status, Stopped, registry, up};

/// The default cache, so that the bundle is fetched once, and a state directory that goes with the test.
fn dirs(state: &tempfile::TempDir) -> Dirs {
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = |name| env::var_os(name).map(PathBuf::from);
    let environment = Environment {
        state: Some(state.path().to_owned()),
        cache: path("PGDYNO_CACHE"),
        xdg_cache_home: path("XDG_CACHE_HOME"),
        home: path("HOME"),
        ..Environment::default()
    };
    Dirs::of(&environment).expect("there is a cache")
}

fn request(name: &str) -> Request {
    let pg = Some("18".parse().expect("it is a version"));
    Request { pg, bundle_only: true, lifetime: Lifetime::DiesWithUs, ..Request::named(name) }
}

#[test]
fn a_server_ends_with_the_thread_that_started_it() {
    let state = tempfile::tempdir().expect("a temporary directory can be made");
    let dirs = dirs(&state);
    let (end, ended) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let owner = thread::spawn({
        let dirs = dirs.clone();
        move || {
            tell.send(up(&request("bench-1"), &dirs, &mut |_| {})).expect("somebody listens");
            // The sender is dropped when the server is to end.
            let _ = ended.recv();
        }
    });
    let server = told.recv().expect("the thread answers").expect("the server starts");
    let status = || registry::find(&dirs, "bench-1").expect("it is recorded").status();
    assert_eq!(status(), Status::Running { pid: server.pid });
    drop(end);
    owner.join().expect("it does not panic");
    let begin = Instant::now();
    while status() != Status::Stopped {
        assert!(begin.elapsed() < Duration::from_secs(30), "it outlived its owner: {:?}", status());
        thread::sleep(Duration::from_millis(20));
    }
    server.remove().expect("it can be removed");
    assert_eq!(registry::list(&dirs), []);
}

#[test]
fn a_server_is_stopped_and_removed_by_whoever_holds_it() {
    let state = tempfile::tempdir().expect("a temporary directory can be made");
    let dirs = dirs(&state);
    let server = up(&request("bench-2"), &dirs, &mut |_| {}).expect("the server starts");
    assert!(server.socket_dir.join(format!(".s.PGSQL.{}", server.port)).exists());
    assert!(server.choices.iter().any(|choice| choice.name == "shared_buffers"));
    assert_eq!(server.stop(), Ok(Stopped::Fast));
    assert_eq!(server.stop(), Ok(Stopped::WasNotRunning));
    assert!(server.data_dir.exists());
    server.remove().expect("it can be removed");
    assert!(!server.data_dir.exists());
}
