//! Facts, choices, and what the user is told before anything is done.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use pgdyno_core::{
    cpus::cpus_in_words,
    facts::{Choice, HostFacts, Instrument, ServerFacts, StorageFacts},
    problem::Problem,
    stop::Stop,
    tpcc::{DERIVED, Shape},
    units,
};
use pgdyno_engine::{SocketDriver, UringDriver};
use pgdyno_plan::{
    Plan, TpccWork, Waiting, WorkloadFiles, WorkloadPlan,
    advice::{
        bench::{BenchFacts, BenchPlan, Level, few_branches, resolve},
        config::usable_memory_bytes,
    },
};
use pgdyno_postgres::load::check_version;
use pgdyno_provision::{Foreseen, builds};
use pgdyno_record::LoadTerms;
use pgdyno_rows::{
    PAGE_BYTES,
    load::{LoadPlan, Set},
};
use pgdyno_script::Builtin;

use super::{
    Job, Wanted, programs,
    reach::{Reached, reach},
    subject::Subject,
};
use crate::{
    context::{Context, draw_seed},
    instrument, servers,
};

/// What is known and decided before the first byte is written.
#[derive(Debug)]
pub struct Prepared {
    /// The plan with its seed.
    pub plan: Plan,
    /// The seed.
    pub seed: u64,
    /// What the plan brings of its own.
    pub material: WorkloadFiles,
    /// Whether its scripts may run programs.
    pub trust: bool,
    /// Everything that was left to facts.
    pub bench: BenchPlan,
    /// What is loaded and how; `None` where nothing is.
    pub load: Option<LoadPlan>,
    /// The machine.
    pub host: HostFacts,
    /// What `pgdyno selftest` found out about this program on this machine, if it was run.
    pub instrument: Option<Instrument>,
    /// How the driver waits for its connections.
    pub waiting: SocketDriver,
    /// Storage under the data directory, where it is on this machine.
    pub storage: Option<StorageFacts>,
    /// Shared buffers of each of several servers to be made, in bytes; one alone gets what the rules give it.
    pub shared_buffers_bytes: Option<u64>,
    /// Command and time of a thorough run, for the advice.
    pub thorough_hint: String,
    /// The program of each of the job's servers that is to be made; `None` of one that is there.
    pub programs: Vec<Option<Foreseen>>,
    /// What was found at each of the job's servers that is there; `None` where one is to be made.
    reached: Vec<Option<Reached>>,
}

impl Prepared {
    /// Whether what is driven are tables of the plan's, whose rows are counted before a run: not TPC-B's nor TPC-C's.
    pub fn has_own_tables(&self) -> bool {
        self.material.setup.is_some() || self.load.as_ref().is_some_and(|load| load.set == Set::Scaleup)
    }

    /// What was found at a server of the job that is there.
    pub fn reached(&self, server: usize) -> Option<&Reached> {
        self.reached.get(server)?.as_ref()
    }

    /// Storage under the data of a server, where that is another file system than [`Prepared::storage`].
    pub fn storage_elsewhere(&self, subject: &Subject) -> Option<StorageFacts> {
        let own = subject.storage()?;
        let is_known = self.storage.as_ref().is_some_and(|known| known.is_of_file_system(&own));
        (!is_known).then_some(own)
    }

    /// Storage under the data of a server, `elsewhere` if there is such; `None` of one that does not tell where they
    /// are.
    pub fn storage_of<'a>(
        &'a self,
        server: Option<&ServerFacts>,
        elsewhere: Option<&'a StorageFacts>,
    ) -> Option<&'a StorageFacts> {
        server?.data_directory.as_ref()?;
        elsewhere.or(self.storage.as_ref())
    }

    /// Processors that a server of the job may run on; `None` where it is on another machine.
    pub fn processors_of(&self, server: usize) -> Option<u32> {
        let all = self.host.cpu.allowed.len() as u32;
        match self.reached(server) {
            Some(reached) => reached.local.then_some(all),
            None if self.bench.cpus.server.is_empty() => Some(all),
            None => Some(self.bench.cpus.server.len() as u32),
        }
    }
}

