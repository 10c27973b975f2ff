//! Every wrong flag, value and plan file of the measuring commands: exit status 2, one clear sentence, a hint, and
//! nothing begun.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use crate::common::{Place, am_root, left_out, text};

/// Runs pgdyno with what is wrong; returns what its answer lacks of the form of an error, or of these words.
fn lacks(place: &Place, args: &[&str], words: &[&str]) -> Option<String> {
    let output = place.run(args);
    let said = text(&output.stderr);
    let first = said.lines().next().unwrap_or_default();
    let faults = [
        (output.status.code() != Some(2), "exit status 2"),
        (!output.stdout.is_empty(), "an empty stdout"),
        (!first.starts_with("error: ") || first.ends_with('.'), "a first line of its form"),
        (said.matches("error: ").count() != 1, "one error"),
        (said.matches("\nhint: ").count() != 1, "one hint"),
        (said.contains("panicked") || said.contains("Usage:"), "peace"),
    ];
    let faults = faults.into_iter().filter_map(|(fault, name)| fault.then_some(name));
    let missing = words.iter().copied().filter(|words| !said.contains(words));
    let lacking: Vec<_> = faults.chain(missing).collect();
    (!lacking.is_empty()).then(|| format!("pgdyno {args:?} lacks {lacking:?}:\n{said}"))
}

fn is_wrong(place: &Place, args: &[&str], words: &[&str]) {
    assert_eq!(lacks(place, args, words), None);
}

/// Nothing was begun: no run, no server.
fn nothing_was_begun(place: &Place) {
    assert_eq!(place.runs().len(), 0);
    place.nothing_is_left();
}

/// Flags of `bench`, and what the answer must hold.
const FLAGS: &[(&str, &[&str])] = &[
    ("--scal 1", &["'--scal'", "--scale"]),
    ("--cleints 1", &["'--cleints'", "--clients"]),
    ("--durations 1s", &["'--durations'", "--duration"]),
    ("--frobnicate", &["'--frobnicate'", "pgdyno bench --help"]),
    ("surplus", &["'surplus'"]),
    ("-x", &["'-x'"]),
    ("--scale 0", &["--scale", "0 is not between 1 and 100000000"]),
    ("--scale -1", &["--scale", "-1"]),
    ("--scale x", &["--scale", "'x'"]),
    ("--scale 100000001", &["--scale", "not between"]),
    ("--scale", &["--scale"]),
    ("--scale 1 --scale 2", &["--scale", "multiple times"]),
    ("--partitions 100001", &["--partitions", "100001 is not between 0 and 100000"]),
    ("--partition-method hash", &["a partition method is given, but there are no partitions"]),
    ("--partitions 2 --load-method chunks", &["the method chunks is not for partitions by range"]),
    (
        "--partitions 2 --partition-method hash --load-method stream",
        &["stream is not for partitions by hash"],
    ),
    ("--fillfactor 9", &["--fillfactor", "9 is not between 10 and 100"]),
    ("--table-option tellers", &["--table-option", "a table option is written NAME=VALUE"]),
    ("--table-option a=1 --table-option a=2", &["the table option `a` is given twice"]),
    ("--table-option fillfactor=50", &["the table option `fillfactor` has a key of its own", "--fillfactor"]),
    ("--table-option tellers.fillfactor=5", &["`tellers.fillfactor=5` is not between 10 and 100"]),
    ("--table-option nosuch.a=1", &["about no table of tpcb: branches, tellers, accounts, history"]),
    ("--preset nosuch", &["there is no preset `nosuch`", "tpcc-9.5"]),
    ("--preset ./nosuch.conf", &["could not read the configuration ./nosuch.conf"]),
    ("--as-published", &["could not apply a preset as published: none is named"]),
    ("--preset tpcc-9.5 -h x", &["could not use --preset with an existing server"]),
    ("--load-jobs 0", &["--load-jobs", "0 is not between 1 and 1000"]),
    ("--unlogged 1", &["'1'"]),
    ("--detach=../x", &["`../x` cannot be the name of a detached run"]),
    ("--detach night", &["'night'"]),
    ("--detach --json", &["--detach", "--json"]),
    ("--tablespace x", &["pgdyno's own server has none", "pgdyno up"]),
    ("--clients 0", &["--clients", "0 is not between 1 and 100000"]),
    ("--clients -1", &["--clients", "-1"]),
    ("--clients 1,,2", &["--clients"]),
    ("--clients three", &["--clients", "three"]),
    ("--clients 1,1", &["the client count 1 is listed twice"]),
    ("--duration 0", &["--duration", "`0` is not a duration"]),
    ("--duration 1e99", &["--duration", "`1e99` is not a duration"]),
    ("--duration -5s", &["-5s", "--duration"]),
    ("--duration 5parsecs", &["--duration", "5parsecs"]),
    ("--duration 50ms", &["an interval of 50ms is shorter than 100ms"]),
    ("--warmup nan", &["--warmup", "nan"]),
    ("--warmup 25h", &["a warm-up of 1500min is longer than 1440min"]),
    ("--rate 0", &["--rate", "a rate is a number above 0, at most 1e12"]),
    ("--rate -1", &["--rate", "a rate is a number above 0, at most 1e12"]),
    ("--rate nan", &["--rate", "a rate is a number above 0, at most 1e12"]),
    ("--rate inf", &["--rate", "a rate is a number above 0, at most 1e12"]),
    ("--rate 1e13", &["--rate", "a rate is a number above 0, at most 1e12"]),
    ("--rate fast", &["--rate", "fast", "a rate is a number"]),
    ("--jobs 0", &["--jobs", "0 is not between 1 and"]),
    ("--jobs 5000", &["--jobs", "5000 is not between 1 and 1024"]),
    ("--blocks 0", &["--blocks", "0 is not between 1 and 1000"]),
    ("--quick --thorough", &["'--quick' cannot be used with '--thorough'"]),
    ("--check maybe", &["--check", "maybe", "one of auto, full, touched, off"]),
    ("--seed -1", &["--seed", "-1"]),
    ("--seed 9223372036854775808", &["--seed", "9223372036854775808"]),
    ("--seed x", &["--seed", "'x'"]),
    ("--set nonsense", &["--set", "nonsense", "NAME=VALUE"]),
    ("--set =1", &["--set"]),
    ("--set work_mem=", &["--set"]),
    ("--set port=1", &["port"]),
    ("--pg 7.4", &["7.4", "--pg", "too old"]),
    ("--pg eighteen", &["eighteen", "--pg"]),
    ("--bindir /nonexistent", &["there is no postgres in /nonexistent"]),
    ("--pg 18 --bindir /nonexistent", &["/nonexistent"]),
    ("--bindir /x --bundle", &["--bindir", "--bundle"]),
    ("--build none", &["there is no build `none`", "`pgdyno build"]),
    ("--build none --bundle", &["--build", "--bundle"]),
    ("--build none --bindir /x", &["--build", "--bindir"]),
    ("--build none -h /tmp", &["could not use --build with an existing server"]),
    ("--build", &["--build"]),
    ("-p 0", &["--port", "0 is not between 1 and 65535"]),
    ("-p 65536", &["--port"]),
    ("-p x", &["--port"]),
    ("-h", &["--host"]),
    ("--pg 18 -h /tmp", &["could not use --pg with an existing server"]),
    ("--data /x -p 5432", &["could not use --data with an existing server"]),
    ("--set work_mem=1MB -U me", &["could not use --set with an existing server"]),
    ("--server-cpus 0 -h /tmp", &["could not use --server-cpus with an existing server"]),
    ("--driver-cpus 999", &["processor", "999"]),
    ("--driver-cpus x", &["--driver-cpus", "`x`"]),
    ("--driver-cpus 3-1", &["--driver-cpus", "3-1"]),
    ("--server-cpus 4000", &["4000"]),
    ("--run-as no-such-user", &["there is no user `no-such-user`"]),
    ("--out report.pdf", &["its extension is no report format", ".html, .md, .txt, .csv, .json"]),
    ("--out report", &["its extension is no report format"]),
    ("--out /nonexistent/x.html", &["could not write /nonexistent/x.html", "No such file"]),
];

