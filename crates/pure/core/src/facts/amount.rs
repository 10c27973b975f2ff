//! Amounts of memory as `postgresql.conf` writes them (PostgreSQL manual, "Setting Parameters").

/// Bytes of a KiB, which PostgreSQL writes `kB`.
pub const KB: u64 = 1 << 10;
/// Bytes of a MiB, which PostgreSQL writes `MB`.
pub const MB: u64 = 1 << 20;
/// Bytes of a GiB, which PostgreSQL writes `GB`.
pub const GB: u64 = 1 << 30;
const TB: u64 = 1 << 40;

/// Default block size, in bytes: the unit of settings that are given in blocks.
pub const BLOCK: u64 = 8 * KB;

/// Parses an amount such as `4GB`, `1.5GB`, `128 MB` or `16384`; a number without a unit is multiplied by `base_bytes`.
///
/// `None` if the text is no amount, or above 2^63 bytes. Units are case-sensitive, as in the server.
pub fn parse(text: &str, base_bytes: u64) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_bytes = match unit.trim_start() {
        "" => base_bytes,
        "B" => 1,
        "kB" => KB,
        "MB" => MB,
        "GB" => GB,
        "TB" => TB,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * unit_bytes as f64;
    (bytes < (1_u64 << 63) as f64).then_some(bytes as u64)
}

/// Formats an amount in the largest unit that divides it, rounded down to whole kB.
pub fn format(bytes: u64) -> String {
    [(TB, "TB"), (GB, "GB"), (MB, "MB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| format!("{}kB", bytes / KB), |(unit, name)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_parsed_like_the_server_does() {
        for (text, bytes) in [
            ("16384", 16_384 * BLOCK),
            ("128MB", 128 * MB),
            ("128 MB", 128 * MB),
            ("1.5GB", 3 * GB / 2),
            (" 64kB ", 64 * KB),
            ("0", 0),
            ("512B", 512),
        ] {
            assert_eq!(parse(text, BLOCK), Some(bytes), "{text}");
        }
        for wrong in ["", "MB", "128mb", "128Mb", "-1", "1e9", "99999999TB", "1.2.3MB", "12 apples"] {
            assert_eq!(parse(wrong, BLOCK), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn formatted_amounts_parse_back(kilobytes in 0_u64..1 << 40) {
            prop_assert_eq!(parse(&format(kilobytes * KB), BLOCK), Some(kilobytes * KB));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse(&text, BLOCK);
        }
    }
}
