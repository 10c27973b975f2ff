//! Observes backends that vacuum and build keys, through the server's progress views and an idle session.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use pgdyno_core::units;
use pgdyno_host::observe::DeviceCounters;
use pgdyno_rows::load::{LoadPlan, Stage, Table};
use pgdyno_wire::{Row, Session, WireError};

use super::{Survey, ledger::literal};
use crate::observe::postmaster_of;

/// Pause between two samples.
const PAUSE: Duration = Duration::from_millis(200);
/// First versions with `pg_stat_progress_vacuum` and `pg_stat_progress_create_index`.
const VACUUM_SINCE: u32 = 90_600;
const KEYS_SINCE: u32 = 120_000;
/// Phases of an index build in older versions, derived from the index file, as `pg_class` does not show the
/// index before its commit.
const BEFORE_FILE: &str = "scanning and sorting";
const WRITING_FILE: &str = "writing the index";
/// Size at which a relation continues in another file (`RELSEG_SIZE`), in bytes.
const SEGMENT_BYTES: u64 = 1 << 30;
/// First version in which a parallel worker reports its leader.
const LEADERS_SINCE: u32 = 130_000;
/// Phase in which a key has parallel workers; afterwards the leader works alone.
const PHASE_OF_WORKERS: &str = "scanning table";

/// Phases of a stage. Those that begin and end between two samples are missed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phases(pub Vec<Phase>);

/// A phase of a stage, summed over all backends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phase {
    /// Name of the phase as the server reports it.
    pub name: String,
    /// Seconds of all backends in the phase, without parallel workers.
    pub seconds: f64,
    /// What the backends and their parallel workers moved from and to devices, as far as samples saw it; `None` if
    /// this process may not read that, or the server is on another machine.
    pub devices: Option<DeviceCounters>,
}

/// Minimum and maximum of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Minimum.
    pub least: u64,
    /// Maximum.
    pub most: u64,
}

/// Samples the activity of backends.
pub(in crate::load) struct PhaseSampler {
    version_num: u32,
    /// Table whose keys are examined for parallel workers; those of small tables are not representative.
    main: Table,
    /// Expected size in bytes of the largest key of the main table or one of its partitions.
    key_bytes: u64,
    /// Tablespace of keys, if one is set.
    key_space: Option<String>,
    /// Whether the server refuses to answer.
    silent: bool,
    /// Stage being observed.
    stage: Option<Stage>,
    next: Instant,
    /// Time of the last sample, or of the stage's beginning.
    last: Instant,
    phases: BTreeMap<Stage, Phases>,
    /// Parallel workers of every key being built, by process ID of its backend.
    builds: BTreeMap<i32, Build>,
    launched: Option<Span>,
    devices: DeviceReadings,
}

/// What processes of the server have moved from and to devices.
#[derive(Debug, Default)]
struct DeviceReadings {
    /// Whether the server's processes are on this machine; `None` before the first sample.
    is_local: Option<bool>,
    /// Last readings, by process ID.
    last: BTreeMap<i32, DeviceCounters>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Build {
    table: String,
    most_workers: Option<u64>,
}

/// State of a backend in one sample.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    pid: i32,
    table: String,
    phase: String,
    /// Completed share of the phase.
    share: Option<f64>,
    /// Process IDs of its parallel workers; `None` if the server does not report them.
    workers: Option<Vec<i32>>,
}

impl Span {
    /// Extends a span to include a number.
    pub fn and(span: Option<Self>, number: u64) -> Self {
        let Self { least, most } = span.unwrap_or(Self { least: number, most: number });
        Self { least: least.min(number), most: most.max(number) }
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.least == self.most {
            write!(f, "{}", self.most)
        } else {
            write!(f, "{} to {}", self.least, self.most)
        }
    }
}

impl PhaseSampler {
    /// A sampler for a plan on a server that was examined.
    pub fn for_plan(survey: &Survey, plan: &LoadPlan) -> Self {
        let parts = plan.partitions.map_or(1, |partitions| partitions.count);
        Self::new(survey.version_num, plan, survey.estimate.main.index.bytes / parts)
    }

