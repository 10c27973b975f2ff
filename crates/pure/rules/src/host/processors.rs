//! Processors and the clock. Words of the boot line are in the family of that.

use pgdyno_core::{host::Knob, units};

use super::{
    remedy::Remedy,
    rule::{Given, Rule},
};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "vm.zone_reclaim_mode",
        what: "Whether the kernel frees page cache of a NUMA node before it takes memory of another node.",
        today: Today::Dangerous,
        why: "A server shares one page cache among all nodes: memory of another node is far cheaper than reading a \
             page from a disk again. The default has been 0 since Linux 3.16; before, firmware tables could turn it \
             on.",
        danger: "Any other value makes allocations wait for reclaim while other nodes have memory, and leaves much of \
                the memory unused as page cache.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst; commit 4f9b16a64753 (Linux 3.16).",
        ..Page::EMPTY
    })
    .judges(judge_zone_reclaim),
    Rule::of(Page {
        name: "kernel.numa_balancing",
        what: "Whether the kernel moves pages towards the NUMA node of the process that uses them: 0 no, 1 yes, 2 \
              only between tiers of memory (since Linux 5.18).",
        today: Today::Depends,
        why: "To learn who uses a page the kernel unmaps it now and then and takes a fault. Pages of shared_buffers \
             are used from all nodes, so there is little to gain for them, while the memory of one long session can \
             gain. Whether 0 helps depends on the load; compare both on your own.",
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst, numa_balancing.",
        since_kernel: Some((3, 13)),
        ..Page::EMPTY
    })
    .sysctl(judge_balancing),
    Rule::of(Page {
        name: "numactl --interleave",
        also: &["interleave", "numactl", "NUMA interleave"],
        what: "Starting the server so that its shared memory is spread evenly over the NUMA nodes.",
        today: Today::Depends,
        why: "Without it a page of shared_buffers lies on the node whose process touched it first. A load by few \
             sessions, or huge pages taken at once, can put most of it on one node, which then has all the traffic. \
             numactl --interleave=all for the start spreads it, and private memory of sessions too, which is better \
             kept local. Whether it helps depends on the load.",
        source: "numactl(8); Linux Documentation/admin-guide/mm/numa_memory_policy.rst.",
        ..Page::EMPTY
    })
    .judges(judge_interleave),
    Rule::of(Page {
        name: "kernel.sched_autogroup_enabled",
        what: "Whether the scheduler shares processors between sessions (in the sense of setsid) instead of \
              processes.",
        today: Today::Depends,
        why: "Every process of the server makes itself a session, so each is a group of its own, which costs the \
             scheduler a level more; and groups do not apply at all where the processes are in a control group with \
             the cpu controller. Gains published for 0 are from kernels of 2012; compare both on your own.",
        danger: "nice has no effect between processes of different groups, so that a backup with nice 19 competes \
                fully.",
        source: "sched(7), \"The autogroup feature\".",
        ..Page::EMPTY
    })
    .sysctl(judge_autogroup),
    Rule::of(Page {
        name: "kernel.sched_migration_cost_ns",
        what: "How long after its last run a process counts as having its data in the cache of a processor, 500000 ns \
              by default.",
        today: Today::Obsolete,
        why: "Since Linux 5.13 it is no kernel parameter any more but a file for debugging, \
             /sys/kernel/debug/sched/migration_cost_ns. The published 5000000 is from kernels of 2012 and a scheduler \
             that has been replaced in 6.6.",
        danger: "High values keep processes waiting on one processor while others are idle.",
        source: "Linux commit 8a99b6833c88 (Linux 5.13).",
        until_kernel: Some((5, 13)),
        ..Page::EMPTY
    })
    .judges(judge_migration),
    Rule::of(Page {
        name: "scaling_governor",
        also: &["governor", "cpufreq"],
        what: "How the kernel chooses the frequency of a processor: performance the highest, powersave the lowest, \
              schedutil, ondemand and others by the load. With the drivers intel_pstate and amd-pstate-epp powersave \
              also follows the load.",
        today: Today::Kept,
        why: "Short transactions sleep and wake thousands of times a second, so that a governor which follows the \
             load is late each time; performance also makes measurements repeatable. It is set by cpupower \
             frequency-set -g performance or a profile of tuned for each processor.",
        danger: "powersave of other drivers holds processors at their lowest frequency.",
        source: "Linux Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst.",
        ..Page::EMPTY
    })
    .judges(judge_governor),
    Rule::of(Page {
        name: "turbo",
        also: &["boost", "no_turbo"],
        what: "Whether processors may exceed their nominal frequency while temperature and power allow.",
        today: Today::Depends,
        why: "On, the server is faster. Off, measurements scatter less, because the frequency does not depend on what \
             else runs and on the temperature.",
        source: "Linux Documentation/admin-guide/pm/cpufreq.rst, boost.",
        ..Page::EMPTY
    })
    .judges(judge_turbo),
    Rule::of(Page {
        name: "cpuidle",
        also: &["C-states", "cstate", "cstates"],
        what: "How deep an idle processor sleeps; the deeper, the longer it takes to wake.",
        today: Today::Depends,
        why: "A state that takes 100 µs or more to leave adds up to that to each round trip of a lightly loaded \
             server. Deep states also give other cores more turbo. A profile of tuned (latency-performance) or \
             /dev/cpu_dma_latency limits them while it runs, without a word of the boot line.",
        danger: "With all states off, processors are hot, and turbo has less room.",
        source: "Linux Documentation/admin-guide/pm/cpuidle.rst and intel_idle.rst.",
        ..Page::EMPTY
    })
    .judges(judge_idle),
    Rule::of(Page {
        name: "smt",
        also: &["hyper-threading", "hyperthreading"],
        what: "Whether a core runs two or more threads at a time, which share its caches and units.",
        today: Today::Depends,
        why: "Servers with many sessions mostly gain, less than twice: a logical processor is no core, and half of \
             the CPUs in use may be nearly all of the speed. For measurements, pin drivers and servers to different \
             cores, not to two threads of one.",
        source: "Linux Documentation/ABI/testing/sysfs-devices-system-cpu, smt/control.",
        ..Page::EMPTY
    })
    .judges(judge_smt),
    Rule::of(Page {
        name: "steal",
        also: &["CPU steal"],
        what: "Share of CPU time that the hypervisor gave to others while this guest wanted to run, of what it had \
              together with what it wanted; tools such as top show it as a share of all time, idle time included, and \
              so does a finding where nothing else was read.",
        today: Today::Kept,
        why: "It cannot be set here: a larger or dedicated instance, or another host of the provider, is the remedy. \
             Figures measured meanwhile are those of the neighbours too.",
        danger: "Latencies grow without anything to be seen in the server.",
        source: "proc_stat(5), steal.",
        ..Page::EMPTY
    })
    .judges(judge_steal),
    Rule::of(Page {
        name: "clocksource",
        also: &["current_clocksource"],
        what: "What the kernel takes the time from.",
        today: Today::Kept,
        why: "EXPLAIN ANALYZE, track_io_timing and every driver read the clock all the time. tsc, kvm-clock, the page \
             of Hyper-V and the counter of ARM are read without entering the kernel, in some ten nanoseconds \
             (kvm-clock where the hypervisor calls its counter stable, which current ones do); hpet, acpi_pm and \
             others take a system call and up to a microsecond. pg_test_timing measures it. Changing between two fast \
             ones brings next to nothing.",
        danger: "The kernel takes tsc away from the list where it found it unstable: do not force it by the boot \
                line.",
        source: "PostgreSQL manual, pg_test_timing; Linux Documentation/timers/timekeeping.rst.",
        ..Page::EMPTY
    })
    .judges(judge_clock_source),
    Rule::of(Page {
        name: "kernel.perf_event_paranoid",
        what: "What users without CAP_PERFMON may profile: -1 all, 0 processors, 1 their processes with kernel \
              functions, 2 their processes without (the kernel's default). Kernels of Debian and Ubuntu have a level \
              more, 3 or 4, at which only root may profile.",
        today: Today::Depends,
        why: "It costs a server nothing. A profile of where the server spends CPU time needs 2 for functions of the \
             server and 1 for those of the kernel, or CAP_PERFMON.",
        danger: "Low values let local users observe kernel addresses and timings: set them for the profile, not for \
                good.",
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst and admin-guide/perf-security.rst.",
        ..Page::EMPTY
    })
    .judges(judge_profiling),
];

