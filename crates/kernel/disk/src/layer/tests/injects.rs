//! Delays, dropped syncs, failures.

use std::{
    fs::File,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::random::Random;
use rustix::{fs::OFlags, io::Errno};

use super::{BOTH, Block, Layered, can_mount, layered, layered_with, open};
use crate::layer::{Behaviour, Delay, Injection, OperationCounts, Share, operations::DirectIo};

const MS: Duration = Duration::from_millis(1);

fn delayed(delay: Delay) -> Injection {
    Injection { delay, fails_after: None }
}

fn fixed(delay: Duration) -> Injection {
    delayed(Delay::Fixed(delay))
}

fn fails_after(operations: u64) -> Injection {
    Injection { fails_after: Some(operations), ..Injection::default() }
}

/// Asserts that an operation takes at least this long.
fn takes(least: Duration, what: &str, operation: impl FnOnce() -> std::io::Result<()>) {
    let begin = Instant::now();
    operation().unwrap_or_else(|error| panic!("{what}: {error}"));
    let took = begin.elapsed();
    assert!(took >= least, "{what} took {took:?}");
}

#[test]
fn each_kind_of_operation_is_delayed() {
    if !can_mount() {
        return;
    }
    BOTH.into_iter().for_each(delays);
}

fn delays(direct_io: DirectIo) {
    let (reads, writes, syncs) = (20 * MS, 40 * MS, 80 * MS);
    let [read, write, sync] = [reads, writes, syncs].map(fixed);
    let behaviour = Behaviour { reads: read, writes: write, syncs: sync, ..Behaviour::default() };
    let layered = layered_with(behaviour, direct_io);
    let mut block = Block::of(1);
    let cached = open(&layered.path("file"), OFlags::empty());
    takes(writes + syncs, "a written block and fdatasync", || {
        block.write(&cached, 0).and_then(|()| cached.sync_data())
    });
    takes(syncs, "fsync", || cached.sync_all());
    drop(cached);
    let synchronous = open(&layered.path("file"), OFlags::DSYNC);
    takes(writes + syncs, "a block with O_DSYNC", || block.write(&synchronous, 1));
    drop(synchronous);
    let direct = open(&layered.path("file"), OFlags::DIRECT);
    takes(writes, "a direct write", || block.write(&direct, 2));
    takes(reads, "a direct read", || block.read(&direct, 2));
    let both = open(&layered.path("file"), OFlags::DIRECT | OFlags::DSYNC);
    takes(writes + syncs, "a direct block with O_DSYNC", || block.write(&both, 3));
    let directory = File::open(layered.mount.at()).expect("it is there");
    takes(syncs, "a sync of a directory", || directory.sync_all());
}

/// What is in the page cache is not read again, as over a disk.
#[test]
fn a_read_that_misses_the_cache_is_delayed() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour { reads: fixed(20 * MS), ..Behaviour::default() });
    std::fs::write(layered.source.join("file"), [7; super::BLOCK]).expect("it is new");
    let (file, mut block) = (open(&layered.path("file"), OFlags::empty()), Block::of(0));
    takes(20 * MS, "the first read", || block.read(&file, 0));
    let reads = layered.mount.counts().reads;
    block.read(&file, 0).expect("it is in the cache");
    assert_eq!((layered.mount.counts().reads, block.bytes()[0]), (reads, 7));
}

#[test]
fn a_factor_multiplies_the_operations_own_time() {
    if !can_mount() {
        return;
    }
    let slow = layered(Behaviour { reads: fixed(10 * MS), ..Behaviour::default() });
    let slower = slow.covered_by(
        Behaviour { reads: delayed(Delay::Times(4.0)), ..Behaviour::default() },
        DirectIo::OfLayer,
    );
    let (file, mut block) = (open(&slower.path("file"), OFlags::DIRECT), Block::of(1));
    block.write(&file, 0).expect("it has space");
    takes(40 * MS, "a read of 10 ms times 4", || block.read(&file, 0));
}

/// The delays are those of the seed, in the order of the operations.
#[test]
fn delays_are_drawn_for_each_operation() {
    if !can_mount() {
        return;
    }
    let share = |share, delay| Share { share, delay };
    let drawn = Delay::Drawn(vec![share(0.8, MS), share(0.2, 10 * MS)]);
    let layered = layered(Behaviour { reads: delayed(drawn.clone()), seed: 5, ..Behaviour::default() });
    let (file, mut block) = (open(&layered.path("file"), OFlags::DIRECT), Block::of(1));
    block.write(&file, 0).expect("it has space");
    let mut random = Random::seeded(5);
    for number in 0..40 {
        let delay = drawn.of(Duration::ZERO, &mut random);
        takes(delay, &format!("read {number}"), || block.read(&file, 0));
    }
}

/// When the first of 32 reads is answered, which is twice as many as the layer has threads, all have reached it.
#[test]
fn a_delayed_operation_holds_up_no_other() {
    if !can_mount() {
        return;
    }
    const READERS: u64 = 32;
    let layered = layered(Behaviour { reads: fixed(2_000 * MS), ..Behaviour::default() });
    let file = Arc::new(open(&layered.path("file"), OFlags::DIRECT));
    Block::of(1).write(&file, 0).expect("it has space");
    let (sender, answered) = mpsc::channel();
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (file, sender) = (Arc::clone(&file), sender.clone());
            thread::spawn(move || sender.send(Block::of(0).read(&file, 0).is_ok()))
        })
        .collect();
    assert_eq!(answered.recv(), Ok(true));
    assert_eq!(layered.mount.counts().reads, READERS);
    assert!(readers.into_iter().all(|reader| reader.join().is_ok()));
}

