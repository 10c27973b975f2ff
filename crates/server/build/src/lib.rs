//! PostgreSQL built from source: once for each recipe, cached, used under a name.
//!
//! A build is identified by the digest of all its inputs: source, patches, options, flags and compiler. An interrupted
//! build keeps its work tree, in which the next call continues. [`pgdyno_provision::builds`] has what is in the cache,
//! and which name points to it.

mod archive;
mod debian;
mod dependencies;
mod digest_cache;
mod make;
mod patch;
mod recipe;
mod run;
mod source;
mod tree;
mod work;

use pgdyno_provision::builds::Phase;

pub use make::make;
pub use recipe::{CFLAGS, Request};

/// Progress of a build, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Another pgdyno is making the same build; this one waits.
    Waiting,
    /// The build runs as a user that other programs may use too.
    BuildingAsShared {
        /// Name of that user.
        user: String,
    },
    /// The distribution's source is being fetched.
    Fetching {
        /// Package and version.
        source: String,
    },
    /// The source is being unpacked or copied, and patched.
    Source {
        /// Source as requested.
        source: String,
    },
    /// An interrupted build continues.
    Resuming {
        /// Phase that was interrupted.
        phase: Phase,
    },
    /// An optional library is not installed and is left out.
    Absent {
        /// Name of the library.
        library: &'static str,
        /// Package to install.
        package: &'static str,
    },
    /// The source is being configured.
    Configuring {
        /// Version of PostgreSQL.
        version: String,
    },
    /// The source is being compiled.
    Compiling {
        /// Objects compiled so far.
        done: u64,
        /// Approximate number of all objects.
        total: u64,
    },
    /// The build is being installed.
    Installing,
    /// This recipe was built before; the build comes from the cache.
    Cached,
    /// The name pointed to another build until now.
    Repointed {
        /// The name.
        name: String,
    },
}
