//! The built-in scripts by name.

use pgdyno_script::Builtin;

use super::say::{ExitResult, Say};

/// Most scripts of a run.
pub const MAX_SCRIPTS: usize = 128;

/// What pgbench calls a built-in script in lists and summaries.
pub fn description(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::TpcbLike => "<builtin: TPC-B (sort of)>",
        Builtin::SimpleUpdate => "<builtin: simple update>",
        Builtin::SelectOnly => "<builtin: select only>",
    }
}

/// The list that `-b list` shows.
pub fn list() -> String {
    let lines =
        Builtin::ALL.map(|builtin| format!("  {:>13}: {}\n", builtin.name(), description(builtin))).concat();
    format!("Available builtin scripts:\n{lines}\n")
}

/// What `--show-script` shows.
pub fn show(builtin: Builtin) -> String {
    format!("-- {}: {}\n{}\n", builtin.name(), description(builtin), builtin.script_text())
}

/// The script whose name begins so.
///
/// # Errors
/// None does, or several do; said already.
pub fn find(say: &Say, prefix: &str) -> ExitResult<Builtin> {
    let fitting: Vec<Builtin> =
        Builtin::ALL.into_iter().filter(|builtin| builtin.name().starts_with(prefix)).collect();
    match fitting[..] {
        [only] => return Ok(only),
        [] => say.error(format!("no builtin script found for name \"{prefix}\"")),
        _ => {
            let found = fitting.len();
            say.error(format!(
                "ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\""
            ));
        }
    }
    say.raw(list());
    Err(1)
}

/// A script option's name and weight: what is behind the last `@` is a weight.
///
/// # Errors
/// No weight, or none that can be; said already.
pub fn weighted<'a>(say: &Say, option: &'a str) -> ExitResult<(&'a str, u32)> {
    let Some(at) = option.rfind('@') else { return Ok((option, 1)) };
    match super::numbers::whole(&option[at + 1..]) {
        None | Some(i64::MIN | i64::MAX) => {
            say.fatal(format!("invalid weight specification: {}", &option[at..]))
        }
        Some(weight @ 0..=0x7fff_ffff) => Ok((&option[..at], weight as u32)),
        Some(weight) => say.fatal(format!("weight specification out of range (0 .. {}): {weight}", i32::MAX)),
    }
}
