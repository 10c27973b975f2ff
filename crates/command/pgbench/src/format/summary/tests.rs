use super::*;

/// Moments of these milliseconds.
fn of(values_ms: &[f64]) -> Moments {
    let mut moments = Moments::default();
    values_ms.iter().for_each(|value_ms| moments.add(value_ms * 1000.0));
    moments
}

fn plain() -> Summary {
    let total = Tally { committed: 200, latency: of(&[1.0, 2.0, 3.0]), ..Tally::default() };
    let commands = vec![
        ("\\set aid random(1, 100000 * :scale)".to_owned(), CommandTally::default()),
        (
            "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;".to_owned(),
            CommandTally { latency: of(&[0.25, 0.5]), failures: 0, retries: 7 },
        ),
    ];
    let name = "<builtin: select only>".to_owned();
    Summary {
        scripts: vec![ScriptPart { name, weight: 1, tally: total, commands }],
        scale: 1,
        partitions: None,
        protocol: "simple",
        clients: 2,
        threads: 1,
        max_tries: 1,
        duration_s: None,
        transactions: 100,
        throttled: false,
        latency_limit_us: 0,
        latency_measured: false,
        failures_detailed: false,
        continue_on_error: false,
        per_command: false,
        total,
        elapsed_ns: 50_000_000,
        connecting: Connecting::Once(3_141_592),
    }
}

/// Every golden text was put together from `printResults` of PostgreSQL 18 by hand.
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/pgbench/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(text, std::fs::read_to_string(&path).expect(&path), "{name}");
}

#[test]
fn a_plain_run() {
    golden("plain", &plain().text());
}

#[test]
fn a_run_with_a_table_of_commands() {
    golden("per-command", &Summary { per_command: true, duration_s: Some(5), ..plain() }.text());
}

#[test]
fn a_run_with_a_rate_a_limit_and_retries() {
    let total = Tally {
        committed: 90,
        skipped: 6,
        late: 9,
        retried: 5,
        retries: 8,
        serialization: 3,
        deadlock: 1,
        other: 0,
        rows: 0,
        latency: of(&[1.0, 2.0, 3.0]),
        lag: of(&[0.5, 1.5]),
    };
    let mut summary = Summary {
        max_tries: 0,
        throttled: true,
        latency_limit_us: 2_500,
        failures_detailed: true,
        per_command: true,
        partitions: Some(("hash", 4)),
        protocol: "prepared",
        total,
        ..plain()
    };
    summary.connecting = Connecting::Each(470_000_000);
    golden("retries", &summary.text());
}

#[test]
fn a_run_of_two_scripts() {
    let mut summary = Summary { continue_on_error: true, failures_detailed: true, ..plain() };
    let second = ScriptPart {
        name: "my.sql".to_owned(),
        weight: 3,
        tally: Tally { committed: 145, other: 5, latency: of(&[4.0]), ..Tally::default() },
        commands: Vec::new(),
    };
    summary.scripts[0].tally = Tally { committed: 50, latency: of(&[1.0]), ..Tally::default() };
    summary.scripts.push(second);
    let idle =
        ScriptPart { name: "never.sql".to_owned(), weight: 0, tally: Tally::default(), commands: vec![] };
    summary.scripts.push(idle);
    summary.total = Tally { committed: 195, other: 5, ..Tally::default() };
    golden("two-scripts", &summary.text());
}

#[test]
fn a_run_whose_clients_all_failed_has_no_figures() {
    let text = Summary { total: Tally::default(), ..plain() }.text();
    assert!(text.ends_with("number of transactions actually processed: 0/200\n"), "{text}");
}

#[test]
fn a_run_that_skipped_everything_has_no_lag() {
    let total = Tally { skipped: 10, ..Tally::default() };
    let text = Summary { total, throttled: true, latency_limit_us: 1_000, ..plain() }.text();
    assert!(
        text.contains("latency limit: 0/0 (0.000%)\nrate limit schedule lag: avg nan (max 0.000) ms\n"),
        "{text}"
    );
}
