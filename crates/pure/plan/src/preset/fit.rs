//! What a preset becomes for one program on one machine.

use std::collections::BTreeMap;

use pgdyno_core::facts::{
    Choice, PresetChange, PresetFacts,
    amount::{self, KB, MB},
    is_private_setting,
};

use super::{
    Preset,
    renames::{Sizes, renamed},
    reserved::{Reserved, reserved},
};
use crate::advice::{
    config::{self, Inputs},
    logging::log_settings,
};

/// The server that a preset is for.
#[derive(Debug, Clone, Copy)]
pub struct Fit<'a> {
    /// The machine, its storage, and what the server is for.
    pub inputs: Inputs<'a>,
    /// Servers that share the memory of the machine, at least 1.
    pub side_by_side: u64,
    /// The server's block size in bytes, the unit of some numbers.
    pub block_bytes: u64,
    /// The user's settings, which override the preset.
    pub given: &'a BTreeMap<String, String>,
}

/// A preset that fits a server, as far as that is known without asking its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The settings for the server, without the user's, each with its reason.
    pub choices: Vec<Choice>,
    /// The preset, and what differs from it.
    pub facts: PresetFacts,
}

impl Fitted {
    /// Leaves out a setting that the server refuses, named as there.
    pub fn leave_out(&mut self, name: &str, reason: &str) {
        let is_it = |choice: &Choice| choice.name.eq_ignore_ascii_case(name);
        let value = self.choices.iter().find(|choice| is_it(choice)).map(|choice| choice.value.clone());
        self.choices.retain(|choice| !is_it(choice));
        let changes = &mut self.facts.changes;
        match changes.iter_mut().find(|change| change.used.is_some() && change.used_name() == name) {
            Some(change) => (change.used, change.reason) = (None, reason.to_owned()),
            None => changes.push(change(name, value.as_deref(), None, reason)),
        }
        changes.sort_by(|one, other| one.name.cmp(&other.name));
    }
}

/// Fits a preset to a server. Settings that the server may lack are left to its program, which knows them all.
pub fn fit(preset: &Preset, on: &Fit<'_>) -> Fitted {
    let mut fitting = Fitting { preset, on, taken: BTreeMap::new(), changes: Vec::new() };
    preset.settings.iter().for_each(|(name, value)| fitting.take(name, value));
    if !preset.as_published {
        fitting.scale_memory();
        fitting.scale_wal();
        fitting.relax_huge_pages();
    }
    fitting.make_room_for_clients();
    fitting.make_room_for_locks();
    fitting.make_room_for_workers();
    fitting.allow_minimal_wal();
    fitting.finish()
}

/// A setting for the server.
#[derive(Debug)]
struct Taken {
    value: String,
    /// Name and value in the preset; `None` for one that was added.
    published: Option<(String, String)>,
    /// Why it is not as published.
    changed: Option<String>,
}

struct Fitting<'a> {
    preset: &'a Preset,
    on: &'a Fit<'a>,
    taken: BTreeMap<String, Taken>,
    changes: Vec<PresetChange>,
}

/// Settings that hold memory: unit of a number without one, in bytes or in blocks of the server, and the least that is
/// worth scaling, in bytes.
const MEMORY: [(&str, Unit, u64); 8] = [
    ("shared_buffers", Unit::Blocks, 16 * MB),
    ("effective_cache_size", Unit::Blocks, 16 * MB),
    ("temp_buffers", Unit::Blocks, 8 * MB),
    ("wal_buffers", Unit::Bytes(8 * KB), 16 * MB),
    ("work_mem", Unit::Bytes(KB), 4 * MB),
    ("maintenance_work_mem", Unit::Bytes(KB), 64 * MB),
    ("autovacuum_work_mem", Unit::Bytes(KB), 64 * MB),
    ("logical_decoding_work_mem", Unit::Bytes(KB), 64 * MB),
];

/// Unit of a number without one.
#[derive(Debug, Clone, Copy)]
enum Unit {
    Bytes(u64),
    Blocks,
}

