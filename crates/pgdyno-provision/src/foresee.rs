//! Predicts which program a request will use, before anything is fetched or made.

use std::path::PathBuf;

use pgdyno_core::{
    facts::{BuildFacts, ServerSource},
    problem::Problem,
};

use super::{
    Dirs, Request, Wanted,
    builds::Build,
    bundle::{self, BundleToCome},
    installation, up,
};

/// What is known of a server's program before the server is made.
#[derive(Debug, Clone)]
pub struct Foreseen {
    /// `server_version_num`; for a bundle that is not pinned the first of its major.
    pub version_num: u32,
    /// Version in the usual notation.
    pub version: String,
    /// Source of the program.
    pub source: ServerSource,
    /// Directory of the programs; `None` for a bundle that is not fetched yet.
    pub bindir: Option<PathBuf>,
    /// The pgdyno build, if the program is one.
    pub named: Option<Build>,
    /// How a bundle that is not fetched yet was compiled, if known.
    to_come: Option<BuildFacts>,
}

impl Foreseen {
    /// How the program was compiled, as far as its file shows without running it.
    pub fn build(&self) -> BuildFacts {
        let own = match (&self.bindir, &self.to_come) {
            (Some(bindir), _) => installation::build(bindir),
            (None, to_come) => to_come.clone().unwrap_or_default(),
        };
        let Some(named) = &self.named else { return own };
        let compiler = own.compiler.or_else(|| Some(named.manifest.compiler.clone()));
        BuildFacts { compiler, made: Some(named.facts()), ..own }
    }
}

/// Predicts the program of a request, without fetching.
///
/// # Errors
/// If the requested program does not exist, or has another version than requested.
pub fn foresee(request: &Request, dirs: &Dirs) -> Result<Foreseen, Problem> {
    let Some((found, source, named)) = up::program_here(request, dirs)? else {
        return Ok(foresee_bundle(request.pg, dirs));
    };
    let (version_num, version) = (found.version_num, found.version);
    Ok(Foreseen { version_num, version, source, bindir: Some(found.bindir), named, to_come: None })
}

/// Predicts the bundle for a version; without one, the newest pinned bundle.
pub fn foresee_bundle(wanted: Option<Wanted>, dirs: &Dirs) -> Foreseen {
    let BundleToCome { version_num, version, cached, build } = bundle::to_come(wanted, &dirs.cache);
    let bindir = cached.map(|bundle| bundle.bindir());
    Foreseen { version_num, version, source: ServerSource::Bundle, bindir, named: None, to_come: build }
}
