//! The host that is changed, and where its journal is.

use std::path::{Path, PathBuf};

use pgdyno_core::problem::Problem;

/// The host that is changed, and where its journal is.
#[derive(Debug, Clone)]
pub struct Place {
    /// Root of the file system: `/`, or the root of a tree that looks like one.
    pub root: PathBuf,
    /// Directory of the journal, absolute.
    pub journal: PathBuf,
    /// Effective user of this process: the owner of the journal.
    pub(crate) user: u32,
}

impl Place {
    /// A tree and a directory for its journal.
    pub fn new(root: impl Into<PathBuf>, journal: impl Into<PathBuf>) -> Self {
        let user = rustix::process::geteuid().as_raw();
        Self { root: root.into(), journal: journal.into(), user }
    }

    /// This host, with the journal in `/var/lib/pgdyno/host`.
    pub fn host() -> Self {
        Self::new("/", "/var/lib/pgdyno/host")
    }

    /// Whether this is the host itself.
    pub(crate) fn is_host(&self) -> bool {
        self.root.canonicalize().is_ok_and(|root| root == Path::new("/"))
    }

    /// A path below the root.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Only root changes the host.
    ///
    /// # Errors
    /// If this is the host, and the process is not root's.
    pub(crate) fn refuse_others(&self, what: &str) -> Result<(), Problem> {
        match self.is_host() && self.user != 0 {
            true => Err(Problem::wrong_request(format!("only root may {what} this host")).hint(
                "run it with sudo, or run the script of `pgdyno host plan` as root. Nothing was changed.",
            )),
            false => Ok(()),
        }
    }
}
