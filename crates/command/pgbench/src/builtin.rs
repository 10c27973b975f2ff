//! The built-in scripts by name.

use pgdyno_script::Builtin;

use super::say::{ExitResult, Say};

/// Maximum number of scripts in a run.
pub const MAX_SCRIPTS: usize = 128;

/// Description of a built-in script in lists and summaries.
pub fn description(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::TpcbLike => "<builtin: TPC-B (sort of)>",
        Builtin::SimpleUpdate => "<builtin: simple update>",
        Builtin::SelectOnly => "<builtin: select only>",
    }
}

/// Output of `-b list`.
pub fn list() -> String {
    let lines =
        Builtin::ALL.map(|builtin| format!("  {:>13}: {}\n", builtin.name(), description(builtin))).concat();
    format!("Available builtin scripts:\n{lines}\n")
}

/// Output of `--show-script`.
pub fn show(builtin: Builtin) -> String {
    format!("-- {}: {}\n{}\n", builtin.name(), description(builtin), builtin.script_text())
}

/// Finds a built-in script by a prefix of its name.
///
/// # Errors
/// No name or several names begin with `prefix`; already printed.
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

/// Splits the value of a script option into name and weight, which follows the last `@`.
///
/// # Errors
/// The weight is invalid; already printed.
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
