//! What would be changed, and what cannot or need not be. Only reads.

use std::{
    collections::BTreeMap,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use pgdyno_core::{
    host::{Change, Knob},
    problem::Problem,
};
use serde::Serialize;

use crate::{
    contents, names,
    place::Place,
    read,
    state::{Kind, State},
    value,
};

/// Changes of a host, with what is there now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The requested changes, each once, in that order.
    pub items: Vec<Item>,
    /// What else should be known, such as a file that sets another value at boot: sentences.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub(crate) root: PathBuf,
    /// Whether changes outlast a reboot.
    #[serde(skip)]
    lasting: bool,
    /// Whether units of systemd can be placed.
    #[serde(skip)]
    systemd: bool,
    /// Files of [`contents::FILES`] that are there.
    #[serde(skip)]
    present: BTreeMap<&'static str, String>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// What is changed, and the new value.
    #[serde(flatten)]
    pub change: Change,
    /// Where the value is, relative to the root; absent if the name is none.
    pub path: Option<String>,
    /// The present value; absent if there is none or it cannot be read. Of a limit, the one in pgdyno's own file.
    pub present: Option<String>,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// What becomes of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is applied.
    Change,
    /// The value is as wanted.
    AlreadySo,
    /// This host does not have it: another kernel, no such device, no such module.
    Missing,
    /// It could not be undone, and is never applied: why.
    Irreversible(String),
    /// It is not applied: why.
    Refused(String),
}

impl Verdict {
    /// Why it is not applied, as the rest of a sentence after the name; absent if it is, or need not be.
    pub fn objection(&self) -> Option<String> {
        match self {
            Self::Change | Self::AlreadySo => None,
            Self::Missing => Some("does not exist on this host".to_owned()),
            Self::Irreversible(why) => Some(format!("cannot be undone: {why}")),
            Self::Refused(why) => Some(why.clone()),
        }
    }
}

/// Reads what these changes would change, on this host or in a tree that looks like one.
pub fn plan(changes: &[Change], root: &Path) -> Plan {
    let place = Place::new(root, "/");
    let mut plan = Plan {
        items: Vec::new(),
        notes: Vec::new(),
        root: root.to_owned(),
        lasting: true,
        systemd: root.join("etc/systemd/system").is_dir(),
        present: BTreeMap::new(),
    };
    plan.read_files(&place);
    for change in changes {
        if let Some(item) = plan.item(&place, change) {
            plan.items.push(item);
        }
    }
    plan.note_what_lasts(&place);
    plan
}

impl Plan {
    /// The same changes, which end with the next reboot. Limits of logins are in a file in any case.
    #[must_use]
    pub fn until_reboot(mut self) -> Self {
        (self.lasting, self.notes) = (false, Vec::new());
        self
    }

    /// Only the changes that can be applied.
    #[must_use]
    pub fn applicable(mut self) -> Self {
        self.items.retain(|item| item.verdict.objection().is_none());
        self
    }

