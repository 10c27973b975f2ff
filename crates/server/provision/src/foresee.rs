//! Predicts which program a request will use, before anything is fetched or made.

use std::{io, path::PathBuf};

use pgdyno_core::{
    facts::{BuildFacts, PresetFacts, ServerSource},
    host::Inventory,
    problem::Problem,
};
use pgdyno_host::facts;
use pgdyno_plan::{
    advice::config::{Inputs, Purpose},
    preset::{Fit, fit},
};

use super::{
    Dirs, Request, Wanted,
    builds::Build,
    bundle::{self, BundleToCome},
    installation,
    presets::{Program, fit_program, read_by},
    refused_settings, run_as, up,
};

/// Default size of a WAL segment in MB.
const SEGMENT_MB: u32 = 16;

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

/// Has the program of a request read the settings that the user gave. A program that is not fetched yet is not asked,
/// and reasons why it fails other than these settings are not reported here.
///
/// # Errors
/// A wrong request that names the setting; or the user of the server is unknown.
pub fn foresee_settings(request: &Request, program: &Foreseen) -> Result<(), Problem> {
    let Some(bindir) = program.bindir.as_ref().filter(|_| !request.settings.is_empty()) else {
        return Ok(());
    };
    let (user, _) = run_as::choose(request.run_as.as_deref())?;
    let asked = Program { bindir, version: &program.version, user: user.as_ref() };
    let settings = request.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let Ok(output) = read_by(&asked, settings) else { return Ok(()) };
    let said = String::from_utf8_lossy(&output.stderr);
    let refused = refused_settings::refusal(&said, &request.settings, &program.version);
    refused.filter(|_| !output.status.success()).map_or(Ok(()), Err)
}

/// Predicts what becomes of the preset of a request; `None` without one. A program that is not fetched yet is not
/// asked: then names that it lacks are still among those taken.
///
/// # Errors
/// The user of the server is unknown, or the storage cannot be read.
pub fn foresee_preset(
    request: &Request,
    program: &Foreseen,
    host: &Inventory,
    dirs: &Dirs,
) -> Result<Option<PresetFacts>, Problem> {
    let Some(preset) = &request.preset else { return Ok(None) };
    let unreadable =
        |error: io::Error| Problem::could_not(format!("could not read the facts of this machine: {error}"));
    let (user, _) = run_as::choose(request.run_as.as_deref())?;
    let data = facts::storage(request.data.as_deref().unwrap_or(&dirs.servers())).map_err(unreadable)?;
    let wal = request.waldir.as_deref().map(facts::storage).transpose().map_err(unreadable)?;
    let inputs = Inputs {
        host,
        data: &data,
        wal: wal.as_ref(),
        version_num: program.version_num,
        clients: request.clients,
        relations: request.relations,
        key_workers: request.key_workers,
        wal_segment_bytes: u64::from(request.wal_segsize_mb.unwrap_or(SEGMENT_MB)) << 20,
        server_cpus: (!request.cpus.is_empty()).then_some(request.cpus.len() as u32),
        purpose: Purpose::Oltp,
    };
    let block_kb = program.named.as_ref().map_or(8, |build| build.manifest.block_kb);
    let fit_here = Fit {
        inputs,
        side_by_side: request.side_by_side.max(1),
        block_bytes: u64::from(block_kb) << 10,
        given: &request.settings,
    };
    let fitted = match &program.bindir {
        Some(bindir) => {
            let program = Program { bindir, version: &program.version, user: user.as_ref() };
            fit_program(preset, &fit_here, &program)
        }
        None => fit(preset, &fit_here),
    };
    Ok(Some(fitted.facts))
}