/// Reads facts and resolves the plan.
///
/// # Errors
/// What this machine, or the server that is there, cannot do.
pub fn prepare(job: &Job, stop: &Stop) -> Result<Prepared, Problem> {
    let host = pgdyno_host::facts::host()
        .map_err(|error| Problem::could_not(format!("could not read the facts of this machine: {error}")))?;
    let mut plan = job.plan.clone();
    let seed = plan.seed.unwrap_or_else(draw_seed);
    plan.seed = Some(seed);
    refuse_loaded(job)?;
    let reached = reach_all(job, &mut plan, stop)?;
    let there: Vec<&Reached> = reached.iter().flatten().collect();
    let known = there.last().map(|reached| &reached.facts);
    let place = own_data_place(job)?.or_else(|| known?.data_directory.clone().map(PathBuf::from));
    let storage = place.and_then(|dir| pgdyno_host::facts::storage(&dir).ok());
    let tightest = tightest(job, &reached);
    // Servers side by side share the disk and the memory.
    let own = job.servers.iter().filter(|wanted| matches!(wanted, Wanted::Own(_))).count() as u64;
    let here = there.iter().filter(|reached| reached.local).count() as u64;
    let side_by_side = (own + here).max(1);
    let facts = BenchFacts {
        host: &host,
        disk_available_bytes: storage.as_ref().map(|storage| storage.available_bytes / side_by_side),
        side_by_side,
        own_server: own > 0,
        server_local: there.is_empty() || there.iter().any(|reached| reached.local),
        max_connections: tightest.as_ref().map(|(connections, _)| *connections),
        reserved_connections: there.iter().map(|reached| reached.reserved_connections).max().unwrap_or(0),
        shared_buffers_bytes: there
            .iter()
            .map(|reached| reached.facts.shared_buffers_bytes)
            .min()
            .or_else(|| (own > 1).then(|| shared_buffers_each(&host, own))),
        page_bytes: match known {
            Some(facts) => facts.block_bytes.into(),
            None => largest_page_bytes(job)?,
        },
    };
    let mut bench = resolve(&plan, job.level, &facts).map_err(|problem| named(problem, job, tightest))?;
    // Every subject costs as much as one server; what a comparison of two costs, it says itself.
    let each = if job.comparison().is_none() { job.subjects.len() as u64 } else { 1 };
    bench.cost = bench.cost.times(each);
    bench.choices.extend(there.iter().flat_map(|reached| reached.choices.clone()));
    let load = plan.loads(bench.scale)?;
    refuse_tables(job, &plan, load.as_ref(), &reached)?;
    let shared_buffers_bytes = (own > 1).then(|| shared_buffers_each(&host, own));
    bench.choices.extend(shared_buffers_bytes.map(|bytes| Choice {
        name: "shared_buffers".into(),
        value: format!("{}MB", bytes >> 20),
        reason: format!("the {own} servers that are up side by side share a quarter of memory"),
    }));
    let thorough_hint = thorough_hint(&plan, &facts, each);
    let waiting = waiting(plan.measure.waiting)?;
    let instrument = instrument::kept(&host);
    Ok(Prepared {
        plan,
        seed,
        material: job.material.clone(),
        trust: job.trust,
        bench,
        load,
        host,
        instrument,
        waiting,
        storage,
        shared_buffers_bytes,
        thorough_hint,
        programs: programs::foresee(job)?,
        reached,
    })
}

/// The least `max_connections` of the job's servers, as far as they are known, and whose they are. A pooler has a limit
/// of its own, which shows when the clients connect; a server to be made is given what it needs where nobody says
/// otherwise.
fn tightest(job: &Job, reached: &[Option<Reached>]) -> Option<(u32, usize)> {
    let limit = |(at, wanted): (usize, &Wanted)| {
        let connections = match wanted {
            Wanted::Own(request) => request.settings.get("max_connections")?.trim().parse().ok()?,
            Wanted::External(_) => {
                let reached = reached.get(at)?.as_ref().filter(|reached| !reached.pooled())?;
                reached.facts.max_connections
            }
        };
        Some((connections, at))
    };
    job.servers.iter().enumerate().filter_map(limit).min()
}

