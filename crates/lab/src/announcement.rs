//! The announcement of an experiment: what will run, where, and at what cost. It is printed before anything starts.

use pgdyno_core::{cpus::cpus_in_words, tpcc::DERIVED, units};
use pgdyno_plan::{StagePlan, TpccPlan, WorkloadPlan, advice::bench::few_branches};
use pgdyno_rows::load::{ExistingTables, LoadRequest};
use pgdyno_script::Builtin;

use crate::{Compare, Event, Job, Lab, Prepared, SubjectJob, SubjectWork, Wanted, dirs, presets, programs};

/// Seconds between two runs of a comparison: CHECKPOINT, restoring the data, connecting, drain.
const BETWEEN_S: f64 = 0.7;
/// Seconds between two slots, whose connections stay open: drain, and saving the record.
const BETWEEN_SLOTS_S: f64 = 0.1;

/// Seconds of stopping and starting a server, and of reading its tables.
const RESTART_S: f64 = 1.0;

/// What will run, where, and at what cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Announcement {
    /// The experiment in one line.
    pub title: String,
    /// Labelled facts in display order. A fact that needs no label has an empty one.
    pub facts: Vec<(String, String)>,
    /// Warnings.
    pub warnings: Vec<Event>,
}

/// Announces what `execute` will do.
pub fn announce(job: &Job, prepared: &Prepared, lab: &Lab) -> Announcement {
    let mut announcement = Announcement::default();
    match job.comparison() {
        None => announcement.sweep(job, prepared),
        Some(compare) => announcement.comparison(job, compare, prepared),
    }
    for changes in &prepared.host_changes {
        announcement.fact("host", changes.clone());
    }
    announcement.fact("record", format!("in {}", lab.runs.display()));
    announcement.cost(job, prepared);
    announcement.fact("seed", prepared.seed.to_string());
    if prepared.plan.data.tpcc.is_some() {
        announcement.fact("", DERIVED.to_owned());
    }
    announcement.warn_of_addresses(job);
    prepared.bench.warnings.iter().for_each(|warning| announcement.warn(warning.clone()));
    announcement.warn_of_branches(job, prepared);
    announcement.warnings.extend(programs::warn_of_builds(job, prepared));
    announcement
}

impl Announcement {
    fn fact(&mut self, label: &str, text: String) {
        self.facts.push((label.to_owned(), text));
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(Event::Warning { text: text.into(), hint: None });
    }

    /// Facts of a run without a comparison: every level of every workload, in blocks.
    fn sweep(&mut self, job: &Job, prepared: &Prepared) {
        let workloads: Vec<_> = prepared.plan.workload.iter().map(WorkloadPlan::title).collect();
        let workloads =
            if workloads.is_empty() { "nothing is driven".to_owned() } else { workloads.join(", ") };
        self.title = format!("pgdyno {}: {workloads} {}", prepared.plan.name, data_words(prepared));
        self.runs(job, prepared);
        self.stages(prepared);
        self.tables(job, prepared);
        for at in 0..job.servers.len() {
            self.fact("server", job.of_subject(at, &programs::words(job, prepared, at)));
        }
        self.presets(job, prepared);
        self.starts(job, prepared);
        self.cpus(job, prepared);
    }

    /// How many runs, of which length, at which levels.
    fn runs(&mut self, job: &Job, prepared: &Prepared) {
        let (bench, measure) = (&prepared.bench, &prepared.plan.measure);
        if prepared.plan.workload.is_empty() {
            return;
        }
        let each = match job.subjects.len() as u64 {
            1 => String::new(),
            subjects => format!(" ({} of each subject)", bench.cost.runs / subjects),
        };
        let (interval, warmup, blocks) = (measure.duration, measure.warmup, measure.blocks);
        let clients = client_words(prepared);
        let runs = bench.cost.runs;
        let mut works = prepared.plan.workload.iter().map(|workload| workload.tpcc?.transactions);
        let by_number = works.find_map(|transactions| transactions);
        let length = match by_number.filter(|_| works.all(|transactions| transactions.is_some())) {
            Some(each) => format!("{} of each client", units::plural(each, "transaction")),
            None => format!("{interval} after {warmup} of warm-up"),
        };
        self.fact("runs", format!("{runs}{each} of {length}: clients {clients}, blocks {blocks}"));
    }

