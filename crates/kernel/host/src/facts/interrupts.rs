//! How interrupts of disks and network interfaces are spread: `/proc/interrupts` and `/proc/irq`
//! (Documentation/core-api/irq/irq-affinity.rst).

use std::path::Path;

use pgdyno_core::{
    cpus::{CpuList, MAX_CPU},
    host::{Interface, InterruptBalance},
};

use super::file::{first_line, text};
use super::processes::Processes;

/// Most interrupts that are kept.
const MOST_INTERRUPTS: usize = 512;

/// Beginnings of the names that drivers of storage give to their interrupts.
const OF_DISKS: [&str; 14] = [
    "nvme", "ahci", "ata_", "megasas", "megaraid", "mpt2sas", "mpt3sas", "aacraid", "hpsa", "smartpqi",
    "qla2xxx", "lpfc", "blkif", "storvsc",
];
/// Beginnings of the names that drivers of networks give, where the name of the interface is not in them.
const OF_NETWORKS: [&str; 6] = ["mlx4", "mlx5", "ena-", "bnxt", "i40e", "vmxnet3"];
/// Queues of virtio devices: of disks, SCSI hosts and network interfaces.
const OF_VIRTIO: [&str; 4] = ["-req", "-request", "-input.", "-output."];

pub(super) fn read(root: &Path, network: &[Interface], processes: &Processes) -> InterruptBalance {
    let default_affinity = first_line(root, "proc/irq/default_smp_affinity");
    let table = text(root, "proc/interrupts").unwrap_or_default();
    let wanted = interrupts(&table).filter(|(_, name)| is_of_interest(name, network)).take(MOST_INTERRUPTS);
    let affinities = wanted.filter_map(|(number, name)| {
        let affinity = first_line(root, &format!("proc/irq/{number}/smp_affinity_list"))?;
        Some((name.to_owned(), affinity))
    });
    InterruptBalance {
        irqbalance_runs: processes.irqbalance_runs,
        default_affinity: default_affinity.map(|mask| list_of_mask(&mask).unwrap_or(mask)),
        affinities: affinities.collect(),
    }
}

/// Number and name of each numbered interrupt; the name of the device is the last word of its line.
fn interrupts(table: &str) -> impl Iterator<Item = (u32, &str)> {
    table.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let name = rest.split_whitespace().next_back()?;
        Some((number.trim().parse().ok()?, name))
            .filter(|(_, name)| !name.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn is_of_interest(name: &str, network: &[Interface]) -> bool {
    let is_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let is_of_interface = || {
        let mut parts = name.split(['-', '@', ':']);
        parts.any(|part| network.iter().any(|interface| interface.name == part))
    };
    let is_of_virtio = || name.starts_with("virtio") && OF_VIRTIO.iter().any(|part| name.contains(part));
    is_of(&OF_DISKS) || is_of(&OF_NETWORKS) || is_of_virtio() || is_of_interface()
}

/// A mask in hexadecimal, in groups of 32 bits with commas, as the list of its CPUs; `None` if it is none or empty.
fn list_of_mask(mask: &str) -> Option<String> {
    let digits = mask.bytes().filter(|byte| *byte != b',').rev();
    let mut cpus = Vec::new();
    for (first, digit) in (0..=MAX_CPU).step_by(4).zip(digits) {
        let bits = char::from(digit).to_digit(16)?;
        cpus.extend((0..4).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
    }
    CpuList::of(cpus).map(|list| list.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    const TABLE: &str = "           CPU0       CPU1
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 33:          0          0 PCI-MSIX-0000:00:05.0   0-edge      virtio4-config
 36:          0   47422224 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 38:          0      30109 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
 40:          0          0   PCI-MSI 1-edge      nvme0q1
 41:          0          0   PCI-MSI 2-edge      i40e-ens1f0-TxRx-0
 42:          0          0   PCI-MSI 3-edge      eth0-Tx-Rx-1
 43:          0          0   PCI-MSI 3-edge      eth01-Tx-Rx-1
NMI:          0          0   Non-maskable interrupts
ERR:          0
";

    #[test]
    fn interrupts_of_disks_and_networks_are_read() {
        let root = tree(&[
            ("proc/interrupts", TABLE),
            ("proc/irq/default_smp_affinity", "f,00000003\n"),
            ("proc/irq/36/smp_affinity_list", "0-1\n"),
            ("proc/irq/38/smp_affinity_list", "1\n"),
            ("proc/irq/40/smp_affinity_list", "0\n"),
            ("proc/irq/42/smp_affinity_list", "1\n"),
            ("proc/irq/43/smp_affinity_list", "1\n"),
            ("proc/irq/33/smp_affinity_list", "1\n"),
        ]);
        let interface = Interface { name: "eth0".into(), ..Interface::default() };
        let found = read(root.path(), &[interface], &Processes::default());
        let pairs: Vec<_> =
            found.affinities.iter().map(|(name, cpus)| (name.as_str(), cpus.as_str())).collect();
        let expected =
            [("virtio1-req.0", "0-1"), ("virtio2-input.0", "1"), ("nvme0q1", "0"), ("eth0-Tx-Rx-1", "1")];
        assert_eq!(pairs, expected);
        assert_eq!(found.default_affinity.as_deref(), Some("0-1,32-35"));
    }

    #[test]
    fn masks_are_lists() {
        for (mask, list) in [
            ("3", Some("0-1")),
            ("ffffffff,ffffffff", Some("0-63")),
            ("00000001,00000000", Some("32")),
            ("0", None),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(list_of_mask(mask).as_deref(), list, "{mask}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}", mask in "[0-9a-f,]{0,3000}") {
            let _ = interrupts(&text).count();
            let _ = (list_of_mask(&text), list_of_mask(&mask), is_of_interest(&text, &[]));
        }
    }
}
