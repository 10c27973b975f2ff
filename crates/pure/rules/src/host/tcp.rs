//! Connections over TCP: how they are made, kept, sized and closed.

use pgdyno_core::{facts::amount::KB, units};

use super::{
    known::seconds,
    remedy::Remedy,
    rule::{Given, Rule},
};
use crate::{Finding, Page, Standing, Today};

const MEMORY: &str = "Linux Documentation/networking/ip-sysctl.rst; net/ipv4/tcp.c, tcp_init_mem and tcp_init; commit \
                      a337531b942b (Linux 4.20).";
const WHY_KEEPALIVE: &str = "The server turns keepalive on for each connection, so a client whose host vanished is \
                             noticed after time + intvl × probes: 2 h 11 min by default. Until then its locks and its \
                             snapshot stay. The same can be set for one server by tcp_keepalives_idle, _interval and \
                             _count, which override these values and spare all other programs of the host.";
const DANGER_OF_KEEPALIVE: &str = "Some seconds in all cut connections in every short outage of the network.";
const KEEPALIVE: &str =
    "PostgreSQL manual, \"TCP Settings\"; Linux Documentation/networking/ip-sysctl.rst; tcp(7).";
const HANDSHAKE: &str =
    "Linux Documentation/networking/ip-sysctl.rst; net/ipv4/tcp_input.c, tcp_conn_request.";
