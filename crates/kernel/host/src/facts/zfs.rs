//! Properties of ZFS datasets. No file shows them: the interface that OpenZFS promises is its own command (zfs-get(8),
//! zpool-get(8)), which asks the kernel through `/dev/zfs` and needs no privileges.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use pgdyno_core::host::{Mount, ZfsDataset};

use super::program;

/// The properties of a dataset.
const OF_DATASET: &str = "recordsize,primarycache,logbias,atime,compression,sync";

/// Names with their properties.
type Properties = BTreeMap<String, BTreeMap<String, String>>;

/// Adds its properties to each mount of ZFS. Where the command is missing or silent, they stay unknown.
pub(super) fn read(root: &Path, mounts: &mut [Mount]) {
    let is_zfs = |mount: &&mut Mount| mount.filesystem == "zfs";
    let datasets: BTreeSet<String> =
        mounts.iter_mut().filter(is_zfs).map(|mount| mount.source.clone()).collect();
    if datasets.is_empty() {
        return;
    }
    let pools = datasets.iter().map(|dataset| pool_of(dataset).to_owned()).collect();
    let of_datasets = get(root, "zfs", OF_DATASET, &datasets);
    let of_pools = get(root, "zpool", "ashift", &pools);
    for mount in mounts.iter_mut().filter(is_zfs) {
        let ashift = of_pools.get(pool_of(&mount.source)).and_then(ashift);
        mount.zfs = of_datasets.get(&mount.source).map(|of| dataset(of, ashift));
    }
}

/// The pool of a dataset or a snapshot: the first part of its name.
fn pool_of(dataset: &str) -> &str {
    dataset.split(['/', '@']).next().unwrap_or(dataset)
}

fn dataset(of: &BTreeMap<String, String>, ashift: Option<u8>) -> ZfsDataset {
    let text = |name: &str| of.get(name).filter(|value| *value != "-").cloned();
    ZfsDataset {
        record_bytes: text("recordsize").and_then(|bytes| bytes.parse().ok()),
        ashift,
        primary_cache: text("primarycache"),
        log_bias: text("logbias"),
        atime: text("atime"),
        compression: text("compression"),
        sync: text("sync"),
    }
}

/// 0 means that each device of the pool chose its own, which is not reported.
fn ashift(of: &BTreeMap<String, String>) -> Option<u8> {
    of.get("ashift")?.parse().ok().filter(|shift| *shift > 0)
}

/// Asks for properties; one that a version does not know fails the whole question, and leaves them unknown.
fn get(root: &Path, program: &str, properties: &str, of: &BTreeSet<String>) -> Properties {
    let of = of.iter().map(String::as_str);
    let arguments = ["get", "-H", "-p", "-o", "name,property,value", properties].into_iter().chain(of);
    parse(&program::answer(root, program, arguments).unwrap_or_default())
}

/// Lines of name, property and value, separated by tabs (`-H`), with exact numbers (`-p`).
fn parse(text: &str) -> Properties {
    let mut all = Properties::new();
    for line in text.lines() {
        let mut fields = line.split('\t').map(str::to_owned);
        if let (Some(name), Some(property), Some(value)) = (fields.next(), fields.next(), fields.next()) {
            all.entry(name).or_default().insert(property, value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{program::tests::with_programs, *};

    fn mount(filesystem: &str, source: &str) -> Mount {
        Mount { filesystem: filesystem.to_owned(), source: source.to_owned(), ..Mount::default() }
    }

    #[test]
    fn each_dataset_gets_its_properties_and_the_sector_of_its_pool() {
        let root = with_programs(&[
            (
                "zfs",
                "test \"$*\" = 'get -H -p -o name,property,value \
                 recordsize,primarycache,logbias,atime,compression,sync tank/data tank/wal' || exit 1\n\
                 printf 'tank/data\\trecordsize\\t8192\\ntank/data\\tcompression\\tlz4\\n'\n\
                 printf 'tank/data\\tatime\\toff\\ntank/wal\\trecordsize\\t-\\ntank/wal\\tsync\\tdisabled\\n'",
            ),
            (
                "zpool",
                "test \"$*\" = 'get -H -p -o name,property,value ashift tank' || exit 1\n\
                 printf 'tank\\tashift\\t12\\n'",
            ),
        ]);
        let mut mounts = [mount("ext4", "/dev/sda"), mount("zfs", "tank/wal"), mount("zfs", "tank/data")];
        read(root.path(), &mut mounts);
        assert_eq!(mounts[0].zfs, None);
        let wal = ZfsDataset { ashift: Some(12), sync: Some("disabled".to_owned()), ..ZfsDataset::default() };
        assert_eq!(mounts[1].zfs.as_ref(), Some(&wal));
        let data = mounts[2].zfs.as_ref().expect("it was reported");
        assert_eq!((data.record_bytes, data.ashift), (Some(8192), Some(12)));
        assert_eq!((data.compression.as_deref(), data.atime.as_deref()), (Some("lz4"), Some("off")));
    }

    #[test]
    fn what_is_not_reported_stays_unknown() {
        let mut mounts = [mount("zfs", "tank")];
        read(with_programs(&[]).path(), &mut mounts);
        assert_eq!(mounts[0].zfs, None, "there is no command");
        read(with_programs(&[("zfs", "echo 'internal error' >&2; exit 1")]).path(), &mut mounts);
        assert_eq!(mounts[0].zfs, None, "it fails");
        let chosen = "printf 'tank\\tashift\\t0\\n'";
        let dataset = "printf 'tank\\trecordsize\\t131072\\n'";
        read(with_programs(&[("zpool", chosen), ("zfs", dataset)]).path(), &mut mounts);
        let zfs = mounts[0].zfs.as_ref().expect("it was reported");
        assert_eq!((zfs.record_bytes, zfs.ashift), (Some(131_072), None));
    }

    #[test]
    fn nobody_waits_for_a_suspended_pool() {
        let late = "sleep 20; printf 'tank\\trecordsize\\t131072\\n'";
        let mut mounts = [mount("zfs", "tank")];
        read(with_programs(&[("zfs", late)]).path(), &mut mounts);
        assert_eq!(mounts[0].zfs, None, "its answer came too late");
    }
}