fn judge_zone_reclaim(given: &Given<'_>) -> Option<Finding> {
    let nodes = given.numa_nodes();
    let Some(value) = given.number() else { return (nodes > 1).then(|| given.unread()) };
    let finding = match (value, nodes) {
        (0, _) => given.fine("Memory of all nodes is used before page cache is dropped."),
        (_, 1) => given.no_effect("With one NUMA node there is no other node to turn to first."),
        (_, nodes) => {
            let reason = format!(
                "With {nodes} NUMA nodes each drops its page cache while another still has free memory, and sessions \
                 wait for it."
            );
            given.dangerous(reason).set_sysctl(0)
        }
    };
    Some(finding.present(value))
}

fn judge_balancing(given: &Given<'_>, value: u64) -> Finding {
    match (value, given.numa_nodes()) {
        (0, _) => given.fine("Pages stay on the node on which they were first touched."),
        (_, 1) => given.no_effect("There is one NUMA node, so there is nothing to move."),
        (_, nodes) => given.fine(format!(
            "Pages move between {nodes} nodes at the price of faults; its effect here is not measured."
        )),
    }
}

fn judge_autogroup(given: &Given<'_>, value: u64) -> Finding {
    given.fine(match value {
        0 => "Processors are divided among processes.",
        _ => {
            "Processors are divided among sessions of setsid, of which each process of the server is one, where no \
             control group divides them; its effect here is not measured."
        }
    })
}

