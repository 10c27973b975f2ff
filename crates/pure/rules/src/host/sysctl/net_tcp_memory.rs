//! `net.ipv4.tcp_mem`, `net.ipv4.tcp_rmem` and `net.ipv4.tcp_wmem`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const SOURCE: &str = "Linux Documentation/networking/ip-sysctl.rst; net/ipv4/tcp.c, tcp_init_mem and tcp_init; commit \
                      a337531b942b (Linux 4.20).";

/// The rule of the memory of all connections.
pub static TOTAL: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_mem",
        what: "Memory of all TCP connections in pages: below the first nothing is regulated, from the second on the \
               kernel saves, the third is the limit.",
        today: Today::DefaultIsRight,
        why: "The kernel computes 4.7, 6.2 and 9.4 % of the memory at boot. Published numbers such as 8388608 \
              12582912 16777216 are pages: 32, 48 and 64 GiB.",
        danger: "Close to the memory of the host there is no limit; too low, connections stall.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_total,
};

/// The rule of the receive buffer of a connection.
pub static RECEIVE: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_rmem",
        what: "Receive buffer of a TCP connection in bytes: least, at first, most; the kernel grows it by itself. \
               4096 131072 6291456 by default since Linux 4.20, with 33554432 in kernels since 6.16.",
        today: Today::DefaultIsRight,
        why: "The most decides how much can be on its way. In a data centre round trips are below a millisecond, \
              where the default fills 10 Gbit/s many times over; more helps replication and backups over long \
              distances. The published 87380 in the middle is the default of kernels before 4.20.",
        danger: "The buffers of thousands of connections count against net.ipv4.tcp_mem.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge_buffer(&RECEIVE, facts, "4096 131072 6291456"),
};

/// The rule of the send buffer of a connection.
pub static SEND: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_wmem",
        what: "Send buffer of a TCP connection in bytes: least, at first, most; the kernel grows it by itself. 4096 \
               16384 4194304 by default.",
        today: Today::DefaultIsRight,
        why: "As for net.ipv4.tcp_rmem: the default is enough within a data centre, and more helps standbys far away.",
        danger: "The buffers of thousands of connections count against net.ipv4.tcp_mem.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge_buffer(&SEND, facts, "4096 16384 4194304"),
};

fn three(rule: &Rule, facts: &Facts<'_>) -> Option<[u64; 3]> {
    rule.numbers(facts)?.try_into().ok()
}

fn text([first, second, third]: [u64; 3]) -> String {
    format!("{first} {second} {third}")
}

fn judge_total(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(pages) = three(&TOTAL, facts) else { return Vec::new() };
    let (total, page) = (facts.host.memory.total_bytes, facts.host.memory.page_bytes);
    if total == 0 || page == 0 {
        let reason = "Its share of the memory is unknown, because a size could not be read.";
        return vec![TOTAL.finding(Standing::Unknown, reason).present(text(pages))];
    }
    let pressure = (total / page / 16).max(128);
    let best = text([pressure / 4 * 3, pressure, pressure / 4 * 3 * 2]);
    let share = pages[2] as f64 * page as f64 / total as f64;
    let most = units::bytes(pages[2].saturating_mul(page));
    let (standing, reason) = match share {
        share if share > 0.25 => (
            Standing::Improve,
            format!("Connections may take {most}, {} of the memory.", units::percent(share)),
        ),
        share if share < 0.01 => {
            (Standing::Improve, format!("All connections together get {most}, and stall beyond that."))
        }
        share => {
            return TOTAL.fine(
                text(pages),
                format!("Connections may take {most}, {} of the memory.", units::percent(share)),
            );
        }
    };
    vec![TOTAL.finding(standing, reason).present(text(pages)).set_sysctl(best)]
}

fn judge_buffer(rule: &Rule, facts: &Facts<'_>, default: &str) -> Vec<Finding> {
    let Some(sizes) = three(rule, facts) else { return Vec::new() };
    let present = text(sizes);
    let old = sizes[1] == 87_380 && facts.kernel_is_at_least(4, 20) == Some(true);
    match () {
        () if sizes[0] > sizes[1] || sizes[1] > sizes[2] || sizes[2] < 1 << 20 => {
            let reason = "The sizes are not in ascending order, or the largest is below 1 MiB, which is slow over \
                          distances.";
            vec![rule.finding(Standing::Improve, reason).present(present).set_sysctl(default)]
        }
        () if old && rule.page.name == RECEIVE.page.name => {
            let reason = "87380 is the first size of kernels before 4.20; current ones begin with 131072.";
            let best = text([sizes[0], 131_072, sizes[2].max(131_072)]);
            vec![rule.finding(Standing::Obsolete, reason).present(present).set_sysctl(best)]
        }
        () => rule.fine(present, reach(facts, sizes[2])),
    }
}

/// Up to which round trip a buffer fills the fastest interface; half of a buffer is overhead.
fn reach(facts: &Facts<'_>, bytes: u64) -> String {
    let most = units::bytes(bytes);
    match facts.host.network.iter().filter_map(|interface| interface.speed_mbit_s).max() {
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

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Interface;

    use super::*;
    use crate::host::testing::{changes, check_values, findings, host, on_kernel, standings};

    #[test]
    fn all_connections_get_a_part_of_the_memory() {
        let improve = Standing::Improve;
        check_values(
            &TOTAL,
            &[
                ("786432 1048576 1572864", Standing::Fine),
                ("8388608 12582912 16777216", improve),
                ("10 20 30", improve),
            ],
        );
        // 64 GiB are 16777216 pages, a sixteenth of which is the pressure.
        let published = host(&[("net.ipv4.tcp_mem", "8388608 12582912 16777216")]);
        assert_eq!(changes(&TOTAL, &published), ["786432 1048576 1572864"]);
    }

    #[test]
    fn buffers_grow_by_themselves() {
        let (fine, improve) = (Standing::Fine, Standing::Improve);
        check_values(
            &SEND,
            &[("4096 16384 4194304", fine), ("8192 65536 16777216", fine), ("4096 4096 8192", improve)],
        );
        let obsolete = Standing::Obsolete;
        check_values(
            &RECEIVE,
            &[("4096 131072 33554432", fine), ("8192 87380 16777216", obsolete), ("9 8 7", improve)],
        );
        let published = host(&[("net.ipv4.tcp_rmem", "8192 87380 16777216")]);
        assert_eq!(changes(&RECEIVE, &published), ["8192 131072 16777216"]);
        assert_eq!(standings(&RECEIVE, &on_kernel(published, "4.18.0")), [fine]);
    }

    #[test]
    fn the_interface_says_how_far_a_buffer_reaches() {
        let mut host = host(&[("net.ipv4.tcp_rmem", "4096 131072 6291456")]);
        host.network = vec![Interface { speed_mbit_s: Some(10_000), ..Interface::default() }];
        // 3 MiB × 8 / 10^10 bit/s.
        assert!(findings(&RECEIVE, &host)[0].reason.contains("2.52 ms"), "{:?}", findings(&RECEIVE, &host));
    }
}
