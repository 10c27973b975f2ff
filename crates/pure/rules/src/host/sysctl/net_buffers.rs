//! `net.core.rmem_*` and `net.core.wmem_*`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

const WHY_DEFAULT: &str = "TCP sizes its buffers by net.ipv4.tcp_rmem and tcp_wmem and does not look here. UDP and \
                           Unix sockets do; PostgreSQL's are small requests and answers, for which 208 KiB are \
                           enough.";
const WHY_MAX: &str = "It limits what a program asks for by SO_RCVBUF or SO_SNDBUF. Neither the server (on Linux) \
                       nor libpq asks, so that TCP grows to the limits of tcp_rmem and tcp_wmem without looking \
                       here. 212992 was the default for long; Linux 6.18 has 4 MiB.";
const SOURCE: &str = "Linux Documentation/admin-guide/sysctl/net.rst; Documentation/networking/ip-sysctl.rst, \
                      tcp_rmem; tcp(7).";

/// The rule of the receive buffer of new sockets.
pub static RMEM_DEFAULT: Rule = Rule {
    page: Page {
        name: "net.core.rmem_default",
        what: "Receive buffer of new sockets other than TCP in bytes, 212992 by default.",
        today: Today::NoEffect,
        why: WHY_DEFAULT,
        danger: "",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge(&RMEM_DEFAULT, facts),
};

/// The rule of the largest receive buffer.
pub static RMEM_MAX: Rule = Rule {
    page: Page {
        name: "net.core.rmem_max",
        what: "Largest receive buffer that a program may ask for, in bytes.",
        today: Today::NoEffect,
        why: WHY_MAX,
        danger: "",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge(&RMEM_MAX, facts),
};

/// The rule of the send buffer of new sockets.
pub static WMEM_DEFAULT: Rule = Rule {
    page: Page {
        name: "net.core.wmem_default",
        what: "Send buffer of new sockets other than TCP in bytes, 212992 by default.",
        today: Today::NoEffect,
        why: WHY_DEFAULT,
        danger: "",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge(&WMEM_DEFAULT, facts),
};

/// The rule of the largest send buffer.
pub static WMEM_MAX: Rule = Rule {
    page: Page {
        name: "net.core.wmem_max",
        what: "Largest send buffer that a program may ask for, in bytes.",
        today: Today::NoEffect,
        why: WHY_MAX,
        danger: "",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: |facts| judge(&WMEM_MAX, facts),
};

/// The default of all four for long.
const DEFAULT: u64 = 212_992;
/// The default of the two maxima in the newest kernels.
const NEW_MAX: u64 = 4 << 20;

fn judge(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let is_largest = rule.page.name.ends_with("_max");
    match rule.number(facts) {
        None => Vec::new(),
        Some(value @ 0..65_536) => {
            let reason = "It is far below the default of 212992, so that Unix sockets switch between processes more \
                          often.";
            vec![rule.finding(Standing::Improve, reason).present(value).set_sysctl(DEFAULT)]
        }
        Some(DEFAULT) => rule.fine(DEFAULT, "It is a default of the kernel."),
        Some(NEW_MAX) if is_largest && facts.kernel_is_at_least(6, 18) == Some(true) => {
            rule.fine(NEW_MAX, "It is the default of recent kernels.")
        }
        Some(value) => {
            let reason = "Buffers of PostgreSQL's connections over TCP do not grow by it.";
            vec![rule.finding(Standing::NoEffect, reason).present(value)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, host, on_kernel, standings};

    #[test]
    fn connections_over_tcp_do_not_use_them() {
        for rule in [&RMEM_DEFAULT, &RMEM_MAX, &WMEM_DEFAULT, &WMEM_MAX] {
            let (fine, nothing) = (Standing::Fine, Standing::NoEffect);
            check_values(rule, &[("212992", fine), ("262144", nothing), ("4096", Standing::Improve)]);
        }
    }

    #[test]
    fn the_default_is_that_of_the_kernel() {
        let (fine, nothing) = (Standing::Fine, Standing::NoEffect);
        for (rule, release, expected) in [
            (&RMEM_MAX, "3.18.24", nothing),
            (&WMEM_MAX, "6.1.0", nothing),
            (&RMEM_MAX, "6.18.44", fine),
            (&RMEM_MAX, "", nothing),
            (&WMEM_DEFAULT, "6.18.44", nothing),
        ] {
            let host = on_kernel(host(&[(rule.page.name, "4194304")]), release);
            assert_eq!(standings(rule, &host), [expected], "{} {release}", rule.page.name);
        }
    }
}
