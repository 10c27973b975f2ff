//! Parses numbers as C does, since scripts may rely on what pgbench accepts.

use std::ops::RangeInclusive;

use pgdyno_core::span::Span;

use super::say::{ExitResult, Say};

/// `strtol`: the number at the start of a text, if there are digits, clamped to `i64`; and the rest of the text.
fn strtol(text: &str) -> (Option<i64>, &str) {
    let start = text.trim_start_matches(is_space);
    let (negative, digits) = match start.strip_prefix(['-', '+']) {
        Some(digits) => (start.starts_with('-'), digits),
        None => (false, start),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return (None, text);
    }
    let magnitude = digits[..end].parse::<i128>().unwrap_or(i128::MAX).min(1 << 64);
    let value = if negative { -magnitude } else { magnitude };
    let value = value.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    (Some(value as i64), &digits[end..])
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// The value of an option that takes a whole number (`option_parse_int`).
///
/// # Errors
/// The value is no number or out of range; already printed.
pub fn option_int(say: &Say, text: &str, name: &str, range: RangeInclusive<i32>) -> ExitResult<i32> {
    let (value, rest) = strtol(text);
    if !rest.trim_start_matches(is_space).is_empty() {
        return say.fatal(format!("invalid value \"{text}\" for option {name}"));
    }
    match i32::try_from(value.unwrap_or(0)) {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => say.fatal(format!("{name} must be in range {}..{}", range.start(), range.end())),
    }
}

/// `atoi`: the number at the start of the text, else 0.
pub fn atoi(text: &str) -> i32 {
    strtol(text).0.unwrap_or(0) as i32
}

/// `strtol` of a text that is only a number, such as a weight.
pub fn whole(text: &str) -> Option<i64> {
    let (value, rest) = strtol(text);
    value.filter(|_| rest.is_empty())
}

/// `atof`: the number at the start of the text, else 0; NaN if it is not finite.
pub fn atof(text: &str) -> f64 {
    let text = text.trim_start_matches(is_space);
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).to_ascii_lowercase();
    if unsigned.starts_with("inf") || unsigned.starts_with("nan") {
        return f64::NAN;
    }
    let value = (1..=text.len())
        .rev()
        .filter(|&end| text.is_char_boundary(end) && text.as_bytes()[end - 1].is_ascii_graphic())
        .find_map(|end| text[..end].parse::<f64>().ok())
        .unwrap_or(0.0);
    if value.is_finite() { value } else { f64::NAN }
}

/// An unsigned number as `sscanf("%lu%c")` parses it: nothing may follow, and a negative one wraps around.
pub fn seed(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(is_space);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse::<u64>().unwrap_or(u64::MAX);
    Some(if text.starts_with('-') && value != u64::MAX { value.wrapping_neg() } else { value })
}

/// Parses a length of time, for options that pgbench lacks.
pub fn span(say: &Say, text: &str, name: &str) -> ExitResult<Span> {
    text.parse().or_else(|error| say.fatal(format!("invalid value for option {name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::{super::say::tests::capturing, *};

    #[test]
    fn whole_numbers_are_read_as_strtoint_reads_them() {
        let (say, output) = capturing();
        for (text, value) in [("7", Ok(7)), (" 7 ", Ok(7)), ("+7", Ok(7)), ("10", Ok(10))] {
            assert_eq!(option_int(&say, text, "-x/--xxx", 1..=10), value, "{text:?}");
        }
        for (text, message) in [
            ("0", "-x/--xxx must be in range 1..10"),
            ("", "-x/--xxx must be in range 1..10"),
            ("-3", "-x/--xxx must be in range 1..10"),
            ("99999999999999999999999999999999999999999999", "-x/--xxx must be in range 1..10"),
            ("three", "invalid value \"three\" for option -x/--xxx"),
            ("1e3", "invalid value \"1e3\" for option -x/--xxx"),
            ("7 8", "invalid value \"7 8\" for option -x/--xxx"),
        ] {
            output.lock().expect("nobody panics").clear();
            assert_eq!(option_int(&say, text, "-x/--xxx", 1..=10), Err(1), "{text:?}");
            assert_eq!(*output.lock().expect("nobody panics"), format!("pgbench: error: {message}\n"));
        }
    }

    #[test]
    fn other_numbers_are_read_as_c_reads_them() {
        for (text, value) in
            [("1.5", 1.5), ("1.5x", 1.5), ("-2", -2.0), (" 3e2", 300.0), (".5", 0.5), ("x", 0.0)]
        {
            assert_eq!(atof(text), value, "{text}");
        }
        for text in ["nan", "inf", "-Infinity", "1e999"] {
            assert!(atof(text).is_nan(), "{text}");
        }
        assert_eq!((atoi("12x"), atoi("x"), atoi("-10")), (12, 0, -10));
        assert_eq!((whole("12"), whole("12x"), whole(""), whole("-1")), (Some(12), None, None, Some(-1)));
        for (text, value) in [
            ("5432", Some(5432)),
            ("-1", Some(u64::MAX)),
            ("18446744073709551615", Some(u64::MAX)),
            ("one", None),
            ("5 ", None),
            ("", None),
        ] {
            assert_eq!(seed(text), value, "{text}");
        }
    }
}
