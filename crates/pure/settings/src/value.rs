//! What a value of a setting means: `8GB` is `8192MB`, `on` is `true`.

use pgdyno_core::facts::amount::{BLOCK, KB, MB};

use super::catalogue::{Entry, Kind, Unit, entry};

/// Whether two values of a setting mean the same to a version of the server. Of a setting that this version lacks the
/// texts are compared. Numbers without a unit count blocks of 8 KiB where the setting counts blocks.
pub fn is_same(name: &str, version_num: u32, one: &str, other: &str, wal_segment_bytes: u64) -> bool {
    let (one, other) = (one.trim(), other.trim());
    let Some(entry) = entry(name, version_num) else { return one == other };
    match entry.kind {
        Kind::Bool => switch(one).is_some() && switch(one) == switch(other),
        Kind::Enum => word(name, one) == word(name, other),
        Kind::Text => one == other || (is_case_blind(name) && one.eq_ignore_ascii_case(other)),
        Kind::Int(unit) | Kind::Real(unit) => {
            let of = |text| number(text, unit, wal_segment_bytes);
            match (of(one), of(other)) {
                (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(other.abs()),
                _ => one == other,
            }
        }
    }
}

/// Names of text settings whose values are read without regard to case.
fn is_case_blind(name: &str) -> bool {
    ["datestyle", "timezone", "log_timezone", "log_destination", "log_connections"]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name))
}

/// What a switch is set to: `on`, `true`, `yes`, 1 and their opposites, or any beginning that leaves no doubt, as
/// `parse_bool` of the server reads them.
pub fn switch(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let is = |word: &str| !text.is_empty() && word.starts_with(text.as_str());
    match text.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        // `o` alone may be either.
        "o" => None,
        _ if is("true") || is("yes") || is("on") => Some(true),
        _ if is("false") || is("no") || is("off") => Some(false),
        _ => None,
    }
}

/// A word of a setting of words, in lower case; the words of a switch, which most of these accept, as `on` and `off`,
/// and `on` of `wal_compression` as what it means.
fn word(name: &str, text: &str) -> String {
    let text = text.trim().to_ascii_lowercase();
    let plain = match text.as_str() {
        "true" | "yes" | "1" | "on" => "on",
        "false" | "no" | "0" | "off" => "off",
        other => other,
    };
    if name.eq_ignore_ascii_case("wal_compression") && plain == "on" { "pglz".into() } else { plain.into() }
}

/// A number in bytes, milliseconds or as it is; `None` if the server would not read it.
pub fn number(text: &str, unit: Unit, wal_segment_bytes: u64) -> Option<f64> {
    let text = text.trim();
    if let Some(whole) = prefixed(text) {
        return Some(whole as f64 * factor(unit, wal_segment_bytes));
    }
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    // `1e-3` is a number; `1s` is a number and a unit.
    if let Ok(plain) = text.parse::<f64>() {
        return plain.is_finite().then_some(plain * factor(unit, wal_segment_bytes));
    }
    let (digits, suffix) = text.split_at(end);
    let value = digits.parse::<f64>().ok()?;
    Some(value * suffix_factor(suffix.trim_start(), unit)?)
}

/// A number in base 16 or 8, which whole numbers may be written in.
fn prefixed(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    let octal = text.strip_prefix('0').filter(|rest| !rest.is_empty())?;
    u64::from_str_radix(octal, 8).ok()
}

/// Bytes or milliseconds of one, where a number has no unit of its own.
fn factor(unit: Unit, wal_segment_bytes: u64) -> f64 {
    match unit {
        Unit::None | Unit::Byte | Unit::Ms => 1.0,
        Unit::Kb => KB as f64,
        Unit::Mb => MB as f64,
        Unit::Block => BLOCK as f64,
        Unit::Segment => wal_segment_bytes as f64,
        Unit::S => 1e3,
        Unit::Min => 60e3,
    }
}

/// Bytes or milliseconds of a unit that is written out; `None` if the setting does not have such units.
fn suffix_factor(suffix: &str, unit: Unit) -> Option<f64> {
    let is_time = matches!(unit, Unit::Ms | Unit::S | Unit::Min);
    let factor = match (suffix, is_time) {
        ("B", false) => 1.0,
        ("kB", false) => KB as f64,
        ("MB", false) => MB as f64,
        ("GB", false) => 1024.0 * MB as f64,
        ("TB", false) => 1024.0 * 1024.0 * MB as f64,
        ("us", true) => 1e-3,
        ("ms", true) => 1.0,
        ("s", true) => 1e3,
        ("min", true) => 60e3,
        ("h", true) => 3_600e3,
        ("d", true) => 86_400e3,
        _ => return None,
    };
    (unit != Unit::None).then_some(factor)
}

