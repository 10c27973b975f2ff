//! Random numbers that depend only on the row or attempt they belong to, so that any part can be generated anywhere.

/// The increment of SplitMix64: the golden ratio as an odd 64-bit number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const CHARACTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Draws(u64);

/// The mixing function, by Stafford (variant 13).
const fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Draws {
    /// The stream of object `number` of a `kind`. Streams of different seeds, kinds and numbers are independent.
    pub fn new(seed: u64, kind: u64, number: u64) -> Self {
        Self(mixed(mixed(mixed(seed) ^ kind.wrapping_mul(STEP)) ^ number))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A whole number from `low` to `high`, uniform up to a bias of 2^-64 times their count.
    #[inline]
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + ((u128::from(self.bits()) * u128::from(high - low + 1)) >> 64) as u64
    }

    /// True with a probability of `per_cent` per cent.
    #[inline]
    pub fn happens(&mut self, per_cent: u64) -> bool {
        self.within(1, 100) <= per_cent
    }

    /// Appends a random a-string of `low` to `high` characters (clause 4.3.2.2): letters and digits.
    #[inline]
    pub fn characters(&mut self, low: u64, high: u64, out: &mut Vec<u8>) {
        self.of(CHARACTERS, low, high, out);
    }

    /// Appends a random string of `low` to `high` letters.
    #[inline]
    pub fn letters(&mut self, low: u64, high: u64, out: &mut Vec<u8>) {
        self.of(&CHARACTERS[..52], low, high, out);
    }

    /// Appends a random string of `low` to `high` digits: an n-string.
    #[inline]
    pub fn digits(&mut self, low: u64, high: u64, out: &mut Vec<u8>) {
        self.of(&CHARACTERS[52..], low, high, out);
    }

    #[inline]
    fn of(&mut self, from: &[u8], low: u64, high: u64, out: &mut Vec<u8>) {
        let len = if low == high { low } else { self.within(low, high) };
        let mut bits = 0;
        for at in 0..len {
            // Eight characters of 62 leave 16 of the 64 bits unused, so that the bias is at most 2^-16.
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

    /// Chi-squared test of uniformity, with a limit that is exceeded in one of a million cases: three times the degrees
    /// of freedom plus 30.
    fn even(counts: &[u64]) {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let chi: f64 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
        assert!(chi < 3.0 * counts.len() as f64 + 30.0, "{chi} of {}", counts.len());
    }

    #[test]
    fn all_numbers_and_characters_are_equally_likely() {
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
    fn neighbouring_streams_are_independent() {
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
    fn strings_have_the_right_characters() {
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
