//! Formats values as text for COPY and CSV.

use md5::{Digest, Md5};

const SECOND_US: i64 = 1_000_000;

/// Appends a number in decimal digits.
pub(super) fn decimal(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Formats times as PostgreSQL reads them. Keeps the text of the last second, since most rows share it with the
/// preceding row.
#[derive(Debug, Default)]
pub(super) struct Clock {
    second: Option<i64>,
    text: String,
}

impl Clock {
    /// Appends a time since 1970 with six decimal places.
    pub fn write(&mut self, time_us: i64, out: &mut Vec<u8>) {
        let (second, rest_us) = (time_us.div_euclid(SECOND_US), time_us.rem_euclid(SECOND_US));
        if self.second != Some(second) {
            self.second = Some(second);
            let (year, month, day) = date(second.div_euclid(86_400));
            let of_day = second.rem_euclid(86_400);
            let (hour, minute, of_minute) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
            self.text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{of_minute:02}.");
        }
        out.extend_from_slice(self.text.as_bytes());
        let mut digits = [b'0'; 6];
        let mut left = rest_us;
        for digit in digits.iter_mut().rev() {
            *digit += (left % 10) as u8;
            left /= 10;
        }
        out.extend_from_slice(&digits);
    }
}

/// Year, month and day for days since 1970-01-01. Years begin in March, so that leap days come last, in
/// identical eras of 400 years.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097;
    let since_march_of_0 = days + 719_468;
    let era = since_march_of_0.div_euclid(ERA_DAYS);
    let of_era = since_march_of_0.rem_euclid(ERA_DAYS);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (ERA_DAYS - 1)) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The number that represents a text in checksums: the first 64 bits of its MD5.
pub(super) fn of_text(text: &[u8]) -> i64 {
    Md5::digest(text).first_chunk().map_or(0, |bits| i64::from_be_bytes(*bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_its_date() {
        let known =
            [(0, (1970, 1, 1)), (-1, (1969, 12, 31)), (11_016, (2000, 2, 29)), (19_782, (2024, 2, 29))];
        for (days, expected) in known {
            assert_eq!(date(days), expected);
        }
        // Day by day through four centuries.
        let days = (0..146_097).map(date).collect::<Vec<_>>();
        for pair in days.windows(2) {
            let ((year, month, day), next) = (pair[0], pair[1]);
            let after = [(year, month, day + 1), (year, month + 1, 1), (year + 1, 1, 1)];
            assert!(after.contains(&next) && day <= 31, "{pair:?}");
        }
        assert_eq!(days[146_096], (2369, 12, 31));
    }
}
