//! The command that fits after an operation, with the flags of the server on which it was.

use pgdyno_core::{
    probe::{Prewarm, Probe},
    units,
};
use pgdyno_document::{phrase::Phrase, wrap};
use pgdyno_record::{CopyRecord, Found, LoadRecord, OperationRecord, Status, VerificationRecord};
use pgdyno_rows::load::Set;

use crate::run::Run;

/// Flags of a recorded command that name its server.
const SERVER: [&str; 5] = ["--server", "--host", "--port", "--username", "--dbname"];
/// The flag of these that names the database.
const DATABASE: &str = "--dbname";

const MEASURE: &str = "measure these tables";

/// What comes after the operations of a command, and the command for it; `None` after those of a plan, and after some
/// that did not complete.
pub fn next(run: &Run<'_>) -> Option<(Phrase, Phrase)> {
    if run.record.plan.blocks > 0 || run.record.status != Status::Complete {
        return None;
    }
    let done = Done { command: &run.record.command, count: run.record.operations.len() };
    let (does, command) = done.next(run.record.operations.last()?)?;
    // Names of tables come from a server.
    Some((does.into(), units::printable(&command).into_owned().into()))
}

/// The command that is over.
struct Done<'a> {
    /// Its command line.
    command: &'a str,
    /// Number of its operations, such as loads of several sets of tables.
    count: usize,
}

