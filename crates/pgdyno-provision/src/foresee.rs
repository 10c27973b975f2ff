//! Which program a request will get, before anything is fetched or made.

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

/// A server's program, as far as it is known before the server is made.
#[derive(Debug, Clone)]
pub struct Foreseen {
    /// `server_version_num`; of a bundle that no lock names the first of its major.
    pub version_num: u32,
    /// Its version as people write it.
    pub version: String,
    /// Where it comes from.
    pub source: ServerSource,
    /// Directory of its programs; `None` of a bundle that is yet to be fetched.
    pub bindir: Option<PathBuf>,
    /// The build of pgdyno's that it is.
    pub named: Option<Build>,
    /// How a bundle was compiled that is yet to be fetched, where it is known.
    to_come: Option<BuildFacts>,
}

impl Foreseen {
    /// How it was compiled, as far as that shows without running it. Reads the program.
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

/// The program that a request will get. Nothing is fetched.
///
/// # Errors
/// That the program it names is not there, or not of the version that it asks for.
pub fn foresee(request: &Request, dirs: &Dirs) -> Result<Foreseen, Problem> {
    let Some((found, source, named)) = up::program_here(request, dirs)? else {
        return Ok(foresee_bundle(request.pg, dirs));
    };
    let (version_num, version) = (found.version_num, found.version);
    Ok(Foreseen { version_num, version, source, bindir: Some(found.bindir), named, to_come: None })
}

/// The bundle that will be taken for a version; without one, the newest that is tested.
pub fn foresee_bundle(wanted: Option<Wanted>, dirs: &Dirs) -> Foreseen {
    let BundleToCome { version_num, version, cached, build } = bundle::to_come(wanted, &dirs.cache);
    let bindir = cached.map(|bundle| bundle.bindir());
    Foreseen { version_num, version, source: ServerSource::Bundle, bindir, named: None, to_come: build }
}
