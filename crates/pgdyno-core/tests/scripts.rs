//! The script language: built-in transactions, statements, and every wrong script with its message.

use pgdyno_core::{
    plan::Builtin,
    script::{Command, MAX_DEPTH, Random, Script, Sql, SqlKind},
};
use proptest::prelude::*;

fn sql(text: &str) -> Sql {
    let script = Script::parse("x.sql", text).unwrap_or_else(|error| panic!("{error}"));
    script.statements().next().expect("there is a statement").clone()
}

/// The statement with values put in, as the simple protocol sends it.
fn simple(sql: &Sql, values: &[i64]) -> String {
    let mut out = Vec::new();
    sql.substitute(values, &mut out, |value, out| out.extend(value.to_string().bytes()));
    String::from_utf8(out).expect("it is text")
}

#[test]
fn the_built_in_scripts_count_their_statements() {
    let counts = Builtin::ALL.map(|builtin| builtin.script().statements_per_transaction());
    assert_eq!(counts, [5, 3, 1]);
}

#[test]
fn tpcb_like_is_that_of_pgbench() {
    let script = Builtin::TpcbLike.script();
    let texts: Vec<_> = script.statements().map(|sql| sql.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "BEGIN",
            "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
            "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
            "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
            "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
             VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
            "END",
        ]
    );
    let kinds: Vec<_> = script.statements().map(|sql| (sql.kind, sql.returns_rows)).collect();
    assert_eq!(kinds[0], (SqlKind::Begin, false));
    assert_eq!(kinds[2], (SqlKind::Statement, true));
    assert_eq!(kinds[6], (SqlKind::End, false));
}

/// Runs the `\set` commands.
fn run_sets(script: &Script, frame: &mut [i64], random: &mut Random) {
    for command in &script.commands {
        if let Command::Set { variable, value } = command {
            frame[variable.index()] = value.eval(frame, random).expect("it has a value");
        }
    }
}

/// Aid, bid, tid and delta of one more transaction.
fn draw(script: &Script, frame: &mut [i64], random: &mut Random) -> [i64; 4] {
    run_sets(script, frame, random);
    frame[4..8].try_into().expect("there are four variables")
}

#[test]
fn tpcb_like_draws_within_pgbenchs_ranges_and_the_same_for_a_seed() {
    let script = Builtin::TpcbLike.script();
    for scale in [1, 7, 10_000_000] {
        let mut draws = [0, 1].map(|_| {
            let (mut frame, mut random) = (script.frame(scale, 3, 42), Random::stream(42, 0, 3));
            (0..1_000).map(|_| draw(&script, &mut frame, &mut random)).collect::<Vec<_>>()
        });
        assert_eq!(draws[0], draws[1]);
        for [aid, bid, tid, delta] in draws[0].drain(..) {
            assert!((1..=100_000 * scale).contains(&aid) && (1..=scale).contains(&bid));
            assert!((1..=10 * scale).contains(&tid) && (-5000..=5000).contains(&delta));
        }
    }
}

/// What `pgbench --random-seed=42 -t 5` of PostgreSQL 15 drew for its first client, whose generator is seeded
/// with the first number of one seeded with 42.
#[test]
fn draws_are_those_of_pgbench() {
    let text =
        "\\set a random(1, 1000000)\n\\set b random(-5000, 5000)\n\\set c random(1, 9000000000000000000)\n";
    let script = Script::parse("x.sql", text).expect("it is a script");
    let seed = Random::seeded(42).next_bits();
    let (mut frame, mut random) = (script.frame(1, 0, 42), Random::seeded(seed));
    for drawn in [
        [668_251, -4_040, 2_719_338_880_657_079_981],
        [691_120, -416, 2_672_692_745_842_761_249],
        [3_615, -3_381, 5_503_632_866_538_962_919],
        [720_668, 10, 3_811_367_614_520_521_755],
        [748_003, -1_696, 4_544_614_925_540_259_215],
    ] {
        run_sets(&script, &mut frame, &mut random);
        assert_eq!(frame[4..7], drawn);
    }
}

#[test]
fn statements_end_where_psql_ends_them() {
    let script = Script::parse(
        "x.sql",
        "-- a comment; with a semicolon\n\\set x 1\n\
         SELECT ';', \"a;b\", $$;$$, $t$ $$; $t$, E'\\';', (1;2) /* ; /* ; */ ; */ ;;\n\
         SELECT 2 -- no end ;\n\\set y :x \\\n + 1\nSELECT :y",
    );
    let script = script.unwrap_or_else(|error| panic!("{error}\n{}", error.excerpt));
    let labels: Vec<_> = script.statements().map(|sql| sql.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "SELECT ';', \"a;b\", $$;$$, $t$ $$; $t$, E'\\';', (1;2) /* ; /* ; */ ; */",
            "SELECT 2 -- no end ;",
            "SELECT :y"
        ]
    );
    assert_eq!(script.commands.len(), 5);
}

#[test]
fn variables_become_parameters_one_by_one() {
    let sql = sql("\\set a 1\nSELECT :a::int8, :a, a[1:2], ':a :b' -- :a\n, 5;");
    assert_eq!(sql.text, "SELECT $1::int8, $2, a[1:2], '$3 :b' -- :a\n, 5");
    assert_eq!(sql.parameters.len(), 3);
    assert_eq!(simple(&sql, &[0, 0, 0, 0, -5]), "SELECT -5::int8, -5, a[1:2], '-5 :b' -- :a\n, 5");
}

