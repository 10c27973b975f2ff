//! Words of the kernel's command line.

use super::{
    remedy::Remedy,
    rule::{Given, Rule},
};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "numa=off",
        also: &["numa="],
        what: "The kernel takes the memory of all sockets for one node.",
        today: Today::Obsolete,
        why: "It was published against kernels that reclaimed page cache of one node while others had free memory. \
             vm.zone_reclaim_mode has been 0 by default since Linux 3.16, which removes that cause, and without node \
             information the kernel can neither keep memory near its processor nor balance it. Leave the word out; to \
             spread shared_buffers over nodes, start the server with numactl --interleave=all.",
        danger: "Memory of a process may lie on a remote node throughout, and nothing shows it any more.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (numa=) and \
                Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode); commit 4f9b16a64753 of Linux 3.16.",
        ..Page::EMPTY
    })
    .boot_word(judge_numa),
    Rule::of(Page {
        name: "elevator=",
        also: &["elevator", "elevator=deadline", "elevator=noop", "elevator=cfq"],
        what: "It chose one I/O scheduler for all disks.",
        today: Today::Obsolete,
        why: "Linux 5.0 removed the single-queue block layer with noop, deadline and cfq, whose scheduler the word \
             chose; disks with multiple queues never used it. Later kernels only log that it has no effect. Choose \
             the scheduler of each disk in /sys/block/DISK/queue/scheduler, by a udev rule.",
        source: "Linux block/elevator.c, elevator_setup(), which only warns; Documentation/block/switching-sched.rst.",
        until_kernel: Some((5, 0)),
        ..Page::EMPTY
    })
    .boot_word(judge_elevator),
    Rule::of(Page {
        name: "scsi_mod.use_blk_mq",
        also: &["scsi_mod.use_blk_mq=1", "scsi_mod.use_blk_mq=Y"],
        what: "It put SCSI and SATA disks on the multi-queue block layer.",
        today: Today::Obsolete,
        why: "Since Linux 5.0 the multi-queue block layer is the only one. Before, from 3.17 on, the word chose \
             between both, and with it the schedulers mq-deadline, kyber, bfq and none instead of deadline, cfq and \
             noop.",
        source: "Linux drivers/scsi/scsi.c; the legacy path was removed in Linux 5.0 (scsi: kill off the legacy IO \
                path).",
        since_kernel: Some((3, 17)),
        until_kernel: Some((5, 0)),
        ..Page::EMPTY
    })
    .boot_word(judge_multi_queue),
    Rule::of(Page {
        name: "scsi_mod.scan",
        also: &["scsi_mod.scan=sync", "scsi_mod.scan=async"],
        what: "Whether the kernel finds SCSI disks one host adapter after the other (sync) or all at once (async).",
        today: Today::NoEffect,
        why: "It only concerns how long booting takes and in which order disks get their names; nothing of it is left \
             once the server runs. The order of sda and sdb is not promised with sync either: mount by UUID or label.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (scsi_mod.scan=); drivers/scsi/scsi_scan.c.",
        ..Page::EMPTY
    })
    .boot_word(judge_scan),
    Rule::of(Page {
        name: "intel_idle.max_cstate",
        also: &["intel_idle.max_cstate=0", "intel_idle.max_cstate=1"],
        what: "The deepest idle state that the driver intel_idle uses; 0 disables the driver.",
        today: Today::NoEffect,
        why: "0 does not keep the processor awake: the kernel then uses acpi_idle with the states that the firmware \
             offers, which may be as deep. What limits them is processor.max_cstate=1 besides, or without a reboot \
             /dev/cpu_dma_latency, which tuned profiles such as latency-performance hold open. Deep states cost \
             wake-up time of up to some hundred microseconds on the first request after a pause; they also let other \
             cores run at turbo frequency.",
        source: "Linux Documentation/admin-guide/pm/intel_idle.rst (Kernel Command Line Options) and \
                Documentation/admin-guide/pm/cpuidle.rst (power management quality of service).",
        ..Page::EMPTY
    })
    .boot_word(judge_intel_idle),
    Rule::of(Page {
        name: "processor.max_cstate",
        also: &["processor.max_cstate=1", "processor.max_cstate=0"],
        what: "The deepest idle state that the driver acpi_idle uses.",
        today: Today::Depends,
        why: "It saves the time of waking up for servers that are mostly idle and answer single short requests; under \
             load processors hardly reach deep states. The driver intel_idle ignores it, so on Intel processors it \
             needs intel_idle.max_cstate=0 besides. It costs power, and with it turbo frequency of busy cores. A \
             tuned profile does the same without a reboot.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (processor.max_cstate=); \
                Documentation/admin-guide/pm/cpuidle.rst (Idle States Control Via Kernel Command Line).",
        ..Page::EMPTY
    })
    .boot_word(judge_acpi_idle),
    Rule::of(Page {
        name: "transparent_hugepage=",
        also: &["transparent_hugepage=never", "transparent_hugepage=madvise", "transparent_hugepage=always"],
        what: "The mode in which transparent huge pages begin: always, madvise or never.",
        today: Today::Depends,
        why: "It sets the first value of /sys/kernel/mm/transparent_hugepage/enabled, which anything may change \
             later: the present mode counts, not the word. It concerns anonymous memory; shared_buffers are shared \
             memory, for which there is shmem_enabled, and the explicit pages of huge_pages.",
        source: "Linux Documentation/admin-guide/mm/transhuge.rst (Boot parameters).",
        ..Page::EMPTY
    })
    .boot_word(judge_transparent),
    Rule::of(Page {
        name: "hugepages=",
        also: &["hugepages"],
        what: "Explicit huge pages that are reserved when the host boots, of the size that hugepagesz= names before \
              it.",
        today: Today::Kept,
        why: "Memory is not yet fragmented then, so the pool gets all its pages; vm.nr_hugepages, set later, may get \
             fewer. Pages of 2 MiB can also be reserved later, so the word is needed for 1 GiB pages, or where the \
             pool came out too small. PostgreSQL tells the count that it needs: postgres -C \
             shared_memory_size_in_huge_pages, since 15.",
        danger: "Reserved pages serve nothing but programs that ask for them: a pool that is much larger than \
                shared_buffers takes memory from the page cache and from sessions.",
        source: "Linux Documentation/admin-guide/mm/hugetlbpage.rst; PostgreSQL manual, Managing Kernel Resources, \
                Linux Huge Pages.",
        ..Page::EMPTY
    })
    .boot_word(judge_pages),
    Rule::of(Page {
        name: "hugepagesz=",
        also: &["hugepagesz", "default_hugepagesz="],
        what: "The size of the huge pages that the next hugepages= reserves; default_hugepagesz= sets the default \
              size.",
        today: Today::Depends,
        why: "PostgreSQL uses the default size, and since 14 the size that huge_page_size names. 1 GiB pages bring \
             fewer entries of the TLB than 2 MiB pages, whose gain over ordinary pages is most of what there is; what \
             is left has not been measured here. Up to 13, 1 GiB pages are used only if default_hugepagesz=1G is set.",
        danger: "Pages of a size that no program requests are memory lost.",
        source: "Linux Documentation/admin-guide/mm/hugetlbpage.rst; PostgreSQL manual, Resource Consumption, \
                huge_page_size.",
        ..Page::EMPTY
    })
    .boot_word(judge_page_size),
    Rule::of(Page {
        name: "mitigations=",
        also: &["mitigations", "mitigations=off"],
        what: "Whether the kernel works around vulnerabilities of processors (Spectre, Meltdown and others).",
        today: Today::Depends,
        why: "Most of their cost is in system calls and context switches, of which a server with many clients has \
             plenty, and it differs widely between processors: recent ones need few of them. Measure both ways on the \
             same host, and compare results of hosts only if they agree in this. Since Linux 6.17 kinds of attacks \
             can be left out one by one (no_user_kernel, no_user_user, no_guest_host, no_guest_guest); the last two \
             protect a host from its virtual machines, and these from each other.",
        danger: "Without them, code of another user, container or virtual machine can read memory of the server and \
                the kernel.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (mitigations=) and \
                Documentation/admin-guide/hw-vuln (index.rst, attack_vector_controls.rst).",
        since_kernel: Some((5, 2)),
        ..Page::EMPTY
    })
    .boot_word(|given, word| Some(judge_mitigations(given, word))),
    Rule::of(Page {
        name: "isolcpus",
        also: &["isolcpus="],
        what: "Processors that the scheduler gives to no process by itself.",
        today: Today::Depends,
        why: "PostgreSQL starts a process per session and binds none to a processor, so isolated ones stay idle. \
             Bound to several isolated processors by taskset, all sessions pile up on the first, because the \
             scheduler does not balance among them. To keep processors free for a server, use cpusets (AllowedCPUs= \
             of systemd) for everything else.",
        danger: "The server does not use these processors, and measurements take them for idle capacity.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (isolcpus=, deprecated in favour of cpusets); \
                Documentation/admin-guide/cgroup-v2.rst (cpuset).",
        ..Page::EMPTY
    })
    .boot_word(judge_isolation),
    Rule::of(Page {
        name: "clocksource=",
        also: &["clocksource=tsc"],
        what: "The clock source that the kernel begins with.",
        today: Today::DefaultIsRight,
        why: "The kernel chooses the source of the highest rating by itself: tsc on processors where it can be \
             trusted, kvm-clock and the like in virtual machines where it cannot. Reading tsc or kvm-clock needs no \
             system call, hpet and acpi_pm take a microsecond or so each time, which EXPLAIN ANALYZE and \
             track_io_timing show. /sys/devices/system/clocksource/clocksource0/current_clocksource changes it \
             without a reboot.",
        danger: "A source that the kernel rejected as unstable lets time jump.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (clocksource=); PostgreSQL manual, \
                pg_test_timing.",
        ..Page::EMPTY
    })
    .boot_word(judge_clock_source),
    Rule::of(Page {
        name: "tsc=",
        also: &["tsc=reliable", "tsc=nowatchdog", "tsc=unstable"],
        what: "Whether the kernel checks the time stamp counter (tsc) of x86 processors against another clock.",
        today: Today::Depends,
        why: "The watchdog marks tsc as unstable when it disagrees with hpet or acpi_pm, and now and then it does so \
             wrongly on large or busy hosts; the kernel then reads a slower clock until it boots again. Since Linux \
             5.16 it trusts the counter by itself on hosts of up to two sockets whose processors can adjust and never \
             stop it, and later ones on up to four. tsc=reliable is for hosts where the log shows a false alarm.",
        danger: "On a host whose counters really drift apart, time runs backwards between processors.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (tsc=); arch/x86/kernel/tsc.c, \
                check_system_tsc_reliable().",
        ..Page::EMPTY
    })
    .boot_word(judge_tsc),
];

