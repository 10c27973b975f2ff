//! Sizes, and arithmetic on them.

use pgdyno_core::problem::Problem;

/// 1 KiB in bytes.
pub const KIB: u64 = 1 << 10;
/// 1 MiB in bytes.
pub const MIB: u64 = 1 << 20;
/// 1 GiB in bytes.
pub const GIB: u64 = 1 << 30;
/// 1 TiB in bytes.
pub const TIB: u64 = 1 << 40;

const UNITS: [(u64, &str); 4] = [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];

/// A size as people write it: `64 KiB`, `1.75 TiB`, `512 bytes`. Two decimals at most, rounded down.
pub fn size_text(bytes: u64) -> String {
    let Some((unit, name)) = UNITS.iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    let hundredths = u128::from(bytes) * 100 / u128::from(*unit);
    let (whole, part) = (hundredths / 100, hundredths % 100);
    match part {
        0 => format!("{whole} {name}"),
        _ if part.is_multiple_of(10) => format!("{whole}.{} {name}", part / 10),
        _ => format!("{whole}.{part:02} {name}"),
    }
}

/// A size with one of the units `k`, `m`, `g`, `t` (powers of 1024; `KiB`, `kB` and so on are the same), or in bytes.
///
/// # Errors
/// If it is no such size, or exceeds 64 bits.
pub fn parse_size(text: &str) -> Result<u64, Problem> {
    let wrong = || {
        Problem::wrong_request(format!("`{text}` is no size"))
            .hint("write 8k, 64k, 512m, 100g or 4t; units are powers of 1024")
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => KIB,
        "m" | "mb" | "mib" => MIB,
        "g" | "gb" | "gib" => GIB,
        "t" | "tb" | "tib" => TIB,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

/// The largest multiple of `unit` that is not above `value`.
pub fn round_down(value: u64, unit: u64) -> u64 {
    value - value % unit
}

/// The smallest multiple of `unit` that is not below `value`.
pub fn round_up(value: u64, unit: u64) -> u64 {
    value.div_ceil(unit) * unit
}

/// The least common multiple of two numbers above 0.
pub fn common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_people_write_them() {
        let cases = [
            (512, "512 bytes"),
            (8 * KIB, "8 KiB"),
            (3 * MIB / 2, "1.5 MiB"),
            (1_924_145_348_608, "1.75 TiB"),
            (2_136_997_888, "1.99 GiB"),
            (GIB + GIB / 20, "1.04 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size_text(bytes), text);
        }
    }

    #[test]
    fn sizes_are_read() {
        let cases = [("8k", 8 * KIB), ("8KiB", 8 * KIB), ("4 TiB", 4 * TIB), ("100", 100), ("1g", GIB)];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "1x", "-1", "1.5g", "99999999999t", "0x10"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_rounded_to_units() {
        assert_eq!((round_down(156_235, 2), round_up(156_233, 2), round_up(6, 6)), (156_234, 156_234, 6));
        assert_eq!((common_multiple(1024, 384), common_multiple(7, 7)), (3072, 7));
    }
}
