//! When the kernel writes dirty pages to disks, and when writers wait for that.
//!
//! The kernel has each limit once: writing its bytes sets its ratio to 0, and the other way round.

use pgdyno_core::{
    facts::amount::MB,
    host::{BlockDevice, DeviceKind, Inventory, Knob},
    units,
};
use pgdyno_settings::here;

use super::{
    remedy::Remedy,
    rule::{Facts, Given, Rule},
};
use crate::{Finding, Page, Today};

const SOURCE: &str = "Linux Documentation/admin-guide/sysctl/vm.rst; mm/page-writeback.c; PostgreSQL manual, \
                      checkpoint_flush_after.";

const WHY: &str = "Dirty pages beyond what the disks write in about half a second only make the next fsync longer. \
                   The recommended value allows 64 MiB for each rotating disk below the server, 128 MiB for each \
                   other disk and 512 MiB for each NVMe disk, at least 64 MiB and at most 10 % of the memory outside \
                   huge pages, and four times as much, at most 20 %, at which writers wait; they are slowed \
                   down from the middle of the two limits on. A virtual machine does not know what rotates, and its \
                   disks share what it may write: together they count as 512 MiB at most, but for NVMe. From a \
                   quarter of a value to four times it is in proportion. Since 9.6 the server asks the kernel to \
                   write early by itself (checkpoint_flush_after, bgwriter_flush_after), so the limits matter mostly \
                   to loads, temporary files, backups and other programs.";

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "vm.dirty_background_bytes",
        what: "Bytes of dirty page cache from which on the kernel writes in the background; 0 where the ratio holds.",
        today: Today::Kept,
        why: WHY,
        danger: "Very low values write pages again and again that would have been overwritten in memory.",
        gain: here(
            "128 MiB instead of 10 % of 24 GiB: no significant difference, -0.05 % [-17, 21] of the TPS of TPC-B \
             with 8 clients",
        ),
        source: SOURCE,
        ..Page::EMPTY
    })
    .judges(judge_background),
    Rule::of(Page {
        name: "vm.dirty_background_ratio",
        what: "Percentage of the memory that can hold dirty pages from which on the kernel writes in the background, \
              10 by default; 0 where vm.dirty_background_bytes holds.",
        today: Today::Depends,
        why: "A percentage grows with the memory and the disks do not: 10 % of 512 GiB are more than a disk writes in \
             a minute. On hosts with more than some GiB bytes are the better unit.",
        source: SOURCE,
        ..Page::EMPTY
    })
    .sysctl(|given, value| judge_ratio(given, value, (BACKGROUND_BYTES, best_background(given)), 10)),
    Rule::of(Page {
        name: "vm.dirty_bytes",
        what: "Bytes of dirty page cache that there may be: processes that write are slowed down from the middle \
              between the background limit and this one on, and wait for the disk here; 0 where the ratio holds.",
        today: Today::Kept,
        why: WHY,
        danger: "Close to the background limit every writer waits; below it, the kernel begins to write at half of \
                it.",
        source: SOURCE,
        ..Page::EMPTY
    })
    .judges(judge_bytes),
    Rule::of(Page {
        name: "vm.dirty_ratio",
        what: "Percentage of the memory for page cache that may be dirty: processes that write are slowed down from \
              the middle between the background limit and this one on, and wait for the disk here; 20 by default, 0 \
              where vm.dirty_bytes holds.",
        today: Today::Depends,
        why: "Published values of 80 and 95 are meant to spare sessions the writing. They put it off: when the limit \
             is reached after all, or a checkpoint syncs, all of it has to be written first.",
        danger: "With 80 or more, most of the memory can become dirty: an fsync may take minutes, and memory cannot \
                be freed without writing.",
        source: SOURCE,
        ..Page::EMPTY
    })
    .sysctl(|given, value| judge_ratio(given, value, (BYTES, best_bytes(given)), 20)),
    Rule::of(Page {
        name: "vm.dirty_expire_centisecs",
        what: "Age in hundredths of a second from which on dirty page cache is written in the background, 3000 (30 s) \
              by default.",
        today: Today::DefaultIsRight,
        why: "The server syncs what must be durable, and asks for early writing by its own *_flush_after settings. \
             What is left to age are temporary files, which are better deleted than written.",
        danger: "Files of programs that never sync are lost for as long after a crash of the host.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst.",
        ..Page::EMPTY
    })
    .sysctl(judge_expire),
    Rule::of(Page {
        name: "vm.dirty_writeback_centisecs",
        what: "Interval in hundredths of a second at which the kernel looks for dirty page cache that is old enough, \
              500 (5 s) by default.",
        today: Today::DefaultIsRight,
        why: "Only the age decides what is written; looking twice a second or once a second instead of every five \
             changes at most when a page of 30 s is found.",
        danger: "0 turns periodic writing off: what no program syncs stays in memory until the limits of dirty bytes \
                are reached.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst.",
        ..Page::EMPTY
    })
    .sysctl(judge_period),
];

