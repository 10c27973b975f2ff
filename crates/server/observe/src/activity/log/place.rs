//! Where a server logs, and what it leaves out.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use pgdyno_wire::{Session, WireError};

/// Settings without which some events are not logged, each with the value that logs none.
const TELLING: [(&str, &str); 4] = [
    ("log_checkpoints", "off"),
    ("log_autovacuum_min_duration", "-1"),
    ("log_lock_waits", "off"),
    ("log_temp_files", "-1"),
];

/// Where a server logs, on its own machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPlace {
    /// The directory of its log files; `None` if it has no logger of its own (`logging_collector`), or the role may not
    /// see where it is (`pg_read_all_settings`).
    pub directory: Option<PathBuf>,
    /// Whether its messages are in English (`lc_messages`); `None` if that depends on its environment.
    pub english: Option<bool>,
    /// Settings that keep events out of the log, such as `log_lock_waits = off`.
    pub silent: Vec<String>,
}

impl LogPlace {
    /// Asks the server.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn find(session: &mut Session) -> Result<Self, WireError> {
        let rows = session.query("SELECT name, setting FROM pg_catalog.pg_settings")?;
        let settings = rows.iter().filter_map(|row| Some((row.get(0)?, row.get(1)?))).collect();
        Ok(Self::of(&settings))
    }

    fn of(settings: &BTreeMap<&str, &str>) -> Self {
        let is = |name: &str, value: &str| settings.get(name).is_some_and(|set| *set == value);
        let directory = settings.get("log_directory").and_then(|log| {
            let log = Path::new(log);
            if log.is_absolute() {
                Some(log.to_owned())
            } else {
                Some(Path::new(settings.get("data_directory")?).join(log))
            }
        });
        let silent = TELLING.iter().filter(|(name, none)| is(name, none));
        Self {
            directory: directory.filter(|_| is("logging_collector", "on")),
            english: settings.get("lc_messages").and_then(|language| is_english(language)),
            silent: silent.map(|(name, none)| format!("{name} = {none}")).collect(),
        }
    }
}

fn is_english(language: &str) -> Option<bool> {
    match language {
        "" => None,
        "C" | "POSIX" => Some(true),
        other => Some(other.starts_with("C.") || other.to_ascii_lowercase().starts_with("en")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_found_by_settings() {
        let settings = BTreeMap::from([
            ("logging_collector", "on"),
            ("log_directory", "log"),
            ("data_directory", "/data"),
            ("lc_messages", "de_DE.UTF-8"),
            ("log_lock_waits", "off"),
            ("log_temp_files", "0"),
        ]);
        let place = LogPlace::of(&settings);
        assert_eq!((place.directory, place.english), (Some("/data/log".into()), Some(false)));
        assert_eq!(place.silent, ["log_lock_waits = off"]);
        // An ordinary role does not see directories.
        assert_eq!(
            LogPlace::of(&BTreeMap::from([("logging_collector", "on"), ("log_directory", "log")])).directory,
            None
        );
        assert_eq!(
            ["C", "C.UTF-8", "en_US.utf8", ""].map(is_english),
            [Some(true), Some(true), Some(true), None]
        );
    }
}
