//! Both drivers against real files.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io::ErrorKind,
    os::unix::fs::FileExt,
    sync::Arc,
};

use pgdyno_core::stop::Stop;

use super::*;
use crate::Clock;

const BLOCK: u32 = 8_192;

fn both() -> Vec<FileDriver> {
    FileDriver::usable().collect()
}

fn finite(driver: FileDriver) -> FileRun {
    FileRun { driver, block_bytes: BLOCK, ramp_ns: 0, run_ns: None, seed: 1 }
}

fn timed(driver: FileDriver, run_ns: u64) -> FileRun {
    FileRun { run_ns: Some(run_ns), ..finite(driver) }
}

fn job<G: Operations>(file: &Arc<File>, depth: u16, operations: G) -> FileJob<G> {
    FileJob { file: file.clone(), operations, depth, cpus: Vec::new() }
}

fn go<G: Operations>(run: &FileRun, jobs: Vec<FileJob<G>>) -> FileReport {
    run_files(run, jobs, &Stop::default(), &mut |_| (), &mut || ()).expect("it can be driven")
}

fn temporary() -> Arc<File> {
    Arc::new(tempfile::tempfile_in(".").expect("a file can be made"))
}

/// The operations of a list, one after the other.
fn list(operations: Vec<Operation>) -> impl Operations {
    let mut left = operations.into_iter();
    move || left.next()
}

fn writes(blocks: std::ops::Range<u64>) -> impl Operations {
    list(blocks.map(|block| Operation::Write { offset: block * u64::from(BLOCK), len: BLOCK }).collect())
}

/// Written one block after the other, as a log is, by one thread: in records of 128 KiB, as ZFS and btrfs compress, LZ4
/// finds nothing, and no sector of the file is like another one.
#[test]
fn storage_that_compresses_or_recognises_gains_nothing() {
    const FILE_BYTES: usize = 2 << 20;
    for (driver, depth) in both().into_iter().flat_map(|driver| [(driver, 1), (driver, 3)]) {
        let file = temporary();
        go(&finite(driver), vec![job(&file, depth, writes(0..FILE_BYTES as u64 / u64::from(BLOCK)))]);
        let mut bytes = vec![0; FILE_BYTES];
        file.read_exact_at(&mut bytes, 0).expect("all of it was written");
        for record in bytes.chunks(128 << 10) {
            let compressed = lz4_flex::block::compress(record).len();
            assert!(compressed >= record.len(), "{driver} at {depth}: {compressed} of {}", record.len());
        }
        let sectors: HashSet<&[u8]> = bytes.chunks(512).collect();
        assert_eq!(sectors.len(), FILE_BYTES / 512, "{driver} at {depth}");
    }
}

#[test]
fn every_operation_is_performed_and_counted_once() {
    for driver in both() {
        let file = temporary();
        let report = go(&finite(driver), vec![job(&file, 4, writes(0..40)), job(&file, 3, writes(40..64))]);
        let written = report.tally.of(OperationKind::Write);
        assert_eq!((written.latency.count(), written.bytes), (64, 64 * u64::from(BLOCK)), "{driver}");
        assert_eq!(report.tally.operations(), 64);
        assert!(report.failure.is_none() && report.measured_ns > 0, "{report:?}");
        assert_eq!(file.metadata().expect("it is open").len(), 64 * u64::from(BLOCK));
        let mut blocks = HashSet::new();
        for block in 0..64 {
            let mut bytes = vec![0; BLOCK as usize];
            file.read_exact_at(&mut bytes, block * u64::from(BLOCK)).expect("it was written");
            blocks.insert(bytes);
        }
        assert_eq!(blocks.len(), 64, "{driver}: no two blocks are equal, so none was left out");
    }
}

#[test]
fn syncs_and_write_back_are_counted_apart_from_reads() {
    for driver in both() {
        let file = temporary();
        go(&finite(driver), vec![job(&file, 4, writes(0..8))]);
        let len = BLOCK;
        let operations = [
            Operation::Read { offset: 0, len },
            Operation::SyncData,
            Operation::WriteBack { offset: 0, len: 2 * len },
            Operation::SyncData,
            Operation::Nop,
            Operation::Read { offset: 7 * u64::from(len), len },
        ];
        let report = go(&finite(driver), vec![job(&file, 2, list(operations.to_vec()))]);
        assert!(report.failure.is_none(), "{driver}: {report:?}");
        let counts = OperationKind::ALL.map(|kind| report.tally.of(kind).latency.count());
        assert_eq!(counts, [2, 0, 2, 1, 1], "{driver}");
        assert_eq!(report.tally.of(OperationKind::Sync).bytes, 0);
    }
}

/// `/dev/full` refuses every write, as a full file system does.
#[test]
fn a_failed_write_ends_the_run_with_its_reason() {
    let full = Arc::new(OpenOptions::new().write(true).open("/dev/full").expect("Linux has it"));
    for driver in both() {
        let endless = || Some(Operation::Write { offset: 0, len: BLOCK });
        let report = go(&finite(driver), vec![job(&full, 4, endless), job(&full, 1, endless)]);
        let failed = report.failure.expect("it is full");
        assert_eq!((failed.error.kind(), report.tally.operations()), (ErrorKind::StorageFull, 0), "{driver}");
        assert!(failed.to_string().starts_with("write of 8192 bytes at offset 0: No space left"), "{failed}");
    }
}

