//! Every kind of bottleneck is found where it was planted, and nothing where there is none.

use pgdyno_core::{
    measure::{CellRun, CpuUse, WaitCount, Waits},
    observe::{
        BusiestCpu, ByCheckpoint, DeviceDigest, DeviceSample, Digest, HostDigest, Place, Pressure, Role,
        RoleDigest, RoleSample, ServerDigest,
    },
    results::{BottleneckKind, CellLimits, Confidence},
};
use pgdyno_record::RunRecord;

use crate::diagnosis::limits;

/// A fault: what it is called, what it does to the runs of a cell, what is found first.
type Fault = (&'static str, fn(&mut CellRun), BottleneckKind);

const FAULTS: [Fault; 29] = [
    (
        "a driver thread without reserves",
        |run| {
            sessions(run, &[("client", 70), ("running", 30)]);
            run.cpu.busiest_worker = 0.97;
        },
        BottleneckKind::Driver,
    ),
    (
        "a driver that gets no CPU",
        |run| {
            sessions(run, &[("client", 70), ("running", 30)]);
            (run.cpu.busiest_worker, run.cpu.driver_waited_s) = (0.3, Some(seconds(run, 0.6)));
            run.cpu.waited_s = Some(seconds(run, 0.6));
        },
        BottleneckKind::DriverStarved,
    ),
    (
        "a far client",
        |run| sessions(run, &[("client", 85), ("running", 15)]),
        BottleneckKind::ClientRoundTrips,
    ),
    (
        "one client on many CPUs",
        |run| {
            sessions(run, &[("running", 80), ("client", 20)]);
            run.workload.clients = 1;
            run.cpu.server_s = Some(seconds(run, 0.8));
        },
        BottleneckKind::FewClients,
    ),
    (
        "no CPU left",
        |run| {
            sessions(run, &[("running", 80), ("client", 20)]);
            run.cpu.server_s = Some(seconds(run, 3.9));
        },
        BottleneckKind::ServerCpu,
    ),
    (
        "a compiler on the same CPUs",
        |run| {
            sessions(run, &[("running", 80), ("client", 20)]);
            (run.cpu.server_s, run.cpu.others_cpus) = (Some(seconds(run, 1.0)), Some(2.5));
            (run.cpu.waited_s, run.cpu.driver_waited_s) = (Some(seconds(run, 2.0)), Some(0.0));
        },
        BottleneckKind::OtherPrograms,
    ),
    (
        "a busy neighbour",
        |run| {
            sessions(run, &[("running", 40), ("client", 30), ("IPC:SyncRep", 30)]);
            run.cpu.steal = Some(0.35);
        },
        BottleneckKind::Steal,
    ),
    (
        "a connection for every transaction",
        |run| {
            sessions(run, &[("running", 20), ("client", 20)]);
            run.workload.clients = 16;
        },
        BottleneckKind::Connections,
    ),
    (
        "one queue of the network",
        |run| {
            sessions(run, &[("running", 40), ("client", 45), ("IPC:SyncRep", 15)]);
            run.observed = host(|host| host.most_interrupted = Some(BusiestCpu { cpu: 3, busy: 0.95 }));
        },
        BottleneckKind::Interrupts,
    ),
    (
        "a machine that swaps",
        |run| {
            sessions(run, &[("running", 55), ("client", 45)]);
            run.observed = host(|host| {
                host.pressure = Some(Pressure { memory_some: Some(0.6), ..Pressure::default() });
                host.least_available_bytes = Some(1 << 20);
            });
        },
        BottleneckKind::Memory,
    ),
    (
        "a disk that is slower than its writers",
        |run| {
            sessions(run, &[("IO:DataFileWrite", 60), ("running", 40)]);
            run.observed = host(|host| host.peak_dirty_bytes = Some(4 << 30));
            let clients = RoleSample { throttled: Some(0.4 * f64::from(run.workload.clients)), ..clients() };
            run.observed.as_mut().expect("it was planted").roles = vec![of_role(clients)];
        },
        BottleneckKind::DirtyPages,
    ),
    (
        "full-page images",
        |run| {
            sessions(run, &[("IO:WALSync", 20), ("running", 50), ("client", 30)]);
            let by = ByCheckpoint {
                within_s: 40.0,
                within_per_s: 300.0,
                otherwise_s: 20.0,
                otherwise_per_s: 1_000.0,
            };
            let server =
                ServerDigest { checkpoints: Some(3), by_checkpoint: Some(by), ..ServerDigest::default() };
            run.observed = host(|_| ());
            run.observed.as_mut().expect("it was planted").servers = vec![server];
        },
        BottleneckKind::Checkpoints,
    ),
    (
        "a small cache",
        |run| sessions(run, &[("IO:DataFileRead", 60), ("running", 40)]),
        BottleneckKind::ReadIo,
    ),
    (
        "dirty pages",
        |run| sessions(run, &[("IO:DataFileWrite", 60), ("running", 40)]),
        BottleneckKind::WriteIo,
    ),
    (
        "a slow flush",
        |run| {
            sessions(run, &[("IO:WALSync", 60), ("LWLock:WALWriteLock", 10), ("running", 30)]);
        },
        BottleneckKind::WalFlush,
    ),
    (
        "many commits",
        |run| {
            sessions(run, &[("IO:WalSync", 10), ("LWLock:WALWrite", 60), ("running", 30)]);
        },
        BottleneckKind::GroupCommit,
    ),
    (
        "sorts",
        |run| {
            sessions(run, &[("IO:BufFileRead", 40), ("IO:BufFileWrite", 20), ("running", 40)]);
        },
        BottleneckKind::TemporaryFiles,
    ),
    (
        "one row",
        |run| {
            sessions(run, &[("Lock:transactionid", 40), ("Lock:tuple", 20), ("running", 40)]);
        },
        BottleneckKind::RowLock,
    ),
    (
        "ALTER TABLE",
        |run| sessions(run, &[("Lock:relation", 60), ("running", 40)]),
        BottleneckKind::TableLock,
    ),
    (
        "one table",
        |run| sessions(run, &[("Lock:extend", 60), ("running", 40)]),
        BottleneckKind::RelationExtension,
    ),
    (
        "much WAL",
        |run| sessions(run, &[("LWLock:WALInsert", 60), ("running", 40)]),
        BottleneckKind::WalInsertion,
    ),
    (
        "idle connections",
        |run| {
            sessions(run, &[("LWLock:ProcArrayLock", 60), ("running", 40)]);
        },
        BottleneckKind::Snapshots,
    ),
    (
        "one page",
        |run| {
            sessions(run, &[("LWLockTranche:buffer_content", 60), ("running", 40)]);
        },
        BottleneckKind::BufferContent,
    ),
    (
        "few buffers",
        |run| {
            sessions(run, &[("LWLock:buffer_mapping", 60), ("running", 40)]);
        },
        BottleneckKind::BufferMapping,
    ),
    (
        "partitions",
        |run| {
            sessions(run, &[("LWLock:LockManager", 60), ("running", 40)]);
        },
        BottleneckKind::LockManager,
    ),
    (
        "savepoints",
        |run| {
            sessions(run, &[("LWLock:SubtransSLRU", 60), ("running", 40)]);
        },
        BottleneckKind::TransactionStatus,
    ),
    (
        "a cursor",
        |run| sessions(run, &[("BufferPin:BufferPin", 60), ("running", 40)]),
        BottleneckKind::BufferPin,
    ),
    (
        "a synchronous standby",
        |run| {
            sessions(run, &[("IPC:SyncRep", 60), ("running", 40)]);
        },
        BottleneckKind::OtherProcesses,
    ),
    (
        "a lock of an extension",
        |run| {
            sessions(run, &[("LWLock:pg_stat_statements", 60), ("running", 40)]);
        },
        BottleneckKind::OtherLwLock,
    ),
];

/// A run that was observed.
fn host(plant: impl FnOnce(&mut HostDigest)) -> Option<Box<Digest>> {
    let mut host = HostDigest::default();
    plant(&mut host);
    Some(Box::new(Digest { over_s: 60.0, host: Some(host), ..Digest::default() }))
}

fn clients() -> RoleSample {
    RoleSample {
        role: Role::Client,
        processes: 17,
        cpus: 3.8,
        busiest_cpus: 0.3,
        run_delay: Some(12.0),
        asked_read_bytes_per_s: None,
        asked_written_bytes_per_s: None,
        device_read_bytes_per_s: None,
        device_written_bytes_per_s: None,
        stuck: 0.0,
        throttled: None,
    }
}

fn of_role(mean: RoleSample) -> RoleDigest {
    RoleDigest { subject: None, mean, peak_cpus: 3.9, peak_device_bytes_per_s: None }
}

#[test]
fn every_kind_of_bottleneck_is_found_where_it_was_planted() {
    for (name, plant, kind) in FAULTS {
        let limits = &judged(plant)[0];
        let found: Vec<_> = limits.found.iter().map(|found| found.kind).collect();
        assert_eq!(found.first(), Some(&kind), "{name}: {limits:?}");
        assert!(!limits.found[0].evidence.is_empty() && limits.found[0].share <= 1.0, "{name}: {limits:?}");
    }
}

#[test]
fn a_server_with_reserves_has_no_bottleneck() {
    let well = |run: &mut CellRun| sessions(run, &[("running", 55), ("client", 45)]);
    assert_eq!(judged(well)[0].found, [], "nothing limits it");
    let paced = |run: &mut CellRun| {
        sessions(run, &[("client", 95), ("running", 5)]);
        run.workload.rate_per_s = Some(10.0);
    };
    assert_eq!(judged(paced)[0].found, [], "clients that keep a rate are meant to wait");
}

/// A session that waits for a CPU before it reads its statement looks idle: that time is not its client's.
#[test]
fn a_queue_for_the_server_s_cpu_is_no_wait_for_clients() {
    let queue = |run: &mut CellRun| {
        sessions(run, &[("client", 98), ("running", 2)]);
        run.cpu.server_s = Some(seconds(run, 3.9));
        let roles = vec![of_role(clients())];
        run.observed = Some(Box::new(Digest { over_s: 60.0, roles, ..Digest::default() }));
    };
    let kinds: Vec<_> = judged(queue)[0].found.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [BottleneckKind::ServerCpu]);
}