fn judge_numa(given: &Given<'_>, word: &str) -> Option<Finding> {
    let finding = match given.host.cpu.sockets {
        _ if word != "off" => return None,
        Some(1) => given
            .no_effect("The host has one socket, so there is usually one node, and nothing to switch off."),
        Some(sockets) => given.improve(format!(
            "The memory of {sockets} sockets is one node, and is given to processes wherever they run."
        )),
        None => given.improve(
            "Nodes are hidden from the kernel, so processes get memory of any node, wherever they run.",
        ),
    };
    Some(finding.drop_boot_word())
}

fn judge_elevator(given: &Given<'_>, word: &str) -> Option<Finding> {
    let release = &given.host.kernel.release;
    let is_gone = given.kernel_is_at_least(5, 0)?;
    Some(match word {
        _ if is_gone => given
            .obsolete(format!("Linux {release} ignores it: no disk has its scheduler from here."))
            .drop_boot_word(),
        "deadline" | "noop" => given.fine(format!(
            "Linux {release} still obeys it for disks of the older block layer, which most were then."
        )),
        _ => given
            .improve(format!(
                "Linux {release} gives this scheduler to all disks of the older block layer, which most were then."
            ))
            .set_boot_word("deadline"),
    })
}

fn judge_multi_queue(given: &Given<'_>, _: &str) -> Option<Finding> {
    let release = &given.host.kernel.release;
    Some(match given.kernel_is_at_least(5, 0)? {
        true => {
            given.obsolete(format!("Linux {release} has no other block layer to choose.")).drop_boot_word()
        }
        false => {
            given.fine(format!("Linux {release} has both block layers, and the word chooses one of them."))
        }
    })
}

