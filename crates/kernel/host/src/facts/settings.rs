//! Settings of a server by its files: `postgresql.conf` with what it includes, `postgresql.auto.conf`, and the command
//! line that `postmaster.opts` keeps (PostgreSQL manual, "Setting Parameters").

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use pgdyno_core::{
    conf::{is_blank, setting},
    redact::redact_setting,
};

use super::dir::{names, regular};

/// How deep files may include others, as in the server.
const DEEPEST: u32 = 10;
/// Most files that are read.
const MOST_FILES: usize = 64;
/// Most settings that are kept; a server has some 400 besides those of extensions.
const MOST_SETTINGS: usize = 2_000;
/// Longest value that is kept, in characters.
const LONGEST: usize = 1_000;

/// The settings by name in lower case, as far as they can be read. Lines that the server would refuse are left out, and
/// values that may be secrets are replaced.
pub(super) fn read(data: &Path) -> BTreeMap<String, String> {
    let command_line = of_command_line(&regular(&data.join("postmaster.opts")).unwrap_or_default());
    let config =
        command_line.iter().find(|(name, _)| name == "config_file").map(|(_, value)| PathBuf::from(value));
    let mut files = Files::default();
    files.follow(&data.join(config.unwrap_or_else(|| "postgresql.conf".into())), 0);
    files.follow(&data.join("postgresql.auto.conf"), 0);
    let mut settings = files.settings;
    settings.extend(command_line);
    settings.into_iter().take(MOST_SETTINGS).map(without_secret).collect()
}

#[derive(Default)]
struct Files {
    settings: BTreeMap<String, String>,
    read: usize,
}

impl Files {
    /// Reads a file and those that it includes; the last setting of a name counts.
    fn follow(&mut self, path: &Path, depth: u32) {
        if depth > DEEPEST || self.read >= MOST_FILES {
            return;
        }
        self.read += 1;
        let text = regular(path).unwrap_or_default();
        let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines().map(str::trim);
        for (name, value) in lines.filter(|line| !is_blank(line)).filter_map(setting) {
            let place = || path.parent().unwrap_or(path).join(&value);
            match name.as_str() {
                "include" | "include_if_exists" => self.follow(&place(), depth + 1),
                "include_dir" => self.follow_all(&place(), depth + 1),
                _ => {
                    self.settings.insert(name, value);
                }
            }
        }
    }

    fn follow_all(&mut self, dir: &Path, depth: u32) {
        let is_one = |name: &String| name.ends_with(".conf") && !name.starts_with('.');
        let mut files: Vec<String> = names(dir).into_iter().filter(is_one).collect();
        files.sort();
        files.iter().for_each(|name| self.follow(&dir.join(name), depth));
    }
}

/// Settings of a command line such as `/usr/bin/postgres "-D" "/data" "-c" "config_file=/etc/x.conf" "-p" "5433"`.
fn of_command_line(line: &str) -> Vec<(String, String)> {
    // Every word but the program is in double quotes, within which nothing is escaped.
    let quoted: Vec<&str> = line.trim_end().split('"').skip(1).step_by(2).collect();
    let mut words = quoted.into_iter();
    let mut settings = Vec::new();
    while let Some(word) = words.next() {
        let assignment = match word {
            "-c" => words.next(),
            "-p" => {
                settings.extend(words.next().map(|port| ("port".to_owned(), port.to_owned())));
                None
            }
            _ => word.strip_prefix("--").or_else(|| word.strip_prefix("-c")),
        };
        let pair = assignment.and_then(|assignment| assignment.split_once('='));
        settings.extend(
            pair.map(|(name, value)| (name.replace('-', "_").to_ascii_lowercase(), value.to_owned())),
        );
    }
    settings
}

fn without_secret((name, value): (String, String)) -> (String, String) {
    let value = if is_harmless(&name, &value) { value } else { redact_setting(&name, &value) };
    let value = value.chars().take(LONGEST).collect();
    (name, value)
}

/// A command that archives nothing, such as `/bin/true` or `cd .`, is worth knowing and cannot have secrets: it is
/// short and neither names the file (`%p`) nor has addresses or assignments.
fn is_harmless(name: &str, value: &str) -> bool {
    const SHORT: usize = 24;
    name == "archive_command" && value.len() <= SHORT && !value.contains(['%', '=', '@', ':', '$'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    fn pairs(settings: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
        settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn files_are_read_in_the_order_of_the_server() {
        let root = tree(&[
            (
                "etc/postgresql.conf",
                "Shared_Buffers = 1GB # x\nwork_mem = 4MB\nnonsense\ninclude_dir 'conf.d'\nport = 1\n\
                 include_if_exists = 'nothing.conf'\ninclude 'more.conf'\n",
            ),
            ("etc/more.conf", "jit = off\ninclude 'more.conf'\n"),
            ("etc/conf.d/20.conf", "work_mem = 20MB\n"),
            ("etc/conf.d/10.conf", "work_mem = 10MB\nfsync = off\n"),
            ("etc/conf.d/.hidden.conf", "a = 1\n"),
            ("etc/conf.d/README", "b = 1\n"),
            ("data/postgresql.auto.conf", "fsync = 'on'\n"),
            ("data/postgresql.conf", "c = 1\n"),
        ]);
        let data = root.path().join("data");
        let opts = format!(
            "/usr/bin/postgres \"-D\" \"{}\" \"-c\" \"config_file={}\" \"-p\" \"5433\" \"--work-mem=7MB\"\n",
            data.display(),
            root.path().join("etc/postgresql.conf").display()
        );
        std::fs::write(data.join("postmaster.opts"), opts).expect("it can be written");
        let mut settings = read(&data);
        settings.remove("config_file");
        assert_eq!(
            pairs(&settings),
            [
                ("fsync", "on"),
                ("jit", "off"),
                ("port", "5433"),
                ("shared_buffers", "1GB"),
                ("work_mem", "7MB")
            ]
        );
    }

    #[test]
    fn secrets_are_replaced() {
        for (name, value, kept) in [
            ("primary_conninfo", "host=a password=geheim", "***"),
            ("archive_command", "curl -u a:b http://x/%f", "***"),
            ("archive_command", "/bin/true", "/bin/true"),
            ("archive_command", "cd .", "cd ."),
            ("my.api_token", "abc", "***"),
            ("work_mem", "4MB", "4MB"),
        ] {
            assert_eq!(without_secret((name.to_owned(), value.to_owned())).1, kept, "{name} {value}");
        }
    }

    #[test]
    fn a_directory_without_files_has_no_settings() {
        let root = tree(&[("x/postgresql.conf/inner", "a = 1\n")]);
        assert!(read(root.path()).is_empty() && read(&root.path().join("x")).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = of_command_line(&text);
            let _ = without_secret((text.clone(), text));
        }
    }
}
