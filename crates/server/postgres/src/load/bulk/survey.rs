//! Examines a server before a load: its facts, and its free space.

use std::path::PathBuf;

use pgdyno_core::{host::Inventory, problem::Problem, units};
use pgdyno_rows::load::{Estimate, KeyFacts, KeySettings, LoadPlan, Set, SizingFacts};
use pgdyno_wire::{Address, Row, Session, WireError};

use super::{
    super::init::quoted,
    dirs::{LoadDirs, Sizes},
    ledger::literal,
};
use crate::settings::size_bytes;

/// First version with parallel builds of B-tree indexes.
const PARALLEL_KEYS_SINCE: u32 = 110_000;
/// First version with keys that span partitions.
const PARTITIONS_SINCE: u32 = 110_000;
/// First version with foreign keys to partitioned tables.
const REFERRED_PARTITIONS_SINCE: u32 = 120_000;

/// Locks of a transaction in addition to partitions and their keys: catalogs, other tables, other sessions.
const OTHER_LOCKS: u64 = 200;
/// Locks of a stream in addition to the partitions that it fills: virtual transaction, schema, tasks and their
/// indexes.
const OTHER_LOCKS_OF_A_STREAM: u64 = 20;

/// Free space of one file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// A directory on the file system.
    pub dir: PathBuf,
    /// Most bytes that the load takes there.
    pub need_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Free bytes that must remain for the server and other users.
    pub left_bytes: u64,
}

/// A load leaves one of this many parts of a file system free, within limits in bytes.
const LEFT_SHARE: u64 = 50;
const LEFT_BYTES: std::ops::RangeInclusive<u64> = (32 << 20)..=(1 << 30);
/// Size at which a temporary file continues in another (`MAX_PHYSICAL_FILESIZE` of `buffile.c`), in the next of
/// `temp_tablespaces`.
const TEMP_FILE_BYTES: u64 = 1 << 30;

/// Result of examining a server for a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// Schema that tables are created in.
    pub target: String,
    /// `server_version`.
    pub version: String,
    /// `server_version_num`.
    pub version_num: u32,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Estimated sizes.
    pub estimate: Estimate,
    /// Settings of the sessions that build keys.
    pub keys: KeySettings,
    /// Free space of the server's file systems; empty if the server may be on another machine or the role may
    /// not see its directories, or the user said how much space there is.
    pub room: Vec<Room>,
    /// Bytes that the load takes in all file systems together, at most.
    pub need_bytes: u64,
    /// Free bytes of the server's machine as the user knows them, for everything.
    pub given_bytes: Option<u64>,
}

/// A server that need not exist yet: it has the default settings, and this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImaginedServer {
    /// `server_version`.
    pub version: String,
    /// `server_version_num`.
    pub version_num: u32,
    /// Page size in bytes.
    pub page_bytes: u64,
}

/// Defaults of PostgreSQL: `maintenance_work_mem`, `max_wal_size`, `min_parallel_table_scan_size`, and both
/// `max_worker_processes` and `max_parallel_workers`.
const DEFAULT_MAINTENANCE_BYTES: u64 = 64 << 20;
const DEFAULT_MAX_WAL_BYTES: u64 = 1 << 30;
const DEFAULT_PARALLEL_BYTES: u64 = 8 << 20;
const DEFAULT_WORKERS: u64 = 8;

/// The schema for a load by several sessions; checks that the server can be loaded.
///
/// # Errors
/// The server cannot be loaded.
pub(super) fn target(session: &mut Session) -> Result<String, Problem> {
    refuse_pooler(session)?;
    schema(session)
}

/// Refuses a pooler: tasks are held by session-level advisory locks, whose owner is unknown behind one.
///
/// # Errors
/// The connection goes through a pooler.
pub(super) fn refuse_pooler(session: &mut Session) -> Result<(), Problem> {
    let pid = session.backend_pid().to_string();
    let row = only(session, "SELECT pg_catalog.pg_backend_pid()");
    let row = row.map_err(|error| error.into_problem("could not load"))?;
    match row.get(0) == Some(pid.as_str()) {
        true => Ok(()),
        false => Err(Problem::wrong_request("could not load through a pooler: sessions must hold locks")
            .hint("connect to the server itself")),
    }
}

