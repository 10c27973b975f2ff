//! Readings for tests: a busy server of 18, one of 9.5, and one that shows a role little.

use pgdyno_core::observe::{
    BlockedSession, BlockingSession, BusySession, CpuSample, CpuShares, DeviceSample, HostSample, Place,
    ProcessSample, ProgressSample, Role, RoleSample, SessionsSeen, StatementSample, WaitSample, WaitsSample,
    WalPosition,
};

use crate::reading::{
    Absent, Cost, DatabaseRates, FORMAT, Machine, Progress, Reading, ServerShown, Statements, Subject,
    WalRates, WriteRates,
};

/// A server of 18 with a lock queue, waits, statements, an index build, and its machine.
pub fn busy() -> Reading {
    Reading {
        format: FORMAT,
        at: "2026-11-26T14:52:07Z".to_owned(),
        server: ServerShown {
            address: "/var/run/postgresql:5432".to_owned(),
            version: "18.6".to_owned(),
            version_num: 180_006,
            role: "postgres".to_owned(),
            database: "postgres".to_owned(),
            is_here: true,
            max_connections: Some(100),
            max_wal_size_bytes: Some(1 << 30),
            checkpoint_timeout_s: Some(300),
        },
        over_s: 2.0,
        databases: Some(DatabaseRates {
            commits_per_s: 5_520.0,
            rollbacks_per_s: 2.0,
            blocks_hit_per_s: 99_200.0,
            blocks_read_per_s: 800.0,
            temp_bytes_per_s: 0.0,
            deadlocks_per_s: 0.0,
        }),
        sessions: Some(sessions()),
        waits: Some(waits()),
        statements: Some(statements()),
        blocked: Some(blocked()),
        wal: Some(WalRates {
            at: WalPosition {
                in_recovery: false,
                position_bytes: Some(1 << 40),
                up_s: Some(11_520.0),
                checkpoint_age_s: Some(131.0),
                since_checkpoint_bytes: Some(340 << 20),
            },
            bytes_per_s: Some(13_000_000.0),
            records_per_s: Some(31_000.0),
            full_page_images_per_s: Some(412.0),
            buffers_full_per_s: Some(0.0),
        }),
        writes: Some(WriteRates {
            since_s: 600.0,
            timed: 1.0,
            requested: 2.0,
            write_s: 120.0,
            sync_s: 0.42,
            checkpointer_per_s: 840.0,
            background_writer_per_s: 100.0,
            backends_per_s: 12.5,
        }),
        progress: Some(vec![Progress { command: index_build(), done_per_s: Some(12_000.0) }]),
        machine: Some(machine()),
        cost: Cost { cpus: Some(0.004), server_cpus: Some(0.003) },
        ..Reading::default()
    }
}

/// A server of 9.5 on another machine: no wait events, no progress, no checkpoint time.
pub fn old() -> Reading {
    let lacks = |what, why: &str| Absent { what, why: why.to_owned() };
    let mut reading = busy();
    reading.server = ServerShown {
        address: "db.example:5432".to_owned(),
        version: "9.5.25".to_owned(),
        version_num: 90_525,
        is_here: false,
        ..reading.server
    };
    reading.machine = None;
    reading.progress = Some(Vec::new());
    reading.statements = None;
    reading.cost.server_cpus = None;
    if let Some(wal) = &mut reading.wal {
        wal.at = WalPosition { checkpoint_age_s: None, since_checkpoint_bytes: None, ..wal.at };
        (wal.records_per_s, wal.full_page_images_per_s, wal.buffers_full_per_s) = (None, None, None);
    }
    reading.waits = Some(WaitsSample {
        samples: 20,
        seen: vec![
            seen("Lock", "session", 40),
            seen("running", "session", 30),
            seen("client", "session", 80),
        ],
    });
    reading.absent = vec![
        lacks(Subject::Waits, "9.5 reports waits for locks only; other wait events came with 9.6"),
        lacks(
            Subject::Progress,
            "9.5 has no progress views: VACUUM has one since 9.6, the others came later",
        ),
        lacks(Subject::Wal, "9.5 does not report when the last checkpoint was; 9.6 does"),
        lacks(Subject::Statements, "start the server with shared_preload_libraries = pg_stat_statements"),
        lacks(Subject::Machine, "the server's processes are not visible on this machine"),
    ];
    reading
}

/// A server whose other sessions the role may not see.
pub fn hidden() -> Reading {
    let mut reading = busy();
    reading.server.role = "plain".to_owned();
    reading.sessions =
        Some(SessionsSeen { by_state: [("not seen".to_owned(), 12)].into(), busy: Vec::new() });
    reading.waits = Some(WaitsSample { samples: 20, seen: vec![seen("not seen", "not seen", 240)] });
    for one in reading.blocked.iter_mut().flatten() {
        one.statement.clear();
        for by in &mut one.blocked_by {
            (by.state, by.statement, by.transaction_age_s) = ("not seen".to_owned(), String::new(), None);
        }
    }
    reading
}

