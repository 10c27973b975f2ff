//! Check of the script reader, for fuzzing. Panics if the reader breaks a promise; returns whether it
//! accepted the input.

use pgdyno_core::random::Random;
use pgdyno_script::{Action, Automatic, Scratch, ScriptError, Scripts, Variables};

/// Largest ratio of output to input bytes: `:a` becomes `$12345`.
const GROWTH: usize = 16;

/// Reads a script, and evaluates once what needs no server.
pub fn script(bytes: &[u8]) -> bool {
    match Scripts::one("x.sql", bytes) {
        Ok(scripts) => {
            let sent: usize = scripts.statements().map(|sql| sql.text.len() + sql.label.len()).sum();
            assert!(sent <= GROWTH * bytes.len(), "{sent} bytes of {}", bytes.len());
            compute(&scripts);
            true
        }
        Err(error) => {
            stands_inside(bytes, &error);
            false
        }
    }
}

/// Checks that an error names a place in the script and shows no more than there is.
fn stands_inside(bytes: &[u8], error: &ScriptError) {
    let lines = bytes.split(|&byte| byte == b'\n').count() as u32;
    assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error:?}");
    assert!(error.column.is_none_or(|column| (1..=bytes.len() as u32 + 1).contains(&column)), "{error:?}");
    assert!(error.column.is_none() || error.excerpt.is_some(), "{error:?}");
    let shown = error.excerpt.as_ref().map_or(0, String::len);
    assert!(shown <= 4 * bytes.len() + 40, "{error:?}");
}

/// Executes everything that needs no server once, also in branches not taken.
fn compute(scripts: &Scripts) {
    let automatic = Automatic { scale: 1, client_id: 0, random_seed: 7, default_seed: 8 };
    let mut variables = Variables::new(scripts.names(), &[], automatic);
    let (mut random, mut scratch, mut out) = (Random::seeded(1), Scratch::default(), Vec::new());
    for command in &scripts.get(0).commands {
        match &command.action {
            Action::Set { variable, value } => {
                let value = value.eval(&mut variables, &mut random, &mut scratch);
                if let (Ok(value), Ok(slot)) = (value, variable.slot("set")) {
                    variables.set(slot, value);
                }
            }
            Action::If(value) | Action::Elif(value) => {
                let _ = value.eval(&mut variables, &mut random, &mut scratch);
            }
            Action::Sleep(sleep) => drop(sleep.microseconds(&variables, &command.word)),
            Action::Shell(shell) | Action::SetShell { shell, .. } => drop(shell.command(&variables)),
            Action::Sql(sql) => {
                out.clear();
                sql.substitute(&variables, &mut out);
            }
            _ => {}
        }
        scratch.debug.clear();
    }
}