fn judge_scan(given: &Given<'_>, word: &str) -> Option<Finding> {
    // With other words, only an explicit write to sysfs finds disks, or the word is wrong: neither is ours to judge.
    let reason = "Disks were found when the host booted: the word does nothing to their speed.";
    matches!(word, "sync" | "async").then(|| given.no_effect(reason).drop_boot_word())
}

fn judge_intel_idle(given: &Given<'_>, word: &str) -> Option<Finding> {
    let (kernel, cpu) = (&given.host.kernel, &given.host.cpu);
    if word != "0" || kernel.boot_word("processor.max_cstate").is_some() {
        return None;
    }
    let deepest = cpu.idle_states.iter().filter(|state| !state.disabled).max_by_key(|state| state.latency_us);
    let (Some(driver), Some(deepest)) = (&cpu.idle_driver, deepest) else {
        return Some(given.unknown(
            "It disables intel_idle; which driver took over, and how deep its states are, could not be read.",
        ));
    };
    let (state, latency_us) = (&deepest.name, deepest.latency_us);
    Some(match latency_us > 2 {
        true => given
            .no_effect(format!(
                "The driver {driver} took over, and its state {state} still takes {latency_us} µs to leave."
            ))
            .drop_boot_word(),
        false => given
            .fine(format!("The driver is {driver}, and its deepest state takes {latency_us} µs to leave.")),
    })
}