#[test]
fn kinds_follow_the_first_words() {
    for (text, kind) in [
        ("begin", SqlKind::Begin),
        ("/* x */ START TRANSACTION READ ONLY", SqlKind::Begin),
        ("commit", SqlKind::End),
        ("rollback", SqlKind::End),
        ("ROLLBACK TO s", SqlKind::Statement),
        ("COMMIT PREPARED 'x'", SqlKind::Statement),
        ("SELECT 'begin'", SqlKind::Statement),
    ] {
        assert_eq!(sql(text).kind, kind, "{text}");
    }
    assert!(sql("UPDATE t SET a = 1 RETURNING a").returns_rows);
    assert!(!sql("UPDATE t SET a = 'RETURNING'").returns_rows);
}

#[test]
fn wrong_scripts_get_their_messages() {
    for (text, message, caret) in [
        ("", "1:1: the script holds no command", "1 | \n  | ^"),
        ("-- nothing", "1:1: the script holds no command", "1 | -- nothing\n  | ^"),
        ("\\set", "1:5: missing argument", "1 | \\set\n  |     ^"),
        ("\\set 1a 5", "1:6: invalid variable name: \"1a\"", "1 | \\set 1a 5\n  |      ^^"),
        ("\\set a", "1:7: syntax error, unexpected end of line", "1 | \\set a\n  |       ^"),
        ("\\set a 1 +", "1:11: syntax error, unexpected end of line", "1 | \\set a 1 +\n  |           ^"),
        ("\\set a 1 2", "1:10: syntax error", "1 | \\set a 1 2\n  |          ^"),
        ("\\set a (1", "1:10: syntax error, unexpected end of line", "1 | \\set a (1\n  |          ^"),
        ("\\set a )", "1:8: syntax error", "1 | \\set a )\n  |        ^"),
        ("\\set a ;", "1:8: unexpected character `;`", "1 | \\set a ;\n  |        ^"),
        ("\\set a :b", "1:8: undefined variable \"b\"", "1 | \\set a :b\n  |        ^^"),
        (
            "\\set a 9223372036854775808",
            "1:8: bigint constant overflow",
            "1 | \\set a 9223372036854775808\n  |        ^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "\\set a 100000000000000000000",
            "1:8: bigint constant overflow",
            "1 | \\set a 100000000000000000000\n  |        ^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "\\set a 1.5",
            "1:8: fractional numbers are not part of this language yet",
            "1 | \\set a 1.5\n  |        ^^",
        ),
        ("\\set a foo(1)", "1:8: unexpected function name \"foo\"", "1 | \\set a foo(1)\n  |        ^^^"),
        (
            "\\set a random(1)",
            "1:8: unexpected number of arguments (random)",
            "1 | \\set a random(1)\n  |        ^^^^^^",
        ),
        (
            "\\set a random()",
            "1:8: unexpected number of arguments (random)",
            "1 | \\set a random()\n  |        ^^^^^^",
        ),
        (
            "SELECT 1;\n  \\sleep 1",
            "2:3: \\sleep is not part of this language yet",
            "2 |   \\sleep 1\n  |   ^^^^^^",
        ),
        ("\\sett a 1", "1:1: invalid command \"\\sett\"", "1 | \\sett a 1\n  | ^^^^^"),
        ("SELECT :zebra;", "1:8: undefined variable \"zebra\"", "1 | SELECT :zebra;\n  |        ^^^^^^"),
        ("SELECT 'a", "1:8: unterminated quoted string", "1 | SELECT 'a\n  |        ^"),
        ("SELECT 1 AS \"a", "1:13: unterminated quoted identifier", "1 | SELECT 1 AS \"a\n  |             ^"),
        ("SELECT $x$a$$", "1:8: unterminated dollar-quoted string", "1 | SELECT $x$a$$\n  |        ^"),
        ("SELECT 1;\n/* a", "2:1: unterminated comment", "2 | /* a\n  | ^^"),
        (
            "SELECT 1 \\; SELECT 2",
            "1:10: statements joined by `\\;` are not part of this language yet",
            "1 | SELECT 1 \\; SELECT 2\n  |          ^^",
        ),
        (
            "COMMIT AND CHAIN",
            "1:1: AND CHAIN is not part of this language yet",
            "1 | COMMIT AND CHAIN\n  | ^^^^^^^^^^^^^^^^",
        ),
        ("SELECT 'a\0'", "1:10: the script holds a NUL byte", "1 | SELECT 'a\u{fffd}'\n  |          ^"),
    ] {
        let error = Script::parse("x.sql", text).expect_err(text);
        assert_eq!(error.to_string(), format!("x.sql:{message}"));
        assert_eq!(error.excerpt, caret, "{text}");
    }
}

#[test]
fn nesting_has_a_limit_and_not_the_stack() {
    for text in [
        format!("\\set a {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("\\set a {}1", "-".repeat(100_000)),
        format!("\\set a 1{}", "+1".repeat(100_000)),
    ] {
        let error = Script::parse("x.sql", &text).expect_err("it is too deep");
        assert_eq!(error.what, format!("the expression is nested more than {MAX_DEPTH} deep"));
    }
}

#[test]
fn uses_of_variables_have_pgbenchs_limit() {
    let statement = |uses: usize| format!("\\set a 1\nSELECT {};", vec![":a"; uses].join(","));
    assert!(Script::parse("x.sql", &statement(255)).is_ok());
    let error = Script::parse("x.sql", &statement(256)).expect_err("one too many");
    assert_eq!(error.what, "statement has too many arguments (maximum is 255)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn noise_gets_an_answer(text in "(\\PC|[\\\\:;'\"$\n\r/*()-]|set |random|E'|--|\\$a\\$){0,60}") {
        let _ = Script::parse("x.sql", &text);
    }
}
