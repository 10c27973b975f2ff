//! Threads that write and sync one file at the same time: what commits of several backends share.

use std::{
    io,
    os::unix::fs::FileExt,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{
    bench::Bench,
    descriptors,
    scratch::Block,
    timing::{Timed, repeat},
};

/// Executes write and `fdatasync` on so many threads, each at its own place and with its own descriptor. The time is
/// that of the longest.
pub(super) fn run(bench: &Bench<'_>, writers: u32, write_bytes: u64) -> io::Result<Timed> {
    let (gate, failed) = (Mutex::new(()), AtomicBool::new(false));
    let threads = thread::scope(|scope| {
        let closed = gate.lock();
        let begun: io::Result<Vec<_>> = (0..u64::from(writers))
            .map(|number| {
                let (gate, failed) = (&gate, &failed);
                let work = move || {
                    descriptors::unshare();
                    drop(gate.lock());
                    write_at(bench, number * write_bytes, write_bytes, failed)
                };
                thread::Builder::new().name(format!("writer {number}")).spawn_scoped(scope, work)
            })
            .collect();
        failed.store(begun.is_err(), Ordering::Relaxed);
        drop(closed);
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<Timed>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        begun?.into_iter().map(join).collect::<io::Result<Vec<Timed>>>()
    })?;
    Ok(together(threads))
}

fn write_at(bench: &Bench<'_>, offset: u64, write_bytes: u64, failed: &AtomicBool) -> io::Result<Timed> {
    let file = bench.scratch.reopen(0);
    failed.fetch_or(file.is_err(), Ordering::Relaxed);
    let (file, mut block) = (file?, Block::random(write_bytes));
    let halted = || bench.stop.requested() || failed.load(Ordering::Relaxed);
    let timed = repeat(bench.duration, halted, || {
        file.write_all_at(block.next(), offset)?;
        file.sync_data()
    });
    failed.fetch_or(timed.error.is_some(), Ordering::Relaxed);
    Ok(timed)
}

fn together(threads: Vec<Timed>) -> Timed {
    let longest = threads.iter().map(|timed| timed.took).max().unwrap_or_default();
    let mut sum = Timed::none();
    threads.into_iter().for_each(|timed| sum.add(timed));
    Timed { took: longest, ..sum }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pgdyno_core::stop::Stop;

    use super::{super::scratch::Scratch, *};

    #[test]
    fn each_writer_has_its_own_place() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        let (stop, duration) = (Stop::default(), Duration::from_millis(20));
        let bench = Bench { scratch: &scratch, second: None, duration, stop: &stop };
        let timed = run(&bench, 5, 4_096).expect("it can be executed");
        assert!(timed.latency.count() >= 5 && timed.error.is_none());
        assert_eq!(scratch.file.metadata().expect("it is open").len(), 5 * 4_096);
    }

    #[test]
    fn a_writer_that_fails_ends_all() {
        let mut threads = vec![Timed::none(), Timed::none(), Timed::none()];
        threads[1].error = Some(io::Error::from_raw_os_error(5));
        threads[2].took = Duration::from_secs(3);
        threads[0].took = Duration::from_secs(2);
        let sum = together(threads);
        assert_eq!((sum.took, sum.error.is_some()), (Duration::from_secs(3), true));
    }

    #[test]
    fn a_stop_ends_all_before_they_begin() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        let (stop, duration) = (Stop::default(), Duration::from_secs(3_600));
        stop.request("enough");
        let bench = Bench { scratch: &scratch, second: None, duration, stop: &stop };
        assert_eq!(run(&bench, 3, 512).expect("it can begin").latency.count(), 0);
    }
}
