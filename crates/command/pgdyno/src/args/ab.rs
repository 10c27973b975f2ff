//! `pgdyno ab`.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode, thread};

use clap::ArgAction;
use pgdyno_analysis::compare::{Asked, ComparedRate, MAX_BLOCKS, MIN_BLOCKS, looks, only_look, slots};
use pgdyno_core::{margin::Margin, observe::ObserveLevel, problem::Problem, profile::Profiling, span::Span};
use pgdyno_lab::{
    Compare, Job, Measured, PGBENCH_RESULT, Question, SubjectJob, SubjectWork, Wanted, conninfo_of,
};
use pgdyno_plan::{
    Auto, BalanceCheckMode, HostPlan, Plan, Restart, Scale, Work, WorkloadFiles, WorkloadPlan,
    advice::bench::Level,
};
use pgdyno_rows::load::LoadRequest;
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::ConnectOptions;
use regex_lite::Regex;

use super::{
    ab_storage,
    arm::{Arm, builtin, clients, host, protocol},
    arms_own::{self},
    bench::{cpu_list, rate},
    detach::Detach,
    file,
    measure::restart,
    own_server::{refuse_as_published, setting},
    recorded,
    tables::{TablesFlags, leave_out_unused},
};
use crate::{conclude::Output, context::Context, detach::Detachment, measure::Task};

const EXAMPLES: &str = "\
Examples:
  pgdyno ab --bundle --pg 17 --pg 18                    two major versions
  pgdyno ab --build pg18-gcc --build pg18-clang         two builds
  pgdyno ab --bindir OLD/bin --bindir NEW/bin -f my.sql two programs, your script
  pgdyno ab --set jit=on --set jit=off -b select-only   one setting
  pgdyno ab -f join.sql -f exists.sql                   two ways to write a query
  pgdyno ab default set:wal_compression=on,set:jit=off  several settings
  pgdyno ab load:fillfactor=50 load:fillfactor=100      tables loaded differently
  pgdyno ab --by loaded-rows load:jobs=1 load:jobs=2    two ways of loading
  pgdyno ab --clients 8 --clients 16                    two client counts
  pgdyno ab --dir /mnt/a --dir /mnt/b                   two disks, for commits
  pgdyno ab --dir /mnt/a --dir /mnt/b --by reads        the same, for random reads
  pgdyno ab --dsn 'host=old dbname=x' --dsn 'host=new dbname=x'
  pgdyno ab --server main --loaded --set jit=on --set jit=off
                                                        sessions of a running server
  pgdyno ab --command 'pgbench -n -S -T {seconds} -h old' \\
            --command 'pgbench -n -S -T {seconds} -h new'

A and B are one or more of these, separated by commas:
  pg=VERSION  build=NAME  bindir=DIR  bundle  data=DIR  waldir=DIR  dir=DIR
  preset=NAME|FILE  as-published  listen=ADDR  set:NAME=VALUE
  script=FILE  builtin=NAME  protocol=NAME  clients=N
  host=default|recommended  host:NAME=VALUE
  load:NAME=VALUE or load:NAME, with the name of a flag under Tables
  dsn=CONNINFO or command=LINE, which include all that follows; with a pooler
    dsn=CONNINFO,admin-dsn=CONNINFO
set: with dsn applies to the sessions of the arm's clients.
`default` means none of them. If an arm has a command and a temporary server, as
in `pg=18,command=pgbench -n -S -T {seconds}`, PGHOST, PGPORT, PGUSER and
PGDATABASE name that server, with pgbench's tables in it.";

/// Blocks unless `--blocks` says otherwise: of runs, and of slots, which take about as long.
const BLOCKS: u32 = 16;
const SLOT_BLOCKS: u32 = 32;

/// Heading of the flags that name the subjects.
const SUBJECTS: &str = "A and B (a flag given once is for both; given twice, first A's, then B's)";