/// The schema that a session creates tables in; checks that the server can be loaded.
fn schema(session: &mut Session) -> Result<String, Problem> {
    let what = "could not load";
    let sql = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_schema()";
    let row = only(session, sql).map_err(|error| error.into_problem(what))?;
    if row.get(0) == Some("t") {
        return Err(Problem::wrong_request(format!("{what}: the server is in recovery and read-only"))
            .hint("load into its primary"));
    }
    row.get(1).map(str::to_owned).ok_or_else(|| {
        Problem::wrong_request(format!("{what}: no schema of the search path exists"))
            .hint("create one, or name another: -d 'options=-csearch_path=NAME'")
    })
}

/// Examines a server for a plan, given the sizes of what is there already; changes nothing.
///
/// # Errors
/// An obstacle to the load.
pub(in crate::load) fn survey(
    session: &mut Session,
    plan: &LoadPlan,
    there: Sizes,
    streams: u64,
) -> Result<Survey, Problem> {
    let target = schema(session)?;
    let what = "could not read the server's settings";
    let version_num = number(session, "SELECT pg_catalog.current_setting('server_version_num')")
        .map_err(|error| error.into_problem(what))? as u32;
    check_version(plan, version_num)?;
    check_table_options(session, plan)?;
    check_connections(session, streams)?;
    check_locks(session, plan, streams)?;
    for space in plan.tablespace.iter().chain(&plan.index_tablespace) {
        find_tablespace(session, space)?;
    }
    let own = need(session, streams).map_err(|error| error.into_problem(what))?;
    let limits = limits(session, version_num).map_err(|error| error.into_problem(what))?;
    check_workers(plan, limits.max_worker_processes)?;
    let local = matches!(session.address(), Address::Unix(..));
    let host = local.then(|| pgdyno_host::facts::host().ok()).flatten();
    let (keys, estimate) = sized(plan, (version_num, own), limits, host.as_ref())?;
    let room = if local { room(session, plan, &estimate, there) } else { Ok(Vec::new()) };
    let most_wal = size_bytes(session, "max_wal_size").unwrap_or(u64::MAX);
    Ok(Survey {
        target,
        version_num,
        version: session.parameter("server_version").unwrap_or_default().to_owned(),
        page_bytes: own.page_bytes,
        estimate,
        keys,
        room: room.map_err(|error| error.into_problem("could not read the server's directories"))?,
        need_bytes: everything(&estimate, most_wal).saturating_sub(there.total_bytes()),
        given_bytes: None,
    })
}

/// Tables, keys, the WAL that the server keeps, and temporary files.
fn everything(estimate: &Estimate, max_wal_bytes: u64) -> u64 {
    let wal_bytes = estimate.wal_bytes.min(max_wal_bytes.saturating_mul(2));
    estimate.total_bytes() + wal_bytes + estimate.temp_bytes
}

impl Survey {
    /// What a load would be on a server that need not exist.
    ///
    /// # Errors
    /// The version does not support the plan, or a table would be too large.
    pub fn imagined(plan: &LoadPlan, server: &ImaginedServer, streams: u64) -> Result<Self, Problem> {
        check_version(plan, server.version_num)?;
        let own = SizingFacts {
            page_bytes: server.page_bytes,
            wal_minimal: false,
            maintenance_bytes: DEFAULT_MAINTENANCE_BYTES,
            workers: 0,
            streams,
        };
        let limits = WorkerLimits {
            max_parallel_workers: DEFAULT_WORKERS,
            max_worker_processes: DEFAULT_WORKERS.max(plan.key_workers.unwrap_or(0)),
            min_parallel_bytes: DEFAULT_PARALLEL_BYTES,
        };
        let host = pgdyno_host::facts::host().ok();
        let (keys, estimate) = sized(plan, (server.version_num, own), limits, host.as_ref())?;
        Ok(Self {
            target: "public".to_owned(),
            version: server.version.clone(),
            version_num: server.version_num,
            page_bytes: server.page_bytes,
            need_bytes: everything(&estimate, DEFAULT_MAX_WAL_BYTES),
            estimate,
            keys,
            room: Vec::new(),
            given_bytes: None,
        })
    }

    /// The same with as much free space as the user says there is, which then is not looked up.
    #[must_use]
    pub fn with_room(self, given_bytes: Option<u64>) -> Self {
        let room = if given_bytes.is_some() { Vec::new() } else { self.room };
        Self { given_bytes, room, ..self }
    }

