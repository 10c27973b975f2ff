//! Numbers as C's `strtod`, `strtol` and `printf` read and write them, as pgbench does.

use std::io::Write;

/// Why a text is not an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotInteger {
    /// Not a number.
    Syntax,
    /// Does not fit into 64 bits.
    Range,
}

/// C's `isspace` in the C locale.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn skip_space(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&b| !is_space(b)).unwrap_or(text.len());
    &text[start..]
}

/// Splits off a sign; returns whether it is a minus.
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// Number of decimal digits at the start.
pub(super) fn digits(text: &[u8]) -> usize {
    text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len())
}

/// Whether a text has the form of an integer: white space, a sign, digits to the end. A lone sign passes, too.
pub(super) fn looks_like_integer(text: &[u8]) -> bool {
    let (_, rest) = sign(skip_space(text));
    digits(rest) == rest.len()
}

/// Parses a 64-bit integer with optional white space around it.
pub(super) fn integer(text: &[u8]) -> Result<i64, NotInteger> {
    let (negative, rest) = sign(skip_space(text));
    let count = digits(rest);
    if count == 0 || !skip_space(&rest[count..]).is_empty() {
        return Err(NotInteger::Syntax);
    }
    let mut value = 0i64;
    for digit in &rest[..count] {
        let digit = i64::from(digit - b'0');
        let next = value.checked_mul(10).and_then(|value| value.checked_sub(digit));
        value = next.ok_or(NotInteger::Range)?;
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or(NotInteger::Range) }
}

/// C's `atoi` with saturation: the integer at the start of a text, 0 if there is none, the nearest 64-bit limit
/// on overflow.
pub(super) fn leading_integer(text: &[u8]) -> i64 {
    let (negative, rest) = sign(skip_space(text));
    rest[..digits(rest)].iter().fold(0i64, |value, digit| {
        let (value, digit) = (value.saturating_mul(10), i64::from(digit - b'0'));
        if negative { value.saturating_sub(digit) } else { value.saturating_add(digit) }
    })
}

/// Parses a double that fills the text after leading white space: decimal, hexadecimal, `inf` or `nan`. `None`
/// for anything else, and for values too large or too small for a double.
pub(super) fn double(text: &[u8]) -> Option<f64> {
    let (negative, rest) = sign(skip_space(text));
    let lower = rest.to_ascii_lowercase();
    let value = match lower.as_slice() {
        b"inf" | b"infinity" => f64::INFINITY,
        b"nan" => f64::NAN,
        [b'0', b'x', digits @ ..] => hexadecimal(digits)?,
        _ => decimal(&lower)?,
    };
    Some(if negative { -value } else { value })
}

/// Parses an unsigned double as scripts write constants: digits with an optional fraction and exponent.
pub(super) fn decimal(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !mantissa.bytes().any(|b| matches!(b, b'1'..=b'9'));
    (is_zero || value.is_normal()).then_some(value)
}

/// Parses `h.hhhp±d` in lower case, without its `0x`.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let (mantissa, exponent) = match text.iter().position(|&b| b == b'p') {
        Some(at) => {
            let (_, rest) = sign(&text[at + 1..]);
            if rest.is_empty() || digits(rest) != rest.len() {
                return None;
            }
            (&text[..at], leading_integer(&text[at + 1..]).clamp(-100_000, 100_000))
        }
        None => (text, 0),
    };
    let point = mantissa.iter().position(|&b| b == b'.').unwrap_or(mantissa.len());
    let places = mantissa.len().saturating_sub(point + 1) as i64;
    let (mut value, mut dropped, mut seen) = (0u128, 0i64, false);
    for &byte in mantissa.iter().enumerate().filter(|(at, _)| *at != point).map(|(_, byte)| byte) {
        let digit = u128::from((byte as char).to_digit(16)?);
        seen = true;
        if value >> 120 == 0 {
            value = value << 4 | digit;
        } else {
            // Digits beyond a double's precision matter only in being non-zero.
            value |= u128::from(digit != 0);
            dropped += 1;
        }
    }
    let scale = exponent + 4 * (dropped - places);
    let scaled = value as f64 * 2f64.powi((scale / 2) as i32) * 2f64.powi((scale - scale / 2) as i32);
    (seen && (value == 0 || scaled.is_normal())).then_some(scaled)
}

