//! `pgdyno up`.

use std::{env, path::PathBuf, process::ExitCode, time::Duration};

use pgdyno_core::{cpus::CpuList, facts::ServerSource, problem::Problem};
use pgdyno_host::users;
use pgdyno_provision::{Dirs, Lifetime, Request, RunningServer, Wanted, registry, unit, up};
use pgdyno_record::redact_setting;

use super::own_server::preset;
use crate::detached::{entry::Entry, names};
use crate::{context::Context, output, servers};

/// Flags of `pgdyno up`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Creates a cluster with checksums, UTF8 and locale C, sizes its configuration from memory, CPUs and \
    storage, starts it and waits until it accepts connections. It listens on a Unix-domain socket that only its \
    owner can reach; on TCP only with --listen, and then with a password. A stopped server of this name is started \
    again.\n\n\
    Examples:\n  \
    pgdyno up\n  \
    pgdyno up old --pg 9.6\n  \
    pgdyno up wide --build pg18-32k\n  \
    pgdyno up big --data /nvme/pg --waldir /wal/pg -c shared_buffers=16GB\n  \
    pgdyno up article --pg 9.5 --preset tpcc-9.5\n  \
    pgdyno up shared --listen '*' --port 5433 --allow 192.168.1.0/24\n  \
    pgdyno up big --unit                          a systemd unit that starts it at boot"
)]
pub struct Args {
    /// Name of the server: up to 40 letters, digits, - and _
    #[arg(default_value = "main")]
    name: String,

    /// PostgreSQL version, major (18, 9.6) or exact (17.4, 9.6.24) [default: the newest installed, else a bundle]
    #[arg(long, value_name = "VERSION", help_heading = "Program")]
    pg: Option<Wanted>,
    /// Directory of the programs initdb and postgres
    #[arg(long, value_name = "DIR", help_heading = "Program", conflicts_with = "bundle")]
    bindir: Option<PathBuf>,
    /// Name of a build, as listed by `pgdyno builds`
    #[arg(long, value_name = "NAME", help_heading = "Program", conflicts_with_all = ["bindir", "bundle"])]
    build: Option<String>,
    /// Use a downloaded bundle even if PostgreSQL is installed
    #[arg(long, help_heading = "Program")]
    bundle: bool,
    /// User to run the server as (root only) [default: postgres, else nobody]
    #[arg(long, value_name = "USER", help_heading = "Program")]
    run_as: Option<String>,
    /// CPUs of the server, such as 0-3,8 [default: all]
    #[arg(long, value_name = "LIST", help_heading = "Program")]
    cpus: Option<CpuList>,

    /// Data directory, new or empty [default: in pgdyno's state directory]
    #[arg(long, value_name = "DIR", help_heading = "Cluster")]
    data: Option<PathBuf>,
    /// WAL directory, new or empty [default: in the data directory]
    #[arg(long, value_name = "DIR", help_heading = "Cluster")]
    waldir: Option<PathBuf>,
    /// Size of a WAL segment in MB: a power of two from 1 to 1024 (PostgreSQL 11 and newer)
    #[arg(long, value_name = "MB", help_heading = "Cluster")]
    wal_segsize: Option<u32>,
    /// Encoding of the databases [default: UTF8]
    #[arg(long, value_name = "ENCODING", help_heading = "Cluster")]
    encoding: Option<String>,
    /// Locale of the databases [default: C]
    #[arg(long, value_name = "LOCALE", help_heading = "Cluster")]
    locale: Option<String>,
    /// Order of texts, LC_COLLATE [default: that of the locale]
    #[arg(long, value_name = "LOCALE", help_heading = "Cluster")]
    collate: Option<String>,
    /// Classes of characters, LC_CTYPE [default: that of the locale]
    #[arg(long, value_name = "LOCALE", help_heading = "Cluster")]
    ctype: Option<String>,
    /// Enable data checksums (the default, for every version)
    #[arg(long, overrides_with = "no_data_checksums", help_heading = "Cluster")]
    data_checksums: bool,
    /// Disable data checksums
    #[arg(long, help_heading = "Cluster")]
    no_data_checksums: bool,
    /// Tablespace and its directory, new or empty; may be repeated
    #[arg(long, value_name = "NAME=DIR", value_parser = pair, help_heading = "Cluster")]
    tablespace: Vec<(String, String)>,