fn sessions() -> SessionsSeen {
    let one = |pid, state: &str, event: Option<&str>, age_s, statement: &str| BusySession {
        pid,
        database: Some("bench".to_owned()),
        role: Some("app".to_owned()),
        application: Some("pgbench".to_owned()),
        backend: "client backend".to_owned(),
        state: state.to_owned(),
        event: event.map(str::to_owned),
        state_age_s: Some(age_s),
        transaction_age_s: Some(age_s + 0.5),
        statement: statement.to_owned(),
    };
    let update = "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2";
    SessionsSeen {
        by_state: [("active", 12), ("idle", 3), ("idle in transaction", 1)]
            .map(|(state, n)| (state.to_owned(), n))
            .into(),
        busy: vec![
            one(4711, "idle in transaction", Some("Client:ClientRead"), 75.2, update),
            one(4712, "active", Some("Lock:transactionid"), 8.2, update),
            one(4713, "active", Some("Lock:tuple"), 3.1, update),
            one(4720, "active", None, 0.2, "CREATE INDEX ON pgbench_accounts (aid)"),
        ],
    }
}

fn seen(event: &str, backend: &str, count: u64) -> WaitSample {
    WaitSample { event: event.to_owned(), backend: backend.to_owned(), query_id: None, count }
}

fn waits() -> WaitsSample {
    let client = "client backend";
    WaitsSample {
        samples: 20,
        seen: vec![
            seen("client", client, 80),
            seen("Activity:CheckpointerMain", "checkpointer", 20),
            seen("IO:WalSync", client, 61),
            WaitSample { query_id: Some(7), ..seen("IO:WalSync", client, 39) },
            seen("Lock:transactionid", client, 40),
            seen("running", client, 50),
            seen("LWLock:WALWrite", client, 9),
            seen("IO:DataFileWrite", "checkpointer", 1),
        ],
    }
}

fn statements() -> Statements {
    let one = |query_id, total_ms, calls, text: &str| StatementSample {
        query_id,
        text: Some(text.to_owned()),
        calls,
        total_ms,
        rows: calls,
        blocks_hit: 5 * calls,
        blocks_read: calls / 100,
        wal_bytes: Some(200 * calls),
    };
    Statements {
        over_s: 5.02,
        slowest: vec![
            one(
                -6_054_231_987_654_321,
                31_000.0,
                27_600,
                "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
            ),
            one(42, 2_100.0, 27_600, "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2"),
            one(43, 900.0, 27_600, "SELECT abalance FROM pgbench_accounts WHERE aid = $1"),
        ],
    }
}

fn blocked() -> Vec<BlockedSession> {
    let update = "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1";
    let by = |pid, state: &str| BlockingSession {
        pid,
        state: state.to_owned(),
        statement: update.to_owned(),
        transaction_age_s: Some(75.7),
    };
    let one = |pid, lock: &str, waited_s, blocked_by| BlockedSession {
        pid,
        lock: lock.to_owned(),
        mode: "ExclusiveLock".to_owned(),
        relation: (lock == "tuple").then(|| "pgbench_branches".to_owned()),
        waited_s: Some(waited_s),
        statement: update.to_owned(),
        blocked_by: vec![blocked_by],
    };
    vec![
        one(4712, "transactionid", 8.2, by(4711, "idle in transaction")),
        one(4713, "tuple", 3.1, by(4712, "active")),
    ]
}

fn index_build() -> ProgressSample {
    ProgressSample {
        pid: 4720,
        command: "CREATE INDEX".to_owned(),
        relation: Some("pgbench_accounts".to_owned()),
        phase: "building index: scanning table".to_owned(),
        done: Some(1_475_440),
        total: Some(4_000_440),
        unit: Some("blocks".to_owned()),
    }
}

fn machine() -> Machine {
    let shares = CpuShares { user: 0.52, system: 0.21, softirq: 0.05, iowait: 0.08, ..CpuShares::default() };
    let role = |role, processes, cpus, written| RoleSample {
        role,
        processes,
        cpus,
        busiest_cpus: cpus / processes as f64,
        run_delay: Some(0.1),
        asked_read_bytes_per_s: Some(2_400_000.0),
        asked_written_bytes_per_s: Some(written),
        device_read_bytes_per_s: Some(1_000_000.0),
        device_written_bytes_per_s: Some(written),
        stuck: 0.0,
        throttled: None,
    };
    Machine {
        over_s: 2.0,
        host: Some(HostSample {
            all: shares,
            cpus: vec![CpuSample { cpu: 0, shares }, CpuSample { cpu: 1, shares }],
            ..HostSample::default()
        }),
        devices: vec![DeviceSample {
            device: "nvme0n1".to_owned(),
            places: vec![Place::Data, Place::Wal],
            reads_per_s: 120.0,
            writes_per_s: 2_300.0,
            read_bytes_per_s: 1_000_000.0,
            written_bytes_per_s: 42_000_000.0,
            queue: 1.4,
            utilisation: 0.84,
            ..DeviceSample::default()
        }],
        processes: Some(ProcessSample {
            roles: vec![
                role(Role::Client, 16, 1.32, 12_000_000.0),
                role(Role::Checkpointer, 1, 0.05, 7_000_000.0),
                role(Role::WalWriter, 1, 0.01, 100_000.0),
                role(Role::Observer, 1, 0.003, 0.0),
            ],
            ..ProcessSample::default()
        }),
    }
}
