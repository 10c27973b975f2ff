//! How long a thread was ready to run and had no CPU.

use std::{fs::File, os::unix::fs::FileExt};

/// The thread's run delay: the time for which it was ready and waited for a CPU
/// (Documentation/scheduler/sched-stats.rst, `/proc/PID/task/TID/schedstat`).
#[derive(Debug)]
pub(crate) struct RunDelay(Option<File>);

impl RunDelay {
    /// That of the calling thread; it may be read by others, too, until the thread ends.
    pub(crate) fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds since the thread began; `None` if the kernel does not report it.
    pub(crate) fn read_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        waited_ns(std::str::from_utf8(&text[..length]).ok()?)
    }
}

/// The second of three numbers; the first is the time on a CPU.
fn waited_ns(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::pin_current_thread;

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(waited_ns("1234 5678 9\n"), Some(5_678));
        assert_eq!((waited_ns("0"), waited_ns("")), (None, None));
    }

    /// Two busy threads on one CPU: each waits for about half of the time.
    #[test]
    fn a_thread_without_a_cpu_waits() {
        let Some(_) = RunDelay::of_this_thread().read_ns() else { return };
        let over = AtomicBool::new(false);
        let cpu = rustix::thread::sched_getcpu() as u32;
        let busy = || {
            pin_current_thread(&[cpu]).expect("this thread runs there");
            let delay = RunDelay::of_this_thread();
            let before = delay.read_ns().expect("it was readable before");
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            delay.read_ns().expect("it was readable before") - before
        };
        let begun = Instant::now();
        let waited: u64 = thread::scope(|scope| {
            let threads = [scope.spawn(busy), scope.spawn(busy)];
            thread::sleep(Duration::from_millis(200));
            over.store(true, Ordering::Relaxed);
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
        });
        let all_ns = 2 * begun.elapsed().as_nanos() as u64;
        assert!(waited > 0 && waited < all_ns, "{waited} of {all_ns}");
    }
}
