//! What differs between two hosts.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Inventory;

/// A fact that differs between two hosts, or between two readings of one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Difference {
    /// Where it is in the JSON form, with the names of things in brackets: `devices[sda].scheduler`,
    /// `kernel.sysctls[vm.swappiness]`.
    pub path: String,
    /// The value on the first host; `None` if it is absent there.
    pub a: Option<String>,
    /// The value on the second host; `None` if it is absent there.
    pub b: Option<String>,
}

/// Figures that change all the time, by their paths without what is in brackets.
const VOLATILE: [&str; 14] = [
    "cpu.steal_share",
    "cpu.steal_share_of_wanted",
    "memory.available_bytes",
    "memory.dirty_bytes",
    "memory.page_tables_bytes",
    "memory.committed_bytes",
    "memory.huge_pages[].free",
    "memory.huge_pages[].reserved",
    "memory.swaps[].used_bytes",
    "memory.shm_available_bytes",
    "kernel.cgroup.pressure",
    "kernel.blocked",
    "mounts[].available_bytes",
    "server.pid",
];

/// Structures whose fields are names of the host, and may have any character.
const MAPS: [&str; 5] =
    ["cpu.mitigations", "kernel.sysctls", "network[].offloads", "server.limits", "server.settings"];

/// Fields, by their paths without names, of which null is no missing value: nothing limits.
const UNLIMITED: [&str; 2] = ["server.limits[].soft", "server.limits[].hard"];

/// Kernel parameters that are counters.
const VOLATILE_PARAMETERS: [&str; 2] = ["fs.aio-nr", "fs.file-nr"];

/// The facts that differ, in the order of the inventory. Devices, mounts, interfaces and other things with a name are
/// compared with those of the same name, wherever they are in their list; one that the other host does not have is one
/// difference, its value a JSON object of what is known of it. Figures that change all the time, such as available
/// memory, are left out.
pub fn differences(a: &Inventory, b: &Inventory) -> Vec<Difference> {
    // An inventory has no maps but those with texts as keys, so that its JSON form exists.
    let [a, b] = [a, b].map(|host| serde_json::to_value(host).unwrap_or_default());
    let mut walk = Walk::default();
    walk.values("", "", Some(&a), Some(&b));
    walk.found
}

#[derive(Default)]
struct Walk {
    found: Vec<Difference>,
}

impl Walk {
    /// Compares two values at a path; `pattern` is the path without names.
    fn values(&mut self, path: &str, pattern: &str, a: Option<&Value>, b: Option<&Value>) {
        if a == b || VOLATILE.contains(&pattern) {
            return;
        }
        let kinds = [a, b].map(|one| one.and_then(|one| parts(pattern, one)));
        let is_absent = |one: Option<&Value>| one.and_then(text).is_none();
        match (kinds, kinds[0].or(kinds[1])) {
            // Of two structures, or of one that is absent on the other host, the parts are compared.
            ([of_a, of_b], Some(kind)) if of_a == of_b || is_absent(a) || is_absent(b) => {
                self.parts(path, pattern, kind, a, b);
            }
            _ => {
                let [a, b] = [a, b].map(|one| one.and_then(|one| shown(pattern, one)));
                if a != b {
                    self.found.push(Difference { path: path.to_owned(), a, b });
                }
            }
        }
    }

    fn parts(&mut self, path: &str, pattern: &str, kind: Parts, a: Option<&Value>, b: Option<&Value>) {
        let mut seen = BTreeSet::new();
        let [of_a, of_b] = [a, b].map(|one| one.map(|one| named(kind, one)).unwrap_or_default());
        for (name, _) in of_a.iter().chain(&of_b) {
            let is_left_out = kind == Parts::Keys && VOLATILE_PARAMETERS.contains(&name.as_str());
            if is_left_out || !seen.insert(name.clone()) {
                continue;
            }
            let [in_a, in_b] = [&of_a, &of_b].map(|all| all.iter().find(|(own, _)| own == name));
            let [in_a, in_b] = [in_a, in_b].map(|one| one.map(|(_, value)| *value));
            let (path, pattern) = match kind {
                Parts::Fields if path.is_empty() => (name.clone(), name.clone()),
                Parts::Fields => (format!("{path}.{name}"), format!("{pattern}.{name}")),
                Parts::Keys | Parts::Named => (format!("{path}[{name}]"), format!("{pattern}[]")),
            };
            // A device or a mount that the other host does not have is one difference, not as many as it has fields.
            let is_thing = kind == Parts::Named && in_a.or(in_b).is_some_and(Value::is_object);
            if is_thing && in_a.is_none() != in_b.is_none() {
                let [a, b] = [in_a, in_b].map(|one| one.map(|thing| known(&pattern, thing).to_string()));
                self.found.push(Difference { path, a, b });
                continue;
            }
            self.values(&path, &pattern, in_a, in_b);
        }
    }
}

/// What a value consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Fields of a structure.
    Fields,
    /// Entries of a map, whose keys may have any character.
    Keys,
    /// Elements of a list that have names.
    Named,
}

