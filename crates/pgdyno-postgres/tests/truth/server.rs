//! A real server that is stopped and started again in mid-run.

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
    /// Starts a bundle of this major.
    pub fn start(major: &str) -> Self {
        // What pgdyno makes for a run ends with a crash otherwise.
        let settings = [("restart_after_crash".to_owned(), "on".to_owned())].into();
        let request = Request { settings, ..bundle(major) };
        Self { own: own::Server::start(&request), request }
    }

    /// The postmaster.
    pub fn pid(&self) -> u32 {
        self.own.running.pid
    }

    /// Stops it in the fast way and starts it again at the same place.
    pub fn restart(&mut self) {
        self.own.running.stop().expect("it stops");
        self.start_again();
    }

    /// Starts it again at the same place once it has ended.
    pub fn start_again(&mut self) {
        let begin = Instant::now();
        self.own.running = loop {
            match up(&self.request, &self.own.place.dirs, &mut |_| {}) {
                // A postmaster that was sent a signal still runs until it heeds it, and its processes may be on their
                // way out after it.
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

    /// How to connect as its superuser.
    pub fn options(&self) -> ConnectOptions {
        self.own.options()
    }
}