fn judge_migration(given: &Given<'_>) -> Option<Finding> {
    match (given.number(), given.line(), given.kernel_is_at_least(5, 13)) {
        (Some(500_000), ..) => Some(given.fine("It is the default.").present(500_000)),
        (Some(value), ..) => {
            let reason = "Newer kernels no longer have it, and what it brings here is not measured.";
            Some(given.obsolete(reason).present(value).recommend(500_000))
        }
        (None, Some(line), Some(true)) => Some(given.obsolete(format!(
            "{} sets it to {}, and kernels since 5.13 do not have it.",
            line.file, line.value
        ))),
        _ => None,
    }
}

/// A state that takes longer to leave is noticed in short transactions, in microseconds.
const NOTICED_US: u64 = 100;

fn judge_governor(given: &Given<'_>) -> Option<Finding> {
    let cpu = &given.host.cpu;
    let governor = cpu.governor.as_deref()?;
    let own = cpu
        .frequency_driver
        .as_deref()
        .is_some_and(|driver| driver == "intel_pstate" || driver.ends_with("pstate-epp"));
    let reason = match (governor, own) {
        ("performance", _) => {
            return Some(given.fine("Processors run at their highest frequency.").present(governor));
        }
        ("powersave", true) => {
            "The frequency follows the load with this driver, and is late for short transactions."
        }
        ("powersave", false) => "Processors stay at their lowest frequency.",
        _ => "The frequency follows the load, and is late for short transactions.",
    };
    Some(given.improve(reason).present(governor).recommend("performance"))
}

fn judge_turbo(given: &Given<'_>) -> Option<Finding> {
    Some(match given.host.cpu.turbo? {
        true => given
            .fine("It is fast, and frequencies depend on temperature and on what else runs.")
            .present("on"),
        false => given.fine("Frequencies are steady, at the price of speed.").present("off"),
    })
}

fn judge_idle(given: &Given<'_>) -> Option<Finding> {
    let states = given.host.cpu.idle_states.iter().filter(|state| !state.disabled);
    let deepest = states.max_by_key(|state| state.latency_us)?;
    let text = format!("{} takes {} µs to leave", deepest.name, deepest.latency_us);
    let finding = match deepest.latency_us < NOTICED_US {
        true => given.fine(format!("{text}, which short transactions do not notice.")),
        false => given
            .improve(format!("{text}, which adds to round trips while the server is lightly loaded."))
            .recommend(format!("states below {NOTICED_US} µs")),
    };
    Some(finding.present(&deepest.name))
}

