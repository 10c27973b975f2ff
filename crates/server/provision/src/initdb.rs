//! Makes a cluster: `initdb`, then tablespaces, which only SQL can create, before the first start.

use std::{
    env,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use pgdyno_core::problem::Problem;
use pgdyno_host::users::User;

use super::{
    child::{ChildOptions, command},
    conf::{password_method, quote},
    process::reason,
    safe::write_file,
};

/// Superuser of every cluster.
pub const SUPERUSER: &str = "postgres";

/// Properties of a new cluster.
#[derive(Debug, Clone)]
pub struct Cluster<'a> {
    /// Directory of the programs.
    pub bindir: &'a Path,
    /// `server_version_num`.
    pub version_num: u32,
    /// Data directory, already claimed.
    pub data_dir: &'a Path,
    /// Separate WAL directory, already claimed, if there is one.
    pub wal_dir: Option<&'a Path>,
    /// WAL segment size in MB; `None` is the server's default.
    pub wal_segsize_mb: Option<u32>,
    /// Encoding.
    pub encoding: &'a str,
    /// Locale.
    pub locale: &'a str,
    /// `LC_COLLATE`, if not that of the locale.
    pub collate: Option<&'a str>,
    /// `LC_CTYPE`, if not that of the locale.
    pub ctype: Option<&'a str>,
    /// Whether data checksums are enabled.
    pub data_checksums: bool,
    /// User that the server runs as; `None` is the user of pgdyno.
    pub user: Option<&'a User>,
    /// pgdyno's own directory for this server.
    pub home: &'a Path,
    /// Password of the superuser, for TCP.
    pub password: String,
}

/// Runs `initdb`. If pgdyno is killed meanwhile, `initdb` gets a signal to end, and removes what it wrote.
///
/// # Errors
/// If the version lacks an option, or `initdb` fails; its output is then the detail.
pub fn initdb(cluster: &Cluster<'_>) -> Result<(), Problem> {
    let arguments = arguments(cluster)?;
    let password_file = cluster.home.join("initdb-password");
    let problem = |error: io::Error| Problem::could_not(format!("could not run initdb: {error}"));
    write_file(&password_file, format!("{}\n", cluster.password).as_bytes(), 0o600, cluster.user)
        .map_err(problem)?;
    let options = ChildOptions::bound(cluster.user);
    let mut initdb = command(&cluster.bindir.join("initdb"), Path::new("/"), options);
    if env::var_os("TZ").is_none() {
        let zone = fs::read_link("/etc/localtime").ok().and_then(|link| zone_of(&link));
        initdb.envs(zone.map(|zone| ("TZ", zone)));
    }
    let output = initdb.args(arguments).arg(pwfile(&password_file)).stdin(Stdio::null()).output();
    let _ = fs::remove_file(&password_file);
    let output = output.map_err(problem)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Problem::could_not("could not make the cluster: initdb failed").detail(last_output(&output)))
}

/// The time zone that a link into the system's database means. `initdb` of 9.5.3 does not read the link but searches a
/// zone with the same rules, so that clusters of different versions would get different names.
fn zone_of(link: &Path) -> Option<String> {
    let (_, zone) = link.to_str()?.split_once("/zoneinfo/")?;
    Some(zone.to_owned())
}

/// Last output of a failed program: from stderr, else from stdout, else its exit status.
fn last_output(output: &Output) -> String {
    let said = [&output.stderr, &output.stdout].into_iter().map(|bytes| last_lines(bytes));
    said.into_iter()
        .find(|said| !said.is_empty())
        .unwrap_or_else(|| format!("it ended with {}", output.status))
}

fn pwfile(path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from("--pwfile=");
    argument.push(path);
    argument
}

/// Arguments of `initdb`; the data directory is the last one.
///
/// # Errors
/// If the version lacks an option.
pub fn arguments(cluster: &Cluster<'_>) -> Result<Vec<std::ffi::OsString>, Problem> {
    let mut arguments: Vec<std::ffi::OsString> = [
        format!("--username={SUPERUSER}"),
        format!("--encoding={}", cluster.encoding),
        format!("--locale={}", cluster.locale),
        "--lc-messages=C".to_owned(),
        // The `pg_hba.conf` made from these two is never read: the configuration names pgdyno's own.
        "--auth-local=reject".to_owned(),
        // Also decides how the password is hashed.
        format!("--auth-host={}", password_method(cluster.version_num)),
    ]
    .map(Into::into)
    .into();
    arguments.extend(cluster.collate.map(|name| format!("--lc-collate={name}").into()));
    arguments.extend(cluster.ctype.map(|name| format!("--lc-ctype={name}").into()));
    arguments.extend(checksum_flag(cluster).map(Into::into));
    if let Some(dir) = cluster.wal_dir {
        arguments.extend(["-X".into(), dir.into()]);
    }
    if let Some(size) = cluster.wal_segsize_mb {
        if cluster.version_num < 110_000 {
            return Err(Problem::wrong_request("--wal-segsize needs PostgreSQL 11 or newer")
                .hint("before 11 the size of a WAL segment is fixed when the server is compiled"));
        }
        arguments.push(format!("--wal-segsize={size}").into());
    }
    arguments.extend(["-D".into(), cluster.data_dir.into()]);
    Ok(arguments)
}