    /// The changes that are applied.
    pub fn changes(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.verdict == Verdict::Change)
    }

    /// The files that are written: their paths on the host, and contents.
    pub fn files(&self) -> Vec<(PathBuf, String)> {
        self.files_below().into_iter().map(|(path, text)| (Path::new("/").join(path), text)).collect()
    }

    /// The same, relative to the root.
    pub(crate) fn files_below(&self) -> Vec<(&'static str, String)> {
        let (mut sysctls, mut sysfs, mut limits) = (Vec::new(), Vec::new(), Vec::new());
        for Item { change, path, .. } in self.changes() {
            let value = change.value.clone();
            match (&change.knob, path) {
                (Knob::Sysctl(_), Some(path)) => sysctls.push((names::sysctl_name(path), value)),
                (Knob::Sysfs(path), _) => sysfs.push((path.clone(), value)),
                (Knob::LoginLimit { domain, item }, _) => limits.push((domain.clone(), item.clone(), value)),
                _ => {}
            }
        }
        let mut files = Vec::new();
        if !limits.is_empty() {
            files.push((contents::LIMITS, contents::limits(self.present(contents::LIMITS), &limits)));
        }
        if self.lasting && !sysctls.is_empty() {
            files.push((contents::SYSCTLS, contents::sysctls(self.present(contents::SYSCTLS), &sysctls)));
        }
        if self.lasting && self.systemd && !sysfs.is_empty() {
            files.extend([(contents::UNIT, contents::unit(&sysfs)), (contents::WANTS, contents::wants())]);
        }
        files
    }

    /// What a file had when this was planned.
    pub(crate) fn present(&self, path: &str) -> Option<&str> {
        self.present.get(path).map(String::as_str)
    }

    /// Refuses a plan with changes that cannot be applied.
    pub(crate) fn refuse_objections(&self) -> Result<(), Problem> {
        let mut objections =
            self.items.iter().filter_map(|item| Some((name(&item.change.knob), item.verdict.objection()?)));
        let Some((name, objection)) = objections.next() else { return Ok(()) };
        let more = objections.count();
        let problem = Problem::wrong_request(format!("{name} {objection}"));
        let problem =
            if more > 0 { problem.detail(format!("{more} more cannot be applied")) } else { problem };
        Err(problem.hint("leave it out; `pgdyno host plan` lists them. Nothing was changed."))
    }

    fn read_files(&mut self, place: &Place) {
        for path in contents::FILES {
            match read::state(place, Kind::File, path) {
                Ok(State::File { text, .. }) => drop(self.present.insert(path, text)),
                Ok(State::Absent) => {}
                Ok(other) => self.notes.push(format!("/{path} is {}: it is not replaced", other.words())),
                Err(problem) => self.notes.push(problem.to_string()),
            }
        }
    }

    fn item(&self, place: &Place, change: &Change) -> Option<Item> {
        let mut change = change.clone();
        change.value = change.value.split_whitespace().collect::<Vec<_>>().join(" ");
        let path = path_of(&change.knob);
        let known = path.as_ref().ok().cloned();
        if self.items.iter().any(|item| item.change == change) {
            return None;
        }
        let refused = |why: String| (None, Verdict::Refused(why));
        let (present, verdict) =
            match (&path, value::fault(&change.value), self.conflict(&change, known.as_deref())) {
                (Err(why), _, _) => refused(why.clone()),
                (_, Some(fault), _) => refused(format!("cannot be set: {fault}")),
                (_, _, Some(other)) => {
                    refused(format!("cannot be set as well as {other}: only one value can hold"))
                }
                (Ok(path), None, None) => self.judge(place, &change, path),
            };
        Some(Item { change, path: known, present, verdict })
    }

    /// Another change of the same value, or of the one that the kernel keeps instead.
    fn conflict(&self, change: &Change, path: Option<&str>) -> Option<String> {
        if let Knob::LoginLimit { .. } = change.knob {
            let same = self.items.iter().find(|item| item.change.knob == change.knob)?;
            return Some(format!("the value {}", same.change.value));
        }
        let other = path.and_then(names::counterpart);
        let is_other =
            |item: &&Item| item.path.as_deref().is_some_and(|at| Some(at) == path || Some(at) == other);
        let found = self.items.iter().find(is_other)?;
        Some(format!("{} = {}", name(&found.change.knob), found.change.value))
    }

    fn judge(&self, place: &Place, change: &Change, path: &str) -> (Option<String>, Verdict) {
        if let Knob::LoginLimit { domain, item } = &change.knob {
            return self.judge_limit(domain, item, &change.value, place);
        }
        if let Some(why) = names::one_way(path) {
            return (read::value(place, path).ok(), Verdict::Irreversible(why.to_owned()));
        }
        let present = match read::value(place, path) {
            Ok(present) => present,
            Err(error) => return (None, unreadable(&place.at(path), &error)),
        };
        let verdict = match () {
            () if value::same(path, &present, &change.value) => Verdict::AlreadySo,
            () if mode(&place.at(path)).is_some_and(|mode| mode & 0o222 == 0) => {
                Verdict::Refused("is read-only in this kernel".to_owned())
            }
            () => no_way_back(place, path, &present).map_or(Verdict::Change, Verdict::Irreversible),
        };
        (Some(present), verdict)
    }

    fn judge_limit(&self, domain: &str, item: &str, value: &str, place: &Place) -> (Option<String>, Verdict) {
        let present = self.present(contents::LIMITS).and_then(|text| contents::limit_in(text, domain, item));
        let verdict = match &present {
            Some(present) if present == value => Verdict::AlreadySo,
            _ if !place.at("etc/security").is_dir() => Verdict::Missing,
            _ => Verdict::Change,
        };
        (present, verdict)
    }

    fn note_what_lasts(&mut self, place: &Place) {
        let sysctls: Vec<String> = self
            .changes()
            .filter_map(|item| match item.change.knob {
                Knob::Sysctl(_) => item.path.as_deref().map(names::sysctl_name),
                _ => None,
            })
            .collect();
        for (file, text) in later_files(place) {
            for key in text.lines().filter_map(contents::sysctl_key).filter(|key| sysctls.contains(key)) {
                self.notes.push(format!("/{file} sets {key} too, and is read later at boot"));
            }
        }
        if !self.systemd && self.changes().any(|item| matches!(item.change.knob, Knob::Sysfs(_))) {
            self.notes.push(
                "there is no /etc/systemd/system, so values of sysfs end with the next reboot".to_owned(),
            );
        }
    }
}

