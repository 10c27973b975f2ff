//! Buffers shared by all receives of a ring (`io_uring_register_buf_ring(3)`).
#![allow(unsafe_code)] // the kernel and this process share memory: there is no safe way to say so

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    io,
    ptr::NonNull,
    sync::atomic::{AtomicU16, Ordering},
};

use io_uring::{Submitter, types::BufRingEntry};

/// Number of the buffer group.
pub(super) const GROUP: u16 = 0;
/// Fewest and most buffers of a ring, powers of two. The kernel cycles through all of them, so they stay in the CPU
/// caches only if there are not many more than simultaneous answers.
const FEWEST: u16 = 8;
const MOST: u16 = 256;
/// Size of a buffer. A longer message arrives in several.
const BUFFER_BYTES: usize = 8 * 1024;
/// Distance between the starts of two buffers: with a power of two all buffers would begin in the same cache set, which
/// holds a dozen lines.
const STRIDE_BYTES: usize = BUFFER_BYTES + 64;
const PAGE_BYTES: usize = 4_096;

/// Ring of buffers that the kernel fills in the order in which they were given to it.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Entries of the ring; its tail lies in the first of them.
    ring: NonNull<BufRingEntry>,
    bytes: NonNull<u8>,
    count: u16,
    tail: u16,
}

impl Buffers {
    /// Allocates the buffers, two for each socket within the limits, and hands all of them to the kernel.
    pub(super) fn register(submitter: &Submitter<'_>, sockets: usize) -> io::Result<Self> {
        let count = count(sockets);
        let ring = zeroed(ring_layout(count)).cast::<BufRingEntry>();
        let mut buffers = Self { ring, bytes: zeroed(bytes_layout(count)), count, tail: 0 };
        // SAFETY: the ring is aligned to a page, has `count` entries, and is freed after the kernel's ring is closed or
        // has cancelled all requests (`UringSockets::drop`).
        unsafe {
            submitter.register_buf_ring_with_flags(ring.as_ptr() as u64, count, GROUP, 0)?;
        }
        (0..count).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    /// The first `len` bytes of the buffer that a completion named.
    #[inline]
    pub(super) fn bytes(&self, buffer: u16, len: usize) -> &[u8] {
        let len = len.min(BUFFER_BYTES);
        // SAFETY: a buffer between its completion and `give_back` is not the kernel's; it was zeroed when it was
        // made, and `buffer % count` lies within the allocation.
        unsafe { std::slice::from_raw_parts(self.start(buffer).as_ptr(), len) }
    }

    /// Lets the kernel fill a buffer again.
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u16) {
        let at = usize::from(self.tail % self.count);
        // SAFETY: the entry lies within the ring; the kernel reads it only after the tail has passed it, and the tail
        // is never more than `count` ahead of the kernel's head because every buffer is given back once.
        unsafe {
            let entry = self.ring.add(at).as_mut();
            entry.set_addr(self.start(buffer).as_ptr() as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is an aligned 16-bit field within the first entry, which lives as long as `self`.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.ring.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn start(&self, buffer: u16) -> NonNull<u8> {
        // SAFETY: within the allocation of `count` buffers.
        unsafe { self.bytes.add(usize::from(buffer % self.count) * STRIDE_BYTES) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: both were allocated with these layouts in `register`, and no request uses them any more.
        unsafe {
            dealloc(self.ring.as_ptr().cast(), ring_layout(self.count));
            dealloc(self.bytes.as_ptr(), bytes_layout(self.count));
        }
    }
}

fn count(sockets: usize) -> u16 {
    let two_each = sockets.saturating_mul(2).min(usize::from(MOST)) as u16;
    two_each.next_power_of_two().clamp(FEWEST, MOST)
}

fn ring_layout(count: u16) -> Layout {
    layout(usize::from(count) * size_of::<BufRingEntry>())
}

fn bytes_layout(count: u16) -> Layout {
    layout(usize::from(count) * STRIDE_BYTES)
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, PAGE_BYTES).expect("a small size and a power of two")
}

fn zeroed(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout here has size zero.
    let start = unsafe { alloc_zeroed(layout) };
    NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_two_buffers_for_a_socket_and_a_power_of_two() {
        assert_eq!([0, 1, 3, 5, 17, 128, 100_000].map(count), [8, 8, 8, 16, 64, 256, 256]);
    }
}
