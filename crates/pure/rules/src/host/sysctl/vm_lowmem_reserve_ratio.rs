//! `vm.lowmem_reserve_ratio`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.lowmem_reserve_ratio",
        what: "How much of each low memory zone is kept from requests that could be served by a higher one: one part \
               in so many, for each zone; 0 keeps nothing.",
        today: Today::DefaultIsRight,
        why: "The default of 256 256 32 keeps a fraction of a per cent of the higher zones' size. On 64-bit hosts few \
              devices still need memory below 4 GiB.",
        danger: "1, as published for hosts above 64 GB, keeps as much of the zone DMA32 as the higher zones are \
                 large: its up to 4 GiB are then lost to the server and the page cache.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, lowmem_reserve_ratio.",
        ..Page::EMPTY
    },
    judge,
};

/// Values below this keep a noticeable part of low memory from everybody.
const LEAST: u64 = 32;
const DEFAULTS: [u64; 3] = [256, 256, 32];

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(numbers) = RULE.numbers(facts) else { return Vec::new() };
    let text = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let low = numbers.iter().take(2).any(|number| (1..LEAST).contains(number));
    if !low {
        return RULE.fine(text(&numbers), "Low memory zones keep a small part to themselves.");
    }
    let mut best = numbers.clone();
    best.iter_mut().zip(DEFAULTS).for_each(|(number, default)| *number = default);
    let reason =
        "The low zones keep nearly all of their memory, up to 4 GiB, from the server and the page cache.";
    vec![RULE.finding(Standing::Improve, reason).present(text(&numbers)).set_sysctl(text(&best))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host};

    #[test]
    fn low_zones_keep_little() {
        let (fine, improve) = (Standing::Fine, Standing::Improve);
        check_values(&RULE, &[("256 256 32 0 0", fine), ("1 1 1 0 0", improve), ("0 0 0", fine), ("", fine)]);
        assert_eq!(changes(&RULE, &host(&[("vm.lowmem_reserve_ratio", "1 1 1 0 0")])), ["256 256 32 0 0"]);
    }
}
