//! A run of a subject right after a start, which is not added to the runs of the record.

use pgdyno_core::problem::Problem;
use pgdyno_engine::{MergedInterval, Settings};
use pgdyno_postgres::driving::Listening;
use pgdyno_record::PracticeRecord;

use crate::{
    cell::settings,
    clients::{Cell, Clients},
    context::Context,
    search_path::where_was_looked,
    subject::Subject,
};

/// Longest practice run, warm-up and interval each, in nanoseconds.
const LONGEST_PRACTICE_NS: u64 = 30_000_000_000;
/// Added to the number of the random streams of a practice run: it uses other rows than the measured ones.
const DRAWS_OF_PRACTICE: u32 = 1 << 31;

/// Executes a run that is not added to the runs of the record: as long as a measured one in its warm-up, and half as
/// long in its interval. In slots its clients are `kept` for the runs that follow.
///
/// # Errors
/// The server cannot be prepared or reached, the driver failed, or a stop was requested.
pub fn practise(
    context: Context<'_>,
    subject: &mut Subject,
    cell: &Cell<'_>,
    name: &str,
    kept: &mut Option<Clients>,
) -> Result<PracticeRecord, Problem> {
    let stop = context.stop;
    let cell = &Cell { workload: cell.workload.clone(), draws: cell.draws | DRAWS_OF_PRACTICE, ..*cell };
    let mut clients = Clients::kept_or_new(context, subject, cell, kept)?;
    let whole = settings(context.prepared, &clients.ready.scripts, cell);
    let settings = Settings {
        warmup_ns: whole.warmup_ns.min(LONGEST_PRACTICE_NS),
        ramp_ns: whole.ramp_ns.min(LONGEST_PRACTICE_NS),
        duration_ns: (whole.duration_ns / 2).clamp(1, LONGEST_PRACTICE_NS),
        ..whole
    };
    let terms = clients.terms(context, cell, &settings);
    let mut on_interval = |_: &MergedInterval| {
        subject.death().into_iter().for_each(|death| stop.request(death));
    };
    let listening = Listening { on_interval: &mut on_interval, on_mark: &mut |_| () };
    let Clients { parts, processes, .. } = &mut clients;
    let report = pgdyno_postgres::driving::run(parts, processes.as_mut(), &terms, stop, listening)?.whole;
    if stop.requested() {
        let why = stop.reason().unwrap_or_default();
        let problem = Problem::could_not(format!("stopped in a practice run of {name}: {why}"));
        let hint = where_was_looked(&clients.ready.options, &why);
        return Err(match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }
    *kept = clients.for_next_slot(cell.workload.clients);
    Ok(PracticeRecord {
        subject: name.to_owned(),
        script: Some(cell.workload.script_name().to_owned()),
        per_s: report.counts.committed as f64 * 1e9 / report.duration_ns.max(1) as f64,
        committed: report.counts_whole.committed,
        in_doubt: report.counts_whole.in_doubt,
    })
}
