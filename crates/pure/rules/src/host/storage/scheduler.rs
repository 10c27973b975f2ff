//! The I/O scheduler of a disk.

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Knob};

use super::scope::{disks, sysfs};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today, measured::here};

/// `queue/scheduler`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "scheduler",
        also: &["queue/scheduler", "I/O scheduler", "mq-deadline", "kyber", "bfq"],
        what: "The I/O scheduler orders the requests that wait for a disk.",
        today: Today::Depends,
        why: "NVMe and paravirtual disks do best with none: they reorder by themselves or hand on to a host that \
              does, and a scheduler costs CPU time per request. A rotating disk needs mq-deadline, which bounds \
              how long a read waits behind writes of a checkpoint. Both are right for a SATA or SAS SSD. bfq is \
              made for fairness between programs of a desktop and is expensive per request. Volumes of LVM and \
              arrays have no scheduler of their own.",
        gain: here(
            "mq-deadline instead of none: no difference could be told, -0.3 % [-8.1, 8.1] of the TPS of TPC-B with 8 \
             clients on a virtio disk",
        ),
        source: "Linux Documentation/block/deadline-iosched.rst, bfq-iosched.rst and switching-sched.rst.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    disks(facts.host).into_iter().filter_map(|disk| judge_disk(disk, facts.host)).collect()
}

fn judge_disk(disk: &BlockDevice, host: &Inventory) -> Option<Finding> {
    let present = disk.scheduler.as_deref()?;
    let is_fast = matches!(disk.kind, DeviceKind::Nvme | DeviceKind::Virtual);
    if !is_fast {
        // Where not even the kernel tells whether a disk rotates, nothing is said.
        disk.rotational?;
    }
    let rotates = !is_fast && host.rotates(disk) == Some(true);
    let (wanted, why) = match present {
        "none" | "noop" if rotates => (
            ["mq-deadline", "deadline"],
            "The disk rotates: without a scheduler reads wait behind all writes of a checkpoint.",
        ),
        "bfq" | "cfq" if rotates => (
            ["mq-deadline", "deadline"],
            "It shares the disk fairly between programs, which a server does not need.",
        ),
        "bfq" | "cfq" => {
            (["none", "noop"], "It costs CPU time per request, and the disk needs no order of requests.")
        }
        "mq-deadline" | "deadline" | "kyber" if disk.kind == DeviceKind::Nvme => (
            ["none", "noop"],
            "An NVMe disk has queues of its own and needs no order of requests; the gain was \
                                not measured here.",
        ),
        _ => {
            let reason = match (rotates, is_fast) {
                (true, _) => "It fits a rotating disk.",
                (_, true) if !matches!(present, "none" | "noop") => {
                    "The disk needs no order of requests: none would save some CPU time for each, which could not be \
                     told from noise where we measured it."
                }
                (_, true) => "It fits a disk that orders requests by itself.",
                _ => "It fits this disk.",
            };
            return Some(RULE.finding(Standing::Fine, reason).about(&disk.name).seen(present));
        }
    };
    let chosen = wanted.into_iter().find(|name| disk.schedulers.iter().any(|other| other == name))?;
    Some(
        RULE.finding(Standing::Improve, why)
            .about(&disk.name)
            .seen(present)
            .better(chosen)
            .by(Knob::Sysfs(sysfs(disk, "queue/scheduler")), chosen),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{device, judged, mount, mounted};

    fn host(kind: DeviceKind, rotational: bool, scheduler: &str) -> Inventory {
        let disk = BlockDevice {
            rotational: Some(rotational),
            scheduler: Some(scheduler.to_owned()),
            schedulers: ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec(),
            ..device("sda", kind, &[])
        };
        mounted(mount("ext4", Some("sda"), ""), vec![disk])
    }

    #[test]
    fn the_kind_of_the_disk_decides() {
        for (kind, rotational, scheduler, recommended) in [
            (DeviceKind::Nvme, false, "none", None),
            (DeviceKind::Nvme, false, "mq-deadline", Some("none")),
            (DeviceKind::Nvme, false, "bfq", Some("none")),
            (DeviceKind::Virtual, true, "none", None),
            (DeviceKind::Virtual, true, "mq-deadline", None),
            (DeviceKind::Virtual, true, "bfq", Some("none")),
            (DeviceKind::Disk, true, "mq-deadline", None),
            (DeviceKind::Disk, true, "none", Some("mq-deadline")),
            (DeviceKind::Disk, true, "bfq", Some("mq-deadline")),
            (DeviceKind::Disk, false, "none", None),
            (DeviceKind::Disk, false, "mq-deadline", None),
        ] {
            let findings = judged(&RULE, &host(kind, rotational, scheduler));
            assert_eq!(findings.len(), 1, "{kind:?} {scheduler}");
            assert_eq!(findings[0].object, "sda");
            assert_eq!(findings[0].recommended.as_deref(), recommended, "{kind:?} {rotational} {scheduler}");
            let change = findings[0].change.as_ref();
            assert_eq!(change.map(|change| change.value.as_str()), recommended);
            if let Some(change) = change {
                assert_eq!(change.knob, Knob::Sysfs("/sys/block/sda/queue/scheduler".to_owned()));
            }
        }
    }

    #[test]
    fn a_guest_does_not_know_whether_its_disk_rotates() {
        let mut guest = host(DeviceKind::Disk, true, "none");
        guest.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(judged(&RULE, &guest)[0].standing, Standing::Fine);
    }

    #[test]
    fn nothing_is_recommended_that_the_kernel_lacks_or_that_is_unknown() {
        let mut lacking = host(DeviceKind::Disk, true, "none");
        lacking.devices[0].schedulers = vec!["none".to_owned()];
        assert_eq!(judged(&RULE, &lacking), []);
        lacking.devices[0].scheduler = None;
        assert_eq!(judged(&RULE, &lacking), []);
    }
}
