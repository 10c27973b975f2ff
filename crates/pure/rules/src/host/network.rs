//! Sockets, queues, ports, and interrupts of network interfaces.

use pgdyno_core::units::{self, plural};

use super::{
    remedy::Remedy,
    rule::{Given, Rule},
};
use crate::{Finding, Page, Today};

const WHY_BUFFERS: &str = "TCP sizes its buffers by net.ipv4.tcp_rmem and tcp_wmem and does not look here. UDP and \
                           Unix sockets do; PostgreSQL's are small requests and answers, for which 208 KiB are \
                           enough.";
const WHY_LARGEST_BUFFERS: &str = "It limits what a program asks for by SO_RCVBUF or SO_SNDBUF. Neither the server (on \
                                   Linux) nor libpq asks, so that TCP grows to the limits of tcp_rmem and tcp_wmem \
                                   without looking here. 212992 was the default for long; Linux 6.18 has 4 MiB.";
const BUFFERS: &str = "Linux Documentation/admin-guide/sysctl/net.rst; Documentation/networking/ip-sysctl.rst, \
                       tcp_rmem; tcp(7).";

const WHY_TRACKING: &str = "It exists only where the module nf_conntrack is loaded, as by a firewall with states or by \
                            containers. Each connection takes an entry of about 320 bytes, also a while after it was \
                            closed. The default is sized by the memory, up to 262144. Without the module the line in \
                            sysctl.conf is an error message at boot. Raising the limit alone makes the chains of the \
                            hash table longer; nf_conntrack_buckets goes with it.";
const DANGER_OF_TRACKING: &str = "When the table is full, new connections are dropped (\"nf_conntrack: table full, \
                                  dropping packet\" in the log of the kernel).";