#[test]
fn wrong_flags_and_values() {
    let place = Place::new();
    let mut lacking = Vec::new();
    for (flags, words) in FLAGS {
        let args: Vec<_> = ["bench"].into_iter().chain(flags.split(' ')).collect();
        lacking.extend(lacks(&place, &args, words));
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    is_wrong(&place, &["bench", "-d", "host=a hots=b"], &["hots", "host"]);
    is_wrong(&place, &["bench", "-d", "postgres://a:hush@h:x/d"], &["port"]);
    is_wrong(&place, &["bench", "--dsn", "a", "--dbname", "b"], &["--dsn", "--dbname"]);
    is_wrong(&place, &["bench", "--admin-dsn", "host=a"], &["could not use --admin-dsn alone", "--dsn"]);
    is_wrong(
        &place,
        &["bench", "--dsn", "host=a", "--admin-dsn", "hots=b"],
        &["`hots`", "did you mean `host`?"],
    );
    is_wrong(&place, &["bench", "--dsn", "service=mine"], &["definition of service \"mine\" not found"]);
    is_wrong(&place, &["bench", "--dsn", "gssencmode=require"], &["could not use gssencmode", "sslmode"]);
    is_wrong(&place, &["bench", "--clients", ""], &["--clients"]);
    is_wrong(&place, &["bnech"], &["'bnech'", "bench"]);
    nothing_was_begun(&place);
}

/// Flags and arms of `ab`, one word each between bars, and what the answer must hold.
const AB: &[(&str, &[&str])] = &[
    ("", &["there is nothing to compare: A and B are the same", "give a flag twice", "--pg 17 --pg 18"]),
    ("--pg|18", &["there is nothing to compare", "give a flag twice"]),
    ("--pg|18|--pg|18", &["there is nothing to compare", "here they are equal"]),
    ("--set|jit=on|--set|jit=on", &["there is nothing to compare", "here they are equal"]),
    ("--pg|15|--pg|16|--pg|17", &["--pg is given 3 times", "the first is A's and the second is B's"]),
    ("--set|jit=on|--set|jit=off|--set|jit=on", &["--set jit is given 3 times"]),
    ("--set|jit", &["--set", "NAME=VALUE"]),
    ("pg=18", &["`pg=18` is one arm, and a comparison needs two", "default"]),
    ("a|b|c", &["'c'"]),
    ("|pg=18", &["could not use `` as an arm: it is empty"]),
    ("pg=15|pgg=18", &["could not use `pgg=18` as an arm", "pg=VERSION"]),
    ("pg=15|pg=18,pg=17", &["`pg` is given twice"]),
    ("pg=seven|pg=18", &["seven", "--pg"]),
    ("pg=7.4|pg=18", &["7.4", "too old"]),
    ("default|set:port=1", &["port"]),
    ("default|bindir=/nonexistent", &["there is no postgres in /nonexistent"]),
    ("default|bindir=/x,bundle", &["B: bindir and bundle exclude each other"]),
    ("default|build=none", &["there is no build `none`"]),
    ("default|build=none,bundle", &["B: build excludes bindir and bundle"]),
    ("build=none,bindir=/x|default", &["A: build excludes bindir and bundle"]),
    ("build=none,dsn=host=/tmp|default", &["A: it names an existing server and describes a temporary one"]),
    ("--build|a|--build|b|--build|c", &["--build is given 3 times"]),
    ("default|builtin=tpch", &["one of tpcb-like, simple-update, select-only"]),
    ("default|script=/nonexistent.sql", &["could not read the script /nonexistent.sql"]),
    ("default|script=/dev/null", &["could not read the script /dev/null: it is not a regular file"]),
    ("default|script=a.sql,builtin=select-only", &["B: it has more than one workload"]),
    ("-b|select-only|-f|a.sql", &["A: it has more than one workload"]),
    ("pg=18,dsn=host=/tmp|default", &["A: it names an existing server and describes a temporary one"]),
    ("--dsn|host=/tmp|--dsn|host=/tmp hots=b", &["hots", "host"]),
    ("--dsn|host=/tmp|--pg|17|--pg|18", &["it names an existing server and describes a temporary one"]),
    ("--dsn|host=/tmp|default|command=x", &["B: a command names its own server"]),
    ("data=/tmp/x|data=/tmp/x", &["two servers cannot share a data directory"]),
    ("--bundle|--bindir|/x", &["--bundle", "--bindir"]),
    ("--bundle|--build|x", &["--bundle", "--build"]),
    ("default|default|--blocks|2", &["--blocks", "2 is not between 3 and 200"]),
    ("default|default|--blocks|201", &["--blocks", "not between 3 and 200"]),
    ("default|default|--aa-blocks|4", &["--aa-blocks"]),
    ("default|default|--margin|2", &["--margin", "a margin is written 2%"]),
    ("default|default|--margin|0%", &["--margin", "above 0%"]),
    ("default|default|--margin|-2%", &["--margin", "above 0%"]),
    ("pg=15|pg=18|-R|100", &["could not compare at a fixed rate", "`ab` compares TPS", "latencies"]),
    ("default|default|--margin|51%", &["--margin", "at most 50%"]),
    ("default|default|--margin|nan%", &["--margin", "a margin is written"]),
    ("default|default|--result|tps", &["--result", "it needs a group in parentheses"]),
    ("default|default|--result|(", &["--result"]),
    ("default|default|--clients|0", &["--clients", "0 is not between 1 and 100000"]),
    ("default|default|--clients|1,2", &["--clients", "1,2"]),
    ("default|default|--duration|50ms", &["an interval of 50ms is shorter than 100ms"]),
    ("default|default|--scale|0", &["--scale", "0 is not between"]),
    ("default|default|--driver-cpus|999", &["processor", "999"]),
    ("default|default|--run-as|no-such-user", &["there is no user `no-such-user`"]),
    ("default|default|--out|report.pdf", &["its extension is no report format"]),
    ("default|default|--plan|/nonexistent.toml", &["could not read the plan /nonexistent.toml"]),
    ("default|default|--quick", &["'--quick'"]),
    (
        "default|command=x|--partitions|4",
        &["could not load tables for both arms: the command of B brings its own server"],
    ),
    ("command=x|default|--fillfactor|50", &["for both arms: the command of A brings", "pg=18,command=LINE"]),
    (
        "default|load:unlogged,command=x",
        &["could not load tables for B: the command of B brings its own server", "pg=18,command=LINE"],
    ),
    ("default|clients=0", &["`clients=0`: 0 is not between 1 and 100000"]),
    ("--clients|1|--clients|2|--clients|3", &["--clients is given 3 times"]),
    ("--clients|4|--clients|4", &["there is nothing to compare", "here they are equal"]),
    ("default|load:fillfactor=5", &["`load:fillfactor=5`", "5 is not between 10 and 100", "clients=N"]),
    ("default|load:scale=2", &["there is no such option; the options are partitions, partition-method,"]),
    ("default|load:unlogged=no", &["unexpected value 'no'"]),
    ("default|load:partition-method=hash", &["B: a partition method is given, but there are no partitions"]),
    ("default|load:tablespace=t", &["B: could not use the tablespace t: pgdyno's own server has none"]),
    (
        "pg=18|pg=9.6,load:partitions=2",
        &["B: could not make partitions: the server is older than PostgreSQL 11"],
    ),
    (
        "--dsn|host=/tmp|load:unlogged|default",
        &["could not load different tables for A and B: both are on one existing server", "dsn=..."],
    ),
    (
        "clients=4,command=x|clients=8,command=y",
        &["could not use 4 clients for A: its command has no {clients}", "write {clients}"],
    ),
];

#[test]
fn wrong_comparisons() {
    let place = Place::new();
    let mut lacking = Vec::new();
    for (words, expected) in AB {
        let words = words.split('|').filter(|_| !words.is_empty());
        let args: Vec<_> = ["ab"].into_iter().chain(words).collect();
        lacking.extend(lacks(&place, &args, expected));
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    let two = "name = \"x\"\n[[workload]]\nscript = \"select-only\"\n[[workload]]\nscript = \"tpcb-like\"\n";
    fs::write(place.path("two.toml"), two).expect("it can be written");
    let plan = place.path("two.toml").display().to_string();
    is_wrong(&place, &["ab", "default", "default", "--plan", &plan], &["it has 2 workloads", "one of each"]);
    fs::write(place.path("bad.sql"), "SELECT 1;\n\\sleep 1 parsec\n").expect("it can be written");
    let script = place.path("bad.sql").display().to_string();
    is_wrong(&place, &["ab", "-f", &script, "default", "builtin=select-only"], &["bad.sql:2:"]);
    nothing_was_begun(&place);
}

/// Flags of `load`, parted by bars, and what the answer must hold.
const LOAD: &[(&str, &[&str])] = &[
    ("tpcb", &["--scale"]),
    ("tpcb|--scale|1", &["no server is named", "--server", "--dsn"]),
    ("tpcb|--scale|0|--server|x", &["0 is not between 1 and 100000000"]),
    ("tpcb|--scale|1|--server|x", &["there is no server `x`"]),
    ("tpcb|--scale|1|--server|x|-h|y", &["--server", "--host"]),
    ("tpcb|--resume|--join|--dsn|x", &["--resume", "--join"]),
    ("tpcb|--resume|--dry-run|--dsn|x", &["--dry-run"]),
    ("tpcb|--scale|1|--fillfactor|9|--dsn|x", &["9 is not between 10 and 100"]),
    ("tpcb|--scale|1|--table-option|log.a=1|--dsn|x", &["`log.a` is about no table of tpcb"]),
    ("tpcb|--scale|1|--jobs|0|--dsn|x", &["--jobs", "0 is not between 1 and 1000"]),
    ("tpcb|--scale|1|--partition-method|list|--dsn|x", &["one of range, hash"]),
    (
        "tpcb|--scale|1|--partition-method|hash|--dsn|x",
        &["partition method is given, but there are no partitions"],
    ),
    ("tpcb|--scale|1|--partitions|100001|--dsn|x", &["100001 is not between 0 and 100000"]),
    ("tpcb|--scale|1|--key-workers|0|--dsn|x", &["--key-workers", "0 is not between 1 and 1024"]),
    ("tpcb|--scale|1|--server-version|18", &["--dry-run"]),
    ("tpcb|--scale|1|--calibrate|--dry-run", &["--calibrate", "--dry-run"]),
    ("tpcb|--calibrate", &["--scale"]),
    (
        "tpcb|--scale|1|--dry-run|--server-version|9.4",
        &["--server-version", "not a version of PostgreSQL from 9.5"],
    ),
    ("tpcb|--scale|1|--dry-run|--server-version|18|--dsn|x", &["--server-version", "--dbname"]),
    ("tpcb|--scale|1|--dry-run|--block-size|8kB", &["--server-version"]),
    ("tpcb|--scale|1|--dry-run|--server-version|18|--block-size|7kB", &["--block-size", "not one of 1kB"]),
    ("tpcb|--scale|1|--room|plenty|--dsn|x", &["--room", "not a size such as 500GB"]),
    ("scaleup|--rows|1|--foreign-keys|--dsn|x", &["test and log have no foreign keys"]),
    ("verify", &["no server is named"]),
    ("verify|--server|x|--create-extension", &["--amcheck"]),
    ("copy|--server|x", &["--into-schemas"]),
    ("copy|--server|x|--into-schemas|0", &["0 is not between 1 and 1000"]),
    ("copy|--server|x|--into-schemas|1|--into-databases|1", &["--into-schemas", "--into-databases"]),
    ("copy|--server|x|--into-schemas|1|--strategy|wal-log", &["--strategy", "--into-schemas"]),
    ("copy|--server|x|--into-schemas|1|--by|dump", &["--by", "--into-schemas"]),
    ("copy|--server|x|--into-databases|1|--by|tar", &["--by", "one of template, dump"]),
    ("copy|--server|x|--into-databases|1|--rename-schema", &["keeps the names of its schemas", "--by dump"]),
    (
        "copy|--server|x|--into-databases|1|--by|dump|--strategy|wal-log",
        &["only CREATE DATABASE", "--strategy"],
    ),
    ("copy|--into-schemas|1", &["no server is named"]),
    ("tpcc|--dsn|x", &["--warehouses"]),
    ("tpcc|--warehouses|0|--dsn|x", &["0 is not between 1 and 10000000"]),
    ("tpcc|--warehouses|1", &["no server is named"]),
    ("tpcc|--schemas|2|--dsn|x", &["--warehouses"]),
    ("tpcc|--warehouses|1|--schemas|2|--join|--dsn|x", &["--schemas", "--join"]),
    ("tpch", &["'tpch'"]),
];

#[test]
fn wrong_loads() {
    let place = Place::new();
    let lacking = LOAD.iter().filter_map(|(line, words)| {
        let args: Vec<_> = ["load"].into_iter().chain(line.split('|')).collect();
        lacks(&place, &args, words)
    });
    assert_eq!(lacking.collect::<Vec<_>>(), Vec::<String>::new());
    nothing_was_begun(&place);
}

/// Flags of `prewarm` and `probe`, parted by bars, and what the answer must hold.
const PROBES: &[(&str, &[&str])] = &[
    ("prewarm", &["could not read tables into shared buffers: no server is named", "--dsn"]),
    ("prewarm|--server|x", &["there is no server `x`"]),
    ("prewarm|--server|x|-p|5432", &["--server", "--port"]),
    ("prewarm|--dsn|x|--jobs|0", &["--jobs", "0 is not between 1 and 1000"]),
    ("prewarm|--dsn|hots=b", &["`hots`", "host"]),
    ("probe|ddl", &["could not probe: no server is named"]),
    ("probe|ddl|--server|x|--repeats|0", &["--repeats", "0 is not between 1 and 1000"]),
    ("probe|ddl|--server|x|--lock-timeout|0", &["--lock-timeout", "`0` is not a duration"]),
    ("probe|ddl|--server|x|--commit|--may-change", &["--commit", "--may-change"]),
    ("probe|ddl|--server|x|--sessions|0", &["--sessions", "0 is not between 1 and 1000"]),
    ("probe|first-touch|--server|x|--limit|0", &["--limit", "0 is not between 1 and 1000000"]),
    ("probe|partitions|--server|x|--repeats|1001", &["--repeats", "1001 is not between 1 and 1000"]),
    ("probe|count|--server|x|--by|hash", &["--by", "one of index, seq"]),
    ("probe|count|--server|x|--parallel|1,x", &["--parallel", "'x'"]),
    ("probe|count|--server|x|--parallel|1025", &["--parallel", "1025 is not between 0 and 1024"]),
    ("probe|depths|--server|x", &["'depths'", "depth"]),
    ("probe|sizes|--server|x", &["there is no server `x`"]),
];

#[test]
fn wrong_probes() {
    let place = Place::new();
    let lacking =
        PROBES.iter().filter_map(|(line, words)| lacks(&place, &line.split('|').collect::<Vec<_>>(), words));
    assert_eq!(lacking.collect::<Vec<_>>(), Vec::<String>::new());
    nothing_was_begun(&place);
}

/// If no server answers, only commands that can start a temporary one offer that.
#[test]
fn a_server_is_offered_by_what_can_make_one() {
    let place = Place::new();
    for (command, makes) in [
        ("bench", true),
        ("load tpcb --scale 1", false),
        ("load verify", false),
        ("prewarm", false),
        ("probe sizes", false),
    ] {
        let args: Vec<_> = command.split(' ').chain(["-h", "/nonexistent"]).collect();
        let said = place.refused(&args, 3);
        assert!(said.contains("\nhint: is a server running there?"), "{command}: {said}");
        assert_eq!(said.contains("to have pgdyno start one"), makes, "{command}: {said}");
    }
    nothing_was_begun(&place);
}

#[test]
fn a_secret_of_an_arm_is_not_repeated() {
    let place = Place::new();
    for arm in
        ["nonsense,dsn=postgres://a:hush@h/d", "dsn=postgres://a:hush@h:x/d", "dsn=password=hush hots=b"]
    {
        let output = place.run(&["ab", "default", arm]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!said.contains("hush"), "{said}");
    }
}

#[test]
fn a_secret_in_a_wrong_address_is_not_repeated() {
    let place = Place::new();
    for address in
        ["postgres://a:hush@h:x/d", "postgres://a:hush@h/d?hots=1", "password=hush hots=b", "password='hush"]
    {
        let output = place.run(&["bench", "-d", address]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!said.contains("hush"), "{said}");
    }
}

#[test]
fn wrong_variables_are_named() {
    let place = Place::new();
    for (name, value, words) in
        [("PGPORT", "x", "PGPORT"), ("PGSERVICE", "mine", "PGSERVICE"), ("PGSSLMODE", "sometimes", "sslmode")]
    {
        let mut bench = place.command(&["bench", "-h", "/tmp"]);
        let output = bench.env(name, value).output().expect("pgdyno can be run");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{name}={value}: {said}");
    }
}

/// What is there is never overwritten or followed, and what cannot be written is said before anything is done.
#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::new();
    let (mine, link) = (place.path("mine.html"), place.path("link.html"));
    fs::write(&mine, "mine").expect("it can be written");
    symlink(place.path("elsewhere.html"), &link).expect("it can be made");
    for path in [&mine, &link] {
        is_wrong(&place, &["bench", "--out", &shown(path)], &["it already exists", "Nothing was changed"]);
    }
    assert_eq!(fs::read_to_string(&mine).expect("it is kept"), "mine");
    assert!(!place.path("elsewhere.html").exists());
    let file = shown(&mine);
    for runs in [file.clone(), format!("{file}/below"), "/proc/nowhere".to_owned()] {
        let output = place.run(&["bench", "--quick", "--bundle", "--pg", "18", "--runs", &runs]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("error: could not create runs in ") && said.contains("hint: "), "{said}");
    }
    place.nothing_is_left();
}

/// Where root may write everywhere, an ordinary user may not.
#[test]
fn directories_of_somebody_else() {
    if am_root() {
        left_out("root may write everywhere");
        return;
    }
    let place = Place::new();
    is_wrong(&place, &["bench", "--out", "/report.html"], &["could not write /report.html", "denied"]);
    let output = place.run(&["bench", "--quick", "--runs", "/runs"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("could not create runs in /runs"));
}

fn shown(path: &std::path::Path) -> String {
    path.display().to_string()
}

const GOOD: &str = "name = \"x\"\n[[workload]]\nscript = \"select-only\"\n";

/// Writes a plan file.
fn plan(place: &Place, content: &[u8]) -> PathBuf {
    let path = place.path("plan.toml");
    fs::write(&path, content).expect("it can be written");
    path
}

/// What the plan asks for is not blamed on a flag, and a setting that no server has is refused before anything begins.
#[test]
fn a_plan_with_settings_of_its_server() {
    let place = Place::new();
    let with = |settings: &str| format!("{GOOD}[server]\nsettings = {{ {settings} }}\n").into_bytes();
    let path = plan(&place, &with("work_mem = \"8MB\""));
    let run = ["run", path.to_str().expect("plain")];
    let words = ["could not use `settings` of the plan's [server] with an existing server"];
    is_wrong(&place, &[run[0], run[1], "-h", "/tmp"], &words);
    plan(&place, &with("shared_bufers = \"1GB\""));
    let words = ["refuses the setting shared_bufers", "unrecognized configuration parameter"];
    is_wrong(&place, &[run[0], run[1], "--pg", "18", "--bundle", "--dry-run"], &words);
    nothing_was_begun(&place);
}

#[test]
fn wrong_plan_files() {
    let place = Place::new();
    let with = |more: &str| format!("{GOOD}{more}").into_bytes();
    let mut lacking = Vec::new();
    let big = [GOOD.as_bytes(), &vec![b'#'; (1 << 20) + 1]].concat();
    for (content, words) in [
        (Vec::new(), &["plan.toml: the file is empty"][..]),
        (b"\xef\xbb\xbf  \r\n".to_vec(), &["the file is empty"]),
        (with("a\0b"), &["plan.toml:4:2: ", "NUL byte"]),
        (with("# ").into_iter().chain([0xe9]).collect(), &["line 4 is not UTF-8"]),
        (big, &["plan.toml", "1 MiB"]),
        (
            with("[measure]\nclient = [1]\n"),
            &["plan.toml:5:1: ", "unknown key `client`", "did you mean `clients`?"],
        ),
        (with("[mesure]\nblocks = 1\n"), &["plan.toml:4:2: ", "`mesure`", "`measure`"]),
        (
            with("[measure]\nblocks = \"many\"\n"),
            &["plan.toml:5:10: ", "`measure.blocks` must be a whole number"],
        ),
        (with("[measure]\nblocks = 0\n"), &["plan.toml:5:10: ", "0 is not between 1 and 1000"]),
        (with("[measure]\nrate = nan\n"), &["plan.toml:5:8: ", "rate"]),
        (with("[check]\nbalance = \"ful\"\n"), &["did you mean \"full\"?"]),
        (with("[load]\njobs = 0\n"), &["plan.toml:5:8: ", "0 is not between 1 and 1000"]),
        (with("[load]\nfillfactor = 5\n"), &["plan.toml:5:14: ", "5 is not between 10 and 100"]),
        (with("[load]\nunloged = true\n"), &["did you mean `unlogged`?"]),
        (with("[load]\nmethod = \"copy\"\n"), &["`load.method` must be \"stream\", \"chunks\" or"]),
        (with("[load]\npartition_method = \"hash\"\n"), &["plan.toml:5:20: ", "there are no partitions"]),
        (
            with("[load]\npartitions = 2\nmethod = \"chunks\"\n"),
            &["plan.toml:6:10: ", "chunks is not for partitions by range: each is filled as a whole"],
        ),
        (with("[data]\nscale = 0\n"), &["plan.toml:5:9: ", "scale"]),
        (with("[server]\npassword = \"hush\"\n"), &["a plan holds no address"]),
        (with("[server]\nbuild = \"none\"\n"), &["there is no build `none`"]),
        (with("[server]\nbuilt = \"x\"\n"), &["did you mean `build`?"]),
        (with("[server\n"), &["plan.toml:4:"]),
        (
            b"name = \"x\"\r\n[[workload]]\r\nscript = \"tpcb\"\r\n".to_vec(),
            &["plan.toml:3:10: ", "tpcb-like"],
        ),
        (b"name = \"x\"\n".to_vec(), &["the key `workload` is missing"]),
    ] {
        let path = plan(&place, &content);
        lacking.extend(lacks(&place, &["run", &shown(&path)], words));
        assert!(!text(&place.run(&["run", &shown(&path)]).stderr).contains("hush"));
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    nothing_was_begun(&place);
}

#[test]
fn plan_files_that_are_none() {
    let place = Place::new();
    let fifo = place.path("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo can be run");
    assert!(made.success());
    is_wrong(&place, &["run", &shown(&fifo)], &["could not read the plan", "it is not a regular file"]);
    is_wrong(&place, &["run", &shown(place.dir.path())], &["it is not a regular file"]);
    is_wrong(&place, &["run", "/dev/zero"], &["it is not a regular file"]);
    is_wrong(&place, &["run", "/nonexistent.toml"], &["could not read the plan /nonexistent.toml"]);
    is_wrong(&place, &["run"], &["<FILE.toml>"]);
    let huge = place.path("huge.toml");
    fs::File::create(&huge).and_then(|file| file.set_len(1 << 30)).expect("it takes no room");
    is_wrong(&place, &["run", &shown(&huge)], &["huge.toml", "1 MiB"]);
    nothing_was_begun(&place);
}

/// Scripts of arms, read as plans are.
#[test]
fn wrong_script_files() {
    let place = Place::new();
    let path = place.path("x.sql");
    let shown_path = shown(&path);
    let args = ["ab", "-f", &shown_path, "default", "builtin=select-only"];
    let mut lacking = Vec::new();
    for (content, words) in [
        (&b""[..], &["empty command list for script"][..]),
        (b"-- nothing\n", &["empty command list for script"]),
        (b"SELECT 1;\n\0", &["x.sql:2: the script holds a NUL byte"]),
        (b"SELECT 1;\nSELECT '\xe9';\n", &["line 2 is not UTF-8"]),
        (b"SELECT 1;\r\n\\set a (\r\n", &["x.sql:2: syntax error in command \"set\"", "^ error found here"]),
        (b"\xef\xbb\xbfSELECT 'a\n", &["x.sql:1: unterminated quoted string"]),
        (b"\\if 1\nSELECT 1;\n", &["\\if without matching \\endif"]),
        (
            b"\\shell true\n\\setshell x echo 5\nSELECT 1;\n",
            &[
                "it reaches beyond tables",
                "x.sql:1: \\shell true (runs a program",
                "\\setshell x echo 5",
                "--trust",
            ],
        ),
        (b"\\sleep 1 parsec\nSELECT 1;\n", &["unrecognized time unit"]),
    ] {
        fs::write(&path, content).expect("it can be written");
        lacking.extend(lacks(&place, &args, words));
    }
    fs::write(&path, "\\shell true\nSELECT 1;\n").expect("it can be written");
    let trusted =
        ["ab", "-f", &shown_path, "--trust", "--bindir", "/nowhere", "default", "builtin=select-only"];
    lacking.extend(lacks(&place, &trusted, &["/nowhere"]));
    fs::File::create(&path).and_then(|file| file.set_len(1 << 30)).expect("it takes no room");
    lacking.extend(lacks(&place, &args, &["could not read the script", "more than 1 MiB"]));
    fs::remove_file(&path).expect("it is ours");
    lacking.extend(lacks(&place, &args, &["could not read the script", "No such file"]));
    fs::create_dir(&path).expect("it can be made");
    lacking.extend(lacks(&place, &args, &["it is not a regular file"]));
    fs::remove_dir(&path).expect("it is ours");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo can be run").success());
    lacking.extend(lacks(&place, &args, &["it is not a regular file"]));
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    nothing_was_begun(&place);
}

/// The plan, its file `x.sql` if it has one, and what the answer must contain.
type OwnCase = (&'static str, Option<&'static [u8]>, &'static [&'static str]);

/// What plans bring of their own.
const OWN: &[OwnCase] = &[
    (SCRIPT, None, &["could not read the file", "x.sql: No such file"]),
    (SCRIPT, Some(b""), &["empty command list for script \"x.sql\""]),
    (SCRIPT, Some(b"SELECT 1;\nSELECT '\xe9';\n"), &["x.sql: line 2 is not UTF-8"]),
    (
        SCRIPT,
        Some(b"SELECT 1;\n\\set a (\n"),
        &["x.sql:2: syntax error in command \"set\"", "^ error found here"],
    ),
    (SCRIPT, Some(b"SELECT 1;\nSELECT 'a\n"), &["x.sql:2: unterminated quoted string"]),
    (
        SCRIPT,
        Some(b"SELECT 1;\nSELECT :row;\n"),
        &["x.sql:2: the variable :row has no value", "did you mean :rows?"],
    ),
    (SETUP, None, &["could not read the file", "x.sql: No such file"]),
    (SETUP, Some(b"CREATE TABLE t();\n\\d t\n"), &["x.sql:2: invalid command in command \"d\""]),
    (SETUP, Some(b"CREATE TABLE t();\n\\set a 1\n"), &["x.sql:2: backslash commands belong in scripts"]),
    (SETUP, Some(b"CREATE TABLE t();\nSELECT :a;\n"), &["x.sql:2: the variable :a has no value"]),
    (
        SETUP,
        Some(b"COPY t FROM PROGRAM 'id';\n"),
        &["it reaches beyond tables", "x.sql:1: COPY t", "--trust"],
    ),
    ("[[workload]]\nscript = \"x.sq\"\n", None, &["plan.toml:3:10: ", "`workload.script` must be"]),
    ("[[workload]]\ntext = \"SELECT 1\"\n", None, &["plan.toml:2:1: ", "the workload has no `name`"]),
    (
        "[[workload]]\nname = \"a b\"\ntext = \"SELECT 1\"\n",
        None,
        &["plan.toml:3:8: ", "cannot name a workload"],
    ),
    ("[[workload]]\nname = \"tpcb-like\"\ntext = \"SELECT 1\"\n", None, &["the name of a built-in script"]),
    ("[[workload]]\nname = \"a\"\ntext = \" \"\n", None, &["plan.toml:4:8: ", "`text` is empty"]),
    ("[[workload]]\nname = \"a\"\ntext = \"SELECT 1\"\nscript = \"x.sql\"\n", None, &["more than one of"]),
    (
        "[[workload]]\nscript = \"tpcb-like\"\nreset = \"TRUNCATE t\"\n",
        None,
        &["plan.toml:4:9: ", "cannot have a `reset`"],
    ),
    ("[[workload]]\nname = \"a\"\nscripts = [{ text = \"SELECT 1\", weight = 0 }]\n", None, &["are all 0"]),
    (
        "[[workload]]\nname = \"a\"\nscripts = [{ txt = \"SELECT 1\" }]\n",
        None,
        &["unknown key `txt`", "`text`"],
    ),
    (
        "[[workload]]\nname = \"a\"\nscripts = \"x.sql\"\n",
        None,
        &["`workload.scripts` must be a list of tables"],
    ),
    (
        "[variables]\nclients = 1\n[[workload]]\nscript = \"select-only\"\n",
        None,
        &["plan.toml:3:11: ", "by pgdyno"],
    ),
    ("[variables]\na-b = 1\n[[workload]]\nscript = \"select-only\"\n", None, &["`a-b` cannot be the name"]),
    (
        "[variables]\na = true\n[[workload]]\nscript = \"select-only\"\n",
        None,
        &["`variables.a` must be a number"],
    ),
    ("[size.s]\nblock = 1\n[[workload]]\nscript = \"select-only\"\n", None, &["[size.NAME]", "`blocks`"]),
    (
        "[size.s]\nblocks = 0\n[[workload]]\nscript = \"select-only\"\n",
        None,
        &["plan.toml:3:10: ", "`size.s.blocks`: 0 is not between 1 and 1000"],
    ),
    (
        "[size.s.variables]\nn = 1\n[[workload]]\nscript = \"select-only\"\n",
        None,
        &["`n` is not in [variables]"],
    ),
    ("[data]\nscale = \"none\"\n[[workload]]\nscript = \"select-only\"\n", None, &["needs the TPC-B tables"]),
];
const SCRIPT: &str = "[variables]\nrows = 1\n[[workload]]\nscript = \"x.sql\"\n";
const SETUP: &str = "[data]\nsetup = \"x.sql\"\n[[workload]]\nname = \"a\"\ntext = \"SELECT 1\"\n";

#[test]
fn wrong_plans_with_sql_of_their_own() {
    let place = Place::new();
    let file = place.path("x.sql");
    let mut lacking = Vec::new();
    for (own, content, words) in OWN {
        let path = plan(&place, format!("name = \"x\"\n{own}").as_bytes());
        if let Some(content) = content {
            fs::write(&file, content).expect("it can be written");
        }
        lacking.extend(lacks(&place, &["run", &shown(&path)], words));
        let _ = fs::remove_file(&file);
    }
    let path = plan(&place, format!("name = \"x\"\n{SETUP}").as_bytes());
    fs::create_dir(&file).expect("it can be made");
    lacking.extend(lacks(
        &place,
        &["run", &shown(&path)],
        &["could not read the file", "it is not a regular file"],
    ));
    lacking.extend(lacks(
        &place,
        &["run", &shown(&path), "--size", "big"],
        &["has no size `big`", "leave --size out"],
    ));
    let compared = ["ab", "default", "default", "--plan", &shown(&path)];
    lacking.extend(lacks(&place, &compared, &["could not read the file"]));
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    nothing_was_begun(&place);
}

/// A byte order mark and the line ends of Windows are no fault: what comes next is judged.
#[test]
fn a_plan_from_a_windows_editor_is_read() {
    let place = Place::new();
    let content = format!("\u{feff}{}[measure]\r\nblocks = 0\r\n", GOOD.replace('\n', "\r\n"));
    let path = plan(&place, content.as_bytes());
    is_wrong(&place, &["run", &shown(&path)], &["plan.toml:5:10: ", "0 is not between 1 and 1000"]);
}

/// The rows of TPC-C are made by pgdyno alone: no help offers to have the server make them.
#[test]
fn help_offers_only_methods_that_are_taken() {
    let place = Place::new();
    for (args, flag, by_server) in [
        (&["load", "tpcc"][..], "--method", false),
        (&["load", "tpcb"], "--method", true),
        (&["load", "scaleup"], "--method", true),
        (&["tpcc", "run"], "--load-method", false),
        (&["bench"], "--load-method", true),
    ] {
        let help = place.done(&[args, &["--help"]].concat());
        let of_flag = help.split_once(flag).expect("it has the flag").1;
        let of_flag = of_flag.split_once("\n      --").map_or(of_flag, |(of_flag, _)| of_flag);
        assert_eq!(of_flag.contains("- server:"), by_server, "{args:?} {of_flag}");
        assert!(of_flag.contains("- stream:") && of_flag.contains("- chunks:"), "{args:?} {of_flag}");
    }
    let wrong = ["load", "tpcc", "--warehouses", "1", "--method", "server"];
    is_wrong(&place, &wrong, &["'server' for '--method <METHOD>'", "stream, chunks"]);
}

/// Several sets of tables: what contradicts itself is refused before anything is begun.
const SETS: [(&str, &[&str]); 11] = [
    ("--sets|0", &["0 is not between 1 and 256"]),
    ("--sets|2|--drivers|3", &["3 drivers are more than the tables have sets (2)"]),
    ("--drivers|1", &["a driver process drives one of several sets of tables"]),
    ("--drivers|2", &["2 drivers are more than the tables have sets (1)"]),
    ("--sets|4|--clients|8,2", &["2 clients cannot drive 4 sets of tables at one time"]),
    ("--sets|3|--schemas|a,b", &["3 sets of tables are requested, and 2 named in `schemas`"]),
    ("--databases|a,b,a", &["two sets of tables have the name `a`"]),
    ("--databases|a,b|--schemas|a,b", &["--schemas", "--databases"]),
    ("--databases|a,,b", &["cannot be the name of a schema or a database"]),
    ("--transactions|5|--duration|1s", &["--transactions", "--duration"]),
    ("--limit-per-minute|600|--rate|10", &["--limit-per-minute", "--rate"]),
];

#[test]
fn wrong_sets() {
    let place = Place::new();
    let lacking = SETS.iter().filter_map(|(line, words)| {
        let args: Vec<_> = ["tpcc", "run", "--pg", "18"].into_iter().chain(line.split('|')).collect();
        lacks(&place, &args, words)
    });
    assert_eq!(lacking.collect::<Vec<_>>(), Vec::<String>::new());
    nothing_was_begun(&place);
}
