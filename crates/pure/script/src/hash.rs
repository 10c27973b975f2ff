//! Hash functions and permutation of pgbench's language, with PostgreSQL's algorithms (see NOTICE).

use pgdyno_core::random::{Draw, Random};

/// FNV-1a (Fowler, Noll, Vo) over the eight bytes of a value, least significant first; the seed is xored into
/// its offset basis.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let start = BASIS ^ seed.cast_unsigned();
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    value.to_le_bytes().into_iter().fold(start, mix).cast_signed()
}

/// MurmurHash2 in its 64-bit form (Appleby) of a single eight-byte value.
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    let stir = |bits: u64| bits ^ (bits >> 47);
    let word = stir(value.cast_unsigned().wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    let hash = (seed.cast_unsigned() ^ FACTOR.wrapping_mul(8) ^ word).wrapping_mul(FACTOR);
    stir(stir(hash).wrapping_mul(FACTOR)).cast_signed()
}

/// Maps a value, taken modulo `size`, by a pseudorandom permutation of `0..size` that the seed chooses.
///
/// Six rounds of three bijective steps: in the largest power of two that fits, values are multiplied by an odd
/// number, xored and rotated by a bit, first at the lower end of the range, then at the upper end; then all are
/// shifted cyclically.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let size = size.cast_unsigned();
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    let mut random = Random::seeded(seed.cast_unsigned());
    let mut at = value.cast_unsigned() % size;
    for _ in 0..6 {
        at = scramble(at, mask, bits, &mut random);
        at = size - 1 - scramble(size - 1 - at, mask, bits, &mut random);
        let shift = random.between(0, (size - 1).cast_signed()).cast_unsigned();
        at = (at + shift) % size;
    }
    at.cast_signed()
}

/// Always draws two numbers; moves the value only if it is within the mask.
fn scramble(value: u64, mask: u64, bits: u32, random: &mut Random) -> u64 {
    let factor = (random.next_bits() & mask) | 1;
    let flips = random.next_bits() & mask;
    if value > mask {
        return value;
    }
    let moved = (value.wrapping_mul(factor) ^ flips) & mask;
    ((moved << 1) & mask) | (moved >> (bits - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values from PostgreSQL's manual and its pgbench tests.
    #[test]
    fn hashes_and_permutations_are_those_of_postgresql() {
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
        let size = i64::MAX - 10;
        let expected = [
            520_382_784_483_822_430,
            1_143_715_004_660_802_862,
            447_293_596_416_496_998,
            916_527_772_266_572_956,
            2_763_809_008_686_028_849,
            8_648_551_549_198_294_572,
            4_542_876_852_200_565_125,
        ];
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(|back| permute(size - back, size, 5432)), expected);
        assert_eq!([0, 1].map(|value| permute(value, 2, 5431)), [0, 1]);
        assert_eq!([0, 1].map(|value| permute(value, 2, 5433)), [1, 0]);
    }

    proptest! {
        #[test]
        fn a_permutation_meets_every_number_once(size in 1i64..300, seed: i64) {
            let mut images: Vec<_> = (0..size).map(|value| permute(value, size, seed)).collect();
            images.sort_unstable();
            prop_assert_eq!(images, (0..size).collect::<Vec<_>>());
        }

        #[test]
        fn values_count_modulo_the_size(value in 0i64..1_000_000, size in 1i64..1_000_000, seed: i64) {
            prop_assert_eq!(permute(value + size, size, seed), permute(value, size, seed));
        }
    }
}