const BACKGROUND_BYTES: &str = "vm.dirty_background_bytes";
const BYTES: &str = "vm.dirty_bytes";
/// Ratios above this are no limit that protects anybody.
const HIGHEST_RATIO: u64 = 40;

/// Dirty bytes that the disks of the server write in a short time, so many times over, at most a part of the memory
/// that can hold page cache.
fn best(facts: &Facts<'_>, times: u64, most_percent: u64) -> Option<u64> {
    let usable = facts.bytes_without_huge_pages();
    let bytes = allowance_of_all(facts);
    let most = (usable / 100).saturating_mul(most_percent);
    (bytes > 0 && usable > 0).then(|| bytes.saturating_mul(times).min(most).max(64 * MB * times))
}

/// The recommended limit at which the kernel begins to write.
fn best_background(facts: &Facts<'_>) -> Option<u64> {
    best(facts, 1, 10)
}

/// The recommended limit at which writers wait.
fn best_bytes(facts: &Facts<'_>) -> Option<u64> {
    best(facts, 4, 20)
}

/// The disks of the server, else all disks of the host.
fn disks<'a>(given: &Facts<'a>) -> Vec<&'a BlockDevice> {
    let host = given.host;
    let mounts =
        host.directories.iter().filter_map(|directory| host.mount(directory.mount_point.as_deref()?));
    let mut disks: Vec<&BlockDevice> = Vec::new();
    for disk in mounts.filter_map(|mount| mount.device.as_deref()).flat_map(|device| host.disks_below(device))
    {
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    let all = || {
        let kinds = [DeviceKind::Disk, DeviceKind::Nvme, DeviceKind::Virtual];
        host.devices.iter().filter(|device| kinds.contains(&device.kind) && device.size_bytes > 0).collect()
    };
    if disks.is_empty() { all() } else { disks }
}

/// Dirty bytes that all disks of the server allow. Those of a virtual machine share what it may write, but for NVMe.
fn allowance_of_all(facts: &Facts<'_>) -> u64 {
    let (nvme, other): (Vec<_>, Vec<_>) =
        disks(facts).into_iter().partition(|disk| disk.kind == DeviceKind::Nvme);
    let sum = |disks: Vec<&BlockDevice>| {
        disks.into_iter().map(|disk| allowance(disk, facts.host)).fold(0, u64::saturating_add)
    };
    let most = if facts.host.cpu.hypervisor.is_some() { 512 * MB } else { u64::MAX };
    sum(nvme).saturating_add(sum(other).min(most))
}

fn allowance(disk: &BlockDevice, host: &Inventory) -> u64 {
    match disk.kind {
        DeviceKind::Nvme => 512 * MB,
        _ if host.rotates(disk) == Some(true) => 64 * MB,
        _ => 128 * MB,
    }
}

/// A limit as the kernel has it: once, in bytes or as a percentage, the other one being 0.
struct Limit {
    bytes: u64,
    percent: u64,
}

impl Limit {
    /// Reads the two parameters of a limit. Where one is not 0, the other one is known even if it was not read.
    fn of(facts: &Facts<'_>, bytes: &str, ratio: &str) -> Option<Self> {
        let number = |name: &str| facts.host.sysctl_number(name).and_then(|value| u64::try_from(value).ok());
        let (bytes, percent) = match (number(bytes), number(ratio)) {
            (Some(bytes), Some(percent)) => (bytes, percent),
            (Some(bytes @ 1..), None) => (bytes, 0),
            (None, Some(percent @ 1..)) => (0, percent),
            _ => return None,
        };
        Some(Self { bytes, percent })
    }

    /// The limit in bytes; a ratio is taken of all memory outside huge pages, which is a little more than what the
    /// kernel takes it of.
    fn in_force(&self, facts: &Facts<'_>) -> u64 {
        match self.bytes {
            0 => (facts.bytes_without_huge_pages() / 100).saturating_mul(self.percent),
            bytes => bytes,
        }
    }
}

