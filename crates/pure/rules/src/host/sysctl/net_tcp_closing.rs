//! Folklore of connections that were closed: `tcp_fin_timeout`, `tcp_max_tw_buckets`, `tcp_tw_reuse`, `tcp_tw_recycle`.

use pgdyno_core::{facts::amount::KB, units};

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const SOURCE: &str = "Linux Documentation/networking/ip-sysctl.rst; include/net/tcp.h, TCP_TIMEWAIT_LEN.";

/// The rule of connections that wait for the other side.
pub static FIN_TIMEOUT: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_fin_timeout",
        what: "Seconds that a connection which no process has any more waits for the other side to close, 60 by \
               default.",
        today: Today::DefaultIsRight,
        why: "It does not shorten TIME_WAIT, although it is published for that: TIME_WAIT is 60 s, fixed in the \
              kernel.",
        danger: "",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_fin_timeout,
};

/// The rule of how many closed connections are remembered.
pub static BUCKETS: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_max_tw_buckets",
        what: "Closed connections that are remembered for 60 s (TIME_WAIT) at most, sized by the memory by default.",
        today: Today::NoEffect,
        why: "It is a guard against simple attacks, and the kernel's documentation says not to lower it. Above the \
              number that occurs it does nothing: one needs a few hundred bytes.",
        danger: "Lowered, closed connections are forgotten at once, and stray packets may reach a new connection of \
                 the same ports.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_buckets,
};

/// The rule of ports that are used again.
pub static REUSE: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_tw_reuse",
        what: "Whether an outgoing connection may take the ports of one in TIME_WAIT: 0 no, 1 yes, 2 over loopback \
               only (the default since Linux 4.19).",
        today: Today::NoEffect,
        why: "It does nothing for a server, which accepts connections. On the host of clients that connect for each \
              transaction, 1 helps against running out of ports and is safe with timestamps; a pooler is the better \
              remedy.",
        danger: "",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_reuse,
};

/// The rule of what no kernel has any more.
pub static RECYCLE: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_tw_recycle",
        what: "Made TIME_WAIT shorter by taking all clients of an address for one.",
        today: Today::Obsolete,
        why: "It was removed in Linux 4.12, after 4.10 had made it useless.",
        danger: "With 1 on an older kernel, connections of clients behind one address (NAT, a load balancer) are \
                 dropped in silence.",
        source: "Linux commits 95a22caee396 (4.10) and 4396e46187ca (4.12).",
        until_kernel: Some((4, 12)),
        ..Page::EMPTY
    },
    judge: judge_recycle,
};

fn judge_fin_timeout(facts: &Facts<'_>) -> Vec<Finding> {
    match FIN_TIMEOUT.number(facts) {
        None => Vec::new(),
        Some(60) => FIN_TIMEOUT.fine(60, "It is the default."),
        Some(value) => {
            let reason = "It concerns connections that the other side never closes; TIME_WAIT stays at 60 s.";
            vec![FIN_TIMEOUT.finding(Standing::NoEffect, reason).present(value)]
        }
    }
}

/// What the kernel computes: half of its table of connections, which has an entry for each 128 KiB of memory, at most
/// 524288, as a power of two.
fn buckets(total_bytes: u64) -> Option<u64> {
    let entries = (total_bytes / (128 * KB)).min(524_288);
    (entries > 0).then(|| entries.next_power_of_two() / 2)
}

fn judge_buckets(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = BUCKETS.number(facts) else { return Vec::new() };
    let Some(default) = buckets(facts.host.memory.total_bytes) else {
        return vec![BUCKETS.finding(Standing::Unknown, "The size of the memory is unknown.").present(value)];
    };
    if value < default / 4 {
        let reason = format!(
            "The kernel would remember {} closed connections with this memory, and fewer are no gain.",
            units::count(default)
        );
        return vec![BUCKETS.finding(Standing::Improve, reason).present(value).set_sysctl(default)];
    }
    BUCKETS.fine(value, format!("The kernel would set about {} for this memory.", units::count(default)))
}

fn judge_reuse(facts: &Facts<'_>) -> Vec<Finding> {
    match REUSE.number(facts) {
        Some(0) => REUSE.fine(0, "A server accepts connections, which it does not concern."),
        Some(1) => {
            let reason =
                "It concerns outgoing connections only, such as those of clients and poolers on this host.";
            vec![REUSE.finding(Standing::NoEffect, reason).present(1)]
        }
        Some(2) => REUSE.fine(2, "It concerns outgoing connections over loopback, and is the default."),
        _ => Vec::new(),
    }
}

fn judge_recycle(facts: &Facts<'_>) -> Vec<Finding> {
    let gone = facts.kernel_is_at_least(4, 12) == Some(true);
    match (RECYCLE.number(facts), facts.sysctl_line(RECYCLE.page.name)) {
        (Some(0), _) => RECYCLE.fine(0, "It is off."),
        (Some(value), _) => {
            let reason =
                "Connections of clients behind one address (NAT, a load balancer) are dropped in silence.";
            vec![RECYCLE.finding(Standing::Dangerous, reason).present(value).set_sysctl(0)]
        }
        (None, Some(line)) if gone => {
            let reason =
                format!("{} sets it to {}, and kernels since 4.12 do not have it.", line.file, line.value);
            vec![RECYCLE.finding(Standing::Obsolete, reason)]
        }
        (None, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host, on_kernel, standings, with_line};

    #[test]
    fn time_wait_is_fixed() {
        check_values(&FIN_TIMEOUT, &[("60", Standing::Fine), ("5", Standing::NoEffect)]);
        check_values(&REUSE, &[("0", Standing::Fine), ("1", Standing::NoEffect), ("2", Standing::Fine)]);
    }

    #[test]
    fn closed_connections_are_remembered() {
        check_values(&BUCKETS, &[("262144", Standing::Fine), ("5000", Standing::Improve)]);
        assert_eq!(changes(&BUCKETS, &host(&[("net.ipv4.tcp_max_tw_buckets", "5000")])), ["262144"]);
        let mut unknown = host(&[("net.ipv4.tcp_max_tw_buckets", "5000")]);
        unknown.memory.total_bytes = 0;
        assert_eq!(standings(&BUCKETS, &unknown), [Standing::Unknown]);
    }

    #[test]
    fn recycling_is_gone() {
        check_values(&RECYCLE, &[("0", Standing::Fine), ("1", Standing::Dangerous)]);
        let set = with_line(host(&[]), "net.ipv4.tcp_tw_recycle", "0");
        assert_eq!(standings(&RECYCLE, &set), [Standing::Obsolete]);
        assert!(standings(&RECYCLE, &on_kernel(set, "4.9.0")).is_empty(), "it was only not read");
    }
}