const CLOSING: &str = "Linux Documentation/networking/ip-sysctl.rst; include/net/tcp.h, TCP_TIMEWAIT_LEN.";

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "net.ipv4.tcp_mem",
        what: "Memory of all TCP connections in pages: below the first nothing is regulated, from the second on the \
              kernel saves, the third is the limit.",
        today: Today::DefaultIsRight,
        why: "The kernel computes 4.7, 6.2 and 9.4 % of the memory at boot. Published numbers such as 8388608 \
             12582912 16777216 are pages: 32, 48 and 64 GiB.",
        danger: "Close to the memory of the host there is no limit; too low, connections stall.",
        source: MEMORY,
        ..Page::EMPTY
    })
    .judges(judge_total),
    Rule::of(Page {
        name: "net.ipv4.tcp_rmem",
        what: "Receive buffer of a TCP connection in bytes: least, at first, most; the kernel grows it by itself. \
              4096 131072 6291456 by default since Linux 4.20, with 33554432 in kernels since 6.16.",
        today: Today::DefaultIsRight,
        why: "The most decides how much can be on its way. In a data centre round trips are below a millisecond, \
             where the default fills 10 Gbit/s many times over; more helps replication and backups over long \
             distances. The published 87380 in the middle is the default of kernels before 4.20.",
        danger: "The buffers of thousands of connections count against net.ipv4.tcp_mem.",
        source: MEMORY,
        ..Page::EMPTY
    })
    .judges(judge_receive_buffer),
    Rule::of(Page {
        name: "net.ipv4.tcp_wmem",
        what: "Send buffer of a TCP connection in bytes: least, at first, most; the kernel grows it by itself. 4096 \
              16384 4194304 by default.",
        today: Today::DefaultIsRight,
        why: "As for net.ipv4.tcp_rmem: the default is enough within a data centre, and more helps standbys far away.",
        danger: "The buffers of thousands of connections count against net.ipv4.tcp_mem.",
        source: MEMORY,
        ..Page::EMPTY
    })
    .judges(|given| judge_buffer(given, "4096 16384 4194304")),
    Rule::of(Page {
        name: "net.ipv4.tcp_keepalive_time",
        what: "Seconds without traffic after which an idle connection is probed, 7200 by default.",
        today: Today::Depends,
        why: WHY_KEEPALIVE,
        danger: DANGER_OF_KEEPALIVE,
        source: KEEPALIVE,
        ..Page::EMPTY
    })
    .judges(judge_keepalive),
    Rule::of(Page {
        name: "net.ipv4.tcp_keepalive_intvl",
        what: "Seconds between probes that are not answered, 75 by default.",
        today: Today::Depends,
        why: WHY_KEEPALIVE,
        danger: DANGER_OF_KEEPALIVE,
        source: KEEPALIVE,
        ..Page::EMPTY
    })
    .sysctl(|given, value| judge_probes(given, value, "tcp_keepalives_interval", 5)),
    Rule::of(Page {
        name: "net.ipv4.tcp_keepalive_probes",
        what: "Probes without answer after which a connection counts as broken, 9 by default.",
        today: Today::Depends,
        why: WHY_KEEPALIVE,
        danger: DANGER_OF_KEEPALIVE,
        source: KEEPALIVE,
        ..Page::EMPTY
    })
    .sysctl(|given, value| judge_probes(given, value, "tcp_keepalives_count", 2)),
    Rule::of(Page {
        name: "net.ipv4.tcp_retries2",
        what: "How often data of a connection is sent again without an answer before the connection counts as broken; \
              15 by default.",
        today: Today::Depends,
        why: "15 last at least 15 minutes, since each wait is twice as long as the one before, up to 2 minutes. So \
             long a session whose client vanished while an answer was on its way keeps its locks: keepalive probes \
             only idle connections. tcp_user_timeout of the server (12 and later) bounds it for the server alone, and \
             client_connection_check_interval (14 and later) looks while a query runs. RFC 1122 wants at least 100 \
             seconds, which are 8.",
        danger: "Below 8, outages of the network of some ten seconds cut connections of all programs.",
        source: "Linux Documentation/networking/ip-sysctl.rst, tcp_retries2; PostgreSQL manual, tcp_user_timeout.",
        ..Page::EMPTY
    })
    .sysctl(judge_retries),
    Rule::of(Page {
        name: "net.ipv4.tcp_max_syn_backlog",
        what: "Half-open connections that a listening socket remembers, sized by the memory by default.",
        today: Today::NoEffect,
        why: "The kernel looks at it only where SYN cookies are off; else the queue is bounded by net.core.somaxconn \
             and by what the server asks for. Before Linux 4.4 it bounded the queue in any case.",
        source: HANDSHAKE,
        ..Page::EMPTY
    })
    .sysctl(judge_backlog),
    Rule::of(Page {
        name: "net.ipv4.tcp_synack_retries",
        what: "How often the answer to a connection attempt is repeated if the client is silent, 5 by default.",
        today: Today::DefaultIsRight,
        why: "5 retries last about a minute, 2 about 7 s. Clients that are there answer at once; it matters in \
             attacks and on networks that lose packets.",
        danger: "0 makes one lost packet a failed connection.",
        source: HANDSHAKE,
        ..Page::EMPTY
    })
    .sysctl(judge_answers),
    Rule::of(Page {
        name: "net.ipv4.tcp_syncookies",
        what: "Whether connections are still answered when the queue of half-open ones is full: 0 no, 1 yes (the \
              default), 2 always by cookie, for tests.",
        today: Today::DefaultIsRight,
        why: "It costs nothing until the queue is full, and then saves the connections. Without timestamps, \
             connections made by a cookie lose window scaling.",
        danger: "0 drops connections in a burst of them or an attack.",
        source: HANDSHAKE,
        ..Page::EMPTY
    })
    .sysctl(judge_cookies),
    Rule::of(Page {
        name: "net.ipv4.tcp_timestamps",
        what: "Whether packets carry the time by which round trips are measured and old packets recognised: 0 no, 1 \
              yes (the default), 2 yes without a random offset.",
        today: Today::DefaultIsRight,
        why: "It costs 12 bytes a packet. net.ipv4.tcp_tw_reuse needs it, and so do SYN cookies to keep window \
             scaling.",
        danger: "Without it, packets of an old connection can be taken for those of a new one on fast networks.",
        source: "Linux Documentation/networking/ip-sysctl.rst; RFC 7323.",
        ..Page::EMPTY
    })
    .sysctl(judge_timestamps),
    Rule::of(Page {
        name: "net.ipv4.tcp_fin_timeout",
        what: "Seconds that a connection which no process has any more waits for the other side to close, 60 by \
              default.",
        today: Today::DefaultIsRight,
        why: "It does not shorten TIME_WAIT, although it is published for that: TIME_WAIT is 60 s, fixed in the \
             kernel.",
        source: CLOSING,
        ..Page::EMPTY
    })
    .sysctl(judge_fin_timeout),
    Rule::of(Page {
        name: "net.ipv4.tcp_max_tw_buckets",
        what: "Closed connections that are remembered for 60 s (TIME_WAIT) at most, sized by the memory by default.",
        today: Today::NoEffect,
        why: "It is a guard against simple attacks, and the kernel's documentation says not to lower it. Above the \
             number that occurs it does nothing: one needs a few hundred bytes.",
        danger: "Lowered, closed connections are forgotten at once, and stray packets may reach a new connection of \
                the same ports.",
        source: CLOSING,
        ..Page::EMPTY
    })
    .sysctl(judge_buckets),
    Rule::of(Page {
        name: "net.ipv4.tcp_tw_reuse",
        what: "Whether an outgoing connection may take the ports of one in TIME_WAIT: 0 no, 1 yes, 2 over loopback \
              only (the default since Linux 4.19).",
        today: Today::NoEffect,
        why: "It does nothing for a server, which accepts connections. On the host of clients that connect for each \
             transaction, 1 helps against running out of ports and is safe with timestamps; a pooler is the better \
             remedy.",
        source: CLOSING,
        ..Page::EMPTY
    })
    .judges(judge_reuse),
    Rule::of(Page {
        name: "net.ipv4.tcp_tw_recycle",
        what: "Made TIME_WAIT shorter by taking all clients of an address for one.",
        today: Today::Obsolete,
        why: "It was removed in Linux 4.12, after 4.10 had made it useless.",
        danger: "With 1 on an older kernel, connections of clients behind one address (NAT, a load balancer) are \
                dropped in silence.",
        source: "Linux commits 95a22caee396 (4.10) and 4396e46187ca (4.12).",
        until_kernel: Some((4, 12)),
        ..Page::EMPTY
    })
    .judges(judge_recycle),
];

