//! When the kernel reclaims memory, swaps, and ends processes.

use pgdyno_core::{facts::amount::KB, host::Swap, units};

use super::{
    remedy::Remedy,
    rule::{Given, Rule},
};
use crate::{Finding, Page, Purpose, Standing, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "vm.swappiness",
        what: "How readily the kernel swaps out anonymous memory instead of dropping page cache, 0 to 200 (to 100 \
              before Linux 5.8).",
        today: Today::Kept,
        why: "Memory of sessions that is read back from a disk costs milliseconds, so a dedicated server on disk swap \
             wants a low value: 1 for short transactions, 10 where reports and loads live on the page cache. Without \
             a swap area the value decides nothing, and on compressed memory (zram) swapping is cheap and the default \
             of 60 or more is right.",
        danger: "0 does not turn swap off: since Linux 3.5 the kernel then swaps only when it can hardly do anything \
                else, so the OOM killer may end a process while swap is still free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst; commit fe35004fbf9e (Linux 3.5).",
        ..Page::EMPTY
    })
    .expected_sysctl(judge_swappiness),
    Rule::of(Page {
        name: "vm.min_free_kbytes",
        what: "Memory in KiB that the kernel keeps free for requests that cannot wait, such as packets that arrive.",
        today: Today::Depends,
        why: "The kernel computes it from the memory, as the root of 16 × KiB, at most 64 MiB before Linux 5.8 and \
             256 MiB since, and raises it for transparent huge pages. More is worth having only where the log of the \
             kernel shows failed allocations of network or storage drivers; 1 GiB for each 32 GiB, as often \
             published, takes 3 % of the memory from the page cache.",
        danger: "Below 1 MiB the host breaks under load. Too high, it leaves too little memory and the OOM killer \
                ends processes at once.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst; mm/page_alloc.c, init_per_zone_wmark_min; commit \
                ee8eb9a5fe86 (Linux 5.8).",
        ..Page::EMPTY
    })
    .expected_sysctl(judge_min_free),
    Rule::of(Page {
        name: "vm.extra_free_kbytes",
        what: "Memory between the watermarks at which reclaim in the background begins and ends, in kernels of \
              Android and of Red Hat Enterprise Linux 6.",
        today: Today::Obsolete,
        why: "Linux never had it: the patch was proposed in 2011 and not taken. What it was for, waking reclaim \
             earlier, is vm.watermark_scale_factor since Linux 4.6, whose default is right for nearly every host.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor; commit 795ae7a0de6b (Linux \
                4.6).",
        ..Page::EMPTY
    })
    .judges(judge_extra_free),
    Rule::of(Page {
        name: "vm.watermark_scale_factor",
        what: "Distance between the watermarks at which the kernel begins to free memory in the background and stops, \
              in ten-thousandths of the memory; 10 by default, which is 0.1 %.",
        today: Today::DefaultIsRight,
        why: "A larger distance begins earlier and frees more at a time, so that fewer processes have to free memory \
             themselves when much is requested at once. It is worth trying where /proc/vmstat shows that allocstall_* \
             or kswapd_low_wmark_hit_quickly keep growing; what lies between the watermarks is lost to the page \
             cache.",
        danger: "At some hundreds, several per cent of the memory are kept free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor; commit 795ae7a0de6b (Linux \
                4.6).",
        since_kernel: Some((4, 6)),
        ..Page::EMPTY
    })
    .sysctl(judge_watermarks),
    Rule::of(Page {
        name: "vm.vfs_cache_pressure",
        what: "How readily the kernel frees what it remembers of directories and inodes, compared with page cache; \
              100 by default.",
        today: Today::DefaultIsRight,
        why: "A server has some ten thousands of files and opens them rarely, so that neither more nor less of it \
             matters. Published values of 50 or 200 are for file servers.",
        danger: "With 0 they are never freed, which can use up the memory; far above 100, searching for what can be \
                freed takes locks that others wait for.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, vfs_cache_pressure.",
        ..Page::EMPTY
    })
    .sysctl(judge_cache_pressure),
    Rule::of(Page {
        name: "vm.lowmem_reserve_ratio",
        what: "How much of each low memory zone is kept from requests that could be served by a higher one: one part \
              in so many, for each zone; 0 keeps nothing.",
        today: Today::DefaultIsRight,
        why: "The default of 256 256 32 keeps a fraction of a per cent of the higher zones' size. On 64-bit hosts few \
             devices still need memory below 4 GiB.",
        danger: "1, as published for hosts above 64 GB, keeps as much of the zone DMA32 as the higher zones are \
                large: its up to 4 GiB are then lost to the server and the page cache.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, lowmem_reserve_ratio.",
        ..Page::EMPTY
    })
    .judges(judge_lowmem),
    Rule::of(Page {
        name: "vm.mmap_min_addr",
        what: "Lowest address that an unprivileged process may map.",
        today: Today::DefaultIsRight,
        why: "Distributions set 65536 (x86-64) or 4096 (some others). It is a guard of the kernel against its own \
             null-pointer bugs and has nothing to do with speed.",
        danger: "0 lets a process place data where a faulty kernel pointer would read it.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, mmap_min_addr.",
        ..Page::EMPTY
    })
    .sysctl(judge_lowest_address),
    Rule::of(Page {
        name: "vm.max_map_count",
        what: "Memory mappings that one process may have, 65530 by default; several distributions set 1048576.",
        today: Today::DefaultIsRight,
        why: "A process of PostgreSQL has some hundred mappings: its shared memory is one, each library a few. Advice \
             to raise it comes from programs that map their data files.",
        danger: "Far below the default, large processes fail with \"out of memory\" although memory is free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, max_map_count.",
        ..Page::EMPTY
    })
    .sysctl(judge_mappings),
    Rule::of(Page {
        name: "swap",
        also: &["zram", "swap area"],
        what: "Where memory goes that is not used for long: a disk, or compressed memory (zram).",
        today: Today::Depends,
        why: "A small area takes what is never used again and gives time to react before the OOM killer does; without \
             one, vm.overcommit_memory = 2 needs a higher ratio. zram on a host of a database takes memory from the \
             page cache. What counts is that sessions are not swapped.",
        danger: "A server whose sessions or shared memory are on a swap disk is slower by orders of magnitude; \
                explicit huge pages are never swapped.",
        source: "swapon(8); Linux Documentation/admin-guide/blockdev/zram.rst.",
        ..Page::EMPTY
    })
    .judges(judge_swap),
    Rule::of(Page {
        name: "pressure",
        also: &["PSI", "memory pressure", "/proc/pressure"],
        what: "Share of the last minute in which processes of the host waited for memory, disks or processors: some, \
              that at least one waited; full, that all waited which had anything to do.",
        today: Today::Kept,
        why: "Waiting for memory means that the kernel has to write or drop pages before it can give any. Waiting for \
             disks and processors is what a load test is for, so it is judged for memory only.",
        danger: "A host that waits for memory a tenth of the time is close to the OOM killer.",
        source: "Linux Documentation/accounting/psi.rst.",
        since_kernel: Some((4, 20)),
        ..Page::EMPTY
    })
    .judges(judge_pressure),
    Rule::of(Page {
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
    })
    .finds(judge_blocked),
    Rule::of(Page {
        name: "oom_score_adj",
        also: &["PG_OOM_ADJUST_FILE", "PG_OOM_ADJUST_VALUE", "OOMScoreAdjust"],
        what: "What is added to the score by which the OOM killer chooses a process to end, -1000 (never) to 1000.",
        today: Today::Kept,
        why: "The main process of the server should be spared: with it everything ends. Its start script or unit \
             lowers its score (OOMScoreAdjust=-900 or -1000, which needs root), and \
             PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj in its environment gives its children a normal one again, so \
             that a single session can be chosen.",
        danger: "With the same low score for all, the OOM killer ends other services or finds no process, and the host \
                stops; with a normal one for all it may end the main process.",
        source: "PostgreSQL manual, \"Linux Memory Overcommit\"; proc_pid_oom_score_adj(5).",
        ..Page::EMPTY
    })
    .judges(judge_oom_score),
];