    /// Free space that the user says there is, and what of it must stay free.
    fn given(&self) -> Option<Room> {
        let free_bytes = self.given_bytes?;
        Some(Room {
            dir: PathBuf::new(),
            need_bytes: self.need_bytes,
            free_bytes,
            left_bytes: left_bytes(free_bytes),
        })
    }

    /// Checks the free space for the load.
    ///
    /// # Errors
    /// A file system does not have enough.
    pub fn check_room(&self) -> Result<(), Problem> {
        self.check_room_for(1)
    }

    /// Checks the free space for this many loads of the same size.
    ///
    /// # Errors
    /// A file system does not have enough.
    pub fn check_room_for(&self, loads: u64) -> Result<(), Problem> {
        let need_bytes = |room: &Room| room.need_bytes.saturating_mul(loads);
        let lacks = |room: &&Room| need_bytes(room).saturating_add(room.left_bytes) > room.free_bytes;
        let given = self.given();
        let Some(room) = self.room.iter().chain(&given).find(lacks) else { return Ok(()) };
        let [need, free, left] = [need_bytes(room), room.free_bytes, room.left_bytes].map(units::bytes);
        if given.is_some() {
            return Err(Problem::could_not(format!("could not load: {need} are needed for everything"))
                .detail(format!("--room says that {free} are free, of which {left} must stay free"))
                .hint("free space, or load less"));
        }
        Err(Problem::could_not(format!("could not load: {need} are needed under {}", room.dir.display()))
            .detail(format!("{free} are free there, of which {left} must stay free"))
            .hint("free space, load less, or use another --tablespace and --index-tablespace"))
    }
}

/// Checks that a server version supports the plan, since the last stage would be too late to find out.
///
/// # Errors
/// A feature that the version lacks.
pub fn check_version(plan: &LoadPlan, version_num: u32) -> Result<(), Problem> {
    let (what, hint) = if plan.key_workers.is_some() && version_num < PARALLEL_KEYS_SINCE {
        (
            "could not give keys parallel workers: the server is older than PostgreSQL 11",
            "leave --key-workers out",
        )
    } else if plan.partitions.is_none() {
        return Ok(());
    } else if version_num < PARTITIONS_SINCE {
        ("could not make partitions: the server is older than PostgreSQL 11", "leave --partitions out")
    } else if plan.foreign_keys && version_num < REFERRED_PARTITIONS_SINCE {
        (
            "could not make foreign keys: before PostgreSQL 12 they cannot refer to a table with partitions",
            "leave --foreign-keys or --partitions out",
        )
    } else {
        return Ok(());
    };
    Err(Problem::wrong_request(what).hint(hint))
}

/// Checks that the server could ever start the workers that were requested for a key.
fn check_workers(plan: &LoadPlan, max_worker_processes: u64) -> Result<(), Problem> {
    let Some(workers) = plan.key_workers.filter(|workers| *workers > max_worker_processes) else {
        return Ok(());
    };
    let what = format!(
        "could not give a key {}: max_worker_processes of the server is {max_worker_processes}",
        units::plural(workers, "parallel worker")
    );
    Err(Problem::wrong_request(what)
        .hint("use fewer --key-workers, or raise max_worker_processes and restart the server"))
}

/// Settings of a server that limit parallel workers.
#[derive(Debug, Clone, Copy)]
struct WorkerLimits {
    max_parallel_workers: u64,
    max_worker_processes: u64,
    /// `min_parallel_table_scan_size` in bytes; 0 if the server builds no keys in parallel.
    min_parallel_bytes: u64,
}

fn limits(session: &mut Session, version_num: u32) -> Result<WorkerLimits, WireError> {
    // Before 10 there is no `max_parallel_workers`.
    let workers = "SELECT setting FROM pg_catalog.pg_settings WHERE name IN ('max_parallel_workers', \
                   'max_worker_processes') ORDER BY name LIMIT 1";
    let is_parallel = version_num >= PARALLEL_KEYS_SINCE;
    let size = |session: &mut Session| size_bytes(session, "min_parallel_table_scan_size");
    Ok(WorkerLimits {
        max_parallel_workers: number(session, workers)?,
        max_worker_processes: number(session, "SELECT pg_catalog.current_setting('max_worker_processes')")?,
        min_parallel_bytes: if is_parallel { size(session)? } else { 0 },
    })
}