    /// The stages of a plan that names them.
    fn stages(&mut self, prepared: &Prepared) {
        let words: Vec<_> = prepared.plan.stage.iter().map(StagePlan::words).collect();
        if !words.is_empty() {
            self.fact("stages", words.join(", then "));
        }
    }

    /// When several servers are restarted.
    fn starts(&mut self, job: &Job, prepared: &Prepared) {
        let own = job.servers.iter().filter(|wanted| matches!(wanted, Wanted::Own(_))).count();
        if !job.has_several() || own == 0 {
            return;
        }
        let practice = if job.loads_in_runs() { "" } else { ", each with a practice run" };
        let words = match prepared.blocks_per_start {
            None => "one of each server".to_owned(),
            Some(1) => format!("new ones of all servers before every block{practice}"),
            Some(blocks) => format!("new ones of both servers before every {blocks} blocks{practice}"),
        };
        self.fact("starts", words);
    }

    /// Facts of a comparison of A and B.
    fn comparison(&mut self, job: &Job, compare: &Compare, prepared: &Prepared) {
        let (bench, measure) = (&prepared.bench, &prepared.plan.measure);
        self.title = "pgdyno ab: is B faster than A?".to_owned();
        for arm in &job.subjects {
            self.fact(&arm.name, arm_words(job, prepared, arm));
        }
        let clients = arm_clients(job, bench.clients.first().copied().unwrap_or(1));
        let (interval, warmup, data) = (measure.duration, measure.warmup, data_words(prepared));
        let runs = match job.loads_in_runs() {
            true => format!("loads of all tables {data}; those of the load before are dropped first"),
            false if is_of_storage(job) => format!("{interval} in each directory"),
            false => format!("{interval} after {warmup} of warm-up, {clients} {data}"),
        };
        match compare.slots {
            true => self.fact("slots", format!("{runs}; connections stay open, no work between slots")),
            false => self.fact("runs", runs),
        }
        self.tables(job, prepared);
        self.presets(job, prepared);
        self.starts(job, prepared);
        self.cpus(job, prepared);
        let looks: Vec<_> = compare.looks.iter().map(|look| look.blocks.to_string()).collect();
        let margin = units::percent(measure.margin.share());
        let each = if compare.slots { "slot" } else { "run" };
        self.fact(
            "blocks",
            format!(
                "of one {each} of A and one of B; looks at the result after {} of them; margin ± {margin}",
                looks.join(", ")
            ),
        );
    }

    /// Which tables are used and which are left alone, and how tables are loaded, if the plan or a flag says so; for
    /// each server if they differ.
    fn tables(&mut self, job: &Job, prepared: &Prepared) {
        for (at, reached) in prepared.existing.iter().enumerate() {
            let Some(reached) = reached else { continue };
            let measured = reached.tables.measured.as_ref().map(|tables| ("tables", existing_words(tables)));
            let alone = reached.tables.left_alone.as_ref().map(|alone| ("left alone", alone_words(alone)));
            for (label, words) in measured.into_iter().chain(alone) {
                self.fact(label, job.of_subject(at, &words));
            }
        }
        if job.has_loads_of_workloads() {
            return self.tables_of_workloads(job, prepared);
        }
        if job.loads().into_iter().all(LoadRequest::is_default) {
            return;
        }
        let alike = job.loads_alike();
        let of_server = |at: usize, words: String| if alike { words } else { job.of_subject(at, &words) };
        let shown = if alike { 1 } else { job.servers.len() };
        for at in 0..shown {
            let Some(load) = prepared.load_at(at) else { continue };
            self.fact("tables", of_server(at, load.words(job.load_at(at).streams())));
            if load.unlogged {
                let warning = "tables are unlogged: any crash of the server empties them";
                self.warn(of_server(at, warning.to_owned()));
            }
        }
    }

