//! Turns clap's errors into problems, so that they have the form of all other errors.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use pgdyno_core::problem::Problem;

/// Problem of clap's error on parsing `args`; `None` for help and version, which clap reports as errors, too.
pub fn problem(error: &Error, args: &[String], cli: &Command) -> Option<Problem> {
    let help_or_version = [
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayVersion,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if help_or_version.contains(&error.kind()) {
        return None;
    }
    let (what, remedy) = words(error);
    let command = sub_command(args, cli);
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => elsewhere(&command, flag),
        _ => None,
    };
    let hint = unknown.map(str::to_owned).or(remedy);
    Some(Problem::wrong_request(what).hint(hint.unwrap_or_else(|| format!("see `{command} --help`"))))
}

/// Flags that pgbench or another sub-command has, and what this one has instead.
fn elsewhere(command: &str, flag: &str) -> Option<&'static str> {
    Some(match (command, flag) {
        ("pgdyno ab", "-d" | "--dbname" | "-h" | "--host" | "-p" | "--port" | "-U" | "--username") => {
            "name the server by --server NAME/DBNAME or by --dsn 'host=… port=… user=… dbname=…', once for both arms \
             or once for each"
        }
        (
            "pgdyno run",
            "-c" | "--clients" | "--duration" | "-T" | "--time" | "--warmup" | "--blocks" | "--rate" | "-R",
        ) => {
            "a plan says how it is measured: set clients, duration, warmup, blocks or rate in its section [measure]"
        }
        ("pgdyno run", "-s" | "--scale") => "a plan says what it loads: set scale in its section [data]",
        ("pgdyno run", "-f" | "--file" | "--script" | "-b" | "--builtin") => {
            "a plan has its scripts: name them in its sections [[workload]]"
        }
        ("pgdyno bench", "-f" | "--file" | "--script") => {
            "scripts of your own are run by `pgdyno pgbench -f FILE`, compared by `pgdyno ab -f FILE`, and measured by \
             a plan (`pgdyno run`)"
        }
        _ => return None,
    })
}

/// Clap's error as one sentence, and its remedy if it knows one.
pub fn words(error: &Error) -> (String, Option<String>) {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(one_line);
    let what = paragraphs.next().unwrap_or_default();
    let what = ranges_in_words(what.strip_prefix("error: ").unwrap_or(&what));
    // Clap's advice to write `-- -d` would make an unknown flag a value that nobody meant.
    let is_of_use = |tip: &&str| !tip.starts_with("to pass ");
    let tip = paragraphs.find_map(|text| text.strip_prefix("tip: ").filter(is_of_use).map(str::to_owned));
    let (what, possible) = match what.split_once(" [possible values: ") {
        Some((what, values)) => (what.to_owned(), Some(format!("one of {}", values.trim_end_matches(']')))),
        None => (what, None),
    };
    (what, tip.or(possible))
}

fn one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The program with its sub-commands, as far as `args` name them.
fn sub_command(args: &[String], cli: &Command) -> String {
    let (mut command, mut names) = (cli, "pgdyno".to_owned());
    for arg in args.iter().skip(1) {
        if let Some(known) = command.find_subcommand(arg) {
            names = format!("{names} {arg}");
            command = known;
        }
    }
    names
}

/// `x is not in 1..=9` becomes `x is not between 1 and 9`.
fn ranges_in_words(text: &str) -> String {
    let Some((before, range)) = text.split_once(" is not in ") else { return text.to_owned() };
    match range.split_once("..=") {
        Some(("", last)) => format!("{before} is more than {last}"),
        Some((first, last)) => format!("{before} is not between {first} and {last}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Cli;

    fn parsed(args: &[&str]) -> Option<Problem> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        Cli::try_parse_from(&args).err().and_then(|error| problem(&error, &args, &Cli::command()))
    }

    #[test]
    fn an_unknown_option_has_a_similar_one() {
        let problem = parsed(&["pgdyno", "bench", "--scal", "1"]).expect("it is wrong");
        assert_eq!(problem.what, "unexpected argument '--scal' found");
        assert_eq!(problem.hint.as_deref(), Some("a similar argument exists: '--scale'"));
    }

    #[test]
    fn a_flag_of_another_command_is_answered_with_what_this_one_has() {
        let hint = |args: &[&str]| parsed(args).expect("it is wrong").hint.expect("there is one");
        for flag in ["-d", "-h", "-U", "--dbname"] {
            let said = hint(&["pgdyno", "ab", "--server", "mine", flag, "small"]);
            assert!(said.starts_with("name the server by --server NAME/DBNAME"), "{flag}: {said}");
        }
        assert!(hint(&["pgdyno", "run", "x.toml", "--clients", "4"]).contains("[measure]"));
        assert!(hint(&["pgdyno", "bench", "-f", "x.sql"]).contains("`pgdyno pgbench -f FILE`"));
        // A flag that nobody has is not a value.
        assert_eq!(hint(&["pgdyno", "ab", "-Z", "x"]), "see `pgdyno ab --help`");
    }

    #[test]
    fn a_range_is_described_in_words() {
        let problem = parsed(&["pgdyno", "bench", "--blocks", "0"]).expect("it is wrong");
        assert_eq!(problem.what, "invalid value '0' for '--blocks <N>': 0 is not between 1 and 1000");
        assert_eq!(problem.hint.as_deref(), Some("see `pgdyno bench --help`"));
    }

    #[test]
    fn the_hint_names_the_innermost_sub_command() {
        let problem = parsed(&["pgdyno", "tpcc", "run", "--blocks", "0"]).expect("it is wrong");
        assert_eq!(problem.hint.as_deref(), Some("see `pgdyno tpcc run --help`"));
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for args in [&["pgdyno", "--help"][..], &["pgdyno", "--version"], &["pgdyno"]] {
            assert_eq!(parsed(args), None, "{args:?}");
        }
    }
}
