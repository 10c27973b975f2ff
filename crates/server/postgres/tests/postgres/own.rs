//! A real server for a single test, removed at its end.

use std::{env, time::Duration};

use pgdyno_provision::{Dirs, Lifetime, Request, RunningServer, registry, up};
use pgdyno_wire::{Address, ConnectOptions};
use testkit::Spread;

/// Directories of a test's servers.
pub struct Place {
    pub dirs: Dirs,
    _state: Spread,
}

impl Place {
    /// Uses the default cache, so that bundles are fetched once, and a temporary state directory.
    pub fn new() -> Self {
        let state = Spread::make().expect("a temporary directory can be made");
        let variable = |name: &str| match name {
            "PGDYNO_STATE" => Some(state.path().into()),
            // Clusters are copied from these; how they are made is tested elsewhere.
            "PGDYNO_TEST_TEMPLATES" => Some(concat!(env!("CARGO_TARGET_TMPDIR"), "/clusters").into()),
            other => env::var_os(other),
        };
        Self { dirs: Dirs::from_env(&variable).expect("there is a cache"), _state: state }
    }
}

/// A request for a bundle of this major version that ends with the test in any case.
pub fn bundle(major: &str) -> Request {
    let pg = Some(major.parse().expect("it is a version"));
    // On a busy machine a start may take longer than users would wait.
    let start_limit = Duration::from_secs(900);
    Request { pg, bundle_only: true, lifetime: Lifetime::DiesWithUs, start_limit, ..Request::named("own") }
}

/// A running server.
pub struct Server {
    pub running: RunningServer,
    pub place: Place,
}

impl Server {
    /// Starts the server.
    pub fn start(request: &Request) -> Self {
        let place = Place::new();
        let running = up(request, &place.dirs, &mut |_| {}).expect("the server starts");
        Self { running, place }
    }

    /// Connection options for its superuser.
    pub fn options(&self) -> ConnectOptions {
        let address = Address::Unix(self.running.socket_dir.clone(), self.running.port);
        ConnectOptions::local(address, self.running.superuser)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let removed = self.running.remove();
        assert!(std::thread::panicking() || removed.is_ok(), "{removed:?}");
        let left = registry::list(&self.place.dirs);
        assert!(std::thread::panicking() || left.is_empty(), "{left:?}");
    }
}
