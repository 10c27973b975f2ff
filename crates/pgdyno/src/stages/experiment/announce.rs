//! What the user is told before a comparison begins: what is done, where, and what it costs.

use pgdyno_core::units;
use pgdyno_script::Builtin;

use crate::{
    context::Context,
    stages::{Compare, Job, SubjectJob, SubjectWork, prepare, programs},
};

/// Seconds of a run beside warm-up and interval: CHECKPOINT, the state of the data, connections, drain.
const BETWEEN_S: f64 = 0.7;

/// Says it on stderr.
pub fn announce(job: &Job, compare: &Compare, prepared: &prepare::Prepared, context: &Context) {
    let (bench, measure) = (&prepared.bench, &prepared.plan.measure);
    let looks: Vec<_> = compare.looks.iter().map(|look| look.blocks.to_string()).collect();
    eprintln!("pgdyno ab: is B faster than A?");
    for arm in &job.subjects {
        eprintln!("  {}       {}", arm.name, arm_words(job, prepared, arm));
    }
    eprintln!(
        "  runs    {} after {} of warm-up, {} at scale {}",
        measure.duration,
        measure.warmup,
        units::plural(u64::from(bench.clients.first().copied().unwrap_or(1)), "client"),
        bench.scale.unwrap_or(1)
    );
    prepare::announce_tables(prepared);
    prepare::announce_cpus(job, prepared);
    eprintln!(
        "  blocks  of one run of A and one of B; looked at after {}; margin ± {}",
        looks.join(", "),
        units::percent(compare.margin)
    );
    let run_s = measure.duration.as_secs_f64() + measure.warmup.as_secs_f64() + BETWEEN_S;
    let blocks_s = |blocks: u32| f64::from(2 * blocks) * run_s;
    let aa_s = blocks_s(compare.aa_blocks);
    eprintln!(
        "  noise   {} of A against A show what the machine itself does, {} of the time below",
        units::plural(u64::from(compare.aa_blocks), "block"),
        prepare::minutes(aa_s)
    );
    eprintln!("  writes  about {} {}", units::bytes(bench.cost.written_bytes), prepare::written_where(job));
    eprintln!("  record  in {}", context.runs.display());
    let fixed_s = (bench.cost.seconds - f64::from(prepared.plan.measure.blocks) * run_s).max(0.0);
    let fixed_s = fixed_s * job.servers.len() as f64;
    let first = compare.looks.first().map_or(0, |look| look.blocks);
    let (least, most) = (blocks_s(first), blocks_s(compare.looks.last().map_or(0, |look| look.blocks)));
    let least = prepare::minutes(fixed_s + aa_s + least);
    let most = prepare::minutes(fixed_s + aa_s + most);
    eprintln!(
        "  takes   {}",
        if least == most { format!("about {most}") } else { format!("{least} to {most}") }
    );
    eprintln!("  seed    {}", prepared.seed);
    bench.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let updates = |arm: &SubjectJob| arm.work.builtin().is_some_and(Builtin::updates_branches);
    let clients = bench.clients.first().copied().filter(|_| job.subjects.iter().any(updates));
    prepare::warn_of_branches(prepared, clients);
    programs::warn_of_builds(job, prepared);
}

fn arm_words(job: &Job, prepared: &prepare::Prepared, arm: &SubjectJob) -> String {
    let server = arm.server.map(|at| programs::words(job, prepared, at));
    let work = match &arm.work {
        SubjectWork::Plan => "the plan's workloads".to_owned(),
        SubjectWork::Script { work, protocol } => format!("{} ({} protocol)", work.name, protocol.name()),
        SubjectWork::Command(command) => format!("command: {}", pgdyno_record::redact(&command.text)),
    };
    let said = if arm.said == "default" { String::new() } else { format!("{}: ", arm.said) };
    format!("{said}{}", [server, Some(work)].into_iter().flatten().collect::<Vec<_>>().join(", "))
}
