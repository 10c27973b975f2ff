//! The presets of a job's own servers: what each will become, before any server is made.

use pgdyno_core::{
    facts::{PresetFacts, amount},
    host::Inventory,
    problem::Problem,
};
use pgdyno_provision::{Foreseen, Request, foresee_preset};

use crate::{Job, Prepared, Wanted, dirs};

/// What each server's preset will become, in the job's order; `None` without one. `clients` and `relations` are those
/// that all servers get room for.
///
/// # Errors
/// The user of a server is unknown, or its storage cannot be read.
pub fn foresee(
    job: &Job,
    programs: &[Option<Foreseen>],
    host: &Inventory,
    room: &dyn Fn(&mut Request),
) -> Result<Vec<Option<PresetFacts>>, Problem> {
    let of = |(wanted, program): (&Wanted, &Option<Foreseen>)| match (wanted, program) {
        (Wanted::Own(request), Some(program)) => {
            let mut request = (**request).clone();
            room(&mut request);
            foresee_preset(&request, program, host, &dirs()?)
        }
        _ => Ok(None),
    };
    job.servers.iter().zip(programs).map(of).collect()
}

/// Lines that announce the preset of a server, each with its label.
pub fn lines(prepared: &Prepared, at: usize) -> Vec<(&'static str, String)> {
    let Some(preset) = prepared.presets.get(at).and_then(Option::as_ref) else { return Vec::new() };
    let changed = preset.changes.iter().filter(|change| change.used.is_some());
    let changed = changed.map(|change| ("changed", change.words()));
    let left_out = preset.left_out_by_reason().into_iter();
    let left_out = left_out.map(|(reason, names)| ("left out", format!("{}: {reason}", names.join(", "))));
    [("preset", preset.words())].into_iter().chain(changed).chain(left_out).collect()
}

/// Shared buffers in bytes that a request asks for, by name or with its preset; `None` if pgdyno chooses them.
pub fn asked_buffers_bytes(request: &Request, foreseen: Option<&PresetFacts>) -> Option<u64> {
    const NAME: &str = "shared_buffers";
    const BLOCK_BYTES: u64 = 8_192;
    let given = request.settings.iter().find(|(name, _)| name.eq_ignore_ascii_case(NAME));
    let of_preset = || {
        let published = request.preset.as_ref()?.settings.get(NAME);
        let change =
            foreseen.and_then(|facts| facts.changes.iter().find(|change| change.used_name() == NAME));
        change.map_or(published, |change| change.used.as_ref())
    };
    amount::parse(given.map(|(_, value)| value).or_else(of_preset)?, BLOCK_BYTES)
}