/// A problem of connections with the name of the subject that has too few.
fn named(problem: Problem, job: &Job, tightest: Option<(u32, usize)>) -> Problem {
    match tightest.filter(|_| problem.what.contains("max_connections")) {
        Some((_, at)) => Problem { what: of_subject(job, at, &problem.what), ..problem },
        None => problem,
    }
}

/// Words with the name of the subject before them that they are about, where there are several.
fn of_subject(job: &Job, at: usize, words: &str) -> String {
    let subject = job.subjects_at(at).next().filter(|_| job.has_several());
    subject.map_or_else(|| words.to_owned(), |(_, subject)| format!("{}: {words}", subject.name))
}

/// Looks at the servers that are there.
fn reach_all(job: &Job, plan: &mut Plan, stop: &Stop) -> Result<Vec<Option<Reached>>, Problem> {
    let mut all = Vec::new();
    for (at, wanted) in job.servers.iter().enumerate() {
        let Wanted::External(external) = wanted else {
            all.push(None);
            continue;
        };
        let driven = job.builtins_at(at);
        let tpcc = plan.workload.iter().any(|workload| workload.tpcc.is_some()).then_some("TPC-C");
        let writing = driven.into_iter().find(|script| script.writes()).map(Builtin::name).or(tpcc);
        let reached = reach(external, plan, writing, stop).and_then(|reached| refuse_setup(job, reached));
        let mut reached =
            reached.map_err(|problem| Problem { what: of_subject(job, at, &problem.what), ..problem })?;
        reached.choices.iter_mut().for_each(|choice| choice.reason = of_subject(job, at, &choice.reason));
        all.push(Some(reached));
    }
    Ok(all)
}

/// Refuses tables that a server of the job cannot have, as far as that is known before one is made.
fn refuse_tables(
    job: &Job,
    plan: &Plan,
    load: Option<&LoadPlan>,
    reached: &[Option<Reached>],
) -> Result<(), Problem> {
    let Some(load) = load.filter(|_| !plan.load.is_default()) else { return Ok(()) };
    if job.servers.is_empty() {
        let what = "could not load tables: the commands bring servers of their own";
        return Err(Problem::wrong_request(what).hint("leave out what is said of tables"));
    }
    refuse_for_one_arm(job)?;
    for (at, (wanted, reached)) in job.servers.iter().zip(reached).enumerate() {
        let refused = match (wanted, reached) {
            (Wanted::Own(request), _) => {
                let version = request.pg.map_or(Ok(()), |pg| check_version(load, pg.least()));
                version.and_then(|()| refuse_tablespaces(load))
            }
            (Wanted::External(_), Some(reached)) => refuse_of(load, reached),
            (Wanted::External(_), None) => Ok(()),
        };
        refused.map_err(|problem| Problem { what: of_subject(job, at, &problem.what), ..problem })?;
    }
    Ok(())
}

/// Refuses tables that only one arm of a comparison would have.
fn refuse_for_one_arm(job: &Job) -> Result<(), Problem> {
    let Some(arm) = job.subjects.iter().find(|subject| subject.server.is_none()) else { return Ok(()) };
    let what = format!(
        "could not load tables for both arms: the command of {} brings a server of its own",
        arm.name
    );
    Err(Problem::wrong_request(what)
        .hint("leave out what is said of tables, or have that arm make a server: pg=18,command=LINE"))
}

fn refuse_tablespaces(load: &LoadPlan) -> Result<(), Problem> {
    match load.tablespace.as_ref().or(load.index_tablespace.as_ref()) {
        None => Ok(()),
        Some(name) => {
            let what =
                format!("could not use the tablespace {name}: a server that is made for the run has none");
            Err(Problem::wrong_request(what)
                .hint("say where data lies by --data, or name a server that has tablespaces (`pgdyno up`)"))
        }
    }
}

