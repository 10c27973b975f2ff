//! The reader of scripts, for tests that feed it with anything. It panics where a promise is broken, and tells whether
//! it took everything.

use pgdyno_core::random::Random;

use crate::{Action, Automatic, Scratch, ScriptError, Scripts, Variables};

/// Bytes of what is read in, times this, is the most that comes of it: `:a` becomes `$12345`.
const GROWTH: usize = 16;

/// Reads a script; what can be computed without a server is computed once.
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

/// A fault of a script names a place in it, and shows no more than there is.
fn stands_inside(bytes: &[u8], error: &ScriptError) {
    let lines = bytes.split(|&byte| byte == b'\n').count() as u32;
    assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error:?}");
    assert!(error.column.is_none_or(|column| (1..=bytes.len() as u32 + 1).contains(&column)), "{error:?}");
    assert!(error.column.is_none() || error.excerpt.is_some(), "{error:?}");
    let shown = error.excerpt.as_ref().map_or(0, String::len);
    assert!(shown <= 4 * bytes.len() + 40, "{error:?}");
}

/// Carries out what needs no server, once each, also in branches that would not be taken.
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
