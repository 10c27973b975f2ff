//! The table of wrong options. Every message was taken from `main()` of pgbench 18.

use super::{
    super::{options::Parsed, reading::read, say::tests::capturing},
    *,
};

/// Reads and checks a command line; gives the request or the exit status, and what was said.
fn ask(line: &str) -> (ExitResult<Option<(Request, Options)>>, String) {
    let (mut say, output) = capturing();
    let words = line.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
    let env = |name: &str| (name == "PGBENCH_RANDOM_SEED").then(|| "7".to_owned());
    let result = read(&mut say, "pgbench", words, &env, &mut |_, _, _| Ok(())).and_then(|read| match read {
        Parsed::Options(mut options, operands) => {
            check(&say, &mut options, &operands).map(|request| Some((request, *options)))
        }
        _ => Ok(None),
    });
    let said = output.lock().expect("nobody panics").clone();
    let said = said.strip_prefix("pgbench: setting random seed to 7\n").unwrap_or(&said).to_owned();
    (result, said)
}

/// Scripts are read as their options come: the flag applies to the scripts after it only.
#[test]
fn setrandom_is_asked_for_by_its_flag() {
    let takes = |line: &str| {
        let words: Vec<_> = line.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
        super::super::reading::takes_setrandom("pgbench", &words)
    };
    assert!(takes("--setrandom -f x.sql") && takes("-n -f x.sql -c 2 --setrandom base"));
    assert!(!takes("-f x.sql -D --setrandom") && !takes("-f x.sql -- --setrandom"));
}

const HELP: &str = "pgbench: hint: Try \"pgbench --help\" for more information.\n";

