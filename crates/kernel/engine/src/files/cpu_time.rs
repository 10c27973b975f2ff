//! CPU time and context switches of threads.

use std::mem::MaybeUninit;

/// CPU time and context switches, as reported by `getrusage(2)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Context switches because the thread waited.
    pub voluntary_switches: u64,
    /// Context switches because another thread got the CPU.
    pub involuntary_switches: u64,
}

impl CpuTime {
    /// Of the calling thread. Work that the kernel does in its own threads is not part of it.
    pub fn of_this_thread() -> Self {
        Self::of(libc::RUSAGE_THREAD)
    }

    /// Of the whole process, with the threads that the kernel started for its io_uring.
    pub fn of_this_process() -> Self {
        Self::of(libc::RUSAGE_SELF)
    }

    fn of(whose: libc::c_int) -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel writes a whole `rusage`; one of zeros is valid as well.
        #[expect(unsafe_code, reason = "rustix has no getrusage")]
        let usage = unsafe {
            libc::getrusage(whose, usage.as_mut_ptr());
            usage.assume_init()
        };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        Self {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        }
    }

    /// What was used since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.user_ns += more.user_ns;
        self.system_ns += more.system_ns;
        self.voluntary_switches += more.voluntary_switches;
        self.involuntary_switches += more.involuntary_switches;
    }
}

#[cfg(test)]
mod tests {
    use std::{hint::black_box, thread, time::Duration};

    use super::*;
    use crate::Clock;

    #[test]
    fn work_and_waits_of_a_thread_are_its_own() {
        let before = CpuTime::of_this_thread();
        thread::scope(|scope| {
            scope.spawn(|| {
                let begun_ns = Clock::thread_cpu_ns();
                while Clock::thread_cpu_ns() < begun_ns + 50_000_000 {
                    black_box(0);
                }
                thread::sleep(Duration::from_millis(1));
                let used = CpuTime::of_this_thread();
                assert!(
                    used.user_ns + used.system_ns >= 40_000_000 && used.voluntary_switches > 0,
                    "{used:?}"
                );
            });
        });
        let mine = CpuTime::of_this_thread().since(&before);
        let whole = CpuTime::of_this_process();
        assert!(mine.user_ns + mine.system_ns < 40_000_000, "{mine:?}");
        assert!(whole.user_ns + whole.system_ns >= 40_000_000, "{whole:?}");
    }
}
