//! What limits throughput, provoked on servers of pgdyno's own, each in two ways: thresholds were chosen by the first,
//! and the second was written down before it was run.

/// Tests that `cargo test` leaves out, and that run one at a time on a machine with nothing else to do: what another
/// test uses is a limit, too.
mod alone {
    use std::{
        fs,
        path::PathBuf,
        process::{Child, Command},
    };

    use pgdyno_core::results::{BottleneckKind, CellLimits};

    use crate::{
        common::{Place, text},
        scarce::{FewDirty, Group, through},
    };

    /// A workload on a server that it brings to a limit.
    #[derive(Default)]
    struct Way {
        /// Major version; 18 if it is empty.
        pg: &'static str,
        /// Settings as in a plan: `name = "value", …`.
        settings: &'static str,
        /// Tables of TPC-B at this scale; none if 0.
        scale: u32,
        /// SQL before the run.
        setup: &'static str,
        /// Lines before the script, and how often each.
        ahead: (&'static str, usize),
        /// The script.
        script: &'static str,
        clients: u32,
        /// Another client count at which it runs as well, if not 0.
        fewer_clients: u32,
        /// More keys of `[measure]`.
        measure: &'static str,
        /// More keys of `[server]`.
        server: &'static str,
        /// The data directory, if not in the usual place.
        data: Option<PathBuf>,
        /// The protocol, if not the usual one.
        protocol: &'static str,
    }

    impl Way {
        fn plan(&self) -> String {
            let Self { settings, scale, setup, ahead, script, clients, measure, server, .. } = self;
            let directory = self.data.as_ref().map(|dir| format!("data = \"{}\"\n", dir.display()));
            let directory = directory.unwrap_or_default();
            let protocol = match self.protocol {
                "" => String::new(),
                protocol => format!("protocol = \"{protocol}\"\n"),
            };
            let ahead = ahead.0.repeat(ahead.1);
            let data = match scale {
                0 => "scale = \"none\"".to_owned(),
                scale => format!("scale = {scale}"),
            };
            let setup = match *setup {
                "" => String::new(),
                setup => format!("setup_text = '''{setup}'''\n"),
            };
            // A client alone needs more seconds for enough samples.
            let duration = match (measure.contains("duration"), *clients) {
                (true, _) => String::new(),
                (false, ..4) => "duration = \"24s\"".to_owned(),
                (false, _) => "duration = \"6s\"".to_owned(),
            };
            let clients = match self.fewer_clients {
                0 => clients.to_string(),
                fewer => format!("{fewer}, {clients}"),
            };
            format!(
                "name = \"provoked\"\n[server]\nsettings = {{ {settings} }}\n{server}\n{directory}\
                 [data]\n{data}\n{setup}\
                 [[workload]]\nname = \"x\"\n{protocol}text = '''\n{ahead}{script}\n'''\n\
                 [measure]\nclients = [{clients}]\n{duration}\nwarmup = \"500ms\"\n\
                 blocks = 1\n{measure}\n"
            )
        }

        /// Runs it, and returns what was found to limit it.
        fn limits(&self) -> CellLimits {
            self.limits_of(|place, args| {
                place.done(args);
            })
        }

        fn limits_of(&self, run: impl FnOnce(&Place, &[&str])) -> CellLimits {
            let place = Place::new();
            fs::write(place.path("plan.toml"), self.plan()).expect("it can be written");
            let pg = if self.pg.is_empty() { "18" } else { self.pg };
            run(&place, &["run", "plan.toml", "--pg", pg, "--bundle"]);
            let record = place.only_run().record;
            record.limits.into_iter().next_back().expect("it has a cell")
        }

        /// The same with pgdyno, its server and its driver in a control group.
        fn limits_within(&self, group: &Group) -> CellLimits {
            self.limits_of(|place, args| {
                let output = group.around(&place.command(args)).output().expect("pgdyno can be run");
                assert!(output.status.success(), "{}", text(&output.stderr));
            })
        }
    }

    /// Each of these is limited by this before all else.
    fn are_limited_by(kind: BottleneckKind, ways: [Way; 2]) {
        for (number, way) in (1..).zip(ways) {
            is_first(kind, number, &way.limits());
        }
    }

    fn is_first(kind: BottleneckKind, number: usize, limits: &CellLimits) {
        is_found(kind, number, limits);
        assert_eq!(limits.found[0].kind, kind, "way {number}: {limits:?}");
    }