/// Command lines that pgbench refuses, and what it says.
const WRONG: &[(&str, &str)] = &[
    ("-b no-such", "no builtin script found for name \"no-such\""),
    ("-b s", "ambiguous builtin name: 2 builtin scripts found for prefix \"s\""),
    ("--builtin=select-only@one", "invalid weight specification: @one"),
    ("-b select-only@", "invalid weight specification: @"),
    ("-b select-only@-1", "weight specification out of range (0 .. 2147483647): -1"),
    ("-b select-only@2147483648", "weight specification out of range (0 .. 2147483647): 2147483648"),
    ("-f no-such-file", "could not open file \"no-such-file\": No such file or directory"),
    ("-f /dev/zero", "could not read file \"/dev/zero\": it is longer than 64 MiB"),
    ("-f /dev", "could not read file \"/dev\": Is a directory"),
    ("-c three", "invalid value \"three\" for option -c/--client"),
    ("-c 0", "-c/--client must be in range 1..2147483647"),
    ("-j eleven", "invalid value \"eleven\" for option -j/--jobs"),
    ("-i -s two", "invalid value \"two\" for option -s/--scale"),
    ("-s -1", "-s/--scale must be in range 1..2147483647"),
    ("-t zil", "invalid value \"zil\" for option -t/--transactions"),
    ("-T ten", "invalid value \"ten\" for option -T/--time"),
    ("-T 1e99", "invalid value \"1e99\" for option -T/--time"),
    ("-t 5 -T 5", "specify either a number of transactions (-t) or a duration (-T), not both"),
    ("--define foobla", "invalid variable definition: \"foobla\""),
    ("-D =1", "invalid variable definition: \"=1\""),
    ("-D x=", "invalid variable definition: \"x=\""),
    ("-D 1x=1", "option: invalid variable name: \"1x\""),
    ("-F 1", "-F/--fillfactor must be in range 10..100"),
    ("-M no-such-mode", "invalid query mode (-M): \"no-such-mode\""),
    ("--progress=0", "-P/--progress must be in range 1..2147483647"),
    ("--rate=0.0", "invalid rate limit: \"0.0\""),
    ("-R ", "option requires an argument -- 'R'"),
    ("--rate=inf", "invalid rate limit: \"inf\""),
    ("--rate=1e400", "invalid rate limit: \"1e400\""),
    ("--rate=nan", "invalid rate limit: \"nan\""),
    ("--rate=-1", "invalid rate limit: \"-1\""),
    ("--latency-limit=0.0", "invalid latency limit: \"0.0\""),
    ("-L inf", "invalid latency limit: \"inf\""),
    ("--sampling-rate=0", "invalid sampling rate: \"0\""),
    ("--sampling-rate=1.1", "invalid sampling rate: \"1.1\""),
    ("--aggregate-interval=-3", "--aggregate-interval must be in range 1..2147483647"),
    ("-b se@0 -b si@0 -b tpcb@0", "total script weight must not be zero"),
    ("-i -S", "some of the specified options cannot be used in initialization (-i) mode"),
    ("-i --json x", "some of the specified options cannot be used in initialization (-i) mode"),
    ("-S -F 90", "some of the specified options cannot be used in benchmarking mode"),
    ("-I dtg", "some of the specified options cannot be used in benchmarking mode"),
    ("--progress-timestamp", "--progress-timestamp is allowed only under --progress"),
    ("-I ", "option requires an argument -- 'I'"),
    ("--random-seed=one", "unrecognized random seed option \"one\""),
    ("-i --partition-method=BAD", "invalid partition method, expecting \"range\" or \"hash\", got: \"BAD\""),
    ("-i --partitions -1", "--partitions must be in range 0..2147483647"),
    ("-i --partition-method=hash", "--partition-method requires greater than zero --partitions"),
    ("--max-tries -10", "invalid number of maximum tries: \"-10\""),
    (
        "--max-tries 0",
        "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
    ),
    ("--sampling-rate=0.01", "log sampling (--sampling-rate) is allowed only when logging transactions (-l)"),
    (
        "-l --sampling-rate=0.1 --aggregate-interval=3",
        "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
    ),
    ("--aggregate-interval=3", "log aggregation is allowed only when actually logging transactions"),
    ("--log-prefix=x", "log file prefix (--log-prefix) is allowed only when logging transactions (-l)"),
    (
        "-l -T 1 --aggregate-interval=3",
        "number of seconds for aggregation (3) must not be higher than test duration (1)",
    ),
    ("-l -T 5 --aggregate-interval=3", "duration (5) must be a multiple of aggregation interval (3)"),
    ("--warmup 5s", "--warmup requires a duration (-T)"),
    ("--warmup 5y -T 1", "invalid value for option --warmup: `5y` is not a duration"),
    ("--think-time 1s -R 5", "--think-time cannot be used with --rate"),
    (
        "--record --steps clients:1@1s",
        "--record cannot be used with --steps or --find-rate: a run directory has one load",
    ),
    ("--server main -h here", "--server cannot be used with --host (-h)"),
    ("-i -U me --server main", "--server cannot be used with --username (-U)"),
    ("--server main -p 5432", "--server cannot be used with --port (-p)"),
    ("--runs here", "--runs is allowed only with --record"),
    ("--observe host", "--observe is allowed only with --record"),
    ("--profile auto", "--profile is allowed only with --record"),
    (
        "--record --profile fp --observe none",
        "--profile cannot be used with --observe=none: observers find the server's processes",
    ),
    ("-C --reconnect 5", "specify either --reconnect or --connect (-C), not both"),
    ("--percentiles 101", "invalid percentiles: \"101\""),
    ("--steps 1000@30s", "invalid steps: \"1000@30s\": expecting rate:… or clients:…"),
    ("--steps rate:1000", "invalid steps: \"rate:1000\": `1000` has no length, such as 1000@30s"),
    ("--steps rate:x@1s", "invalid steps: \"rate:x@1s\": `x` is no valid rate or client count"),
    ("--steps rate:5@0.5s", "invalid steps: \"rate:5@0.5s\": `0.5s` is not a number of whole seconds"),
    ("--steps rate:5@1y", "invalid steps: \"rate:5@1y\": `1y` is not a duration"),
    ("--steps rate:5@1s -t 5", "--steps cannot be used with --transactions (-t)"),
    ("--steps rate:5@1s -T 5", "--steps cannot be used with --time (-T): every step has its own length"),
    ("--steps rate:5@1s -R 5", "--steps cannot be used with --rate (-R)"),
    ("--steps rate:5@1s --think-time 1s", "--think-time cannot be used with --rate"),
    (
        "--steps clients:5@1s -c 5",
        "--steps cannot be used with --client (-c): every step has its own client count",
    ),
    ("--steps rate:5@1s --find-rate p99<5ms", "--steps cannot be used with --find-rate"),
    ("-i --steps rate:5@1s", "some of the specified options cannot be used in initialization (-i) mode"),
    ("--find-rate 5ms", "invalid value for option --find-rate: `5ms` is not a limit such as 'p99<5ms'"),
    ("--find-rate p99<5", "invalid value for option --find-rate: `p99<5` is not a limit such as"),
    ("--find-rate p100<5ms", "invalid value for option --find-rate: `p100` is not a percentile"),
    ("--find-rate max<5ms", "invalid value for option --find-rate: `max<5ms` limits the maximum"),
    ("--find-rate p99<5ms -t 5", "--find-rate cannot be used with --transactions (-t)"),
    ("--find-rate p99<5ms -R 5", "--find-rate cannot be used with --rate (-R)"),
    ("--find-rate p99<5ms --think-time 1s", "--find-rate cannot be used with --think-time"),
    ("--find-rate p99<5ms -l", "--find-rate cannot be used with --log (-l)"),
    ("--find-rate p99<5ms -P 1", "--find-rate cannot be used with --progress (-P): every probe has a line"),
    ("--find-rate p99<5ms -r", "--find-rate cannot be used with --report-per-command (-r)"),
    ("--find-rate p99<5ms --percentiles 50", "--find-rate cannot be used with --percentiles"),
    ("--find-rate p99<5ms --hdr x", "--find-rate cannot be used with --hdr"),
];