fn judge_swappiness(given: &Given<'_>, value: u64) -> Finding {
    let Some(swaps) = &given.host.memory.swaps else {
        return given
            .unknown("Whether there is a swap area is unknown, without which the value decides nothing.");
    };
    if swaps.is_empty() {
        return given.fine("There is no swap area on this host, so the value has nothing to decide.");
    }
    if swaps.iter().all(|swap| swap.is_compressed_memory) {
        return given.fine("Swap is compressed memory here, which is read back in microseconds.");
    }
    let low = match given.purpose {
        Purpose::Oltp | Purpose::Mixed => 1,
        Purpose::BulkLoad | Purpose::Olap => 10,
    };
    let reason = match value {
        0 => {
            "With 0 the kernel may end processes by the OOM killer while swap is still free; 1 avoids swapping \
             nearly as well."
        }
        1..=10 => return given.fine("Swap is left for emergencies, and used before the OOM killer is."),
        _ => {
            "Memory of sessions may be swapped to a disk in favour of page cache that the server can read again."
        }
    };
    given.improve(reason).set_sysctl(low)
}

/// What the kernel computes as `vm.min_free_kbytes` for so much memory, in KiB.
fn computed_min_free(total_bytes: u64, highest: u64) -> u64 {
    ((total_bytes as f64 / KB as f64 * 16.0).sqrt() as u64).clamp(128, highest)
}