    /// A sampler for a server with this `server_version_num`, and a load whose largest keys have this many bytes.
    pub fn new(version_num: u32, plan: &LoadPlan, key_bytes: u64) -> Self {
        let now = Instant::now();
        Self {
            version_num,
            main: plan.set.main(),
            key_bytes,
            key_space: plan.index_tablespace.clone(),
            silent: false,
            stage: None,
            next: now,
            last: now,
            phases: BTreeMap::new(),
            builds: BTreeMap::new(),
            launched: None,
            devices: DeviceReadings::default(),
        }
    }

    /// Samples these backends, and describes their activity in a few words; `None` if nothing was seen or it is
    /// not yet time.
    pub fn tend(&mut self, session: &mut Session, stage: Stage, pids: &[i32]) -> Option<String> {
        let now = Instant::now();
        self.enter(stage, now);
        let sql = self.sql(stage, pids)?;
        if now < self.next || self.silent {
            return None;
        }
        self.next = now + PAUSE;
        let seen = read(session, &sql);
        self.silent = seen.is_err(); // it need not refuse five times a second
        let seen = seen.unwrap_or_default();
        let words = words(&seen);
        let is_local = *self.devices.is_local.get_or_insert_with(|| postmaster_of(session).is_some());
        let read = |pid| u32::try_from(pid).ok().filter(|_| is_local).and_then(DeviceCounters::of_process);
        let moved: Vec<_> = seen.iter().map(|at| self.devices.moved(at, &read)).collect();
        self.note(stage, seen, &moved, now.duration_since(self.last).min(2 * PAUSE));
        self.last = now;
        words
    }

    /// Begins a stage; time before it does not count for its phases.
    fn enter(&mut self, stage: Stage, now: Instant) {
        if self.stage.replace(stage) != Some(stage) {
            self.last = now;
        }
    }

    /// Phases seen during a stage.
    pub fn phases(&mut self, stage: Stage) -> Phases {
        let mut phases = self.phases.remove(&stage).unwrap_or_default();
        phases.0.retain(|phase| phase.seconds > 0.0);
        phases
    }

    /// Parallel workers of keys, as far as they were observed.
    pub fn launched(&mut self) -> Option<Span> {
        let ended = std::mem::take(&mut self.builds);
        ended.into_values().for_each(|build| self.end(&build));
        self.launched
    }

    fn sql(&self, stage: Stage, pids: &[i32]) -> Option<String> {
        let pids = pids.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
        let ours = format!("WHERE p.pid = ANY ('{{{pids}}}'::int[])");
        let leaders = self.version_num >= LEADERS_SINCE;
        let workers = if leaders {
            "(SELECT coalesce(pg_catalog.string_agg(a.pid::text, ' '), '') FROM pg_catalog.pg_stat_activity a \
             WHERE a.leader_pid = p.pid AND a.backend_type = 'parallel worker')"
        } else {
            "NULL"
        };
        match stage {
            Stage::Vacuum if self.version_num >= VACUUM_SINCE => Some(format!(
                "SELECT p.pid, p.relid::pg_catalog.regclass, p.phase, heap_blks_scanned, heap_blks_total, 0, 0, \
                 NULL FROM pg_catalog.pg_stat_progress_vacuum p {ours}"
            )),
            Stage::Keys if self.version_num >= KEYS_SINCE => Some(format!(
                "SELECT p.pid, p.relid::pg_catalog.regclass, p.phase, blocks_done, blocks_total, tuples_done, \
                 tuples_total, {workers} FROM pg_catalog.pg_stat_progress_create_index p {ours}"
            )),
            Stage::Keys => Some(self.files(&ours)),
            _ => None,
        }
    }