/// Flags of `pgdyno ab`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, allow_negative_numbers = true, after_help = EXAMPLES)]
pub struct Args {
    /// Arm A as KEY=VALUE,... such as pg=15,set:jit=off; combined with the flags
    a: Option<String>,
    /// Arm B as KEY=VALUE,...
    b: Option<String>,
    /// PostgreSQL version of a temporary server, major or exact
    #[arg(long, value_name = "VERSION", help_heading = SUBJECTS)]
    pg: Vec<String>,
    /// Directory of the programs initdb and postgres
    #[arg(long, value_name = "DIR", help_heading = SUBJECTS)]
    bindir: Vec<String>,
    /// Name of a build, as listed by `pgdyno builds`
    #[arg(long, value_name = "NAME", help_heading = SUBJECTS)]
    build: Vec<String>,
    /// Use downloaded bundles even if PostgreSQL is installed
    #[arg(long, conflicts_with_all = ["bindir", "build"], help_heading = SUBJECTS)]
    bundle: bool,
    /// Published configuration by name, or a postgresql.conf by path, instead of settings computed for this host
    #[arg(long, value_name = "NAME|FILE", help_heading = SUBJECTS)]
    preset: Vec<String>,
    /// Apply presets unchanged: with the sizes of their machine, and with settings that weaken durability
    #[arg(long, help_heading = SUBJECTS)]
    as_published: bool,
    /// Setting of a temporary server, or of the clients' sessions on an existing one; each name once or twice
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, help_heading = SUBJECTS)]
    set: Vec<(String, String)>,
    /// Server of `pgdyno up`, or one of its databases
    #[arg(long, value_name = "NAME[/DBNAME]", conflicts_with = "dsn", help_heading = SUBJECTS)]
    server: Vec<String>,
    /// Existing server, as URI or keyword string; everything is created in its schema `pgdyno`
    #[arg(long, value_name = "CONNINFO", help_heading = SUBJECTS)]
    dsn: Vec<String>,
    /// Connection string for setup, checks and monitoring, such as the server behind the pooler of --dsn
    #[arg(long, value_name = "CONNINFO", help_heading = SUBJECTS)]
    admin_dsn: Vec<String>,
    /// Directory whose storage is compared, without a server; its scratch files are removed
    #[arg(long, value_name = "DIR", help_heading = SUBJECTS)]
    dir: Vec<PathBuf>,
    /// State of this host for the runs: default, recommended (as `pgdyno host check` says), or a value such as
    /// vm.swappiness=1; put back after them, and only with --allow-host-changes
    #[arg(long, value_name = "STATE", value_parser = host, help_heading = SUBJECTS)]
    host: Vec<HostPlan>,
    /// Built-in script: tpcb-like, simple-update, select-only [default: tpcb-like]
    #[arg(long, short, value_name = "NAME", value_parser = builtin, help_heading = SUBJECTS)]
    builtin: Vec<Builtin>,
    /// Script in pgbench's language
    #[arg(long, short = 'f', value_name = "FILE", help_heading = SUBJECTS)]
    script: Vec<PathBuf>,
    /// Allow scripts that reach beyond tables: programs (`\shell`), files and settings of the server
    #[arg(long, help_heading = SUBJECTS)]
    trust: bool,
    /// Query protocol: simple, extended, prepared [default: prepared]
    #[arg(long, short = 'M', value_name = "NAME", value_parser = protocol, help_heading = SUBJECTS)]
    protocol: Vec<Protocol>,
    /// Client count [default: twice the number of CPUs]
    #[arg(long, short, value_name = "N", value_parser = clients, help_heading = SUBJECTS)]
    clients: Vec<u32>,
    /// Tries of a transaction after a serialization failure or a deadlock; 0 is any number [default: 1]
    #[arg(long, value_name = "N", help_heading = SUBJECTS)]
    max_tries: Option<u32>,
    /// Benchmark command that prints a rate; {seconds}, {clients}, {jobs} and {scale} are replaced
    #[arg(long, value_name = "LINE", help_heading = SUBJECTS)]
    command: Vec<String>,
    /// Take server, data, workload and times from this plan, with one workload and one client count. Tables and scripts
    /// of its own, and TPC-C, run as they are on both servers
    #[arg(long, value_name = "FILE.toml", help_heading = "Workload")]
    plan: Option<PathBuf>,
    /// TPC-B scale factor [default: from memory and disk]
    #[arg(long, short, value_name = "N", help_heading = "Workload",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    scale: Option<u64>,
    /// Driver threads [default: one per driver CPU]
    #[arg(long, short, value_name = "N", help_heading = "Workload",
          value_parser = clap::value_parser!(u32).range(1..=1_024))]
    jobs: Option<u32>,
    /// Measured interval of a run [default: 5s, or 2s with --slots]
    #[arg(long, short = 'T', value_name = "TIME", allow_hyphen_values = true, help_heading = "Workload")]
    duration: Option<Span>,
    /// Warm-up before the measured interval [default: 1500ms, or 500ms with --slots]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Workload")]
    warmup: Option<Span>,
    /// What to observe: nothing, the host with the servers' processes, or also the servers [default: all]
    #[arg(long, value_name = "none|host|all", help_heading = "Options")]
    observe: Option<ObserveLevel>,
    /// Profile the servers' processes with perf in every measured interval; stacks by auto, fp or dwarf
    #[arg(
        long,
        value_name = "STACKS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        help_heading = "Options"
    )]
    profile: Option<Profiling>,
    /// Always refused, with the reason
    #[arg(long, short = 'R', value_name = "TPS", value_parser = rate, allow_hyphen_values = true, hide = true)]
    rate: Option<f64>,
    /// CPUs of the driver, such as 0 or 0-3,8 [default: the last quarter]
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "Workload")]
    driver_cpus: Option<String>,
    /// CPUs of temporary servers [default: those that the driver does not use]
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "Workload")]
    server_cpus: Option<String>,
    /// Maximum number of blocks of one run of A and one of B; evaluated after 8, then every 4 [default: 16,
    /// or 32 with --slots]
    #[arg(long, value_name = "N", help_heading = "Method",
          value_parser = clap::value_parser!(u32).range(i64::from(MIN_BLOCKS)..=i64::from(MAX_BLOCKS)))]
    blocks: Option<u32>,
    /// Measure all blocks, even if the answer is clear earlier, and evaluate them once
    #[arg(long, help_heading = "Method")]
    one_look: bool,
    /// Drive A and B in turn in short slots over connections that stay open, without CHECKPOINT or vacuum between them:
    /// for effects of a few per cent, if the idle server does nothing
    #[arg(long, help_heading = "Method")]
    slots: bool,
    /// When to restart both servers: auto, always (before every second block; every fourth with --slots), never
    #[arg(long, value_name = "WHEN", value_parser = restart, help_heading = "Method")]
    restart: Option<Restart>,
    /// Count blocks disturbed by other load, instead of measuring them again
    #[arg(long, help_heading = "Method")]
    keep_disturbed: bool,
    /// Rate to compare: tps, new-orders for TPC-C (NOPM over 60), or loaded-rows: every run then loads the tables, and
    /// is compared by rows per second from the first row to the last key. With --dir: syncs (writes of 8 KiB with
    /// fdatasync), or reads (random ones of 8 KiB) [default: tps, or syncs with --dir]
    #[arg(long, value_name = "RATE", value_parser = by, help_heading = "Method")]
    by: Option<ComparedRate>,
    /// Equivalence margin: a difference within ± this does not matter [default: 2%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = "Method")]
    margin: Option<Margin>,
    /// Regular expression whose first group is the rate that a command prints [default: pgbench's `tps = …`]
    #[arg(long, value_name = "REGEX", value_parser = result, help_heading = "Method")]
    result: Option<Regex>,
    /// Exit with status 1 if B is slower
    #[arg(long, help_heading = "Method")]
    fail_if_slower: bool,
    #[command(flatten, next_help_heading = "Tables")]
    tables: TablesFlags,
    #[command(flatten, next_help_heading = "Tables")]
    loading: LoadRequest,
    /// User to run the servers as (root only)
    #[arg(long, value_name = "USER", help_heading = "Options")]
    run_as: Option<String>,
    /// Keep the servers' data (or the schema) after the run
    #[arg(long, help_heading = "Options")]
    keep: bool,
    /// Allow the changes of this host that A and B name (root only)
    #[arg(long, help_heading = "Options")]
    allow_host_changes: bool,
    #[command(flatten, next_help_heading = "Options")]
    detach: Detach,
    /// Check arms, programs, this machine and existing servers, print what would be done, and stop
    #[arg(long, conflicts_with = "detach", help_heading = "Options")]
    dry_run: bool,
    /// Random seed [default: chosen and printed]
    #[arg(long, value_name = "N", help_heading = "Options",
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Print run.json instead of the report
    #[arg(long, conflicts_with = "detach", help_heading = "Options")]
    json: bool,
    /// Print the full report instead of the 50-line summary
    #[arg(long, conflicts_with = "json", help_heading = "Options")]
    full: bool,
    /// Also write the report to this file: .html, .md, .txt, .csv or .json
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    out: Option<PathBuf>,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "Options")]
    help: Option<bool>,
}