fn text([first, second, third]: [u64; 3]) -> String {
    format!("{first} {second} {third}")
}

fn judge_total(given: &Given<'_>) -> Option<Finding> {
    let pages: [u64; 3] = given.numbers_of()?;
    let (total, page) = (given.host.memory.total_bytes, given.host.memory.page_bytes);
    if total == 0 || page == 0 {
        let reason = "Its share of the memory is unknown, because a size could not be read.";
        return Some(given.unknown(reason).present(text(pages)));
    }
    let pressure = (total / page / 16).max(128);
    let best = text([pressure / 4 * 3, pressure, pressure / 4 * 3 * 2]);
    let share = pages[2] as f64 * page as f64 / total as f64;
    let most = units::bytes(pages[2].saturating_mul(page));
    let of_memory = format!("Connections may take {most}, {} of the memory.", units::percent(share));
    let finding = match share {
        share if share > 0.25 => given.improve(of_memory).set_sysctl(best),
        share if share < 0.01 => given
            .improve(format!("All connections together get {most}, and stall beyond that."))
            .set_sysctl(best),
        _ => given.fine(of_memory),
    };
    Some(finding.present(text(pages)))
}

fn judge_buffer(given: &Given<'_>, default: &str) -> Option<Finding> {
    let sizes: [u64; 3] = given.numbers_of()?;
    let finding = match sizes.is_sorted() && sizes[2] >= 1 << 20 {
        true => given.fine(reach(given, sizes[2])),
        false => {
            let reason = "The sizes are not in ascending order, or the largest is below 1 MiB, which is slow over \
                          distances.";
            given.improve(reason).set_sysctl(default)
        }
    };
    Some(finding.present(text(sizes)))
}

fn judge_receive_buffer(given: &Given<'_>) -> Option<Finding> {
    let finding = judge_buffer(given, "4096 131072 6291456")?;
    let [least, first, most] = given.numbers_of()?;
    let is_old = first == 87_380 && given.kernel_is_at_least(4, 20) == Some(true);
    if finding.standing != Standing::Fine || !is_old {
        return Some(finding);
    }
    let reason = "87380 is the first size of kernels before 4.20; current ones begin with 131072.";
    let best = text([least, 131_072, most.max(131_072)]);
    Some(given.obsolete(reason).present(text([least, first, most])).set_sysctl(best))
}

