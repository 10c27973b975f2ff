//! A server that must end with the process that started it.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use pgdyno_provision::{Request, Status, Stopped, registry, up};

use crate::own::{Place, bundle};

fn request(name: &str) -> Request {
    Request { name: name.to_owned(), ..bundle("18") }
}

#[test]
fn a_server_ends_with_the_thread_that_started_it() {
    let place = Place::new();
    let dirs = &place.dirs;
    let (end, ended) = mpsc::channel::<()>();
    let (sender, started) = mpsc::channel();
    let owner = thread::spawn({
        let dirs = dirs.clone();
        move || {
            sender.send(up(&request("bench-1"), &dirs, &mut |_| {})).expect("somebody listens");
            // The sender is dropped when the server is to end.
            let _ = ended.recv();
        }
    });
    let server = started.recv().expect("the thread answers").expect("the server starts");
    let status = || registry::find(dirs, "bench-1").expect("it is recorded").status();
    assert_eq!(status(), Status::Running { pid: server.pid });
    drop(end);
    owner.join().expect("it does not panic");
    let begin = Instant::now();
    while status() != Status::Stopped {
        assert!(begin.elapsed() < Duration::from_secs(900), "it outlived its owner: {:?}", status());
        thread::sleep(Duration::from_millis(20));
    }
    server.remove().expect("it can be removed");
    assert_eq!(registry::list(dirs), []);
}

#[test]
fn a_server_is_stopped_and_removed_by_whoever_holds_it() {
    let place = Place::new();
    let dirs = &place.dirs;
    let server = up(&request("bench-2"), dirs, &mut |_| {}).expect("the server starts");
    assert!(server.socket_dir.join(format!(".s.PGSQL.{}", server.port)).exists());
    assert!(server.choices.iter().any(|choice| choice.name == "shared_buffers"));
    assert_eq!(server.stop(), Ok(Stopped::Fast));
    assert_eq!(server.stop(), Ok(Stopped::WasNotRunning));
    assert!(server.data_dir.exists());
    server.remove().expect("it can be removed");
    assert!(!server.data_dir.exists());
}
