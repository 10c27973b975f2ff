//! `vm.watermark_scale_factor`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.watermark_scale_factor",
        what: "Distance between the watermarks at which the kernel begins to free memory in the background and stops, \
               in ten-thousandths of the memory; 10 by default, which is 0.1 %.",
        today: Today::DefaultIsRight,
        why: "A larger distance begins earlier and frees more at a time, so that fewer processes have to free memory \
              themselves when much is requested at once. It is worth trying where /proc/vmstat shows that allocstall_* \
              or kswapd_low_wmark_hit_quickly keep growing; what lies between the watermarks is lost to the page \
              cache.",
        danger: "At some hundreds, several per cent of the memory are kept free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor; commit 795ae7a0de6b (Linux \
                 4.6).",
        since_kernel: Some((4, 6)),
        ..Page::EMPTY
    },
    judge,
};

/// The default of the kernel.
const DEFAULT: u64 = 10;
/// A distance above this keeps more memory free than bursts need: 2 % between two watermarks.
const MOST: u64 = 200;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return Vec::new() };
    if value == DEFAULT {
        return RULE.fine(DEFAULT, "It is the default, which is right for nearly every host.");
    }
    let bytes = facts.bytes_without_huge_pages() as f64 * value as f64 / 10_000.0;
    let text = match facts.host.memory.total_bytes {
        0 => format!("The distance is {} of the memory", units::percent(value as f64 / 10_000.0)),
        _ => format!("The distance is about {}", units::bytes(bytes as u64)),
    };
    if value > MOST {
        let reason = format!("{text}, which page cache and sessions cannot use.");
        return vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(DEFAULT)];
    }
    RULE.fine(value, format!("{text}; the default is {DEFAULT}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, findings, host};

    #[test]
    fn a_large_distance_keeps_memory_free() {
        let (fine, improve) = (Standing::Fine, Standing::Improve);
        check_values(&RULE, &[("10", fine), ("100", fine), ("500", improve)]);
        // 1 % of 64 GiB.
        let reason = &findings(&RULE, &host(&[("vm.watermark_scale_factor", "100")]))[0].reason;
        assert!(reason.contains("about 655 MiB"), "{reason}");
    }
}