fn judge_min_free(given: &Given<'_>, value: u64) -> Finding {
    let usable = given.bytes_without_huge_pages();
    if usable == 0 {
        return given.unknown("The size of the memory is unknown.");
    }
    let highest = if given.kernel_is_at_least(5, 8) == Some(true) { 262_144 } else { 65_536 };
    let default = computed_min_free(given.host.memory.total_bytes, highest);
    let share = value as f64 * KB as f64 / usable as f64;
    let text = format!(
        "{} are kept free of {}{}, {}",
        units::bytes(value.saturating_mul(KB)),
        units::bytes(usable),
        given.huge_memory().map_or("", |_| " of memory that is not in huge pages"),
        units::percent(share)
    );
    let (standing, end) = match () {
        () if value == default => return given.fine(format!("{text}, as the kernel computes it.")),
        () if value < 1024 || share > 0.5 => (Standing::Dangerous, "which can bring the host down"),
        () if value < default / 2 => {
            (Standing::Improve, "less than half of what the kernel computes by itself")
        }
        () if share > 0.05 => (Standing::Improve, "which page cache and sessions cannot use"),
        () => return given.fine(format!("{text}.")),
    };
    given.finding(standing, format!("{text}, {end}.")).set_sysctl(default)
}

fn judge_extra_free(given: &Given<'_>) -> Option<Finding> {
    match (given.number(), given.line()) {
        (Some(0), _) => Some(given.fine("This kernel has it, and it is unused.").present(0)),
        (Some(value), _) => {
            let reason = "Only some patched kernels have it; newer ones ignore it, and vm.watermark_scale_factor \
                          replaces it.";
            Some(given.obsolete(reason).present(value))
        }
        (None, Some(line)) if !given.host.kernel.sysctls.is_empty() => {
            Some(given.obsolete(format!(
                "{} sets it to {}, and this kernel does not have it.",
                line.file, line.value
            )))
        }
        (None, _) => None,
    }
}

/// The kernel's default of `vm.watermark_scale_factor`.
const WATERMARK_DEFAULT: u64 = 10;
/// A distance above this keeps more memory free than bursts need: 2 % between two watermarks.
const WATERMARK_MOST: u64 = 200;

fn judge_watermarks(given: &Given<'_>, value: u64) -> Finding {
    if value == WATERMARK_DEFAULT {
        return given.fine("It is the default, which is right for nearly every host.");
    }
    let bytes = given.bytes_without_huge_pages() as f64 * value as f64 / 10_000.0;
    let text = match given.host.memory.total_bytes {
        0 => format!("The distance is {} of the memory", units::percent(value as f64 / 10_000.0)),
        _ => format!("The distance is about {}", units::bytes(bytes as u64)),
    };
    if value > WATERMARK_MOST {
        let reason = format!("{text}, which page cache and sessions cannot use.");
        return given.improve(reason).set_sysctl(WATERMARK_DEFAULT);
    }
    given.fine(format!("{text}; the default is {WATERMARK_DEFAULT}."))
}

fn judge_cache_pressure(given: &Given<'_>, value: u64) -> Finding {
    /// The default of the kernel.
    const DEFAULT: u64 = 100;
    match value {
        DEFAULT => given.fine("It is the default."),
        0 => given
            .dangerous("What the kernel remembers of files is never freed, until memory runs out.")
            .set_sysctl(DEFAULT),
        1..=1000 => given.fine("A server has few files and opens them rarely, so that it hardly matters."),
        _ => given
            .improve("Searching for what can be freed takes locks that others wait for.")
            .set_sysctl(DEFAULT),
    }
}