fn judge_acpi_idle(given: &Given<'_>, _: &str) -> Option<Finding> {
    Some(match given.host.cpu.idle_driver.as_deref() {
        None => given.unknown("Whether it is obeyed depends on the idle driver, which could not be read."),
        Some("intel_idle") => given
            .no_effect("The idle driver is intel_idle, which ignores it.")
            .drop_boot_word()
            .recommend("without the word, or with intel_idle.max_cstate=0"),
        Some("acpi_idle") => given.fine("The idle driver is acpi_idle, which obeys it."),
        Some(_) => return None,
    })
}

fn judge_transparent(given: &Given<'_>, word: &str) -> Option<Finding> {
    let mode = given.host.memory.transparent.enabled.as_deref()?;
    Some(match word == mode {
        true => given.fine(format!("The present mode is {mode}, as the boot line says.")),
        false => given
            .no_effect(format!("The present mode is {mode}: something changed it after the host booted.")),
    })
}

fn judge_pages(given: &Given<'_>, word: &str) -> Option<Finding> {
    let kernel = &given.host.kernel;
    // With sizes named in between, several counts may be given: each belongs to the size before it.
    if kernel.boot_word("hugepagesz").is_some() || kernel.boot_word("default_hugepagesz").is_some() {
        return None;
    }
    let asked = word.parse::<u64>().ok()?;
    let total = given.default_pool()?.total;
    let finding = match total == asked {
        true => given.fine(format!("The pool has the {asked} pages that were requested.")),
        false => given.no_effect(format!(
            "The boot line requests {asked} pages, and the pool has {total}: vm.nr_hugepages was changed later, or \
             memory was short."
        )),
    };
    Some(finding.present(format!("hugepages={asked}")))
}

fn judge_page_size(given: &Given<'_>, word: &str) -> Option<Finding> {
    let (default, server) = (given.host.memory.default_huge_page_bytes?, given.host.server.as_ref()?);
    let is_lost = bytes_of(word)? != default && server.version_num.is_some_and(|version| version < 140_000);
    let reason = "PostgreSQL before 14 uses pages of the default size only, and this is another size.";
    is_lost.then(|| given.no_effect(reason).recommend(format!("default_hugepagesz={word}")))
}

