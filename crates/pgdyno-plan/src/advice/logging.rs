//! What own servers log, so that a record can tell why a run was slow: a few lines for events that take long.

use pgdyno_core::facts::Choice;

/// Settings of the log that differ from the defaults of this version. None of them logs single statements, and none
/// changes what a commit waits for.
pub(crate) fn log_settings(version_num: u32) -> Vec<Choice> {
    const CHECKPOINTS: &str = "two lines for a checkpoint; the default from version 15 on";
    const PREFIX: &str = "time and process of every line; the default from version 10 on";
    let choice = |name: &str, value: &str, reason: &str| Choice {
        name: name.to_owned(),
        value: value.to_owned(),
        reason: reason.to_owned(),
    };
    let mut settings = vec![
        choice(
            "log_autovacuum_min_duration",
            "100ms",
            "a line for an automatic VACUUM or ANALYZE that takes long",
        ),
        choice("log_lock_waits", "on", "a line for a wait longer than deadlock_timeout"),
        choice("log_temp_files", "10MB", "a line for a large temporary file"),
        choice("log_timezone", "GMT", "the log has the times of the record"),
    ];
    if version_num < 150_000 {
        settings.push(choice("log_checkpoints", "on", CHECKPOINTS));
    }
    if version_num < 100_000 {
        settings.push(choice("log_line_prefix", "%m [%p] ", PREFIX));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_left_out() {
        let names = |version_num| -> Vec<String> {
            log_settings(version_num).into_iter().map(|choice| choice.name).skip(4).collect()
        };
        assert_eq!(names(90_503), ["log_checkpoints", "log_line_prefix"]);
        assert_eq!(names(140_000), ["log_checkpoints"]);
        assert_eq!(names(150_000), [""; 0]);
    }
}