const TRACKING: &str = "Linux Documentation/networking/nf_conntrack-sysctl.rst.";

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "net.core.somaxconn",
        what: "Longest queue of connections that were made and that a server has not yet accepted; 4096 by default \
              since Linux 5.4, 128 before.",
        today: Today::Kept,
        why: "The server asks for a queue of about twice its connections, before 16 at most 10000, and the kernel \
             cuts that to this value. It matters when many clients connect at once, as after a failover. It holds \
             from the next start of the server on.",
        danger: "When the queue is full, connections over TCP wait a second or more for a retry, and those over a \
                Unix socket fail at once (\"Resource temporarily unavailable\").",
        source: "PostgreSQL src/backend/libpq/pqcomm.c and pg_config_manual.h (PG_SOMAXCONN); Linux \
                Documentation/networking/ip-sysctl.rst; listen(2).",
        ..Page::EMPTY
    })
    .expected_sysctl(judge_queue),
    Rule::of(Page {
        name: "net.core.netdev_max_backlog",
        what: "Packets that may wait on each processor between a driver and the protocols, 1000 by default.",
        today: Today::DefaultIsRight,
        why: "Drivers of network cards (NAPI) hand packets on directly; only loopback, virtual pairs and steering by \
             RPS use this queue. It is too short only where the second column of /proc/net/softnet_stat grows.",
        source: "Linux Documentation/admin-guide/sysctl/net.rst; Documentation/networking/scaling.rst.",
        ..Page::EMPTY
    })
    .sysctl(judge_backlog),
    Rule::of(Page {
        name: "net.core.rmem_default",
        what: "Receive buffer of new sockets other than TCP in bytes, 212992 by default.",
        today: Today::NoEffect,
        why: WHY_BUFFERS,
        source: BUFFERS,
        ..Page::EMPTY
    })
    .sysctl(judge_buffer),
    Rule::of(Page {
        name: "net.core.rmem_max",
        what: "Largest receive buffer that a program may ask for, in bytes.",
        today: Today::NoEffect,
        why: WHY_LARGEST_BUFFERS,
        source: BUFFERS,
        ..Page::EMPTY
    })
    .sysctl(judge_largest_buffer),
    Rule::of(Page {
        name: "net.core.wmem_default",
        what: "Send buffer of new sockets other than TCP in bytes, 212992 by default.",
        today: Today::NoEffect,
        why: WHY_BUFFERS,
        source: BUFFERS,
        ..Page::EMPTY
    })
    .sysctl(judge_buffer),
    Rule::of(Page {
        name: "net.core.wmem_max",
        what: "Largest send buffer that a program may ask for, in bytes.",
        today: Today::NoEffect,
        why: WHY_LARGEST_BUFFERS,
        source: BUFFERS,
        ..Page::EMPTY
    })
    .sysctl(judge_largest_buffer),
    Rule::of(Page {
        name: "net.ipv4.ip_local_port_range",
        what: "Ports that outgoing connections take by themselves, 32768 to 60999 by default.",
        today: Today::DefaultIsRight,
        why: "A server does not use it for connections that it accepts. The host of clients or of a pooler does: \
             28232 ports allow so many connections to one address and port at a time, including those closed within \
             the last minute.",
        danger: "A range that includes the port of a server lets an outgoing connection take it while the server is \
                down, which then cannot start; net.ipv4.ip_local_reserved_ports excludes ports.",
        source: "Linux Documentation/networking/ip-sysctl.rst, ip_local_port_range; ip(7).",
        ..Page::EMPTY
    })
    .judges(judge_ports),
    Rule::of(Page {
        name: "net.netfilter.nf_conntrack_max",
        what: "Connections that the firewall of the kernel keeps in mind.",
        today: Today::NoEffect,
        why: WHY_TRACKING,
        danger: DANGER_OF_TRACKING,
        source: TRACKING,
        ..Page::EMPTY
    })
    .judges(judge_tracking),
    Rule::of(Page {
        name: "net.nf_conntrack_max",
        what: "The same as net.netfilter.nf_conntrack_max under an older name.",
        today: Today::NoEffect,
        why: WHY_TRACKING,
        danger: DANGER_OF_TRACKING,
        source: TRACKING,
        ..Page::EMPTY
    })
    .judges(judge_older_name),
    Rule::of(Page {
        name: "irqbalance",
        what: "A daemon that spreads interrupts over processors.",
        today: Today::Depends,
        why: "Disks of NVMe and current network drivers have a queue and an interrupt for each processor, which the \
             kernel places by itself; for those there is nothing to spread. It helps where several interrupts are all \
             sent to the same processor. For measurements interrupts that move are a source of scatter.",
        danger: "All interrupts on one processor make it the bottleneck of the network.",
        source: "irqbalance(1); Linux Documentation/core-api/irq/irq-affinity.rst.",
        ..Page::EMPTY
    })
    .judges(judge_balance),
    Rule::of(Page {
        name: "nic-queues",
        also: &["ethtool -L", "combined", "NIC queues"],
        what: "Queues of a network interface, each with an interrupt and a processor of its own.",
        today: Today::Kept,
        why: "Packets of a queue are processed by one processor. The recommended number is what the device offers, at \
             most one for each logical processor: ethtool -L NAME combined N. It lasts by a unit or a rule of udev.",
        danger: "Changing it interrupts traffic for a moment.",
        source: "ethtool(8), -L; Linux Documentation/networking/scaling.rst.",
        ..Page::EMPTY
    })
    .finds(judge_queues),
];

/// The kernel's default of `net.core.somaxconn` since 5.4.
const DEFAULT_QUEUE: u64 = 4096;

fn judge_queue(given: &Given<'_>, value: u64) -> Finding {
    /// What servers before 16 ask for at most.
    const CLAMP: u64 = 10_000;
    let Some(connections) = given.setting_number("max_connections", 100) else {
        return queue_without_server(given, value);
    };
    let asked = connections.saturating_mul(2);
    let asked = if given.major() >= Some(16) { asked } else { asked.min(CLAMP) };
    // All clients at once are one queue of max_connections: the second half is for those that will be refused.
    if value >= connections.min(asked) {
        return given.fine(format!("All {connections} connections of the server may wait at once."));
    }
    let best = asked.clamp(DEFAULT_QUEUE, i32::MAX as u64);
    let reason = format!(
        "The server asks for a queue of {asked}, and gets {value}: clients that connect at once may fail."
    );
    given.improve(reason).set_sysctl(best)
}

