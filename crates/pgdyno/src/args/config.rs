//! `pgdyno config`.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Subcommand;
use pgdyno_core::{
    facts::{Choice, HostFacts, StorageFacts},
    problem::Problem,
    units::{plural, printable},
};
use pgdyno_provision::{Request, Wanted, foresee, registry, remove, up};
use pgdyno_rules::{
    Standing,
    settings::{self, Inputs, KeyDemand},
};

use super::host_of::PurposeName;
use crate::{context::Context, exit::Exit, output, servers};

/// Size of a WAL segment unless one is named, in MB.
const SEGMENT_MB: u32 = 16;

/// Flags of `pgdyno config`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print a postgresql.conf for this host and a purpose, each value with its reason
    Recommend(Recommend),
    /// Judge the values of a postgresql.conf one by one
    Explain(Explain),
}

/// What the configuration is for.
#[derive(Debug, clap::Args)]
struct For {
    /// What the server is for
    #[arg(long, value_name = "PURPOSE", default_value = "oltp")]
    purpose: PurposeName,
    /// Server of `pgdyno up`: its version, directories and present settings
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pg", "data", "waldir", "wal_segsize"])]
    server: Option<String>,
    /// PostgreSQL version, such as 18 or 9.6 [default: the newest installed, else that of the bundle]
    #[arg(long, value_name = "VERSION")]
    pg: Option<Wanted>,
    /// Host and version of a recorded run instead of this host
    #[arg(long, value_name = "RUN", conflicts_with_all = ["server", "pg", "data", "waldir", "wal_segsize"])]
    run: Option<String>,
    /// Maximum number of client sessions
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    clients: u32,
    /// Data directory, or where it will be [default: pgdyno's state directory]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// WAL directory, if it is apart
    #[arg(long, value_name = "DIR")]
    waldir: Option<PathBuf>,
    /// Size of a WAL segment in MB
    #[arg(long, value_name = "MB")]
    wal_segsize: Option<u32>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Durability is never touched: fsync, full_page_writes and synchronous_commit are not among the \
    settings. Settings that stay at the server's default are left out.\n\n\
    Examples:\n  \
    pgdyno config recommend --pg 18 > /etc/postgresql/18/main/conf.d/sized.conf\n  \
    pgdyno config recommend --purpose bulk-load --server main --diff\n  \
    pgdyno config recommend --pg 18 --verify\n  \
    pgdyno explain max_wal_size"
)]
struct Recommend {
    #[command(flatten)]
    of: For,
    /// Print only what differs from a present postgresql.conf [default file: that of --server]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    diff: Option<Option<PathBuf>>,
    /// Start a temporary server with it, and remove it again
    #[arg(long, conflicts_with = "run")]
    verify: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "diff")]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status 1: something dangerous was found.\n\n\
    Examples:\n  \
    pgdyno config explain /etc/postgresql/15/main/postgresql.conf --pg 15\n  \
    pgdyno config explain postgresql.conf --purpose olap --all")]
struct Explain {
    /// The file
    file: PathBuf,
    #[command(flatten)]
    of: For,
    /// List also what is fine
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "all")]
    json: bool,
}

/// Runs `pgdyno config`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    match &args.what {
        What::Recommend(args) => recommend(args, context),
        What::Explain(args) => explain(args, context),
    }
}

