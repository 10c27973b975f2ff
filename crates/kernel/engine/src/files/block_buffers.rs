//! Memory that operations read into and write from.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ptr::NonNull,
};

/// Alignment of every buffer: what `O_DIRECT` needs on any device in use, and the size of a page.
const ALIGNMENT_BYTES: usize = 4_096;
/// The smallest piece that a device may recognise when it is written again.
const SECTOR_BYTES: usize = 512;
/// Bytes of other contents that are written before those of a buffer come again, little changed: more than a compressor
/// sees at one time (the window of LZ4 has 64 KiB, a record of ZFS and a compressed extent of btrfs 128 KiB). 1 MiB and
/// more is no longer in the caches when the device reads it: sequential writes at a depth of 32 were a tenth slower.
const APART_BYTES: usize = 256 << 10;

/// Threads that have so much to spare each, however much the others lag behind; more of them share what these have.
const THREADS_APART: usize = 64;

/// How many buffers each of some threads needs, which together keep so many operations in flight.
pub(super) fn buffers_of_each(threads: usize, in_flight: usize, block_bytes: usize, writes: bool) -> usize {
    let apart = if writes { APART_BYTES / stride_bytes(block_bytes) } else { 1 };
    in_flight.div_ceil(threads.max(1)).max(apart / threads.div_ceil(THREADS_APART).max(1))
}

fn stride_bytes(block_bytes: usize) -> usize {
    block_bytes.max(1).next_multiple_of(ALIGNMENT_BYTES)
}

/// Equal buffers in one piece of memory, at least one for each operation in flight.
#[derive(Debug)]
pub(super) struct BlockBuffers {
    start: NonNull<u8>,
    layout: Layout,
    stride_bytes: usize,
    /// State of the generator of words that make a sector another one.
    words: u64,
}

impl BlockBuffers {
    /// Allocates `count` buffers of at least `block_bytes` each, with random bytes that follow from the seed.
    pub(super) fn new(count: usize, block_bytes: usize, seed: u64) -> Self {
        let stride_bytes = stride_bytes(block_bytes);
        let layout = Layout::from_size_align(stride_bytes * count.max(1), ALIGNMENT_BYTES)
            .expect("the caller limits the memory of a run");
        let mut buffers = Self { start: zeroed(layout), layout, stride_bytes, words: !seed };
        (0..count.max(1)).for_each(|slot| sow(buffers.slot(slot), seed.wrapping_add(slot as u64)));
        buffers
    }

    pub(super) fn count(&self) -> usize {
        self.layout.size() / self.stride_bytes
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

    /// A buffer. No operation of the kernel may be in progress on it.
    #[inline]
    #[expect(unsafe_code, reason = "memory shared with the kernel is allocated by hand")]
    pub(super) fn slot(&mut self, slot: usize) -> &mut [u8] {
        assert!((slot + 1) * self.stride_bytes <= self.layout.size(), "there is no buffer {slot}");
        // SAFETY: the range lies within the allocation, was initialised when it was made, and is borrowed from `self`.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.stride_bytes) }
    }

    /// Makes every sector of the first `len` bytes of a buffer another one by its first word. Changing all words would
    /// take a microsecond for 8 KiB, most of it to get memory back that the device has just read.
    #[inline]
    pub(super) fn refresh(&mut self, slot: usize, len: usize) {
        let mut state = self.words;
        let bytes = self.slot(slot);
        let len = len.min(bytes.len());
        for sector in bytes[..len].chunks_mut(SECTOR_BYTES) {
            if let Some(word) = sector.first_chunk_mut::<8>() {
                state = state.wrapping_add(GOLDEN);
                *word = scramble(state).to_ne_bytes();
            }
        }
        self.words = state;
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

    /// No sector occurs twice in 64 blocks that were written one after the other, from two buffers.
    #[test]
    fn what_is_written_never_repeats() {
        let mut buffers = BlockBuffers::new(2, 8_192, 7);
        let mut sectors = HashSet::new();
        for round in 0..64 {
            let slot = round % 2;
            buffers.refresh(slot, 8_192);
            sectors.extend(buffers.slot(slot).chunks(512).map(<[u8]>::to_vec));
        }
        assert_eq!(sectors.len(), 64 * 16);
    }

    #[test]
    fn only_what_is_written_changes() {
        let mut buffers = BlockBuffers::new(1, 4_096, 7);
        let before = buffers.slot(0).to_vec();
        buffers.refresh(0, 1_024);
        let changed: Vec<usize> = (0..8)
            .filter(|sector| before[sector * 512..][..512] != buffers.slot(0)[sector * 512..][..512])
            .collect();
        assert_eq!(changed, [0, 1]);
    }

    #[test]
    fn threads_that_write_have_buffers_to_spare() {
        let each = |threads, in_flight, block| buffers_of_each(threads, in_flight, block, true);
        assert_eq!((each(1, 1, 8_192), each(1, 32, 8_192), each(1, 64, 8_192)), (32, 32, 64));
        assert_eq!((each(4, 4, 8_192), each(64, 64, 8_192), each(1, 2, 1 << 20)), (32, 32, 2));
        assert_eq!((each(65, 65, 8_192), each(2_048, 2_048, 8_192), each(2_048, 2_048, 1 << 20)), (16, 1, 1));
        assert_eq!((each(3, 3, 512), each(3, 3, 5_000)), (64, 32));
        assert_eq!((buffers_of_each(1, 8, 8_192, false), buffers_of_each(8, 8, 8_192, false)), (8, 1));
    }

    /// Shannon entropy of the bytes, after many writes too: 8 bits each, as random ones have.
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