/// Memory of this process that is not mapped cannot be read: `/proc/self/mem` answers EIO, as a broken disk does. What
/// had been read until then is kept.
#[test]
fn an_input_error_leaves_what_was_measured() {
    let memory = Arc::new(File::open("/proc/self/mem").expect("it is our own"));
    let page = vec![7_u8; 3 * BLOCK as usize];
    let address = page.as_ptr().addr() as u64;
    for driver in both() {
        let mut left = 100;
        let operations = move || {
            left -= 1;
            let offset = if left > 0 { address } else { 0 };
            (left >= 0).then_some(Operation::Read { offset, len: BLOCK })
        };
        let report = go(&finite(driver), vec![job(&memory, 1, operations)]);
        let failed = report.failure.expect("page 0 is not mapped");
        assert_eq!(failed.error.raw_os_error(), Some(libc::EIO), "{driver}: {failed}");
        assert_eq!(report.tally.of(OperationKind::Read).latency.count(), 99, "{driver}");
    }
}

#[test]
fn a_file_that_ends_too_early_is_a_failure() {
    for driver in both() {
        let file = temporary();
        file.set_len(u64::from(BLOCK) + 512).expect("it can grow");
        let operations = list(vec![Operation::Read { offset: u64::from(BLOCK), len: BLOCK }]);
        let report = go(&finite(driver), vec![job(&file, 1, operations)]);
        let failed = report.failure.expect("512 bytes are left");
        assert_eq!(failed.error.kind(), ErrorKind::UnexpectedEof, "{driver}");
        assert!(failed.to_string().contains("only 512 bytes"), "{failed}");
    }
}

#[test]
fn a_run_ends_with_its_time_and_counts_whole_seconds() {
    let file = temporary();
    for driver in both() {
        let mut edges = 0;
        let run = timed(driver, 50_000_000);
        let endless = || Some(Operation::Nop);
        let jobs = vec![job(&file, 8, endless), job(&file, 1, endless)];
        let report = run_files(&run, jobs, &Stop::default(), &mut |_| (), &mut || edges += 1)
            .expect("it can be driven");
        assert_eq!((report.measured_ns, edges, report.tally.seconds.len()), (50_000_000, 2, 1), "{driver}");
        let nops = report.tally.of(OperationKind::Nop).latency.count();
        assert!(nops > 0 && report.tally.seconds[0].operations(OperationKind::Nop) == nops, "{driver}");
        let (threads, process) = (report.tally.cpu, report.process_cpu.expect("it began"));
        assert!(threads.user_ns + threads.system_ns > 0 && process.user_ns + process.system_ns > 0);
    }
}

#[test]
fn a_stop_ends_a_run_and_keeps_what_was_measured() {
    let file = temporary();
    for driver in both() {
        let stop = Stop::default();
        let mut reported = 0;
        let mut on_progress = |progress: FileProgress| {
            reported += 1;
            if progress.operations > 0 {
                stop.request("enough");
            }
        };
        let begun_ns = Clock::now_ns();
        let run = timed(driver, 3_600_000_000_000);
        let report = run_files(
            &run,
            vec![job(&file, 2, || Some(Operation::Nop))],
            &stop,
            &mut on_progress,
            &mut || (),
        )
        .expect("it can be driven");
        let took_ns = Clock::now_ns() - begun_ns;
        assert!(report.measured_ns > 0 && report.measured_ns <= took_ns, "{driver}: {report:?}");
        assert!(reported > 0 && report.tally.operations() > 0 && report.failure.is_none(), "{driver}");
    }
}

#[test]
fn a_thread_that_cannot_be_set_up_ends_all() {
    let file = temporary();
    for driver in both() {
        let endless = || Some(Operation::Nop);
        let jobs = vec![job(&file, 1, endless), FileJob { cpus: vec![1_000], ..job(&file, 1, endless) }];
        let error =
            run_files(&timed(driver, 3_600_000_000_000), jobs, &Stop::default(), &mut |_| (), &mut || ());
        assert!(matches!(error, Err(FileRunError::Driver(_))), "{driver}: there is no CPU 1000: {error:?}");
    }
}

#[test]
#[ignore = "measures"]
fn a_core_performs_a_million_empty_operations_a_second() {
    let file = temporary();
    for driver in both() {
        let run = timed(driver, 2_000_000_000);
        let report = go(&run, vec![job(&file, 32, || Some(Operation::Nop))]);
        let count = report.tally.operations() as f64;
        let cpu_s = (report.tally.cpu.user_ns + report.tally.cpu.system_ns) as f64 / 1e9;
        println!("{driver}: {:.0} a second, {:.0} a second of CPU time", count / 2.0, count / cpu_s);
        // Without optimisation its figure says nothing.
        let is_judged = driver == FileDriver::IoUring && !cfg!(debug_assertions);
        assert!(!is_judged || count / cpu_s >= 1e6);
    }
}
