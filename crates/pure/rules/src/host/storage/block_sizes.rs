//! Block sizes of the whole stack.

use pgdyno_core::host::{Inventory, Mount};
use pgdyno_core::units::bytes;

use super::scope::{judge_each, mounts, server_block_bytes};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// Block sizes of the stack.
pub static RULE: Rule = Rule {
    page: Page {
        name: "block sizes",
        also: &["block size of the stack"],
        what: "The block of the server, the record or block of the file system, the chunk of stripes, and the \
               physical block of disks.",
        today: Today::Kept,
        why: "A block of the server should be a multiple of the file system's block and of the physical block, and a \
              chunk a multiple of the block of the server, so that a block can lie on one disk. File systems allocate \
              in blocks of their own, mostly of 4 KiB, so that a file may begin in the middle of a chunk: the larger \
              chunks are, the fewer blocks lie on two disks. The advice to make stripes as small as a block cuts all \
              larger requests besides.",
        source: "PostgreSQL manual, Installation from Source Code, --with-blocksize; Linux \
                 Documentation/ABI/stable/sysfs-block.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let server = server_block_bytes(facts.host);
    judge_each(mounts(facts.host), |mount| {
        let layers = layers(facts.host, mount);
        let present = std::iter::once(format!("server {}", bytes(server)))
            .chain(layers.iter().map(|layer| format!("{} {}", layer.what, bytes(layer.bytes))))
            .collect::<Vec<_>>()
            .join(", ");
        let wrong = layers.iter().find(|layer| !layer.fits(server));
        Some(match (wrong, layers.is_empty()) {
            (_, true) => return None,
            (Some(layer), _) => RULE.finding(Standing::Improve, layer.fault(server)).seen(present),
            (None, _) => RULE
                .finding(
                    Standing::Fine,
                    "A block of the server has whole blocks of all layers, and can lie on one \
                     disk.",
                )
                .seen(present),
        })
    })
}

/// A layer below the server.
struct Layer {
    what: String,
    bytes: u64,
    /// Whether it holds several blocks, so that its size is a multiple of theirs, and not the reverse.
    is_container: bool,
}

impl Layer {
    fn fits(&self, server: u64) -> bool {
        match self.is_container {
            true => self.bytes.is_multiple_of(server),
            false => server.is_multiple_of(self.bytes),
        }
    }

    fn fault(&self, server: u64) -> String {
        match self.is_container {
            true => format!("The {} of {} splits blocks of {}.", self.what, bytes(self.bytes), bytes(server)),
            false => format!(
                "A block of {} does not fill the {} of {}.",
                bytes(server),
                self.what,
                bytes(self.bytes)
            ),
        }
    }
}

/// The layers whose sizes are known, from the top down.
fn layers(host: &Inventory, mount: &Mount) -> Vec<Layer> {
    let record = mount.zfs.as_ref().and_then(|zfs| zfs.record_bytes);
    let block = mount.block_bytes.filter(|_| mount.filesystem != "zfs");
    let mut layers = Vec::new();
    let mut add = |what: &str, bytes: Option<u64>, is_container| {
        if let Some(bytes) = bytes.filter(|&bytes| bytes > 0) {
            layers.push(Layer { what: what.to_owned(), bytes, is_container });
        }
    };
    add("record", record, true);
    add("block of the file system", block, false);
    for device in mount.device.as_deref().map(|name| host.stack(name)).unwrap_or_default() {
        let chunk = device.stripe.as_ref().map(|stripe| stripe.chunk_bytes);
        add(&format!("chunk of {}", device.name), chunk, true);
        if device.parents.is_empty() {
            add(&format!("physical block of {}", device.name), device.physical_block_bytes, false);
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Stripe, ZfsDataset};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted, standings, with_setting};

    fn host(block_bytes: u64, chunk_bytes: u64, physical: u64) -> Inventory {
        let mut mount = mount("xfs", Some("md0"), "rw");
        mount.block_bytes = Some(block_bytes);
        let stripe = Some(Stripe { level: "raid0".to_owned(), members: 1, chunk_bytes });
        let array = BlockDevice { stripe, ..device("md0", DeviceKind::Md, &["sda"]) };
        let disk =
            BlockDevice { physical_block_bytes: Some(physical), ..device("sda", DeviceKind::Disk, &[]) };
        mounted(mount, vec![array, disk])
    }

    #[test]
    fn layers_are_compared() {
        for (block, chunk, physical, expected) in [
            (4096, 65536, 4096, Standing::Fine),
            (4096, 8192, 512, Standing::Fine),
            (4096, 4096, 512, Standing::Improve),
            (16384, 65536, 512, Standing::Improve),
            (4096, 65536, 16384, Standing::Improve),
        ] {
            assert_eq!(
                standings(&RULE, &host(block, chunk, physical)),
                [expected],
                "{block} {chunk} {physical}"
            );
        }
        let said = judged(&RULE, &host(4096, 4096, 512)).remove(0);
        assert_eq!(said.reason, "The chunk of md0 of 4 KiB splits blocks of 8 KiB.");
        assert_eq!(
            said.present.as_deref(),
            Some(
                "server 8 KiB, block of the file system 4 KiB, chunk of md0 4 KiB, physical block of sda 512 B"
            )
        );
    }

    #[test]
    fn large_blocks_of_the_server_need_large_chunks() {
        // The last article: blocks of 32 KiB over stripes and records of 8 KiB.
        assert_eq!(
            standings(&RULE, &with_setting(host(4096, 8192, 512), "block_size", "32768")),
            [Standing::Improve]
        );
        let mut dataset = mount("zfs", None, "rw");
        dataset.block_bytes = Some(131_072);
        dataset.zfs = Some(ZfsDataset { record_bytes: Some(8192), ..ZfsDataset::default() });
        let on_zfs = mounted(dataset, Vec::new());
        assert_eq!(standings(&RULE, &on_zfs), [Standing::Fine]);
        assert_eq!(standings(&RULE, &with_setting(on_zfs, "block_size", "32768")), [Standing::Improve]);
    }

    #[test]
    fn without_sizes_nothing_is_claimed() {
        assert_eq!(standings(&RULE, &mounted(mount("xfs", None, "rw"), Vec::new())), []);
        assert_eq!(standings(&RULE, &mounted(mount("xfs", Some("sda"), "rw"), Vec::new())), []);
    }
}
