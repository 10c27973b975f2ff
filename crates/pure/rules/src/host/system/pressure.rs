//! Memory pressure, swap, and processes that wait for a device.

use pgdyno_core::host::Swap;
use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule of pressure.
pub static PRESSURE: Rule = Rule {
    page: Page {
        name: "pressure",
        also: &["PSI", "memory pressure", "/proc/pressure"],
        what: "Share of the last minute in which processes of the host waited for memory, disks or processors: some, \
               that at least one waited; full, that all waited which had anything to do.",
        today: Today::Kept,
        why: "Waiting for memory means that the kernel has to write or drop pages before it can give any. Waiting \
              for disks and processors is what a load test is for, so it is judged for memory only.",
        danger: "A host that waits for memory a tenth of the time is close to the OOM killer.",
        source: "Linux Documentation/accounting/psi.rst.",
        since_kernel: Some((4, 20)),
        ..Page::EMPTY
    },
    judge: judge_pressure,
};

/// The rule of swap areas.
pub static SWAP: Rule = Rule {
    page: Page {
        name: "swap",
        also: &["zram", "swap area"],
        what: "Where memory goes that is not used for long: a disk, or compressed memory (zram).",
        today: Today::Depends,
        why: "A small area takes what is never used again and gives time to react before the OOM killer does; \
              without one, vm.overcommit_memory = 2 needs a higher ratio. zram on a host of a database takes memory \
              from the page cache. What counts is that sessions are not swapped.",
        danger: "A server whose sessions or shared memory are on a swap disk is slower by orders of magnitude; \
                 explicit huge pages are never swapped.",
        source: "swapon(8); Linux Documentation/admin-guide/blockdev/zram.rst.",
        ..Page::EMPTY
    },
    judge: judge_swap,
};

/// The rule of processes in state D.
pub static BLOCKED: Rule = Rule {
    page: Page {
        name: "blocked-processes",
        also: &["state D", "D state", "uninterruptible sleep"],
        what: "Processes that wait for a device or a file server and cannot be interrupted (state D), with the \
               function of the kernel in which they wait.",
        today: Today::Kept,
        why: "A process in the middle of a read or an fsync is in this state for a moment, which is no fault: a busy \
              server always has some. So `host check` reads it again two seconds later, and only one that has not \
              moved meanwhile counts. It waits for a disk that does not answer, a lost NFS server, or a lock of the \
              kernel: its stack says which.",
        danger: "It cannot be ended, not even by SIGKILL, and a server that waits for it does not stop.",
        source: "proc_pid_stat(5), state D; proc_pid_stack(5).",
        ..Page::EMPTY
    },
    judge: judge_blocked,
};

/// A share of waiting for memory above this is told.
const NOTICED: f64 = 0.05;
/// A process that waits so long in one and the same place is stuck: healthy disks answer within milliseconds.
const STUCK_S: f64 = 1.0;
/// Functions of a stack that are shown.
const SHOWN: usize = 4;

fn judge_pressure(facts: &Facts<'_>) -> Vec<Finding> {
    let memory = facts.host.kernel.cgroup.pressure.iter().find(|pressure| pressure.of == "memory");
    let Some(share) = memory.map(|pressure| pressure.some_share).filter(|share| share.is_finite()) else {
        return Vec::new();
    };
    let present = units::percent(share);
    let text = format!("Processes waited for memory in {present} of the last minute");
    if share > NOTICED {
        let reason = format!("{text}: what runs here needs more than there is.");
        return vec![PRESSURE.finding(Standing::Improve, reason).present(present).on("memory")];
    }
    vec![PRESSURE.finding(Standing::Fine, format!("{text}.")).present(present).on("memory")]
}

fn judge_swap(facts: &Facts<'_>) -> Vec<Finding> {
    let memory = &facts.host.memory;
    if memory.total_bytes == 0 {
        return Vec::new();
    }
    let Some(swaps) = &memory.swaps else {
        return vec![SWAP.finding(Standing::Unknown, "Whether there is a swap area could not be read.")];
    };
    if swaps.is_empty() {
        return SWAP.fine(
            "none",
            "There is no swap area: when memory runs out, page cache goes first, then the OOM killer \
                           decides.",
        );
    }
    let size = |of: fn(&Swap) -> u64, compressed: bool| {
        let areas = swaps.iter().filter(|swap| swap.is_compressed_memory == compressed);
        areas.map(of).fold(0, u64::saturating_add)
    };
    let (used, compressed) = (size(|swap| swap.used_bytes, false), size(|swap| swap.size_bytes, true));
    let present = format!(
        "{} on disks, {} compressed",
        units::bytes(size(|swap| swap.size_bytes, false)),
        units::bytes(compressed)
    );
    if used > memory.total_bytes / 50 {
        let reason = format!(
            "{} are on a swap disk, more than 2 % of the memory: if they belong to sessions, these wait for it.",
            units::bytes(used)
        );
        return vec![SWAP.finding(Standing::Improve, reason).present(present)];
    }
    SWAP.fine(present, format!("{} of the areas on disks are used.", units::bytes(used)))
}

