//! Formats quantities: the only place that turns numbers into the text of a report.
//!
//! Rules: bytes in KiB, MiB and GiB; latencies in µs, ms or s with three significant digits; counts with thousands
//! separators; rates as whole numbers from 100 on; an absent or non-finite number is [`ABSENT`], never 0. Foreign text
//! passes through [`printable`] before output.

use std::{borrow::Cow, fmt::Write};

/// Placeholder for an absent number.
pub const ABSENT: &str = "–";

/// Formats an optional quantity; [`ABSENT`] if there is none.
pub fn or_absent<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), write)
}

/// A whole number with thousands separators: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with at least three significant digits: `0.912`, `9.12`, `91.2`, `912`, `9,123`.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    if value < 0.0 {
        return format!("-{}", significant(-value));
    }
    match value {
        v if v >= 99.95 => count(v.round() as u64),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v if v >= 0.0005 || v == 0.0 => format!("{v:.3}"),
        v => format!("{v:.1e}"),
    }
}

/// Bytes in the largest binary unit that leaves at least 1: `512 B`, `8 KiB`, `1.46 GiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    // 1023.5 would round to `1,024`: use the next unit.
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    match scaled.fract() == 0.0 {
        true => format!("{} {}", count(scaled as u64), UNITS[unit]),
        false => format!("{} {}", significant(scaled), UNITS[unit]),
    }
}

/// Bytes per second in binary units: `12.4 MiB/s`.
pub fn bytes_per_s(value: f64) -> String {
    if value.is_finite() && value >= 0.0 {
        format!("{}/s", bytes(value.round() as u64))
    } else {
        ABSENT.to_owned()
    }
}

/// A latency given in nanoseconds: `640 ns`, `91.2 µs`, `9.12 ms`, `1.20 s`, three significant digits.
pub fn latency(ns: f64) -> String {
    match ns {
        v if !v.is_finite() => ABSENT.to_owned(),
        v if v < 999.5 => format!("{v:.0} ns"),
        v if v < 999.5e3 => format!("{} µs", significant(v / 1e3)),
        v if v < 999.5e6 => format!("{} ms", significant(v / 1e6)),
        v => format!("{} s", significant(v / 1e9)),
    }
}

/// A latency given in nanoseconds as a bare number of milliseconds, for a column whose header names the unit.
pub fn milliseconds(ns: f64) -> String {
    significant(ns / 1e6)
}

/// A rate per second without its unit: `41,200`, `91.2`, `0.912`.
pub fn rate(per_s: f64) -> String {
    significant(per_s)
}

/// A rate per second whose confidence interval has this half-width, without digits that the interval makes worthless:
/// two digits of the half-width are kept, so 37,422 ± 1,535 is `37,400`.
pub fn rate_within(per_s: f64, half_width: f64) -> String {
    let unit = 10f64.powf(half_width.log10().floor() - 1.0);
    let rounded = if unit.is_finite() && unit > 1.0 { (per_s / unit).round() * unit } else { per_s };
    rate(rounded)
}

/// A share between 0 and 1 as a percentage with one decimal: `4.2 %`; shares under 0.05 % as `<0.1 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        v if !v.is_finite() => ABSENT.to_owned(),
        0.0 => "0 %".to_owned(),
        v if v.abs() < 0.05 => "<0.1 %".to_owned(),
        v => format!("{v:.1} %"),
    }
}

/// A part of a whole as a percentage; only the complete whole is `100 %`.
pub fn part(share: f64) -> String {
    if share >= 1.0 { "100 %".to_owned() } else { percent(share.min(0.999)) }
}

/// A duration given in seconds: `850 ms`, `8 s`, `4.61 s`, `2 min 51 s`, `1 h 05 min`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        v if !v.is_finite() || v < 0.0 => ABSENT.to_owned(),
        v if v < 60.0 && v.fract() == 0.0 => format!("{v} s"),
        v if v < 0.9995 => latency(v * 1e9),
        v if v < 59.95 => format!("{} s", significant(v)),
        v => {
            let whole = v.round() as u64;
            match whole / 3600 {
                0 => format!("{} min {:02} s", whole / 60, whole % 60),
                hours => format!("{} h {:02} min", count(hours), whole % 3600 / 60),
            }
        }
    }
}

/// A rough duration given in seconds, for estimates: `40 s`, `6 min`, `2 h`, `3 days`.
pub fn about(seconds: f64) -> String {
    match seconds {
        v if !v.is_finite() || v < 0.0 => ABSENT.to_owned(),
        v if v < 90.0 => format!("{v:.0} s"),
        v if v < 90.0 * 60.0 => format!("{:.0} min", v / 60.0),
        v if v < 48.0 * 3600.0 => format!("{:.0} h", v / 3600.0),
        v => format!("{:.0} days", v / 86_400.0),
    }
}

