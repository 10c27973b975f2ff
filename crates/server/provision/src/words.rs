//! Events in words, for the user who waits.

use pgdyno_core::units::printable;

use crate::Event;

impl Event {
    /// The event in one sentence; `None` if it is too short to be shown.
    pub fn text(&self) -> Option<String> {
        Some(match self {
            Self::WaitingForServer { name } => format!("waiting: another pgdyno works on server `{name}`"),
            Self::WaitingForBundle { version } => {
                format!("waiting: another pgdyno fetches PostgreSQL {version}")
            }
            Self::FetchingBundle { version, about_mb } => {
                format!("fetching PostgreSQL {version} (about {about_mb} MB, kept for the next time)")
            }
            Self::BundleDamaged { version, why } => format!(
                "the bundle of PostgreSQL {version} in the cache is damaged ({}): fetching it again",
                printable(why)
            ),
            Self::CleaningUp { name } => format!("removing what an unfinished server `{name}` left"),
            Self::MakingCluster { data_dir } => format!("making a cluster in {}", data_dir.display()),
            Self::Starting { .. } => return None,
            Self::StillStarting { seconds, log_line } => {
                let line = log_line.as_ref().map(|line| format!(": {}", printable(line))).unwrap_or_default();
                format!("the server is still starting after {seconds} s{line}")
            }
            Self::StoppingAtOnce { seconds } => {
                format!("no end after {seconds} s: stopping it at once; the next start will recover")
            }
        })
    }

    /// Whether something is wrong.
    pub fn is_warning(&self) -> bool {
        matches!(self, Self::BundleDamaged { .. })
    }
}
