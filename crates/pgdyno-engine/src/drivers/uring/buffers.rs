//! The buffers that all receives of a ring share (`io_uring_register_buf_ring(3)`).
#![allow(unsafe_code)] // the kernel and this process share memory: there is no safe way to say so

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    io,
    ptr::NonNull,
    sync::atomic::{AtomicU16, Ordering},
};

use io_uring::{Submitter, types::BufRingEntry};

/// Number of the group of buffers.
pub(super) const GROUP: u16 = 0;
/// Buffers of a ring: a power of two.
const COUNT: u16 = 256;
/// Size of a buffer. What is longer comes in several.
const BUFFER_BYTES: usize = 8 * 1024;
const PAGE_BYTES: usize = 4_096;

/// A ring of buffers that the kernel fills in the order in which they were given to it.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Entries of the ring; its tail lies in the first of them.
    ring: NonNull<BufRingEntry>,
    bytes: NonNull<u8>,
    tail: u16,
}

impl Buffers {
    /// Makes the buffers and hands all of them to the kernel.
    pub(super) fn register(submitter: &Submitter<'_>) -> io::Result<Self> {
        let ring = zeroed(ring_layout()).cast::<BufRingEntry>();
        let mut buffers = Self { ring, bytes: zeroed(bytes_layout()), tail: 0 };
        // SAFETY: the ring is aligned to a page, has COUNT entries, and is freed after the kernel's ring is closed or
        // has cancelled all requests (`UringSockets::drop`).
        unsafe {
            submitter.register_buf_ring_with_flags(ring.as_ptr() as u64, COUNT, GROUP, 0)?;
        }
        (0..COUNT).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    /// The first `len` bytes of a buffer that a completion named.
    #[inline]
    pub(super) fn bytes(&self, buffer: u16, len: usize) -> &[u8] {
        let len = len.min(BUFFER_BYTES);
        // SAFETY: a buffer between its completion and `give_back` is not the kernel's; it was zeroed when it was
        // made, and `buffer % COUNT` lies within the allocation.
        unsafe { std::slice::from_raw_parts(self.start(buffer).as_ptr(), len) }
    }

    /// Lets the kernel fill a buffer again.
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u16) {
        let at = usize::from(self.tail % COUNT);
        // SAFETY: the entry lies within the ring; the kernel reads it only after the tail has passed it, and the tail
        // is never more than COUNT ahead of the kernel's head because every buffer is given back once.
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
        // SAFETY: within the allocation of COUNT buffers.
        unsafe { self.bytes.add(usize::from(buffer % COUNT) * BUFFER_BYTES) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: both were allocated with these layouts in `register`, and no request uses them any more.
        unsafe {
            dealloc(self.ring.as_ptr().cast(), ring_layout());
            dealloc(self.bytes.as_ptr(), bytes_layout());
        }
    }
}

fn ring_layout() -> Layout {
    layout(usize::from(COUNT) * size_of::<BufRingEntry>())
}

fn bytes_layout() -> Layout {
    layout(usize::from(COUNT) * BUFFER_BYTES)
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, PAGE_BYTES).expect("a small size and a power of two")
}

fn zeroed(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout here has size zero.
    let start = unsafe { alloc_zeroed(layout) };
    NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout))
}
