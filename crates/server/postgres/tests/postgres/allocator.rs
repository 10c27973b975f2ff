//! The system allocator, with what each thread has asked of it.

#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// Sums of a thread since it began.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    /// Number of allocations.
    pub times: u64,
    /// Bytes of all allocations.
    pub bytes: u64,
    /// Bytes allocated and not freed; negative if the thread frees what others allocated.
    pub held_bytes: i64,
    /// Most bytes held at any time since [`restart_peak`].
    pub peak_bytes: i64,
}

thread_local! {
    static SUMS: Cell<Sums> = const { Cell::new(Sums { times: 0, bytes: 0, held_bytes: 0, peak_bytes: 0 }) };
}

/// Sums of the calling thread.
pub fn sums() -> Sums {
    SUMS.get()
}

/// Resets the peak of the calling thread; returns the bytes held.
pub fn restart_peak() -> i64 {
    let sums = SUMS.get();
    SUMS.set(Sums { peak_bytes: sums.held_bytes, ..sums });
    sums.held_bytes
}

fn allocated(bytes: usize) {
    // A thread that ends has no counter any more.
    let _ = SUMS.try_with(|sums| {
        let Sums { times, bytes: total, held_bytes, peak_bytes } = sums.get();
        let held_bytes = held_bytes + bytes as i64;
        let peak_bytes = peak_bytes.max(held_bytes);
        sums.set(Sums { times: times + 1, bytes: total + bytes as u64, held_bytes, peak_bytes });
    });
}

fn freed(bytes: usize) {
    let _ = SUMS.try_with(|sums| {
        let now = sums.get();
        sums.set(Sums { held_bytes: now.held_bytes - bytes as i64, ..now });
    });
}

/// Counts the calls and bytes of the calling thread around the system allocator.
struct Counting;

// SAFETY: all calls are passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller observes the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // Old and new block may coexist for a moment.
        allocated(bytes);
        freed(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
