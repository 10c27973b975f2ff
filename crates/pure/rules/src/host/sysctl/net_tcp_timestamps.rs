//! `net.ipv4.tcp_timestamps`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "net.ipv4.tcp_timestamps",
        what: "Whether packets carry the time by which round trips are measured and old packets recognised: 0 no, 1 \
               yes (the default), 2 yes without a random offset.",
        today: Today::DefaultIsRight,
        why: "It costs 12 bytes a packet. net.ipv4.tcp_tw_reuse needs it, and so do SYN cookies to keep window \
              scaling.",
        danger: "Without it, packets of an old connection can be taken for those of a new one on fast networks.",
        source: "Linux Documentation/networking/ip-sysctl.rst; RFC 7323.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        None => Vec::new(),
        Some(0) => {
            let reason = "Round trips are measured less well and old packets not recognised, to save 12 bytes a \
                          packet.";
            vec![RULE.finding(Standing::Improve, reason).present(0).set_sysctl(1)]
        }
        Some(value) => RULE.fine(value, "Packets carry timestamps."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::check_values;

    #[test]
    fn packets_carry_timestamps() {
        check_values(&RULE, &[("1", Standing::Fine), ("2", Standing::Fine), ("0", Standing::Improve)]);
    }
}
