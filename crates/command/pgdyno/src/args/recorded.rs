//! The command of a run as it is recorded: built from the parsed flags, and a value is written only if this file says
//! how. A flag that it does not know is recorded without its value, so that no secret gets there unnoticed.

use std::{ffi::OsString, sync::OnceLock};

use clap::{ArgMatches, Command, parser::ValueSource};
use pgdyno_record::{REDACTED, command_line, redact, redact_setting};

use super::own_server::setting;

/// The command of this process.
static OF_PROCESS: OnceLock<String> = OnceLock::new();

/// How the values of a flag are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As they were given: numbers, names, files, directories.
    AsGiven,
    /// Without the passwords of connection strings, and without the values of settings that may hold a secret.
    Redacted,
    /// `NAME=VALUE` of a setting, without a value that may be a secret.
    Setting,
}

/// Flags whose values are free text, which may hold a password.
const REDACTED_FLAGS: [&str; 7] = ["a", "admin_dsn", "b", "command", "dbname", "dsn", "subject"];

/// Flags whose values cannot hold a secret.
const AS_GIVEN: [&str; 90] = [
    "allow",
    "at",
    "bindir",
    "block",
    "block_size",
    "blocks",
    "build",
    "builtin",
    "by",
    "cache",
    "check",
    "clients",
    "cpus",
    "data",
    "databases",
    "declared",
    "depth",
    "detach",
    "dir",
    "dirs",
    "driver_cpus",
    "drivers",
    "duration",
    "file",
    "fillfactor",
    "host",
    "index_tablespace",
    "into_databases",
    "into_schemas",
    "isolation",
    "jobs",
    "key_workers",
    "limit",
    "limit_per_minute",
    "load_jobs",
    "load_method",
    "lock_timeout",
    "log_rows",
    "margin",
    "max_tries",
    "mix",
    "observe",
    "one_look",
    "out",
    "parallel",
    "partition_method",
    "partitions",
    "paths",
    "pattern",
    "pg",
    "plan",
    "port",
    "prefix",
    "preset",
    "profile",
    "protocol",
    "ramp",
    "rate",
    "read_share",
    "repeats",
    "restart",
    "result",
    "room",
    "rows",
    "run",
    "run_as",
    "runs",
    "scale",
    "schemas",
    "script",
    "seed",
    "server",
    "server_cpus",
    "server_version",
    "sessions",
    "sets",
    "shape",
    "size",
    "strategy",
    "sync_every",
    "table_options",
    "tables",
    "tablespace",
    "transactions",
    "until",
    "username",
    "waldir",
    "warehouses",
    "warmup",
    "writers",
];

fn rule(id: &str) -> Option<Rule> {
    match id {
        "set" => Some(Rule::Setting),
        id if REDACTED_FLAGS.contains(&id) => Some(Rule::Redacted),
        id if AS_GIVEN.contains(&id) => Some(Rule::AsGiven),
        _ => None,
    }
}

fn recorded(id: &str, value: &str) -> String {
    match rule(id) {
        Some(Rule::AsGiven) => value.to_owned(),
        Some(Rule::Redacted) => redact(value),
        Some(Rule::Setting) => setting(value).map_or_else(
            |_| redact(value),
            |(name, value)| format!("{name}={}", redact_setting(&name, &value)),
        ),
        None => REDACTED.to_owned(),
    }
}

/// Keeps the command of this process, whose arguments were parsed.
pub fn keep(command_of: Command, args: &[OsString]) {
    OF_PROCESS.get_or_init(|| command(command_of, args));
}

/// The command of this process.
pub fn of_process() -> String {
    OF_PROCESS.get().cloned().unwrap_or_default()
}

/// The command line of these arguments that runs the same again, without secrets.
pub fn command(mut command: Command, args: &[OsString]) -> String {
    command.build();
    let mut words = vec!["pgdyno".to_owned()];
    // The arguments were parsed before: otherwise there would be nothing to record.
    if let Ok(matches) = command.try_get_matches_from_mut(args) {
        sub_command(&command, &matches, &mut words);
    }
    command_line(&words)
}