    /// Backends that build keys of the main table, and the sizes of the index files. The new relation is found
    /// by its lock, and its file is named after its OID. Only superusers may list files.
    fn files(&self, ours: &str) -> String {
        let ours = ours.trim_start_matches("WHERE ");
        let (main, key_bytes) = (self.main.generator().table(), self.key_bytes);
        let space = self.key_space.as_deref().map_or_else(
            || "nullif(pg_catalog.current_setting('default_tablespace'), '')".to_owned(),
            literal,
        );
        let segments = key_bytes / SEGMENT_BYTES + 1;
        format!(
            "SELECT pid, relid, CASE WHEN bytes > 0 THEN '{WRITING_FILE}' ELSE '{BEFORE_FILE}' END, \
             bytes, CASE WHEN bytes > 0 THEN {key_bytes} ELSE 0 END, 0, 0, NULL FROM (\
             SELECT p.pid, t.relation::pg_catalog.regclass AS relid, (SELECT coalesce(pg_catalog.sum((\
             pg_catalog.pg_stat_file(place.dir || '/' || p.relation || CASE WHEN n > 0 THEN '.' || n ELSE '' END, \
             true)).size), 0) FROM pg_catalog.generate_series(0, {segments}) n) AS bytes \
             FROM pg_catalog.pg_locks p JOIN pg_catalog.pg_locks t ON t.pid = p.pid AND t.locktype = 'relation' \
             AND t.granted AND t.mode IN ('ShareLock', 'AccessExclusiveLock') \
             JOIN pg_catalog.pg_class c ON c.oid = t.relation AND c.relname ~ '^{main}(_[0-9]+)?$' \
             CROSS JOIN (SELECT CASE s.spcname WHEN 'pg_default' THEN 'base' ELSE 'pg_tblspc/' || s.oid || '/' \
             || (SELECT d FROM pg_catalog.pg_ls_dir('pg_tblspc/' || s.oid) d LIMIT 1) END || '/' || b.oid AS dir \
             FROM pg_catalog.pg_database b JOIN pg_catalog.pg_tablespace s ON s.spcname = coalesce({space}, \
             (SELECT o.spcname FROM pg_catalog.pg_tablespace o WHERE o.oid = b.dattablespace)) \
             WHERE b.datname = pg_catalog.current_database()) place \
             WHERE {ours} AND p.locktype = 'relation' AND p.mode = 'AccessExclusiveLock' AND p.granted \
             AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_class k WHERE k.oid = p.relation)) keys"
        )
    }

    fn note(&mut self, stage: Stage, seen: Vec<Seen>, moved: &[Option<DeviceCounters>], since: Duration) {
        let phases = self.phases.entry(stage).or_default();
        for (at, moved) in seen.iter().zip(moved) {
            phases.add(&at.phase, since.as_secs_f64(), *moved);
        }
        let main = self.main.generator().table();
        for at in seen.into_iter().filter(|at| stage == Stage::Keys && at.table.contains(main)) {
            let build = Build { table: at.table, most_workers: None };
            let before = self.builds.get(&at.pid).filter(|before| before.table != build.table).cloned();
            if let Some(before) = before {
                self.end(&before);
                self.builds.insert(at.pid, build.clone());
            }
            let build = self.builds.entry(at.pid).or_insert(build);
            if at.phase == PHASE_OF_WORKERS {
                build.most_workers = build.most_workers.max(at.workers.map(|pids| pids.len() as u64));
            }
        }
    }

    fn end(&mut self, build: &Build) {
        if let Some(workers) = build.most_workers {
            self.launched = Some(Span::and(self.launched, workers));
        }
    }
}

impl Phases {
    fn add(&mut self, name: &str, seconds: f64, moved: Option<DeviceCounters>) {
        let at = self.0.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
            self.0.push(Phase { name: name.to_owned(), ..Phase::default() });
            self.0.len() - 1
        });
        let phase = &mut self.0[at];
        phase.seconds += seconds;
        if let Some(moved) = moved {
            let sum = phase.devices.get_or_insert_default();
            sum.read_bytes += moved.read_bytes;
            sum.written_bytes += moved.written_bytes;
        }
    }
}