/// Settings for the keys of a plan, and its sizes with them. Without facts of the host nothing is known of the
/// server's machine.
fn sized(
    plan: &LoadPlan,
    (version_num, own): (u32, SizingFacts),
    limits: WorkerLimits,
    host: Option<&Inventory>,
) -> Result<(KeySettings, Estimate), Problem> {
    let (main, parts) = (plan.set.main(), plan.partitions.map_or(1, |partitions| partitions.count));
    let keys = KeySettings::choose(&KeyFacts {
        version_num,
        maintenance_bytes: own.maintenance_bytes,
        max_parallel_workers: limits.max_parallel_workers,
        max_worker_processes: limits.max_worker_processes,
        memory_available_bytes: host.map(Inventory::expected_memory_bytes),
        cpus: host.map(|host| host.allowed_cpus().len() as u64),
        rows: main.rows_of(plan.units(main)).div_ceil(parts),
        heap_bytes: Estimate::new(plan, &own).main.heap.bytes / parts,
        min_parallel_bytes: limits.min_parallel_bytes,
        builds: plan.keys_at_once(own.streams),
        requested: plan.key_workers,
        has_option: plan.options_of(main, &[]).iter().any(|(name, _)| name == "parallel_workers"),
    });
    let workers = keys.workers.unwrap_or(0);
    let need = SizingFacts { maintenance_bytes: keys.maintenance_bytes, workers, ..own };
    let estimate = Estimate::new(plan, &need);
    estimate.check_limits(plan, need.page_bytes)?;
    Ok((keys, estimate))
}

/// SQLSTATE of a storage option that a server does not know, or whose value it refuses.
const INVALID_PARAMETER: &str = "22023";

/// Has the server check the storage options of the tables, by a temporary table that is never committed.
///
/// # Errors
/// The server does not know an option, or refuses its value.
fn check_table_options(session: &mut Session, plan: &LoadPlan) -> Result<(), Problem> {
    for option in &plan.table_options {
        let (name, value) = (&option.name, &option.value);
        let sql = format!("CREATE TEMPORARY TABLE pgdyno_options (c text) WITH ({name}={value})");
        let made = session.execute("BEGIN").and_then(|()| session.execute(&sql));
        session.execute("ROLLBACK").map_err(|error| error.into_problem("could not check storage options"))?;
        if let Err(error) = made
            && error.code() == Some(INVALID_PARAMETER)
        {
            let problem = error.into_problem(&format!("could not load with the table option `{option}`"));
            let hint = "leave it out, or use one that CREATE TABLE of this version knows";
            return Err(Problem::wrong_request(problem.what).hint(hint));
        }
    }
    Ok(())
}

fn need(session: &mut Session, streams: u64) -> Result<SizingFacts, WireError> {
    let setting = |name: &str| format!("SELECT pg_catalog.current_setting('{name}')");
    Ok(SizingFacts {
        page_bytes: number(session, &setting("block_size"))?,
        wal_minimal: session.value(&setting("wal_level"))?.as_deref() == Some("minimal"),
        maintenance_bytes: size_bytes(session, "maintenance_work_mem")?,
        workers: 0, // they are chosen later
        streams,
    })
}

/// Checks that the server has a connection for each stream, and one more.
///
/// # Errors
/// There are too few connections.
pub fn check_connections(session: &mut Session, streams: u64) -> Result<(), Problem> {
    let what = "could not read the server's connection limit";
    let sql = "SELECT sum(CASE WHEN name = 'max_connections' THEN setting::bigint ELSE -setting::bigint END) \
               FROM pg_catalog.pg_settings WHERE name = 'max_connections' \
               OR name IN ('superuser_reserved_connections', 'reserved_connections') \
               AND pg_catalog.current_setting('is_superuser') = 'off'";
    let most = number(session, sql).map_err(|error| error.into_problem(what))?;
    if streams < most {
        return Ok(());
    }
    let what = format!(
        "could not load by {}: the server has {}, and the load needs one more",
        units::plural(streams, "stream"),
        units::plural(most, "connection")
    );
    Err(Problem::wrong_request(what)
        .hint("use fewer --jobs, or raise max_connections and restart the server"))
}

