//! The results of `pgdyno selftest`, kept for `bench` to compare with.

use std::{fs, path::PathBuf};

use pgdyno_core::{
    facts::{Instrument, Machine},
    host::Inventory,
    problem::Problem,
};

use crate::{Program, dirs};

/// Name of the file in the state directory.
const FILE: &str = "selftest.json";
/// Longest file that is read, in bytes: pgdyno writes none that is longer.
const LONGEST: u64 = 1 << 20;

/// Stores the results and returns the path of the file.
///
/// # Errors
/// There is no state directory, or it cannot be written.
pub fn keep(instrument: &Instrument) -> Result<PathBuf, Problem> {
    let path = path()?;
    let could_not = |why: String| Problem::could_not(format!("could not write {}: {why}", path.display()));
    let dir = path.parent().unwrap_or(&path);
    fs::create_dir_all(dir).map_err(|error| could_not(error.to_string()))?;
    let text = serde_json::to_string_pretty(instrument).map_err(|error| could_not(error.to_string()))? + "\n";
    pgdyno_record::write_atomically(&path, text.as_bytes()).map_err(|error| could_not(error.to_string()))?;
    Ok(path)
}

/// The stored results of this program on this machine. `None` if the file is missing, unreadable, or from another
/// program or machine.
pub fn kept(host: &Inventory, program: &Program) -> Option<Instrument> {
    let path = path().ok()?;
    if fs::metadata(&path).ok()?.len() > LONGEST {
        return None;
    }
    let instrument: Instrument = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
    instrument.is_of(&Machine::of(host), program.long_version, program.is_optimised).then_some(instrument)
}

/// Path of the file.
///
/// # Errors
/// There is no state directory.
pub fn path() -> Result<PathBuf, Problem> {
    Ok(dirs()?.state.join(FILE))
}
