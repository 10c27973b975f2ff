//! Settings that have another name, or whose value means something else, in another major.

/// A setting under another name, or with another value, from a major on.
struct Change {
    /// Name before.
    before: &'static str,
    /// Name from `since` on.
    after: &'static str,
    /// First `server_version_num` with the new name or meaning.
    since: u32,
    /// Value after, for a value before; `None` if it is none.
    forward: fn(&str, Sizes) -> Option<String>,
    /// Value before, for a value after.
    backward: fn(&str, Sizes) -> Option<String>,
    /// What changed, as the release notes of that major say.
    what: &'static str,
}

/// What the values of some settings are counted in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Size of a WAL segment in bytes.
    pub wal_segment_bytes: u64,
}

/// The changes, each from section "Migration" (or "Server Configuration") of that major's release notes.
const CHANGES: [Change; 6] = [
    Change {
        before: "checkpoint_segments",
        after: "max_wal_size",
        since: 90_500,
        // "max_wal_size = (3 * checkpoint_segments) * 16MB"
        forward: |value, _| Some(format!("{}MB", value.parse::<u64>().ok()?.checked_mul(48)?)),
        backward: |_, _| None,
        what: "max_wal_size replaces checkpoint_segments from 9.5 on, three segments of 16MB for each",
    },
    Change {
        before: "wal_level",
        after: "wal_level",
        since: 90_600,
        forward: |value, _| matches!(value, "archive" | "hot_standby").then(|| "replica".to_owned()),
        backward: |value, _| (value == "replica").then(|| "hot_standby".to_owned()),
        what: "archive and hot_standby became replica in 9.6",
    },
    Change {
        before: "min_parallel_relation_size",
        after: "min_parallel_table_scan_size",
        since: 100_000,
        forward: same,
        backward: same,
        what: "min_parallel_relation_size became min_parallel_table_scan_size in 10",
    },
    Change {
        before: "wal_keep_segments",
        after: "wal_keep_size",
        since: 130_000,
        forward: |value, sizes| {
            let bytes = value.parse::<u64>().ok()?.checked_mul(sizes.wal_segment_bytes)?;
            Some(if bytes == 0 { "0".to_owned() } else { pgdyno_core::facts::amount::format(bytes) })
        },
        backward: |value, sizes| {
            let bytes = pgdyno_core::facts::amount::parse(value, 1 << 20)?;
            Some(bytes.div_ceil(sizes.wal_segment_bytes.max(1)).to_string())
        },
        what: "wal_keep_segments became wal_keep_size in 13",
    },
    Change {
        before: "effective_io_concurrency",
        after: "effective_io_concurrency",
        since: 130_000,
        // "select round(sum(OLDVALUE / n::float)) from generate_series(1, OLDVALUE) s(n)"
        forward: |value, _| prefetched(value.parse().ok()?).map(|pages| pages.to_string()),
        backward: |value, _| {
            let pages = value.parse::<u32>().ok()?;
            (0..=pages.min(1_000))
                .rev()
                .find(|drives| prefetched(*drives).unwrap_or(*drives) <= pages)
                .map(|n| n.to_string())
        },
        what: "effective_io_concurrency counts pages to prefetch from 13 on, and drives before",
    },
    Change {
        before: "force_parallel_mode",
        after: "debug_parallel_query",
        since: 160_000,
        forward: same,
        backward: same,
        what: "force_parallel_mode became debug_parallel_query in 16",
    },
];

#[allow(clippy::unnecessary_wraps)]
fn same(value: &str, _: Sizes) -> Option<String> {
    Some(value.to_owned())
}

/// Pages that so many drives prefetched before 13; `None` where the number is the same.
fn prefetched(drives: u32) -> Option<u32> {
    (2..=1_000).contains(&drives).then(|| {
        let sum: f64 = (1..=drives).map(|drive| f64::from(drives) / f64::from(drive)).sum();
        (sum.round() as u32).min(1_000)
    })
}

/// A setting as a version has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Renamed {
    /// Name there.
    pub name: String,
    /// Value there.
    pub value: String,
    /// What changed.
    pub what: &'static str,
}

/// A setting that this version has under another name, or with another value for the same effect. `published_num` is
/// the version that it was published for, as far as it is known: it decides what a value means whose name did not
/// change.
pub(super) fn renamed(
    name: &str,
    value: &str,
    (published_num, version_num): (Option<u32>, u32),
    sizes: Sizes,
) -> Option<Renamed> {
    CHANGES.iter().find_map(|change| {
        let is_new = version_num >= change.since;
        let keeps_name = change.before == change.after;
        let (from, to, convert) = match is_new {
            true => (change.before, change.after, change.forward),
            false => (change.after, change.before, change.backward),
        };
        // The same name on both sides of the change: only a value of the other side is converted.
        let from_other_side = !keeps_name
            || published_num.map_or(change.before == "wal_level", |of| (of >= change.since) != is_new);
        (from == name && from_other_side).then_some(())?;
        let value = convert(value, sizes)?;
        Some(Renamed { name: to.to_owned(), value, what: change.what })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { wal_segment_bytes: 16 << 20 };

    fn on(name: &str, value: &str, published: Option<u32>, version_num: u32) -> Option<(String, String)> {
        renamed(name, value, (published, version_num), SIZES).map(|found| (found.name, found.value))
    }

    #[test]
    fn names_and_values_follow_the_version() {
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        for (name, value, published, version_num, expected) in [
            ("wal_keep_segments", "0", 120_000, 180_000, pair("wal_keep_size", "0")),
            ("wal_keep_segments", "64", 120_000, 130_000, pair("wal_keep_size", "1GB")),
            ("wal_keep_segments", "64", 120_000, 120_000, None),
            ("wal_keep_size", "100MB", 180_000, 90_600, pair("wal_keep_segments", "7")),
            ("checkpoint_segments", "32", 90_400, 90_500, pair("max_wal_size", "1536MB")),
            ("wal_level", "hot_standby", 90_500, 180_000, pair("wal_level", "replica")),
            ("wal_level", "replica", 120_000, 90_500, pair("wal_level", "hot_standby")),
            ("wal_level", "minimal", 90_500, 180_000, None),
            ("force_parallel_mode", "on", 90_600, 160_000, pair("debug_parallel_query", "on")),
            ("debug_parallel_query", "on", 160_000, 150_000, pair("force_parallel_mode", "on")),
            (
                "min_parallel_relation_size",
                "8MB",
                90_600,
                100_000,
                pair("min_parallel_table_scan_size", "8MB"),
            ),
            ("effective_io_concurrency", "0", 120_000, 180_000, None),
            ("effective_io_concurrency", "2", 90_500, 120_000, None),
            // The worked examples of the release notes of 13.
            ("effective_io_concurrency", "2", 90_500, 130_000, pair("effective_io_concurrency", "3")),
            ("effective_io_concurrency", "10", 90_500, 130_000, pair("effective_io_concurrency", "29")),
            ("effective_io_concurrency", "3", 180_000, 90_600, pair("effective_io_concurrency", "2")),
            ("work_mem", "4MB", 90_500, 180_000, None),
        ] {
            assert_eq!(on(name, value, Some(published), version_num), expected, "{name} on {version_num}");
        }
    }

    #[test]
    fn of_a_file_of_unknown_version_only_what_is_certain_changes() {
        assert_eq!(on("effective_io_concurrency", "200", None, 180_000), None);
        assert_eq!(on("effective_io_concurrency", "200", None, 120_000), None);
        let level = Some(("wal_level".to_owned(), "replica".to_owned()));
        assert_eq!(on("wal_level", "archive", None, 180_000), level);
    }
}