    /// The presets of own servers, and what of them a server will not have as published.
    fn presets(&mut self, job: &Job, prepared: &Prepared) {
        for at in 0..job.servers.len() {
            let lines = presets::lines(prepared, at);
            lines.into_iter().for_each(|(label, words)| self.fact(label, job.of_subject(at, &words)));
        }
    }

    /// How tables are loaded for each workload, on each server if they differ.
    fn tables_of_workloads(&mut self, job: &Job, prepared: &Prepared) {
        let shown = if job.loads_alike() { 1 } else { job.servers.len() };
        for (at, work) in job.workload_files.work.iter().enumerate() {
            for server in 0..shown {
                let Some(load) = prepared.load_for(server, at) else { continue };
                let words = format!("{}: {}", work.name, load.words(job.load_for(server, at).streams()));
                let words = if shown == 1 { words } else { job.of_subject(server, &words) };
                self.fact("load", words);
            }
        }
    }

    /// CPUs of pgdyno's own servers and of the driver, unless both may use all.
    fn cpus(&mut self, job: &Job, prepared: &Prepared) {
        let (cpus, all) = (&prepared.bench.cpus, prepared.host.allowed_cpus().len());
        let own = job.servers.iter().any(|wanted| matches!(wanted, Wanted::Own(_)));
        let placed = cpus_in_words(&cpus.server, &cpus.driver, all).filter(|_| own);
        placed.into_iter().for_each(|words| self.fact("cpus", words));
    }

    /// Bytes written and time taken.
    fn cost(&mut self, job: &Job, prepared: &Prepared) {
        let own = job.workload_files.is_own();
        let of_own =
            |what: &str| if own { format!(", plus what the plan's own SQL {what}") } else { String::new() };
        let loads = match job.loads_in_runs() {
            true => u64::from(prepared.plan.measure.blocks) + 2,
            false => prepared.loads_made(),
        };
        let bytes = units::bytes(prepared.bench.cost.written_bytes.saturating_mul(loads));
        let writes =
            format!("about {bytes} {}{}", write_targets(job, prepared.uses_existing), of_own("writes"));
        // Insert before the last fact, the place of the record.
        self.facts.insert(self.facts.len() - 1, ("writes".to_owned(), writes));
        let takes = match job.comparison() {
            None => format!("about {}", minutes(prepared.bench.cost.seconds + level_starts_s(job, prepared))),
            Some(compare) => comparison_takes(job, compare, prepared),
        };
        self.fact("takes", takes + &of_own("takes between runs") + &unknown_stages(prepared));
    }

    /// Warns of connection parameters that are ignored.
    fn warn_of_addresses(&mut self, job: &Job) {
        for wanted in &job.servers {
            let Wanted::External(external) = wanted else { continue };
            let notices = external.drive.notices.iter();
            let notices = notices.chain(external.admin.iter().flat_map(|admin| &admin.notices));
            notices.for_each(|notice| self.warn(notice.clone()));
        }
    }

    /// Warns if more clients than branches will update branches.
    fn warn_of_branches(&mut self, job: &Job, prepared: &Prepared) {
        let clients = most_updating(job, prepared);
        let announcement =
            prepared.bench.scale.zip(clients).and_then(|(scale, clients)| few_branches(scale, clients));
        announcement.into_iter().for_each(|warning| self.warn(warning));
    }
}