    /// It is limited by this, if not by this before all else.
    fn is_found(kind: BottleneckKind, number: usize, limits: &CellLimits) {
        let said = |found: &pgdyno_core::results::Bottleneck| {
            format!(
                "{:?} {:.2} {:?}: {}",
                found.kind,
                found.share,
                found.confidence,
                found.evidence.join("; ")
            )
        };
        let all: Vec<_> = limits.found.iter().map(said).collect();
        println!("{kind:?}, way {number}: {}", all.join(" | "));
        assert!(limits.found.iter().any(|found| found.kind == kind), "way {number}: {limits:?}");
        assert!(limits.unseen.is_empty(), "{limits:?}");
    }

    /// Programs that run during a test, and end with it.
    struct Background(Vec<Child>);

    impl Background {
        /// Programs that compute, on all CPUs or on this one.
        fn hogs(number: usize, cpu: Option<&str>) -> Self {
            // They end by themselves if the test is killed.
            let busy = ["-c", "while [ $SECONDS -lt 180 ]; do :; done"];
            let hog = || match cpu {
                None => Command::new("bash").args(busy).spawn(),
                // The kernel shares CPU time among sessions, and each server process has its own.
                Some(cpu) => Command::new("setsid").args(["taskset", "-c", cpu, "bash"]).args(busy).spawn(),
            };
            let hog = || hog().expect("there are bash, setsid and taskset");
            Self((0..number).map(|_| hog()).collect())
        }
    }