fn judge_background(given: &Given<'_>) -> Option<Finding> {
    judge_limit(
        given,
        "vm.dirty_background_ratio",
        best_background(given),
        " before the kernel begins to write",
    )
}

fn judge_bytes(given: &Given<'_>) -> Option<Finding> {
    let ratio = "vm.dirty_ratio";
    let most = Limit::of(given, BYTES, ratio).map_or(0, |limit| limit.in_force(given));
    judge_limit(given, ratio, best_bytes(given), &slowed_down(given, most))
}

/// From where on writers are slowed down: the middle between the background limit and this one
/// (`dirty_freerun_ceiling`). A background limit that is not below this one counts as half of it.
fn slowed_down(facts: &Facts<'_>, most: u64) -> String {
    let Some(background) = Limit::of(facts, BACKGROUND_BYTES, "vm.dirty_background_ratio") else {
        return "; writers are slowed down before that".to_owned();
    };
    let background = Some(background.in_force(facts)).filter(|bytes| *bytes < most).unwrap_or(most / 2);
    format!("; writers are slowed down from about {} on", units::bytes(background.midpoint(most)))
}

/// Judges a limit: fine up to four times the recommended value, and not below a quarter of it. A ratio that is too high
/// is reported by its own rule, with the bytes that should replace it.
fn judge_limit(given: &Given<'_>, ratio: &str, best: Option<u64>, then: &str) -> Option<Finding> {
    let Some(limit) = Limit::of(given, given.page.name, ratio) else { return Some(given.unread()) };
    let Some(best) = best else {
        return Some(with_present(given, given.unknown("No disk is known to compute a limit from.")));
    };
    if limit.bytes == 0 && limit.percent > HIGHEST_RATIO {
        return None;
    }
    // A ratio is of what can hold page cache, which is less than the memory.
    let at_most = if limit.bytes == 0 { "At most " } else { "" };
    let limit = limit.in_force(given);
    let text = format!("{at_most}{} may be dirty{then}", units::bytes(limit));
    let wanted = units::bytes(best);
    let finding = match () {
        () if limit > best.saturating_mul(4) => given
            .improve(format!(
                "{text}. The disks of this host should get {wanted}, so that an fsync has less to wait for."
            ))
            .set_sysctl(best),
        () if limit < best / 4 => given
            .improve(format!(
                "{text}. That is too little for the disks of this host: they should get {wanted}."
            ))
            .set_sysctl(best),
        () => given.fine(format!("{text}. That is in proportion to the disks.")),
    };
    Some(with_present(given, finding))
}

/// A finding with the value of its parameter, where that was read and does not only follow from the ratio.
fn with_present(given: &Given<'_>, finding: Finding) -> Finding {
    Finding { present: given.host.sysctl(given.page.name).map(str::to_owned), ..finding }
}

/// Judges a ratio, and its limit in bytes: only the ratio's own faults are reported, all else by the rules of bytes.
fn judge_ratio(given: &Given<'_>, value: u64, (bytes, best): (&str, Option<u64>), default: u64) -> Finding {
    match (value, given.line()) {
        (0, Some(line)) if given.host.sysctl_number(bytes).is_some_and(|set| set > 0) => {
            given.no_effect(format!(
                "{} sets it to {}, but {bytes} is set, and the kernel keeps one of them.",
                line.file, line.value
            ))
        }
        (0, _) => given.fine(format!("{bytes} holds in its place.")),
        (1..=HIGHEST_RATIO, _) => {
            given.fine(format!("It is no extreme value; {bytes} says whether bytes would serve better."))
        }
        _ => too_high(given, value, (bytes, best), default),
    }
}

/// A ratio that protects nothing. Bytes replace it where they can be computed: the default would still grow with the
/// memory, and setting it would put the bytes back to 0.
fn too_high(given: &Given<'_>, percent: u64, (bytes, best): (&str, Option<u64>), default: u64) -> Finding {
    let most = (given.bytes_without_huge_pages() / 100).saturating_mul(percent);
    let text = format!("Up to {} of page cache may be dirty{}", units::bytes(most), slowed_down(given, most));
    match best {
        Some(best) => given
            .improve(format!("{text}. {bytes} limits it by what the disks write, and sets this to 0."))
            .set(Knob::Sysctl(bytes.to_owned()), best)
            .recommend(format!("{bytes} = {best}")),
        None => given.improve(format!("{text}.")).set_sysctl(default),
    }
}