/// `%.15g`: the format of doubles in SQL and messages.
pub(super) fn write_double(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        return out.extend_from_slice(not_finite(value).as_bytes());
    }
    let mut text = [0; 32];
    let mut room = &mut text[..];
    write!(room, "{:.14e}", value.abs()).expect("15 digits and an exponent have room");
    let unused = room.len();
    let text = &text[..text.len() - unused];
    let e = text.iter().position(|&b| b == b'e').expect("it has an exponent");
    let exponent = leading_integer(&text[e + 1..]);
    let mut significant = [b'0'; 15];
    significant[0] = text[0];
    significant[1..].copy_from_slice(&text[2..e]);
    let used = significant.iter().rposition(|&b| b != b'0').map_or(1, |last| last + 1);
    if value.is_sign_negative() {
        out.push(b'-');
    }
    match exponent {
        -4..=-1 => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            out.extend_from_slice(&significant[..used]);
        }
        0..15 => {
            let whole = exponent as usize + 1;
            out.extend_from_slice(&significant[..whole]);
            point_and(out, &significant[whole..used.max(whole)]);
        }
        _ => {
            out.push(significant[0]);
            point_and(out, &significant[1..used]);
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(out, "e{sign}{:02}", exponent.abs()).expect("a vector takes all");
        }
    }
}

fn point_and(out: &mut Vec<u8>, fraction: &[u8]) {
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

/// `%f`: the format of doubles in messages about limits.
pub(super) fn six_places(value: f64) -> String {
    if value.is_finite() { format!("{value:.6}") } else { not_finite(value).to_owned() }
}

/// Infinities and NaN as PostgreSQL's own `printf` writes them.
fn not_finite(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

/// `%d` for 64 bits.
pub(super) fn write_integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(value: f64) -> String {
        let mut out = Vec::new();
        write_double(&mut out, value);
        String::from_utf8(out).expect("it is ASCII")
    }

    /// Expected values printed by `printf("%.15g")` of the GNU C library, infinities by PostgreSQL.
    #[test]
    fn doubles_look_as_c_prints_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (15.000000000000002, "15"),
            (0.1 + 0.2, "0.3"),
            (-0.00032, "-0.00032"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123456789012345.0, "123456789012345"),
            (1234567890123456.0, "1.23456789012346e+15"),
            (8.507059173023462e37, "8.50705917302346e+37"),
            (1e30, "1e+30"),
            (5e-324, "4.94065645841247e-324"),
            (f64::MAX, "1.79769313486232e+308"),
            (100000000000000.5, "100000000000000"),
            (100000000000001.5, "100000000000002"),
            (999999999999999.9, "1e+15"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (-f64::NAN, "NaN"),
        ] {
            assert_eq!(shown(value), text);
        }
        assert_eq!(six_places(1e32), "100000000000000005366162204393472.000000");
    }

    #[test]
    fn texts_are_read_as_c_reads_them() {
        for (text, value) in [
            ("-10.1", Some(-10.1)),
            (" +1.5e3", Some(1500.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e-310", None),
            ("1e310", None),
            ("0e999", Some(0.0)),
            ("InF", Some(f64::INFINITY)),
            ("-infinity", Some(f64::NEG_INFINITY)),
            ("0x1.8p+3", Some(12.0)),
            ("0X10", Some(16.0)),
            ("0x0.0000000000001p-1000", None),
            ("0x", None),
            ("0x1p", None),
            ("1.5 ", None),
            ("bla", None),
            ("e5", None),
            ("", None),
            ("+-1", None),
            (".", None),
        ] {
            assert_eq!(double(text.as_bytes()), value, "{text}");
        }
        assert!(double(b"nan").expect("it is one").is_nan());
        assert_eq!(integer(b" -9223372036854775808 "), Ok(i64::MIN));
        assert_eq!(integer(b"9223372036854775808"), Err(NotInteger::Range));
        assert_eq!(integer(b"-"), Err(NotInteger::Syntax));
        assert!(looks_like_integer(b" +12") && looks_like_integer(b"-") && !looks_like_integer(b"1.0"));
        assert_eq!(leading_integer(b" -12ms"), -12);
        assert_eq!(leading_integer(b"99999999999999999999"), i64::MAX);
        assert_eq!(leading_integer(b"-99999999999999999999"), i64::MIN);
    }

    proptest! {
        #[test]
        fn integers_are_what_rust_prints_and_reads(value: i64) {
            let mut out = Vec::new();
            write_integer(&mut out, value);
            prop_assert_eq!(integer(&out), Ok(value));
            prop_assert_eq!(String::from_utf8(out).expect("digits"), value.to_string());
        }

        #[test]
        fn fifteen_digits_are_near_the_value(value in prop::num::f64::NORMAL) {
            let again: f64 = shown(value).parse().expect("it is a number");
            prop_assert!((again - value).abs() <= value.abs() * 1e-14, "{} {}", again, value);
        }
    }
}