fn recommend(args: &Recommend, context: &Context) -> Result<ExitCode, Problem> {
    let facts = args.of.facts(context)?;
    let inputs = facts.inputs(&args.of);
    let choices = settings::recommend(&inputs);
    if let Some(file) = &args.diff {
        let present = facts.present(file.as_deref())?;
        output::print(&difference(&choices, &present, &inputs))?;
    } else if args.json {
        output::print(&(serde_json::to_string_pretty(&choices).unwrap_or_default() + "\n"))?;
    } else {
        let head = format!(
            "# PostgreSQL {} for {}, {}, on {}, by pgdyno {}\n\n",
            major_of(facts.version_num),
            pgdyno_rules::Purpose::from(args.of.purpose).name(),
            plural(u64::from(args.of.clients), "client"),
            facts.name,
            env!("CARGO_PKG_VERSION")
        );
        let hints = settings::render_hints(&settings::hints(&inputs));
        output::print(&format!("{head}{}{hints}", settings::render(&choices)))?;
    }
    if args.verify {
        verify(&args.of, &choices)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn difference(choices: &[Choice], present: &BTreeMap<String, String>, inputs: &Inputs<'_>) -> String {
    let different = settings::difference(choices, present, inputs);
    let reason =
        |name: &str| choices.iter().find(|choice| choice.name == name).map_or("", |choice| &choice.reason);
    let lines = different.iter().map(|of| {
        let present =
            of.present.as_deref().map_or_else(|| "the default".to_owned(), |value| printable(value).into());
        format!("{}: {present} → {}  ({})\n", of.name, of.recommended, reason(&of.name))
    });
    match different.is_empty() {
        true => "nothing differs from what is recommended\n".to_owned(),
        false => lines.collect(),
    }
}

/// Starts a server with the settings, and removes it.
fn verify(of: &For, choices: &[Choice]) -> Result<(), Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let name = format!("verify-{}", std::process::id());
    let settings = choices.iter().map(|choice| (choice.name.clone(), choice.value.clone())).collect();
    let request = Request {
        pg: of.pg,
        search_path: env::var_os("PATH"),
        wal_segsize_mb: of.wal_segsize,
        clients: of.clients,
        settings,
        ..Request::named(&name)
    };
    let started = up(&request, &dirs, &mut servers::print_event);
    let version = started.as_ref().map(|server| server.version.clone()).unwrap_or_default();
    // Also what did not start has left a directory.
    let removed = remove(&dirs, &name, &mut servers::print_event).map(|_| ());
    started.map(|_| ()).and(removed)?;
    output::message(format_args!("a PostgreSQL {version} started with these settings, and was removed\n"));
    Ok(())
}

fn explain(args: &Explain, context: &Context) -> Result<ExitCode, Problem> {
    let facts = args.of.facts(context)?;
    let name = args.file.display().to_string();
    let findings = settings::explain_text(&name, &read(&args.file)?, &facts.inputs(&args.of))?;
    output::print(&if args.json {
        serde_json::to_string_pretty(&findings).unwrap_or_default() + "\n"
    } else {
        let title = format!("{name}, for PostgreSQL {} on {}", major_of(facts.version_num), facts.name);
        pgdyno_report::config_findings(&title, &findings, args.all)
    })?;
    Ok(Exit::of_check(findings.iter().all(|finding| finding.standing != Standing::Dangerous)).into())
}

/// Where a server runs, and which.
struct Facts {
    name: String,
    host: HostFacts,
    data: StorageFacts,
    wal: Option<StorageFacts>,
    version_num: u32,
    segment_bytes: u64,
    /// Data directory of the named server.
    server: Option<PathBuf>,
}

impl For {
    fn facts(&self, context: &Context) -> Result<Facts, Problem> {
        match (&self.run, &self.server) {
            (Some(run), _) => of_run(&pgdyno_record::open(&pgdyno_record::find(&context.runs, run)?)?),
            (None, Some(server)) => of_server(server),
            (None, None) => self.of_this_host(),
        }
    }

    fn of_this_host(&self) -> Result<Facts, Problem> {
        let dirs = pgdyno_lab::dirs()?;
        let request = Request { pg: self.pg, search_path: env::var_os("PATH"), ..Request::named("config") };
        let program = foresee(&request, &dirs)?;
        let (data, wal) = (self.data.clone().unwrap_or_else(|| dirs.servers()), self.waldir.as_deref());
        Ok(Facts {
            name: pgdyno_host::facts::name(),
            host: host()?,
            data: storage(&data)?,
            wal: wal.map(storage).transpose()?,
            version_num: program.version_num,
            segment_bytes: u64::from(self.wal_segsize.unwrap_or(SEGMENT_MB)) << 20,
            server: None,
        })
    }
}

impl Facts {
    fn inputs(&self, of: &For) -> Inputs<'_> {
        Inputs {
            host: &self.host,
            data: &self.data,
            wal: self.wal.as_ref(),
            version_num: self.version_num,
            clients: of.clients,
            relations: 0,
            key_workers: KeyDemand::default(),
            wal_segment_bytes: self.segment_bytes,
            server_cpus: None,
            purpose: of.purpose.into(),
        }
    }

    /// The settings of a file, or those of the named server: its own file, and what ALTER SYSTEM set.
    fn present(&self, file: Option<&Path>) -> Result<BTreeMap<String, String>, Problem> {
        let files = match (file, &self.server) {
            (Some(file), _) => vec![file.to_owned()],
            (None, Some(data)) => {
                ["postgresql.conf", "postgresql.auto.conf"].map(|name| data.join(name)).to_vec()
            }
            (None, None) => {
                return Err(Problem::wrong_request("--diff has nothing to compare with")
                    .hint("name a file (--diff postgresql.conf), or a server of `pgdyno up` (--server)"));
            }
        };
        let mut present = BTreeMap::new();
        for file in files {
            present.extend(settings::read(&file.display().to_string(), &read(&file)?)?.settings);
        }
        Ok(present)
    }
}

fn of_server(name: &str) -> Result<Facts, Problem> {
    let record = registry::find(&pgdyno_lab::dirs()?, name)?;
    Ok(Facts {
        name: format!("`{name}`"),
        host: host()?,
        data: storage(&record.data.path)?,
        wal: record.wal.as_ref().map(|wal| storage(&wal.path)).transpose()?,
        version_num: record.version_num,
        segment_bytes: u64::from(record.wal_segsize_mb.unwrap_or(SEGMENT_MB)) << 20,
        server: Some(record.data.path),
    })
}

fn of_run(run: &pgdyno_record::Run) -> Result<Facts, Problem> {
    let (record, first) = (&run.record, run.record.subjects.first());
    let server = first.and_then(|subject| subject.server.as_ref());
    let storage = first.and_then(|subject| subject.storage.clone()).or_else(|| record.storage.clone());
    let (Some(server), Some(storage)) = (server, storage) else {
        return Err(Problem::wrong_request(format!(
            "the run {} had no server on its machine",
            printable(&record.id)
        ))
        .hint("name a run of `bench`, `ab`, `run` or `tpcc run` with a server of its own"));
    };
    Ok(Facts {
        name: format!("the machine of {}", record.id),
        host: record.host.clone(),
        data: storage,
        wal: None,
        version_num: server.version_num,
        segment_bytes: server.wal_segment_bytes,
        server: None,
    })
}

fn host() -> Result<HostFacts, Problem> {
    pgdyno_host::facts::host()
        .map_err(|error| Problem::could_not(format!("could not read the facts of this machine: {error}")))
}

fn storage(dir: &Path) -> Result<StorageFacts, Problem> {
    pgdyno_host::facts::storage(dir).map_err(|error| {
        Problem::could_not(format!("could not read the storage of {}: {error}", dir.display()))
    })
}

fn read(file: &Path) -> Result<String, Problem> {
    fs::read_to_string(file)
        .map_err(|error| Problem::wrong_request(format!("could not read {}: {error}", file.display())))
}

/// A major as people write it: 18, 9.6.
fn major_of(version_num: u32) -> String {
    pgdyno_core::facts::major_of(version_num)
}