impl Done<'_> {
    fn next(&self, last: &OperationRecord) -> Option<(&'static str, String)> {
        match &last.found {
            Found::Load(load) => Some(self.after_load(load)),
            Found::Verification(of) => Some(self.after_verification(of)),
            Found::Copies(copies) => self.after_copies(copies),
            Found::Prewarm(of) => Some(self.after_prewarm(of, last.passed)),
            Found::Probe(of) => Some(self.after_probe(of)),
            Found::Disk(_) => None,
        }
    }

    fn after_load(&self, load: &LoadRecord) -> (&'static str, String) {
        let verification = load.verification.as_ref();
        let ended_early = verification.is_none() && self.flag("--until").is_some();
        match verification {
            _ if ended_early => {
                let resume = if self.has("--resume") { "" } else { " --resume" };
                ("complete this load", format!("{}{resume}", self.without("--until")))
            }
            Some(of) if !of.passed() => self.after_faults(of),
            None => ("compare all rows with their expected contents", self.on_server("load verify")),
            Some(_) => self.measuring(load.terms.as_ref().map(|terms| terms.set)),
        }
    }

    fn after_verification(&self, of: &VerificationRecord) -> (&'static str, String) {
        let set = of.set.unwrap_or_default();
        match of.passed() {
            _ if !of.remains.is_empty() => {
                ("continue their load", self.on_server(&format!("load {} --resume", set.name())))
            }
            true => self.measuring(of.set),
            false => self.after_faults(of),
        }
    }

    /// Tables that were driven differ, too: those of TPC-C can be checked all the same.
    fn after_faults(&self, of: &VerificationRecord) -> (&'static str, String) {
        match (of.set, &of.structure) {
            (_, Some(structure)) if !structure.faults.is_empty() => {
                ("check it again, before and after REINDEX", self.command.to_owned())
            }
            (Some(Set::Tpcc), _) => {
                ("check the conditions that hold after runs as well", self.on_server("tpcc check"))
            }
            _ => ("see what would be dropped, to load it again", self.on_server("load drop")),
        }
    }

    fn after_copies(&self, copies: &[CopyRecord]) -> Option<(&'static str, String)> {
        let verifications = || copies.iter().filter_map(|copy| copy.verification.as_ref());
        if verifications().any(|of| !of.passed()) {
            return Some(("check whether the source was modified", self.on_server("load verify")));
        }
        let names: Vec<_> = copies.iter().map(|copy| copy.name.as_str()).collect();
        let into_databases = self.has("--into-databases");
        if verifications().any(|of| of.set == Some(Set::Tpcc)) {
            let places = if into_databases { "--databases" } else { "--schemas" };
            let run = format!("tpcc run {places} {}", quoted(&names.join(",")));
            return Some(("measure all copies together", self.on_server(&run)));
        }
        let (first, server) = (names.first()?, self.server());
        match into_databases {
            true => {
                let server = in_database(&server, first)?;
                Some(("compare a copy with its source once more", format!("pgdyno load verify {server}")))
            }
            false => Some(("see the sizes of all copies", self.on_server("probe sizes"))),
        }
    }

    fn after_prewarm(&self, of: &Prewarm, passed: Option<bool>) -> (&'static str, String) {
        let has = |name: &str| of.relations.iter().any(|relation| relation.name.ends_with(name));
        match passed {
            Some(false) => ("see the sizes of the tables", self.on_server("probe sizes")),
            _ if has(".pgbench_accounts") => self.measuring(Some(Set::Tpcb)),
            _ if has(".order_line") => self.measuring(Some(Set::Tpcc)),
            _ => ("see the sizes of the tables", self.on_server("probe sizes")),
        }
    }

    fn after_probe(&self, of: &Probe) -> (&'static str, String) {
        let tables: String = tables(of).into_iter().map(|name| format!(" {}", quoted(name))).collect();
        let on = |what: &str| format!("{}{tables}", self.on_server(what));
        match of {
            Probe::Ddl(_) => ("see what the tables take on disk now", on("probe sizes")),
            Probe::Count(_) => ("read the tables into shared buffers", on("prewarm")),
            Probe::FirstTouch(_) => ("see what planning costs later", on("probe partitions")),
            Probe::Partitions(_) => ("time the first rows in new sessions", on("probe first-touch")),
            Probe::Depth(_) => ("see the sizes of tables and indexes", self.on_server("probe sizes")),
            Probe::Sizes(_) => ("read the tables into shared buffers", self.on_server("prewarm")),
        }
    }

    /// The command that measures tables of this set; those of scaleup are driven by scripts of the user alone.
    fn measuring(&self, set: Option<Set>) -> (&'static str, String) {
        match set.unwrap_or_default() {
            Set::Tpcb => (MEASURE, self.on_server("bench --loaded")),
            Set::Tpcc if self.count > 1 => {
                (MEASURE, self.on_server(&format!("tpcc run --sets {}", self.count)))
            }
            Set::Tpcc => (MEASURE, self.on_server("tpcc run")),
            Set::Scaleup => ("read these tables into shared buffers", self.on_server("prewarm")),
        }
    }

    fn on_server(&self, what: &str) -> String {
        let server = self.server();
        format!("pgdyno {what}{}{server}", if server.is_empty() { "" } else { " " })
    }

    fn server(&self) -> String {
        SERVER
            .iter()
            .filter_map(|flag| Some(format!("{flag} {}", self.flag(flag)?)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Value of a flag, quoted as it was.
    fn flag(&self, name: &str) -> Option<&str> {
        let words = wrap::words(self.command);
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    }

    fn has(&self, name: &str) -> bool {
        wrap::words(self.command).contains(&name)
    }

    /// The command without a flag and its value.
    fn without(&self, name: &str) -> String {
        let mut words = wrap::words(self.command);
        if let Some(at) = words.iter().position(|word| *word == name) {
            words.drain(at..(at + 2).min(words.len()));
        }
        words.join(" ")
    }
}

/// Names of the tables that were given to a probe.
fn tables(of: &Probe) -> Vec<&str> {
    match of {
        Probe::Ddl(of) => of.tables.iter().map(|table| table.table.name.as_str()).collect(),
        Probe::Count(of) => of.tables.iter().map(|table| table.table.name.as_str()).collect(),
        Probe::FirstTouch(of) => of.tables.iter().map(|table| table.table.name.as_str()).collect(),
        Probe::Partitions(of) => of.tables.iter().map(|table| table.table.name.as_str()).collect(),
        Probe::Depth(_) | Probe::Sizes(_) => Vec::new(),
    }
}

/// The flags of a server with another database; `None` if a connection string names the present one.
fn in_database(server: &str, name: &str) -> Option<String> {
    let mut words = wrap::words(server);
    if let Some(at) = words.iter().position(|word| *word == DATABASE) {
        let present = words.get(at + 1)?;
        if present.contains(['=', '/']) {
            return None;
        }
        words.drain(at..at + 2);
    }
    Some(format!("{} {DATABASE} {}", words.join(" "), quoted(name)))
}

/// A name as a word of a POSIX shell.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.,-".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(command: &str) -> Done<'_> {
        Done { command, count: 1 }
    }

    fn proof(set: Set, faults: &[&str]) -> VerificationRecord {
        VerificationRecord {
            rows: 1,
            duration_s: 1.0,
            keys_and_storage: true,
            faults: faults.iter().map(|fault| (*fault).to_owned()).collect(),
            set: Some(set),
            remains: Vec::new(),
            structure: None,
        }
    }

    #[test]
    fn what_was_loaded_is_measured_where_it_is() {
        let command = "pgdyno load tpcb --scale 10 --host db --username me --dbname 'my data' --jobs 4";
        let load = LoadRecord { verification: Some(proof(Set::Tpcb, &[])), ..LoadRecord::default() };
        let want = "pgdyno bench --loaded --host db --username me --dbname 'my data'";
        assert_eq!(done(command).after_load(&load), (MEASURE, want.to_owned()));
        let unverified = done(command).after_load(&LoadRecord::default()).1;
        assert_eq!(unverified, "pgdyno load verify --host db --username me --dbname 'my data'");
        let early = "pgdyno load tpcc --warehouses 10 --until rows --server main";
        let resumed = done(early).after_load(&LoadRecord::default()).1;
        assert_eq!(resumed, "pgdyno load tpcc --warehouses 10 --server main --resume");
        let sets = Done { command: "pgdyno load tpcc --warehouses 1 --schemas 4 --server main", count: 4 };
        assert_eq!(sets.measuring(Some(Set::Tpcc)).1, "pgdyno tpcc run --sets 4 --server main");
    }

    #[test]
    fn what_differs_is_followed_up() {
        let verify = done("pgdyno load verify --server main");
        let command = |of: &VerificationRecord| verify.after_verification(of).1;
        assert_eq!(command(&proof(Set::Tpcb, &[])), "pgdyno bench --loaded --server main");
        assert_eq!(command(&proof(Set::Tpcb, &["x"])), "pgdyno load drop --server main");
        assert_eq!(command(&proof(Set::Tpcc, &["x"])), "pgdyno tpcc check --server main");
        let unfinished = VerificationRecord { remains: vec!["x".into()], ..proof(Set::Tpcb, &["x"]) };
        assert_eq!(command(&unfinished), "pgdyno load tpcb --resume --server main");
    }

    #[test]
    fn copies_are_found_where_they_are() {
        let copy = |name: &str, verification| CopyRecord {
            name: name.to_owned(),
            duration_s: None,
            size_bytes: None,
            bytes_per_s: None,
            verification: Some(verification),
        };
        let copies = [copy("big_1", proof(Set::Tpcc, &[])), copy("big_2", proof(Set::Tpcc, &[]))];
        let next =
            |command: &str, copies: &[CopyRecord]| done(command).after_copies(copies).map(|(_, of)| of);
        let into = "pgdyno load copy --server main --dbname big --into-databases 2";
        let all = "pgdyno tpcc run --databases big_1,big_2 --server main --dbname big";
        assert_eq!(next(into, &copies).as_deref(), Some(all));
        let one = [copy("it's", proof(Set::Tpcb, &[]))];
        let verify = r"pgdyno load verify --server main --dbname 'it'\''s'";
        assert_eq!(next(into, &one).as_deref(), Some(verify));
        assert_eq!(next("pgdyno load copy --dbname host=db --into-databases 1", &one), None);
        let wrong = [copy("a_1", proof(Set::Tpcb, &["x"]))];
        let source = "pgdyno load verify --server main";
        assert_eq!(next("pgdyno load copy --server main --into-schemas 1", &wrong).as_deref(), Some(source));
    }
}