fn queue_without_server(given: &Given<'_>, value: u64) -> Finding {
    match value {
        DEFAULT_QUEUE.. => given.fine("It is the default of current kernels or more."),
        _ => given
            .improve("It is below the default of current kernels, 4096: many clients that connect at once may fail.")
            .set_sysctl(DEFAULT_QUEUE),
    }
}

fn judge_backlog(given: &Given<'_>, value: u64) -> Finding {
    match value {
        0..1000 => given
            .improve("It is below the default of 1000, so that bursts over loopback may be dropped.")
            .set_sysctl(1000),
        _ => given.fine("It is the default or more; drops would show in /proc/net/softnet_stat."),
    }
}

fn judge_buffer(given: &Given<'_>, value: u64) -> Finding {
    /// The default of all four for long.
    const DEFAULT: u64 = 212_992;
    match value {
        0..65_536 => {
            let reason = "It is far below the default of 212992, so that Unix sockets switch between processes more \
                          often.";
            given.improve(reason).set_sysctl(DEFAULT)
        }
        DEFAULT => given.fine("It is a default of the kernel."),
        _ => given.no_effect("Buffers of PostgreSQL's connections over TCP do not grow by it."),
    }
}

fn judge_largest_buffer(given: &Given<'_>, value: u64) -> Finding {
    /// The default of the two maxima in the newest kernels.
    const NEW_MAX: u64 = 4 << 20;
    match value {
        NEW_MAX if given.kernel_is_at_least(6, 18) == Some(true) => {
            given.fine("It is the default of recent kernels.")
        }
        _ => judge_buffer(given, value),
    }
}

fn judge_ports(given: &Given<'_>) -> Option<Finding> {
    let [first, last] = given.numbers_of()?;
    let count = last.saturating_add(1).saturating_sub(first);
    let text = units::count(count);
    let finding = match given.setting_number("port", 5432) {
        Some(port) if (first..=last).contains(&port) && !reserved(given, port) => given
            .improve(format!(
                "Port {port} of the server is in the range: an outgoing connection may take it while it is down."
            ))
            .recommend(format!("net.ipv4.ip_local_reserved_ports = {port}")),
        _ if count < 10_000 => given
            .improve(format!("Only {text} outgoing connections to one address and port are possible."))
            .set_sysctl("32768 60999"),
        _ => given.fine(format!("{text} outgoing connections to one address and port are possible.")),
    };
    Some(finding.present(format!("{first} {last}")))
}

