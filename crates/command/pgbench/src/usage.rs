//! `--help` and `--version`.

/// The release of pgbench whose behaviour is reproduced.
pub const PGBENCH_VERSION: &str = "18.6";

/// Replaces PostgreSQL's version in pgbench's output: its number for programs that parse it, then pgdyno's version.
pub fn version() -> String {
    format!("{PGBENCH_VERSION} (pgdyno {})", env!("CARGO_PKG_VERSION"))
}

/// The line of `--version`.
pub fn version_line() -> String {
    format!("pgbench (PostgreSQL) {}\n", version())
}

/// The text of `--help`.
pub fn help(program: &str) -> String {
    format!("{}{INITIALIZATION}{SELECTION}{BENCHMARKING}{COMMON}{EXTRAS}", opening(program))
}

fn opening(program: &str) -> String {
    format!(
        "{program} is a benchmarking tool for PostgreSQL.\n\
         (This is pgdyno, which accepts pgbench's options and scripts and prints its formats.)\n\n\
         Usage:\n  {program} [OPTION]... [DBNAME]\n"
    )
}

const INITIALIZATION: &str = r#"
Initialization options:
  -i, --initialize         invokes initialization mode
  -I, --init-steps=[dtgGvpf]+ (default "dtgvp")
                           run selected initialization steps, in the specified order
                           d: drop any existing pgbench tables
                           t: create the tables used by the standard pgbench scenario
                           g: generate data, client-side
                           G: generate data, server-side
                           v: invoke VACUUM on the standard tables
                           p: create primary key indexes on the standard tables
                           f: create foreign keys between the standard tables
  -F, --fillfactor=NUM     set fill factor
  -n, --no-vacuum          do not run VACUUM during initialization
  -q, --quiet              quiet logging (one message each 5 seconds)
  -s, --scale=NUM          scaling factor
  --foreign-keys           create foreign key constraints between tables
  --index-tablespace=TABLESPACE
                           create indexes in the specified tablespace
  --partition-method=(range|hash)
                           partition pgbench_accounts with this method (default: range)
  --partitions=NUM         partition pgbench_accounts into NUM parts (default: 0)
  --tablespace=TABLESPACE  create tables in the specified tablespace
  --unlogged-tables        create tables as unlogged tables
"#;

const SELECTION: &str = r#"
Options to select what to run:
  -b, --builtin=NAME[@W]   add builtin script NAME weighted at W (default: 1)
                           (use "-b list" to list available scripts)
  -f, --file=FILENAME[@W]  add script FILENAME weighted at W (default: 1)
  -N, --skip-some-updates  skip updates of pgbench_tellers and pgbench_branches
                           (same as "-b simple-update")
  -S, --select-only        perform SELECT-only transactions
                           (same as "-b select-only")
"#;

const BENCHMARKING: &str = r#"
Benchmarking options:
  -c, --client=NUM         number of concurrent database clients (default: 1)
  -C, --connect            establish new connection for each transaction
  -D, --define=VARNAME=VALUE
                           define variable for use by custom script
  -j, --jobs=NUM           number of threads (default: 1)
  -l, --log                write transaction times to log file
  -L, --latency-limit=NUM  count transactions lasting more than NUM ms as late
  -M, --protocol=simple|extended|prepared
                           protocol for submitting queries (default: simple)
  -n, --no-vacuum          do not run VACUUM before tests
  -P, --progress=NUM       show thread progress report every NUM seconds
  -r, --report-per-command report latencies, failures, and retries per command
  -R, --rate=NUM           target rate in transactions per second
  -s, --scale=NUM          report this scale factor in output
  -t, --transactions=NUM   number of transactions each client runs (default: 10)
  -T, --time=NUM           duration of benchmark test in seconds
  -v, --vacuum-all         vacuum all four standard tables before tests
  --aggregate-interval=NUM aggregate data over NUM seconds
  --exit-on-abort          exit when any client is aborted
  --failures-detailed      report the failures grouped by basic types
  --log-prefix=PREFIX      prefix for transaction time log file
                           (default: "pgbench_log")
  --max-tries=NUM          max number of tries to run transaction (default: 1)
  --progress-timestamp     use Unix epoch timestamps for progress
  --random-seed=SEED       set random seed ("time", "rand", integer)
  --sampling-rate=NUM      fraction of transactions to log (e.g., 0.01 for 1%)
  --show-script=NAME       show builtin script code, then exit
  --verbose-errors         print messages of all errors