/// How a value at a path, without names, is taken apart; `None` if it is compared as a whole.
fn parts(pattern: &str, value: &Value) -> Option<Parts> {
    match value {
        Value::Object(_) if MAPS.contains(&pattern) => Some(Parts::Keys),
        Value::Object(_) => Some(Parts::Fields),
        Value::Array(list) => {
            let named = !list.is_empty() && list.iter().all(|one| name(one).is_some());
            named.then_some(Parts::Named)
        }
        _ => None,
    }
}

/// What is known of a thing at a path, without names: its fields but for those that are absent, or change all the time.
fn known(pattern: &str, thing: &Value) -> Value {
    let Value::Object(fields) = thing else { return thing.clone() };
    let known = fields.iter().filter_map(|(name, value)| {
        let pattern = format!("{pattern}.{name}");
        let is_kept = text(value).is_some() && !VOLATILE.contains(&pattern.as_str());
        is_kept.then(|| (name.clone(), known(&pattern, value)))
    });
    known.collect()
}

/// The parts of a value with their names. Of several with one name, the later ones are numbered, and so are those
/// without a name.
fn named(kind: Parts, value: &Value) -> Vec<(String, &Value)> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(list) if kind == Parts::Named => {
            list.iter().map(|one| (name(one).unwrap_or_default(), one)).collect()
        }
        _ => Vec::new(),
    };
    let count_before = |at: usize| parts[..at].iter().filter(|(name, _)| *name == parts[at].0).count();
    let numbered = (0..parts.len()).map(|at| match count_before(at) {
        0 if !parts[at].0.is_empty() => parts[at].clone(),
        before if parts[at].0.is_empty() => (format!("#{}", before + 1), parts[at].1),
        before => (format!("{} #{}", parts[at].0, before + 1), parts[at].1),
    });
    numbered.collect()
}

/// The name of an element of a list: of volumes and arrays that which people use, of other devices, interfaces, swap
/// areas and idle states their name, of mounts the
/// mount point, of others what distinguishes them. Interrupts are pairs that begin with their name.
fn name(element: &Value) -> Option<String> {
    /// Fields that together distinguish the elements of a list.
    const NAMES: [&[&str]; 7] = [
        &["file", "domain", "kind", "item"],
        &["level", "kind"],
        &["name"],
        &["point"],
        &["purpose", "path"],
        &["number"],
        &["page_bytes"],
    ];
    if let Value::Array(pair) = element {
        return pair.first().filter(|_| pair.len() == 2)?.as_str().map(str::to_owned);
    }
    // Numbers of volumes and arrays follow the order in which they were found, and their names stay.
    if let Some(alias) = element.get("alias").and_then(text) {
        return Some(alias);
    }
    let of = |fields: &&[&str]| {
        let field = |name: &&str| element.get(name).map(|value| text(value).unwrap_or_default());
        Some(fields.iter().map(field).collect::<Option<Vec<String>>>()?.join(" "))
    };
    NAMES.iter().find_map(of)
}

/// A value at a path, without names, as a text; `None` if it is absent.
fn shown(pattern: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null if UNLIMITED.contains(&pattern) => Some("unlimited".to_owned()),
        // An element of a list whose place in brackets is its name.
        Value::Array(pair) if pattern.ends_with("[]") && pair.len() == 2 => text(&pair[1]),
        other => text(other),
    }
}