/// Three quarters of the CPUs are the server's, small programs have the rest, and sessions wait for a CPU half of the
/// time.
#[test]
fn a_queue_for_cpus_that_are_shared_is_reported_as_one() {
    let kinds = |waited: f64| -> Vec<_> {
        let mut record = record(|run| {
            sessions(run, &[("running", 65), ("client", 35)]);
            run.cpu.server_s = Some(seconds(run, 3.0));
            run.cpu.driver_waited_s = Some(0.0);
        });
        record.runs.iter_mut().for_each(|run| run.cpu.waited_s = Some(seconds(run, waited)));
        let limits = limits(&record);
        limits[0].found.iter().map(|found| found.kind).collect()
    };
    assert_eq!(kinds(12.0), [BottleneckKind::ServerCpu]);
    assert_eq!(kinds(3.0), [], "half of what runs waits for nothing");
}

/// Server and driver together use what there is.
#[test]
fn a_driver_on_the_same_cpus_counts_with_the_server() {
    let found = |driver_cpus: Vec<u32>, server: f64| {
        let mut record = record(|run| {
            sessions(run, &[("running", 55), ("client", 45)]);
            run.cpu.driver_s = seconds(run, 0.9);
        });
        record.plan.driver_cpus = driver_cpus;
        record.runs.iter_mut().for_each(|run| run.cpu.server_s = Some(seconds(run, server)));
        let limits = limits(&record);
        limits[0].found.iter().map(|found| (found.kind, found.evidence[0].clone())).collect::<Vec<_>>()
    };
    let evidence = "the server used 70 % of its 4 CPUs, the driver on the same ones 22 %";
    assert_eq!(found(vec![0, 1], 2.8), [(BottleneckKind::ServerCpu, evidence.to_owned())]);
    assert_eq!(found(vec![0, 4], 2.8), [], "the driver has another CPU");
    assert_eq!(found(vec![0, 1], 2.3), [], "most of it is not the server's");
}