/// What is shown for a knob.
pub(crate) fn name(knob: &Knob) -> String {
    match knob {
        Knob::Sysctl(name) | Knob::Sysfs(name) => name.clone(),
        Knob::LoginLimit { domain, item } => format!("the limit {item} of {domain}"),
        Knob::BootWord(word) => format!("the boot parameter {word}"),
        Knob::MountOption(point) => format!("a mount option of {point}"),
    }
}

fn path_of(knob: &Knob) -> Result<String, String> {
    let administrator =
        |file: &str| Err(format!("is set by the administrator, in {file}: pgdyno never does"));
    match knob {
        Knob::Sysctl(name) => sysctl(name),
        Knob::Sysfs(path) => names::sysfs_path(path).map_err(|why| format!("is no file of sysfs: it {why}")),
        Knob::LoginLimit { domain, item } => match [domain, item].into_iter().all(|word| is_word(word)) {
            true => Ok(contents::LIMITS.to_owned()),
            false => Err("has a domain or an item that is not one word".to_owned()),
        },
        Knob::BootWord(_) => administrator("the configuration of the boot loader"),
        Knob::MountOption(_) => administrator("/etc/fstab"),
    }
}

fn sysctl(name: &str) -> Result<String, String> {
    names::sysctl_path(name).map_err(|why| format!("is no kernel parameter: its name {why}"))
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_graphic() && !"#'\"\\$`".contains(c))
}

fn mode(path: &Path) -> Option<u32> {
    std::fs::metadata(path).ok().map(|metadata| metadata.mode())
}

fn unreadable(path: &Path, error: &io::Error) -> Verdict {
    match error.kind() {
        io::ErrorKind::NotFound => Verdict::Missing,
        io::ErrorKind::PermissionDenied if mode(path).is_some_and(|mode| mode & 0o444 == 0) => {
            Verdict::Irreversible("it can only be written, so what was there is not known".to_owned())
        }
        _ => Verdict::Refused(format!("could not be read: {error}")),
    }
}

/// Why the present value could not be written back.
fn no_way_back(place: &Place, path: &str, present: &str) -> Option<String> {
    if present.is_empty() {
        return Some("the present value is empty, and cannot be written back".to_owned());
    }
    let other = names::counterpart(path).filter(|_| present == "0")?;
    let both = read::value(place, other).is_ok_and(|value| value == "0");
    both.then(|| format!("it and {} are both 0, which cannot be written back", names::sysctl_name(other)))
}

/// Files of kernel parameters that are read after pgdyno's: those of later names, and `/etc/sysctl.conf`.
fn later_files(place: &Place) -> Vec<(String, String)> {
    let (dir, own) = contents::SYSCTLS.rsplit_once('/').unwrap_or_default();
    let names = std::fs::read_dir(place.at(dir)).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut paths: Vec<String> = names
        .filter(|name| name.as_str() > own && name.ends_with(".conf"))
        .map(|name| format!("{dir}/{name}"))
        .collect();
    paths.sort_unstable();
    // Often also linked as 99-sysctl.conf: then it is named once.
    let main = "etc/sysctl.conf";
    let real = |path: &str| place.at(path).canonicalize().ok();
    if !paths.iter().any(|path| real(path) == real(main)) {
        paths.push(main.to_owned());
    }
    let read = |path: String| std::fs::read_to_string(place.at(&path)).ok().map(|text| (path, text));
    paths.into_iter().filter_map(read).collect()
}