/// Parses the rate to compare.
fn by(text: &str) -> Result<ComparedRate, String> {
    match text {
        "tps" => Ok(ComparedRate::Tps),
        "new-orders" => Ok(ComparedRate::NewOrders),
        "loaded-rows" => Ok(ComparedRate::LoadedRows),
        "syncs" => Ok(ComparedRate::Syncs),
        "reads" => Ok(ComparedRate::Reads),
        _ => Err("it is tps, new-orders, loaded-rows, syncs or reads".to_owned()),
    }
}

fn result(text: &str) -> Result<Regex, String> {
    let regex = Regex::new(text).map_err(|error| error.to_string())?;
    if regex.captures_len() < 2 {
        return Err("it needs a group in parentheses around the rate".into());
    }
    Ok(regex)
}

/// Runs `pgdyno ab`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    crate::measure::measure(&args.task()?, context)
}

impl Args {
    /// Task of the command line.
    ///
    /// # Errors
    /// The arms, the plan or the flags are invalid, or contradict each other.
    pub(super) fn task(&self) -> Result<Task, Problem> {
        let output = Output { json: self.json, full: self.full, out: self.out.clone() };
        Ok(Task { job: self.job()?, dry_run: self.dry_run, output })
    }

    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        self.detach.detachment("ab", || self.job().map(|job| job.connections()))
    }

    fn job(&self) -> Result<Job, Problem> {
        let (mut plan, files) = self.base_plan()?;
        self.refuse_rate(&plan)?;
        let arms = self.both_arms(&plan)?;
        self.refuse_several(&plan, &arms)?;
        let works = self.works(&arms, &plan, files.as_ref())?;
        self.refuse_by(&plan)?;
        self.refuse_slots(&works, files.as_ref())?;
        self.apply(&mut plan, &works, files.is_some());
        let own = arms_own::apply(&arms, &mut plan)?;
        plan.validate()?;
        let has_tables =
            self.may_use_tpcb(&works, files.as_ref()) || own.iter().any(|own| own.load.is_some());
        leave_out_unused(&mut plan, has_tables);
        let servers = self.servers(&arms, &plan)?;
        arms_own::refuse_shared(&own, servers.of_arm)?;
        self.refuse_sessions_of_loads(&servers.drives)?;
        let named_servers = self.connections_by_name()?;
        let hosts = [0, 1].map(|at: usize| arms[at].host.over(&plan.host));
        self.refuse_host(&hosts)?;
        let parts = works.into_iter().zip(own).zip(servers.drives).zip(hosts).enumerate();
        let subjects = parts.map(|(at, (((work, own), drive), host))| {
            let (arm, other) = (&arms[at], &arms[1 - at]);
            SubjectJob {
                name: ["A", "B"][at].to_owned(),
                said: with_names(pgdyno_record::redact(&arm.said_next_to(other)), &named_servers),
                asked: if at == 0 { Asked::default() } else { other.asked(arm) },
                server: servers.of_arm[at],
                work,
                load: own.load,
                clients: own.clients,
                drive,
                host,
            }
        });
        let subjects = subjects.collect();
        Ok(Job {
            workload_files: files.map_or_else(|| WorkloadFiles::without_files(&plan), Ok)?,
            trust: self.trust,
            plan,
            level: Level::Screening,
            servers: servers.servers,
            subjects,
            question: Question::Comparison(self.compare()),
            command: recorded::of_process(),
            seed_given: self.seed.is_some(),
            keep: self.keep,
            allow_host_changes: self.allow_host_changes,
        })
    }

    /// What both arms run.
    fn works(
        &self,
        arms: &[Arm; 2],
        plan: &Plan,
        files: Option<&WorkloadFiles>,
    ) -> Result<[SubjectWork; 2], Problem> {
        if let Some(works) = ab_storage::works(arms, self.by(), self.not_of_storage())? {
            return Ok(works);
        }
        if self.by() == ComparedRate::LoadedRows {
            self.refuse_beside_loads(arms, plan)?;
            return Ok([SubjectWork::Load, SubjectWork::Load]);
        }
        if files.is_some() {
            self.refuse_other_work(arms)?;
            return Ok([SubjectWork::Plan, SubjectWork::Plan]);
        }
        Ok([self.work(&arms[0], plan)?, self.work(&arms[1], plan)?])
    }

    /// Whether an arm uses TPC-B's tables, as a command may, unseen.
    fn may_use_tpcb(&self, works: &[SubjectWork; 2], files: Option<&WorkloadFiles>) -> bool {
        let names = |work: &SubjectWork| work.own().is_none_or(Work::names_tpcb);
        match files {
            _ if works.iter().any(|work| matches!(work, SubjectWork::Storage(_))) => false,
            Some(files) => files.names_tpcb(),
            None => self.by() == ComparedRate::LoadedRows || works.iter().any(names),
        }
    }

    /// The question of the comparison.
    fn compare(&self) -> Compare {
        Compare {
            looks: if self.one_look { only_look(self.blocks()) } else { looks(self.blocks()) },
            by: self.by(),
            keep_disturbed: self.keep_disturbed,
            slots: self.slots,
            fail_if_slower: self.fail_if_slower,
        }
    }

    /// The rate to compare.
    pub(super) fn by(&self) -> ComparedRate {
        let is_dir = |arm: &String| Arm::parse(arm).is_ok_and(|arm| arm.dir.is_some());
        let has_dirs = !self.dir.is_empty() || self.a.iter().chain(&self.b).any(is_dir);
        self.by.unwrap_or(if has_dirs { ComparedRate::Syncs } else { ComparedRate::Tps })
    }

    /// Flags that say nothing about storage, if one is given.
    pub(super) fn not_of_storage(&self) -> Option<&'static str> {
        let given = [
            ("--plan", self.plan.is_some()),
            ("--scale", self.scale.is_some()),
            ("--jobs", self.jobs.is_some()),
            ("--slots", self.slots),
            ("--max-tries", self.max_tries.is_some()),
            ("--result", self.result.is_some()),
            ("--profile", self.profile.is_some()),
            ("flags of tables", self.tables.existing().is_some() || !self.loading.is_default()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Refuses an open loop, in which TPS is given by the schedule and is equal on both servers.
    fn refuse_rate(&self, plan: &Plan) -> Result<(), Problem> {
        if self.rate.is_none() && plan.measure.rate.is_none() {
            return Ok(());
        }
        let what = "could not compare at a fixed rate: `ab` compares TPS, which an open loop takes from its schedule";
        Err(Problem::wrong_request(what).hint(
            "leave out --rate (or the plan's `rate`); `pgdyno run PLAN --subject A --subject B` compares the \
             latencies of an open loop",
        ))
    }

    /// Refuses flags about the work of the arms: the plan says what both run.
    fn refuse_other_work(&self, arms: &[Arm; 2]) -> Result<(), Problem> {
        let given = |arm: &Arm| {
            let all = [
                ("--script", arm.script.is_some()),
                ("--builtin", arm.builtin.is_some()),
                ("--protocol", arm.protocol.is_some()),
                ("--command", arm.command.is_some()),
            ];
            all.into_iter().find(|(_, given)| *given)
        };
        let flags = [("--scale", self.scale.is_some()), ("--max-tries", self.max_tries.is_some())];
        let of_all = flags.into_iter().find(|(_, given)| *given);
        match arms.iter().find_map(given).or(of_all) {
            None => Ok(()),
            Some((flag, _)) => {
                let what = format!("could not use {flag}: the plan has its own tables or scripts");
                Err(Problem::wrong_request(what)
                    .hint("leave it out: both servers run the plan, and the arms differ in their servers"))
            }
        }
    }

    /// Refuses what says how a workload runs, where runs are loads.
    fn refuse_beside_loads(&self, arms: &[Arm; 2], plan: &Plan) -> Result<(), Problem> {
        let either = |given: fn(&Arm) -> bool| arms.iter().any(given);
        let given = [
            ("--script", either(|arm| arm.script.is_some())),
            ("--builtin", either(|arm| arm.builtin.is_some())),
            ("--protocol", either(|arm| arm.protocol.is_some())),
            ("--command", either(|arm| arm.command.is_some())),
            ("--clients", either(|arm| arm.clients.is_some())),
            ("--max-tries", self.max_tries.is_some()),
            ("--duration", self.duration.is_some()),
            ("--warmup", self.warmup.is_some()),
            ("--jobs", self.jobs.is_some()),
            ("--slots", self.slots),
            ("--tables existing", self.tables.existing() == Some(true) || plan.data.loaded),
            ("tables made by SQL of the plan", plan.data.is_own()),
            ("several sets of tables", plan.data.tpcc.as_ref().is_some_and(|tpcc| tpcc.count() > 1)),
        ];
        let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
        let what = format!(
            "could not use {flag}: with --by loaded-rows every run loads the tables, and nothing else"
        );
        Err(Problem::wrong_request(what).hint(
            "leave it out; arms differ in servers, settings and load:NAME=VALUE, and --load-jobs is the number of \
             loading sessions",
        ))
    }

    /// Refuses settings of sessions where runs are loads: those are for the clients of a workload.
    fn refuse_sessions_of_loads(&self, drives: &[Option<ConnectOptions>; 2]) -> Result<(), Problem> {
        if self.by() != ComparedRate::LoadedRows || drives.iter().all(Option::is_none) {
            return Ok(());
        }
        let what = "could not compare loads by settings of sessions: the sessions that load do not get them";
        Err(Problem::wrong_request(what).hint(
            "leave --dsn and --server out: pgdyno then starts a server for each of A and B with its settings",
        ))
    }

    /// Refuses to compare New-Orders where there are none.
    fn refuse_by(&self, plan: &Plan) -> Result<(), Problem> {
        let is_tpcc = plan.workload.first().is_some_and(|one| one.tpcc.is_some());
        if self.by() != ComparedRate::NewOrders || is_tpcc {
            return Ok(());
        }
        let what = "could not compare by New-Orders: only TPC-C has them";
        Err(Problem::wrong_request(what)
            .hint("give a plan with a workload `tpcc` (--plan), or leave out --by"))
    }

    /// Maximum number of blocks.
    fn blocks(&self) -> u32 {
        self.blocks.unwrap_or(if self.slots { SLOT_BLOCKS } else { BLOCKS })
    }

    /// Refuses to compare states of the host without permission, and in slots, which are too short for it to settle.
    fn refuse_host(&self, states: &[HostPlan; 2]) -> Result<(), Problem> {
        let differ = states[0] != states[1];
        match () {
            () if differ && !self.allow_host_changes => {
                Err(Problem::wrong_request("could not compare states of the host: it may not be changed").hint(
                    "--allow-host-changes lets pgdyno change it for the runs, as root, and put it back after them",
                ))
            }
            () if differ && self.slots => {
                Err(Problem::wrong_request("could not compare states of the host in slots: they are too short")
                    .hint("leave out --slots: A and B then alternate in whole runs"))
            }
            () => Ok(()),
        }
    }

    /// Refuses slots of what pgdyno does not drive, and of what needs work between runs, or longer ones.
    fn refuse_slots(&self, works: &[SubjectWork; 2], files: Option<&WorkloadFiles>) -> Result<(), Problem> {
        let of_plan = || files.iter().flat_map(|files| &files.work);
        let waits = |work: &Work| work.tpcc.is_some_and(|tpcc| tpcc.paced);
        let why = match () {
            () if !self.slots => return Ok(()),
            () if works.iter().any(|work| matches!(work, SubjectWork::Command(_))) => {
                "a command makes connections of its own for every run"
            }
            () if of_plan().any(|work| work.reset.is_some()) => "the plan resets its data before every run",
            () if of_plan().any(waits) => "terminals with keying and think times need longer runs",
            () => return Ok(()),
        };
        Err(Problem::wrong_request(format!("could not compare in slots: {why}"))
            .hint("leave out --slots: A and B then alternate in whole runs"))
    }

    /// The plan file, or a plan with defaults only. If it has tables or scripts of its own, or runs TPC-C, its files
    /// come with it.
    fn base_plan(&self) -> Result<(Plan, Option<WorkloadFiles>), Problem> {
        let Some(path) = &self.plan else {
            let mut plan = Plan::new("ab", vec![workload(Builtin::TpcbLike, Protocol::Prepared)]);
            plan.description = "Is B faster than A?".into();
            Level::Screening.apply(&mut plan);
            return Ok((plan, None));
        };
        let (mut plan, files) = file::read(path, None, self.trust)?;
        if let [only] = &mut plan.workload[..]
            && let Some(own) = only.clients.take()
        {
            plan.measure.clients = Auto::Given(own);
        }
        let is_own = plan.data.is_own()
            || plan.data.scaleup.is_some()
            || plan.workload.iter().any(|one| one.as_builtin().is_none());
        let files = Some(files).filter(|_| is_own);
        Ok((plan, files))
    }

    /// Refuses a plan with several workloads, or with several client counts that the arms do not override.
    fn refuse_several(&self, plan: &Plan, arms: &[Arm; 2]) -> Result<(), Problem> {
        let Some(path) = &self.plan else { return Ok(()) };
        let clients = match &plan.measure.clients {
            Auto::Given(clients) => clients.len(),
            Auto::Auto => 1,
        };
        let overridden = arms.iter().all(|arm| arm.clients.is_some());
        if plan.workload.len() == 1 && (clients == 1 || overridden) {
            return Ok(());
        }
        let what = format!(
            "could not compare with the plan {}: it has {} workloads and {clients} client counts",
            path.display(),
            plan.workload.len()
        );
        Err(Problem::wrong_request(what).hint(
            "a comparison has one of each; --clients N, or clients=N of both arms, overrides the plan's client counts",
        ))
    }

    /// Arms A and B from the arguments and flags.
    fn both_arms(&self, plan: &Plan) -> Result<[Arm; 2], Problem> {
        let [a, b] = self.arms_of_flags()?;
        let arms = match (&self.a, &self.b) {
            (None, None) => [a, b],
            (Some(of_a), Some(of_b)) => [Arm::parse(of_a)?.over(&a), Arm::parse(of_b)?.over(&b)],
            (Some(one), None) | (None, Some(one)) => {
                let one = pgdyno_record::redact(one);
                let hint = "give both; `default` is an arm without any settings";
                return Err(Problem::wrong_request(format!(
                    "`{one}` is one arm, and a comparison needs two"
                ))
                .hint(hint));
            }
        };
        arms.iter().zip(["A", "B"]).try_for_each(|(arm, name)| check_arm(arm, name))?;
        refuse_as_published(&[0, 1].map(|at: usize| arms[at].server.clone().over(&plan.server)))?;
        if self.a.is_none() && arms[0] == arms[1] {
            let problem = Problem::wrong_request("there is nothing to compare: A and B are the same");
            let how = if self.any_flag_twice() {
                "of a flag given twice, the first value is A's and the second is B's; here they are equal"
            } else {
                "give a flag twice with different values (--pg 17 --pg 18), or name both arms (pg=17 pg=18)"
            };
            return Err(
                problem.hint(format!("{how}; `pgdyno ab default default` makes an A/A test on purpose"))
            );
        }
        let data = |arm: &Arm| arm.server.data.clone().or_else(|| plan.server.data.clone());
        if arms.iter().all(|arm| arm.dsn.is_none())
            && data(&arms[0]).is_some()
            && data(&arms[0]) == data(&arms[1])
        {
            return Err(Problem::wrong_request("two servers cannot share a data directory")
                .hint("give each arm its own: pgdyno ab data=/srv/a data=/srv/b"));
        }
        Ok(arms)
    }

    /// Whether any flag that describes the arms is given at least twice.
    fn any_flag_twice(&self) -> bool {
        let counts = [
            self.pg.len(),
            self.build.len(),
            self.bindir.len(),
            self.preset.len(),
            self.server.len(),
            self.dsn.len(),
            self.admin_dsn.len(),
            self.builtin.len(),
            self.dir.len(),
            self.script.len(),
            self.protocol.len(),
            self.command.len(),
            self.clients.len(),
            self.host.len(),
        ];
        let repeated =
            |(at, (name, _)): (usize, &(String, String))| self.set[..at].iter().any(|(set, _)| set == name);
        counts.iter().any(|count| *count > 1) || self.set.iter().enumerate().any(repeated)
    }

    fn arms_of_flags(&self) -> Result<[Arm; 2], Problem> {
        let [mut a, mut b] = [Arm::default(), Arm::default()];
        (a.server.bundle, b.server.bundle) = (self.bundle, self.bundle);
        [a.server.pg, b.server.pg] = split("--pg", &self.pg)?;
        [a.server.build, b.server.build] = split("--build", &self.build)?;
        [a.server.bindir, b.server.bindir] = split("--bindir", &self.bindir)?;
        [a.server.preset, b.server.preset] = split("--preset", &self.preset)?;
        (a.server.as_published, b.server.as_published) = (self.as_published, self.as_published);
        let named: Vec<_> = self.connections_by_name()?.into_iter().map(|(dsn, _)| dsn).collect();
        [a.dsn, b.dsn] = match named.is_empty() {
            true => split("--dsn", &self.dsn)?,
            false => split("--server", &named)?,
        };
        [a.admin_dsn, b.admin_dsn] = split("--admin-dsn", &self.admin_dsn)?;
        [a.builtin, b.builtin] = split("--builtin", &self.builtin)?;
        [a.dir, b.dir] = split("--dir", &self.dir)?;
        [a.script, b.script] = split("--script", &self.script)?;
        [a.protocol, b.protocol] = split("--protocol", &self.protocol)?;
        [a.command, b.command] = split("--command", &self.command)?;
        [a.clients, b.clients] = split("--clients", &self.clients)?;
        [a.host, b.host] = split("--host", &self.host)?.map(Option::unwrap_or_default);
        let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, value) in &self.set {
            by_name.entry(name).or_default().push(value.clone());
        }
        for (name, values) in by_name {
            let [of_a, of_b] = split(&format!("--set {name}"), &values)?;
            a.server.settings.extend(of_a.map(|value| (name.to_owned(), value)));
            b.server.settings.extend(of_b.map(|value| (name.to_owned(), value)));
        }
        Ok([a, b])
    }

    /// The connection strings of the servers of `pgdyno up` that were named, each with that name.
    fn connections_by_name(&self) -> Result<Vec<(String, &str)>, Problem> {
        let dsn = |server: &str| {
            let (name, database) =
                server.split_once('/').map_or((server, None), |(name, db)| (name, Some(db)));
            conninfo_of(name, database, "could not compare")
        };
        self.server.iter().map(|server| dsn(server).map(|dsn| (dsn, server.as_str()))).collect()
    }

    fn work(&self, arm: &Arm, plan: &Plan) -> Result<SubjectWork, Problem> {
        if let Some(text) = &arm.command {
            let result = match &self.result {
                Some(result) => result.clone(),
                None => Regex::new(PGBENCH_RESULT)
                    .map_err(|error| Problem::could_not(format!("could not read results: {error}")))?,
            };
            return Ok(SubjectWork::Command(Measured { text: text.clone(), result }));
        }
        let of_plan = plan.workload.first();
        let protocol = arm.protocol.or(of_plan.map(|of_plan| of_plan.protocol)).unwrap_or(Protocol::Prepared);
        let mut work = match &arm.script {
            Some(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                Work::script(&name, file::script(path, self.trust)?)
            }
            None => {
                let of_plan = of_plan.and_then(WorkloadPlan::as_builtin).unwrap_or(Builtin::TpcbLike);
                Work::builtin(arm.builtin.unwrap_or(of_plan))
            }
        };
        work.max_tries = self.max_tries.or(of_plan.map(|of_plan| of_plan.max_tries)).unwrap_or(1);
        Ok(SubjectWork::Script { work: Box::new(work), protocol })
    }

    /// Applies the flags to the plan. Blocks become runs of its one cell, for the estimate of time and disk space.
    /// Workloads of a plan's own stay; otherwise the more costly of both arms represents them.
    fn apply(&self, plan: &mut Plan, works: &[SubjectWork; 2], has_own: bool) {
        let builtin = works.iter().filter_map(|work| match work {
            SubjectWork::Command(_) | SubjectWork::Load | SubjectWork::Storage(_) => None,
            other => Some(other.builtin().unwrap_or(Builtin::TpcbLike)),
        });
        let costly = builtin.max_by_key(|builtin| builtin.writes()).unwrap_or(Builtin::SelectOnly);
        if !has_own {
            plan.workload = vec![workload(costly, Protocol::Prepared)];
        }
        plan.check.balance = BalanceCheckMode::Off;
        plan.seed = self.seed.or(plan.seed);
        plan.load = self.loading.over(&plan.load);
        plan.data.loaded = self.tables.existing().unwrap_or(plan.data.loaded);
        if let Some(scale) = self.scale {
            plan.data.scale = Scale::Given(scale);
        }
        let measure = &mut plan.measure;
        let cpus = thread::available_parallelism().map_or(1, |count| count.get() as u32);
        if measure.clients == Auto::Auto {
            measure.clients = Auto::Given(vec![2 * cpus]);
        }
        if let Some(jobs) = self.jobs {
            measure.jobs = Auto::Given(jobs);
        }
        if self.slots {
            measure.duration = Span::from_millis(slots::COUNTED_MS);
            measure.warmup = Span::from_millis(slots::DROPPED_MS);
        }
        if matches!(self.by(), ComparedRate::Syncs | ComparedRate::Reads) {
            // Every operation counts.
            measure.warmup = Span::from_millis(0);
        }
        measure.duration = self.duration.unwrap_or(measure.duration);
        measure.warmup = self.warmup.unwrap_or(measure.warmup);
        measure.blocks = 2 * self.blocks();
        measure.restart = self.restart.unwrap_or(measure.restart);
        measure.margin = self.margin.unwrap_or(measure.margin);
        measure.observe = self.observe.unwrap_or(measure.observe);
        measure.profile = self.profile.unwrap_or(measure.profile);
        measure.driver_cpus = self.driver_cpus.clone().or(measure.driver_cpus.take());
        plan.server.cpus = self.server_cpus.clone().or(plan.server.cpus.take());
    }

    /// The servers. Each arm has its own temporary server, even if both are equal, since each arm has its own data. A
    /// database of an existing server that both arms name is one, with the tables of both.
    fn servers(&self, arms: &[Arm; 2], plan: &Plan) -> Result<Servers, Problem> {
        let mut all = Servers::default();
        for (at, (arm, name)) in arms.iter().zip(["a", "b"]).enumerate() {
            let Some(server) = self.server(arm, name, plan)? else { continue };
            let shared = all.servers.first().filter(|first| at == 1 && is_same_database(first, &server));
            let differs = shared.is_some() && arms[0].dsn != arm.dsn;
            all.drives[at] = arm.drive(&server, differs);
            if shared.is_some() {
                all.of_arm[1] = all.of_arm[0];
            } else {
                all.of_arm[at] = Some(all.servers.len());
                all.servers.push(server);
            }
        }
        Ok(all)
    }

    fn server(&self, arm: &Arm, name: &str, plan: &Plan) -> Result<Option<Wanted>, Problem> {
        let has_none = arm.dir.is_some() || arm.command.is_some();
        if arm.dsn.is_none() && has_none && arm.server.is_default() {
            return Ok(None);
        }
        arm.server(plan, self.run_as.clone(), format!("ab-{}-{name}", std::process::id()))
    }
}

