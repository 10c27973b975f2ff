//! Fits presets to programs. A program is asked what it has: it reads the settings and names those that it does not
//! know, or whose value it refuses.

use std::{
    fs::File,
    io,
    io::Write,
    path::Path,
    process::{Output, Stdio},
};

use pgdyno_core::facts::Choice;
use pgdyno_host::users::User;
use pgdyno_plan::preset::{Fit, Fitted, Preset, fit};
use rustix::fs::{MemfdFlags, memfd_create};

use super::{
    child::{ChildOptions, command},
    conf, refused_settings,
};

/// The program of a server.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Directory of the programs.
    pub bindir: &'a Path,
    /// Its version, for reasons.
    pub version: &'a str,
    /// User to run as; `None` is the user of pgdyno.
    pub user: Option<&'a User>,
}

/// Fits a preset to a server and its program.
pub fn fit_program(preset: &Preset, on: &Fit<'_>, program: &Program<'_>) -> Fitted {
    let mut fitted = fit(preset, on);
    // A program names the settings that it does not know, and values only when it knows all names.
    loop {
        let refused = ask(program, &fitted.choices).unwrap_or_default();
        let is_ours =
            |name: &String| fitted.choices.iter().any(|choice| choice.name.eq_ignore_ascii_case(name));
        let refused: Vec<_> = refused.into_iter().filter(|(name, _)| is_ours(name)).collect();
        if refused.is_empty() {
            return fitted;
        }
        refused.iter().for_each(|(name, why)| fitted.leave_out(&name.to_ascii_lowercase(), why));
    }
}

/// Has a program read these settings. Returns the names of those that it refuses, each with the reason.
fn ask(program: &Program<'_>, settings: &[Choice]) -> io::Result<Vec<(String, String)>> {
    let pairs = settings.iter().map(|choice| (choice.name.as_str(), choice.value.as_str()));
    let output = read_by(program, pairs)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let all = said.lines().filter_map(refused_settings::message);
    Ok(all.filter_map(|message| about(message, program.version)).collect())
}

/// Has a program read these settings, names with their values, and nothing else.
///
/// # Errors
/// The program cannot be run.
pub fn read_by<'a>(
    program: &Program<'_>,
    settings: impl Iterator<Item = (&'a str, &'a str)>,
) -> io::Result<Output> {
    // Not a pipe, which another user could not open by the name of the standard input.
    let mut file = File::from(memfd_create("postgresql.conf", MemfdFlags::CLOEXEC)?);
    for (name, value) in settings {
        writeln!(file, "{name} = {}", conf::quote(value))?;
    }
    let options = ChildOptions { user: program.user, ..ChildOptions::default() };
    command(&program.bindir.join("postgres"), Path::new("/"), options)
        .args(["-C", "port", "-D", "/", "-c", "config_file=/dev/stdin"])
        .stdin(Stdio::from(file))
        .output()
}

/// The setting that a message is about, and why it is refused.
fn about(message: &str, version: &str) -> Option<(String, String)> {
    let name = message.split_once("parameter \"")?.1.split('"').next()?;
    let value = message.strip_prefix(&format!("invalid value for parameter \"{name}\": "));
    let why = match (message.contains("unrecognized configuration parameter"), value) {
        (true, _) => format!("PostgreSQL {version} has no such setting"),
        (_, Some(value)) => format!("PostgreSQL {version} refuses the value {value}"),
        _ => format!("PostgreSQL {version} refuses it: {message}"),
    };
    Some((name.to_owned(), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_setting() {
        let about = |message| about(message, "18.6").map(|(name, why)| format!("{name}: {why}"));
        let unknown =
            "unrecognized configuration parameter \"wal_keep_segments\" in file \"/dev/stdin\" line 5";
        assert_eq!(about(unknown).as_deref(), Some("wal_keep_segments: PostgreSQL 18.6 has no such setting"));
        let wrong = "invalid value for parameter \"lc_time\": \"xx_XX\"";
        assert_eq!(about(wrong).as_deref(), Some("lc_time: PostgreSQL 18.6 refuses the value \"xx_XX\""));
        let range = "9 is outside the valid range for parameter \"jobs\" (1 .. 2)";
        assert_eq!(about(range), Some(format!("jobs: PostgreSQL 18.6 refuses it: {range}")));
        assert_eq!(about("configuration file \"/dev/stdin\" contains errors"), None);
    }
}