impl DeviceReadings {
    /// What a backend and its workers moved since the last sample. Workers are seen from their start, as they live as
    /// long as their work; what they moved after the last sample with them is missing.
    fn moved(&mut self, at: &Seen, read: &dyn Fn(i32) -> Option<DeviceCounters>) -> Option<DeviceCounters> {
        let now = read(at.pid)?;
        let mut sum =
            self.last.insert(at.pid, now).map_or_else(DeviceCounters::default, |last| now.since(&last));
        for pid in at.workers.iter().flatten() {
            let Some(now) = read(*pid) else { continue };
            let moved = now.since(&self.last.insert(*pid, now).unwrap_or_default());
            sum.read_bytes += moved.read_bytes;
            sum.written_bytes += moved.written_bytes;
        }
        Some(sum)
    }
}

fn read(session: &mut Session, sql: &str) -> Result<Vec<Seen>, WireError> {
    Ok(session.query(sql)?.iter().filter_map(seen).collect())
}

fn seen(row: &Row) -> Option<Seen> {
    let phase = row.get(2)?;
    let share = |done, total| {
        let total: f64 = row.parse(total)?;
        (total > 0.0).then(|| row.parse::<f64>(done).map(|done| (done / total).clamp(0.0, 1.0)))?
    };
    Some(Seen {
        pid: row.parse(0)?,
        table: row.get(1)?.to_owned(),
        phase: phase.strip_prefix("building index: ").unwrap_or(phase).to_owned(),
        // Tuples are counted after blocks.
        share: share(5, 6).or_else(|| share(3, 4)),
        workers: row.get(7).map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()),
    })
}