/// Up to which round trip a buffer fills the fastest interface; half of a buffer is overhead.
fn reach(given: &Given<'_>, bytes: u64) -> String {
    let most = units::bytes(bytes);
    match given.host.network.iter().filter_map(|interface| interface.speed_mbit_s).max() {
        Some(speed @ 1..) => {
            let seconds = bytes as f64 / 2.0 * 8.0 / (speed as f64 * 1e6);
            format!(
                "{most} fill the fastest interface ({speed} Mbit/s) with one connection up to round trips of about \
                 {}.",
                units::latency(seconds * 1e9)
            )
        }
        _ => format!("A connection may grow to {most}."),
    }
}

/// Whether the server accepts connections over TCP from its own host only, as by default.
fn listens_here_only(given: &Given<'_>) -> bool {
    let listed = given.setting("listen_addresses").unwrap_or("localhost");
    let mut addresses = listed.split(',').map(str::trim).filter(|address| !address.is_empty());
    addresses.all(|address| ["localhost", "127.0.0.1", "::1"].contains(&address))
}

/// A value that the server sets itself; 0 and nothing are the kernel's.
fn own(given: &Given<'_>, name: &str) -> Option<u64> {
    given.setting(name).and_then(seconds).filter(|value| *value > 0)
}

/// Judges the three parameters of keepalive together.
fn judge_keepalive(given: &Given<'_>) -> Option<Finding> {
    /// A client that vanished may hold its locks so long, in seconds.
    const TOLERABLE_S: u64 = 30 * 60;
    const OF_SERVER: &str = "tcp_keepalives_idle = 60 of the server";
    let number = |name: &str| given.host.sysctl_number(name).and_then(|value| u64::try_from(value).ok());
    let (time, interval) = (given.number()?, number("net.ipv4.tcp_keepalive_intvl")?);
    let probes = number("net.ipv4.tcp_keepalive_probes")?;
    let idle = own(given, "tcp_keepalives_idle").unwrap_or(time);
    let every = own(given, "tcp_keepalives_interval").unwrap_or(interval);
    let count = own(given, "tcp_keepalives_count").unwrap_or(probes);
    let total = idle.saturating_add(every.saturating_mul(count));
    let text = format!(
        "A client that vanishes is noticed after {idle} s + {every} s × {count} = {}",
        units::duration(total as f64)
    );
    let finding = match (given.server(), total) {
        (Some(_), TOLERABLE_S..) if listens_here_only(given) => {
            given.fine(format!("{text}; the server listens on this host only, from where none vanishes."))
        }
        (Some(_), TOLERABLE_S..) => {
            let reason = format!(
                "{text}, and keeps its locks and its snapshot so long; tcp_keepalives_idle = 60 of the server \
                 shortens that without touching other programs."
            );
            given.improve(reason).recommend(OF_SERVER)
        }
        (_, 0..20) => {
            let reason = format!("{text}, so that short outages of the network cut connections.");
            match own(given, "tcp_keepalives_idle") {
                None => given.improve(reason).set_sysctl(60),
                Some(_) => given.improve(reason).recommend(OF_SERVER),
            }
        }
        (None, TOLERABLE_S..) => given.fine(format!(
            "{text}; how long a server waits, its own tcp_keepalives_idle decides, and none was named."
        )),
        _ => given.fine(format!("{text}.")),
    };
    Some(finding.present(time))
}

/// Judges one of the two others, which a setting of the server may override.
fn judge_probes(given: &Given<'_>, value: u64, setting: &str, least: u64) -> Finding {
    match own(given, setting) {
        Some(own) => given.fine(format!("The server has {setting} = {own}, which overrides it.")),
        None if value < least => given
            .improve(format!("Below {least}, a short outage of the network cuts connections."))
            .recommend(least),
        None => given.fine("net.ipv4.tcp_keepalive_time is judged with it."),
    }
}