impl Fitting<'_> {
    /// Takes a setting of the preset, or says why not.
    fn take(&mut self, name: &str, value: &str) {
        if let Some(given) = self.given(name) {
            let given = given.to_owned();
            return self.changes.push(change(name, Some(value), Some(given), "given"));
        }
        if let Some(reason) = self.left_out(name, value) {
            return self.changes.push(change(name, Some(value), None, reason));
        }
        let sizes = Sizes { wal_segment_bytes: self.on.inputs.wal_segment_bytes };
        let versions = (self.preset.version_num, self.on.inputs.version_num);
        let published = Some((name.to_owned(), value.to_owned()));
        match renamed(name, value, versions, sizes) {
            None => {
                let taken = Taken { value: value.to_owned(), published, changed: None };
                self.taken.insert(name.to_owned(), taken);
            }
            Some(new) if self.given(&new.name).is_some() => {
                self.changes.push(change(name, Some(value), None, &format!("{} is given", new.name)));
            }
            Some(new) => {
                let taken = Taken { value: new.value, published, changed: Some(new.what.to_owned()) };
                self.taken.insert(new.name, taken);
            }
        }
    }

    /// Why a setting of the preset is left out; `None` if it is not.
    fn left_out(&self, name: &str, value: &str) -> Option<&'static str> {
        match reserved(name, value)? {
            Reserved::Always(why) => Some(why),
            Reserved::Outside(why) => {
                (!self.preset.as_published || !self.preset.is_published()).then_some(why)
            }
            Reserved::Unpublished(why) => (!self.preset.as_published).then_some(why),
        }
    }

    fn given(&self, name: &str) -> Option<&str> {
        let mut all = self.on.given.iter();
        all.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The value that will be in force; `None` for the server's default.
    fn in_force(&self, name: &str) -> Option<&str> {
        self.given(name).or_else(|| self.taken.get(name).map(|taken| taken.value.as_str()))
    }

    /// Sets another value than the published one, unless the user gave one.
    fn change(&mut self, name: &str, value: String, reason: String) {
        if self.given(name).is_some() {
            return;
        }
        let known = self.taken.remove(name);
        let changed = match known.as_ref().and_then(|taken| taken.changed.clone()) {
            Some(before) => format!("{before}; {reason}"),
            None => reason,
        };
        let published = known.and_then(|taken| taken.published);
        self.taken.insert(name.to_owned(), Taken { value, published, changed: Some(changed) });
    }

    fn bytes(&self, name: &str, unit: Unit) -> Option<u64> {
        let unit_bytes = match unit {
            Unit::Bytes(bytes) => bytes,
            Unit::Blocks => self.on.block_bytes,
        };
        amount::parse(self.in_force(name)?, unit_bytes)
    }

    /// Memory in bytes of the machine that the preset was made for. A file does not say it: if its shared buffers are
    /// more than half of the memory here, they are taken for a quarter of the memory there, the usual share.
    fn memory_there(&self, here: u64) -> Option<u64> {
        self.preset.memory_bytes.or_else(|| {
            let buffers = self.bytes("shared_buffers", Unit::Blocks)?;
            (buffers > here / 2).then(|| buffers.saturating_mul(4))
        })
    }

    /// Scales sizes down to the memory of this machine, or to the part of it that the server may count on.
    fn scale_memory(&mut self) {
        let here = config::usable_memory_bytes(self.on.inputs.host) / self.on.side_by_side.max(1);
        let Some(there) = self.memory_there(here).filter(|there| here < *there) else { return };
        for (name, unit, least) in MEMORY {
            let published = self.taken.get(name).and_then(|_| self.bytes(name, unit));
            let Some(published) = published.filter(|bytes| *bytes > least) else { continue };
            let share = u128::from(published) * u128::from(here) / u128::from(there);
            let bytes = config::whole_mb(share as u64, least);
            let reason = format!("scaled to {} MB of memory from {} MB", here / MB, there / MB);
            self.change(name, amount::format(bytes), reason);
        }
    }

    /// Lowers the size of WAL to what the storage here has room for, and its lower limit with it.
    fn scale_wal(&mut self) {
        // Before 10 a number counts segments.
        let unit = if self.on.inputs.version_num < 100_000 { self.on.inputs.wal_segment_bytes } else { MB };
        let room = config::wal_room_bytes(&self.on.inputs);
        let published =
            self.taken.get("max_wal_size").and_then(|_| self.bytes("max_wal_size", Unit::Bytes(unit)));
        let Some(published) = published.filter(|bytes| *bytes > room) else { return };
        let free = self.on.inputs.wal.unwrap_or(self.on.inputs.data).available_bytes;
        let reason = format!("a twentieth of {} MB free where WAL lies", free / MB);
        self.change("max_wal_size", amount::format(room), reason);
        let least =
            self.taken.get("min_wal_size").and_then(|_| self.bytes("min_wal_size", Unit::Bytes(unit)));
        if let Some(least) = least {
            let share = u128::from(least) * u128::from(room) / u128::from(published);
            let bytes = config::whole_mb(share as u64, 2 * self.on.inputs.wal_segment_bytes);
            self.change("min_wal_size", amount::format(bytes), "lowered with max_wal_size".to_owned());
        }
    }

    /// Asks for huge pages instead of insisting on them where too few are reserved.
    fn relax_huge_pages(&mut self) {
        let is_on = self.taken.get("huge_pages").is_some_and(|taken| taken.value.eq_ignore_ascii_case("on"));
        let pool = self.on.inputs.host.default_huge_pages();
        let bytes = self.bytes("shared_buffers", Unit::Blocks).unwrap_or(128 * MB);
        let needed = bytes.div_ceil(pool.page_bytes.max(1));
        let free = pool.unreserved();
        if is_on && needed > free {
            let reason = format!("{free} huge pages are free here, at least {needed} are needed");
            self.change("huge_pages", "try".to_owned(), reason);
        }
    }

    /// Raises `max_connections` if the clients have no room.
    fn make_room_for_clients(&mut self) {
        let needed = config::connections_for(self.on.inputs.clients);
        let published = self.in_force("max_connections").map_or(Some(100), |value| value.trim().parse().ok());
        if published.is_some_and(|published: u32| published < needed)
            && let Some(choice) = config::choose("max_connections", &self.on.inputs)
        {
            self.change("max_connections", choice.value, choice.reason);
        }
    }

    /// Raises `max_locks_per_transaction` for tables of many partitions. The lock table has this number for every
    /// connection and prepared transaction that the preset allows, of which the run needs only those of its clients.
    fn make_room_for_locks(&mut self) {
        let Some(choice) = config::choose("max_locks_per_transaction", &self.on.inputs) else { return };
        let number = |name: &str, default: u64| {
            self.in_force(name).map_or(default, |value| value.trim().parse().unwrap_or(default))
        };
        let sessions = u64::from(config::connections_for(self.on.inputs.clients));
        let slots = number("max_connections", 100) + number("max_prepared_transactions", 0);
        let needed = choice.value.parse::<u64>().unwrap_or(0).saturating_mul(sessions);
        let each = needed.div_ceil(slots.max(1));
        if number("max_locks_per_transaction", config::DEFAULT_LOCKS) < each {
            self.change("max_locks_per_transaction", each.to_string(), choice.reason);
        }
    }

    /// Raises `max_worker_processes` for the workers that a load requests: sessions set the other limits.
    fn make_room_for_workers(&mut self) {
        if self.on.inputs.key_workers.total() == 0 {
            return;
        }
        let Some(choice) = config::choose("max_worker_processes", &self.on.inputs) else { return };
        let published = self.in_force("max_worker_processes").and_then(|value| value.trim().parse().ok());
        let needed = choice.value.parse::<u64>().unwrap_or(0);
        if published.unwrap_or(config::DEFAULT_WORKER_PROCESSES) < needed {
            self.change("max_worker_processes", choice.value, choice.reason);
        }
    }

    /// Minimal WAL allows no WAL senders, of which there are ten by default from 10 on.
    fn allow_minimal_wal(&mut self) {
        let is_minimal =
            self.in_force("wal_level").is_some_and(|level| level.eq_ignore_ascii_case("minimal"));
        if is_minimal && self.on.inputs.version_num >= 100_000 && self.in_force("max_wal_senders").is_none() {
            let reason = "wal_level = minimal allows none, and the default is 10 from version 10 on";
            self.change("max_wal_senders", "0".to_owned(), reason.to_owned());
        }
    }

    fn finish(mut self) -> Fitted {
        let mut choices = Vec::new();
        if self.in_force("track_io_timing").is_none() {
            choices.extend(config::choose("track_io_timing", &self.on.inputs));
        }
        let log = log_settings(&self.on.inputs).into_iter();
        choices.extend(log.filter(|choice| self.in_force(&choice.name).is_none()));
        for (name, Taken { value, published, changed }) in std::mem::take(&mut self.taken) {
            let preset = format!("preset {}", self.preset.name);
            let reason =
                changed.as_ref().map_or_else(|| preset.clone(), |changed| format!("{preset}: {changed}"));
            choices.push(Choice { name: name.clone(), value: value.clone(), reason });
            let Some(changed) = changed else { continue };
            let (of_name, of_value) = published.unzip();
            let of_name = of_name.unwrap_or_else(|| name.clone());
            let changed = change(&of_name, of_value.as_deref(), Some(value), &changed);
            let renamed = (of_name != name).then_some(name);
            self.changes.push(PresetChange { renamed, ..changed });
        }
        self.changes.sort_by(|one, other| one.name.cmp(&other.name));
        let Preset { name, title, as_published, settings, .. } = self.preset.clone();
        let facts =
            PresetFacts { name, title, as_published, settings: settings.len() as u64, changes: self.changes };
        Fitted { choices, facts }
    }
}

