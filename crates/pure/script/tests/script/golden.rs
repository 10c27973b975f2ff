//! pgbench's messages for expressions and wrong scripts, recorded from it.

use std::sync::Arc;

use pgdyno_script::{Action, Automatic, Definition, Scratch, ScriptError, Scripts, Streams, Variables};

const SEED: u64 = 20_260_101;
const DEFINITIONS: [&str; 18] = [
    "i=+3",
    "d=-10.1",
    "n=NuLL",
    "t=t",
    "y=ye",
    "on=on",
    "f=fal",
    "no=n",
    "off=of",
    "one=1e0",
    "hexa=0x1F",
    "infinity=inf",
    "huge=99999999999999999999",
    "sign=-",
    "bla=bla",
    "badtrue=trueXXX",
    "größe=42",
    "empty_tail=5 ",
];

/// Entries of a golden file: a line, and the indented lines below it.
fn entries(golden: &str) -> Vec<(&str, String)> {
    let mut entries: Vec<(&str, String)> = Vec::new();
    for line in golden.lines().filter(|line| !line.starts_with("# ")) {
        match (line.strip_prefix("    "), entries.last_mut()) {
            (Some(more), Some((_, text))) => {
                text.push_str(more);
                text.push('\n');
            }
            _ => entries.push((line, String::new())),
        }
    }
    entries
}

/// Output of `debug()` for an expression, or its error.
fn debug(expression: &str) -> String {
    let scripts = match Scripts::one("one.sql", format!("\\set x debug({expression})\n")) {
        Ok(scripts) => scripts,
        Err(error) => return format!("! {}\n", error.what.trim_end_matches(" in command \"set\"")),
    };
    let streams = Streams::derive(SEED, 1, 1, false);
    let automatic = Automatic {
        scale: 1,
        client_id: 0,
        random_seed: SEED as i64,
        default_seed: streams.default_seed.expect("nobody defined it"),
    };
    let definitions = DEFINITIONS.map(|text| text.parse::<Definition>().expect(text));
    let mut variables = Variables::new(scripts.names(), &definitions, automatic);
    let (mut random, mut scratch) = (streams.clients[0].clone(), Scratch::default());
    let Action::Set { value, .. } = &scripts.get(0).commands[0].action else { panic!("it is a \\set") };
    let result = value.eval(&mut variables, &mut random, &mut scratch);
    let mut said: String = scratch.debug.iter().map(|value| format!("= {value}\n")).collect();
    if let Err(error) = result {
        said.push_str(&format!("! {error}\n"));
    }
    said
}

#[test]
fn expressions_are_what_pgbench_makes_of_them() {
    let entries = entries(include_str!("../golden/expressions.txt"));
    assert!(entries.len() > 300, "the file is whole");
    let wrong: String = entries
        .into_iter()
        .filter_map(|(expression, expected)| {
            let said = debug(expression);
            (said != expected).then(|| format!("{expression}\nexpected {expected}said     {said}\n"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// pgbench's output to standard error.
fn printed(error: &ScriptError) -> String {
    let mut printed = format!("{error}\n");
    if let Some(excerpt) = &error.excerpt {
        printed.push_str(excerpt);
        printed.push('\n');
    }
    printed
}

fn unescape(text: &str) -> String {
    let (mut plain, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        plain.push(match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                other => other.expect("an escape has two characters"),
            },
            _ => c,
        });
    }
    plain
}

#[test]
fn wrong_scripts_get_pgbenchs_messages() {
    let entries = entries(include_str!("../golden/refused.txt"));
    assert!(entries.len() > 90, "the file is whole");
    let mut wrong = String::new();
    for (script, expected) in entries {
        let script =
            unescape(script.strip_prefix('<').and_then(|text| text.strip_suffix('>')).expect(script));
        let said = match Scripts::one("x.sql", &script) {
            Ok(_) => "nothing\n".to_owned(),
            // pgbench shows no line for wrong conditions.
            Err(error) if error.line.is_none() => format!("{error}\n"),
            Err(error) => printed(&error),
        };
        if said != expected {
            wrong.push_str(&format!("{script}\nexpected\n{expected}said\n{said}\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// All scripts of a run share one table of names, so names cost nothing at run time.
#[test]
fn scripts_of_a_run_share_their_variables() {
    let mut scripts = Scripts::one("a", "\\set shared 5\nSELECT :shared, :scale;").expect("it is a script");
    scripts.add("b", "SELECT :shared + :shared;\nSELECT :other;").expect("it is a script");
    let slot = scripts.names().find(b"shared").expect("it is known");
    assert_eq!(scripts.get(1).statements().next().expect("it has one").parameters, [slot, slot]);
    assert_eq!(scripts.statements().map(|sql| sql.number).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(scripts.names().len(), 6);
    assert!(Arc::strong_count(scripts.names()) == 1);
}
