//! The hosts under `reference/hosts`. `PGDYNO_BLESS=1 cargo test -p pgdyno-core --test hosts` writes them in
//! the form that the program writes.

#![allow(clippy::disallowed_methods, reason = "the crate is pure, its tests read files")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use pgdyno_core::host::{Inventory, differences};

fn hosts() -> BTreeMap<PathBuf, String> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../reference/hosts");
    let entries = fs::read_dir(dir).expect("the directory is there").flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.map(|path| (path.clone(), fs::read_to_string(path).expect("it can be read"))).collect()
}

fn read(path: &std::path::Path, text: &str) -> Inventory {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_host_is_read_and_written_back() {
    let hosts = hosts();
    assert!(hosts.len() >= 6);
    for (path, text) in hosts {
        let host = read(&path, &text);
        let written = serde_json::to_string_pretty(&host).expect("plain data") + "\n";
        if std::env::var_os("PGDYNO_BLESS").is_some() {
            fs::write(&path, &written).expect("it can be written");
        } else {
            assert!(written == text, "{} is written as:\n{written}", path.display());
        }
        assert_eq!(read(&path, &written), host);
    }
}

/// Names that lead nowhere would make rules and reports silent.
#[test]
fn names_within_a_host_lead_somewhere() {
    for (path, text) in hosts() {
        let host = read(&path, &text);
        let parents = host.devices.iter().flat_map(|device| &device.parents);
        let devices = host.mounts.iter().filter_map(|mount| mount.device.as_ref()).chain(parents);
        for name in devices {
            assert!(host.device(name).is_some(), "{}: no device {name}", path.display());
        }
        for point in host.directories.iter().filter_map(|directory| directory.mount_point.as_deref()) {
            assert!(host.mount(point).is_some(), "{}: no mount {point}", path.display());
        }
    }
}

#[test]
fn the_two_machines_of_an_article_differ_in_what_it_says() {
    let hosts: BTreeMap<String, Inventory> = hosts()
        .iter()
        .map(|(path, text)| {
            (path.file_stem().expect("a name").to_string_lossy().into_owned(), read(path, text))
        })
        .collect();
    let found = differences(&hosts["article-000-local-ssd"], &hosts["article-000-cloud-disks"]);
    let of = |path: &str| {
        found.iter().find(|one| one.path == path).map(|one| (one.a.as_deref(), one.b.as_deref()))
    };
    assert_eq!(of("cpu.logical"), Some((Some("64"), Some("52"))));
    assert_eq!(of("memory.total_bytes"), Some((Some("549755813888"), Some("206158430208"))));
    let second = of("mounts[/data02]").and_then(|(first, second)| second.filter(|_| first.is_none()));
    assert!(second.is_some_and(|mount| mount.contains("\"options\":[\"rw\",\"noatime\"")), "{second:?}");
    assert!(found.iter().all(|one| !one.path.starts_with("kernel.sysctls")), "they are set up alike");
}