    /// Server setting that overrides pgdyno's choice; may be repeated
    #[arg(long = "set", short = 'c', value_name = "NAME=VALUE", value_parser = pair,
          help_heading = "Settings")]
    settings: Vec<(String, String)>,
    /// Published configuration by name, or a postgresql.conf by path, instead of settings computed for this host
    #[arg(long, value_name = "NAME|FILE", help_heading = "Settings")]
    preset: Option<String>,
    /// Apply the preset unchanged: with the sizes of its machine, and with settings that weaken durability
    #[arg(long, requires = "preset", help_heading = "Settings")]
    as_published: bool,
    /// Maximum number of client sessions, from which max_connections follows
    #[arg(long, value_name = "N", default_value_t = 80, help_heading = "Settings",
          value_parser = clap::value_parser!(u32).range(1..=200_000))]
    clients: u32,
    /// TCP addresses to listen on, such as 127.0.0.1 or * [default: none]
    #[arg(long, value_name = "ADDR", help_heading = "Settings")]
    listen: Option<String>,
    /// Network whose clients may connect by TCP, with a password, such as 192.168.1.0/24, samehost or all; may be
    /// repeated [default: samenet, the networks of this machine]
    #[arg(long, value_name = "NETWORK", help_heading = "Settings")]
    allow: Vec<String>,
    /// Port of TCP and of the Unix-domain socket [default: 5432]
    #[arg(long, value_name = "PORT", help_heading = "Settings",
          value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Startup timeout in seconds; it counts from the server's last sign of progress
    #[arg(long, value_name = "SECONDS", default_value_t = 60, help_heading = "Settings",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    start_limit: u64,

    /// Show every chosen setting with its reason
    #[arg(long, short)]
    verbose: bool,
    /// Print a systemd unit for an existing server, and start nothing
    #[arg(long, conflicts_with_all = OF_A_START)]
    unit: bool,
}

/// Flags that say how a server is made or started, with which a unit is not printed.
const OF_A_START: [&str; 24] = [
    "pg",
    "bindir",
    "build",
    "bundle",
    "run_as",
    "cpus",
    "data",
    "waldir",
    "wal_segsize",
    "encoding",
    "locale",
    "collate",
    "ctype",
    "data_checksums",
    "no_data_checksums",
    "tablespace",
    "settings",
    "preset",
    "as_published",
    "clients",
    "listen",
    "allow",
    "port",
    "verbose",
];

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it has no `=`")?;
    if name.is_empty() || value.is_empty() {
        return Err("one side of the `=` is empty".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl Args {
    fn request(&self) -> Result<Request, Problem> {
        let checksums = match (self.data_checksums, self.no_data_checksums) {
            (_, true) => Some(false),
            (true, _) => Some(true),
            _ => None,
        };
        Ok(Request {
            pg: self.pg,
            bindir: self.bindir.clone(),
            build: self.build.clone(),
            bundle_only: self.bundle,
            search_path: env::var_os("PATH"),
            data: self.data.clone(),
            waldir: self.waldir.clone(),
            wal_segsize_mb: self.wal_segsize,
            encoding: self.encoding.clone(),
            locale: self.locale.clone(),
            collate: self.collate.clone(),
            ctype: self.ctype.clone(),
            data_checksums: checksums,
            tablespaces: self.tablespace.iter().map(|(name, dir)| (name.clone(), dir.into())).collect(),
            settings: self.settings.iter().cloned().collect(),
            preset: preset(self.preset.as_deref(), self.as_published)?,
            listen: self.listen.clone(),
            allow: self.allow.clone(),
            port: self.port,
            run_as: self.run_as.clone(),
            cpus: self.cpus.clone().map(CpuList::into_vec).unwrap_or_default(),
            clients: self.clients,
            lifetime: Lifetime::Detached,
            start_limit: Duration::from_secs(self.start_limit),
            ..Request::named(&self.name)
        })
    }
}

/// Runs `pgdyno up`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    if args.unit {
        return print_unit(&dirs, &args.name);
    }
    if let Some(ended) = names::free(&dirs, &args.name)? {
        eprintln!("note: {}", no_longer_listed(&ended));
    }
    let server = up(&args.request()?, &dirs, &mut servers::print_event)?;
    for warning in &server.warnings {
        eprintln!("warning: {warning}");
    }
    print(&server, args.verbose);
    Ok(ExitCode::SUCCESS)
}