/// Adds the name of the sub-command and its flags. Global flags are listed with the last sub-command.
fn sub_command(command: &Command, matches: &ArgMatches, words: &mut Vec<String>) {
    if let Some((name, matches)) = matches.subcommand()
        && let Some(command) = command.find_subcommand(name)
    {
        words.push(name.to_owned());
        return sub_command(command, matches, words);
    }
    // The seed comes last, where a chosen one is added: a repeated run has the same command.
    let (seed, others): (Vec<_>, Vec<_>) = command.get_arguments().partition(|of| of.get_id() == "seed");
    for argument in others.into_iter().chain(seed) {
        let id = argument.get_id().as_str();
        // Whether a command is detached says nothing about what it does: repeated or resumed, it runs in the terminal.
        if id == "detach" || matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let flag = argument.get_long().map(|long| format!("--{long}"));
        if !argument.get_action().takes_values() {
            words.extend(flag);
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        let mut values: Vec<String> = values.map(|value| recorded(id, &value.to_string_lossy())).collect();
        // A list is one word, as it is written.
        if let Some(delimiter) = argument.get_value_delimiter() {
            values = vec![values.join(&delimiter.to_string())];
        }
        for value in values {
            match &flag {
                Some(flag) if value.starts_with('-') || argument.is_require_equals_set() => {
                    words.push(format!("{flag}={value}"))
                }
                _ => words.extend(flag.clone().into_iter().chain([value])),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{super::Cli, *};

    /// The commands whose command lines are recorded.
    fn measuring() -> Vec<Command> {
        let mut cli = Cli::command();
        cli.build();
        let paths: [&[&str]; 20] = [
            &["bench"],
            &["run"],
            &["ab"],
            &["tpcc", "run"],
            &["load", "tpcb"],
            &["load", "scaleup"],
            &["load", "tpcc"],
            &["load", "verify"],
            &["load", "copy"],
            &["prewarm"],
            &["probe", "ddl"],
            &["probe", "count"],
            &["probe", "first-touch"],
            &["probe", "partitions"],
            &["probe", "depth"],
            &["probe", "sizes"],
            &["disk", "sync"],
            &["disk", "io"],
            &["disk", "costs"],
            &["disk", "clock"],
        ];
        let find = |path: &[&str]| {
            path.iter().fold(cli.clone(), |command, name| {
                command.find_subcommand(name).expect("it is a sub-command").clone()
            })
        };
        paths.into_iter().map(find).collect()
    }

    #[test]
    fn every_flag_of_a_measuring_command_has_a_rule() {
        let commands = measuring();
        let unknown = commands.iter().flat_map(Command::get_arguments).filter(|argument| {
            argument.get_action().takes_values() && rule(argument.get_id().as_str()).is_none()
        });
        let mut unknown: Vec<_> = unknown.map(|argument| argument.get_id().as_str()).collect();
        unknown.sort_unstable();
        unknown.dedup();
        assert_eq!(unknown, [""; 0]);
    }

    fn recorded_of(line: &str) -> String {
        let args: Vec<OsString> =
            shlex::split(line).expect("it is quoted well").into_iter().map(Into::into).collect();
        command(Cli::command(), &args)
    }

    #[test]
    fn what_is_recorded_is_parsed_to_the_same() {
        for line in [
            "pgdyno bench --quick --clients 1,8,32 --scale 50 --set jit=off --set work_mem=64MB --runs /tmp/x",
            "pgdyno --runs /tmp/x bench --pg 18 --bundle --duration 5s --server-cpus 0-3,8 --load-jobs 4",
            "pgdyno ab pg=17 pg=18,set:search_path=a,b --blocks 8 --margin 1% -b select-only -M simple",
            "pgdyno ab --set jit=on --set jit=off -f 'a b.sql' --result 'tps = ([0-9.]+)'",
            "pgdyno ab --command=-x --command y '--result=-([0-9]+)'",
            "pgdyno run plan.toml --subject pg=9.6 --subject pg=18,bundle --seed 7 --size small",
            "pgdyno load tpcb --scale 100 --server main --jobs 4 --partitions 16 --no-verify",
            "pgdyno load copy --server main --into-schemas 4 --prefix part",
            "pgdyno probe count --server main --by index,seq --parallel 0,2 one.t two.t",
            "pgdyno tpcc run --warehouses 10 --clients 2,4 --shape functions --mix 45,43,4,4,4",
        ] {
            let recorded = recorded_of(line);
            let parse = |line: &str| Cli::try_parse_from(shlex::split(line).expect("it is quoted well"));
            let (as_given, again) =
                (parse(line).expect("it is right"), parse(&recorded).expect("it is, too"));
            assert_eq!(format!("{as_given:?}"), format!("{again:?}"), "{line}\n{recorded}");
            assert_eq!(recorded_of(&recorded), recorded);
            assert!(!recorded.contains("--seed ") || recorded.ends_with("--seed 7"), "{recorded}");
        }
    }

    #[test]
    fn a_list_is_recorded_as_one_word() {
        for line in ["pgdyno bench -c 2,4", "pgdyno bench -c 2 -c 4"] {
            assert_eq!(recorded_of(line), "pgdyno bench --clients 2,4");
        }
    }

    #[test]
    fn a_detached_command_is_recorded_as_that_in_the_terminal() {
        for flag in ["--detach", "--detach=night"] {
            let recorded = recorded_of(&format!("pgdyno load tpcb {flag} --scale 1 --server main"));
            assert_eq!(recorded, "pgdyno load tpcb --scale 1 --server main");
        }
    }

    #[test]
    fn no_secret_is_recorded() {
        for line in [
            "pgdyno bench --dsn postgresql://bob:s3cret@db/x",
            "pgdyno bench -d 'host=db password=s3cret' --scale 1",
            "pgdyno bench --set 'archive_command=curl -u me:s3cret %p'",
            "pgdyno bench --set my.token=s3cret",
            "pgdyno ab pg=18,set:restore_command=s3cret,set:jit=off dsn=postgres://u:s3cret@h/d",
            "pgdyno run plan.toml --subject 'dsn=host=a password=s3cret'",
            "pgdyno load tpcb --dsn postgres://u:s3cret@h/d --scale 1",
            "pgdyno probe sizes --dsn 'host=a password=s3cret'",
        ] {
            let recorded = recorded_of(line);
            assert!(recorded.contains(REDACTED) && !recorded.contains("s3cret"), "{recorded}");
        }
        assert_eq!(recorded("a_new_flag", "s3cret"), REDACTED);
    }
}