fn judge_retries(given: &Given<'_>, value: u64) -> Finding {
    /// The default of the kernel.
    const DEFAULT: u64 = 15;
    /// What lasts as long as RFC 1122 wants.
    const LEAST: u64 = 8;
    match given.setting("tcp_user_timeout").filter(|value| !value.starts_with('0')) {
        Some(own) => given.fine(format!("The server has tcp_user_timeout = {own}, which overrides it.")),
        None if value == DEFAULT => {
            given.fine("It is the default: unacknowledged data is given up after 15 minutes or more.")
        }
        None if value < LEAST => {
            given.improve("Connections are cut in less than the 100 s that RFC 1122 wants.").set_sysctl(LEAST)
        }
        None => given.fine("It lasts 100 s or longer, as RFC 1122 wants."),
    }
}

fn judge_backlog(given: &Given<'_>, value: u64) -> Finding {
    match (value, given.host.sysctl_number("net.ipv4.tcp_syncookies")) {
        (0..128, Some(0)) => given
            .improve("SYN cookies are off, so that more half-open connections than this are dropped.")
            .set_sysctl(1024),
        (_, Some(0)) => given.fine("SYN cookies are off, so it bounds the half-open connections."),
        (_, Some(_)) if given.kernel_is_at_least(4, 4) == Some(false) => given.fine(
            "Before Linux 4.4 it bounds the half-open connections, in addition to what the server asks for.",
        ),
        (_, Some(_)) => given.fine("SYN cookies are on, so the kernel does not look at it."),
        (_, None) => given.unknown(
            "Whether the kernel looks at it depends on net.ipv4.tcp_syncookies, which could not be read.",
        ),
    }
}

fn judge_answers(given: &Given<'_>, value: u64) -> Finding {
    match value {
        0 => given.improve("One lost packet makes a connection fail.").set_sysctl(5),
        _ => given.fine("Clients that are there answer the first time."),
    }
}

fn judge_cookies(given: &Given<'_>, value: u64) -> Finding {
    match value {
        1 => given.fine("Connections are answered also when the queue is full."),
        0 => given
            .improve("When many clients connect at once and the queue is full, connections are dropped.")
            .set_sysctl(1),
        _ => given
            .improve(
                "Every connection is made by a cookie, which is meant for tests and loses options of TCP.",
            )
            .set_sysctl(1),
    }
}

fn judge_timestamps(given: &Given<'_>, value: u64) -> Finding {
    match value {
        0 => given
            .improve("Round trips are measured less well and old packets not recognised, to save 12 bytes a packet.")
            .set_sysctl(1),
        _ => given.fine("Packets carry timestamps."),
    }
}

fn judge_fin_timeout(given: &Given<'_>, value: u64) -> Finding {
    match value {
        60 => given.fine("It is the default."),
        _ => given
            .no_effect("It concerns connections that the other side never closes; TIME_WAIT stays at 60 s."),
    }
}

/// What the kernel computes: half of its table of connections, which has an entry for each 128 KiB of memory, at most
/// 524288, as a power of two.
fn default_buckets(total_bytes: u64) -> Option<u64> {
    let entries = (total_bytes / (128 * KB)).min(524_288);
    (entries > 0).then(|| entries.next_power_of_two() / 2)
}

fn judge_buckets(given: &Given<'_>, value: u64) -> Finding {
    let Some(default) = default_buckets(given.host.memory.total_bytes) else {
        return given.unknown("The size of the memory is unknown.");
    };
    let count = units::count(default);
    if value < default / 4 {
        let reason = format!(
            "The kernel would remember {count} closed connections with this memory, and fewer are no gain."
        );
        return given.improve(reason).set_sysctl(default);
    }
    given.fine(format!("The kernel would set about {count} for this memory."))
}

fn judge_reuse(given: &Given<'_>) -> Option<Finding> {
    let value = given.number()?;
    let finding = match value {
        0 => given.fine("A server accepts connections, which it does not concern."),
        1 => given.no_effect(
            "It concerns outgoing connections only, such as those of clients and poolers on this host.",
        ),
        2 => given.fine("It concerns outgoing connections over loopback, and is the default."),
        _ => return None,
    };
    Some(finding.present(value))
}

