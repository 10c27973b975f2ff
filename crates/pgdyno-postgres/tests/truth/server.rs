//! A real server of its own, removed at the end.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use pgdyno_postgres::{
    provision::{Dirs, Environment, Lifetime, Request, RunningServer, up},
    wire::{Address, ConnectOptions},
};

/// A running server.
pub struct Server {
    running: RunningServer,
    request: Request,
    state: tempfile::TempDir,
}

impl Server {
    /// Starts a bundle of this major, which ends with the test whatever happens.
    pub fn start(major: &str) -> Self {
        let state = tempfile::tempdir().expect("a temporary directory can be made");
        let pg = Some(major.parse().expect("it is a version"));
        // What pgdyno makes for a run ends with a crash otherwise.
        let settings = [("restart_after_crash".to_owned(), "on".to_owned())].into();
        let request = Request {
            pg,
            bundle_only: true,
            settings,
            lifetime: Lifetime::DiesWithUs,
            ..Request::named("truth")
        };
        let running = up(&request, &dirs(&state), &mut |_| {}).expect("the server starts");
        Self { running, request, state }
    }

    /// The postmaster.
    pub fn pid(&self) -> u32 {
        self.running.pid
    }

    /// Stops it in the fast way and starts it again at the same place.
    pub fn restart(&mut self) {
        self.running.stop().expect("it stops");
        self.start_again();
    }

    /// Starts it again at the same place once it has ended.
    pub fn start_again(&mut self) {
        let begin = Instant::now();
        self.running = loop {
            match up(&self.request, &dirs(&self.state), &mut |_| {}) {
                // A postmaster that was sent a signal still runs until it heeds it, and its processes may be on their
                // way out after it.
                Ok(RunningServer { already_running: true, .. }) | Err(_)
                    if begin.elapsed() < Duration::from_secs(60) =>
                {
                    thread::sleep(Duration::from_millis(50));
                }
                started => break started.expect("the server starts again"),
            }
        };
        assert!(!self.running.already_running, "the server was to end");
    }

    /// How to connect as its superuser.
    pub fn options(&self) -> ConnectOptions {
        let address = Address::Unix(self.running.socket_dir.clone(), self.running.port);
        ConnectOptions::local(address, self.running.superuser)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let removed = self.running.remove();
        assert!(std::thread::panicking() || removed.is_ok(), "{removed:?}");
    }
}

/// The default cache, so that the bundles are fetched once, and a state directory that goes with the test.
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
