//! `net.core.netdev_max_backlog`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "net.core.netdev_max_backlog",
        what: "Packets that may wait on each processor between a driver and the protocols, 1000 by default.",
        today: Today::DefaultIsRight,
        why: "Drivers of network cards (NAPI) hand packets on directly; only loopback, virtual pairs and steering by \
              RPS use this queue. It is too short only where the second column of /proc/net/softnet_stat grows.",
        danger: "",
        source: "Linux Documentation/admin-guide/sysctl/net.rst; Documentation/networking/scaling.rst.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        None => Vec::new(),
        Some(value @ 0..1000) => {
            let reason = "It is below the default of 1000, so that bursts over loopback may be dropped.";
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(1000)]
        }
        Some(value) => {
            RULE.fine(value, "It is the default or more; drops would show in /proc/net/softnet_stat.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::check_values;

    #[test]
    fn less_than_the_default_drops() {
        check_values(
            &RULE,
            &[("1000", Standing::Fine), ("10000", Standing::Fine), ("10", Standing::Improve)],
        );
    }
}