    impl Drop for Background {
        fn drop(&mut self) {
            for child in &mut self.0 {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }

    const COUNT: &str = "SELECT sum(i) FROM generate_series(1, 30000) i;";
    /// Driver and server share all CPUs of a machine with two.
    const ALL_CPUS: &str = "cpus = \"0-1\"";
    const BY_KEY: &str = "\\set aid random(1, 100000 * :scale)\n\
                          SELECT abalance FROM pgbench_accounts WHERE aid = :aid;";

    #[test]
    #[ignore = "takes a minute"]
    fn one_row_for_all() {
        let queue = Way {
            setup: "CREATE TABLE hot (id int PRIMARY KEY, n bigint); INSERT INTO hot VALUES (1, 0);",
            script: "UPDATE hot SET n = n + 1 WHERE id = 1;",
            clients: 12,
            ..Way::default()
        };
        let held = Way {
            pg: "12",
            setup: "CREATE TABLE hot (id int PRIMARY KEY, n bigint); INSERT INTO hot VALUES (1, 0), (2, 0);",
            script: "\\set id random(1, 2)\nBEGIN;\nSELECT n FROM hot WHERE id = :id FOR UPDATE;\n\\sleep 4 ms\n\
                     COMMIT;",
            clients: 16,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::RowLock, [queue, held]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn one_table_for_one_at_a_time() {
        let locked = Way {
            setup: "CREATE TABLE t (n int);",
            script: "BEGIN;\nLOCK TABLE t IN EXCLUSIVE MODE;\n\\sleep 3 ms\nCOMMIT;",
            clients: 12,
            ..Way::default()
        };
        let altered = Way {
            pg: "13",
            setup: "CREATE TABLE t (n int); INSERT INTO t SELECT generate_series(1, 100);",
            script: "BEGIN;\nALTER TABLE t ALTER n SET STATISTICS 100;\nSELECT count(*) FROM t;\n\\sleep 2 ms\n\
                     COMMIT;",
            clients: 8,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::TableLock, [locked, altered]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn a_flush_for_every_commit() {
        let alone = Way {
            setup: "CREATE TABLE t (n int);",
            script: "INSERT INTO t VALUES (1);",
            clients: 1,
            ..Way::default()
        };
        let opened = Way {
            pg: "15",
            settings: "wal_sync_method = \"open_datasync\"",
            setup: "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT generate_series(1, 1000), 0;",
            script: "\\set id random(1, 1000)\nUPDATE t SET n = n + 1 WHERE id = :id;",
            clients: 1,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::WalFlush, [alone, opened]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn commits_of_many() {
        let inserted = Way {
            setup: "CREATE TABLE t (n int);",
            script: "INSERT INTO t VALUES (1);",
            clients: 32,
            ..Way::default()
        };
        let updated = Way {
            pg: "12",
            setup: "CREATE TABLE t (id int PRIMARY KEY, n int) WITH (fillfactor = 10); \
                    INSERT INTO t SELECT generate_series(0, 63), 0;",
            script: "UPDATE t SET n = n + 1 WHERE id = :client_id;",
            clients: 16,
            ..Way::default()
        };
        // So many commits use up one CPU where the device is fast.
        for (number, way) in (1..).zip([inserted, updated]) {
            let Some(group) = Group::with_slow_device("blkio.throttle.write_iops_device", 400) else {
                return;
            };
            is_first(BottleneckKind::GroupCommit, number, &way.limits_within(&group));
        }
    }

    #[test]
    #[ignore = "takes a minute"]
    fn pages_from_the_device() {
        let keys = Way {
            settings: "debug_io_direct = \"data\", shared_buffers = \"4MB\"",
            scale: 30,
            script: BY_KEY,
            clients: 8,
            ..Way::default()
        };
        let scans = Way {
            pg: "16",
            settings: "debug_io_direct = \"data\", shared_buffers = \"16MB\"",
            scale: 30,
            script: "\\set aid random(1, 2990000)\n\
                     SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 2000;",
            clients: 6,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::ReadIo, [keys, scans]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn work_for_more_cpus() {
        let many = Way { scale: 1, script: BY_KEY, clients: 16, ..Way::default() };
        let heavy = Way { pg: "9.6", script: COUNT, clients: 4, ..Way::default() };
        are_limited_by(BottleneckKind::ServerCpu, [many, heavy]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn a_driver_that_computes() {
        let numbers = Way {
            ahead: ("\\set x (:client_id * 7 + 3) % 1000 + random(1, 10)\n", 400),
            script: "SELECT 1;",
            clients: 8,
            measure: "jobs = 1",
            ..Way::default()
        };
        let draws = Way {
            pg: "14",
            ahead: ("\\set x random_gaussian(1, 1000, 3.0) + hash(:client_id)\n", 200),
            script: "SELECT 1;",
            clients: 12,
            measure: "jobs = 1",
            ..Way::default()
        };
        are_limited_by(BottleneckKind::Driver, [numbers, draws]);
    }

    /// The driver alone is kept from its CPU: by a quota, and by other programs that go first.
    #[test]
    #[ignore = "takes a minute"]
    fn a_driver_without_cpu_time() {
        let place = Place::new();
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        let way = Way { script: "SELECT 1;", clients: 8, ..Way::default() };
        fs::write(place.path("plan.toml"), way.plan()).expect("it can be written");
        let driven = |number, command: &mut Command| {
            let output = command.output().expect("pgdyno can be run");
            assert!(output.status.success(), "{}", text(&output.stderr));
            let record = place.runs().pop().expect("it was recorded").record;
            is_first(BottleneckKind::DriverStarved, number, &record.limits[0]);
        };
        let command = place.command(&["run", "plan.toml", "--server", "main"]);
        if let Some(group) = Group::with_quota(0.08) {
            driven(1, &mut group.around(&command));
        }
        let background = Background::hogs(3, None);
        // More would keep the observers from their CPU as well.
        driven(2, &mut through(&["nice", "-n", "10"], &command));
        drop(background);
        place.done(&["down", "main"]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn clients_that_think() {
        let between = Way { script: "SELECT 1;\n\\sleep 2 ms", clients: 6, ..Way::default() };
        let within = Way {
            pg: "10",
            scale: 1,
            script: "BEGIN;\nSELECT 1;\n\\sleep 700 us\nSELECT 2;\n\\sleep 700 us\nEND;",
            clients: 4,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::ClientRoundTrips, [between, within]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn one_client_on_two_cpus() {
        let counts = Way { script: COUNT, clients: 1, server: ALL_CPUS, ..Way::default() };
        let joins = Way {
            pg: "13",
            settings: "max_parallel_workers_per_gather = \"0\"",
            setup: "CREATE TABLE t AS SELECT i, md5(i::text) AS m FROM generate_series(1, 20000) i;",
            script: "SELECT count(*) FROM t a JOIN t b USING (m);",
            clients: 1,
            server: ALL_CPUS,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::FewClients, [counts, joins]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn cpus_that_others_use() {
        // On the CPU of the server: elsewhere they would keep the driver from its own.
        let ways = [
            (4, Way { script: COUNT, clients: 4, server: "cpus = \"0\"", ..Way::default() }),
            (
                6,
                Way {
                    pg: "15",
                    scale: 1,
                    script: BY_KEY,
                    clients: 8,
                    server: "cpus = \"0\"",
                    ..Way::default()
                },
            ),
        ];
        for (number, (hogs, way)) in (1..).zip(ways) {
            let limits = way.limits_of(|place, args| {
                let _background = Background::hogs(hogs, Some("0"));
                place.done(args);
            });
            is_first(BottleneckKind::OtherPrograms, number, &limits);
        }
    }

    /// Checkpoints that fill a third of the time and more, on a device that cannot take their writes in addition to the
    /// full-page images that they cause: 130 and 260 MB each, at 20 MB a second. What sessions wait for most, and
    /// otherwise as well, is the queue for flushing.
    #[test]
    #[ignore = "takes three minutes"]
    fn checkpoints_that_disturb() {
        let updates = "\\set aid random(1, 100000 * :scale)\n\
                       UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;";
        let spread = Way {
            settings: "checkpoint_timeout = \"30s\", checkpoint_completion_target = \"0.5\"",
            scale: 10,
            script: updates,
            clients: 8,
            measure: "duration = \"90s\"",
            ..Way::default()
        };
        let early = Way {
            pg: "14",
            settings: "checkpoint_timeout = \"30s\", checkpoint_completion_target = \"0.2\"",
            scale: 20,
            script: updates,
            clients: 16,
            measure: "duration = \"75s\"",
            ..Way::default()
        };
        for (number, way) in (1..).zip([spread, early]) {
            let Some(group) = Group::with_slow_device("blkio.throttle.write_bps_device", 20 << 20) else {
                return;
            };
            is_found(BottleneckKind::Checkpoints, number, &way.limits_within(&group));
        }
    }

    /// Backends write pages themselves, and the kernel lets them wait until others are written.
    #[test]
    #[ignore = "takes a minute"]
    fn a_kernel_that_keeps_few_dirty_pages() {
        let Some(few) = FewDirty::mount("ext4", 512 << 10) else { return };
        let updated = Way {
            // Sessions that wait for I/O workers, which share their CPU, wait for that first.
            settings: "shared_buffers = \"2MB\", bgwriter_lru_maxpages = \"0\", io_method = \"sync\"",
            setup: "DO $$ BEGIN FOR k IN 0..7 LOOP EXECUTE format('CREATE UNLOGGED TABLE t%s AS SELECT i, 0 AS n, \
                    repeat(''x'', 400) AS filler FROM generate_series(1, 6000) i', k); END LOOP; END $$;",
            script: "UPDATE t:client_id SET n = n + 1;",
            clients: 8,
            data: few.data(),
            protocol: "simple",
            ..Way::default()
        };
        is_first(BottleneckKind::DirtyPages, 1, &updated.limits());
        drop(few);
        let Some(few) = FewDirty::mount("ext4", 256 << 10) else { return };
        let inserted = Way {
            pg: "12",
            settings: "shared_buffers = \"1MB\"",
            setup: "DO $$ BEGIN FOR k IN 0..7 LOOP EXECUTE format('CREATE UNLOGGED TABLE t%s (filler text)', k); \
                    END LOOP; END $$;",
            script: "INSERT INTO t:client_id SELECT repeat('x', 500) FROM generate_series(1, 500);",
            clients: 8,
            data: few.data(),
            protocol: "simple",
            ..Way::default()
        };
        is_first(BottleneckKind::DirtyPages, 2, &inserted.limits());
    }

    #[test]
    #[ignore = "takes a minute"]
    fn a_table_that_many_extend() {
        let wide = Way {
            pg: "15",
            settings: "synchronous_commit = \"off\", wal_level = \"minimal\", max_wal_senders = \"0\"",
            setup: "CREATE UNLOGGED TABLE t (filler text) WITH (fillfactor = 10); \
                    ALTER TABLE t ALTER filler SET STORAGE PLAIN;",
            script: "INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 50);",
            clients: 16,
            ..Way::default()
        };
        let copied = Way {
            pg: "12",
            setup: "CREATE UNLOGGED TABLE t (filler text); ALTER TABLE t ALTER filler SET STORAGE PLAIN;",
            script: "INSERT INTO t SELECT repeat('x', 7000) FROM generate_series(1, 200);",
            clients: 12,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::RelationExtension, [wide, copied]);
    }

    /// A device that takes few writes, and one that serves few reads.
    #[test]
    #[ignore = "takes two minutes"]
    fn a_device_that_is_slow() {
        let committed = Way {
            setup: "CREATE TABLE t (n int);",
            script: "INSERT INTO t VALUES (1);",
            // Two would wait as long for each other's flush as for their own.
            clients: 1,
            ..Way::default()
        };
        let read = Way {
            pg: "17",
            settings: "debug_io_direct = \"data\", shared_buffers = \"4MB\"",
            scale: 5,
            script: BY_KEY,
            clients: 4,
            ..Way::default()
        };
        let ways = [
            ("blkio.throttle.write_iops_device", 150, BottleneckKind::WalFlush, committed),
            ("blkio.throttle.read_iops_device", 400, BottleneckKind::ReadIo, read),
        ];
        for (number, (limit, per_s, kind, way)) in (1..).zip(ways) {
            let Some(group) = Group::with_slow_device(limit, per_s) else { return };
            is_first(kind, number, &way.limits_within(&group));
        }
    }

    /// The kernel takes pages from the server that it will read again. What the reads themselves cost may come first.
    #[test]
    #[ignore = "takes a minute"]
    fn memory_that_is_scarce() {
        let scans = Way {
            settings: "shared_buffers = \"48MB\", maintenance_work_mem = \"8MB\"",
            scale: 60,
            script: "\\set aid random(1, 5980000)\n\
                     SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 20000;",
            clients: 8,
            ..Way::default()
        };
        let more = Way {
            pg: "14",
            settings: "shared_buffers = \"32MB\", maintenance_work_mem = \"8MB\"",
            scale: 60,
            script: "\\set aid random(1, 5990000)\n\
                     SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 5000;",
            clients: 12,
            server: ALL_CPUS,
            ..Way::default()
        };
        for (number, way) in (1..).zip([scans, more]) {
            let Some(group) = Group::with_memory(320 << 20) else { return };
            is_found(BottleneckKind::Memory, number, &way.limits_within(&group));
        }
    }

    /// One row for 4 clients, and for so many that they hinder each other.
    #[test]
    #[ignore = "takes two minutes"]
    fn more_clients_than_are_good() {
        let queue = Way {
            pg: "9.6",
            setup: "CREATE TABLE hot (id int PRIMARY KEY, n bigint); INSERT INTO hot VALUES (1, 0);",
            script: "UPDATE hot SET n = n + 1 WHERE id = 1;",
            clients: 200,
            fewer_clients: 4,
            ..Way::default()
        };
        let counted = Way {
            settings: "work_mem = \"64MB\"",
            setup: "CREATE TABLE hot (id int PRIMARY KEY, n bigint); INSERT INTO hot VALUES (1, 0), (2, 0);",
            script: "\\set id random(1, 2)\nBEGIN;\nUPDATE hot SET n = n + 1 WHERE id = :id;\nSELECT 1;\nEND;",
            clients: 150,
            fewer_clients: 8,
            ..Way::default()
        };
        for (number, way) in (1..).zip([queue, counted]) {
            is_found(BottleneckKind::ManyClients, number, &way.limits());
        }
    }

    #[test]
    #[ignore = "takes a minute"]
    fn too_little_work_mem() {
        let sorted = Way {
            settings: "work_mem = \"64kB\", max_parallel_workers_per_gather = \"0\"",
            setup: "CREATE TABLE t AS SELECT i, repeat(md5(i::text), 20) AS m FROM generate_series(1, 20000) i;",
            script: "SELECT count(*) FROM (SELECT * FROM t ORDER BY m OFFSET 0) s;",
            clients: 4,
            ..Way::default()
        };
        let kept = Way {
            pg: "14",
            settings: "work_mem = \"64kB\"",
            script: "WITH w AS MATERIALIZED (SELECT repeat('x', 2000) AS x FROM generate_series(1, 20000))\n\
                     SELECT count(x) FROM w;",
            clients: 4,
            ..Way::default()
        };
        are_limited_by(BottleneckKind::TemporaryFiles, [sorted, kept]);
    }

    #[test]
    #[ignore = "takes a minute"]
    fn a_process_that_all_wait_for() {
        let checkpoints = Way {
            setup: "CREATE TABLE t (n int);",
            script: "INSERT INTO t SELECT generate_series(1, 100);\nCHECKPOINT;",
            clients: 6,
            ..Way::default()
        };
        is_first(BottleneckKind::OtherProcesses, 1, &checkpoints.limits());
    }

    /// Clients that keep a rate below what the server can do are limited by nothing.
    #[test]
    #[ignore = "takes four minutes"]
    fn nothing_limits_what_has_reserves() {
        for number in 0..10 {
            let idle = Way { script: "SELECT 1;", clients: 4, measure: "rate = 20", ..Way::default() };
            let tuned =
                Way { scale: 1, script: BY_KEY, clients: 8, measure: "rate = 1500", ..Way::default() };
            for way in [idle, tuned] {
                let limits = way.limits();
                assert!(limits.found.is_empty(), "run {number}: {limits:?}");
            }
        }
    }
}
