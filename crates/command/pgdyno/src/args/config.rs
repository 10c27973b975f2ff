//! `pgdyno config`.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Subcommand;
use pgdyno_core::{
    facts::Choice,
    host::{Inventory, PgPurpose, Storage},
    problem::Problem,
    units::{plural, printable},
};
use pgdyno_provision::{Request, Wanted, foresee, registry, remove, up};
use pgdyno_settings::{self as settings, Difference, Inputs, KeyDemand, NEWEST_MAJOR, Standing};

use super::{
    conf_file,
    host_of::{PurposeName, kept},
};
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
    /// Server of `pgdyno up`: its version, directories and current settings
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pg", "data", "waldir", "wal_segsize"])]
    server: Option<String>,
    /// PostgreSQL version, such as 18 or 9.6 [default: the newest installed, else that of the bundle]
    #[arg(long, value_name = "VERSION")]
    pg: Option<Wanted>,
    /// Host of a recorded run, or of a file of `pgdyno host facts --json`, instead of this host; its version, too,
    /// unless --pg names another
    #[arg(long, value_name = "RUN|FILE", conflicts_with = "server")]
    run: Option<String>,
    /// Maximum number of client sessions
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    clients: u32,
    /// Data directory, or where it will be [default: that of the host's facts, else pgdyno's state directory]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// WAL directory, if it is not in the data directory
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
    pgdyno config recommend --run host.json --pg 17 --data /data/17/main\n  \
    pgdyno explain max_wal_size"
)]
struct Recommend {
    #[command(flatten)]
    of: For,
    /// Print only differences from an existing postgresql.conf, and what is wrong in it [default file: that of
    /// --server]
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
#[command(
    after_help = "Files that it includes are read, too. Exit status 1: something dangerous was found, or the \
    server would not start.\n\n\
    Examples:\n  \
    pgdyno config explain /etc/postgresql/15/main/postgresql.conf --pg 15\n  \
    pgdyno config explain postgresql.conf --purpose olap --all"
)]
struct Explain {
    /// The file
    file: PathBuf,
    #[command(flatten)]
    of: For,
    /// Also list what is fine
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
        output::print(&differences(&settings::difference(&settings::wanted(&inputs), &present, &inputs)))?;
    } else if args.json {
        output::print(&output::json(&choices))?;
    } else {
        let head = format!(
            "# PostgreSQL {} for {}, {}, on {}, by pgdyno {}\n{}\n",
            major_of(facts.version_num),
            pgdyno_settings::Purpose::from(args.of.purpose).name(),
            plural(u64::from(args.of.clients), "client"),
            facts.name,
            env!("CARGO_PKG_VERSION"),
            facts.places()
        );
        let hints: Vec<Choice> =
            settings::hints(&inputs).into_iter().filter(|hint| facts.needs(hint)).collect();
        let hints = settings::render_hints(&hints);
        output::print(&format!("{head}{}{hints}", settings::render(&choices)))?;
    }
    if args.verify {
        verify(&args.of, &choices)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn differences(different: &[Difference]) -> String {
    let lines = different.iter().map(|of| {
        let present =
            of.present.as_deref().map_or_else(|| "the default".to_owned(), |value| printable(value).into());
        let also = if of.is_fine { "; the present value is fine, too" } else { "" };
        format!("{}: {present} → {}  ({}{also})\n", of.name, of.recommended, printable(&of.reason))
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
    let findings = settings::explain_file(&conf_file::read(&args.file)?, &facts.inputs(&args.of));
    output::print(&if args.json {
        output::json(&findings)
    } else {
        let title = format!("{name}, for PostgreSQL {} on {}", major_of(facts.version_num), facts.name);
        pgdyno_report::config_findings(&title, &findings, args.all)
    })?;
    let is_bad = |standing| matches!(standing, Standing::Refused | Standing::Dangerous);
    Ok(Exit::of_check(!findings.iter().any(|finding| is_bad(finding.standing))).into())
}

/// Where a server runs, and which.
struct Facts {
    name: String,
    /// Whether somebody said where data lies, or it is known.
    is_data_named: bool,
    host: Inventory,
    data: Storage,
    wal: Option<Storage>,
    version_num: u32,
    segment_bytes: u64,
    /// Data directory of the named server.
    server: Option<PathBuf>,
    /// `server_version_num` of the server that has the data directory, as far as it is known.
    present_version_num: Option<u32>,
}

impl For {
    fn facts(&self, context: &Context) -> Result<Facts, Problem> {
        let facts = match (&self.run, &self.server) {
            (Some(file), _) if is_of_facts(file) => self.of_described(&kept(file, context)?, file),
            (Some(run), _) => self.of_run(&pgdyno_record::open(&pgdyno_record::find(&context.runs, run)?)?),
            (None, Some(server)) => of_server(server),
            (None, None) => self.of_this_host(),
        }?;
        if facts.version_num / 10_000 > NEWEST_MAJOR {
            let major = major_of(facts.version_num);
            output::message(format_args!(
                "the rules end at PostgreSQL {NEWEST_MAJOR}: what is new in {major} is not known\n"
            ));
        }
        Ok(facts)
    }

    fn of_this_host(&self) -> Result<Facts, Problem> {
        let dirs = pgdyno_lab::dirs()?;
        let request = Request { pg: self.pg, search_path: env::var_os("PATH"), ..Request::named("config") };
        let program = foresee(&request, &dirs)?;
        let (data, wal) = (self.data.clone().unwrap_or_else(|| dirs.servers()), self.waldir.as_deref());
        Ok(Facts {
            name: pgdyno_host::facts::name(),
            is_data_named: self.data.is_some(),
            host: host()?,
            data: storage(&data)?,
            wal: wal.map(storage).transpose()?,
            version_num: program.version_num,
            segment_bytes: self.segment_bytes().unwrap_or(segment(SEGMENT_MB)),
            server: None,
            present_version_num: None,
        })
    }

    fn segment_bytes(&self) -> Option<u64> {
        self.wal_segsize.map(segment)
    }

    /// Of a host that a file describes.
    fn of_described(&self, host: &Inventory, file: &str) -> Result<Facts, Problem> {
        let wrong = |what: &str, hint: &str| {
            Problem::wrong_request(format!("could not use the facts of {file}: {what}")).hint(hint)
        };
        if !host.is_sized() {
            let hint = "`pgdyno host facts --json` writes such a file";
            return Err(wrong("they lack memory or processors", hint));
        }
        let own = |purpose| host.directories.iter().find(|own| own.purpose == purpose).map(|own| &own.path);
        let only = || host.mounts.first().filter(|_| host.mounts.len() == 1).map(|mount| &mount.point);
        let named = |dir: &PathBuf| dir.display().to_string();
        let data = self.data.as_ref().map(named).or_else(|| own(PgPurpose::Data).cloned());
        let is_data_named = data.is_some();
        let data = data.or_else(|| only().cloned()).ok_or_else(|| {
            wrong("they do not say where data lies", "name the data directory on that host: --data DIR")
        })?;
        let of_data = |_: &&String| self.data.is_none();
        let wal = self.waldir.as_ref().map(named);
        let wal = wal.or_else(|| own(PgPurpose::Wal).filter(of_data).cloned());
        let storage = |dir: &str| {
            host.storage(dir).ok_or_else(|| {
                wrong(&format!("no file system is known that holds {dir}"), "name another --data")
            })
        };
        let of_server = host.server.as_ref().and_then(|server| server.version_num);
        Ok(Facts {
            name: if host.name.is_empty() { file.to_owned() } else { printable(&host.name).into_owned() },
            is_data_named,
            host: host.clone(),
            data: storage(&data)?,
            wal: wal.as_deref().map(storage).transpose()?,
            version_num: self.pg.map(Wanted::least).or(of_server).unwrap_or(NEWEST_MAJOR * 10_000),
            segment_bytes: self.segment_bytes().unwrap_or(segment(SEGMENT_MB)),
            server: None,
            present_version_num: of_server.filter(|_| self.data.is_none()),
        })
    }

    /// Of the machine of a recorded run.
    fn of_run(&self, run: &pgdyno_record::Run) -> Result<Facts, Problem> {
        if self.data.is_some() || self.waldir.is_some() {
            return Err(Problem::wrong_request("a recorded run has directories of its own")
                .hint("leave out --data and --waldir, or name a file of `pgdyno host facts --json`"));
        }
        let facts = of_run(run)?;
        Ok(Facts {
            version_num: self.pg.map_or(facts.version_num, Wanted::least),
            segment_bytes: self.segment_bytes().unwrap_or(facts.segment_bytes),
            ..facts
        })
    }
}

/// Whether `--run` names a file of the facts of a host, and not a run.
fn is_of_facts(name: &str) -> bool {
    let path = Path::new(name);
    path.is_file() && path.file_name().is_some_and(|name| name != "run.json")
}

/// Bytes of a WAL segment of so many MB.
fn segment(megabytes: u32) -> u64 {
    u64::from(megabytes) << 20
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

    /// Whether the host does not already do what a hint brings.
    fn needs(&self, hint: &Choice) -> bool {
        /// A client that vanished may hold its locks so long, in seconds.
        const TOLERABLE_S: i64 = 30 * 60;
        let keepalive_s = self.host.sysctl_number("net.ipv4.tcp_keepalive_time");
        hint.name != "tcp_keepalives_idle" || keepalive_s.is_none_or(|seconds| seconds > TOLERABLE_S)
    }

    /// The directories that the values are computed for, as a comment.
    fn places(&self) -> String {
        let wal = self.wal.as_ref().map(|wal| format!(", WAL in {}", printable(&wal.path)));
        let wanted = major_of(self.version_num);
        let present = self.present_version_num.map(major_of).filter(|present| *present != wanted);
        let present =
            present.map(|present| format!(" (of PostgreSQL {present}: {wanted} needs one of its own)"));
        let data = printable(&self.data.path);
        let places = format!("data in {data}{}{}", present.unwrap_or_default(), wal.unwrap_or_default());
        match self.is_data_named {
            true => format!("# {places}\n"),
            false => format!("# {places}, as no directory is named: --data DIR names one\n"),
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
            let read = conf_file::read(&file)?;
            for unread in &read.unread {
                let name = printable(&unread.name);
                output::message(format_args!("could not read {name}: what it sets is not compared\n"));
            }
            present.extend(read.settings);
        }
        Ok(present)
    }
}

fn of_server(name: &str) -> Result<Facts, Problem> {
    let record = registry::find(&pgdyno_lab::dirs()?, name)?;
    Ok(Facts {
        name: format!("`{name}`"),
        is_data_named: true,
        host: host()?,
        data: storage(&record.data.path)?,
        wal: record.wal.as_ref().map(|wal| storage(&wal.path)).transpose()?,
        version_num: record.version_num,
        segment_bytes: segment(record.wal_segsize_mb.unwrap_or(SEGMENT_MB)),
        server: Some(record.data.path),
        present_version_num: None,
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
        is_data_named: true,
        host: (*record.host).clone(),
        data: storage,
        wal: None,
        version_num: server.version_num,
        segment_bytes: server.wal_segment_bytes,
        server: None,
        present_version_num: None,
    })
}

fn host() -> Result<Inventory, Problem> {
    pgdyno_host::facts::host()
        .map_err(|error| Problem::could_not(format!("could not read the facts of this machine: {error}")))
}

fn storage(dir: &Path) -> Result<Storage, Problem> {
    pgdyno_host::facts::storage(dir).map_err(|error| {
        Problem::could_not(format!("could not read the storage of {}: {error}", dir.display()))
    })
}

/// A major as people write it: 18, 9.6.
fn major_of(version_num: u32) -> String {
    pgdyno_core::facts::major_of(version_num)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        of: For,
    }

    fn flags(of: &[&str]) -> For {
        let words = ["config"].iter().chain(of);
        Cli::try_parse_from(words).expect("they are flags of config").of
    }

    fn described(text: &str, of: &[&str]) -> Result<Facts, Problem> {
        let host = serde_json::from_str(text).expect("it is a host");
        flags(of).of_described(&host, "host.json")
    }

    const ARTICLE: &str = include_str!("../../../../../reference/hosts/article-004.json");
    const VM: &str = include_str!("../../../../../reference/hosts/small-cloud-vm.json");

    #[test]
    fn another_host_is_sized_by_its_facts() {
        let facts = described(ARTICLE, &["--run", "host.json", "--pg", "11.5"]).expect("they suffice");
        assert_eq!((facts.version_num, facts.host.memory.total_bytes), (110_005, 540_092_137_472));
        assert_eq!(facts.data.mount_point.as_deref(), Some("/data01"));
        let wal = facts.wal.expect("it has a directory of its own");
        assert_eq!((wal.mount_point.as_deref(), wal.available_bytes), (Some("/data03"), 4 << 40));
        let vm = described(VM, &["--run", "host.json"]).expect("they suffice");
        assert_eq!((vm.version_num, vm.data.rotational), (150_000, None), "unknown in a guest");
        let elsewhere = described(ARTICLE, &["--data", "/data02/new"]).expect("they suffice");
        assert_eq!(elsewhere.data.mount_point.as_deref(), Some("/data02"));
        assert!(elsewhere.wal.is_none() && elsewhere.version_num == NEWEST_MAJOR * 10_000);
    }

    #[test]
    fn a_directory_of_another_major_is_named_as_such() {
        for (pg, of, expected) in [
            ("17", None, "main (of PostgreSQL 15: 17 needs one of its own), WAL in"),
            ("15", None, "data in /var/lib/postgresql/15/main, WAL in"),
            ("17", Some("/var/lib/pg17"), "data in /var/lib/pg17\n"),
        ] {
            let of = of.into_iter().flat_map(|dir| ["--data", dir]);
            let words: Vec<&str> = ["--run", "host.json", "--pg", pg].into_iter().chain(of).collect();
            let places = described(VM, &words).expect("they suffice").places();
            assert!(places.contains(expected), "{places}");
        }
    }

    #[test]
    fn facts_that_do_not_suffice_are_refused() {
        for (text, of, words) in [
            ("{}", &[] as &[&str], "lack memory or processors"),
            (ARTICLE, &["--data", "/nowhere"] as &[&str], "no file system is known that holds /nowhere"),
        ] {
            let problem = described(text, of).err().expect("it is refused");
            assert!(problem.what.contains(words), "{problem}");
        }
    }

    #[test]
    fn differences_say_when_the_present_value_would_do() {
        let one = |is_fine| Difference {
            name: "work_mem".to_owned(),
            present: Some("4MB".to_owned()),
            recommended: "8MB".to_owned(),
            reason: "so it is".to_owned(),
            is_fine,
        };
        assert_eq!(
            differences(&[one(false), one(true)]),
            "work_mem: 4MB → 8MB  (so it is)\nwork_mem: 4MB → 8MB  (so it is; the present value is fine, too)\n"
        );
        assert_eq!(differences(&[]), "nothing differs from what is recommended\n");
    }
}