/// Why the server would not start with a value: it is no number, outside of its limits, or no switch. `None` if it
/// would, as far as the kind of a setting says; words and texts are not checked.
pub fn refusal(entry: &Entry, text: &str, wal_segment_bytes: u64) -> Option<String> {
    match entry.kind {
        Kind::Bool => switch(text).is_none().then(|| "the server reads neither on nor off in it".to_owned()),
        Kind::Enum | Kind::Text => None,
        Kind::Int(unit) | Kind::Real(unit) => {
            let Some(value) = number(text, unit, wal_segment_bytes) else {
                return Some("the server reads no number with a unit that it knows in it".to_owned());
            };
            let per = factor(unit, wal_segment_bytes);
            let is_inside = value >= entry.least * per - 1e-6 && value <= entry.most * per * (1.0 + 1e-9);
            (!is_inside).then(|| {
                let words = match unit {
                    Unit::None => "",
                    Unit::Byte => " bytes",
                    Unit::Kb => " kB",
                    Unit::Mb => " MB",
                    Unit::Block => " blocks of 8 kB",
                    Unit::Segment => " segments",
                    Unit::Ms => " ms",
                    Unit::S => " s",
                    Unit::Min => " min",
                };
                format!("the server accepts {} to {}{words}", entry.least, entry.most)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEGMENT: u64 = 16 * MB;

    #[test]
    fn values_are_compared_by_meaning() {
        for (name, one, other, same) in [
            ("shared_buffers", "8GB", "8192MB", true),
            ("shared_buffers", "1048576", "8GB", true),
            ("shared_buffers", "8GB", "8192", false),
            ("work_mem", "4096", "4MB", true),
            ("max_wal_size", "1024", "1GB", true),
            ("checkpoint_timeout", "15min", "900", true),
            ("checkpoint_timeout", "15min", "900s", true),
            ("checkpoint_timeout", "15min", "15", false),
            ("autovacuum_vacuum_cost_delay", "2", "2ms", true),
            ("autovacuum_vacuum_cost_delay", "2ms", "2000us", true),
            ("jit", "on", "true", true),
            ("jit", "1", "yes", true),
            ("jit", "off", "f", true),
            ("jit", "on", "off", false),
            ("jit", "o", "on", false),
            ("random_page_cost", "1.0", "1", true),
            ("random_page_cost", "1.1", "1", false),
            ("huge_pages", "TRY", "try", true),
            ("wal_compression", "on", "pglz", true),
            ("wal_compression", "on", "lz4", false),
            ("synchronous_commit", "false", "off", true),
            ("unix_socket_permissions", "0700", "448", true),
            ("unix_socket_permissions", "0700", "700", false),
            ("datestyle", "ISO, MDY", "iso, mdy", true),
            ("log_line_prefix", "%M", "%m", false),
            ("my.own", "a", "a", true),
            ("my.own", "on", "true", false),
        ] {
            assert_eq!(is_same(name, 180_000, one, other, SEGMENT), same, "{name}: {one} and {other}");
        }
        // Before 10 a number counts segments.
        assert!(is_same("max_wal_size", 90_624, "64", "1GB", SEGMENT));
        assert!(!is_same("max_wal_size", 100_000, "64", "1GB", SEGMENT));
    }

    #[test]
    fn what_the_server_refuses() {
        let refused = |name: &str, text: &str| {
            refusal(entry(name, 180_000).expect("it is a setting"), text, SEGMENT).is_some()
        };
        for (name, text, is_refused) in [
            ("work_mem", "4MB", false),
            ("work_mem", "4mb", true),
            ("work_mem", "32kB", true),
            ("work_mem", "4s", true),
            ("shared_buffers", "128kB", false),
            ("shared_buffers", "100kB", true),
            ("checkpoint_completion_target", "1.5", true),
            ("checkpoint_timeout", "2d", true),
            ("port", "65536", true),
            ("jit", "maybe", true),
            ("vacuum_cost_delay", "0.5ms", false),
            ("random_page_cost", "0.016", false),
            ("log_line_prefix", "anything", false),
        ] {
            assert_eq!(refused(name, text), is_refused, "{name} = {text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(one in ".*", other in ".*") {
            for name in ["work_mem", "jit", "huge_pages", "checkpoint_timeout", "random_page_cost", "datestyle"] {
                let _ = is_same(name, 180_000, &one, &other, SEGMENT);
            }
        }

        #[test]
        fn a_value_is_the_same_as_itself(kilobytes in 64_u64..1 << 31) {
            let (plain, unit) = (kilobytes.to_string(), format!("{kilobytes}kB"));
            prop_assert!(is_same("work_mem", 180_000, &plain, &unit, SEGMENT));
        }
    }
}
