//! Versions of PostgreSQL: as programs print them, and as users request them.

use std::{fmt, str::FromStr};

use pgdyno_core::facts::major_of;

/// Oldest version that pgdyno provisions and builds.
pub const OLDEST: u32 = 90_500;

/// Parses the output of `postgres --version`, for example `postgres (PostgreSQL) 15.19 (Debian 15.19-1)`, into
/// `server_version_num` and the version's own text, here 150019 and `15.19`.
pub fn parse_program_version(output: &str) -> Option<(u32, String)> {
    let text = output.trim().split_once("(PostgreSQL) ")?.1.split_whitespace().next()?;
    Some((number(text)?, text.to_owned()))
}

/// Converts a version to `server_version_num`: `9.6.24` → 90624, `18.6` → 180006, `19devel` and `19beta1` → 190000.
fn number(text: &str) -> Option<u32> {
    let release = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).map_or(text, |at| &text[..at]);
    read(release).map(Wanted::least)
}

/// Parses a version: `18` and `9.6` are majors, `18.6` and `9.6.24` are exact.
fn read(text: &str) -> Option<Wanted> {
    let parts = text.split('.').map(|part| part.parse::<u32>().ok().filter(|number| *number < 100));
    Some(match parts.collect::<Option<Vec<_>>>()?[..] {
        [first] if first >= 10 => Wanted::Major(first * 10_000),
        [first, second] if first >= 10 => Wanted::Exact(first * 10_000 + second),
        [first, second] if first > 0 => Wanted::Major(first * 10_000 + second * 100),
        [first @ 1..10, second, third] => Wanted::Exact(first * 10_000 + second * 100 + third),
        _ => return None,
    })
}

/// Formats `server_version_num` in the usual notation: 90624 → `9.6.24`, 180006 → `18.6`.
pub fn version_words(version_num: u32) -> String {
    let last = if version_num >= 100_000 { version_num % 10_000 } else { version_num % 100 };
    format!("{}.{last}", major_of(version_num))
}

/// Requested version: a major or an exact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Newest version of a major, given as the `server_version_num` of its first release.
    Major(u32),
    /// Exactly this `server_version_num`.
    Exact(u32),
}

impl Wanted {
    /// Smallest `server_version_num` that satisfies the request.
    pub fn least(self) -> u32 {
        match self {
            Self::Major(number) | Self::Exact(number) => number,
        }
    }

    /// Whether a server of this version satisfies the request.
    pub fn matches(self, version_num: u32) -> bool {
        match self {
            Self::Major(first) => major_of(first) == major_of(version_num),
            Self::Exact(exact) => exact == version_num,
        }
    }
}

/// Why a text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAVersion {
    /// The text cannot be parsed.
    #[error("`{0}` is not a version of PostgreSQL such as 18, 17.4, 9.6 or 9.6.24")]
    Unreadable(String),
    /// The version is older than 9.5.
    #[error("PostgreSQL {0} is too old: pgdyno starts servers from 9.5 on")]
    TooOld(String),
}

impl FromStr for Wanted {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let wanted = read(text).ok_or_else(|| NotAVersion::Unreadable(text.to_owned()))?;
        if wanted.least() < OLDEST { Err(NotAVersion::TooOld(text.to_owned())) } else { Ok(wanted) }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Major(first) => f.write_str(&major_of(*first)),
            Self::Exact(exact) => f.write_str(&version_words(*exact)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn programs_report_their_version() {
        for (output, number, text) in [
            ("postgres (PostgreSQL) 15.19 (Debian 15.19-0+deb12u1)\n", 150_019, "15.19"),
            ("postgres (PostgreSQL) 9.6.24\n", 90_624, "9.6.24"),
            ("postgres (PostgreSQL) 19devel\n", 190_000, "19devel"),
            ("postgres (PostgreSQL) 18beta1", 180_000, "18beta1"),
            ("postgres (PostgreSQL) 18.6", 180_006, "18.6"),
        ] {
            assert_eq!(parse_program_version(output), Some((number, text.to_owned())), "{output}");
        }
        for wrong in ["", "postgres", "MySQL 8.0", "postgres (PostgreSQL) ", "postgres (PostgreSQL) x.y"] {
            assert_eq!(parse_program_version(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn wanted_versions() {
        for (text, wanted) in [
            ("18", Wanted::Major(180_000)),
            ("9.6", Wanted::Major(90_600)),
            ("9.6.24", Wanted::Exact(90_624)),
            ("9.5", Wanted::Major(90_500)),
            ("17.4", Wanted::Exact(170_004)),
        ] {
            assert_eq!(text.parse(), Ok(wanted));
            assert_eq!(wanted.to_string(), text);
        }
        for wrong in
            ["", "9", "18.4.0", "eighteen", "18.", "-1", "9.4", "8.4.1", "9.6.24.1", "999999999999", "0"]
        {
            assert!(wrong.parse::<Wanted>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn an_exact_version_matches_itself_and_its_major(major in 10_u32..30, minor in 0_u32..99) {
            let number = major * 10_000 + minor;
            let exact: Wanted = version_words(number).parse().expect("it is a version");
            prop_assert_eq!(exact, Wanted::Exact(number));
            prop_assert!(exact.matches(number));
            prop_assert!(Wanted::Major(major * 10_000).matches(number));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<Wanted>();
            let _ = parse_program_version(&text);
        }
    }
}