/// `2M` in bytes; `None` if it is not a number with K, M or G.
fn bytes_of(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(['K', 'M', 'G', 'k', 'm', 'g']);
    let shift = match word[digits.len()..].to_ascii_uppercase().as_str() {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn judge_mitigations(given: &Given<'_>, word: &str) -> Finding {
    if word == "off" {
        return judge_no_mitigations(given);
    }
    let left_out: Vec<&str> = word.split([',', ';']).filter(|kind| kind.starts_with("no_")).collect();
    let kinds = left_out.join(", ");
    match left_out[..] {
        [] => given.fine("The kernel works around what this processor is vulnerable to."),
        _ if left_out.iter().all(|kind| kind.starts_with("no_guest")) => given.fine(format!(
            "It leaves open ({kinds}) what only virtual machines that this host itself runs could use, against it or \
             against each other."
        )),
        _ => given
            .improve(format!("Code that runs on the host may read memory of others: {kinds} leaves that open."))
            .set_boot_word("auto"),
    }
}

/// Judges a kernel that works around nothing.
fn judge_no_mitigations(given: &Given<'_>) -> Finding {
    let states = &given.host.cpu.mitigations;
    let open = states.iter().filter(|(_, state)| state.starts_with("Vulnerable"));
    let open: Vec<&str> = open.map(|(name, _)| name.as_str()).collect();
    let finding = match open[..] {
        [] if states.is_empty() => {
            return given.unknown("What it leaves open on this processor could not be read.");
        }
        [] => given.no_effect(
            "The kernel reports no vulnerability as open: this processor needs none of the workarounds.",
        ),
        _ => given.improve(format!(
            "These vulnerabilities are open to any code that runs on the host: {}.",
            open.join(", ")
        )),
    };
    finding.set_boot_word("auto")
}

fn judge_isolation(given: &Given<'_>, word: &str) -> Option<Finding> {
    let reason = format!("The scheduler gives no session of a server to these processors: {word}.");
    (!word.is_empty()).then(|| given.improve(reason).drop_boot_word())
}

fn judge_clock_source(given: &Given<'_>, word: &str) -> Option<Finding> {
    let clocks = &given.host.kernel.clocks;
    let current = clocks.current.as_deref()?;
    let has_tsc = clocks.available.iter().any(|source| source == "tsc");
    Some(match word {
        _ if word != current => given
            .no_effect(format!(
                "The present source is {current}: the kernel did not accept the requested one, or somebody changed it."
            ))
            .drop_boot_word(),
        "hpet" | "acpi_pm" if has_tsc => given
            .improve(format!("tsc is available, and reading {word} takes much longer."))
            .drop_boot_word(),
        _ => given.fine("The requested source is the present one."),
    })
}

fn judge_tsc(given: &Given<'_>, word: &str) -> Option<Finding> {
    let current = given.host.kernel.clocks.current.as_deref()?;
    Some(match (word, current) {
        ("", _) => return None,
        ("unstable", _) => given
            .improve(format!("The word forbids tsc; the present clock source is {current}."))
            .drop_boot_word(),
        (_, "tsc") => given.fine("The present clock source is tsc, which the word concerns."),
        _ => given
            .no_effect(format!("The present clock source is {current}, which the word does not concern."))
            .drop_boot_word(),
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_inventory::{HugePagePool, IdleState, Inventory, ServerProcess};

    use super::*;
    use crate::{
        Standing,
        host::testing::{booted, check_hosts, findings, standings},
    };

    /// A host whose boot line has these words, and that is changed.
    fn with(words: &[&str], change: impl FnOnce(&mut Inventory)) -> Inventory {
        let mut host = booted(words);
        change(&mut host);
        host
    }

    #[test]
    fn words_of_processors_and_disks_are_judged() {
        use Standing::{Fine, Improve, NoEffect, Obsolete, Unknown};
        let on_kernel =
            |word: &str, release: &str| with(&[word], |host| release.clone_into(&mut host.kernel.release));
        let idling =
            |word: &str, driver: &str| with(&[word], |host| host.cpu.idle_driver = Some(driver.to_owned()));
        check_hosts(&[
            ("numa=off", booted(&["ro", "numa=off"]), &[Improve]),
            ("numa=off", with(&["numa=off"], |host| host.cpu.sockets = Some(2)), &[Improve]),
            ("numa=off", with(&["numa=off"], |host| host.cpu.sockets = Some(1)), &[NoEffect]),
            ("numa=off", booted(&["numa=noacpi"]), &[]),
            ("numa=off", booted(&["ro"]), &[]),
            ("numa=off", booted(&[]), &[]),
            ("elevator=", on_kernel("elevator=deadline", "6.12.0"), &[Obsolete]),
            ("elevator=", on_kernel("elevator=noop", "5.0.1"), &[Obsolete]),
            ("elevator=", on_kernel("elevator=deadline", "3.10.0-693.el7"), &[Fine]),
            ("elevator=", on_kernel("elevator=cfq", "4.19.0"), &[Improve]),
            ("elevator=", on_kernel("elevator=deadline", ""), &[]),
            ("elevator=", booted(&["ro"]), &[]),
            ("scsi_mod.use_blk_mq", booted(&["scsi_mod.use_blk_mq=1"]), &[Obsolete]),
            ("scsi_mod.use_blk_mq", on_kernel("scsi_mod.use_blk_mq=1", "4.19.0"), &[Fine]),
            ("scsi_mod.use_blk_mq", on_kernel("scsi_mod.use_blk_mq=1", ""), &[]),
            ("scsi_mod.use_blk_mq", booted(&["ro"]), &[]),
            ("intel_idle.max_cstate", intel_idle_host(&["intel_idle.max_cstate=0"], 41), &[NoEffect]),
            ("intel_idle.max_cstate", intel_idle_host(&["intel_idle.max_cstate=0"], 1), &[Fine]),
            // Idle states are unknown.
            ("intel_idle.max_cstate", booted(&["intel_idle.max_cstate=0"]), &[Unknown]),
            ("intel_idle.max_cstate", intel_idle_host(&["intel_idle.max_cstate=1"], 41), &[]),
            (
                "intel_idle.max_cstate",
                intel_idle_host(&["intel_idle.max_cstate=0", "processor.max_cstate=1"], 41),
                &[],
            ),
            ("intel_idle.max_cstate", intel_idle_host(&[], 41), &[]),
            // The driver is unknown.
            ("processor.max_cstate", booted(&["processor.max_cstate=1"]), &[Unknown]),
            ("processor.max_cstate", idling("processor.max_cstate=1", "intel_idle"), &[NoEffect]),
            ("processor.max_cstate", idling("processor.max_cstate=1", "acpi_idle"), &[Fine]),
            ("processor.max_cstate", idling("processor.max_cstate=1", "haltpoll"), &[]),
            ("processor.max_cstate", idling("ro", "haltpoll"), &[]),
            ("scsi_mod.scan", booted(&["scsi_mod.scan=sync"]), &[NoEffect]),
            ("scsi_mod.scan", booted(&["scsi_mod.scan=none"]), &[]),
            ("scsi_mod.scan", booted(&["scsi_mod.scanner=sync"]), &[]),
            ("isolcpus", booted(&["isolcpus=2-7"]), &[Improve]),
            ("isolcpus", booted(&["isolcpus="]), &[]),
            ("isolcpus", booted(&["nohz_full=2-7"]), &[]),
        ]);
    }

    #[test]
    fn words_of_memory_and_clocks_are_judged() {
        use Standing::{Fine, Improve, NoEffect};
        let in_mode = |word: &str, mode: &str| {
            with(&[word], |host| host.memory.transparent.enabled = Some(mode.to_owned()))
        };
        let of_size = |default_bytes, version_num: Option<u32>| {
            with(&["hugepagesz=1G", "hugepages=64"], |host| {
                host.memory.default_huge_page_bytes = Some(default_bytes);
                host.server = version_num
                    .map(|number| ServerProcess { version_num: Some(number), ..ServerProcess::default() });
            })
        };
        let clocked = |word: &str, current: &str, available: &[&str]| {
            with(&[word], |host| {
                host.kernel.clocks.current = Some(current.to_owned());
                host.kernel.clocks.available = available.iter().map(|&source| source.to_owned()).collect();
            })
        };
        let counted = |word: &str, current: &str| clocked(word, current, &[]);
        check_hosts(&[
            // The mode is unknown.
            ("transparent_hugepage=", booted(&["transparent_hugepage=never"]), &[]),
            ("transparent_hugepage=", in_mode("transparent_hugepage=never", "never"), &[Fine]),
            ("transparent_hugepage=", in_mode("transparent_hugepage=never", "always"), &[NoEffect]),
            ("transparent_hugepage=", in_mode("ro", "always"), &[]),
            ("hugepages=", hugepages_host(&["hugepages=many"], 1000), &[]),
            ("hugepages=", hugepages_host(&["hugepagesz=1G", "hugepages=4"], 1000), &[]),
            ("hugepages=", hugepages_host(&["ro"], 1000), &[]),
            ("hugepages=", booted(&["hugepages=1000"]), &[]),
            ("hugepagesz=", of_size(2 << 20, None), &[]),
            ("hugepagesz=", of_size(2 << 20, Some(110_000)), &[NoEffect]),
            ("hugepagesz=", of_size(1 << 30, Some(110_000)), &[]),
            ("hugepagesz=", of_size(2 << 20, Some(180_000)), &[]),
            ("mitigations=", booted(&["mitigations=auto"]), &[Fine]),
            ("mitigations=", booted(&["mitigations=auto,nosmt"]), &[Fine]),
            ("mitigations=", booted(&["mitigations=auto,no_guest_host,no_guest_guest"]), &[Fine]),
            ("mitigations=", booted(&["mitigations=auto,nosmt,no_user_kernel,no_guest_host"]), &[Improve]),
            ("mitigations=", booted(&["quiet"]), &[]),
            ("clocksource=", clocked("clocksource=tsc", "tsc", &["tsc", "hpet"]), &[Fine]),
            ("clocksource=", clocked("clocksource=tsc", "kvm-clock", &["kvm-clock"]), &[NoEffect]),
            ("clocksource=", clocked("clocksource=hpet", "hpet", &["tsc", "hpet"]), &[Improve]),
            ("clocksource=", clocked("clocksource=hpet", "hpet", &["hpet"]), &[Fine]),
            ("clocksource=", clocked("ro", "tsc", &["tsc"]), &[]),
            ("tsc=", counted("tsc=reliable", "tsc"), &[Fine]),
            ("tsc=", counted("tsc=reliable", "kvm-clock"), &[NoEffect]),
            ("tsc=", counted("tsc=unstable", "hpet"), &[Improve]),
            ("tsc=", counted("ro", "tsc"), &[]),
            ("hugepages=", hugepages_host(&["hugepages=1000"], 1000), &[Fine]),
            ("hugepages=", hugepages_host(&["hugepages=1000"], 900), &[NoEffect]),
            ("clocksource=", booted(&["clocksource=tsc"]), &[]),
            ("tsc=", booted(&["tsc=reliable"]), &[]),
        ]);
    }

    fn intel_idle_host(words: &[&str], latency_us: u64) -> Inventory {
        let state = |name: &str, latency_us| IdleState { name: name.to_owned(), latency_us, disabled: false };
        with(words, |host| {
            host.cpu.idle_driver = Some("acpi_idle".to_owned());
            host.cpu.idle_states = vec![state("POLL", 0), state("C2", latency_us)];
        })
    }

    fn hugepages_host(words: &[&str], total: u64) -> Inventory {
        let mut host = booted(words);
        host.memory.default_huge_page_bytes = Some(2 << 20);
        host.memory.huge_pages = vec![HugePagePool { page_bytes: 2 << 20, total, ..HugePagePool::default() }];
        host
    }

    #[test]
    fn sizes_are_read() {
        for (word, bytes) in
            [("2M", Some(2 << 20)), ("1g", Some(1 << 30)), ("64K", Some(65536)), ("1GG", None), ("", None)]
        {
            assert_eq!(bytes_of(word), bytes, "{word}");
        }
        assert_eq!(bytes_of("99999999999999999999G"), None);
        assert_eq!(bytes_of("18446744073709551615G"), None);
    }

    #[test]
    fn open_vulnerabilities_are_named() {
        let mut host = booted(&["mitigations=off"]);
        assert_eq!(standings("mitigations=", &host), [Standing::Unknown], "vulnerabilities unknown");
        host.cpu.mitigations.insert("meltdown".to_owned(), "Not affected".to_owned());
        assert_eq!(standings("mitigations=", &host), [Standing::NoEffect]);
        host.cpu.mitigations.insert("spectre_v2".to_owned(), "Vulnerable; STIBP: disabled".to_owned());
        let findings = findings("mitigations=", &host);
        assert_eq!(findings[0].standing, Standing::Improve);
        assert!(findings[0].reason.contains("spectre_v2") && !findings[0].reason.contains("meltdown"));
    }

    #[test]
    fn what_protects_from_guests_may_be_left_out() {
        let reason = findings("mitigations=", &booted(&["mitigations=auto;no_user_user"])).remove(0).reason;
        assert!(reason.contains("no_user_user leaves that open"), "{reason}");
    }
}