fn judge_recycle(given: &Given<'_>) -> Option<Finding> {
    match (given.number(), given.line()) {
        (Some(0), _) => Some(given.fine("It is off.").present(0)),
        (Some(value), _) => {
            let reason =
                "Connections of clients behind one address (NAT, a load balancer) are dropped in silence.";
            Some(given.dangerous(reason).present(value).set_sysctl(0))
        }
        (None, Some(line)) if given.kernel_is_at_least(4, 12) == Some(true) => Some(given.obsolete(format!(
            "{} sets it to {}, and kernels since 4.12 do not have it.",
            line.file, line.value
        ))),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Interface, Inventory};

    use super::*;
    use crate::host::testing::{
        changes, check_hosts, check_values, findings, host, on_kernel, standings, with_line, with_server,
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Dangerous, Fine, Improve, NoEffect, Obsolete, Unknown};
        check_values(&[
            (
                "net.ipv4.tcp_mem",
                &[
                    ("786432 1048576 1572864", Fine),
                    ("8388608 12582912 16777216", Improve),
                    ("10 20 30", Improve),
                ],
            ),
            (
                "net.ipv4.tcp_wmem",
                &[("4096 16384 4194304", Fine), ("8192 65536 16777216", Fine), ("4096 4096 8192", Improve)],
            ),
            (
                "net.ipv4.tcp_rmem",
                &[("4096 131072 33554432", Fine), ("8192 87380 16777216", Obsolete), ("9 8 7", Improve)],
            ),
            ("net.ipv4.tcp_keepalive_probes", &[("9", Fine), ("1", Improve)]),
            ("net.ipv4.tcp_keepalive_intvl", &[("75", Fine), ("1", Improve)]),
            ("net.ipv4.tcp_retries2", &[("15", Fine), ("8", Fine), ("3", Improve)]),
            ("net.ipv4.tcp_max_syn_backlog", &[("64", Unknown)]),
            ("net.ipv4.tcp_syncookies", &[("1", Fine), ("0", Improve), ("2", Improve)]),
            ("net.ipv4.tcp_synack_retries", &[("5", Fine), ("2", Fine), ("0", Improve)]),
            ("net.ipv4.tcp_timestamps", &[("1", Fine), ("2", Fine), ("0", Improve)]),
            ("net.ipv4.tcp_fin_timeout", &[("60", Fine), ("5", NoEffect)]),
            ("net.ipv4.tcp_tw_reuse", &[("0", Fine), ("1", NoEffect), ("2", Fine)]),
            ("net.ipv4.tcp_max_tw_buckets", &[("262144", Fine), ("5000", Improve)]),
            ("net.ipv4.tcp_tw_recycle", &[("0", Fine), ("1", Dangerous)]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve};
        let with_backlog = |backlog, cookies| {
            host(&[("net.ipv4.tcp_max_syn_backlog", backlog), ("net.ipv4.tcp_syncookies", cookies)])
        };
        check_hosts(&[
            ("net.ipv4.tcp_max_syn_backlog", with_backlog("64", "0"), &[Improve]),
            ("net.ipv4.tcp_max_syn_backlog", with_backlog("64", "1"), &[Fine]),
            ("net.ipv4.tcp_max_syn_backlog", with_backlog("4096", "0"), &[Fine]),
        ]);
    }

    #[test]
    fn all_connections_get_a_part_of_the_memory() {
        // 64 GiB are 16777216 pages, a sixteenth of which is the pressure.
        let published = host(&[("net.ipv4.tcp_mem", "8388608 12582912 16777216")]);
        assert_eq!(changes("net.ipv4.tcp_mem", &published), ["786432 1048576 1572864"]);
    }

    #[test]
    fn buffers_grow_by_themselves() {
        let published = host(&[("net.ipv4.tcp_rmem", "8192 87380 16777216")]);
        assert_eq!(changes("net.ipv4.tcp_rmem", &published), ["8192 131072 16777216"]);
        assert_eq!(standings("net.ipv4.tcp_rmem", &on_kernel(published, "4.18.0")), [Standing::Fine]);
    }

    #[test]
    fn the_interface_says_how_far_a_buffer_reaches() {
        let mut host = host(&[("net.ipv4.tcp_rmem", "4096 131072 6291456")]);
        host.network = vec![Interface { speed_mbit_s: Some(10_000), ..Interface::default() }];
        // 3 MiB × 8 / 10^10 bit/s.
        assert!(
            findings("net.ipv4.tcp_rmem", &host)[0].reason.contains("2.52 ms"),
            "{:?}",
            findings("net.ipv4.tcp_rmem", &host)
        );
    }

    fn planned(time: &str, interval: &str, probes: &str) -> Inventory {
        host(&[
            ("net.ipv4.tcp_keepalive_time", time),
            ("net.ipv4.tcp_keepalive_intvl", interval),
            ("net.ipv4.tcp_keepalive_probes", probes),
        ])
    }

    #[test]
    fn the_three_are_one_time() {
        let default = planned("7200", "75", "9");
        assert!(
            findings("net.ipv4.tcp_keepalive_time", &default)[0].reason.contains("2 h 11 min"),
            "{:?}",
            findings("net.ipv4.tcp_keepalive_time", &default)
        );
        assert_eq!(standings("net.ipv4.tcp_keepalive_time", &default), [Standing::Fine], "no server waits");
        assert!(
            findings("net.ipv4.tcp_keepalive_time", &default)[0].reason.contains("none was named"),
            "and that is said"
        );
        let everywhere = ("listen_addresses", "*");
        for (listens, expected) in [
            (everywhere, Standing::Improve),
            (("listen_addresses", "localhost, 10.0.0.1"), Standing::Improve),
            (("listen_addresses", "localhost, ::1"), Standing::Fine),
            (("listen_addresses", ""), Standing::Fine),
            (("port", "5432"), Standing::Fine),
        ] {
            let server = with_server(default.clone(), 17, &[listens]);
            assert_eq!(standings("net.ipv4.tcp_keepalive_time", &server), [expected], "{listens:?}");
        }
        let own = [everywhere, ("tcp_keepalives_idle", "1min"), ("tcp_keepalives_count", "0")];
        let own = with_server(default, 17, &own);
        assert_eq!(standings("net.ipv4.tcp_keepalive_time", &own), [Standing::Fine]);
        assert_eq!(
            standings("net.ipv4.tcp_keepalive_time", &planned("60", "20", "3")),
            [Standing::Fine],
            "as published"
        );
        assert_eq!(changes("net.ipv4.tcp_keepalive_time", &planned("5", "1", "3")), ["60"]);
        assert!(
            standings("net.ipv4.tcp_keepalive_time", &host(&[("net.ipv4.tcp_keepalive_time", "60")]))
                .is_empty(),
            "the others are not known"
        );
    }

    #[test]
    fn a_single_probe_is_few() {
        let own = with_server(planned("7200", "75", "1"), 17, &[("tcp_keepalives_count", "6")]);
        assert_eq!(standings("net.ipv4.tcp_keepalive_probes", &own), [Standing::Fine]);
    }

    #[test]
    fn short_outages_are_survived() {
        let low = host(&[("net.ipv4.tcp_retries2", "3")]);
        assert_eq!(changes("net.ipv4.tcp_retries2", &low), ["8"]);
        let own = with_server(low, 17, &[("tcp_user_timeout", "60s")]);
        assert_eq!(standings("net.ipv4.tcp_retries2", &own), [Standing::Fine], "the server has its own");
    }

    #[test]
    fn closed_connections_are_remembered() {
        assert_eq!(
            changes("net.ipv4.tcp_max_tw_buckets", &host(&[("net.ipv4.tcp_max_tw_buckets", "5000")])),
            ["262144"]
        );
        let mut unknown = host(&[("net.ipv4.tcp_max_tw_buckets", "5000")]);
        unknown.memory.total_bytes = 0;
        assert_eq!(standings("net.ipv4.tcp_max_tw_buckets", &unknown), [Standing::Unknown]);
    }

    #[test]
    fn recycling_is_gone() {
        let set = with_line(host(&[]), "net.ipv4.tcp_tw_recycle", "0");
        assert_eq!(standings("net.ipv4.tcp_tw_recycle", &set), [Standing::Obsolete]);
        assert!(
            standings("net.ipv4.tcp_tw_recycle", &on_kernel(set, "4.9.0")).is_empty(),
            "it was only not read"
        );
    }
}