fn judge_lowmem(given: &Given<'_>) -> Option<Finding> {
    /// Values below this keep a noticeable part of low memory from everybody.
    const LEAST: u64 = 32;
    const DEFAULTS: [u64; 3] = [256, 256, 32];
    let numbers = given.numbers()?;
    let text = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let low = numbers.iter().take(2).any(|number| (1..LEAST).contains(number));
    if !low {
        return Some(given.fine("Low memory zones keep a small part to themselves.").present(text(&numbers)));
    }
    let mut best = numbers.clone();
    best.iter_mut().zip(DEFAULTS).for_each(|(number, default)| *number = default);
    let reason =
        "The low zones keep nearly all of their memory, up to 4 GiB, from the server and the page cache.";
    Some(given.improve(reason).present(text(&numbers)).set_sysctl(text(&best)))
}

fn judge_lowest_address(given: &Given<'_>, value: u64) -> Finding {
    match value {
        0..4096 => given
            .improve("Null-pointer bugs of the kernel can be exploited; no server needs memory down there.")
            .set_sysctl(65_536),
        _ => given.fine("The lowest pages cannot be mapped."),
    }
}

fn judge_mappings(given: &Given<'_>, value: u64) -> Finding {
    /// The default of the kernel.
    const DEFAULT: u64 = 65_530;
    match value {
        0..DEFAULT => {
            given.improve("Somebody lowered it below the default of the kernel, 65530.").set_sysctl(DEFAULT)
        }
        _ => given.fine("A process of the server needs some hundred mappings."),
    }
}

/// A share of waiting for memory above this is reported.
const NOTICED: f64 = 0.05;
/// A process that waits so long in one and the same place is stuck: healthy disks answer within milliseconds.
const STUCK_S: f64 = 1.0;
/// Functions of a stack that are shown.
const SHOWN: usize = 4;

fn judge_pressure(given: &Given<'_>) -> Option<Finding> {
    let memory = given.host.kernel.cgroup.pressure.iter().find(|pressure| pressure.of == "memory");
    let share = memory.map(|pressure| pressure.some_share).filter(|share| share.is_finite())?;
    let present = units::percent(share);
    let text = format!("Processes waited for memory in {present} of the last minute");
    let finding = match share > NOTICED {
        true => given.improve(format!("{text}: what runs here needs more than there is.")),
        false => given.fine(format!("{text}.")),
    };
    Some(finding.present(present).on("memory"))
}