/// Shares of steal above these are noticed, and are no place to measure.
const NOTICED_STEAL: f64 = 0.01;

fn judge_smt(given: &Given<'_>) -> Option<Finding> {
    let cpu = &given.host.cpu;
    Some(match (cpu.smt.as_deref()?, cpu.cores) {
        ("on", Some(cores)) => {
            let logical = units::plural(u64::from(cpu.logical), "logical processor");
            let cores = units::plural(u64::from(cores), "core");
            given.fine(format!("{logical} on {cores}.")).present("on")
        }
        ("on", None) => given.fine("Two or more logical processors share a core.").present("on"),
        _ => given
            .fine("Each logical processor is a core, or the hypervisor does not show otherwise.")
            .present(cpu.smt_words().unwrap_or_default()),
    })
}

fn judge_steal(given: &Given<'_>) -> Option<Finding> {
    let cpu = &given.host.cpu;
    let known = |share: Option<f64>| share.filter(|share| share.is_finite());
    let (share, of) = match (known(cpu.steal_share_of_wanted), known(cpu.steal_share)) {
        (Some(share), _) => (share, "the CPU time that was wanted here"),
        (None, share) => (share?, "all CPU time, idle time included,"),
    };
    let present = units::percent(share);
    let reason = format!("Since boot the hypervisor gave {present} of {of} to others.");
    let finding = match share > NOTICED_STEAL {
        true => given.improve(reason).recommend("an instance with its own CPUs"),
        false => given.fine(reason),
    };
    Some(finding.present(present))
}

fn judge_interleave(given: &Given<'_>) -> Option<Finding> {
    let nodes = &given.host.cpu.numa_nodes;
    let smallest = nodes.iter().filter_map(|node| node.memory_bytes).min();
    Some(match (nodes.len(), smallest, given.shared_memory_bytes()) {
        (0 | 1, ..) => return None,
        (count, Some(smallest), Some(shared)) if shared > smallest / 2 => {
            let reason = format!(
                "The shared memory of the server, {}, is more than half of a node ({}); started with numactl \
                 --interleave=all it would be spread evenly over {count} nodes. What that brings here is not \
                 measured.",
                units::bytes(shared),
                units::bytes(smallest)
            );
            given.fine(reason).recommend("compare both")
        }
        (count, ..) => given.fine(format!(
            "There are {count} nodes, and nothing is known that would make one of them carry most of the memory."
        )),
    })
}

const CLOCK_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Sources that are read without a system call.
const FAST_CLOCKS: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

fn judge_clock_source(given: &Given<'_>) -> Option<Finding> {
    let clocks = &given.host.kernel.clocks;
    let Some(current) = clocks.current.as_deref() else {
        return Some(given.unknown("The clock source could not be read."));
    };
    let best = FAST_CLOCKS.into_iter().find(|fast| clocks.available.iter().any(|source| source == fast));
    let slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "xen"].contains(&current);
    let finding = match (FAST_CLOCKS.contains(&current), slow, best) {
        (true, ..) if current == "kvm-clock" => given
            .fine("It is read without entering the kernel, if the hypervisor calls its counter stable."),
        (true, ..) => given.fine("It is read without entering the kernel."),
        (false, true, Some(best)) => given
            .improve(format!("{best} is offered by this kernel, and may be read without entering the kernel."))
            .set(Knob::Sysfs(CLOCK_FILE.to_owned()), best),
        (false, true, None) if current != "xen" => given.improve(
            "Reading it takes a system call, and no faster source is offered: timing costs more than usual here.",
        ),
        _ => given.fine("What reading it costs is not known by its name; pg_test_timing measures it."),
    };
    Some(finding.present(current))
}