/// An arm in words, with servers by their names instead of their connection strings.
fn with_names(said: String, named: &[(String, &str)]) -> String {
    let by_name = |said: String, (dsn, name): &(String, &str)| {
        said.replace(&format!("dsn={dsn}"), &format!("server={name}"))
    };
    named.iter().fold(said, by_name)
}

/// The servers of a comparison.
#[derive(Default)]
struct Servers {
    servers: Vec<Wanted>,
    /// Index of each arm's server.
    of_arm: [Option<usize>; 2],
    /// How an arm's clients connect, if not as the other's.
    drives: [Option<ConnectOptions>; 2],
}

/// Whether two existing servers are one database for one role, by their connection strings.
fn is_same_database(one: &Wanted, other: &Wanted) -> bool {
    let (Wanted::External(one), Wanted::External(other)) = (one, other) else { return false };
    let same = |a: &ConnectOptions, b: &ConnectOptions| {
        (&a.hosts, &a.user, &a.database) == (&b.hosts, &b.user, &b.database)
    };
    same(&one.drive, &other.drive) && same(one.admin(), other.admin())
}

fn workload(script: Builtin, protocol: Protocol) -> WorkloadPlan {
    WorkloadPlan::builtin(script, protocol)
}

/// Splits the values of a flag: one value is for both arms, two are A's and B's.
fn split<T: Clone>(flag: &str, values: &[T]) -> Result<[Option<T>; 2], Problem> {
    match values {
        [] => Ok([None, None]),
        [both] => Ok([Some(both.clone()), Some(both.clone())]),
        [a, b] => Ok([Some(a.clone()), Some(b.clone())]),
        more => Err(Problem::wrong_request(format!("{flag} is given {} times", more.len()))
            .hint("one value is for both arms; of two, the first is A's and the second is B's")),
    }
}