fn refuse_of(load: &LoadPlan, reached: &Reached) -> Result<(), Problem> {
    check_version(load, reached.facts.version_num)?;
    if load.unlogged && reached.elsewhere {
        let what = "could not load unlogged tables for a standby: they are not replicated";
        return Err(Problem::wrong_request(what).hint("load logged tables, or drive the primary"));
    }
    Ok(())
}

/// Refuses tables of the plan's own behind a pooler.
fn refuse_setup(job: &Job, reached: Reached) -> Result<Reached, Problem> {
    let data = &job.plan.data;
    let loads = data.scaleup.is_some() || data.tpcc.is_some_and(|tpcc| !tpcc.loaded);
    if !reached.pooled() || (job.material.setup.is_none() && !loads) {
        return refuse_tpcc(job, reached);
    }
    let what = "could not drive tables of the plan's own through a pooler: its sessions cannot be told to look into \
                schema pgdyno";
    Err(Problem::wrong_request(what).hint("drive the server itself (--dsn), without the pooler"))
}

/// Refuses what sessions of TPC-C have to be told at their start, behind a pooler.
fn refuse_tpcc(job: &Job, reached: Reached) -> Result<Reached, Problem> {
    let mut works = job.plan.workload.iter().filter_map(|workload| workload.tpcc);
    let asks = |work: TpccWork| work.shape == Shape::Functions || work.isolation.is_some();
    if !reached.pooled() || !works.any(asks) {
        return Ok(reached);
    }
    let what = "could not drive TPC-C by functions, or in an isolation level, through a pooler: its sessions cannot be \
                told";
    Err(Problem::wrong_request(what).hint(
        "use the shape \"statements\" or \"pipelined\" at the server's own level, or drive the server itself",
    ))
}

/// Refuses tables that are said to be there, of a server that is only made.
fn refuse_loaded(job: &Job) -> Result<(), Problem> {
    let loaded = job.plan.data.tpcc.is_some_and(|tpcc| tpcc.loaded);
    if !loaded || !job.servers.iter().any(|wanted| matches!(wanted, Wanted::Own(_))) {
        return Ok(());
    }
    let what = "could not drive tables that are there: a server that is made for the run has none";
    Err(Problem::wrong_request(what).hint("leave `loaded` out, or name the server that has them (--dsn)"))
}

/// Shared buffers of each of several servers side by side, in bytes: together a quarter of memory, in whole megabytes.
pub fn shared_buffers_each(host: &HostFacts, servers: u64) -> u64 {
    const MB: u64 = 1 << 20;
    (usable_memory_bytes(host) / 4 / servers / MB * MB).max(16 * MB)
}

/// Size of a page of data in bytes, the largest of the servers to be made: more of it is left empty.
fn largest_page_bytes(job: &Job) -> Result<u64, Problem> {
    let mut largest = PAGE_BYTES;
    for wanted in &job.servers {
        let Wanted::Own(request) = wanted else { continue };
        if let Some(name) = &request.build {
            let build = builds::find(&servers::dirs()?, name)?;
            largest = largest.max(u64::from(build.manifest.block_kb) << 10);
        }
    }
    Ok(largest)
}

/// Where the data of an own server will be: the directory itself, or the nearest one above it that is there.
fn own_data_place(job: &Job) -> Result<Option<PathBuf>, Problem> {
    let own = |wanted: &Wanted| matches!(wanted, Wanted::Own(_));
    let Some(Wanted::Own(request)) = job.servers.iter().find(|wanted| own(wanted)) else { return Ok(None) };
    let wanted = match &request.data {
        Some(data) => data.clone(),
        None => servers::dirs()?.servers(),
    };
    let absolute = std::path::absolute(&wanted).unwrap_or(wanted);
    Ok(absolute.ancestors().find(|dir| dir.is_dir()).map(Path::to_path_buf))
}

