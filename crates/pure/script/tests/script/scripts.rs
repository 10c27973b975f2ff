//! SQL in scripts: ends of statements, their kinds, variables, and built-in scripts.

use pgdyno_core::random::Random;
use pgdyno_script::{
    Action, Automatic, Builtin, MAX_DEPTH, Protocol, Scratch, Scripts, Sql, SqlKind, Variables,
};
use proptest::prelude::*;

const AUTOMATIC: Automatic = Automatic { scale: 1, client_id: 0, random_seed: 7, default_seed: 8 };

fn scripts(text: &str) -> Scripts {
    Scripts::one("x.sql", text).unwrap_or_else(|error| panic!("{error}"))
}

fn sql(text: &str) -> Sql {
    scripts(text).statements().next().expect("there is a statement").clone()
}

fn texts(text: &str) -> Vec<String> {
    scripts(text).statements().map(|sql| String::from_utf8_lossy(&sql.text).into_owned()).collect()
}

/// The first statement as sent by the simple protocol, after the preceding `\set` commands.
fn simple(text: &str) -> String {
    let scripts = scripts(text);
    let mut variables = Variables::new(scripts.names(), &[], AUTOMATIC);
    let (mut random, mut scratch) = (Random::seeded(1), Scratch::default());
    for command in &scripts.get(0).commands {
        match &command.action {
            Action::Set { variable, value } => {
                let value = value.eval(&mut variables, &mut random, &mut scratch).expect("it has a value");
                variables.set(variable.slot("set").expect("it is a name"), value);
            }
            Action::Sql(sql) => {
                let mut out = Vec::new();
                sql.substitute(&variables, &mut out);
                return String::from_utf8(out).expect("it is text");
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("no statement")
}

#[test]
fn the_built_in_scripts_count_their_statements() {
    let counts = Builtin::ALL.map(|builtin| builtin.scripts().get(0).statements_per_transaction());
    assert_eq!(counts, [5, 3, 1]);
}

#[test]
fn tpcb_like_is_that_of_pgbench() {
    let scripts = Builtin::TpcbLike.scripts();
    let texts: Vec<_> =
        scripts.statements().map(|sql| String::from_utf8_lossy(&sql.text).into_owned()).collect();
    assert_eq!(
        texts,
        [
            "BEGIN;",
            "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;",
            "SELECT abalance FROM pgbench_accounts WHERE aid = $1;",
            "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2;",
            "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2;",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
             VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP);",
            "END;",
        ]
    );
    let kinds: Vec<_> = scripts.statements().map(|sql| sql.part().expect("it is one").kind).collect();
    assert_eq!((kinds[0], kinds[1], kinds[6]), (SqlKind::Begin, SqlKind::Statement, SqlKind::Commit));
}

#[test]
fn tpcb_like_draws_within_pgbenchs_ranges() {
    let scripts = Builtin::TpcbLike.scripts();
    for scale in [1, 7, 10_000_000] {
        let mut variables = Variables::new(scripts.names(), &[], Automatic { scale, ..AUTOMATIC });
        let (mut random, mut scratch) = (Random::seeded(42), Scratch::default());
        let limits = [(1, 100_000 * scale), (1, scale), (1, 10 * scale), (-5_000, 5_000)];
        for _ in 0..1_000 {
            for (command, (low, high)) in scripts.get(0).commands.iter().zip(limits) {
                let Action::Set { value, .. } = &command.action else { panic!("the first four are \\set") };
                let drawn = value.eval(&mut variables, &mut random, &mut scratch).expect("it has a value");
                let pgdyno_script::Value::Int(drawn) = drawn else { panic!("{drawn}") };
                assert!((low..=high).contains(&drawn));
            }
        }
    }
}

/// Sent by pgbench 15 with `--debug`, except for `\:`, of which psql's scanner makes a colon.
#[test]
fn statements_end_where_pgbench_ends_them() {
    for (script, statements) in [
        ("SELECT 1; SELECT 2", vec!["SELECT 1;", "SELECT 2"]),
        ("-- a comment; more\n  SELECT 1 -- no end ;\n, 2;", vec!["SELECT 1 -- no end ;\n, 2;"]),
        ("/* first ; */ SELECT 1;", vec!["/* first ; */ SELECT 1;"]),
        ("SELECT ';', \"a;b\";", vec!["SELECT ';', \"a;b\";"]),
        ("SELECT $$;$$, $t$ $$; $t$;", vec!["SELECT $$;$$, $t$ $$; $t$;"]),
        ("SELECT E'\\';';", vec!["SELECT E'\\';';"]),
        ("SELECT e'a'\n'\\';', '\\';", vec!["SELECT e'a'\n'\\';', '\\';"]),
        ("SELECT '\\'; SELECT 2;", vec!["SELECT '\\';", "SELECT 2;"]),
        ("SELECT 'it''s;';", vec!["SELECT 'it''s;';"]),
        ("SELECT (1;2);", vec!["SELECT (1;2);"]),
        ("SELECT /* ; /* ; */ ; */ 1;", vec!["SELECT /* ; /* ; */ ; */ 1;"]),
        (";;SELECT 1;", vec![";", ";", "SELECT 1;"]),
        ("SELECT 1 \\; SELECT 2;", vec!["SELECT 1 ; SELECT 2;"]),
        ("SELECT 1 \\; SELECT 2 \\gset\n;", vec!["SELECT 1 ; SELECT 2 ", ";"]),
        ("SELECT a$$b; SELECT $1$;", vec!["SELECT a$$b;", "SELECT $1$;"]),
        ("SELECT 1e10$$; SELECT 1e+1$$;$$;", vec!["SELECT 1e10$$;", "SELECT 1e+1$$;$$;"]),
        ("SELECT U&'d\\0061;', u&\";\";", vec!["SELECT U&'d\\0061;', u&\";\";"]),
        ("SELECT x'1;' || b'0;';", vec!["SELECT x'1;' || b'0;';"]),
        ("SELECT :{?x} AND :{x};", vec!["SELECT FALSE AND :{x};"]),
        ("SELECT 1\n\\set x 5\n;", vec!["SELECT 1\n", ";"]),
        (
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; SELECT 2;",
            vec![
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END;",
                "SELECT 2;",
            ],
        ),
        ("BEGIN; END;", vec!["BEGIN;", "END;"]),
        ("SELECT größe;", vec!["SELECT größe;"]),
    ] {
        assert_eq!(texts(script), statements, "{script}");
    }
}

#[test]
fn variables_become_parameters_one_by_one() {
    let text = "\\set a -5\nSELECT :a::int8, :a, a[1:2], ':a :b' -- :a\n, :::a, :5, \\:a;";
    let statement = sql(text);
    assert_eq!(
        String::from_utf8_lossy(&statement.text),
        "SELECT $1::int8, $2, a[1:2], '$3 $4' -- $5\n, :::a, :5, $6;"
    );
    assert_eq!(statement.parameters.len(), 6);
    assert_eq!(simple(text), "SELECT -5::int8, -5, a[1:2], '-5 :b' -- -5\n, :::a, :5, -5;");
    assert_eq!(statement.label, "SELECT :a::int8, :a, a[1:2], ':a :b' -- :a , :::a, :5, :a");
}

#[test]
fn values_of_all_types_are_put_into_sql_as_pgbench_does() {
    for (expression, text) in [
        ("null", "SELECT NULL;"),
        ("true", "SELECT true;"),
        ("5432", "SELECT 5432;"),
        ("-54.21E-2", "SELECT -0.5421;"),
        ("1 / 3.0", "SELECT 0.333333333333333;"),
    ] {
        assert_eq!(simple(&format!("\\set v {expression}\nSELECT :v;")), text);
    }
}

#[test]
fn kinds_follow_the_first_words() {
    for (text, kind) in [
        ("begin", SqlKind::Begin),
        ("/* x */ START TRANSACTION READ ONLY", SqlKind::Begin),
        ("commit", SqlKind::Commit),
        ("rollback", SqlKind::Rollback),
        ("abort", SqlKind::Rollback),
        ("ROLLBACK TO s", SqlKind::Statement),
        ("ROLLBACK WORK TO SAVEPOINT s", SqlKind::Statement),
        ("COMMIT PREPARED 'x'", SqlKind::Statement),
        ("COMMIT AND CHAIN", SqlKind::Commit),
        ("SELECT 'begin'", SqlKind::Statement),
    ] {
        assert_eq!(sql(text).part().expect(text).kind, kind, "{text}");
    }
    let parts = sql("BEGIN \\; SELECT 1 \\; UPDATE t SET a = 1 \\; COMMIT;").parts;
    let kinds: Vec<_> = parts.iter().map(|part| (part.kind, part.reads)).collect();
    let expected = [
        (SqlKind::Begin, false),
        (SqlKind::Statement, true),
        (SqlKind::Statement, false),
        (SqlKind::Commit, false),
    ];
    assert_eq!(kinds, expected);
    assert!(sql(";").parts.is_empty());
}

#[test]
fn commands_have_their_first_lines_and_results_their_place() {
    let scripts = scripts(
        "SELECT 1,\n  2 \\gset p_\nSELECT 3 \\aset\n\\if :x > 1 \\\n  and true\n\\Shell echo ::a :b\n\\endif\n",
    );
    let script = scripts.get(0);
    let lines: Vec<_> = script.commands.iter().map(|c| (c.line_number, c.line.as_str())).collect();
    let expected = [
        (1, "SELECT 1,"),
        (3, "SELECT 3 "),
        (4, "\\if :x > 1 \\\n  and true"),
        (6, "\\Shell echo ::a :b"),
        (7, "\\endif"),
    ];
    assert_eq!(lines, expected);
    let stores: Vec<_> = script.statements().map(|sql| sql.store.clone().expect("both have one")).collect();
    assert!(!stores[0].all && stores[1].all && &*stores[0].prefix == b"p_" && stores[1].prefix.is_empty());
    assert_eq!(script.programs().collect::<Vec<_>>(), ["\\Shell echo ::a :b"]);
    let long = format!("SELECT '{}';", "x".repeat(200));
    assert_eq!(self::scripts(&long).get(0).commands[0].line, long[..127]);
}

#[test]
fn sleeping_and_shells_follow_their_words() {
    let scripts = scripts(
        "\\set n 2\n\\sleep 1\n\\sleep 1ms\n\\sleep -5 us\n\\sleep :n MS\n\\sleep :unset s\n\\sleep 99999999999999\n\
         \\shell echo :n ::n x\n\\shell :unset\n",
    );
    let mut variables = Variables::new(scripts.names(), &[], AUTOMATIC);
    variables.set_text(scripts.names().find(b"n").expect("it is known"), b"2x");
    let mut said = Vec::new();
    for command in &scripts.get(0).commands {
        match &command.action {
            Action::Sleep(sleep) => {
                let time = sleep.microseconds(&variables, &command.word);
                said.push(time.map_or_else(|error| error, |time| time.to_string()));
            }
            Action::Shell(shell) => {
                let command = shell.command(&variables);
                said.push(command.map_or_else(|error| error, |text| String::from_utf8(text).expect("text")));
            }
            _ => {}
        }
    }
    let expected = [
        "1000000",
        "1000",
        "-5",
        "2000",
        "sleep: undefined variable \"unset\"",
        &i64::MAX.to_string(),
        "echo 2x :n x",
        ":unset: undefined variable \":unset\"",
    ];
    assert_eq!(said, expected);
    let Action::Shell(echo) = &scripts.get(0).commands[7].action else { panic!("it is \\shell") };
    for (output, result) in [
        (&b" 12 \nmore"[..], Ok(12)),
        (b"-3", Ok(-3)),
        (b"4294967297\n", Ok(1)),
        (b"\n", Ok(0)),
        (b"", Err("echo: could not read result of shell command")),
        (b"one", Err("echo: shell command must return an integer (not \"one\")")),
        (b"1 2\n", Err("echo: shell command must return an integer (not \"1 2\n\")")),
    ] {
        assert_eq!(echo.result(output, &variables), result.map_err(str::to_owned));
    }
}

#[test]
fn setrandom_of_old_scripts_is_accepted_with_a_notice() {
    let text = "\\setrandom a 1 :scale\n\\setrandom b 1 10 gaussian 2.5\n\\setrandom c 1 10 exponential :x\n\
                \\setrandom d 5 5 uniform\n";
    let scripts = scripts(text);
    assert_eq!(scripts.get(0).notices.len(), 4);
    assert!(scripts.get(0).notices[1].starts_with("line 2: \\setrandom is a command of PostgreSQL 9.5"));
    let new = self::scripts(
        "\\set a random(1, :scale)\n\\set b random_gaussian(1, 10, 2.5)\n\\set c random_exponential(1, 10, :x)\n\
         \\set d random(5, 5)\n",
    );
    let actions = |scripts: &Scripts| -> Vec<Action> {
        scripts.get(0).commands.iter().map(|command| command.action.clone()).collect()
    };
    assert_eq!(format!("{:?}", actions(&scripts)), format!("{:?}", actions(&new)));
    for (text, what) in [
        ("\\setrandom a 1", "missing argument in command \"setrandom\""),
        ("\\setrandom a 1 2 normal", "unexpected argument in command \"setrandom\""),
        ("\\setrandom a x 2", "invalid integer in command \"setrandom\""),
        ("\\setrandom a 1 2 gaussian", "missing argument in command \"setrandom\""),
        ("\\setrandom a 1 2 gaussian x", "invalid number in command \"setrandom\""),
        ("\\setrandom a 1 2 uniform 3", "too many arguments in command \"setrandom\""),
    ] {
        assert_eq!(Scripts::one("x.sql", text).expect_err(text).what, what);
    }
}

/// Message of pgbench 18.
#[test]
fn setrandom_is_a_command_that_nobody_knows_where_it_is_refused() {
    let mut scripts = Scripts::default();
    scripts.refuse_setrandom();
    let error = scripts.add("x.sql", "SELECT 1;\n\\SETRANDOM x 1 \\\n 10\n").expect_err("it is refused");
    assert_eq!(error.to_string(), "x.sql:2: invalid command in command \"SETRANDOM\"");
    assert_eq!(error.excerpt.as_deref(), Some("\\SETRANDOM x 1 \\\n 10"));
}

/// pgbench would send the rest of the script, or not see the fault; here it is reported.
#[test]
fn open_quotes_and_nul_bytes_are_refused_with_their_line() {
    for (text, message, excerpt) in [
        ("SELECT 1;\nSELECT 'a", "2: unterminated quoted string", "SELECT 'a\n       ^ error found here"),
        ("SELECT E'a\\'", "1: unterminated quoted string", "SELECT E'a\\'\n        ^ error found here"),
        ("SELECT \"a", "1: unterminated quoted identifier", "SELECT \"a\n       ^ error found here"),
        ("SELECT $x$a$$", "1: unterminated dollar-quoted string", "SELECT $x$a$$\n       ^ error found here"),
        ("SELECT 1;\n/* a", "2: unterminated /* comment", "/* a\n^ error found here"),
        ("SELECT 'a\0'", "1: the script holds a NUL byte", "SELECT 'a\0'\n         ^ error found here"),
    ] {
        let error = Scripts::one("x.sql", text).expect_err(text);
        assert_eq!(error.to_string(), format!("x.sql:{message}"));
        assert_eq!(error.excerpt.as_deref(), Some(excerpt), "{text}");
    }
    let error = Scripts::one("x.sql", "SELECT 1;\n\\if true\nSELECT 2;").expect_err("no \\endif");
    assert_eq!(error.excerpt.as_deref(), Some("\\if true\n^ error found here"));
}

#[test]
fn a_minus_before_a_variable_is_reported_where_it_may_become_a_comment() {
    for (text, reported) in [
        ("SELECT 1 -:x;", true),
        ("SELECT 'a', 1\n-:x;", true),
        ("SELECT :a, :b -:x;", true),
        ("SELECT 1 - :x;", false),
        ("SELECT '2020-:month-01';", false),
        ("SELECT 1 --:x\n;", false),
        ("\\set a 1 -:x\nSELECT :a;", false),
    ] {
        let scripts = scripts(text);
        let notices = &scripts.get(0).notices;
        assert_eq!(!notices.is_empty(), reported, "{text}");
        assert!(
            notices.iter().all(|notice| notice.starts_with("line 1: -:x becomes a comment if")),
            "{text}"
        );
    }
    assert_eq!(simple("\\set x -1\nSELECT 1 -:x;"), "SELECT 1 --1;");
}

/// As written by a Windows editor; the byte order mark does not shift positions.
#[test]
fn a_byte_order_mark_and_carriage_returns_are_no_fault() {
    let text = "\u{feff}\\set a 5\r\nSELECT :a;\r\n";
    assert_eq!((simple(text).as_str(), texts(text).len()), ("SELECT 5;", 1));
    let error = Scripts::one("x.sql", "\u{feff}\\set a 1 +\r\n").expect_err("it is cut");
    assert_eq!(error.excerpt.as_deref(), Some("\\set a 1 +\n           ^ error found here"));
    assert_eq!(Scripts::one("x.sql", "\u{feff}").expect_err("it is empty").line, None);
}

#[test]
fn nesting_has_a_limit_and_chains_have_none() {
    for text in [
        format!("\\set a {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("\\set a {}1", "-".repeat(100_000)),
        format!("\\set a {}1{}", "abs(".repeat(100_000), ")".repeat(100_000)),
    ] {
        let error = Scripts::one("x.sql", &text).expect_err("it is too deep");
        assert_eq!(error.what, format!("expression is nested more than {MAX_DEPTH} deep in command \"set\""));
    }
    let chain = format!("\\set a 1{}\nSELECT :a;", " + 1".repeat(100_000));
    assert_eq!(simple(&chain), "SELECT 100001;");
}

#[test]
fn uses_of_variables_have_pgbenchs_limit_where_they_are_parameters() {
    let statement = |uses: usize| scripts(&format!("SELECT {};", vec![":a"; uses].join(",")));
    assert_eq!(statement(255).check_protocol(Protocol::Prepared), Ok(()));
    assert_eq!(statement(256).check_protocol(Protocol::Simple), Ok(()));
    let error = statement(256).check_protocol(Protocol::Extended).expect_err("one too many").to_string();
    assert!(error.starts_with("statement has too many arguments (maximum is 255): SELECT :a,:a"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn noise_gets_an_answer(
        text in "(\\PC|[\\\\:;'\"$\n\r/*()-]|\\\\(set|if|endif|gset|sleep|setrandom|shell) \
                 |random|case when |E'|--|\\$a\\$){0,60}",
    ) {
        let _ = Scripts::one("x.sql", &text);
    }

    #[test]
    fn bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Scripts::one("x.sql", &bytes);
    }

    /// Text without quotes, colons, semicolons and backslashes is unchanged.
    #[test]
    fn plain_sql_is_sent_unchanged(text in "[A-Za-z][A-Za-z0-9 ,.+=<>\n]{0,60}") {
        prop_assert_eq!(texts(&text), [text]);
    }
}
