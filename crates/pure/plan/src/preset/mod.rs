//! Configurations that a server gets as a whole: those of published measurements, and files of the user.
//!
//! A preset keeps what was published, word by word. What it becomes for one program on one machine is decided by
//! [`fit`].

mod fit;
mod renames;
mod reserved;

use std::collections::BTreeMap;

use pgdyno_core::{facts::amount, problem::Problem};
use serde::{Deserialize, Serialize};

pub use fit::{Fit, Fitted, fit};
pub use reserved::is_off;

/// The files of the published configurations; each names its source.
const FILES: [&str; 8] = [
    include_str!("../../presets/storage-12.toml"),
    include_str!("../../presets/tpcc-9.5.toml"),
    include_str!("../../presets/tpcc-9.5-stage-3.toml"),
    include_str!("../../presets/tpcc-9.5-stage-4.toml"),
    include_str!("../../presets/scaleup-9.5.toml"),
    include_str!("../../presets/scaleup-9.6.toml"),
    include_str!("../../presets/ten-billion-11.toml"),
    include_str!("../../presets/trillion-11.toml"),
];

/// A configuration as it was published, or as a file of the user has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preset {
    /// Its name, or the path of the user's file.
    pub name: String,
    /// What it was published for; empty for a file of the user.
    #[serde(default)]
    pub title: String,
    /// First `server_version_num` of the major that it was published for; `None` if unknown.
    pub version_num: Option<u32>,
    /// Memory in bytes of the machine that it was published for; `None` if unknown, as for a file of the user.
    pub memory_bytes: Option<u64>,
    /// Whether it applies as published: with its sizes, and with what weakens durability.
    #[serde(default)]
    pub as_published: bool,
    /// Its settings, named in lower case.
    pub settings: BTreeMap<String, String>,
}

/// A file of `presets/`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    name: String,
    title: String,
    version_num: u32,
    memory: String,
    settings: BTreeMap<String, String>,
}

impl Published {
    fn into_preset(self) -> Preset {
        Preset {
            name: self.name,
            title: self.title,
            version_num: Some(self.version_num),
            memory_bytes: amount::parse(&self.memory, 1),
            as_published: false,
            settings: self.settings,
        }
    }
}

/// All published presets.
pub fn presets() -> Vec<Preset> {
    let parse = |text: &&str| toml::from_str::<Published>(text).expect("a test reads them all").into_preset();
    FILES.iter().map(parse).collect()
}

impl Preset {
    /// The published preset of this name.
    ///
    /// # Errors
    /// There is none; the hint lists them.
    pub fn named(name: &str) -> Result<Self, Problem> {
        let all = presets();
        let names: Vec<_> = all.iter().map(|preset| preset.name.clone()).collect();
        all.into_iter().find(|preset| preset.name == name).ok_or_else(|| {
            Problem::wrong_request(format!("there is no preset `{name}`")).hint(format!(
                "the presets are {}; a file of your own needs a path, such as ./postgresql.conf",
                names.join(", ")
            ))
        })
    }

    /// Whether these words name a file rather than a published preset: they hold a slash, or end in `.conf`.
    pub fn is_file(words: &str) -> bool {
        words.contains('/') || words.ends_with(".conf")
    }

    /// Reads a `postgresql.conf`; `name` is its path.
    ///
    /// # Errors
    /// A wrong request, with the line that the server would not accept, or that includes another file.
    pub fn of_file(name: &str, text: &str) -> Result<Self, Problem> {
        let settings = pgdyno_settings::read(name, text)?.settings;
        let (title, version_num, memory_bytes) = (String::new(), None, None);
        Ok(Self { name: name.to_owned(), title, version_num, memory_bytes, as_published: false, settings })
    }

    /// Whether it was published, and is no file of the user.
    pub fn is_published(&self) -> bool {
        !self.title.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names, numbers of settings as counted in the articles, and one value of each.
    #[test]
    fn every_published_preset_is_read() {
        let found: Vec<_> = presets()
            .iter()
            .map(|preset| {
                let memory_gb = preset.memory_bytes.map(|bytes| bytes >> 30);
                let buffers = preset.settings["shared_buffers"].clone();
                (preset.name.clone(), preset.settings.len(), memory_gb, buffers)
            })
            .collect();
        let row = |name: &str, count, memory_gb, buffers: &str| {
            (name.to_owned(), count, Some(memory_gb), buffers.to_owned())
        };
        assert_eq!(
            found,
            [
                row("storage-12", 83, 512, "32GB"),
                row("tpcc-9.5", 18, 256, "32GB"),
                row("tpcc-9.5-stage-3", 22, 256, "164GB"),
                row("tpcc-9.5-stage-4", 35, 256, "164GB"),
                row("scaleup-9.5", 51, 512, "128GB"),
                row("scaleup-9.6", 59, 512, "128GB"),
                row("ten-billion-11", 69, 400, "64GB"),
                row("trillion-11", 71, 503, "300GB"),
            ]
        );
        let is_lower = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(presets().iter().flat_map(|preset| preset.settings.keys()).all(|name| is_lower(name)));
    }

    #[test]
    fn an_unknown_name_lists_those_there_are() {
        let problem = Preset::named("tpcc-9.6").expect_err("there is none");
        assert_eq!(problem.what, "there is no preset `tpcc-9.6`");
        let hint = problem.hint.expect("it helps");
        assert!(presets().iter().all(|preset| hint.contains(&preset.name)), "{hint}");
        assert!(Preset::is_file("./x") && Preset::is_file("postgresql.conf") && !Preset::is_file("tpcc-9.5"));
    }
}
