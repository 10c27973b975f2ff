//! Memory that operations read into and write from.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ptr::NonNull,
};

/// Alignment of every buffer: what `O_DIRECT` needs on any device in use, and the size of a page.
const ALIGNMENT_BYTES: usize = 4_096;

/// Equal buffers in one piece of memory, one for each operation in flight.
#[derive(Debug)]
pub(super) struct BlockBuffers {
    start: NonNull<u8>,
    layout: Layout,
    stride_bytes: usize,
    /// State of the generator of masks.
    masks: u64,
}

impl BlockBuffers {
    /// Allocates `count` buffers of at least `block_bytes` each, with random bytes that follow from the seed.
    pub(super) fn new(count: usize, block_bytes: usize, seed: u64) -> Self {
        let stride_bytes = block_bytes.max(1).next_multiple_of(ALIGNMENT_BYTES);
        let layout = Layout::from_size_align(stride_bytes * count.max(1), ALIGNMENT_BYTES)
            .expect("the caller limits the memory of a run");
        let mut buffers = Self { start: zeroed(layout), layout, stride_bytes, masks: !seed };
        (0..count.max(1)).for_each(|slot| sow(buffers.slot(slot), seed.wrapping_add(slot as u64)));
        buffers
    }

    /// Address and size of all buffers together.
    pub(super) fn whole(&self) -> (*mut u8, usize) {
        (self.start.as_ptr(), self.layout.size())
    }

    /// Address of a buffer.
    #[inline]
    pub(super) fn address(&self, slot: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(slot * self.stride_bytes)
    }

    /// A buffer. The kernel must have none of its operations under way.
    #[inline]
    #[expect(unsafe_code, reason = "memory shared with the kernel is allocated by hand")]
    pub(super) fn slot(&mut self, slot: usize) -> &mut [u8] {
        assert!((slot + 1) * self.stride_bytes <= self.layout.size(), "there is no buffer {slot}");
        // SAFETY: the range lies within the allocation, was initialised when it was made, and is borrowed from `self`.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.stride_bytes) }
    }

    /// Gives the first `len` bytes of a buffer other random contents.
    #[inline]
    pub(super) fn refresh(&mut self, slot: usize, len: usize) {
        self.masks = self.masks.wrapping_add(GOLDEN);
        let with = scramble(self.masks);
        let bytes = self.slot(slot);
        let len = len.min(bytes.len());
        mask(&mut bytes[..len], with);
    }
}

impl Drop for BlockBuffers {
    #[expect(unsafe_code, reason = "memory shared with the kernel is allocated by hand")]
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

fn zeroed(layout: Layout) -> NonNull<u8> {
    // SAFETY: the size is at least one page.
    #[expect(unsafe_code, reason = "memory shared with the kernel is allocated by hand")]
    let start = unsafe { alloc_zeroed(layout) };
    NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Fills words by splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
fn sow(bytes: &mut [u8], seed: u64) {
    let mut state = scramble(seed);
    for word in bytes.as_chunks_mut::<8>().0 {
        state = state.wrapping_add(GOLDEN);
        *word = scramble(state).to_ne_bytes();
    }
}

/// Increment of splitmix64: 2^64 over the golden ratio, made odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn scramble(state: u64) -> u64 {
    let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Combines every word with a mask. All bytes change, whatever a compressor remembers of earlier contents does not help
/// it, and the compiler makes it vector instructions.
#[inline]
fn mask(bytes: &mut [u8], with: u64) {
    for word in bytes.as_chunks_mut::<8>().0 {
        *word = (u64::from_ne_bytes(*word) ^ with).to_ne_bytes();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut buffers = BlockBuffers::new(3, 512, 1);
        for slot in 0..3 {
            assert_eq!(buffers.address(slot).addr() % ALIGNMENT_BYTES, 0);
            assert_eq!(buffers.slot(slot).as_ptr(), buffers.address(slot).cast_const());
        }
        assert_eq!(buffers.address(1).addr() - buffers.address(0).addr(), 4_096);
        assert_eq!(buffers.whole(), (buffers.address(0), 3 * 4_096));
    }

    #[test]
    #[should_panic(expected = "there is no buffer 2")]
    fn a_buffer_that_is_not_there_is_refused() {
        BlockBuffers::new(2, 8_192, 1).slot(2);
    }

    /// No word of eight bytes occurs twice in 64 blocks that were written one after the other, from two buffers.
    #[test]
    fn what_is_written_never_repeats() {
        let mut buffers = BlockBuffers::new(2, 8_192, 7);
        let mut words = HashSet::new();
        for round in 0..64 {
            let slot = round % 2;
            words.extend(buffers.slot(slot).chunks_exact(8).map(<[u8]>::to_vec));
            buffers.refresh(slot, 8_192);
        }
        assert_eq!(words.len(), 64 * 1_024);
    }

    /// Shannon entropy of the bytes, after many steps too: 8 bits each, as random ones have.
    #[test]
    fn what_is_written_cannot_be_compressed() {
        let mut buffers = BlockBuffers::new(1, 1 << 18, 3);
        for _ in 0..5 {
            let mut counts = [0_u32; 256];
            buffers.slot(0).iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            let share = |count: u32| f64::from(count) / f64::from(1 << 18);
            let entropy: f64 = counts.iter().map(|&n| -share(n) * share(n).log2()).sum();
            assert!(entropy > 7.998, "{entropy}");
            (0..20).for_each(|_| buffers.refresh(0, 1 << 18));
        }
    }
}