/// Pages that the kernel copies cost CPU time: they are reported before the CPU, a lock is not.
#[test]
fn what_uses_up_the_cpu_is_reported_before_it() {
    let kinds = |plant: fn(&mut CellRun)| -> Vec<_> {
        judged(plant)[0].found.iter().map(|found| found.kind).collect()
    };
    let sorts = |run: &mut CellRun| {
        sessions(run, &[("IO:BufFileRead", 40), ("running", 60)]);
        run.cpu.server_s = Some(seconds(run, 3.9));
    };
    assert_eq!(kinds(sorts), [BottleneckKind::TemporaryFiles, BottleneckKind::ServerCpu]);
    let commits = |run: &mut CellRun| {
        sessions(run, &[("LWLock:WALWrite", 40), ("running", 60)]);
        run.cpu.server_s = Some(seconds(run, 3.9));
    };
    assert_eq!(kinds(commits), [BottleneckKind::ServerCpu, BottleneckKind::GroupCommit]);
}

/// CPUs that are idle at times are not what clients wait for most of the time.
#[test]
fn a_wait_of_most_of_the_time_is_reported_before_cpus_that_are_idle_at_times() {
    let kinds = |plant: fn(&mut CellRun)| -> Vec<_> {
        judged(plant)[0].found.iter().map(|found| found.kind).collect()
    };
    let queue = |run: &mut CellRun| {
        sessions(run, &[("Lock:transactionid", 60), ("running", 40)]);
        run.cpu.server_s = Some(seconds(run, 3.6));
    };
    assert_eq!(kinds(queue), [BottleneckKind::RowLock, BottleneckKind::ServerCpu]);
    let less = |run: &mut CellRun| {
        sessions(run, &[("Lock:transactionid", 40), ("running", 60)]);
        run.cpu.server_s = Some(seconds(run, 3.6));
    };
    assert_eq!(kinds(less), [BottleneckKind::ServerCpu, BottleneckKind::RowLock]);
    let full = |run: &mut CellRun| {
        sessions(run, &[("Lock:transactionid", 60), ("running", 40)]);
        run.cpu.server_s = Some(seconds(run, 3.9));
    };
    assert_eq!(kinds(full), [BottleneckKind::ServerCpu, BottleneckKind::RowLock]);
}