fn judge_expire(given: &Given<'_>, value: u64) -> Finding {
    match value {
        100..=12_000 => given.fine("It is of the order of the default, which is 3000 (30 s)."),
        _ => {
            let reason = "Below a second temporary files are written before they are deleted; above two minutes \
                          files that are never synced are at risk for long.";
            given.improve(reason).set_sysctl(3000)
        }
    }
}

fn judge_period(given: &Given<'_>, value: u64) -> Finding {
    match value {
        0 => {
            let reason = "Periodic writing of dirty pages is off, so that files that are never synced may stay in \
                          memory for hours.";
            given.improve(reason).set_sysctl(500)
        }
        _ => given.fine("The age of pages decides what is written, not how often the kernel looks."),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::amount::GB;

    use super::*;
    use crate::{
        Purpose, Standing,
        host::testing::{changes, check_hosts, check_values, findings, host, standings, with_line},
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Fine, Improve};
        check_values(&[
            ("vm.dirty_ratio", &[("20", Fine), ("95", Improve), ("0", Fine)]),
            ("vm.dirty_background_ratio", &[("10", Fine), ("80", Improve)]),
            (
                "vm.dirty_expire_centisecs",
                &[("3000", Fine), ("6000", Fine), ("10", Improve), ("360000", Improve)],
            ),
            ("vm.dirty_writeback_centisecs", &[("500", Fine), ("50", Fine), ("0", Improve)]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::Unknown;
        check_hosts(&[
            ("vm.dirty_background_bytes", host(&DEFAULTS), &[Unknown]),
            ("vm.dirty_bytes", host(&[]), &[Unknown]),
        ]);
    }

    fn with_disk(sysctls: &[(&str, &str)], kind: DeviceKind) -> Inventory {
        let mut host = host(sysctls);
        let name = "disk".to_owned();
        host.devices = vec![BlockDevice { name, kind, size_bytes: GB, ..BlockDevice::default() }];
        host
    }

    const DEFAULTS: [(&str, &str); 4] = [
        ("vm.dirty_background_bytes", "0"),
        ("vm.dirty_background_ratio", "10"),
        ("vm.dirty_bytes", "0"),
        ("vm.dirty_ratio", "20"),
    ];

    #[test]
    fn limits_follow_the_disks() {
        let nvme = with_disk(&DEFAULTS, DeviceKind::Nvme);
        assert_eq!(changes("vm.dirty_background_bytes", &nvme), [(512 * MB).to_string()]);
        assert_eq!(changes("vm.dirty_bytes", &nvme), [(2048 * MB).to_string()]);
        let virtual_disk = with_disk(&DEFAULTS, DeviceKind::Virtual);
        assert_eq!(changes("vm.dirty_background_bytes", &virtual_disk), [(128 * MB).to_string()]);
    }

    #[test]
    fn a_guest_does_not_know_that_its_disks_rotate() {
        let mut rotating = with_disk(&DEFAULTS, DeviceKind::Disk);
        rotating.devices[0].rotational = Some(true);
        assert_eq!(changes("vm.dirty_background_bytes", &rotating), [(64 * MB).to_string()]);
        rotating.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(changes("vm.dirty_background_bytes", &rotating), [(128 * MB).to_string()]);
    }

    #[test]
    fn disks_of_a_guest_share_what_it_may_write() {
        let best_of = |kind: DeviceKind, hypervisor: Option<&str>| {
            let mut many = with_disk(&DEFAULTS, kind);
            let disk = |number: usize| BlockDevice { name: format!("vd{number}"), ..many.devices[0].clone() };
            many.devices = (0..8).map(disk).collect();
            many.cpu.hypervisor = hypervisor.map(str::to_owned);
            best_background(&Facts { host: &many, purpose: Purpose::Oltp })
        };
        assert_eq!(best_of(DeviceKind::Virtual, None), Some(8 * 128 * MB));
        assert_eq!(best_of(DeviceKind::Virtual, Some("kvm")), Some(512 * MB));
        assert_eq!(best_of(DeviceKind::Nvme, Some("kvm")), Some(8 * 512 * MB));
    }

    #[test]
    fn huge_pages_hold_no_page_cache() {
        let article = [("vm.dirty_ratio", "95"), ("vm.dirty_background_ratio", "0")];
        let mut host = with_disk(&article, DeviceKind::Nvme);
        host.memory.huge_pages[0].total = 24 * 1024;
        // 95 % of the 16 GiB that the 48 GiB of huge pages leave of 64.
        let reason = &findings("vm.dirty_ratio", &host)[0].reason;
        assert!(reason.starts_with("Up to 15.2 GiB of page cache"), "{reason}");
        host.memory.huge_pages[0].total = 31 * 1024;
        // At most 20 % of 2 GiB.
        let most = (2 * GB / 100 * 20).to_string();
        assert_eq!(changes("vm.dirty_ratio", &host), [most]);
    }

    #[test]
    fn writers_are_slowed_down_from_the_middle_on() {
        let on = |sysctls: &[(&str, &str)]| {
            findings("vm.dirty_bytes", &with_disk(sysctls, DeviceKind::Nvme))[0].reason.clone()
        };
        let bytes = ("vm.dirty_bytes", "1073741824");
        for (background, expected) in [
            (&[bytes, ("vm.dirty_background_bytes", "536870912")][..], "slowed down from about 768 MiB on"),
            (&[bytes, ("vm.dirty_background_bytes", "2147483648")], "slowed down from about 768 MiB on"),
            (&[bytes], "slowed down before that"),
            (&DEFAULTS, "At most 12.8 GiB may be dirty; writers are slowed down from about 9.60 GiB on"),
        ] {
            assert!(on(background).contains(expected), "{background:?}: {}", on(background));
        }
    }

    #[test]
    fn one_of_a_pair_shows_the_other() {
        let set = with_disk(&[("vm.dirty_ratio", "20")], DeviceKind::Virtual);
        let of_bytes = &findings("vm.dirty_bytes", &set)[0];
        assert_eq!((of_bytes.present.as_deref(), of_bytes.standing), (None, Standing::Improve));
        assert_eq!(changes("vm.dirty_bytes", &set), [(512 * MB).to_string()]);
        assert_eq!(standings("vm.dirty_ratio", &set), [Standing::Fine]);
        let bytes = with_disk(&[("vm.dirty_bytes", "536870912")], DeviceKind::Virtual);
        assert_eq!(standings("vm.dirty_bytes", &bytes), [Standing::Fine], "the ratio is 0");
        for zero in ["vm.dirty_bytes", "vm.dirty_ratio"] {
            let host = with_disk(&[(zero, "0")], DeviceKind::Virtual);
            assert_eq!(standings("vm.dirty_bytes", &host), [Standing::Unknown], "{zero}");
        }
    }

    #[test]
    fn bytes_replace_a_ratio_that_is_too_high() {
        let set = with_disk(&[("vm.dirty_ratio", "95")], DeviceKind::Virtual);
        assert!(findings("vm.dirty_bytes", &set).is_empty(), "it is reported once");
        let of_ratio = &findings("vm.dirty_ratio", &set)[0];
        assert_eq!(of_ratio.recommended.as_deref(), Some("vm.dirty_bytes = 536870912"));
        let knob = of_ratio.change.as_ref().map(|change| change.knob.clone());
        assert_eq!(
            knob,
            Some(Knob::Sysctl("vm.dirty_bytes".to_owned())),
            "the ratio would put the bytes back to 0"
        );
        assert_eq!(changes("vm.dirty_ratio", &set), [(512 * MB).to_string()]);
    }

    #[test]
    fn limits_in_proportion_are_left() {
        let mut host = with_disk(&DEFAULTS, DeviceKind::Nvme);
        host.memory.total_bytes = 4 * GB;
        assert_eq!(standings("vm.dirty_background_bytes", &host), [Standing::Fine], "10 % of 4 GiB");
        let article = [("vm.dirty_background_bytes", "409600000"), ("vm.dirty_background_ratio", "0")];
        assert_eq!(
            standings("vm.dirty_background_bytes", &with_disk(&article, DeviceKind::Nvme)),
            [Standing::Fine]
        );
        let tiny = [("vm.dirty_background_bytes", "8192"), ("vm.dirty_background_ratio", "0")];
        assert_eq!(
            standings("vm.dirty_background_bytes", &with_disk(&tiny, DeviceKind::Nvme)),
            [Standing::Improve]
        );
    }

    #[test]
    fn high_ratios_are_no_limit() {
        assert_eq!(changes("vm.dirty_ratio", &host(&[("vm.dirty_ratio", "95")])), ["20"]);
    }

    #[test]
    fn a_ratio_next_to_bytes_does_nothing() {
        let set = host(&[("vm.dirty_ratio", "0"), ("vm.dirty_bytes", "1073741824")]);
        assert_eq!(standings("vm.dirty_ratio", &set), [Standing::Fine]);
        assert_eq!(
            standings("vm.dirty_ratio", &with_line(set, "vm.dirty_ratio", "80")),
            [Standing::NoEffect]
        );
    }
}