fn judge_swap(given: &Given<'_>) -> Option<Finding> {
    let memory = &given.host.memory;
    if memory.total_bytes == 0 {
        return None;
    }
    let Some(swaps) = &memory.swaps else {
        return Some(given.unknown("Whether there is a swap area could not be read."));
    };
    if swaps.is_empty() {
        let reason = "There is no swap area: when memory runs out, page cache goes first, then the OOM killer decides.";
        return Some(given.fine(reason).present("none"));
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
    let used_bytes = units::bytes(used);
    let finding = match used > memory.total_bytes / 50 {
        true => given.improve(format!(
            "{used_bytes} are on a swap disk, more than 2 % of the memory: \
             if they belong to sessions, these wait for it."
        )),
        false => given.fine(format!("{used_bytes} of the areas on disks are used.")),
    };
    Some(finding.present(present))
}

fn judge_blocked(given: &Given<'_>) -> Vec<Finding> {
    let blocked = given.host.kernel.blocked.iter().map(|process| {
        let place = process.waits_in.as_deref().map_or_else(String::new, |function| format!(" in {function}"));
        let stack = process.stack.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(" < ");
        let stack = if stack.is_empty() { String::new() } else { format!(" ({stack})") };
        let text = format!("{} (process id {}) waited{place}{stack}", process.name, process.pid);
        let finding = match process.waited_s.filter(|seconds| seconds.is_finite()) {
            Some(seconds) if seconds >= STUCK_S => given.improve(format!(
                "{text} for {} without a pause, and cannot be interrupted: its device or file server is very slow, or \
                 does not answer.",
                units::duration(seconds)
            )),
            Some(_) => given.fine(format!(
                "{text} at one look and no longer at a second one, as anything does that reads or syncs."
            )),
            None => given.fine(format!(
                "{text} at the only look, as anything does for a moment that reads or syncs."
            )),
        };
        finding.on(process.pid.to_string()).present(process.name.as_str())
    });
    blocked.collect()
}

fn judge_oom_score(given: &Given<'_>) -> Option<Finding> {
    let server = given.host.server.as_ref()?;
    let Some(main) = server.oom_score_adjustment else {
        return Some(given.unknown("The score of the main process could not be read."));
    };
    let strict = given.host.sysctl_number("vm.overcommit_memory") == Some(2);
    let finding = match (main, server.child_oom_score_adjustment) {
        (0.., _) if strict => given.fine(
            "The kernel promises no more than it has (vm.overcommit_memory = 2), so it rarely comes to that.",
        ),
        (0.., _) => {
            let reason = "When memory runs out, the main process may be ended like any other, and all sessions with \
                          it.";
            given.improve(reason).recommend("-900, by OOMScoreAdjust= of the unit")
        }
        (_, Some(child)) if child <= main => {
            let reason = format!(
                "Sessions have {child} as well: set PG_OOM_ADJUST_FILE, so that one of them can be ended alone."
            );
            given.improve(reason).recommend("0 for the children")
        }
        (_, Some(child)) => given.fine(format!("The main process is spared, and its children have {child}.")),
        (_, None) => given.fine("The main process is spared; the score of its children is unknown."),
    };
    Some(finding.present(main))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        facts::amount::GB,
        host::{BlockedProcess, Inventory, Pressure},
    };

    use super::*;
    use crate::host::testing::{
        changes, check_hosts, check_values, findings, host, on_kernel, standings, with_line, with_server,
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Dangerous, Fine, Improve, Obsolete};
        check_values(&[
            ("vm.swappiness", &[("0", Fine), ("60", Fine)]),
            (
                "vm.min_free_kbytes",
                &[
                    ("512", Dangerous),
                    ("10000", Improve),
                    ("67584", Fine),
                    ("2097152", Fine),
                    ("6291456", Improve),
                ],
            ),
            ("vm.min_free_kbytes", &[("48000000", Dangerous)]),
            ("vm.extra_free_kbytes", &[("0", Fine), ("4096000", Obsolete)]),
            ("vm.watermark_scale_factor", &[("10", Fine), ("100", Fine), ("500", Improve)]),
            ("vm.vfs_cache_pressure", &[("100", Fine), ("50", Fine), ("0", Dangerous), ("10000", Improve)]),
            (
                "vm.lowmem_reserve_ratio",
                &[("256 256 32 0 0", Fine), ("1 1 1 0 0", Improve), ("0 0 0", Fine), ("", Fine)],
            ),
            ("vm.mmap_min_addr", &[("65536", Fine), ("4096", Fine), ("0", Improve)]),
            ("vm.max_map_count", &[("65530", Fine), ("1048576", Fine), ("1000", Improve)]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve, Unknown};
        let scored = |main, child, mode| {
            let mut host = with_server(host(&[("vm.overcommit_memory", mode)]), 17, &[]);
            let server = host.server.as_mut().expect("it was put there");
            server.oom_score_adjustment = main;
            server.child_oom_score_adjustment = child;
            host
        };
        check_hosts(&[
            ("oom_score_adj", scored(Some(0), Some(0), "0"), &[Improve]),
            ("oom_score_adj", scored(Some(0), None, "2"), &[Fine]),
            ("oom_score_adj", scored(Some(-900), Some(0), "0"), &[Fine]),
            ("oom_score_adj", scored(Some(-900), Some(-900), "0"), &[Improve]),
            ("oom_score_adj", scored(Some(-900), None, "0"), &[Fine]),
            ("oom_score_adj", scored(None, None, "0"), &[Unknown]),
            ("vm.swappiness", with_swap("180", true), &[Fine]),
        ]);
    }

    fn with_swap(value: &str, is_compressed_memory: bool) -> Inventory {
        let mut host = host(&[("vm.swappiness", value)]);
        host.memory.swaps = Some(vec![Swap { is_compressed_memory, ..Swap::default() }]);
        host
    }

    #[test]
    fn without_swap_nothing_is_to_be_set() {
        let mut unknown = host(&[("vm.swappiness", "0")]);
        unknown.memory.swaps = None;
        assert_eq!(
            standings("vm.swappiness", &unknown),
            [Standing::Unknown],
            "that none was read is not that there is none"
        );
    }

    #[test]
    fn swap_on_a_disk_is_for_emergencies() {
        for (value, expected) in [("0", Some("1")), ("1", None), ("10", None), ("60", Some("1"))] {
            let changes = changes("vm.swappiness", &with_swap(value, false));
            assert_eq!(changes.first().map(String::as_str), expected, "{value}");
        }
    }

    #[test]
    fn the_kernel_computes_the_recommended_value() {
        // sqrt(16 × 64 × 1024 × 1024) = 32768.
        assert_eq!(changes("vm.min_free_kbytes", &host(&[("vm.min_free_kbytes", "6291456")])), ["32768"]);
        let mut large = host(&[("vm.min_free_kbytes", "100")]);
        large.memory.total_bytes *= 16;
        assert_eq!(changes("vm.min_free_kbytes", &large), ["131072"]);
        assert_eq!(changes("vm.min_free_kbytes", &on_kernel(large, "4.19.0")), ["65536"], "the older bound");
    }

    #[test]
    fn unknown_memory_bounds_nothing() {
        let nothing = Inventory { memory: Default::default(), ..host(&[("vm.min_free_kbytes", "1")]) };
        assert_eq!(standings("vm.min_free_kbytes", &nothing), [Standing::Unknown]);
    }

    #[test]
    fn no_current_kernel_has_it() {
        let set = |sysctls: &[(&str, &str)]| with_line(host(sysctls), "vm.extra_free_kbytes", "4096000");
        assert_eq!(standings("vm.extra_free_kbytes", &set(&[("vm.swappiness", "1")])), [Standing::Obsolete]);
        assert!(
            standings("vm.extra_free_kbytes", &set(&[])).is_empty(),
            "no parameter of this kernel is known"
        );
    }

    #[test]
    fn a_large_distance_keeps_memory_free() {
        // 1 % of 64 GiB.
        let reason =
            &findings("vm.watermark_scale_factor", &host(&[("vm.watermark_scale_factor", "100")]))[0].reason;
        assert!(reason.contains("about 655 MiB"), "{reason}");
    }

    #[test]
    fn only_extremes_are_wrong() {
        assert_eq!(changes("vm.vfs_cache_pressure", &host(&[("vm.vfs_cache_pressure", "0")])), ["100"]);
    }

    #[test]
    fn low_zones_keep_little() {
        assert_eq!(
            changes("vm.lowmem_reserve_ratio", &host(&[("vm.lowmem_reserve_ratio", "1 1 1 0 0")])),
            ["256 256 32 0 0"]
        );
    }

    #[test]
    fn waiting_for_memory_is_reported() {
        let mut host = host(&[]);
        assert!(standings("pressure", &host).is_empty());
        let pressure = |of: &str, some_share| Pressure { of: of.to_owned(), some_share, full_share: None };
        host.kernel.cgroup.pressure = vec![pressure("io", 0.9), pressure("memory", 0.01)];
        assert_eq!(standings("pressure", &host), [Standing::Fine]);
        host.kernel.cgroup.pressure[1].some_share = 0.2;
        assert_eq!(standings("pressure", &host), [Standing::Improve]);
    }

    #[test]
    fn swap_on_disks_is_for_what_is_not_used() {
        let mut host = host(&[]);
        assert_eq!(standings("swap", &host), [Standing::Fine]);
        for (used_bytes, is_compressed_memory, expected) in
            [(0, false, Standing::Fine), (4 * GB, false, Standing::Improve), (4 * GB, true, Standing::Fine)]
        {
            let area = Swap { size_bytes: 8 * GB, used_bytes, is_compressed_memory, ..Swap::default() };
            host.memory.swaps = Some(vec![area]);
            assert_eq!(standings("swap", &host), [expected], "{used_bytes} {is_compressed_memory}");
        }
        host.memory.swaps = None;
        assert_eq!(standings("swap", &host), [Standing::Unknown], "unknown is not none");
        assert!(standings("swap", &Inventory::default()).is_empty());
    }

    #[test]
    fn only_what_waits_in_one_place_is_a_fault() {
        let mut host = host(&[]);
        assert!(standings("blocked-processes", &host).is_empty());
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
            let found = findings("blocked-processes", &host);
            assert_eq!(found[0].standing, expected, "{waited_s:?}");
            let expected = "postgres (process id 7) waited in folio_wait_bit (folio_wait_bit < \
                            file_write_and_wait_range) ";
            assert!(found[0].reason.starts_with(expected), "{}", found[0].reason);
        }
    }

    #[test]
    fn the_main_process_is_spared() {
        assert!(standings("oom_score_adj", &host(&[])).is_empty(), "no server");
    }
}
