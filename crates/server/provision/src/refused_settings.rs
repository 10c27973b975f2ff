//! Settings that a server refuses: found by its program before a cluster is made, or else named when the start fails.

use std::{collections::BTreeMap, path::Path, process::Stdio};

use pgdyno_core::problem::{Problem, ProblemKind};

use super::{
    child::{ChildOptions, command},
    process::SETTINGS_HINT,
    registry::Record,
};

/// Levels of the messages that report errors in a configuration.
const LEVELS: [&str; 3] = ["LOG:", "ERROR:", "FATAL:"];

/// Has the server's program check a configuration file (`postgres -C`) for unknown names and invalid values. `home` is
/// any directory that its user can enter.
///
/// # Errors
/// A wrong request that names the setting, if the user gave it. Other reasons why the program fails are not reported
/// here.
pub fn refuse_settings(record: &Record, home: &Path, configuration: &Path) -> Result<(), Problem> {
    let options = ChildOptions { user: record.run_as.as_ref(), ..ChildOptions::default() };
    let mut ask = command(&record.bindir.join("postgres"), home, options);
    ask.args(["-C", "port", "-D"]).arg(home).arg("-c");
    let mut file = std::ffi::OsString::from("config_file=");
    file.push(configuration);
    let Ok(output) = ask.arg(file).stdin(Stdio::null()).output() else { return Ok(()) };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    refusal(&said, &record.given, &record.version).map_or(Ok(()), Err)
}

/// Problem from the first message about a given setting; the server's hints, and further such messages, are the detail.
pub fn refusal(said: &str, given: &BTreeMap<String, String>, version: &str) -> Option<Problem> {
    let about = |line: &str| {
        let message = message(line)?;
        let name = given.keys().find(|name| names(message, name))?;
        Some((name, message.to_owned()))
    };
    let mut found = said.lines().filter_map(about);
    let (name, message) = found.next()?;
    let hint = |line: &str| Some(line.split_once("HINT:")?.1.trim().to_owned());
    let detail: Vec<String> =
        said.lines().filter_map(hint).chain(found.map(|(_, message)| message)).collect();
    let problem =
        Problem::wrong_request(format!("PostgreSQL {version} refuses the setting {name}: {message}"))
            .hint(SETTINGS_HINT);
    Some(Problem { detail: (!detail.is_empty()).then(|| detail.join("; ")), ..problem })
}

/// The message of a line that reports an error in a configuration, without the line of the file: a generated file is of
/// no use to the user.
pub fn message(line: &str) -> Option<&str> {
    let message = LEVELS.iter().find_map(|level| Some(line.split_once(*level)?.1.trim()))?;
    message.split(" in file \"").next()
}

/// Whether a message contains the name of a setting as a whole word.
fn names(message: &str, name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    message.split(|c| !is_of_name(c)).any(|word| word.trim_matches('.').eq_ignore_ascii_case(name))
}

/// Turns the failure of a start that is due to one of the user's settings into a wrong request.
pub fn blame_setting(mut problem: Problem, given: &BTreeMap<String, String>) -> Problem {
    let library = |(name, value): (&String, &String)| {
        let loads = ["shared_preload_libraries", "session_preload_libraries", "local_preload_libraries"];
        let missing = ["could not access file \"", "could not load library \""];
        let named = value.split(',').any(|library| problem.what.contains(library.trim().trim_matches('"')));
        loads.iter().any(|loads| name.eq_ignore_ascii_case(loads))
            && missing.iter().any(|words| problem.what.contains(words))
            && named
    };
    if given.keys().any(|name| names(&problem.what, name)) || given.iter().any(library) {
        problem.kind = ProblemKind::WrongRequest;
        problem.hint.get_or_insert_with(|| SETTINGS_HINT.to_owned());
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_setting_is_named_with_the_servers_words() {
        let said = "2026-01-01 UTC [1] LOG:  invalid value for parameter \"shared_buffers\": \"99XB\"\n\
                    2026-01-01 UTC [1] HINT:  Valid units for this parameter are \"B\", \"kB\" and \"MB\".\n\
                    LOG:  unrecognized configuration parameter \"no_such\" in file \"/s/pgdyno.conf\" line 9\n\
                    2026-01-01 UTC [1] FATAL:  configuration file \"/s/pgdyno.conf\" contains errors\n";
        let problem = refusal(said, &given(&[("Shared_Buffers", "99XB"), ("no_such", "1")]), "18.6")
            .expect("it is refused");
        assert_eq!(problem.kind, ProblemKind::WrongRequest);
        let what = "PostgreSQL 18.6 refuses the setting Shared_Buffers: \
                    invalid value for parameter \"shared_buffers\": \"99XB\"";
        assert_eq!(problem.what, what);
        let detail = "Valid units for this parameter are \"B\", \"kB\" and \"MB\".; \
                      unrecognized configuration parameter \"no_such\"";
        assert_eq!(problem.detail.as_deref(), Some(detail));
        assert_eq!(refusal(said, &given(&[("work_mem", "4MB")]), "18.6"), None);
    }

    #[test]
    fn what_only_the_start_finds_is_a_wrong_request_where_it_was_given() {
        let kind = |what: &str, pairs: &[(&str, &str)]| {
            blame_setting(Problem::could_not(format!("could not start the server: {what}")), &given(pairs))
                .kind
        };
        let senders = "WAL streaming (\"max_wal_senders\" > 0) requires \"wal_level\" to be \"replica\"";
        assert_eq!(kind(senders, &[("wal_level", "minimal")]), ProblemKind::WrongRequest);
        assert_eq!(kind(senders, &[("work_mem", "4MB")]), ProblemKind::CouldNotComplete);
        let library = "could not access file \"no_such\": No such file or directory";
        let loads = |value| kind(library, &[("shared_preload_libraries", value)]);
        assert_eq!(loads("pg_stat_statements, no_such"), ProblemKind::WrongRequest);
        assert_eq!(loads("auto_explain"), ProblemKind::CouldNotComplete);
    }
}