/// `1 client`, `2 clients`, `1,000 clients`: a count with its noun.
pub fn plural(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Foreign text, such as from a server or a file, on one line for a terminal: control characters, which a terminal
/// would interpret, are escaped (`\n`, `\t`, `\u{1b}`).
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Foreign text of several lines for a terminal; line feeds and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// JSON for a terminal: escapes the control characters that JSON itself leaves as they are. The value is unchanged.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    // All of these are below 2¹⁶, so four digits are enough.
    replaced(json, |c| c == '\n', |out, c| write!(out, "\\u{:04x}", u32::from(c)))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    replaced(text, stays, |out, c| match c {
        '\n' | '\r' | '\t' => write!(out, "{}", c.escape_default()),
        c => write!(out, "\\u{{{:x}}}", u32::from(c)),
    })
}

fn replaced(
    text: &str,
    stays: impl Fn(char) -> bool,
    escape: impl Fn(&mut String, char) -> std::fmt::Result,
) -> Cow<'_, str> {
    let obeyed = |c: char| (c.is_control() || reorders(c)) && !stays(c);
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if obeyed(c) {
            // Writing to a String cannot fail.
            let _ = escape(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Line separators and direction marks, which can make a text look like another one.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_have_separators() {
        let written = [0, 7, 999, 1_000, 12_345, 1_234_567].map(count);
        assert_eq!(written, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!([plural(1, "doubt"), plural(2, "doubt")], ["1 doubt", "2 doubts"]);
    }

    #[test]
    fn bytes_are_binary() {
        let written = [0, 1023, 1024, 8192, 1_572_864, 1_048_575, 1 << 40, u64::MAX].map(bytes);
        let want = ["0 B", "1023 B", "1 KiB", "8 KiB", "1.50 MiB", "1.00 MiB", "1 TiB", "16 EiB"];
        assert_eq!(written, want);
        assert_eq!(bytes_per_s(13_000_000.0), "12.4 MiB/s");
    }

    #[test]
    fn latencies_keep_three_digits() {
        let written = [64.0, 999.6, 91_234.0, 912_345.0, 999_600.0, 9_123_456.0, 1.2e9, 61e9].map(latency);
        let want = ["64 ns", "1.00 µs", "91.2 µs", "912 µs", "1.00 ms", "9.12 ms", "1.20 s", "61.0 s"];
        assert_eq!(written, want);
        assert_eq!([milliseconds(101_000.0), milliseconds(12_400_000.0)], ["0.101", "12.4"]);
    }

    #[test]
    fn rates_shares_and_durations() {
        assert_eq!([41_234.4, 91.26, 0.9125, 0.0].map(rate), ["41,234", "91.3", "0.912", "0.000"]);
        assert_eq!([0.0, 0.0002, 0.042, 1.0].map(percent), ["0 %", "<0.1 %", "4.2 %", "100.0 %"]);
        assert_eq!([0.0, 0.5, 0.99999, 1.0].map(part), ["0 %", "50.0 %", "99.9 %", "100 %"]);
        let written = [0.0, 0.85, 42.0, 4.61, 59.99, 171.0, 3_905.0].map(duration);
        assert_eq!(written, ["0 s", "850 ms", "42 s", "4.61 s", "1 min 00 s", "2 min 51 s", "1 h 05 min"]);
    }

    #[test]
    fn estimates_are_rounded() {
        let all = [4.2, 89.0, 91.0, 360.0, 5_300.0, 7_300.0].map(about);
        assert_eq!(all, ["4 s", "89 s", "2 min", "6 min", "88 min", "2 h"]);
        assert_eq!(about(f64::NAN), ABSENT);
    }

    #[test]
    fn non_finite_numbers_are_absent() {
        assert!([significant, latency, percent, duration, bytes_per_s].iter().all(|f| f(f64::NAN) == ABSENT));
        assert_eq!(or_absent(None::<u64>, count), ABSENT);
    }

    #[test]
    fn foreign_text_cannot_control_a_terminal() {
        assert_eq!(printable("18.4 (Debian) größer"), "18.4 (Debian) größer");
        assert!(matches!(printable("18.4"), Cow::Borrowed(_)));
        assert_eq!(printable("\u{1b}[31mred\u{7}\u{9b}2J"), "\\u{1b}[31mred\\u{7}\\u{9b}2J");
        assert_eq!(printable("a\nb\tc\r\u{7f}"), "a\\nb\\tc\\r\\u{7f}");
        assert_eq!(printable("\u{202e}txt.exe"), "\\u{202e}txt.exe");
        assert_eq!(printable_lines("a\nb\tc\r\u{1b}"), "a\nb\tc\\r\\u{1b}");
        assert_eq!(
            printable_json("{\n\"a\": \"\u{7f}\u{9b}\u{202e}\"}"),
            "{\n\"a\": \"\\u007f\\u009b\\u202e\"}"
        );
    }

    proptest! {
        #[test]
        fn printable_text_has_no_control_character(text in any::<String>()) {
            prop_assert!(!printable(&text).contains(char::is_control));
            let once = printable_lines(&text).into_owned();
            prop_assert_eq!(&*printable_lines(&once), &once);
        }

        /// A formatted number, parsed again, is within half a unit of its third digit.
        #[test]
        fn three_digits_are_kept(value in 0.001f64..1e9) {
            let read: f64 = significant(value).replace(',', "").parse().expect("a number");
            prop_assert!((read - value).abs() <= (value * 0.0051).max(0.00051), "{value} {read}");
        }
    }
}