/// Checks that the server can lock all partitions with their keys at once, as building the parent key requires,
/// and for each stream the partitions to which its rows are routed.
fn check_locks(session: &mut Session, plan: &LoadPlan, streams: u64) -> Result<(), Problem> {
    let Some(partitions) = plan.partitions else { return Ok(()) };
    let setting = |name: &str| format!("pg_catalog.current_setting('{name}')::bigint");
    let (each, sessions) = (
        setting("max_locks_per_transaction"),
        format!("{} + {}", setting("max_connections"), setting("max_prepared_transactions")),
    );
    let what = "could not read the server's lock limit";
    let sql = format!("SELECT {each} * ({sessions}), {sessions}");
    let row = only(session, &sql).map_err(|error| error.into_problem(what))?;
    let (Some(most), Some(sessions)) = (row.parse::<u64>(0), row.parse::<u64>(1)) else { return Ok(()) };
    let routed = plan.routed().then_some(streams);
    let lacking = lacking_locks(partitions.count, relations_at_a_time(plan, streams), routed, most);
    let Some((takes, needed, less)) = lacking else { return Ok(()) };
    let what = format!(
        "could not make {}: the server has {} locks, and {takes} {}",
        units::plural(partitions.count, "partition"),
        units::count(most),
        units::count(needed)
    );
    let enough = needed.div_ceil(sessions.max(1));
    Err(Problem::wrong_request(what).hint(format!(
        "set max_locks_per_transaction to {enough} and restart the server, or use fewer {less}"
    )))
}

/// Number of relations per partition that are locked together: table and indexes when parent keys are built;
/// for TPC-C several at a time, and both sides of a foreign key.
fn relations_at_a_time(plan: &LoadPlan, streams: u64) -> u64 {
    match plan.set {
        Set::Tpcb | Set::Scaleup => 2,
        Set::Tpcc => {
            let tables = if plan.foreign_keys { 2 } else { 1 };
            3 * tables * streams.min(plan.set.spread().len() as u64)
        }
    }
}

/// The lock holder that needs more locks than available, their number, and the flags to lower, given the number
/// of relations per partition locked by parent keys. The lock table has room for twice as many holders as locks
/// (`InitLocks` of `lock.c`); streams that fill the same partitions share locks.
fn lacking_locks(
    partitions: u64,
    relations: u64,
    routed: Option<u64>,
    most: u64,
) -> Option<(&'static str, u64, &'static str)> {
    let of_key = relations * partitions + OTHER_LOCKS;
    let of_streams =
        routed.map_or(0, |streams| (streams * (partitions + OTHER_LOCKS_OF_A_STREAM)).div_ceil(2));
    if of_streams > most.max(of_key) {
        Some(("streams that route rows to all of them take", of_streams, "--partitions or --jobs"))
    } else {
        (of_key > most).then_some(("the parent key takes", of_key, "--partitions"))
    }
}

fn find_tablespace(session: &mut Session, name: &str) -> Result<(), Problem> {
    let sql = format!("SELECT 1 FROM pg_catalog.pg_tablespace WHERE spcname = {}", literal(name));
    let found = session.value(&sql).map_err(|error| error.into_problem("could not list tablespaces"))?;
    let missing = || {
        Problem::wrong_request(format!("could not load: there is no tablespace {}", quoted(name)))
            .hint("create it by CREATE TABLESPACE, or with `pgdyno up --tablespace NAME=DIR`")
    };
    found.map(drop).ok_or_else(missing)
}

/// Free space for tables, keys, WAL and temporary files, in addition to what is there. Empty if the role may
/// not see directories.
fn room(
    session: &mut Session,
    plan: &LoadPlan,
    estimate: &Estimate,
    there: Sizes,
) -> Result<Vec<Room>, WireError> {
    let Some(dirs) = LoadDirs::find(session, plan)? else { return Ok(Vec::new()) };
    let temp_bytes = temp_share(estimate.temp_bytes, dirs.temp.len() as u64);
    let most_wal = size_bytes(session, "max_wal_size").unwrap_or(u64::MAX).saturating_mul(2);
    let Estimate { main, others, .. } = estimate;
    let heap_bytes = main.heap.bytes + others.heap.bytes;
    let index_bytes = main.index.bytes + others.index.bytes;
    let mut wanted = vec![
        (dirs.tables, heap_bytes.saturating_sub(there.heap_bytes)),
        (dirs.keys, index_bytes.saturating_sub(there.index_bytes)),
        (dirs.wal, estimate.wal_bytes.min(most_wal)),
    ];
    wanted.extend(dirs.temp.into_iter().map(|dir| (dir, temp_bytes)));
    Ok(by_file_system(&wanted))
}