"#;

const COMMON: &str = r#"
Common options:
  --debug                  print debugging output
  -d, --dbname=DBNAME      database name to connect to
  -h, --host=HOSTNAME      database server host or socket directory
  -p, --port=PORT          database server port number
  -U, --username=USERNAME  connect as specified database user
  -V, --version            output version information, then exit
  -?, --help               show this help, then exit
"#;

const EXTRAS: &str = r#"
Options that pgbench 18 lacks (none changes the output of the others):
  --continue-on-error      continue after SQL errors; their transactions count as failed
                           (as in pgbench 19)
  --percentiles=LIST       print these percentiles of latency below the summary, such as
                           50,95,99.9
  --json=FILE              write the results as JSON to FILE, which must be new or empty
  --hdr=FILE               write the latency histogram as an HdrHistogram log to FILE,
                           which must be new or empty
  --warmup=TIME            warm up for TIME (such as 30s) before the measurement
  --think-time=TIME        let each client pause for TIME (such as 10ms) between transactions
  --reconnect=NUM          let each client reconnect after NUM transactions
  --steps=LIST             change the load over time, with a line of results for each step:
                           rate:1000@30s,2000@1min (transactions per second) or
                           clients:8@30s,16@30s; LIST determines the length of the run
  --find-rate=LIMIT        find the highest rate that keeps a latency limit such as
                           'p99<5ms', by probes of at least -T seconds (default: 10)
  --setrandom              accept \setrandom of PostgreSQL 9.5 and earlier in scripts
                           (pgbench 18 refuses it)
  --record                 save the run as a run directory, for pgdyno list, show and report
  --runs=DIR               save it in DIR (default: $PGDYNO_RUNS, else ./pgdyno-runs)
  --observe=none|host|all  observe nothing, the host with the server's processes, or
                           also the server by a session of its own (default: all)
  --profile=auto|fp|dwarf  profile the server's processes with perf in the measured
                           interval, with call stacks found in this way (with --record)
  --server=NAME            connect to the server NAME of pgdyno up; DBNAME is then one of its
                           databases (default: postgres)

Report bugs to the pgdyno project, not to PostgreSQL.
"#;

#[cfg(test)]
mod tests {
    use super::{
        super::flags::{EXTRA_FLAGS, PGBENCH_FLAGS},
        *,
    };

    #[test]
    fn every_option_is_in_the_help() {
        let help = help("pgbench");
        for flag in PGBENCH_FLAGS.iter().chain(EXTRA_FLAGS) {
            let short = flag.short.map(|letter| format!("  -{}, --{}", char::from(letter), flag.long));
            let line = short.unwrap_or_else(|| format!("  --{}", flag.long));
            let end = if flag.takes_value { '=' } else { ' ' };
            assert!(help.contains(&format!("{line}{end}")), "{line}{end}");
        }
    }

    /// The width of pgbench's own help.
    #[test]
    fn help_fits_into_95_columns() {
        let help = help("pgdyno pgbench");
        let long: Vec<_> = help.lines().filter(|line| line.chars().count() > 95).collect();
        assert_eq!(long, Vec::<&str>::new());
    }

    #[test]
    fn parsers_find_the_version() {
        let line = version_line();
        let number = line.strip_prefix("pgbench (PostgreSQL) ").and_then(|rest| rest.split(' ').next());
        assert_eq!(number, Some("18.6"));
        assert!(line.contains("pgdyno"));
    }
}