/// The cells of one workload are compared, and those that keep a rate with none.
#[test]
fn fewer_clients_that_reach_more_are_found() {
    let with = |more: u32, tps: f64| {
        let mut record = record(|run| sessions(run, &[("running", 55), ("client", 45)]));
        for mut run in record.runs.clone() {
            run.workload.clients = more;
            run.tps *= tps;
            record.runs.push(run);
        }
        let kinds = |limits: CellLimits| limits.found.iter().map(|found| found.kind).collect::<Vec<_>>();
        limits(&record).into_iter().map(kinds).collect::<Vec<_>>()
    };
    assert_eq!(with(64, 0.5), [vec![], vec![BottleneckKind::Connections, BottleneckKind::ManyClients]]);
    assert_eq!(with(16, 0.9), [vec![], vec![]], "a tenth is no bottleneck");
    assert_eq!(with(16, 1.5), [vec![], vec![]], "the fewer ones are not compared with the more");
}

/// Thresholds hold on both sides.
#[test]
fn a_fifth_of_the_time_is_the_least_that_counts() {
    let locked = |share: u64| {
        let mut record = record(|_| ());
        let waits = [("Lock:tuple", share), ("running", 60 - share), ("client", 40)];
        record.runs.iter_mut().for_each(|run| sessions(run, &waits));
        limits(&record).remove(0).found.len()
    };
    assert_eq!((locked(19), locked(21)), (0, 1));
}

#[test]
fn a_second_source_makes_it_surer() {
    let one = |run: &mut CellRun| sessions(run, &[("IO:DataFileRead", 60), ("running", 40)]);
    assert_eq!(judged(one)[0].found[0].confidence, Confidence::Likely);
    let found = &judged(|run| reads_of_a_device(run, 9_000.0, 1.0))[0].found[0];
    assert_eq!(found.confidence, Confidence::Strong);
    assert!(found.evidence[1].starts_with("the device served 9000 reads per second"), "{found:?}");
}