/// Most bytes of temporary files in one of several tablespaces, since files of a sort rotate among them.
fn temp_share(bytes: u64, spaces: u64) -> u64 {
    bytes.min(bytes / spaces.max(1) + TEMP_FILE_BYTES)
}

/// Adds up needs of directories on the same file system.
pub(in crate::load) fn by_file_system(wanted: &[(PathBuf, u64)]) -> Vec<Room> {
    let mut rooms: Vec<(Option<String>, Room)> = Vec::new();
    for (dir, need_bytes) in wanted {
        let Ok(storage) = pgdyno_host::facts::storage(dir) else { continue };
        match rooms.iter_mut().find(|(mount, _)| *mount == storage.mount_point) {
            Some((_, room)) => room.need_bytes += need_bytes,
            None => {
                let (free_bytes, need_bytes) = (storage.available_bytes, *need_bytes);
                let left_bytes = left_bytes(storage.size_bytes);
                let room = Room { dir: dir.clone(), need_bytes, free_bytes, left_bytes };
                rooms.push((storage.mount_point, room));
            }
        }
    }
    rooms.into_iter().map(|(_, room)| room).collect()
}

/// Bytes that a load leaves free on a file system of this size.
fn left_bytes(size_bytes: u64) -> u64 {
    (size_bytes / LEFT_SHARE).clamp(*LEFT_BYTES.start(), *LEFT_BYTES.end())
}

fn only(session: &mut Session, sql: &str) -> Result<Row, WireError> {
    let rows = session.query(sql)?;
    rows.into_iter().next().ok_or_else(|| WireError::Protocol("an answer without a row".to_owned()))
}

fn number(session: &mut Session, sql: &str) -> Result<u64, WireError> {
    let value = session.value(sql)?.and_then(|text| text.parse().ok());
    value.ok_or_else(|| WireError::Protocol("a setting that is not a number".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pgdyno_rows::load::LoadRequest;

    use super::*;

    #[test]
    fn what_a_version_cannot_have_is_refused() {
        let refused = |partitions, foreign_keys, version_num| {
            let request = LoadRequest {
                scale: Some(1),
                partitions: Some(partitions),
                foreign_keys,
                ..LoadRequest::default()
            };
            let plan = request.plan(1).expect("it can be");
            check_version(&plan, version_num).err().and_then(|problem| problem.hint)
        };
        assert_eq!(refused(0, true, 90_600), None);
        assert_eq!(refused(2, false, 100_023).as_deref(), Some("leave --partitions out"));
        assert_eq!(refused(2, false, 110_022), None);
        assert_eq!(refused(2, true, 110_022).as_deref(), Some("leave --foreign-keys or --partitions out"));
        assert_eq!(refused(2, true, 120_000), None);
    }

    #[test]
    fn streams_that_sort_rows_hold_locks_side_by_side() {
        let lacking = |partitions, routed, most| lacking_locks(partitions, 2, routed, most);
        assert_eq!(lacking(1_000, None, 2_200), None);
        assert_eq!(lacking(1_000, None, 2_199), Some(("the parent key takes", 2_200, "--partitions")));
        assert_eq!(lacking(1_000, Some(4), 2_200), None, "2,040 for holders, half of what there can be");
        let streams = Some(("streams that route rows to all of them take", 5_100, "--partitions or --jobs"));
        assert_eq!((lacking(1_000, Some(10), 5_099), lacking(1_000, Some(10), 5_100)), (streams, None));
    }

    #[test]
    fn temporary_files_go_round() {
        let gib = 1 << 30;
        assert_eq!((temp_share(7, 1), temp_share(gib, 4), temp_share(100 * gib, 4)), (7, gib, 26 * gib));
    }

    #[test]
    fn what_is_left_free_has_limits() {
        let mib = 1 << 20;
        let left = [10 * mib, 2_000 * mib, 1 << 50].map(left_bytes);
        assert_eq!(left, [32 * mib, 40 * mib, 1_024 * mib]);
    }

    #[test]
    fn what_shares_a_file_system_is_added_up() {
        let wanted = [("/".into(), 3), ("/no/such/directory".into(), 4), ("/proc".into(), 5)];
        let rooms = by_file_system(&wanted);
        let needs: Vec<_> = rooms.iter().map(|room| (room.dir.as_path(), room.need_bytes)).collect();
        assert_eq!(needs, [(Path::new("/"), 7), (Path::new("/proc"), 5)]);
    }
}