/// Prints the unit of a server that exists.
fn print_unit(dirs: &Dirs, name: &str) -> Result<ExitCode, Problem> {
    let record = registry::find(dirs, name)?;
    let owner = users::of_process().map_or_else(|_| "root".to_owned(), |user| user.name);
    output::print(&unit(&record, &owner, &dirs.servers().join(name).join("server.log")))?;
    Ok(ExitCode::SUCCESS)
}

/// What becomes of a detached run that is over when a server takes its name.
fn no_longer_listed(ended: &Entry) -> String {
    let record = ended.kept_run().map(|run| format!("; its record is {}", run.display())).unwrap_or_default();
    format!(
        "the detached run `{}` is over and no longer listed: the server has its name now{record}",
        ended.name
    )
}

fn print(server: &RunningServer, verbose: bool) {
    let source = match (&server.build, server.source, server.pinned) {
        (Some(name), ..) => format!("build `{name}`"),
        (_, ServerSource::Bundle, true) => "bundle".to_owned(),
        (_, ServerSource::Bundle, false) => "bundle, not tested with this pgdyno".to_owned(),
        _ => "installed".to_owned(),
    };
    let state = if server.already_running { "was already running" } else { "is running" };
    println!(
        "PostgreSQL {} ({source}) {state} as `{}`, process {}\n",
        server.version, server.name, server.pid
    );
    let (dir, port, user) = (shell_word(&server.socket_dir.to_string_lossy()), server.port, server.superuser);
    println!("  psql     psql -h {dir} -p {port} -U {user} postgres");
    println!("  or       export PGHOST={dir} PGPORT={port} PGUSER={user}");
    if let Some(tcp) = &server.tcp {
        let file = shell_word(&server.password_file.to_string_lossy());
        println!("  TCP      PGPASSWORD=$(cat {file}) psql -h {} -p {port} -U {user} postgres", tcp.host);
        println!("  clients  of {}, with the password", tcp.networks);
    }
    println!("  data     {}", server.data_dir.display());
    println!("  log      {}", server.log_path.display());
    println!("  program  {}", server.bindir.display());
    println!("  stop     pgdyno down {}", server.name);
    print_preset(server);
    if verbose {
        print_settings(server);
    }
}

/// The preset, and what of it the server does not have as published.
fn print_preset(server: &RunningServer) {
    let Some(preset) = &server.preset else { return };
    println!("\npreset {}", preset.words());
    for change in preset.changes.iter().filter(|change| change.used.is_some()) {
        println!("  {}", change.words());
    }
    for (reason, names) in preset.left_out_by_reason() {
        println!("  left out: {}\n      {reason}", names.join(", "));
    }
}

fn print_settings(server: &RunningServer) {
    println!("\nsettings (all others have the server's defaults)");
    for choice in &server.choices {
        let value = redact_setting(&choice.name, &choice.value);
        println!("  {} = {value}\n      {}", choice.name, choice.reason);
    }
}

/// Quotes a word for a shell, if it needs quotes.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(shell_word("/var/lib/x"), "/var/lib/x");
        assert_eq!(shell_word("/it's here"), "'/it'\\''s here'");
    }

    #[test]
    fn pairs() {
        assert_eq!(pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        for wrong in ["", "a", "=b", "a="] {
            assert!(pair(wrong).is_err(), "{wrong}");
        }
    }
}