#[test]
fn wrong_options_are_refused_in_pgbenchs_words() {
    for &(line, message) in WRONG {
        let (result, said) = ask(line);
        assert_eq!(result.err(), Some(1), "{line}");
        let said =
            said.strip_prefix("pgbench: error: ").or_else(|| said.strip_prefix("pgbench: ")).unwrap_or(&said);
        assert!(said.starts_with(message), "pgbench {line}\n{said}");
    }
}

#[test]
fn complaints_of_several_lines_are_complete() {
    for (line, expected) in [
        (
            "--random-seed=one",
            "pgbench: error: unrecognized random seed option \"one\"\n\
             pgbench: detail: Expecting an unsigned integer, \"time\" or \"rand\".\n\
             pgbench: error: error while setting random seed from --random-seed option\n",
        ),
        (
            "-i -I dta",
            "pgbench: error: unrecognized initialization step \"a\"\n\
             pgbench: detail: Allowed step characters are: \"dtgGvpf\".\n",
        ),
        ("-x", &format!("pgbench: invalid option -- 'x'\n{HELP}")),
        ("-S --help", &format!("pgbench: unrecognized option '--help'\n{HELP}")),
        ("a b c", &format!("pgbench: error: too many command-line arguments (first is \"b\")\n{HELP}")),
        ("-d a b", &format!("pgbench: error: too many command-line arguments (first is \"b\")\n{HELP}")),
        (
            "--lo",
            &format!("pgbench: option '--lo' is ambiguous; possibilities: '--log' '--log-prefix'\n{HELP}"),
        ),
    ] {
        assert_eq!(ask(line).1, expected, "{line}");
    }
}

#[test]
fn at_most_128_scripts_are_taken() {
    assert!(ask(&"-S ".repeat(128)).0.is_ok());
    let (result, said) = ask(&"-S ".repeat(129));
    assert_eq!((result.err(), &*said), (Some(1), "pgbench: error: at most 128 SQL scripts are allowed\n"));
}

#[test]
fn what_is_right_is_understood() {
    let (_, options) = run("-nc5 -j8 -T 10 --re -fc-no -D a=b=c x");
    assert!(options.is_none(), "the file is not there");
    let (request, options) = run("-nc5 -j8 -T10 --re -Sb tpcb@3 -D a=b=c --max-tries=0 -L 2.5ms base");
    let (Some(Request::Run), Some(options)) = (request, options) else { panic!("it is a run") };
    assert_eq!((options.clients, options.jobs, options.time_s, options.transactions), (5, 5, 10, 0));
    assert_eq!(
        (options.no_vacuum, options.report_per_command, options.latency_limit_us),
        (true, true, 2_500)
    );
    assert_eq!(options.dbname.as_deref(), Some("base"));
    let scripts: Vec<_> = options.scripts.iter().map(|script| (&*script.name, script.weight)).collect();
    assert_eq!(scripts, [("<builtin: select only>", 1), ("<builtin: TPC-B (sort of)>", 3)]);
    assert_eq!((&*options.define[0].name, &*options.define[0].value), ("a", "b=c"));
    let (_, options) = run("-c 3 --steps rate:100@10s,400@20s");
    let options = options.expect("it is right");
    assert_eq!(
        (options.time_s, options.rate_per_s, options.clients, options.transactions),
        (30, Some(300.0), 3, 0)
    );
    let (_, options) = run("-j 8 --steps clients:2@10s,6@20s,4@1min");
    let options = options.expect("it is right");
    assert_eq!((options.time_s, options.rate_per_s, options.clients, options.jobs), (90, None, 6, 6));
    let (_, options) = run("--find-rate p99.9<20ms -c 4 -C");
    let options = options.expect("it is right");
    assert_eq!((options.time_s, options.extras.warmup_ns, options.transactions), (10, 2_000_000_000, 0));
    let (_, options) = run("");
    let options = options.expect("nothing is asked for");
    assert_eq!((options.transactions, options.scripts.len(), options.seed), (10, 1, 7));
}

fn run(line: &str) -> (Option<Request>, Option<Options>) {
    match ask(line).0 {
        Ok(Some((request, options))) => (Some(request), Some(options)),
        _ => (None, None),
    }
}

#[test]
fn initialization_is_put_together_as_pgbench_does() {
    for (line, letters, partitions) in [
        ("-i", "dtgvp", None),
        ("-i -n", "dtgp", None),
        ("-i -I dtpvGvv -n --foreign-keys --partitions=3", "dtpGf", Some((PartitionMethod::Range, 3))),
        ("-i -I fd --foreign-keys", "fd", None),
        ("-i --partitions=2 --partition-method=HASH", "dtgvp", Some((PartitionMethod::Hash, 2))),
    ] {
        let (Some(Request::Initialize(wanted)), _) = run(line) else { panic!("{line}") };
        let partitions = partitions.map(|(method, count)| Partitions { method, count });
        assert_eq!((wanted.steps, wanted.tables.partitions), (steps(letters), partitions), "{line}");
    }
}
