//! Examples of pgbench's manual, run by pgbench and by pgdyno with the same seed: drawn values, written rows and the
//! shape of the output must be equal.
//!
//! The examples are in `examples.txt`, in our own words. Measured times are not compared: numbers with a fraction, and
//! the time columns of logs.

mod shape;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pgdyno_core::problem::Problem;
use pgdyno_provision::{Dirs, Lifetime, Request, RunningServer, up};
use pgdyno_wire::{Address, ConnectOptions, Session, connect};

use crate::Failure;

const EXAMPLES: &str = include_str!("examples.txt");
/// Contents of the tables, if there are any.
const DIGEST: &str = "SELECT (SELECT json_agg(h ORDER BY h.tid, h.bid, h.aid, h.delta) FROM \
    (SELECT tid, bid, aid, delta FROM pgbench_history) h)::text, \
    (SELECT count(*) || ' ' || sum(abalance) || ' ' || sum(abalance::numeric * aid) FROM pgbench_accounts), \
    (SELECT string_agg(tid || '=' || tbalance, ' ' ORDER BY tid) FROM pgbench_tellers), \
    (SELECT string_agg(bid || '=' || bbalance, ' ' ORDER BY bid) FROM pgbench_branches)";

/// An example: files, and a command line.
struct Example {
    title: &'static str,
    line: &'static str,
    files: Vec<(&'static str, &'static str)>,
}

/// Runs all examples with both programs; returns whether all are equal.
pub fn run(pgbench: &Path, pgdyno: &Path, pg_install: &Path) -> Result<bool, Failure> {
    let place = tempfile::tempdir()?;
    let server = Server::start(place.path(), pg_install)?;
    let programs = [("theirs", pgbench), ("ours", pgdyno)];
    let mut sides = Vec::new();
    for (name, program) in programs {
        server.session("postgres")?.execute(&format!("CREATE DATABASE {name}"))?;
        let dir = place.path().join(name);
        fs::create_dir(&dir)?;
        symlink(program.canonicalize()?, dir.join("pgbench"))?;
        sides.push(Side { database: name, dir, server: &server });
    }
    let (mut equal, mut count) = (0, 0);
    for example in examples() {
        count += 1;
        let [theirs, ours] = [sides[0].done(&example)?, sides[1].done(&example)?];
        match difference(&theirs, &ours) {
            None => equal += 1,
            Some(difference) => println!("differs: {}\n{difference}", example.title),
        }
    }
    println!("examples equal: {equal} of {count}");
    Ok(equal == count)
}

/// Parses the examples: a title after `=== `, a command line after `$ `, files after `--- NAME`.
fn examples() -> impl Iterator<Item = Example> {
    EXAMPLES.split("\n=== ").skip(1).map(|text| {
        let (title, rest) = text.split_once('\n').expect("an example has a title");
        let rest = rest.strip_prefix("$ ").expect("and a command line");
        let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        let files = rest.split("--- ").skip(1);
        let files = files.map(|file| file.split_once('\n').expect("a file has a name")).collect();
        Example { title, line, files }
    })
}

/// A program with its database and a directory for its files.
struct Side<'a> {
    database: &'static str,
    dir: PathBuf,
    server: &'a Server,
}

impl Side<'_> {
    /// Everything that must be equal, line by line.
    fn done(&self, example: &Example) -> Result<Vec<String>, Failure> {
        let dir = self.dir.join("files");
        fs::create_dir(&dir)?;
        for (name, text) in &example.files {
            fs::write(dir.join(name), text)?;
        }
        let mut command = Command::new(self.dir.join("pgbench"));
        command.args(example.line.split_whitespace()).current_dir(&dir).stdin(Stdio::null());
        command.env("PGHOST", &self.server.running.socket_dir).env("PGDATABASE", self.database);
        command
            .env("PGPORT", self.server.running.port.to_string())
            .env("PGUSER", self.server.running.superuser);
        let output = command.output()?;
        let mut lines = vec![format!("status {:?}", output.status.code())];
        lines.extend(shape::printed("out", &output.stdout));
        lines.extend(shape::printed("err", &output.stderr));
        lines.extend(shape::logs(&dir)?);
        lines.extend(self.rows());
        fs::remove_dir_all(&dir)?;
        Ok(lines)
    }

    fn rows(&self) -> Vec<String> {
        let rows = self.server.session(self.database).and_then(|mut session| Ok(session.query(DIGEST)?));
        match rows {
            Ok(rows) => (0..4)
                .map(|column| format!("rows {column}: {}", rows[0].get(column).unwrap_or("none")))
                .collect(),
            Err(error) => vec![format!("rows: {error}")],
        }
    }
}

/// The first lines that differ.
fn difference(theirs: &[String], ours: &[String]) -> Option<String> {
    let at = (0..theirs.len().max(ours.len())).find(|&at| theirs.get(at) != ours.get(at))?;
    let line = |lines: &[String]| lines.get(at).map_or("(nothing)", String::as_str).to_owned();
    Some(format!("    pgbench  {}\n    pgdyno   {}", line(theirs), line(ours)))
}

/// The server for both programs.
struct Server {
    running: RunningServer,
}

impl Server {
    fn start(place: &Path, pg_install: &Path) -> Result<Self, Failure> {
        fs::set_permissions(place, fs::Permissions::from_mode(0o755))?; // the server's user must pass through
        let dirs = Dirs::from_env(&|name| match name {
            "PGDYNO_STATE" => Some(place.join("state").into()),
            "PGDYNO_CACHE" => Some(place.join("cache").into()),
            _ => None,
        });
        let request = Request {
            bindir: Some(pg_install.join("bin")),
            lifetime: Lifetime::DiesWithUs,
            ..Request::named("examples")
        };
        let running = dirs.and_then(|dirs| up(&request, &dirs, &mut |_| {})).map_err(words)?;
        Ok(Self { running })
    }

    fn session(&self, database: &str) -> Result<Session, Failure> {
        let address = Address::Unix(self.running.socket_dir.clone(), self.running.port);
        let options = ConnectOptions::local(address, self.running.superuser).with_database(database);
        connect(&options).map_err(words)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(problem) = self.running.remove() {
            eprintln!("the server was not removed: {}", problem.what);
        }
    }
}

fn words(problem: Problem) -> Failure {
    let more = [problem.detail, problem.hint].into_iter().flatten();
    [problem.what].into_iter().chain(more).collect::<Vec<_>>().join("; ").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_has_what_it_needs() {
        let examples: Vec<_> = examples().collect();
        assert!(examples.len() >= 20, "{}", examples.len());
        for Example { title, line, files } in &examples {
            for file in line.split("-f ").skip(1) {
                let name = file.split([' ', '@']).next().unwrap_or_default();
                assert!(files.iter().any(|(known, _)| *known == name), "{title}: {name}");
            }
            assert!(
                line.contains("-i") || line.contains("--random-seed=") || !line.contains("-t "),
                "{title}"
            );
        }
    }
}