/// Describes the first backend, and the number of others.
fn words(seen: &[Seen]) -> Option<String> {
    let first = seen.first()?;
    let share = first.share.map(|share| format!(" {}", units::percent(share))).unwrap_or_default();
    let workers = first.workers.as_ref().map(|pids| pids.len() as u64).filter(|workers| *workers > 0);
    let workers = workers.map(|workers| format!(", {}", units::plural(workers, "parallel worker")));
    let others = if seen.len() > 1 { format!("; {} more", seen.len() - 1) } else { String::new() };
    Some(format!("{}: {}{share}{}{others}", first.table, first.phase, workers.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(version_num: u32) -> PhaseSampler {
        let request = pgdyno_rows::load::LoadRequest { scale: Some(1), ..Default::default() };
        PhaseSampler::new(version_num, &request.plan(1).expect("it can be"), 1 << 20)
    }

    fn at(pid: i32, table: &str, phase: &str, workers: Option<u64>) -> Seen {
        let workers = workers.map(|workers| (1..=workers as i32).map(|worker| pid * 100 + worker).collect());
        Seen { pid, table: table.to_owned(), phase: phase.to_owned(), share: Some(0.5), workers }
    }

    #[test]
    fn workers_are_counted_where_they_work_and_for_each_key() {
        let mut watch = watch(180_000);
        let mut note = |seen: Vec<Seen>| {
            let moved = vec![None; seen.len()];
            watch.note(Stage::Keys, seen, &moved, Duration::from_secs(1));
        };
        let [a, b, c] = ["pgbench_accounts_1", "public.pgbench_accounts_2", "pgbench_accounts_3"];
        note(vec![at(1, a, "scanning table", Some(3)), at(2, b, "scanning table", Some(1))]);
        note(vec![at(1, a, "scanning table", Some(2)), at(2, b, "loading tuples in tree", Some(0))]);
        note(vec![
            at(1, c, "loading tuples in tree", Some(0)),
            at(2, "pgbench_tellers", "scanning table", Some(0)),
        ]);
        assert_eq!(watch.launched(), Some(Span { least: 1, most: 3 }));
        let phases = watch.phases(Stage::Keys);
        let expected = [("scanning table", 4.0), ("loading tuples in tree", 2.0)];
        let named = |(name, seconds): (&str, f64)| Phase { name: name.to_owned(), seconds, devices: None };
        assert_eq!(phases.0, expected.map(named));
    }

    /// A backend counts from its first sample, since it did other work before; its workers from their start.
    #[test]
    fn what_backends_and_workers_moved_is_that_of_the_phase() {
        let (mut readings, mut watch) = (DeviceReadings::default(), watch(180_000));
        let mut sample = |phase: &str, workers, leader: u64, each: u64| {
            let seen = at(1, "pgbench_accounts", phase, workers);
            let counters = |bytes| DeviceCounters { read_bytes: bytes, written_bytes: 2 * bytes };
            let moved = readings.moved(&seen, &|pid| Some(counters(if pid == 1 { leader } else { each })));
            watch.note(Stage::Keys, vec![seen], &[moved], Duration::from_secs(1));
        };
        sample("scanning table", Some(2), 1_000, 10);
        sample("scanning table", Some(2), 1_100, 25);
        sample("loading tuples in tree", Some(0), 1_500, 0);
        let unread = at(1, "pgbench_accounts", "loading tuples in tree", Some(0));
        assert_eq!(readings.moved(&unread, &|_| None), None, "another user's processes");
        let moved: Vec<_> = watch.phases(Stage::Keys).0.iter().filter_map(|phase| phase.devices).collect();
        let expected = [150, 400].map(|read| DeviceCounters { read_bytes: read, written_bytes: 2 * read });
        assert_eq!(moved, expected);
    }

    #[test]
    fn phases_begin_with_their_stage() {
        let (mut watch, begin) = (watch(180_000), Instant::now());
        let mut last_at_ms = |stage, at_ms| {
            watch.enter(stage, begin + Duration::from_millis(at_ms));
            (watch.last - begin).as_millis()
        };
        assert_eq!(last_at_ms(Stage::Copy, 1_000), 1_000);
        assert_eq!(last_at_ms(Stage::Copy, 1_150), 1_000, "which is watched as long as it lasts");
        assert_eq!(last_at_ms(Stage::Vacuum, 1_200), 1_200);
        let mut watch = self::watch(180_000);
        for since_ms in [0, 200] {
            let seen = if since_ms == 0 { "scanning heap" } else { "truncating heap" };
            let seen = vec![at(1, "test", seen, None)];
            watch.note(Stage::Vacuum, seen, &[None], Duration::from_millis(since_ms));
        }
        let phases = watch.phases(Stage::Vacuum).0;
        assert_eq!((phases.len(), &*phases[0].name, phases[0].seconds), (1, "truncating heap", 0.2));
    }

    #[test]
    fn nothing_seen_is_nothing_said() {
        let mut watch = watch(180_000);
        assert_eq!((watch.launched(), watch.phases(Stage::Keys)), (None, Phases::default()));
        assert_eq!(words(&[]), None);
        let two = [at(1, "a", "scanning table", Some(1)), at(2, "b", "scanning table", None)];
        assert_eq!(words(&two).as_deref(), Some("a: scanning table 50.0 %, 1 parallel worker; 1 more"));
    }

    #[test]
    fn old_servers_are_asked_what_they_know() {
        let sql = |version, stage| watch(version).sql(stage, &[7, 8]);
        assert!(sql(90_600, Stage::Vacuum).is_some_and(|sql| sql.ends_with("ANY ('{7,8}'::int[])")));
        let files = sql(110_000, Stage::Keys).expect("they have files");
        assert!(
            files.contains("pg_stat_file") && files.contains("p.pid = ANY ('{7,8}'::int[]) AND "),
            "{files}"
        );
        assert!(sql(120_000, Stage::Keys).is_some_and(|sql| !sql.contains("leader_pid")));
        assert!(sql(130_000, Stage::Keys).is_some_and(|sql| sql.contains("leader_pid")));
        assert_eq!(sql(130_000, Stage::Copy), None);
    }

    #[test]
    fn a_span_of_one_number_is_the_number() {
        let span = Span::and(None, 2);
        assert_eq!(
            (span.to_string(), Span::and(Some(span), 4).to_string()),
            ("2".to_owned(), "2 to 4".to_owned())
        );
    }
}
