//! `vm.min_free_kbytes`.

use pgdyno_core::{facts::amount::KB, units};

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.min_free_kbytes",
        what: "Memory in KiB that the kernel keeps free for requests that cannot wait, such as packets that arrive.",
        today: Today::Depends,
        why: "The kernel computes it from the memory, as the root of 16 × KiB, at most 64 MiB before Linux 5.8 and \
              256 MiB since, and raises it for transparent huge pages. More is worth having only where the log of \
              the kernel shows failed allocations of network or storage drivers; 1 GiB for each 32 GiB, as often \
              published, takes 3 % of the memory from the page cache.",
        danger: "Below 1 MiB the host breaks under load. Too high, it leaves too little memory and the OOM killer \
                 ends processes at once.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst; mm/page_alloc.c, init_per_zone_wmark_min; commit \
                 ee8eb9a5fe86 (Linux 5.8).",
        ..Page::EMPTY
    },
    judge,
};

/// What the kernel computes for so much memory, in KiB.
fn computed(total_bytes: u64, highest: u64) -> u64 {
    ((total_bytes as f64 / KB as f64 * 16.0).sqrt() as u64).clamp(128, highest)
}

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return RULE.unread() };
    let usable = facts.bytes_without_huge_pages();
    if usable == 0 {
        return vec![RULE.finding(Standing::Unknown, "The size of the memory is unknown.").present(value)];
    }
    let highest = if facts.kernel_is_at_least(5, 8) == Some(true) { 262_144 } else { 65_536 };
    let default = computed(facts.host.memory.total_bytes, highest);
    let share = value as f64 * KB as f64 / usable as f64;
    let text = format!(
        "{} are kept free of {}{}, {}",
        units::bytes(value.saturating_mul(KB)),
        units::bytes(usable),
        facts.huge_memory().map_or("", |_| " of memory that is not in huge pages"),
        units::percent(share)
    );
    let (standing, end) = match () {
        () if value == default => return RULE.fine(value, format!("{text}, as the kernel computes it.")),
        () if value < 1024 || share > 0.5 => (Standing::Dangerous, "which can bring the host down"),
        () if value < default / 2 => {
            (Standing::Improve, "less than half of what the kernel computes by itself")
        }
        () if share > 0.05 => (Standing::Improve, "which page cache and sessions cannot use"),
        () => return RULE.fine(value, format!("{text}.")),
    };
    vec![RULE.finding(standing, format!("{text}, {end}.")).present(value).set_sysctl(default)]
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Inventory;

    use super::*;
    use crate::host::testing::{changes, check_values, host, on_kernel, standings};

    #[test]
    fn bounds_follow_the_memory() {
        let (fine, improve, dangerous) = (Standing::Fine, Standing::Improve, Standing::Dangerous);
        let table = [
            ("512", dangerous),
            ("10000", improve),
            ("67584", fine),
            ("2097152", fine),
            ("6291456", improve),
        ];
        check_values(&RULE, &table);
        check_values(&RULE, &[("48000000", dangerous)]);
    }

    #[test]
    fn the_kernel_computes_the_recommended_value() {
        // sqrt(16 × 64 × 1024 × 1024) = 32768.
        assert_eq!(changes(&RULE, &host(&[("vm.min_free_kbytes", "6291456")])), ["32768"]);
        let mut large = host(&[("vm.min_free_kbytes", "100")]);
        large.memory.total_bytes *= 16;
        assert_eq!(changes(&RULE, &large), ["131072"]);
        assert_eq!(changes(&RULE, &on_kernel(large, "4.19.0")), ["65536"], "the older bound");
    }

    #[test]
    fn unknown_memory_bounds_nothing() {
        let nothing = Inventory { memory: Default::default(), ..host(&[("vm.min_free_kbytes", "1")]) };
        assert_eq!(standings(&RULE, &nothing), [Standing::Unknown]);
    }
}