/// Refuses an arm that contradicts itself.
fn check_arm(arm: &Arm, name: &str) -> Result<(), Problem> {
    let workloads = [arm.command.is_some(), arm.script.is_some(), arm.builtin.is_some()];
    let several = workloads.into_iter().filter(|given| *given).count() > 1;
    let rules = [
        (
            arm.dsn.is_some() && arm.describes_server(),
            "it names an existing server and describes a temporary one",
            "leave out dsn, or version, programs and directories; settings are those of its sessions",
        ),
        (
            arm.dsn.is_some() && arm.command.is_some(),
            "a command names its own server",
            "put the address into the command, and leave out dsn",
        ),
        (
            arm.admin_dsn.is_some() && arm.dsn.is_none(),
            "--admin-dsn alone names no server for the clients",
            "name it with --dsn, or leave --admin-dsn out",
        ),
        (
            arm.server.bindir.is_some() && arm.server.bundle,
            "bindir and bundle exclude each other",
            "leave out one of them",
        ),
        (
            arm.server.build.is_some() && (arm.server.bindir.is_some() || arm.server.bundle),
            "build excludes bindir and bundle",
            "leave out build, or leave out bindir and bundle",
        ),
        (
            arm.command.is_some() && arm.server.listen.is_some(),
            "a command connects as it likes, so an address to listen on changes nothing",
            "leave out listen",
        ),
        (several, "it has more than one workload", "choose one of builtin, script and command for each arm"),
    ];
    match rules.into_iter().find(|(is_broken, ..)| *is_broken) {
        None => Ok(()),
        Some((_, what, hint)) => Err(Problem::wrong_request(format!("{name}: {what}")).hint(hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::with_names;

    #[test]
    fn servers_are_called_by_the_names_that_were_given() {
        let dsn = "host='/tmp/run' port=5432 user=postgres dbname='small'";
        let named = [(dsn.to_owned(), "mine/small")];
        assert_eq!(with_names(format!("clients=2,dsn={dsn}"), &named), "clients=2,server=mine/small");
        assert_eq!(with_names("dsn=host=other".to_owned(), &named), "dsn=host=other");
    }
}