/// A value as a text; `None` if it is absent: null, or an empty text, list or structure.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Array(list) if list.is_empty() => None,
        Value::Array(list) => Some(list.iter().filter_map(text).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) if fields.is_empty() => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::{
        BlockDevice, HugePagePool, Interface, Kernel, Limit, LimitLine, Mount, ServerProcess, Swap,
    };

    fn found(a: &Inventory, b: &Inventory) -> Vec<(String, Option<String>, Option<String>)> {
        differences(a, b).into_iter().map(|of| (of.path, of.a, of.b)).collect()
    }

    fn changed(path: &str, a: Option<&str>, b: Option<&str>) -> (String, Option<String>, Option<String>) {
        (path.to_owned(), a.map(str::to_owned), b.map(str::to_owned))
    }

    fn device(name: &str, scheduler: &str) -> BlockDevice {
        BlockDevice { name: name.into(), scheduler: Some(scheduler.into()), ..BlockDevice::default() }
    }

    #[test]
    fn things_are_compared_by_name() {
        let host = |devices| Inventory { devices, ..Inventory::default() };
        let a = host(vec![device("sda", "none"), device("sdb", "none")]);
        let b = host(vec![device("sdb", "bfq"), device("sda", "none")]);
        assert_eq!(found(&a, &b), [changed("devices[sdb].scheduler", Some("none"), Some("bfq"))]);
        let fewer = host(vec![device("sda", "none")]);
        let [(path, Some(known), None)] = &found(&a, &fewer)[..] else {
            panic!("sdb is missing on one host")
        };
        let known: Value = serde_json::from_str(known).expect("it is JSON");
        let expected =
            serde_json::json!({ "name": "sdb", "kind": "disk", "size_bytes": 0, "scheduler": "none" });
        assert_eq!((path.as_str(), known), ("devices[sdb]", expected));
    }

    #[test]
    fn volumes_are_compared_by_the_names_that_people_use() {
        let volume = |name: &str, alias: &str| BlockDevice {
            name: name.into(),
            alias: Some(alias.into()),
            ..BlockDevice::default()
        };
        let host = |devices| Inventory { devices, ..Inventory::default() };
        let a = host(vec![volume("dm-0", "vg-data"), volume("dm-1", "vg-wal")]);
        let b = host(vec![volume("dm-0", "vg-wal"), volume("dm-1", "vg-data")]);
        let differences = found(&a, &b);
        let expected = [
            changed("devices[vg-data].name", Some("dm-0"), Some("dm-1")),
            changed("devices[vg-wal].name", Some("dm-1"), Some("dm-0")),
        ];
        assert_eq!(differences, expected);
    }

    #[test]
    fn things_without_a_name_are_numbered() {
        let host = |sizes: &[u64]| {
            let swap = |&size_bytes: &u64| Swap { size_bytes, ..Swap::default() };
            let mut host = Inventory::default();
            host.memory.swaps = Some(sizes.iter().map(swap).collect());
            host
        };
        let differences = found(&host(&[1, 2]), &host(&[3, 2]));
        assert_eq!(differences, [changed("memory.swaps[#1].size_bytes", Some("1"), Some("3"))]);
    }

    #[test]
    fn interrupts_are_named_once() {
        let host = |cpus: &str| {
            let mut host = Inventory::default();
            host.interrupts.affinities = vec![("eth0".to_owned(), cpus.to_owned())];
            host
        };
        let differences = found(&host("0"), &host("1"));
        assert_eq!(differences, [changed("interrupts.affinities[eth0]", Some("0"), Some("1"))]);
    }

    #[test]
    fn parameters_and_settings_have_brackets() {
        let host = |swappiness: &str, files: &str, max: Option<u64>| {
            let sysctls = [("vm.swappiness", swappiness), ("fs.file-nr", files)];
            let sysctls = sysctls.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let limits = [("Max open files".to_owned(), Limit { soft: max, hard: None })].into();
            Inventory {
                kernel: Kernel { sysctls, ..Kernel::default() },
                server: Some(ServerProcess { pid: files.len() as u32, limits, ..ServerProcess::default() }),
                ..Inventory::default()
            }
        };
        let (a, b) = (host("1", "5", Some(1024)), host("60", "77", None));
        assert_eq!(
            found(&a, &b),
            [
                changed("kernel.sysctls[vm.swappiness]", Some("1"), Some("60")),
                changed("server.limits[Max open files].soft", Some("1024"), Some("unlimited")),
            ]
        );
    }

    #[test]
    fn what_changes_all_the_time_is_left_out() {
        let host = |now: u64, total| {
            let mut host = Inventory::default();
            host.memory.available_bytes = Some(now);
            host.memory.huge_pages =
                vec![HugePagePool { page_bytes: 2048, total, free: now, ..HugePagePool::default() }];
            host.cpu.steal_share = Some(now as f64);
            host.mounts = vec![Mount { point: "/".into(), available_bytes: Some(now), ..Mount::default() }];
            host
        };
        assert_eq!(found(&host(1, 5), &host(2, 5)), []);
        let path = "memory.huge_pages[2048].total";
        assert_eq!(found(&host(1, 5), &host(2, 6)), [changed(path, Some("5"), Some("6"))]);
    }

    #[test]
    fn lists_without_names_are_compared_as_a_whole() {
        let host = |words: &[&str]| {
            let boot_words = words.iter().map(|&word| word.to_owned()).collect();
            Inventory { kernel: Kernel { boot_words, ..Kernel::default() }, ..Inventory::default() }
        };
        let expected = [changed("kernel.boot_words", Some("ro, quiet"), None)];
        assert_eq!(found(&host(&["ro", "quiet"]), &host(&[])), expected);
    }

    #[test]
    fn lines_of_one_name_are_numbered() {
        let host = |values: &[&str]| {
            let line = |value: &&str| LimitLine {
                item: "nofile".into(),
                value: (*value).into(),
                ..LimitLine::default()
            };
            let mut host = Inventory::default();
            host.login.lines = values.iter().map(line).collect();
            host
        };
        let differences = found(&host(&["1", "2"]), &host(&["1", "3"]));
        assert_eq!(differences, [changed("login.lines[   nofile #2].value", Some("2"), Some("3"))]);
    }

    proptest! {
        #[test]
        fn a_host_equals_itself_in_any_order(names in prop::collection::vec("[a-z]{1,4}", 0..6)) {
            let host = |names: Vec<&String>| {
                let network = names.into_iter().map(|name| Interface { name: name.clone(), ..Interface::default() });
                Inventory { network: network.collect(), ..Inventory::default() }
            };
            let (a, b) = (host(names.iter().collect()), host(names.iter().rev().collect()));
            prop_assert_eq!(differences(&a, &b), vec![]);
        }
    }
}
