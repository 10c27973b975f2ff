//! `hugepagesz=`.

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `hugepagesz=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "hugepagesz=",
        also: &["hugepagesz", "default_hugepagesz="],
        what: "The size of the huge pages that the next hugepages= reserves; default_hugepagesz= sets the default \
               size.",
        today: Today::Depends,
        why: "PostgreSQL uses the default size, and since 14 the size that huge_page_size names. 1 GiB pages bring \
              fewer entries of the TLB than 2 MiB pages, whose gain over ordinary pages is most of what there is; \
              what is left has not been measured here. Up to 13, 1 GiB pages are used only if \
              default_hugepagesz=1G is set.",
        danger: "Pages of a size that no program requests are memory lost.",
        source: "Linux Documentation/admin-guide/mm/hugetlbpage.rst; PostgreSQL manual, Resource Consumption, \
                 huge_page_size.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    let (Some(word), Some(default), Some(server)) =
        (host.kernel.boot_word("hugepagesz"), host.memory.default_huge_page_bytes, &host.server)
    else {
        return Vec::new();
    };
    let Some(size) = bytes_of(word) else { return Vec::new() };
    if size == default || server.version_num.is_none_or(|version| version >= 140_000) {
        return Vec::new();
    }
    vec![
        RULE.finding(
            Standing::NoEffect,
            "PostgreSQL before 14 uses pages of the default size only, and this is another size.",
        )
        .seen(format!("hugepagesz={word}"))
        .better(format!("default_hugepagesz={word}")),
    ]
}

/// `2M` in bytes; `None` if it is not a number with K, M or G.
fn bytes_of(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(['K', 'M', 'G', 'k', 'm', 'g']);
    let shift = match word[digits.len()..].to_ascii_uppercase().as_str() {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::ServerProcess;

    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn sizes_are_read() {
        for (word, bytes) in
            [("2M", Some(2 << 20)), ("1g", Some(1 << 30)), ("64K", Some(65536)), ("1GG", None), ("", None)]
        {
            assert_eq!(bytes_of(word), bytes, "{word}");
        }
        assert_eq!(bytes_of("99999999999999999999G"), None);
        assert_eq!(bytes_of("18446744073709551615G"), None);
    }

    #[test]
    fn another_size_is_lost_on_old_servers() {
        let mut host = booted(&["hugepagesz=1G", "hugepages=64"]);
        host.memory.default_huge_page_bytes = Some(2 << 20);
        assert_eq!(standings(&RULE, &host), [], "no server");
        host.server = Some(ServerProcess { version_num: Some(110_000), ..ServerProcess::default() });
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect]);
        host.memory.default_huge_page_bytes = Some(1 << 30);
        assert_eq!(standings(&RULE, &host), []);
        host.memory.default_huge_page_bytes = Some(2 << 20);
        host.server = Some(ServerProcess { version_num: Some(180_000), ..ServerProcess::default() });
        assert_eq!(standings(&RULE, &host), []);
    }
}
