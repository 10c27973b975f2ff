//! When the servers of several subjects are restarted.

use pgdyno_analysis::compare::{BLOCKS_PER_START, slots};
use pgdyno_core::{facts::PresetFacts, problem::Problem};
use pgdyno_plan::{
    Plan, Restart,
    advice::bench::{BUFFERS_SHARE, BenchPlan},
};

use crate::{Job, Wanted, presets::asked_buffers_bytes};

/// Fewest starts over which an answer is computed: the interval of three means is useless in a comparison with looks.
const FEWEST_STARTS: u32 = 4;
/// Fewest blocks of a run without a comparison: each is a start, and with fewer no level is judged.
const FEWEST_BLOCKS: u32 = 3;

/// Blocks from one start of the servers to the next; `None` for one start. `buffers_bytes` are the shared buffers of a
/// server whose request names none, and `plan` is that of the estimates, with the largest tables.
///
/// # Errors
/// The plan always wants new starts, and they are not possible.
pub fn blocks_per_start(
    job: &Job,
    plan: &Plan,
    bench: &BenchPlan,
    presets: &[Option<PresetFacts>],
    (page_bytes, buffers_bytes): (u64, u64),
) -> Result<Option<u32>, Problem> {
    let (blocks, of_start, least) = match job.comparison() {
        Some(compare) => {
            let blocks = compare.looks.last().map_or(0, |look| look.blocks);
            let of_start = if compare.slots { slots::BLOCKS_PER_START } else { BLOCKS_PER_START };
            (blocks, of_start, of_start * FEWEST_STARTS)
        }
        None => (plan.measure.blocks, 1, FEWEST_BLOCKS),
    };
    let starts = || Some(of_start);
    match (plan.measure.restart, refusal(job, (blocks, of_start, least))) {
        (Restart::Never, _) => Ok(None),
        _ if !job.has_several() => Ok(None),
        (Restart::Always, Some(problem)) => Err(problem),
        (Restart::Always, None) => Ok(starts()),
        (Restart::Auto, Some(_)) => Ok(None),
        (Restart::Auto, None) => {
            let room = largest_buffers(job, presets, buffers_bytes) as f64 * BUFFERS_SHARE;
            let fits = tables_bytes(plan, bench.scale, page_bytes).is_some_and(|bytes| bytes as f64 <= room);
            Ok(starts().filter(|_| fits))
        }
    }
}

/// Why the servers cannot be restarted.
fn refusal(job: &Job, (blocks, of_start, least): (u32, u32, u32)) -> Option<Problem> {
    let could_not = |why: String| Problem::wrong_request(format!("could not restart servers: {why}"));
    let never = "leave out --restart (or the plan's key `restart`): the answer is then one of these starts";
    if job.servers.iter().any(|wanted| matches!(wanted, Wanted::External(_))) {
        return Some(could_not("pgdyno does not restart existing servers".to_owned()).hint(never));
    }
    if let Some(arm) = job.subjects.iter().find(|subject| subject.server.is_none()) {
        return Some(could_not(format!("the command of {} brings its own server", arm.name)).hint(never));
    }
    (blocks < least || !blocks.is_multiple_of(of_start)).then(|| match of_start {
        1 => could_not(format!("{blocks} blocks are too few for it"))
            .hint(format!("measure at least {least} blocks (blocks in [measure])")),
        _ => could_not(format!("{blocks} blocks do not make {FEWEST_STARTS} starts of {of_start}"))
            .hint(format!("give --blocks a multiple of {of_start} from {least} on")),
    })
}

/// The largest `shared_buffers` of the job's servers, in bytes.
fn largest_buffers(job: &Job, presets: &[Option<PresetFacts>], chosen_bytes: u64) -> u64 {
    let of = |(wanted, preset): (&Wanted, &Option<PresetFacts>)| match wanted {
        Wanted::Own(request) => asked_buffers_bytes(request, preset.as_ref()).unwrap_or(chosen_bytes),
        Wanted::External(_) => chosen_bytes,
    };
    job.servers.iter().zip(presets).map(of).max().unwrap_or(chosen_bytes)
}

/// Size of the tables under test; `None` for tables that only the plan's own SQL knows.
fn tables_bytes(plan: &Plan, scale: Option<u64>, page_bytes: u64) -> Option<u64> {
    let of_tpcb = || Some(plan.load.sizes(scale?, page_bytes).total_bytes());
    let own = plan.data.scaleup.as_ref().map(|own| own.bytes(page_bytes, plan.load.fillfactor()));
    if plan.data.setup.is_some() { None } else { own.or_else(of_tpcb) }
}
