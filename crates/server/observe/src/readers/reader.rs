//! What reads something from a server.

use crate::activity::Pace;
use pgdyno_core::observe::What;
use pgdyno_wire::{Session, WireError};

/// Takes a line: the seconds that it covers, and what was seen.
pub(crate) type Say<'a> = dyn FnMut(f64, What) + 'a;

/// Reads something from a server again and again.
pub(crate) trait ServerReader: Send {
    /// What is missing while it fails, as in [`What::Gap`].
    fn name(&self) -> &'static str;

    /// How often it is asked.
    fn pace(&self) -> Pace;

    /// Whether it is also asked at the edges of stages and measured intervals.
    fn reads_at_edges(&self) -> bool {
        false
    }

    /// Reads, and says what is to be written, if anything yet. `own` are the process ids of pgdyno's other sessions.
    ///
    /// # Errors
    /// The server's error, or that the session broke. The reader is asked again later, perhaps over another session.
    fn read(&mut self, session: &mut Session, own: &[i32], say: &mut Say<'_>) -> Result<(), WireError>;

    /// Says what was read and not said yet: nothing more will be read.
    fn end(&mut self, _say: &mut Say<'_>) {}
}

/// The server that is read.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Its version, as `server_version_num`.
    pub version_num: u32,
    /// Databases that are concerned; none for that of the session.
    pub databases: Vec<String>,
    /// Whether the session is in the database under test.
    pub is_inside: bool,
}
