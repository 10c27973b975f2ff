//! A real server that is stopped and restarted during a run.

use std::{
    thread,
    time::{Duration, Instant},
};

use pgdyno_provision::{Request, RunningServer, up};
use pgdyno_wire::ConnectOptions;

use crate::own::{self, bundle};

/// A running server.
pub struct Server {
    own: own::Server,
    request: Request,
}

impl Server {
    /// Starts a bundle of this major version.
    pub fn start(major: &str) -> Self {
        // Servers that pgdyno creates for runs do not restart after a crash.
        let settings = [("restart_after_crash".to_owned(), "on".to_owned())].into();
        let request = Request { settings, ..bundle(major) };
        Self { own: own::Server::start(&request), request }
    }

    /// Process ID of the postmaster.
    pub fn pid(&self) -> u32 {
        self.own.running.pid
    }

    /// Stops the server in fast mode, and restarts it with the same data and port.
    pub fn restart(&mut self) {
        self.own.running.stop().expect("it stops");
        self.start_again();
    }

    /// Restarts the server after it has ended.
    pub fn start_again(&mut self) {
        let begin = Instant::now();
        self.own.running = loop {
            match up(&self.request, &self.own.place.dirs, &mut |_| {}) {
                // A signalled postmaster may still run, and its processes may outlive it briefly.
                Ok(RunningServer { already_running: true, .. }) | Err(_)
                    if begin.elapsed() < Duration::from_secs(900) =>
                {
                    thread::sleep(Duration::from_millis(50));
                }
                started => break started.expect("the server starts again"),
            }
        };
        assert!(!self.own.running.already_running, "the server was to end");
    }

    /// Connection options for its superuser.
    pub fn options(&self) -> ConnectOptions {
        self.own.options()
    }
}