/// The way of waiting that was asked for, or the cheapest that works here.
fn waiting(wanted: Waiting) -> Result<SocketDriver, Problem> {
    match wanted {
        Waiting::Auto => Ok(SocketDriver::best()),
        Waiting::Epoll => Ok(SocketDriver::Epoll),
        Waiting::IoUring => UringDriver::check().map(|()| SocketDriver::IoUring).map_err(|error| {
            Problem::could_not(format!("could not wait by io_uring: {error}"))
                .detail(
                    "it needs Linux 6.1, and kernel.io_uring_disabled = 0 outside of a container's filter",
                )
                .hint("leave measure.waiting out of the plan: epoll works everywhere")
        }),
    }
}

/// How a thorough run of so many servers, one after the other, is asked for, and how long it takes.
fn thorough_hint(plan: &Plan, facts: &BenchFacts<'_>, servers: u64) -> String {
    match thorough_s(plan, facts, servers) {
        Some(seconds) => format!("--thorough ({:.0} min)", (seconds / 60.0).ceil()),
        None => "--thorough".to_owned(),
    }
}

/// Seconds of the same; `None` where it cannot be.
fn thorough_s(plan: &Plan, facts: &BenchFacts<'_>, servers: u64) -> Option<f64> {
    let mut thorough = plan.clone();
    Level::Thorough.apply(&mut thorough);
    let resolved = resolve(&thorough, Level::Thorough, facts).ok()?;
    Some(resolved.cost.times(servers).seconds)
}

/// Length of the check of synchronous writes.
pub fn storage_check_time(level: Level) -> Duration {
    match level {
        Level::Quick => Duration::from_millis(500),
        Level::Screening | Level::Thorough => Duration::from_secs(2),
    }
}

/// Says on stderr what will be done, where, and what it costs.
pub fn announce(job: &Job, prepared: &Prepared, context: &Context) {
    let bench = &prepared.bench;
    let workloads: Vec<_> = prepared.plan.workload.iter().map(WorkloadPlan::title).collect();
    let measure = &prepared.plan.measure;
    let data = match (bench.scale, &prepared.load) {
        (Some(scale), _) => format!("at scale {scale}"),
        (None, Some(load)) => format!("on {}", load.title()),
        (None, None) => match prepared.plan.data.tpcc {
            Some(tpcc) => {
                format!("on tpcc with {}, as it is there", units::plural(tpcc.warehouses, "warehouse"))
            }
            None => "on tables of the plan's own".to_owned(),
        },
    };
    eprintln!("pgdyno {}: {} {data}", prepared.plan.name, workloads.join(", "));
    let each = match job.subjects.len() as u64 {
        1 => String::new(),
        subjects => format!(" ({} of each subject)", bench.cost.runs / subjects),
    };
    eprintln!(
        "  runs    {}{each} of {} after {} of warm-up: clients {}, blocks {}",
        bench.cost.runs,
        measure.duration,
        measure.warmup,
        client_words(prepared),
        measure.blocks
    );
    announce_tables(prepared);
    for at in 0..job.servers.len() {
        eprintln!("  server  {}", of_subject(job, at, &programs::words(job, prepared, at)));
    }
    announce_cpus(job, prepared);
    let own = prepared.material.is_own();
    let beside =
        |what: &str| if own { format!(", beside what the plan's own SQL {what}") } else { String::new() };
    let bytes = units::bytes(bench.cost.written_bytes);
    eprintln!("  writes  about {bytes} {}{}", written_where(job), beside("writes"));
    eprintln!("  record  in {}", context.runs.display());
    eprintln!("  takes   about {}{}", minutes(bench.cost.seconds), beside("takes between runs"));
    eprintln!("  seed    {}", prepared.seed);
    if prepared.plan.data.tpcc.is_some() {
        eprintln!("  {DERIVED}");
    }
    bench.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let levels = prepared.plan.workload.iter().zip(&bench.levels);
    let crowd = levels.filter(|(workload, _)| workload.as_builtin().is_some_and(Builtin::updates_branches));
    warn_of_branches(prepared, crowd.flat_map(|(_, levels)| levels).max().copied());
    programs::warn_of_builds(job, prepared);
}