/// Flag for checksums: they are the default from 18 on, and an option before.
fn checksum_flag(cluster: &Cluster<'_>) -> Option<&'static str> {
    match (cluster.data_checksums, cluster.version_num >= 180_000) {
        (true, _) => Some("--data-checksums"),
        (false, true) => Some("--no-data-checksums"),
        (false, false) => None,
    }
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(5)..].join("; ")
}

/// Creates tablespaces in directories already claimed, in a single-user server that ends with its input.
///
/// # Errors
/// If the server refuses one of them; its output is the detail.
pub fn create_tablespaces(cluster: &Cluster<'_>, tablespaces: &[(String, PathBuf)]) -> Result<(), Problem> {
    if tablespaces.is_empty() {
        return Ok(());
    }
    let sql: String = tablespaces.iter().map(|(name, dir)| create_tablespace(name, dir)).collect();
    run_single_user(cluster, &sql)
        .map_err(|detail| Problem::could_not("could not make the tablespaces").detail(detail))
}

/// Statement for one tablespace: in single-user mode a line is a statement.
fn create_tablespace(name: &str, dir: &Path) -> String {
    let dir = dir.to_string_lossy();
    format!("CREATE TABLESPACE \"{}\" LOCATION E{}\n", name.replace('"', "\"\""), quote(&dir))
}

fn run_single_user(cluster: &Cluster<'_>, sql: &str) -> Result<(), String> {
    let options = ChildOptions::bound(cluster.user);
    let mut single = command(&cluster.bindir.join("postgres"), cluster.data_dir, options);
    single.args(["--single", "-c", "exit_on_error=on", "-D"]).arg(cluster.data_dir).arg("postgres");
    single.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = single.spawn().map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // A server that ended early closes its input; status and output explain why.
        let _ = input.write_all(sql.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(reason(&said).unwrap_or_default()) }
}

/// Generates a password of 32 hexadecimal digits from the kernel's random numbers.
///
/// # Errors
/// If the kernel returns none.
pub fn random_password() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn cluster(version_num: u32) -> Cluster<'static> {
        Cluster {
            bindir: Path::new("/b"),
            version_num,
            data_dir: Path::new("/d"),
            wal_dir: Some(Path::new("/w")),
            wal_segsize_mb: None,
            encoding: "UTF8",
            locale: "C",
            collate: None,
            ctype: None,
            data_checksums: true,
            user: None,
            home: Path::new("/h"),
            password: "x".to_owned(),
        }
    }

    fn words(cluster: &Cluster<'_>) -> Vec<String> {
        let arguments = arguments(cluster).expect("they are allowed");
        arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_major_gets_the_flags_it_knows() {
        let old = words(&cluster(90_624));
        assert!(old.contains(&"--auth-host=md5".into()) && old.contains(&"--data-checksums".into()));
        let off = words(&Cluster { data_checksums: false, ..cluster(180_000) });
        assert!(
            off.contains(&"--no-data-checksums".into()) && off.contains(&"--auth-host=scram-sha-256".into())
        );
        let off = words(&Cluster { data_checksums: false, ..cluster(150_000) });
        assert!(!off.iter().any(|word| word.contains("checksums")));
        assert!(!old.iter().any(|word| word.contains("trust")));
    }

    #[test]
    fn the_time_zone_is_that_of_the_system() {
        let zone = |link: &str| zone_of(Path::new(link));
        assert_eq!(zone("/usr/share/zoneinfo/Etc/UTC").as_deref(), Some("Etc/UTC"));
        assert_eq!(zone("../usr/share/zoneinfo/Europe/Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(zone("/etc/other"), None);
    }

    #[test]
    fn the_size_of_segments_is_fixed_before_11() {
        let wanted = |version| arguments(&Cluster { wal_segsize_mb: Some(64), ..cluster(version) });
        assert!(wanted(100_000).is_err());
        assert!(wanted(110_000).expect("it is allowed").contains(&"--wal-segsize=64".into()));
    }

    #[test]
    fn names_and_places_are_quoted() {
        let sql = create_tablespace("a\"b", Path::new("/it's\\here"));
        assert_eq!(sql, "CREATE TABLESPACE \"a\"\"b\" LOCATION E'/it''s\\\\here'\n");
    }

    #[test]
    fn of_a_program_that_prints_nothing_the_exit_status_is_reported() {
        let output =
            |script: &str| Command::new("sh").args(["-c", script]).output().expect("there is a shell");
        assert_eq!(last_output(&output("echo out; echo err >&2; exit 1")), "err");
        assert_eq!(last_output(&output("echo out; exit 1")), "out");
        assert!(last_output(&output("kill -SEGV $$")).contains("signal: 11"));
    }

    #[test]
    fn passwords_are_long_and_differ() {
        let (a, b) = (random_password().expect("it is there"), random_password().expect("it is there"));
        assert_eq!(a.len(), 32);
        assert_ne!(a, b);
    }
}
