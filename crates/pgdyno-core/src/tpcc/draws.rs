//! Random numbers of a row or an attempt, which follow from where it stands: any part can be made anywhere.

/// The golden ratio as an odd number of 64 bits: the step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const CHARACTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Draws(u64);

/// Its mixer, by Stafford (variant 13).
const fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Draws {
    /// Those of one thing among `kind`, by its number. Streams of other kinds, numbers and seeds have nothing in
    /// common.
    pub fn new(seed: u64, kind: u64, number: u64) -> Self {
        Self(mixed(mixed(mixed(seed) ^ kind.wrapping_mul(STEP)) ^ number))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A whole number from `low` to `high`, each as likely as the others but for 2^-64 times their count.
    #[inline]
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + ((u128::from(self.bits()) * u128::from(high - low + 1)) >> 64) as u64
    }

    /// Whether something happens that happens `per_cent` times in a hundred.
    #[inline]
    pub fn happens(&mut self, per_cent: u64) -> bool {
        self.within(1, 100) <= per_cent
    }

    /// Appends a random a-string of `low` to `high` characters (clause 4.3.2.2): letters and digits.
    pub fn characters(&mut self, low: u64, high: u64, out: &mut Vec<u8>) {
        self.of(CHARACTERS, low, high, out);
    }

    /// The same of letters alone.
    pub fn letters(&mut self, low: u64, high: u64, out: &mut Vec<u8>) {
        self.of(&CHARACTERS[..52], low, high, out);
    }

    /// The same of digits alone: an n-string.
    pub fn digits(&mut self, low: u64, high: u64, out: &mut Vec<u8>) {
        self.of(&CHARACTERS[52..], low, high, out);
    }

    fn of(&mut self, from: &[u8], low: u64, high: u64, out: &mut Vec<u8>) {
        let len = if low == high { low } else { self.within(low, high) };
        let mut bits = 0;
        for at in 0..len {
            // Eight characters of 62 leave 16 bits of the 64 unused, so that none is likelier by more than 2^-16.
            if at % 8 == 0 {
                bits = self.bits();
            }
            let wide = u128::from(bits) * from.len() as u128;
            out.push(from[(wide >> 64) as usize]);
            bits = wide as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 100_000;

    /// Chi-squared of counts that should be equal, and what it exceeds in one of a million cases: three times its
    /// degrees of freedom and 30 are beyond that.
    fn even(counts: &[u64]) {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let chi: f64 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
        assert!(chi < 3.0 * counts.len() as f64 + 30.0, "{chi} of {}", counts.len());
    }

    #[test]
    fn all_numbers_and_characters_are_as_likely() {
        let mut draws = Draws::new(1, 2, 3);
        let (mut numbers, mut characters, mut text) = ([0; 11], [0; 62], Vec::new());
        for _ in 0..MANY {
            numbers[(draws.within(5, 15) - 5) as usize] += 1;
        }
        draws.characters(MANY, MANY, &mut text);
        for byte in text {
            characters[CHARACTERS.iter().position(|other| *other == byte).expect("one of them")] += 1;
        }
        even(&numbers);
        even(&characters);
    }

    #[test]
    fn neighbours_have_nothing_in_common() {
        let (mut same, mut lengths) = (0, [0; 25]);
        for number in 0..MANY {
            let [mut one, mut other] = [number, number + 1].map(|number| Draws::new(7, 1, number));
            same += u64::from(one.within(0, 99) == other.within(0, 99));
            let mut text = Vec::new();
            one.characters(26, 50, &mut text);
            lengths[text.len() - 26] += 1;
        }
        assert!((800..1_200).contains(&same), "{same} of a thousand that chance gives");
        even(&lengths);
        let streams = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)];
        let first = streams.map(|(seed, kind, number)| Draws::new(seed, kind, number).bits());
        assert!((1..4).all(|at| !first[..at].contains(&first[at])), "{first:?}");
    }

    #[test]
    fn strings_are_of_what_they_are_named_for() {
        let mut draws = Draws::new(1, 1, 1);
        let mut text = |draw: fn(&mut Draws, u64, u64, &mut Vec<u8>)| {
            let mut text = Vec::new();
            draw(&mut draws, 1_000, 1_000, &mut text);
            text
        };
        assert!(text(Draws::letters).iter().all(u8::is_ascii_alphabetic));
        assert!(text(Draws::digits).iter().all(u8::is_ascii_digit));
        assert!(text(Draws::characters).iter().all(u8::is_ascii_alphanumeric));
    }
}