/// Whether a port is excluded from the range.
fn reserved(given: &Given<'_>, port: u64) -> bool {
    let ranges = given.host.sysctl("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
    ranges.split(',').any(|range| {
        let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
        first.parse().is_ok_and(|first: u64| first <= port)
            && last.parse().is_ok_and(|last: u64| port <= last)
    })
}

fn judge_tracking(given: &Given<'_>) -> Option<Finding> {
    // Entries for connections that are open, and for those that were closed within the last two minutes.
    let connections = given.setting_number("max_connections", 100).unwrap_or(0);
    let needed = connections.saturating_mul(4).max(16_384);
    let loaded = given.host.kernel.modules.iter().any(|module| module == "nf_conntrack");
    match (given.number(), given.line()) {
        (Some(value), _) if value < needed => {
            let reason = format!("The server alone may need {} entries.", units::count(needed));
            Some(given.improve(reason).present(value).set_sysctl(needed.max(65_536)))
        }
        (Some(value), _) => {
            let reason =
                format!("{} connections can be tracked, enough for the server.", units::count(value));
            Some(given.fine(reason).present(value))
        }
        (None, Some(line)) if !loaded && !given.host.kernel.sysctls.is_empty() => {
            Some(given.no_effect(format!(
                "{} sets it to {}, but nf_conntrack is not loaded.",
                line.file, line.value
            )))
        }
        (None, _) => None,
    }
}

fn judge_older_name(given: &Given<'_>) -> Option<Finding> {
    let newer =
        given.host.sysctl("net.netfilter.nf_conntrack_max").and_then(|text| text.trim().parse::<u64>().ok());
    match (given.number(), newer) {
        (Some(value), Some(_)) => {
            Some(given.fine("net.netfilter.nf_conntrack_max is the same and is judged.").present(value))
        }
        _ => judge_tracking(given),
    }
}

fn judge_balance(given: &Given<'_>) -> Option<Finding> {
    let interrupts = &given.host.interrupts;
    let several = interrupts.affinities.len() > 1 && given.host.cpu.logical > 1;
    let mut places = interrupts.affinities.iter().map(|(_, cpus)| cpus.trim());
    let first = places.next().unwrap_or_default();
    let one_place = !first.is_empty() && first.parse::<u32>().is_ok() && places.all(|place| place == first);
    if several && one_place {
        let reason = format!(
            "All {} interrupts of disks and network interfaces go to processor {first}.",
            interrupts.affinities.len()
        );
        return Some(given.improve(reason).present(first).recommend("irqbalance, or several processors"));
    }
    Some(match interrupts.irqbalance_runs? {
        true => given.fine("It spreads what the kernel does not place by itself.").present("runs"),
        false => {
            given.fine("No interrupts are seen that would all go to one processor.").present("does not run")
        }
    })
}

fn judge_queues(given: &Given<'_>) -> Vec<Finding> {
    let processors = given.host.cpu.logical;
    let judged = given.host.network.iter().filter_map(|interface| {
        let (receive, transmit) = interface.queues?;
        let most = interface.most_queues?.min(processors);
        let present = receive.min(transmit);
        let text = format!(
            "{} has {}; with {} it could have {most}",
            interface.name,
            plural(u64::from(present), "queue"),
            plural(u64::from(processors), "processor")
        );
        let finding = match present < most {
            true => given.improve(format!("{text}.")).recommend(most),
            false => given.fine(format!("{text} and needs no more.")),
        };
        Some(finding.present(present).on(interface.name.as_str()))
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Interface;

    use crate::{
        Standing,
        host::testing::{
            changes, check_values, findings, host, on_kernel, standings, with_line, with_server,
        },
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Fine, Improve, NoEffect};
        let buffers: &[_] = &[("212992", Fine), ("262144", NoEffect), ("4096", Improve)];
        let connections: &[_] = &[("262144", Fine), ("1000", Improve)];
        check_values(&[
            ("net.core.rmem_default", buffers),
            ("net.core.rmem_max", buffers),
            ("net.core.wmem_default", buffers),
            ("net.core.wmem_max", buffers),
            ("net.netfilter.nf_conntrack_max", connections),
            ("net.nf_conntrack_max", connections),
            ("net.core.somaxconn", &[("128", Improve), ("4096", Fine)]),
            ("net.core.netdev_max_backlog", &[("1000", Fine), ("10000", Fine), ("10", Improve)]),
            (
                "net.ipv4.ip_local_port_range",
                &[("32768 60999", Fine), ("40000 65535", Fine), ("60000 61000", Improve), ("9 1", Improve)],
            ),
        ]);
    }

    #[test]
    fn connections_say_how_long_a_queue_is_wanted() {
        let server = |value, major, connections| {
            with_server(host(&[("net.core.somaxconn", value)]), major, &[("max_connections", connections)])
        };
        assert_eq!(standings("net.core.somaxconn", &server("128", 17, "100")), [Standing::Fine]);
        assert_eq!(changes("net.core.somaxconn", &server("128", 17, "500")), ["4096"]);
        assert_eq!(changes("net.core.somaxconn", &server("128", 15, "8000")), ["10000"]);
        assert_eq!(changes("net.core.somaxconn", &server("128", 16, "8000")), ["16000"]);
    }

    #[test]
    fn the_default_is_that_of_the_kernel() {
        let (fine, nothing) = (Standing::Fine, Standing::NoEffect);
        for (rule, release, expected) in [
            ("net.core.rmem_max", "3.18.24", nothing),
            ("net.core.wmem_max", "6.1.0", nothing),
            ("net.core.rmem_max", "6.18.44", fine),
            ("net.core.rmem_max", "", nothing),
            ("net.core.wmem_default", "6.18.44", nothing),
        ] {
            let host = on_kernel(host(&[(rule, "4194304")]), release);
            assert_eq!(standings(rule, &host), [expected], "{rule} {release}");
        }
    }

    #[test]
    fn the_servers_port_is_not_among_them() {
        let host = host(&[("net.ipv4.ip_local_port_range", "1024 65535")]);
        let mut server = with_server(host, 17, &[("max_connections", "100")]);
        assert_eq!(standings("net.ipv4.ip_local_port_range", &server), [Standing::Improve]);
        let reserved = ("net.ipv4.ip_local_reserved_ports".to_owned(), "80,5430-5440".to_owned());
        server.kernel.sysctls.extend([reserved]);
        assert_eq!(standings("net.ipv4.ip_local_port_range", &server), [Standing::Fine]);
    }

    #[test]
    fn the_table_holds_the_connections() {
        for rule in ["net.netfilter.nf_conntrack_max", "net.nf_conntrack_max"] {
            let set = with_line(host(&[("vm.swappiness", "1")]), rule, "1200000");
            assert_eq!(standings(rule, &set), [Standing::NoEffect], "no module");
            let mut loaded = set;
            loaded.kernel.modules.push("nf_conntrack".to_owned());
            assert!(standings(rule, &loaded).is_empty(), "it was only not read");
        }
    }

    #[test]
    fn one_of_two_names_is_judged() {
        let both = host(&[("net.netfilter.nf_conntrack_max", "1000"), ("net.nf_conntrack_max", "1000")]);
        assert_eq!(standings("net.nf_conntrack_max", &both), [Standing::Fine]);
        let server = with_server(both, 17, &[("max_connections", "50000")]);
        assert_eq!(changes("net.netfilter.nf_conntrack_max", &server), ["200000"]);
    }

    #[test]
    fn interrupts_share_processors() {
        let mut host = host(&[]);
        assert!(standings("irqbalance", &host).is_empty());
        host.interrupts.irqbalance_runs = Some(false);
        assert_eq!(standings("irqbalance", &host), [Standing::Fine]);
        let at = |cpus: &str| ("eth0".to_owned(), cpus.to_owned());
        host.interrupts.affinities = vec![at("0"), at("0")];
        assert_eq!(standings("irqbalance", &host), [Standing::Improve]);
        host.interrupts.affinities = vec![at("0"), at("1")];
        assert_eq!(standings("irqbalance", &host), [Standing::Fine]);
        host.interrupts.affinities = vec![at("0-15"), at("0-15")];
        assert_eq!(standings("irqbalance", &host), [Standing::Fine], "the kernel may place them");
    }

    #[test]
    fn queues_are_as_many_as_processors() {
        let mut host = host(&[]);
        assert!(standings("nic-queues", &host).is_empty());
        let interface = |queues, most_queues| Interface {
            queues: Some((queues, queues)),
            most_queues,
            ..Interface::default()
        };
        host.network =
            vec![interface(4, Some(32)), interface(16, Some(32)), interface(4, Some(4)), interface(4, None)];
        let recommended: Vec<_> =
            findings("nic-queues", &host).into_iter().map(|finding| finding.recommended).collect();
        assert_eq!(recommended, [Some("16".to_owned()), None, None]);
    }
}
