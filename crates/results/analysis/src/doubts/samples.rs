//! A run without doubts, for tests to modify.

use pgdyno_core::{
    facts::{BuildFacts, DatabaseFacts, DurabilityTier, ServerFacts, ServerSource},
    measure::{CellRun, Counts, CpuUse, IoUse, ServedFrom, SteadyVerdict, Workload},
};

use pgdyno_record::{
    BalanceRecord, ConsistencyRecord, KeyWorkersRecord, LoadRecord, LoadTerms, RangeRecord, ResumedRecord,
    RunRecord, SubjectRecord,
};
use pgdyno_rows::load::{ExistingTables, LoadRequest, Set};

use crate::cells::summarise;

/// A complete, thorough record of these runs, with a pinned driver of one thread.
pub fn record(runs: Vec<CellRun>, subjects: Vec<SubjectRecord>) -> RunRecord {
    let mut record = testkit::fixtures::thorough().record;
    record.cells = summarise(&runs, &[]);
    (record.runs, record.subjects) = (runs, subjects);
    record.plan.waiting = Some("epoll".into());
    (record.plan.jobs, record.plan.cores_shared, record.plan.scale) = (1, false, Some(4));
    record
}

/// Tables that were not loaded by pgdyno.
pub fn existing() -> ExistingTables {
    ExistingTables {
        set: Set::Tpcb,
        schema: "public".into(),
        owner: "postgres".into(),
        scale: 4,
        loaded_by: None,
        accounts: None,
    }
}

/// A load for which these workers were requested for each key, and planned.
pub fn load_with_workers(requested: u64, planned: u64) -> LoadRecord {
    let options = LoadRequest { key_workers: Some(requested), ..LoadRequest::default() };
    let workers = KeyWorkersRecord {
        asked: Some(requested),
        planned: Some(RangeRecord { least: planned, most: planned }),
        ..KeyWorkersRecord::default()
    };
    LoadRecord {
        terms: Some(LoadTerms { set: Set::Tpcb, streams: 1, options }),
        key_workers: Some(workers),
        ..LoadRecord::default()
    }
}

/// A balance check with these numbers of examined rows and violations.
pub fn balance((rows_examined, violations): (u64, u64)) -> BalanceRecord {
    BalanceRecord {
        mode: "full".into(),
        rows_examined,
        history_rows: 0,
        committed: 0,
        in_doubt: 0,
        violations,
        examples: Vec::new(),
        duration_s: 1.0,
    }
}

/// A TPC-C consistency check with these numbers of examined rows and violations.
pub fn consistency((rows_examined, violations): (u64, u64)) -> ConsistencyRecord {
    ConsistencyRecord {
        warehouses: 1,
        conditions: 12,
        rows_examined,
        violations,
        examples: Vec::new(),
        duration_s: 1.0,
        sets: Vec::new(),
    }
}

/// A resumption before this run.
pub fn resumed(first_run: u32) -> ResumedRecord {
    let at = "2026-11-20T11:00:00Z".into();
    ResumedRecord { at, at_s: 60.0, ended_by: None, first_run, dropped_runs: 0 }
}

/// A run of 30 s without a fault.
pub fn run(script: &str, clients: u32, tps: f64) -> CellRun {
    let committed = (tps * 30.0) as u64;
    let counts = Counts { scheduled: committed, committed, ..Counts::default() };
    CellRun {
        block: 0,
        workload: Workload {
            script: script.into(),
            builtin: None,
            protocol: "prepared".into(),
            clients,
            rate_per_s: None,
            subject: None,
        },
        start_s: 0.0,
        warmup_ns: 10_000_000_000,
        duration_ns: 30_000_000_000,
        counts,
        counts_whole: counts,
        tps,
        rows: None,
        latency: None,
        slowest_seconds_ns: Vec::new(),
        longest_silence_ns: None,
        lag: None,
        statements: Vec::new(),
        scripts: Vec::new(),
        tpcc: None,
        sets: Vec::new(),
        nopm: None,
        retries: None,
        slowest: Vec::new(),
        connect_ns: 1_000_000,
        cpu: CpuUse {
            driver_s: 6.0,
            server_s: Some(28.0),
            busiest_worker: 0.2,
            steal: Some(0.001),
            others_cpus: Some(0.05),
            waited_s: None,
            driver_waited_s: None,
        },
        io: Some(IoUse { blocks_hit: 1_000_000, checkpoints: Some(0), ..IoUse::default() }),
        served_from: Some(ServedFrom::SharedBuffers),
        steady: SteadyVerdict::Steady,
        errors: Vec::new(),
        data_state: None,
        reset_s: None,
        checkpoint_s: None,
        durability: None,
        waits: None,
        observed: None,
        outage: None,
        ended_by_outage: false,
        idle: None,
    }
}

/// A server with normal settings.
pub fn server() -> ServerFacts {
    let cflags = Some("-Wall -g -O2 -fstack-protector-strong".into());
    ServerFacts {
        version_num: 180_004,
        version: "18.4".into(),
        version_text: "PostgreSQL 18.4 on x86_64-pc-linux-gnu".into(),
        source: ServerSource::Installed,
        bindir: None,
        build: BuildFacts {
            compiler: Some("gcc 14".into()),
            cflags,
            features: Some(vec!["icu".into(), "lz4".into()]),
            ..BuildFacts::default()
        },
        block_bytes: 8_192,
        wal_block_bytes: Some(8_192),
        segment_bytes: Some(1 << 30),
        wal_segment_bytes: 16 << 20,
        data_checksums: true,
        durability: DurabilityTier::Full,
        max_connections: 100,
        shared_buffers_bytes: 6 << 30,
        data_directory: None,
        wal_storage: None,
        database: Some(DatabaseFacts {
            encoding: "UTF8".into(),
            collate: "C".into(),
            ctype: "C".into(),
            provider: "libc".into(),
        }),
        settings: Vec::new(),
        defaults: Some([("io_method".into(), "worker".into())].into()),
    }
}