/// Syncs in every way that PostgreSQL has; returns how many of them reached the layer below.
fn syncs_below(drops_syncs: bool, direct_io: DirectIo) -> (u64, OperationCounts) {
    let below = layered(Behaviour::default());
    let above = below.covered_by(Behaviour { drops_syncs, ..Behaviour::default() }, direct_io);
    let block = Block::of(3);
    let cached = open(&above.path("file"), OFlags::empty());
    block.write(&cached, 0).expect("it has space");
    cached.sync_all().expect("fsync");
    block.write(&cached, 0).expect("it has space");
    cached.sync_data().expect("fdatasync");
    drop(cached);
    for flags in [OFlags::DSYNC, OFlags::SYNC, OFlags::DIRECT | OFlags::DSYNC, OFlags::DIRECT | OFlags::SYNC]
    {
        block.write(&open(&above.path("file"), flags), 0).expect("it has space");
    }
    File::open(above.mount.at()).and_then(|directory| directory.sync_all()).expect("a sync of a directory");
    (below.mount.counts().syncs, above.mount.counts())
}

#[test]
fn syncs_are_passed_on_or_dropped() {
    if !can_mount() {
        return;
    }
    for direct_io in BOTH {
        let (below, above) = syncs_below(false, direct_io);
        assert_eq!((below, above.syncs), (7, 7), "{direct_io:?}");
        let (below, above) = syncs_below(true, direct_io);
        assert_eq!((below, above.syncs), (0, 7), "{direct_io:?}");
    }
}

/// A sync that is dropped is answered at once, whatever the delay.
#[test]
fn data_of_a_dropped_sync_is_written_all_the_same() {
    if !can_mount() {
        return;
    }
    let syncs = fixed(Duration::from_secs(60));
    let layered = layered(Behaviour { drops_syncs: true, syncs, ..Behaviour::default() });
    let file = open(&layered.path("file"), OFlags::empty());
    Block::of(9).write(&file, 0).expect("it has space");
    file.sync_all().expect("it is dropped");
    assert_eq!(std::fs::read(layered.source.join("file")).expect("it is there"), [9; super::BLOCK]);
}

fn is_input_output_error(result: std::io::Result<()>) -> bool {
    result.is_err_and(|error| error.raw_os_error() == Some(Errno::IO.raw_os_error()))
}

fn direct(layered: &Layered) -> File {
    open(&layered.path("file"), OFlags::DIRECT)
}

#[test]
fn writes_fail_after_their_number() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour { writes: fails_after(3), ..Behaviour::default() });
    let (file, mut block) = (direct(&layered), Block::of(1));
    let written = (0..5).map(|number| block.write(&file, number)).map(is_input_output_error);
    assert_eq!(written.collect::<Vec<_>>(), [false, false, false, true, true]);
    assert_eq!(layered.source.join("file").metadata().expect("it is there").len(), 3 * super::BLOCK as u64);
    block.read(&file, 2).expect("reads do not fail");
}

#[test]
fn reads_fail_after_their_number() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour { reads: fails_after(1), ..Behaviour::default() });
    let (file, mut block) = (direct(&layered), Block::of(1));
    block.write(&file, 0).expect("writes do not fail");
    let read = (0..3).map(|_| block.read(&file, 0)).map(is_input_output_error);
    assert_eq!(read.collect::<Vec<_>>(), [false, true, true]);
}

/// A write into the page cache succeeds; the sync that should have written it back does not.
#[test]
fn a_write_back_that_fails_shows_in_the_sync() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour { writes: fails_after(0), ..Behaviour::default() });
    let file = open(&layered.path("file"), OFlags::empty());
    Block::of(1).write(&file, 0).expect("it goes to the cache");
    assert!(is_input_output_error(file.sync_data()));
}

#[test]
fn syncs_fail_after_their_number() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour { syncs: fails_after(1), ..Behaviour::default() });
    let file = open(&layered.path("file"), OFlags::empty());
    file.sync_all().expect("the first one");
    assert!(is_input_output_error(file.sync_all()));
}

/// Median and 99th percentile of direct reads in microseconds.
fn read_latency_us(behaviour: Behaviour) -> [f64; 2] {
    let layered = layered(behaviour);
    let (file, mut block) = (direct(&layered), Block::of(1));
    block.write(&file, 0).expect("it has space");
    let mut latency_us: Vec<f64> = (0..3_000)
        .map(|_| {
            let begin = Instant::now();
            block.read(&file, 0).expect("it was written");
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    latency_us.sort_by(f64::total_cmp);
    [latency_us[1_500], latency_us[2_970]]
}

/// How much longer a read takes than the delay and the read itself.
#[test]
#[ignore = "measures"]
fn exactness() {
    if !can_mount() {
        return;
    }
    for delay_us in [0, 50, 200, 1_000] {
        let reads = fixed(Duration::from_micros(delay_us));
        let [own, own_99] = read_latency_us(Behaviour::default());
        let [delayed, delayed_99] = read_latency_us(Behaviour { reads, ..Behaviour::default() });
        let late = delayed - own - delay_us as f64;
        println!(
            "{delay_us:4} us: {delayed:.1} us (99 %: {delayed_99:.1}), without {own:.1} (99 %: {own_99:.1}), \
             late by {late:.1}"
        );
    }
}