/// Stages of a plan whose time depends on tables and settings in a way that nobody can foresee.
fn unknown_stages(prepared: &Prepared) -> String {
    let mut names = Vec::new();
    for action in prepared.plan.stages().iter().map(|stage| stage.action) {
        let name = format!("`{}`", action.name());
        if action.is_of_unknown_length() && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { String::new() } else { format!(", plus the time of {}", names.join(", ")) }
}

/// The highest client count that updates branches.
fn most_updating(job: &Job, prepared: &Prepared) -> Option<u32> {
    let bench = &prepared.bench;
    if job.comparison().is_some() {
        let updates = |arm: &&SubjectJob| arm.work.builtin().is_some_and(Builtin::updates_branches);
        let updating = job.subjects.iter().filter(updates);
        return updating.filter_map(|arm| arm.clients.or(bench.clients.first().copied())).max();
    }
    let levels = prepared.plan.workload.iter().zip(&bench.levels);
    let updating =
        levels.filter(|(workload, _)| workload.as_builtin().is_some_and(Builtin::updates_branches));
    updating.flat_map(|(_, levels)| levels).max().copied()
}

/// Client counts of the arms of a comparison, of which those without one of their own have that of `both`.
fn arm_clients(job: &Job, both: u32) -> String {
    let words = |clients: u32| units::plural(u64::from(clients), "client");
    if !job.has_own_clients() {
        return words(both);
    }
    let of = |arm: &SubjectJob| format!("{} {}", arm.name, words(arm.clients.unwrap_or(both)));
    job.subjects.iter().map(of).collect::<Vec<_>>().join(" and ")
}

/// Whether directories are measured, and no server.
fn is_of_storage(job: &Job) -> bool {
    job.subjects.iter().all(|subject| matches!(subject.work, SubjectWork::Storage(_)))
}

/// Existing tables, whose they are, and who loaded them.
fn existing_words(tables: &ExistingTables) -> String {
    let by = match tables.loaded_by {
        Some(seed) => format!("loaded by pgdyno with seed {seed}"),
        None => "not loaded by pgdyno".to_owned(),
    };
    format!(
        "existing: {}, of role {}, {by}; they stay, with what the runs write",
        tables.words(),
        tables.owner
    )
}

/// Tables that somebody may have meant.
fn alone_words((schema, scale): &(String, u64)) -> String {
    format!(
        "pgbench_accounts at scale {scale} in schema {schema}: the run loads tables of its own; --tables existing \
         measures those"
    )
}

/// The tables under test, in words.
fn data_words(prepared: &Prepared) -> String {
    let existing = if prepared.plan.data.loaded { ", existing tables" } else { "" };
    match (prepared.bench.scale, prepared.first_load(), &prepared.plan.data.tpcc) {
        (Some(scale), ..) => format!("at scale {scale}{existing}"),
        (None, Some(load), Some(tpcc)) => format!("on {}{}", sets_words(tpcc), load.title()),
        (None, Some(load), None) => format!("on {}", load.title()),
        (None, None, Some(tpcc)) => {
            let warehouses = units::plural(tpcc.warehouses, "warehouse");
            format!("on {}tpcc with {warehouses}{existing}", sets_words(tpcc))
        }
        (None, None, None) if prepared.uses_existing => {
            let is_there = prepared.existing.iter().any(Option::is_some);
            if is_there { "on the tables that its scripts name" } else { "without tables" }.to_owned()
        }
        (None, None, None) => "on the plan's own tables".to_owned(),
    }
}

/// How many sets of tables there are, if there are several.
fn sets_words(tpcc: &TpccPlan) -> String {
    match tpcc.count() {
        1 => String::new(),
        count => format!("{count} sets of "),
    }
}

fn arm_words(job: &Job, prepared: &Prepared, arm: &SubjectJob) -> String {
    let server = arm.server.map(|at| programs::words(job, prepared, at));
    let work = match &arm.work {
        SubjectWork::Plan => "the plan's workloads".to_owned(),
        SubjectWork::Load => "load".to_owned(),
        SubjectWork::Script { work, protocol } => format!("{} ({} protocol)", work.name, protocol.name()),
        SubjectWork::Command(command) => format!("command: {}", pgdyno_record::redact(&command.text)),
        SubjectWork::Storage(storage) => storage.words(),
    };
    let said = if arm.said == "default" { String::new() } else { format!("{}: ", arm.said) };
    format!("{said}{}", [server, Some(work)].into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Seconds of one run of a comparison, including the pause after it.
fn run_s(compare: &Compare, prepared: &Prepared) -> f64 {
    prepared.run_s + if compare.slots { BETWEEN_SLOTS_S } else { BETWEEN_S }
}

/// Seconds of `blocks` blocks of two runs, with the starts of the servers.
pub(crate) fn blocks_s(compare: &Compare, prepared: &Prepared, blocks: u32) -> f64 {
    let starts = prepared.blocks_per_start.map_or(1, |of_start| blocks.div_ceil(of_start));
    f64::from(2 * blocks) * run_s(compare, prepared) + f64::from(2 * starts) * start_s(prepared)
}

/// Seconds of a start of one server, with its practice run.
fn start_s(prepared: &Prepared) -> f64 {
    let measure = &prepared.plan.measure;
    let restart_s = if prepared.blocks_per_start.is_some() { RESTART_S } else { 0.0 };
    restart_s + BETWEEN_S + measure.warmup.as_secs_f64() + measure.duration.as_secs_f64() / 2.0
}

/// Seconds of all starts of a run over levels.
pub(crate) fn level_starts_s(job: &Job, prepared: &Prepared) -> f64 {
    let blocks = prepared.blocks_per_start.map_or(1, |of_start| {
        prepared.plan.measure.blocks.div_ceil(of_start) * prepared.passes().len() as u32
    });
    let servers = if job.has_several() { job.subjects.len() as f64 } else { 0.0 };
    f64::from(blocks) * servers * start_s(prepared)
}

/// Time of a comparison, from one decided at the first look to one decided at the last.
fn comparison_takes(job: &Job, compare: &Compare, prepared: &Prepared) -> String {
    let runs_s = f64::from(prepared.plan.measure.blocks) * (prepared.run_s + BETWEEN_S);
    let fixed_s = match job.loads_in_runs() {
        // The first load, which is not compared.
        true => prepared.run_s,
        false => (prepared.bench.cost.seconds - runs_s).max(0.0),
    } * job.servers.len() as f64;
    let until = |look: Option<u32>| minutes(fixed_s + blocks_s(compare, prepared, look.unwrap_or(0)));
    let least = until(compare.looks.first().map(|look| look.blocks));
    let most = until(compare.looks.last().map(|look| look.blocks));
    if least == most { format!("about {most}") } else { format!("{least} to {most}") }
}

/// Client counts; listed for each workload if they differ.
fn client_words(prepared: &Prepared) -> String {
    let list = |levels: &[u32]| levels.iter().map(u32::to_string).collect::<Vec<_>>().join("/");
    let levels = &prepared.bench.levels;
    match levels.windows(2).all(|pair| pair[0] == pair[1]) {
        true => list(&prepared.bench.clients),
        false => {
            let titles = prepared.plan.workload.iter().map(WorkloadPlan::title).zip(levels);
            titles.map(|(title, levels)| format!("{} ({title})", list(levels))).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Where all servers write their data, and whether it is kept.
fn write_targets(job: &Job, uses_existing: bool) -> String {
    let stays = if job.keep { "kept" } else { "removed at the end" };
    let is_external = |wanted: &Wanted| matches!(wanted, Wanted::External(_));
    let external = job.servers.iter().any(is_external);
    if external && uses_existing {
        return format!("in the existing tables, where it stays; schema pgdyno is {stays}");
    }
    if is_of_storage(job) {
        return "that stay: each run has a file in its directory, unlinked at once".to_owned();
    }
    let mut places: Vec<String> = job.servers.iter().flat_map(own_dirs).collect();
    if external {
        places.insert(0, "schema pgdyno".to_owned());
    }
    let Some((last, before)) = places.split_last() else { return "by the commands".into() };
    match before {
        [] => format!("in {last}, {stays}"),
        _ => format!("in {} and {last}, {stays}", before.join(", ")),
    }
}

/// Directories of an own server: data, and WAL if it is separate.
fn own_dirs(wanted: &Wanted) -> Vec<String> {
    let Wanted::Own(request) = wanted else { return Vec::new() };
    let data = request.data.clone().or_else(|| Some(dirs().ok()?.servers().join(&request.name)));
    data.into_iter().chain(request.waldir.clone()).map(|dir| dir.display().to_string()).collect()
}

/// An approximate duration.
fn minutes(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.1} min", seconds / 60.0) }
}
