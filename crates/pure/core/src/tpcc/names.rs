//! Last names of customers (clause 4.3.2.3): three syllables, one for each digit of a number from 0 to 999.

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Appends the last name of a number from 0 to 999.
///
/// # Panics
/// If the number is larger.
pub fn last_name(number: u64, out: &mut Vec<u8>) {
    assert!(number < 1_000, "last names end at 999");
    for digit in [number / 100, number / 10 % 10, number % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_syllable_for_each_digit() {
        let name = |number| {
            let mut name = Vec::new();
            last_name(number, &mut name);
            String::from_utf8(name).expect("letters")
        };
        // The example of the clause: 371.
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!((name(0).as_str(), name(999).as_str()), ("BARBARBAR", "EINGEINGEING"));
        // All are distinct.
        let all: std::collections::BTreeSet<_> = (0..1_000).map(name).collect();
        assert_eq!(all.len(), 1_000);
    }
}