fn judge_blocked(facts: &Facts<'_>) -> Vec<Finding> {
    let blocked = facts.host.kernel.blocked.iter().map(|process| {
        let place = process.waits_in.as_deref().map_or_else(String::new, |function| format!(" in {function}"));
        let stack = process.stack.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(" < ");
        let stack = if stack.is_empty() { String::new() } else { format!(" ({stack})") };
        let text = format!("{} (process id {}) waited{place}{stack}", process.name, process.pid);
        let (standing, reason) = match process.waited_s.filter(|seconds| seconds.is_finite()) {
            Some(seconds) if seconds >= STUCK_S => (
                Standing::Improve,
                format!(
                    "{text} for {} without a pause, and cannot be interrupted: its device or file server is very \
                     slow, or does not answer.",
                    units::duration(seconds)
                ),
            ),
            Some(_) => (
                Standing::Fine,
                format!("{text} at one look and no longer at a second one, as anything does that reads or syncs."),
            ),
            None => (
                Standing::Fine,
                format!("{text} at the only look, as anything does for a moment that reads or syncs."),
            ),
        };
        BLOCKED.finding(standing, reason).on(process.pid.to_string()).present(process.name.as_str())
    });
    blocked.collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::amount::GB;
    use pgdyno_core::host::{BlockedProcess, Inventory, Pressure};

    use super::*;
    use crate::host::testing::{findings, host, standings};

    #[test]
    fn waiting_for_memory_is_told() {
        let mut host = host(&[]);
        assert!(standings(&PRESSURE, &host).is_empty());
        let pressure = |of: &str, some_share| Pressure { of: of.to_owned(), some_share, full_share: None };
        host.kernel.cgroup.pressure = vec![pressure("io", 0.9), pressure("memory", 0.01)];
        assert_eq!(standings(&PRESSURE, &host), [Standing::Fine]);
        host.kernel.cgroup.pressure[1].some_share = 0.2;
        assert_eq!(standings(&PRESSURE, &host), [Standing::Improve]);
    }

    #[test]
    fn swap_on_disks_is_for_what_is_not_used() {
        let mut host = host(&[]);
        assert_eq!(standings(&SWAP, &host), [Standing::Fine]);
        for (used_bytes, is_compressed_memory, expected) in
            [(0, false, Standing::Fine), (4 * GB, false, Standing::Improve), (4 * GB, true, Standing::Fine)]
        {
            let area = Swap { size_bytes: 8 * GB, used_bytes, is_compressed_memory, ..Swap::default() };
            host.memory.swaps = Some(vec![area]);
            assert_eq!(standings(&SWAP, &host), [expected], "{used_bytes} {is_compressed_memory}");
        }
        host.memory.swaps = None;
        assert_eq!(standings(&SWAP, &host), [Standing::Unknown], "unknown is not none");
        assert!(standings(&SWAP, &Inventory::default()).is_empty());
    }

    #[test]
    fn only_what_waits_in_one_place_is_a_fault() {
        let mut host = host(&[]);
        assert!(standings(&BLOCKED, &host).is_empty());
        let blocked = |waited_s| BlockedProcess {
            pid: 7,
            name: "postgres".to_owned(),
            waits_in: Some("folio_wait_bit".to_owned()),
            stack: ["folio_wait_bit", "file_write_and_wait_range"].map(str::to_owned).to_vec(),
            waited_s,
        };
        for (waited_s, expected) in [
            (None, Standing::Fine),
            (Some(0.0), Standing::Fine),
            (Some(f64::NAN), Standing::Fine),
            (Some(2.0), Standing::Improve),
        ] {
            host.kernel.blocked = vec![blocked(waited_s)];
            let found = findings(&BLOCKED, &host);
            assert_eq!(found[0].standing, expected, "{waited_s:?}");
            let expected = "postgres (process id 7) waited in folio_wait_bit (folio_wait_bit < \
                            file_write_and_wait_range) ";
            assert!(found[0].reason.starts_with(expected), "{}", found[0].reason);
        }
    }
}
