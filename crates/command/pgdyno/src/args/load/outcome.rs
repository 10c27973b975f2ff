//! What a load came to, in words.

use pgdyno_core::{tpcc::DERIVED, units};
use pgdyno_postgres::load::{BulkOutcome, Job, KeyWorkers, Phase, Proof, Span, StageTime, Verified};
use pgdyno_rows::load::{Set, Stage, tasks};

use super::outlook::main_table;

/// What to do where tables that were just loaded are not as they must be.
const NOT_VERIFIED: &str = "hint: drop the tables and load again; if nobody else wrote to them, report it: a load must \
                          not end like this\n";

/// Whether a load is right as far as it was compared.
pub(super) fn loaded(outcome: &BulkOutcome) -> bool {
    match &outcome.proof {
        Verified::Here(proof) => proof.faults().is_empty(),
        Verified::Elsewhere | Verified::Later | Verified::Unfinished => true,
    }
}

/// What a load came to.
pub(super) fn result(job: &Job, outcome: &BulkOutcome) -> String {
    let rate = outcome.stages.iter().find(|time| time.stage == Stage::Copy).map(|time| {
        let bytes = units::bytes(time.rate(outcome.copy_bytes) as u64);
        let bytes = if outcome.copy_bytes > 0 { format!(", {bytes}/s of COPY data") } else { String::new() };
        format!(", {} rows/s{bytes}", units::rate(time.rate(outcome.rows)))
    });
    let mut text = format!(
        "loaded {} {} into schema {:?}: {} on disk, {} here{}\n",
        job.plan.set.scale_word(),
        units::count(job.plan.scale),
        job.target,
        units::bytes(outcome.size_bytes),
        units::plural(outcome.tasks, "task"),
        rate.unwrap_or_default()
    );
    let alone = outcome.tasks == tasks(&job.plan).len() as u64;
    for time in &outcome.stages {
        let rows = alone.then(|| format!(", {} rows/s", units::rate(time.rate(outcome.rows))));
        let wal = time.wal_bytes.map(|bytes| format!(", WAL {}", units::bytes(bytes)));
        let [rows, wal] = [rows, wal].map(Option::unwrap_or_default);
        let seconds = units::duration(time.seconds);
        text.push_str(&format!("  {:<17} {seconds}{rows}{wal}\n", time.stage.name()));
        text.push_str(&phases(time, &outcome.workers, main_table(&job.plan).0));
    }
    text.push_str(&format!("  {:<17} {}\n", "all", units::duration(outcome.duration_s)));
    if job.plan.set == Set::Tpcc {
        text.push_str(&format!("{DERIVED}\n"));
    }
    let last_line = match &outcome.proof {
        Verified::Here(proof) => return text + &judged(proof, NOT_VERIFIED),
        Verified::Elsewhere => "verified by another process\n",
        Verified::Later => "not verified yet: `pgdyno load verify` compares all rows\n",
        Verified::Unfinished => "ended before its last stage, as requested: --resume continues\n",
    };
    text + last_line
}

/// Shorter stages are over before their phases have been looked at often enough.
const LEAST_PHASES_S: f64 = 2.0;

/// What was seen of a stage, a line each; nothing where nothing was.
fn phases(time: &StageTime, workers: &KeyWorkers, main: &str) -> String {
    let phases: Vec<_> = time.phases.0.iter().map(phase).collect();
    let mut text = String::new();
    if !phases.is_empty() && time.seconds >= LEAST_PHASES_S {
        text.push_str(&format!("    server: {}\n", phases.join(", ")));
    }
    if let (Stage::Keys, Some(asked)) = (time.stage, workers.asked) {
        let seen = |span: Option<Span>| span.map_or_else(|| "not seen".to_owned(), |span| span.to_string());
        text.push_str(&format!(
            "    parallel workers for a key of {main}: requested {asked}, planned {}, launched {}\n",
            seen(workers.planned),
            seen(workers.launched)
        ));
    }
    text
}

/// A phase with what its processes read and wrote; rates of nothing are left out.
fn phase(phase: &Phase) -> String {
    let moved = phase.devices.unwrap_or_default();
    let rate = |verb: &str, bytes: u64| {
        let bytes_per_s = bytes as f64 / phase.seconds.max(1e-9);
        (bytes > 0).then(|| format!("{verb} {}/s", units::bytes(bytes_per_s as u64)))
    };
    let rates: Vec<_> =
        [rate("read", moved.read_bytes), rate("wrote", moved.written_bytes)].into_iter().flatten().collect();
    let rates = if rates.is_empty() { String::new() } else { format!(" ({})", rates.join(", ")) };
    format!("{} {}{rates}", phase.name, units::duration(phase.seconds))
}

/// A proof in words, with a hint where it failed.
pub(super) fn judged(proof: &Proof, hint: &str) -> String {
    let faults = proof.faults();
    let mut text: String = faults.iter().map(|fault| format!("  ! {fault}\n")).collect();
    let rows = units::count(proof.tables.iter().map(|table| table.found.rows).sum());
    let seconds = units::duration(proof.duration_s);
    text.push_str(&match faults.len() {
        0 => {
            let shape = if proof.shape.is_some() { ", keys and storage" } else { "" };
            let compared = format!("counts and checksums of all columns{shape}");
            format!("verified: {rows} rows, {compared} are as expected ({seconds})\n")
        }
        n => format!("not verified: {} ({seconds})\n{hint}", units::plural(n as u64, "difference")),
    });
    text
}