/// Warns where so many clients will update fewer branches.
pub fn warn_of_branches(prepared: &Prepared, clients: Option<u32>) {
    let told = prepared.bench.scale.zip(clients).and_then(|(scale, clients)| few_branches(scale, clients));
    told.into_iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// What tables are like, where a plan or flags say it.
pub fn announce_tables(prepared: &Prepared) {
    let asked = &prepared.plan.load;
    if let Some(load) = prepared.load.as_ref().filter(|_| !asked.is_default()) {
        eprintln!("  tables  {}", LoadTerms::of(load, asked.streams()).words());
        if load.unlogged {
            eprintln!("warning: tables are unlogged: any crash of the server empties them");
        }
    }
}

/// Where servers that are made for the run, and the driver, may run, where that is not everywhere.
pub fn announce_cpus(job: &Job, prepared: &Prepared) {
    let (cpus, all) = (&prepared.bench.cpus, prepared.host.cpu.allowed.len());
    let own = job.servers.iter().any(|wanted| matches!(wanted, Wanted::Own(_)));
    let placed = cpus_in_words(&cpus.server, &cpus.driver, all).filter(|_| own);
    placed.iter().for_each(|words| eprintln!("  cpus    {words}"));
}

/// The numbers of clients; of each workload, where they are not the same for all.
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

/// Warns of connection parameters that are ignored.
pub fn warn_of_addresses(job: &Job) {
    for wanted in &job.servers {
        let Wanted::External(external) = wanted else { continue };
        let notices = external.drive.notices.iter();
        let notices = notices.chain(external.admin.iter().flat_map(|admin| &admin.notices));
        notices.for_each(|notice| eprintln!("warning: {notice}"));
    }
}

/// Where data of all servers goes, and whether it stays.
pub fn written_where(job: &Job) -> String {
    let stays = if job.keep { "kept" } else { "removed at the end" };
    let is_external = |wanted: &Wanted| matches!(wanted, Wanted::External(_));
    let external = job.servers.iter().any(is_external);
    if external && job.plan.data.tpcc.is_some_and(|tpcc| tpcc.loaded) {
        return format!("in the tables that are there, where it stays; schema pgdyno is {stays}");
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

/// The directories of a server to be made; WAL's, where it has one of its own.
fn own_dirs(wanted: &Wanted) -> Vec<String> {
    let Wanted::Own(request) = wanted else { return Vec::new() };
    let data = request.data.clone().or_else(|| Some(servers::dirs().ok()?.servers().join(&request.name)));
    data.into_iter().chain(request.waldir.clone()).map(|dir| dir.display().to_string()).collect()
}

/// A length of time, about.
pub fn minutes(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.1} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use pgdyno_script::Protocol;

    use super::*;

    #[test]
    fn a_thorough_run_of_several_subjects_takes_several_times_as_long() {
        let host = pgdyno_host::facts::host().expect("we are on one");
        let plan = Plan::new("x", vec![WorkloadPlan::builtin(Builtin::SelectOnly, Protocol::Prepared)]);
        let facts = BenchFacts {
            host: &host,
            disk_available_bytes: None,
            side_by_side: 1,
            own_server: true,
            server_local: true,
            max_connections: None,
            reserved_connections: 0,
            shared_buffers_bytes: None,
            page_bytes: PAGE_BYTES,
        };
        let seconds = |servers| thorough_s(&plan, &facts, servers).expect("it can be");
        assert_eq!(seconds(7), 7.0 * seconds(1));
        let said = thorough_hint(&plan, &facts, 7);
        assert_eq!(said, format!("--thorough ({:.0} min)", (7.0 * seconds(1) / 60.0).ceil()));
    }
}
