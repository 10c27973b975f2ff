//! SMT, CPU steal, and memory of several NUMA nodes.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule of SMT.
pub static SMT: Rule = Rule {
    page: Page {
        name: "smt",
        also: &["hyper-threading", "hyperthreading"],
        what: "Whether a core runs two or more threads at a time, which share its caches and units.",
        today: Today::Depends,
        why: "Servers with many sessions mostly gain, less than twice: a logical processor is no core, and half of \
              the CPUs in use may be nearly all of the speed. For measurements, pin drivers and servers to different \
              cores, not to two threads of one.",
        danger: "",
        source: "Linux Documentation/ABI/testing/sysfs-devices-system-cpu, smt/control.",
        ..Page::EMPTY
    },
    judge: judge_smt,
};

/// The rule of steal.
pub static STEAL: Rule = Rule {
    page: Page {
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
    },
    judge: judge_steal,
};

/// The rule of memory policies.
pub static INTERLEAVE: Rule = Rule {
    page: Page {
        name: "numactl --interleave",
        also: &["interleave", "numactl", "NUMA interleave"],
        what: "Starting the server so that its shared memory is spread evenly over the NUMA nodes.",
        today: Today::Depends,
        why: "Without it a page of shared_buffers lies on the node whose process touched it first. A load by few \
              sessions, or huge pages taken at once, can put most of it on one node, which then has all the traffic. \
              numactl --interleave=all for the start spreads it, and private memory of sessions too, which is better \
              kept local. Whether it helps depends on the load.",
        danger: "",
        source: "numactl(8); Linux Documentation/admin-guide/mm/numa_memory_policy.rst.",
        ..Page::EMPTY
    },
    judge: judge_interleave,
};

/// Shares of steal above these are noticed, and are no place to measure.
const NOTICED_STEAL: f64 = 0.01;

fn judge_smt(facts: &Facts<'_>) -> Vec<Finding> {
    let cpu = &facts.host.cpu;
    match (cpu.smt.as_deref(), cpu.cores) {
        (None, _) => Vec::new(),
        (Some("on"), Some(cores)) => {
            let logical = units::plural(u64::from(cpu.logical), "logical processor");
            SMT.fine("on", format!("{logical} on {}.", units::plural(u64::from(cores), "core")))
        }
        (Some("on"), None) => SMT.fine("on", "Two or more logical processors share a core."),
        (Some(_), _) => SMT.fine(
            cpu.smt_words().unwrap_or_default(),
            "Each logical processor is a core, or the hypervisor does not show otherwise.",
        ),
    }
}

fn judge_steal(facts: &Facts<'_>) -> Vec<Finding> {
    let cpu = &facts.host.cpu;
    let known = |share: Option<f64>| share.filter(|share| share.is_finite());
    let (share, of) = match (known(cpu.steal_share_of_wanted), known(cpu.steal_share)) {
        (Some(share), _) => (share, "the CPU time that was wanted here"),
        (None, Some(share)) => (share, "all CPU time, idle time included,"),
        (None, None) => return Vec::new(),
    };
    let present = units::percent(share);
    let reason = format!("Since boot the hypervisor gave {present} of {of} to others.");
    if share > NOTICED_STEAL {
        return vec![
            STEAL
                .finding(Standing::Improve, reason)
                .present(present)
                .recommend("an instance with its own CPUs"),
        ];
    }
    STEAL.fine(present, reason)
}

fn judge_interleave(facts: &Facts<'_>) -> Vec<Finding> {
    let nodes = &facts.host.cpu.numa_nodes;
    let smallest = nodes.iter().filter_map(|node| node.memory_bytes).min();
    match (nodes.len(), smallest, facts.shared_memory_bytes()) {
        (0 | 1, ..) => Vec::new(),
        (count, Some(smallest), Some(shared)) if shared > smallest / 2 => {
            let reason = format!(
                "The shared memory of the server, {}, is more than half of a node ({}); started with numactl \
                 --interleave=all it would be spread evenly over {count} nodes. What that brings here is not \
                 measured.",
                units::bytes(shared),
                units::bytes(smallest)
            );
            vec![INTERLEAVE.finding(Standing::Fine, reason).recommend("compare both")]
        }
        (count, ..) => vec![INTERLEAVE.finding(
            Standing::Fine,
            format!(
                "There are {count} nodes, and nothing is known that would make one of them carry most of the \
                     memory."
            ),
        )],
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::amount::GB;

    use super::*;
    use crate::host::testing::{findings, host, standings, with_nodes, with_server};

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
            assert_eq!(standings(&STEAL, &host), expected, "{share:?}");
        }
    }

    #[test]
    fn steal_is_told_of_what_was_wanted() {
        let mut host = host(&[]);
        host.cpu.steal_share = Some(0.009);
        let reason = &findings(&STEAL, &host)[0].reason;
        assert!(reason.contains("0.9 % of all CPU time, idle time included, to others"), "{reason}");
        host.cpu.steal_share_of_wanted = Some(0.0249);
        assert_eq!(standings(&STEAL, &host), [Standing::Improve]);
        let reason = &findings(&STEAL, &host)[0].reason;
        assert!(reason.contains("2.5 % of the CPU time that was wanted here"), "{reason}");
    }

    #[test]
    fn cores_are_counted() {
        let mut host = host(&[]);
        assert!(standings(&SMT, &host).is_empty());
        host.cpu.smt = Some("on".to_owned());
        host.cpu.cores = Some(8);
        assert_eq!(findings(&SMT, &host)[0].reason, "16 logical processors on 8 cores.");
        (host.cpu.logical, host.cpu.cores) = (2, Some(1));
        assert_eq!(findings(&SMT, &host)[0].reason, "2 logical processors on 1 core.");
        host.cpu.smt = Some("notsupported".to_owned());
        assert_eq!(findings(&SMT, &host)[0].present.as_deref(), Some("not offered by the processor"));
    }

    #[test]
    fn memory_of_several_nodes_may_be_spread() {
        assert!(standings(&INTERLEAVE, &host(&[])).is_empty());
        let mut host = with_server(with_nodes(host(&[]), 2), 17, &[("shared_buffers", "24GB")]);
        assert_eq!(findings(&INTERLEAVE, &host)[0].recommended, None, "sizes of nodes are unknown");
        host.cpu.numa_nodes.iter_mut().for_each(|node| node.memory_bytes = Some(32 * GB));
        assert_eq!(findings(&INTERLEAVE, &host)[0].recommended.as_deref(), Some("compare both"));
    }
}