fn judge_profiling(given: &Given<'_>) -> Option<Finding> {
    let value = given.host.sysctl_number(given.page.name)?;
    let reason = match value {
        3.. => {
            "With the kernels of Debian and Ubuntu ordinary users cannot profile even their own processes, nor does \
             CAP_PERFMON suffice: a profile needs root, or 2 or 1 here while it is made."
        }
        2 => "Own processes can be profiled, without functions of the kernel.",
        1 => "Own processes can be profiled, with functions of the kernel.",
        _ => "Whole processors can be profiled, by every user of the host.",
    };
    Some(given.fine(reason).present(value))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        facts::amount::GB,
        host::{IdleState, Inventory},
    };

    use crate::{
        Standing,
        host::testing::{
            changes, check_values, findings, host, on_kernel, standings, with_line, with_nodes, with_server,
        },
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Fine, NoEffect, Obsolete};
        check_values(&[
            ("vm.zone_reclaim_mode", &[("0", Fine), ("1", NoEffect)]),
            ("kernel.numa_balancing", &[("0", Fine), ("1", NoEffect)]),
            ("kernel.sched_autogroup_enabled", &[("0", Fine), ("1", Fine)]),
            ("kernel.sched_migration_cost_ns", &[("500000", Fine), ("5000000", Obsolete)]),
            (
                "kernel.perf_event_paranoid",
                &[("-1", Fine), ("0", Fine), ("1", Fine), ("2", Fine), ("3", Fine), ("4", Fine)],
            ),
        ]);
    }

    #[test]
    fn several_nodes_share_their_memory() {
        let several = |sysctls: &[(&str, &str)]| with_nodes(host(sysctls), 2);
        assert_eq!(
            standings("vm.zone_reclaim_mode", &several(&[("vm.zone_reclaim_mode", "1")])),
            [Standing::Dangerous]
        );
        assert_eq!(changes("vm.zone_reclaim_mode", &several(&[("vm.zone_reclaim_mode", "1")])), ["0"]);
        assert_eq!(
            standings("vm.zone_reclaim_mode", &several(&[("vm.zone_reclaim_mode", "0")])),
            [Standing::Fine]
        );
        assert_eq!(standings("vm.zone_reclaim_mode", &several(&[])), [Standing::Unknown]);
    }

    #[test]
    fn one_node_has_nothing_to_balance() {
        let several = with_nodes(host(&[("kernel.numa_balancing", "1")]), 2);
        assert_eq!(standings("kernel.numa_balancing", &several), [Standing::Fine]);
    }

    #[test]
    fn the_cost_of_migration_left_the_parameters() {
        let set = with_line(host(&[]), "kernel.sched_migration_cost_ns", "5000000");
        assert_eq!(standings("kernel.sched_migration_cost_ns", &set), [Standing::Obsolete]);
        assert!(standings("kernel.sched_migration_cost_ns", &on_kernel(set.clone(), "5.10.0")).is_empty());
        assert!(
            standings("kernel.sched_migration_cost_ns", &on_kernel(set, "")).is_empty(),
            "an unknown kernel may have it"
        );
    }

    fn governed(driver: &str, governor: &str) -> Inventory {
        let mut host = host(&[]);
        host.cpu.frequency_driver = Some(driver.to_owned());
        host.cpu.governor = Some(governor.to_owned());
        host
    }

    #[test]
    fn powersave_depends_on_its_driver() {
        for (driver, governor, expected) in [
            ("acpi-cpufreq", "performance", None),
            ("acpi-cpufreq", "powersave", Some("lowest")),
            ("intel_pstate", "powersave", Some("follows")),
            ("amd-pstate-epp", "powersave", Some("follows")),
            ("acpi-cpufreq", "schedutil", Some("follows")),
        ] {
            let found = findings("scaling_governor", &governed(driver, governor));
            let improve = (found[0].standing == Standing::Improve).then_some(found[0].reason.as_str());
            assert_eq!(improve.is_some(), expected.is_some(), "{driver} {governor}");
            assert!(expected.is_none_or(|word| found[0].reason.contains(word)), "{found:?}");
        }
        assert!(standings("scaling_governor", &host(&[])).is_empty());
    }

    #[test]
    fn deep_sleep_is_noticed() {
        let mut host = host(&[]);
        assert!(standings("cpuidle", &host).is_empty());
        let state =
            |name: &str, latency_us, disabled| IdleState { name: name.to_owned(), latency_us, disabled };
        host.cpu.idle_states = vec![state("C1", 2, false), state("C6", 170, true)];
        assert_eq!(standings("cpuidle", &host), [Standing::Fine]);
        host.cpu.idle_states[1].disabled = false;
        assert_eq!(standings("cpuidle", &host), [Standing::Improve]);
    }

    #[test]
    fn turbo_is_reported() {
        let mut host = host(&[]);
        assert!(standings("turbo", &host).is_empty());
        for turbo in [true, false] {
            host.cpu.turbo = Some(turbo);
            assert_eq!(standings("turbo", &host), [Standing::Fine]);
        }
    }

    #[test]
    fn steal_is_noticed_from_a_hundredth_on() {
        let mut host = host(&[]);
        for (share, expected) in [
            (None, vec![]),
            (Some(0.0), vec![Standing::Fine]),
            (Some(0.05), vec![Standing::Improve]),
            (Some(f64::NAN), vec![]),
        ] {
            host.cpu.steal_share = share;
            assert_eq!(standings("steal", &host), expected, "{share:?}");
        }
    }

    #[test]
    fn steal_is_a_share_of_what_was_wanted() {
        let mut host = host(&[]);
        host.cpu.steal_share = Some(0.009);
        let reason = &findings("steal", &host)[0].reason;
        assert!(reason.contains("0.9 % of all CPU time, idle time included, to others"), "{reason}");
        host.cpu.steal_share_of_wanted = Some(0.0249);
        assert_eq!(standings("steal", &host), [Standing::Improve]);
        let reason = &findings("steal", &host)[0].reason;
        assert!(reason.contains("2.5 % of the CPU time that was wanted here"), "{reason}");
    }

    #[test]
    fn cores_are_counted() {
        let mut host = host(&[]);
        assert!(standings("smt", &host).is_empty());
        host.cpu.smt = Some("on".to_owned());
        host.cpu.cores = Some(8);
        assert_eq!(findings("smt", &host)[0].reason, "16 logical processors on 8 cores.");
        (host.cpu.logical, host.cpu.cores) = (2, Some(1));
        assert_eq!(findings("smt", &host)[0].reason, "2 logical processors on 1 core.");
        host.cpu.smt = Some("notsupported".to_owned());
        assert_eq!(findings("smt", &host)[0].present.as_deref(), Some("not offered by the processor"));
    }

    #[test]
    fn memory_of_several_nodes_may_be_spread() {
        assert!(standings("numactl --interleave", &host(&[])).is_empty());
        let mut host = with_server(with_nodes(host(&[]), 2), 17, &[("shared_buffers", "24GB")]);
        assert_eq!(
            findings("numactl --interleave", &host)[0].recommended,
            None,
            "sizes of nodes are unknown"
        );
        host.cpu.numa_nodes.iter_mut().for_each(|node| node.memory_bytes = Some(32 * GB));
        assert_eq!(findings("numactl --interleave", &host)[0].recommended.as_deref(), Some("compare both"));
    }

    #[test]
    fn slow_sources_are_replaced_by_offered_ones() {
        for (current, available, expected, change) in [
            ("tsc", vec!["tsc", "hpet"], Standing::Fine, None),
            ("kvm-clock", vec!["kvm-clock", "tsc"], Standing::Fine, None),
            ("hpet", vec!["hpet", "tsc"], Standing::Improve, Some("tsc")),
            ("xen", vec!["xen", "tsc"], Standing::Improve, Some("tsc")),
            ("acpi_pm", vec!["acpi_pm"], Standing::Improve, None),
            ("xen", vec!["xen"], Standing::Fine, None),
            ("timebase", vec!["timebase"], Standing::Fine, None),
        ] {
            let mut host = host(&[]);
            host.kernel.clocks.current = Some(current.to_owned());
            host.kernel.clocks.available = available.iter().map(|&source| source.to_owned()).collect();
            assert_eq!(standings("clocksource", &host), [expected], "{current}");
            assert_eq!(changes("clocksource", &host).first().map(String::as_str), change, "{current}");
        }
        assert_eq!(standings("clocksource", &host(&[])), [Standing::Unknown]);
    }

    #[test]
    fn profiles_need_permission() {
        let never =
            findings("kernel.perf_event_paranoid", &host(&[("kernel.perf_event_paranoid", "4")])).remove(0);
        assert!(never.change.is_none() && never.recommended.is_none(), "a guard is not lowered for good");
    }
}