/// A change; the value of a setting that may hold a secret is not kept.
fn change(name: &str, published: Option<&str>, used: Option<String>, reason: &str) -> PresetChange {
    let private = is_private_setting(name);
    PresetChange {
        name: name.to_owned(),
        published: published.filter(|_| !private).map(str::to_owned),
        used: used.map(|value| if private { "another value".to_owned() } else { value }),
        renamed: None,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        facts::amount::GB,
        host::{Inventory, Storage, samples::storage},
    };

    use super::*;
    use crate::{advice::will_it_start::tests::host, preset::presets};

    /// Fits a preset on a machine of 24 GB with 100 GB free, for 80 clients.
    fn fitted(preset: &Preset, version_num: u32, given: &[(&str, &str)]) -> Fitted {
        at(preset, version_num, given, (&host(24 * GB), &storage(100 * GB, Some(false))), 1)
    }

    fn at(
        preset: &Preset,
        version_num: u32,
        given: &[(&str, &str)],
        (host, data): (&Inventory, &Storage),
        side_by_side: u64,
    ) -> Fitted {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let inputs = Inputs {
            host,
            data,
            wal: None,
            version_num,
            clients: 80,
            relations: 0,
            key_workers: config::KeyDemand::default(),
            wal_segment_bytes: 16 * MB,
            server_cpus: None,
            purpose: config::Purpose::Oltp,
        };
        fit(preset, &Fit { inputs, side_by_side, block_bytes: 8_192, given: &given })
    }

    fn named(name: &str) -> Preset {
        Preset::named(name).expect("there is one")
    }

    fn as_published(preset: Preset) -> Preset {
        Preset { as_published: true, ..preset }
    }

    fn value<'a>(of: &'a Fitted, name: &str) -> Option<&'a str> {
        of.choices.iter().find(|choice| choice.name == name).map(|choice| choice.value.as_str())
    }

    fn reason<'a>(of: &'a Fitted, name: &str) -> &'a str {
        let change = of.facts.changes.iter().find(|change| change.name == name);
        &change.unwrap_or_else(|| panic!("{name} is not reported")).reason
    }

    /// Every setting of every preset on every major is either taken or reported with a reason.
    #[test]
    fn nothing_is_lost_in_silence() {
        for preset in presets() {
            for version_num in [90_500, 90_600, 100_000, 110_000, 120_000, 130_000, 150_000, 180_000] {
                for preset in [preset.clone(), as_published(preset.clone())] {
                    let fitted = fitted(&preset, version_num, &[]);
                    for (name, published) in &preset.settings {
                        let reported = fitted.facts.changes.iter().any(|change| change.name == *name);
                        let taken = value(&fitted, name) == Some(published);
                        assert!(taken != reported, "{name} of {} on {version_num}", preset.name);
                    }
                }
            }
        }
    }

    #[test]
    fn durability_is_weakened_only_as_published() {
        let weak = ["fsync", "full_page_writes", "synchronous_commit"];
        for preset in presets() {
            let careful = fitted(&preset, 180_000, &[]);
            let verbatim = fitted(&as_published(preset.clone()), 180_000, &[]);
            for name in weak.into_iter().filter(|name| preset.settings.contains_key(*name)) {
                let published = preset.settings[name].as_str();
                assert_eq!(value(&verbatim, name), Some(published), "{name} of {}", preset.name);
                match published {
                    "off" => assert!(
                        value(&careful, name).is_none() && reason(&careful, name).contains("durability")
                    ),
                    _ => assert_eq!(value(&careful, name), Some(published)),
                }
            }
        }
    }

    #[test]
    fn sizes_are_scaled_to_the_memory_here() {
        let preset = named("storage-12");
        let fitted_here = fitted(&preset, 180_000, &[]);
        // 32 of 512 GB are a sixteenth, 128 GB a quarter; 2 GB would be 96 MB, 8 MB less than the default of 4 MB.
        for (name, expected) in [
            ("shared_buffers", "1536MB"),
            ("effective_cache_size", "6GB"),
            ("maintenance_work_mem", "96MB"),
            ("work_mem", "4MB"),
            ("wal_buffers", "16MB"),
            ("max_wal_size", "5GB"),
            ("min_wal_size", "640MB"),
        ] {
            assert_eq!(value(&fitted_here, name), Some(expected), "{name}");
        }
        assert_eq!(reason(&fitted_here, "shared_buffers"), "scaled to 24576 MB of memory from 524288 MB");
        let two = at(&preset, 180_000, &[], (&host(24 * GB), &storage(100 * GB, None)), 2);
        assert_eq!(value(&two, "shared_buffers"), Some("768MB"));
        let verbatim = fitted(&as_published(preset.clone()), 180_000, &[]);
        assert_eq!(
            (value(&verbatim, "shared_buffers"), value(&verbatim, "max_wal_size")),
            (Some("32GB"), Some("128GB"))
        );
        // A machine with more memory, and room for WAL, has what was published.
        let large = at(&preset, 180_000, &[], (&host(1_024 * GB), &storage(10_000 * GB, None)), 1);
        assert_eq!(
            (value(&large, "shared_buffers"), value(&large, "max_wal_size")),
            (Some("32GB"), Some("128GB"))
        );
    }

    #[test]
    fn names_follow_the_version_and_given_settings_win() {
        let preset = named("storage-12");
        let fitted_here = fitted(&preset, 180_000, &[("Work_mem", "64MB"), ("wal_keep_size", "1GB")]);
        assert_eq!((value(&fitted_here, "work_mem"), value(&fitted_here, "wal_keep_size")), (None, None));
        assert_eq!(reason(&fitted_here, "work_mem"), "given");
        assert_eq!(reason(&fitted_here, "wal_keep_segments"), "wal_keep_size is given");
        let on_18 = fitted(&preset, 180_000, &[]);
        assert_eq!(value(&on_18, "wal_keep_size"), Some("0"));
        let renamed =
            on_18.facts.changes.iter().find(|change| change.name == "wal_keep_segments").expect("reported");
        assert_eq!((renamed.used_name(), renamed.used.as_deref()), ("wal_keep_size", Some("0")));
        assert_eq!(value(&fitted(&preset, 120_000, &[]), "wal_keep_segments"), Some("0"));
        assert_eq!(value(&fitted(&preset, 90_500, &[]), "wal_level"), Some("hot_standby"));
    }

    #[test]
    fn what_a_server_needs_to_start_is_added() {
        let base = named("tpcc-9.5");
        assert_eq!(value(&fitted(&base, 90_500, &[]), "max_wal_senders"), None);
        let on_18 = fitted(&base, 180_000, &[]);
        assert_eq!(value(&on_18, "max_wal_senders"), Some("0"));
        assert!(reason(&on_18, "max_wal_senders").contains("minimal"));
        let given = fitted(&base, 180_000, &[("wal_level", "replica")]);
        assert_eq!(value(&given, "max_wal_senders"), None);
        let staged = fitted(&named("tpcc-9.5-stage-4"), 180_000, &[]);
        assert_eq!(value(&staged, "huge_pages"), Some("try"));
        let few = Preset { settings: [("max_connections".into(), "50".into())].into(), ..named("tpcc-9.5") };
        assert_eq!(value(&fitted(&few, 180_000, &[]), "max_connections"), Some("100"));
        assert_eq!(value(&on_18, "track_io_timing"), Some("on"));
        assert_eq!(value(&on_18, "log_lock_waits"), Some("on"));
        // What a preset says of autovacuum in the log overrides what pgdyno would set.
        let logs_all = fitted(&named("scaleup-9.6"), 180_000, &[]);
        assert_eq!(value(&logs_all, "log_autovacuum_min_duration"), Some("0"));
    }

    /// 4,096 partitions in 100 sessions, spread over 2,000 connections and as many prepared transactions.
    #[test]
    fn locks_are_counted_over_all_connections() {
        let locks = |preset: &str| {
            let (host, data) = (host(24 * GB), storage(100 * GB, None));
            let inputs = Inputs {
                host: &host,
                data: &data,
                wal: None,
                version_num: 180_000,
                clients: 80,
                relations: 8_192,
                key_workers: config::KeyDemand::default(),
                wal_segment_bytes: 16 * MB,
                server_cpus: None,
                purpose: config::Purpose::Oltp,
            };
            let given = BTreeMap::new();
            let fitted =
                fit(&named(preset), &Fit { inputs, side_by_side: 1, block_bytes: 8_192, given: &given });
            value(&fitted, "max_locks_per_transaction").map(str::to_owned)
        };
        assert_eq!(locks("trillion-11").as_deref(), Some("207"), "8,256 x 100 / 4,000");
        assert_eq!(locks("tpcc-9.5").as_deref(), Some("2752"), "8,256 x 100 / 300");
    }

    #[test]
    fn a_file_never_acts_outside_of_its_server() {
        let text = "archive_command = 'cp %p /backup/%f'\nsynchronous_standby_names = '*'\nssl = on\n\
                    shared_buffers = 64GB\nwork_mem = 16MB\nsynchronous_commit = off\n";
        let preset = Preset::of_file("./x.conf", text).expect("it is right");
        let verbatim = fitted(&as_published(preset.clone()), 180_000, &[]);
        for name in ["archive_command", "synchronous_standby_names", "ssl"] {
            assert_eq!(value(&verbatim, name), None, "{name}");
        }
        let archive = verbatim.facts.changes.iter().find(|change| change.name == "archive_command");
        assert_eq!(archive.expect("reported").published, None, "it may hold a secret");
        assert_eq!(value(&verbatim, "synchronous_commit"), Some("off"));
        // 64 GB are taken for a quarter of 256 GB, of which there are 24 here.
        let here = fitted(&preset, 180_000, &[]);
        assert_eq!((value(&here, "shared_buffers"), value(&here, "work_mem")), (Some("6GB"), Some("4MB")));
        let small = Preset::of_file("./x.conf", "shared_buffers = 4GB\nwork_mem = 16MB").expect("right");
        assert_eq!(value(&fitted(&small, 180_000, &[]), "work_mem"), Some("16MB"));
    }

    #[test]
    fn what_the_server_refuses_is_reported() {
        let mut on_18 = fitted(&named("storage-12"), 180_000, &[]);
        on_18.leave_out("wal_keep_size", "no such setting");
        on_18.leave_out("jit_nonsense", "no such setting");
        on_18.leave_out("random_page_cost", "no such value");
        assert_eq!((value(&on_18, "wal_keep_size"), value(&on_18, "random_page_cost")), (None, None));
        assert_eq!(reason(&on_18, "wal_keep_segments"), "no such setting");
        let cost =
            on_18.facts.changes.iter().find(|change| change.name == "random_page_cost").expect("reported");
        assert_eq!((cost.published.as_deref(), cost.used.as_deref()), (Some("1.1"), None));
    }
}
