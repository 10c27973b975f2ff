//! The server's clock, and whose sessions are pgdyno's own.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::activity::{ClockReader, Pace};
use pgdyno_core::observe::{ClockSample, ServerIdentity, What};
use pgdyno_wire::{Session, WireError};

use super::reader::{Say, ServerReader};
use crate::cost::Account;

/// Time between two readings of the clock; at edges after the shorter one.
const EVERY: Duration = Duration::from_secs(10);
const LEAST: Duration = Duration::from_secs(1);
/// Most round trips of a reading, of which the shortest counts, and the time after which no other begins.
const ROUND_TRIPS: u32 = 8;
const LONGEST: Duration = Duration::from_millis(50);
/// The server counts microseconds.
const RESOLUTION_S: f64 = 1e-6;
/// Time between two searches for sessions of other observers.
const SESSIONS_EVERY: Duration = Duration::from_secs(1);

/// Which start of which server a session is at; `None` if the server does not report it.
///
/// # Errors
/// See [`Session::query`].
pub fn server_identity(session: &mut Session, version_num: u32) -> Result<Option<ServerIdentity>, WireError> {
    ClockReader::new(version_num).identity(session)
}

/// Reads the server's clock.
pub(super) struct Clock {
    reader: ClockReader,
    started: Instant,
    /// The server, by the process of the session that was asked.
    server: Option<(i32, ServerIdentity)>,
    last: Option<Instant>,
}

impl Clock {
    /// For a run that `started` then, and a server of this version.
    pub(super) fn new(version_num: u32, started: Instant) -> Self {
        Self { reader: ClockReader::new(version_num), started, server: None, last: None }
    }

    fn server(&mut self, session: &mut Session) -> Result<Option<ServerIdentity>, WireError> {
        let asked = session.backend_pid();
        if self.server.as_ref().is_none_or(|(pid, _)| *pid != asked) {
            self.server = self.reader.identity(session)?.map(|server| (asked, server));
        }
        Ok(self.server.as_ref().map(|(_, server)| server.clone()))
    }

    /// The shortest of several round trips.
    fn sample(
        &mut self,
        session: &mut Session,
        server: &ServerIdentity,
    ) -> Result<Option<ClockSample>, WireError> {
        let (begun, mut best) = (Instant::now(), None::<ClockSample>);
        for _ in 0..ROUND_TRIPS {
            let sent = Instant::now();
            let Some(unix_us) = self.reader.unix_us(session)? else { return Ok(None) };
            let (come, own) = (Instant::now(), SystemTime::now());
            let half = come.duration_since(sent) / 2;
            let own_unix_s = own.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
            let server_unix_s = unix_us as f64 / 1e6;
            let trip = ClockSample {
                read_at_s: (sent + half).duration_since(self.started).as_secs_f64(),
                server_unix_s,
                uncertainty_s: half.as_secs_f64() + RESOLUTION_S,
                ahead_s: server_unix_s - (own_unix_s - half.as_secs_f64()),
                server: server.clone(),
            };
            best = best.filter(|best| best.uncertainty_s <= trip.uncertainty_s).or(Some(trip));
            if begun.elapsed() > LONGEST {
                break;
            }
        }
        Ok(best)
    }
}

impl ServerReader for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn pace(&self) -> Pace {
        Pace::new(EVERY)
    }

    fn reads_at_edges(&self) -> bool {
        true
    }

    fn read(&mut self, session: &mut Session, _own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        if self.last.is_some_and(|last| last.elapsed() < LEAST) {
            return Ok(());
        }
        if let Some(server) = self.server(session)? {
            let sample = self.sample(session, &server)?;
            sample.into_iter().for_each(|sample| say(0.0, What::Clock(sample)));
        }
        self.last = Some(Instant::now());
        Ok(())
    }
}

/// Looks for the sessions of observers, which are not clients, wherever they connect from.
pub(super) struct OtherObservers {
    reader: ClockReader,
    account: Account,
}

impl OtherObservers {
    /// They are counted in this account.
    pub(super) fn new(version_num: u32, account: Account) -> Self {
        Self { reader: ClockReader::new(version_num), account }
    }
}

impl ServerReader for OtherObservers {
    fn name(&self) -> &'static str {
        "sessions of observers"
    }

    fn pace(&self) -> Pace {
        Pace::new(SESSIONS_EVERY)
    }

    fn read(&mut self, session: &mut Session, _own: &[i32], _say: &mut Say<'_>) -> Result<(), WireError> {
        self.reader.observers(session)?.into_iter().for_each(|pid| self.account.sees(pid));
        Ok(())
    }
}