/// Sessions that wait for a file system or for I/O workers do not wait for the device below.
#[test]
fn a_device_that_is_hardly_busy_confirms_no_wait_for_reads() {
    let found = &judged(|run| reads_of_a_device(run, 400.0, 0.1))[0].found[0];
    assert_eq!((found.kind, found.confidence), (BottleneckKind::ReadIo, Confidence::Likely));
    assert!(
        found.evidence[1].starts_with("yet the device served 400 reads per second in 0.10 ms each: most")
    );
}

/// Sessions that wait for reads most of the time, and a device that serves reads in this time.
fn reads_of_a_device(run: &mut CellRun, reads_per_s: f64, await_ms: f64) {
    sessions(run, &[("IO:DataFileRead", 60), ("running", 40)]);
    let mean = DeviceSample { reads_per_s, read_await_ms: Some(await_ms), ..device() };
    let device = DeviceDigest { machine: None, mean, peak_queue: 8.0, peak_utilisation: 1.0 };
    let host = Some(HostDigest::default());
    run.observed = Some(Box::new(Digest { over_s: 60.0, host, devices: vec![device], ..Digest::default() }));
}

/// Without samples the CPUs are still judged, and what is missing is reported.
#[test]
fn what_was_not_observed_is_reported() {
    let blind = |run: &mut CellRun| (run.waits, run.observed) = (None, None);
    let limits = &judged(blind)[0];
    assert!(limits.found.is_empty() && limits.unseen.len() == 2, "{limits:?}");
    let busy = |run: &mut CellRun| {
        run.waits = None;
        run.cpu.server_s = Some(seconds(run, 3.9));
    };
    let limits = &judged(busy)[0];
    assert_eq!(limits.found.first().map(|found| found.kind), Some(BottleneckKind::ServerCpu), "{limits:?}");
}

fn judged(plant: fn(&mut CellRun)) -> Vec<CellLimits> {
    limits(&record(plant))
}

/// A record of one cell with four clients, on a server with four CPUs that are half idle, changed by a fault.
fn record(plant: fn(&mut CellRun)) -> RunRecord {
    let mut record = testkit::fixtures::thorough().record;
    let first = record.runs[0].workload.clone();
    record.runs.retain(|run| run.workload == first);
    (record.plan.server_cpus, record.plan.jobs) = (vec![0, 1, 2, 3], 1);
    for run in &mut record.runs {
        (run.workload.clients, run.waits, run.observed) = (4, None, None);
        run.cpu = CpuUse {
            server_s: Some(seconds(run, 2.0)),
            busiest_worker: 0.3,
            steal: Some(0.0),
            others_cpus: Some(0.0),
            waited_s: Some(0.0),
            driver_waited_s: Some(0.0),
            ..CpuUse::default()
        };
        plant(run);
    }
    record
}

/// Samples of the sessions, in hundreds.
fn sessions(run: &mut CellRun, seen: &[(&str, u64)]) {
    let event = |(event, count): &(&str, u64)| WaitCount { event: (*event).into(), count: count * 100 };
    let sessions = seen.iter().map(|(_, count)| count * 100).sum();
    run.waits = Some(Waits { looks: 600, sessions, events: seen.iter().map(event).collect() });
}

/// Seconds of this many CPUs during a run.
fn seconds(run: &CellRun, cpus: f64) -> f64 {
    cpus * run.duration_ns as f64 / 1e9
}

fn device() -> DeviceSample {
    DeviceSample {
        device: "nvme0n1".into(),
        places: vec![Place::Data],
        reads_per_s: 0.0,
        writes_per_s: 0.0,
        flushes_per_s: None,
        read_bytes_per_s: 0.0,
        written_bytes_per_s: 0.0,
        read_await_ms: Some(0.2),
        write_await_ms: None,
        flush_await_ms: None,
        read_merges_per_s: 0.0,
        write_merges_per_s: 0.0,
        queue: 1.0,
        utilisation: 1.0,
    }
}
