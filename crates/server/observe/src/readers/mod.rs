//! What is read from a server over its observing session.

mod blocked;
mod clock;
mod counters;
mod progress;
mod reader;
mod statements;
mod waits;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use blocked::Blocked;
pub use clock::server_identity;
use clock::{Clock, OtherObservers};
use counters::{Counters, Tables};
use progress::Progress;
pub(crate) use reader::{Server, ServerReader};
use statements::Statements;
use waits::Activity;

use crate::{cost::Account, totals::Counted};
pub(crate) use waits::Sampled;

/// All readers of a server.
pub(crate) fn all(
    server: &Server,
    sampled: &Arc<Sampled>,
    counted: &Arc<Counted>,
    started: Instant,
) -> Vec<Box<dyn ServerReader>> {
    let suspected = Arc::new(AtomicBool::new(false));
    let mut readers: Vec<Box<dyn ServerReader>> = vec![
        Box::new(Activity::new(server.clone(), Arc::clone(sampled), Arc::clone(&suspected))),
        Box::new(Blocked::new(server.version_num, suspected)),
        Box::new(Counters::new(server.clone(), Arc::clone(counted))),
        Box::new(Progress::default()),
        Box::new(Statements::new(server.clone())),
        Box::new(Clock::new(server.version_num, started)),
    ];
    if server.is_inside {
        readers.push(Box::new(Tables::new()));
    }
    readers
}

/// Those of a session that is there for the server's clock: what else is read of the server, a run reads itself. An
/// account gets to know whose sessions are not those of clients.
pub(crate) fn of_clock(server: &Server, account: &Account, started: Instant) -> Vec<Box<dyn ServerReader>> {
    vec![
        Box::new(OtherObservers::new(server.version_num, account.clone())),
        Box::new(Clock::new(server.version_num, started)),
    ]
}
