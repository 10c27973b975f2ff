//! Connections to an existing server: through PgBouncer in each of its modes, and to a standby.

use std::{
    fs,
    net::TcpListener,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use pgdyno_analysis::compare::Fairness;
use pgdyno_core::{facts::ConnectionFacts, measure::Arm};
use pgdyno_record::Run;
use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use crate::common::{
    Place, admin, am_root, brief, is_complete, kill, left_out, text, tiny, wait_until, word,
};

/// An existing server.
struct There {
    place: Place,
    server: Value,
    port: String,
}

impl There {
    fn new(settings: &[&str]) -> Self {
        let place = Place::new();
        let port = free_port();
        let mut args = vec!["up", "--pg", "18", "--bundle", "--listen", "127.0.0.1", "--port", &port];
        settings.iter().for_each(|setting| args.extend(["--set", setting]));
        place.done(&args);
        let server = place.only();
        // The same name as one of ours, for sessions that look into the wrong schema.
        let wrong = "CREATE TABLE public.pgbench_accounts AS SELECT 7 AS aid, 7 AS abalance";
        admin(&server).execute(wrong).expect("it can be made");
        Self { place, server, port }
    }

    fn socket(&self) -> &str {
        word(&self.server, "socket_dir")
    }

    fn dsn(&self) -> String {
        format!("host={} port={} user=postgres dbname=postgres", self.socket(), self.port)
    }

    fn bench(&self, flags: &[&str]) -> Run {
        self.place.done(&tiny(flags));
        let run = self.place.runs().pop().expect("there is a run");
        is_complete(&run);
        let mut admin = admin(&self.server);
        let left =
            admin.query("SELECT nspname FROM pg_namespace WHERE nspname = 'pgdyno'").expect("it can be read");
        assert!(left.is_empty(), "the schema was left behind");
        run
    }

    fn refused(&self, flags: &[&str], words: &[&str]) {
        let said = self.place.refused(&tiny(flags), 2);
        words.iter().for_each(|words| assert!(said.contains(words), "{flags:?} {words}: {said}"));
        assert_eq!(self.place.runs().len(), 0, "nothing was begun");
    }
}

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    listener.expect("a port is free").port().to_string()
}

/// A command as the user that the servers of the test run as: theirs is the socket.
fn as_server(program: &Path) -> Command {
    if !am_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// PgBouncer in front of a server; `None` if it is not installed.
fn pgbouncer(there: &There, mode: &str, more: &str) -> Option<(Running, String)> {
    let program =
        ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(PathBuf::from).into_iter().find(|p| p.exists());
    let Some(program) = program else {
        left_out("PgBouncer is not installed");
        return None;
    };
    let port = free_port();
    let users = there.place.path(&format!("users-{mode}"));
    fs::write(&users, "\"postgres\" \"\"\n").expect("it can be written");
    let config = there.place.path(&format!("pgbouncer-{mode}.ini"));
    let ini = format!(
        "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\nauth_type = trust\nauth_file = {}\nadmin_users = postgres\npool_mode = {mode}\n\
         max_client_conn = 100\n{more}\n",
        there.socket(),
        there.port,
        users.display()
    );
    fs::write(&config, ini).expect("it can be written");
    let mut command = as_server(&program);
    let child =
        command.arg("-q").arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(child.spawn().expect("it can be started"));
    let number = port.parse().expect("it is a number");
    let options = ConnectOptions::local(Address::Tcp("127.0.0.1".to_owned(), number), "postgres");
    wait_until("PgBouncer answers", || connect(&options).is_ok());
    Some((running, format!("host=127.0.0.1 port={port} user=postgres dbname=postgres")))
}

fn way(run: &Run) -> &ConnectionFacts {
    run.record.subjects[0].connection.as_ref().expect("the server was there")
}

#[test]
fn clients_are_driven_through_a_pooler_in_transaction_mode() {
    let there = There::new(&[]);
    let Some((_pooler, dsn)) = pgbouncer(&there, "transaction", "default_pool_size = 3") else { return };
    let admin_dsn = there.dsn();
    there.refused(
        &["--dsn", &dsn],
        &["could not prepare through PgBouncer", "after every transaction", "--admin-dsn"],
    );
    there.refused(&["--dsn", &admin_dsn, "--admin-dsn", &dsn], &["could not prepare through PgBouncer"]);
    // More clients than server connections: they share them.
    let run = there.bench(&["--dsn", &dsn, "--admin-dsn", &admin_dsn, "--clients", "1,8", "--check", "full"]);
    let pooler = way(&run).pooler.as_ref().expect("it is found");
    assert!(pooler.name.as_deref().is_some_and(|name| name.starts_with("PgBouncer 1.")), "{pooler:?}");
    assert_eq!(pooler.mode, "transaction");
    assert!(way(&run).separate_admin && !way(&run).standby && way(&run).encryption.is_none());
    // Before 1.21, and without max_prepared_statements, clients meet each other's prepared statements.
    let wanted = if pooler.keeps_prepared { "prepared" } else { "extended" };
    for cell in &run.record.runs {
        assert_eq!((&cell.workload.protocol[..], cell.counts.failed), (wanted, 0));
        assert!(cell.counts.committed > 0);
    }
    let chosen = run.record.choices.iter().any(|choice| choice.name == "protocol");
    assert_eq!(chosen, !pooler.keeps_prepared);
    let balance = run.record.subjects[0].balance.as_ref().expect("it was checked");
    assert_eq!(balance.violations, 0, "{:?}", balance.examples);
    let html = fs::read_to_string(run.path.join("report.html")).expect("it is there");
    assert!(html.contains("PgBouncer 1."), "the report names it");
}

#[test]
fn a_pooler_in_session_mode_is_as_good_as_the_server() {
    let there = There::new(&[]);
    let Some((_pooler, dsn)) = pgbouncer(&there, "session", "default_pool_size = 20") else { return };
    let run = there.bench(&["--dsn", &dsn, "--check", "full"]);
    let pooler = way(&run).pooler.as_ref().expect("it is found");
    assert_eq!((&pooler.mode[..], pooler.keeps_prepared), ("session", true));
    assert!(
        run.record.runs.iter().all(|cell| cell.workload.protocol == "prepared" && cell.counts.failed == 0)
    );
    assert_eq!(run.record.subjects[0].balance.as_ref().expect("it was checked").violations, 0);
}

#[test]
fn transaction_blocks_are_not_driven_through_a_pooler_in_statement_mode() {
    let there = There::new(&[]);
    let Some((_pooler, dsn)) = pgbouncer(&there, "statement", "default_pool_size = 3") else { return };
    let flags = ["--dsn", &dsn, "--admin-dsn", &there.dsn()];
    there.refused(&flags, &["could not run tpcb-like through a pooler in statement mode", "select-only"]);
    let plan = reads_only(&there.place);
    there.place.done(&["run", &plan, flags[0], flags[1], flags[2], flags[3]]);
    let run = there.place.only_run();
    assert_eq!(way(&run).pooler.as_ref().expect("it is found").mode, "statement");
    assert!(run.record.runs.iter().all(|cell| cell.counts.failed == 0 && cell.counts.committed > 0));
}

#[test]
fn a_server_without_a_pooler_has_none() {
    let there = There::new(&[]);
    let run = there.bench(&["--dsn", &there.dsn()]);
    assert_eq!(way(&run).pooler, None);
    assert!(!way(&run).separate_admin);
    let said = there.place.refused(&["bench", "--quick", "--admin-dsn", &there.dsn()], 2);
    assert!(said.contains("--admin-dsn alone") && said.contains("--dsn"), "{said}");
}

/// A plan that only reads, short.
fn reads_only(place: &Place) -> String {
    let path = place.path("reads.toml");
    let plan = "name = \"reads\"\n[data]\nscale = 1\n[[workload]]\nscript = \"select-only\"\n[measure]\n\
                clients = [2]\nduration = \"1500ms\"\nwarmup = \"100ms\"\nblocks = 2\n";
    fs::write(&path, plan).expect("it can be written");
    path.display().to_string()
}

/// A standby of a server: a copy of its data, made while it was down.
struct Standby {
    _running: Running,
    dsn: String,
    address: Address,
}

impl Standby {
    fn of(there: &There) -> Self {
        let place = &there.place;
        let needed =
            ["max_connections", "max_worker_processes", "max_wal_senders", "max_locks_per_transaction"];
        let mut primary = admin(&there.server);
        let same: Vec<String> = needed
            .iter()
            .map(|name| {
                let value = primary.value(&format!("SHOW {name}")).expect("it has that").unwrap_or_default();
                format!("{name}={value}")
            })
            .collect();
        drop(primary);
        let bindir = PathBuf::from(word(&there.server, "bindir"));
        place.done(&["down", "main"]);
        let (copy, sockets) = (place.path("standby"), place.path("s"));
        let copied = Command::new("cp").arg("-a").arg(word(&there.server, "data_dir")).arg(&copy).status();
        assert!(copied.expect("cp can be run").success());
        fs::create_dir(&sockets).expect("it can be made");
        fs::set_permissions(&sockets, fs::Permissions::from_mode(0o777)).expect("it is ours");
        place.done(&["up", "--pg", "18", "--bundle", "--listen", "127.0.0.1", "--port", &there.port]);
        fs::write(copy.join("standby.signal"), "").expect("it can be written");
        fs::write(place.path("hba"), "local all all trust\n").expect("it can be written");
        fs::write(place.path("conf"), "").expect("it can be written");
        let port = free_port();
        let mut command = as_server(&bindir.join("postgres"));
        command.arg("-D").arg(&copy);
        let set = |command: &mut Command, setting: String| {
            command.args(["-c", &setting]);
        };
        same.into_iter().for_each(|setting| set(&mut command, setting));
        for setting in [
            format!("config_file={}", place.path("conf").display()),
            format!("hba_file={}", place.path("hba").display()),
            format!("unix_socket_directories={}", sockets.display()),
            format!("primary_conninfo=host={} port={} user=postgres", there.socket(), there.port),
            format!("port={port}"),
            "listen_addresses=".to_owned(),
        ] {
            set(&mut command, setting);
        }
        let log = fs::File::create(place.path("standby.log")).expect("it can be made");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let running = Running(child.expect("it can be started"));
        let address = Address::Unix(sockets.clone(), port.parse().expect("it is a number"));
        let dsn = format!("host={} port={port} user=postgres dbname=postgres", sockets.display());
        let standby = Self { _running: running, dsn, address };
        wait_until("the standby answers", || connect(&standby.options()).is_ok());
        standby
    }

    fn options(&self) -> ConnectOptions {
        ConnectOptions::local(self.address.clone(), "postgres")
    }
}

fn value(session: &mut Session, sql: &str) -> String {
    session.value(sql).expect("it answers").unwrap_or_default()
}

/// Ctrl-C ends the wait for a server that takes connections and says nothing, however long it may take.
#[test]
fn a_frozen_server_keeps_nobody_waiting() {
    let place = Place::new();
    let dir = place.path("frozen");
    fs::create_dir(&dir).expect("it can be made");
    let listener = UnixListener::bind(dir.join(".s.PGSQL.5432")).expect("it listens");
    let mut command = place.command(&["bench", "-h", dir.to_str().expect("UTF-8")]);
    command.env("PGCONNECT_TIMEOUT", "600").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it can be started");
    listener.set_nonblocking(true).expect("it can be polled");
    let mut taken = None;
    wait_until("it connects", || {
        taken = listener.accept().ok();
        taken.is_some()
    });
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("it is ours").is_none(), "it waits");
    kill(child.id().into(), "-INT");
    wait_until("it ends", || child.try_wait().expect("it is ours").is_some());
    let output = child.wait_with_output().expect("it has ended");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("stopped") && said.contains("frozen"), "{said}");
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// What does a pooler cost? A connects through it, B does not; each has its own database.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_comparison_may_be_one_of_two_ways() {
        let there = There::new(&[]);
        let Some((_pooler, through)) = pgbouncer(&there, "transaction", "") else { return };
        admin(&there.server).execute("CREATE DATABASE direct").expect("it can be made");
        let (prepared, direct) = (there.dsn(), there.dsn().replace("dbname=postgres", "dbname=direct"));
        let ways = ["--dsn", &through, "--admin-dsn", &prepared, "--dsn", &direct, "--admin-dsn", &direct];
        let size =
            ["--scale", "1", "--clients", "2", "--duration", brief(), "--warmup", "50ms", "--blocks", "3"];
        there.place.done(&[&["ab"], &ways[..], &size].concat());
        let run = there.place.only_run();
        let arms = &run.record.subjects;
        let pooler = |arm: usize| arms[arm].connection.as_ref().expect("it was there").pooler.as_ref();
        let keeps_prepared = pooler(0).expect("it is found").keeps_prepared;
        assert!(pooler(1).is_none());
        // What one of them cannot do is not measured as a difference of the ways.
        let protocol = if keeps_prepared { "prepared" } else { "extended" };
        assert!(
            run.record.runs.iter().all(|cell| cell.workload.protocol == protocol && cell.counts.failed == 0)
        );
        for arm in arms {
            let balance = arm.balance.as_ref().expect("it was checked");
            assert_eq!(
                (balance.violations, balance.history_rows),
                (0, balance.committed),
                "{:?}",
                balance.examples
            );
        }
        let options = ConnectOptions::local(
            Address::Unix(there.socket().into(), there.port.parse().expect("a port")),
            "postgres",
        );
        for database in ["postgres", "direct"] {
            let mut session = connect(&ConnectOptions { database: database.into(), ..options.clone() })
                .expect("it is there");
            assert_eq!(
                value(&mut session, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'"),
                "0"
            );
        }
    }

    /// Six clients share three server connections, and no transaction meets another's statements.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tpcc_is_driven_through_a_pooler_without_settings_of_sessions() {
        let there = There::new(&["fsync=off"]);
        let Some((_pooler, dsn)) = pgbouncer(&there, "transaction", "default_pool_size = 3") else { return };
        there.place.done(&["load", "tpcc", "--server", "main", "--warehouses", "1", "--no-verify"]);
        let admin_dsn = there.dsn();
        let flags = |shape| {
            let ways = ["tpcc", "run", "--dsn", &dsn, "--admin-dsn", &admin_dsn, "--clients", "6"];
            [&ways[..], &["--shape", shape, "--blocks", "1", "--duration", "2s", "--warmup", "100ms"]]
                .concat()
        };
        for shape in ["statements", "pipelined"] {
            let said = there.place.done(&flags(shape));
            assert!(said.contains("consistent: all 17 conditions hold"), "{said}");
            let run = there.place.runs().pop().expect("there is a run");
            assert!(way(&run).pooler.is_some());
            let scripts = &run.record.runs[0].scripts;
            assert!(scripts.iter().all(|script| script.failed == 0), "{scripts:?}");
            assert!(scripts[0].committed > 10, "{scripts:?}");
        }
        let said = there.place.refused(&flags("functions"), 2);
        assert!(said.contains("through a pooler: its sessions cannot be configured"), "{said}");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_pooler_that_asks_for_tls_gets_it() {
        let there = There::new(&[]);
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let file = |name: &str, text: &str| {
            let path = there.place.path(name);
            fs::write(&path, text).expect("it can be written");
            path.display().to_string()
        };
        let certificate = file("pooler.crt", &own.cert.pem());
        let key = file("pooler.key", &own.signing_key.serialize_pem());
        let tls = format!(
            "client_tls_sslmode = require\nclient_tls_cert_file = {certificate}\nclient_tls_key_file = {key}\n\
             default_pool_size = 3"
        );
        let Some((_pooler, dsn)) = pgbouncer(&there, "transaction", &tls) else { return };
        let admin_dsn = there.dsn();
        let plain = format!("{dsn} sslmode=disable");
        let said = there.place.refused(&tiny(&["--dsn", &plain, "--admin-dsn", &admin_dsn]), 3);
        assert!(said.contains("could not connect to"), "{said}");
        let dsn =
            format!("{dsn} hostaddr=127.0.0.1 host=localhost sslmode=verify-full sslrootcert={certificate}");
        let run =
            there.bench(&["--dsn", &dsn, "--admin-dsn", &admin_dsn, "--clients", "1,8", "--check", "full"]);
        let encryption = way(&run).encryption.as_ref().expect("it is encrypted");
        assert!(encryption.starts_with("TLSv1."), "{encryption}");
        assert!(way(&run).pooler.is_some());
        for cell in &run.record.runs {
            assert!(
                cell.counts.failed == 0 && cell.counts.committed > 0,
                "{:?} {:?}",
                cell.counts,
                cell.errors
            );
        }
        assert_eq!(run.record.subjects[0].balance.as_ref().expect("it was checked").violations, 0);
    }

    /// Two databases of one server, one of them through a pooler: as subjects of a plan each has its own connection.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_pooler_in_front_of_one_subject_is_named() {
        let there = There::new(&[]);
        let plan = reads_only(&there.place);
        let one = there.dsn();
        admin(&there.server).execute("CREATE DATABASE other").expect("it can be made");
        let run = |first: &str, second: &str| {
            let words = [first, second].map(|dsn| format!("dsn={dsn}"));
            there.place.run(&["run", &plan, "--subject", &words[0], "--subject", &words[1]])
        };
        if let Some((_pooler, dsn)) = pgbouncer(&there, "transaction", "") {
            let err = text(&run(&one, &dsn.replace("dbname=postgres", "dbname=other")).stderr);
            assert!(
                err.contains(": could not prepare through PgBouncer") && err.contains("dsn=host=127"),
                "{err}"
            );
            let with_admin = format!(
                "{},admin-dsn={}",
                dsn.replace("dbname=postgres", "dbname=other"),
                one.replace("dbname=postgres", "dbname=other")
            );
            let output = run(&one, &with_admin);
            assert!(output.status.success(), "{}", text(&output.stderr));
            let run = there.place.only_run();
            let list = &run.record.subjects;
            let mode =
                list[1].connection.as_ref().and_then(|way| way.pooler.as_ref()).map(|pooler| &*pooler.mode);
            assert_eq!(mode, Some("transaction"));
            std::fs::remove_dir_all(&run.path).expect("it is ours");
        }
        let Some((_pooler, dsn)) = pgbouncer(&there, "session", "default_pool_size = 20") else { return };
        let output = run(&one, &dsn.replace("dbname=postgres", "dbname=other"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let run = there.place.only_run();
        let list = &run.record.subjects;
        let pooler = |at: usize| list[at].connection.as_ref().expect("it was there").pooler.as_ref();
        assert_eq!((pooler(0), pooler(1).map(|pooler| &*pooler.mode)), (None, Some("session")));
        let besides = &list[1].comparable.as_ref().expect("it was judged").besides;
        assert!(besides.contains(&"pooler".to_owned()), "{besides:?}");
        // A pooler's clients do not know the number of the process that works for them.
        for cell in &run.record.runs {
            let direct = cell.workload.subject.as_deref() == Some(list[0].name.as_str());
            assert!(
                cell.slowest.iter().all(|slow| slow.backend_pid.is_some() == direct),
                "{:?}",
                cell.workload
            );
        }
        assert!(
            run.record.runs.iter().all(|cell| cell.idle.is_none()),
            "both are one server: none of them is idle"
        );
    }

    /// What does a pooler cost, on the same tables? Both arms use those of one database, and every commit is in its
    /// history.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_pooler_and_its_server_share_tables_that_are_there() {
        let there = There::new(&[]);
        let Some((_pooler, through)) = pgbouncer(&there, "transaction", "") else { return };
        admin(&there.server).execute("CREATE DATABASE shared").expect("it can be made");
        let [through, direct] =
            [through, there.dsn()].map(|dsn| dsn.replace("dbname=postgres", "dbname=shared"));
        there.place.done(&["load", "tpcb", "--dsn", &direct, "--scale", "1", "--no-record"]);
        let ways =
            ["ab", "--dsn", &through, "--admin-dsn", &direct, "--dsn", &direct, "--admin-dsn", &direct];
        let size = ["--clients", "2", "--duration", brief(), "--warmup", "50ms", "--blocks", "3"];
        let said = there.place.refused(&[&ways[..], &size].concat(), 2);
        assert!(said.contains("is reached in two ways") && said.contains("--tables existing"), "{said}");
        there.place.done(&[&ways[..], &size, &["--tables", "existing"]].concat());
        let record = there.place.only_run().record;
        let pooler =
            |arm: usize| record.subjects[arm].connection.as_ref().and_then(|way| way.pooler.as_ref());
        let keeps_prepared = pooler(0).expect("it is found").keeps_prepared;
        assert!(pooler(1).is_none());
        let protocol = if keeps_prepared { "prepared" } else { "extended" };
        assert!(record.runs.iter().all(|run| run.workload.protocol == protocol && run.counts.failed == 0));
        let options = ConnectOptions::local(
            Address::Unix(there.socket().into(), there.port.parse().expect("a port")),
            "postgres",
        );
        let mut session = connect(&options.with_database("shared")).expect("it is there");
        let rows = value(&mut session, "SELECT count(*) FROM pgbench_history").parse().expect("a number");
        for arm in &record.subjects {
            let balance = arm.balance.as_ref().expect("it was checked");
            assert_eq!((balance.violations, balance.history_rows, balance.committed), (0, rows, rows));
        }
        assert_eq!(value(&mut session, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'"), "0");
    }

    /// Is the standby as fast as its primary? Both are set up on the primary, each in its own database, and read.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_comparison_may_have_a_standby_in_it() {
        let there = There::new(&["wal_level=replica", "max_wal_senders=4"]);
        let standby = Standby::of(&there);
        admin(&there.server).execute("CREATE DATABASE direct").expect("it can be made");
        let (prepared, direct) = (there.dsn(), there.dsn().replace("dbname=postgres", "dbname=direct"));
        let ways =
            ["--dsn", &direct, "--admin-dsn", &direct, "--dsn", &standby.dsn, "--admin-dsn", &prepared];
        let size =
            ["--scale", "1", "--clients", "2", "--duration", "1500ms", "--warmup", "100ms", "--blocks", "3"];
        let ab = [&["ab"], &ways[..], &size].concat();
        let said = there.place.refused(&ab, 2);
        assert!(
            said.contains("could not run tpcb-like on a standby") && said.contains("select-only"),
            "{said}"
        );
        assert_eq!(there.place.runs().len(), 0, "nothing was begun");

        there.place.done(&[&ab[..], &["--builtin", "select-only"]].concat());
        let run = there.place.only_run();
        is_complete(&run);
        let arms = &run.record.subjects;
        let is_standby = |arm: usize| arms[arm].connection.as_ref().expect("it was there").standby;
        assert_eq!((is_standby(0), is_standby(1)), (false, true));
        assert!(run.record.stages.iter().any(|stage| stage.name == "replication"));
        // What is observed of an arm is its own server: the standby's buffers were hit by its own transactions.
        let arm = |arm: Arm| {
            run.record.runs.iter().filter(move |cell| cell.workload.subject.as_deref() == Some(arm.letter()))
        };
        for of_arm in [Arm::A, Arm::B] {
            assert_eq!(arm(of_arm).count(), 3);
            let seen = arm(of_arm).map(|cell| {
                assert!(cell.counts.committed > 0 && cell.counts.failed == 0, "{cell:?}");
                let io = cell.io.as_ref().expect("its counters can be read");
                io.blocks_hit + io.blocks_read > cell.counts.committed
            });
            assert!(seen.collect::<Vec<_>>().contains(&true), "{:?}", run.record.runs);
        }
        for database in ["postgres", "direct"] {
            let options = ConnectOptions::local(
                Address::Unix(there.socket().into(), there.port.parse().expect("a port")),
                "postgres",
            );
            let mut session =
                connect(&ConnectOptions { database: database.into(), ..options }).expect("it is there");
            assert_eq!(
                value(&mut session, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'"),
                "0"
            );
        }
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_standby_is_driven_with_reads_alone() {
        let there = There::new(&["wal_level=replica", "max_wal_senders=4"]);
        let standby = Standby::of(&there);
        let mut session = connect(&standby.options()).expect("it answers");
        assert_eq!(value(&mut session, "SELECT pg_is_in_recovery()"), "t");
        let primary = there.dsn();
        there.refused(&["--dsn", &standby.dsn], &["could not prepare a standby", "--admin-dsn"]);
        let both = ["--dsn", &standby.dsn, "--admin-dsn", &primary];
        there.refused(&both, &["could not run tpcb-like on a standby", "select-only"]);
        let plan = reads_only(&there.place);
        let said = there.place.refused(&[&["run", &plan, "--unlogged"], &both[..]].concat(), 2);
        assert!(
            said.contains("could not load unlogged tables for a standby: they are not replicated"),
            "{said}"
        );
        let output = there.place.run(&["run", &plan, both[0], both[1], both[2], both[3]]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let run = there.place.only_run();
        is_complete(&run);
        let held = run.record.subjects[0]
            .held
            .as_ref()
            .and_then(|held| held.after.as_ref())
            .expect("it was looked at");
        assert!(held.tables.count == 4 && held.database.is_some(), "{held:?}");
        assert!(way(&run).standby && way(&run).separate_admin && way(&run).pooler.is_none());
        assert!(run.record.stages.iter().any(|stage| stage.name == "replication"));
        // What is observed is the standby: its buffers were hit by every transaction, the primary's by none. Backends
        // report what they did up to a second late, so a run takes more than that, and one of two is enough on a busy
        // machine.
        let seen = run.record.runs.iter().map(|cell| {
            assert!(cell.counts.committed > 0 && cell.counts.failed == 0);
            let io = cell.io.as_ref().expect("its counters can be read");
            io.blocks_hit + io.blocks_read > cell.counts.committed
        });
        assert!(seen.collect::<Vec<_>>().contains(&true), "{:?}", run.record.runs);
        // Several hosts: the one that is wanted is found, wherever it is listed.
        let Address::Unix(dir, port) = &standby.address else { panic!("it has a socket") };
        let hosts = format!(
            "host={},{} port={},{port} user=postgres dbname=postgres",
            there.socket(),
            dir.display(),
            there.port
        );
        let wanted = format!("{hosts} target_session_attrs=standby");
        there.place.done(&[
            "run",
            &plan,
            "--dsn",
            &wanted,
            "--admin-dsn",
            &format!("{hosts} target_session_attrs=primary"),
        ]);
        assert!(way(&there.place.runs().pop().expect("there is a run")).standby);
    }

    /// The same rows, which one of two databases stores differently because of a rule.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn data_that_lie_otherwise_are_named_with_the_comparison() {
        let there = There::new(&[]);
        admin(&there.server).execute("CREATE DATABASE other").expect("it can be made");
        let address = Address::Unix(there.socket().into(), there.port.parse().expect("a port"));
        let options =
            ConnectOptions { database: "other".into(), ..ConnectOptions::local(address, "postgres") };
        let rule = "CREATE FUNCTION loosely() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
                      IF to_regclass('pgdyno.pgbench_accounts') IS NOT NULL THEN
                        ALTER TABLE pgdyno.pgbench_accounts SET (fillfactor = 50);
                      END IF; END $$;
                    CREATE EVENT TRIGGER loosely ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
                      EXECUTE PROCEDURE loosely();";
        let mut session = connect(&options).expect("it is there");
        session.execute(rule).expect("it can be made");
        let (one, other) = (there.dsn(), there.dsn().replace("dbname=postgres", "dbname=other"));
        let size =
            ["--scale", "1", "--clients", "2", "--duration", brief(), "--warmup", "50ms", "--blocks", "3"];
        let said = there.place.done(&[&["ab", "--full", "--dsn", &one, "--dsn", &other], &size[..]].concat());
        let run = there.place.only_run();
        let comparable = run.record.subjects[1].comparable.as_ref().expect("it was judged");
        assert_eq!(comparable.verdict, Fairness::DiffersBesides, "{comparable:?}");
        assert_eq!(comparable.besides, ["storage options", "size of the data"]);
        let row = run.record.subjects[1]
            .differences
            .iter()
            .find(|row| row.what == "storage options")
            .expect("it is listed");
        assert_eq!((row.a.as_deref(), row.b.as_deref()), (Some("none"), Some("fillfactor=50")));
        assert!(said.contains("fillfactor=50") && said.contains("size of the data"), "{said}");
    }
}

/// Tests that run one at a time on a machine with nothing else to do.
mod alone {
    use pgdyno_core::results::BottleneckKind;

    use super::*;

    /// Many clients share few connections, to write and to read.
    #[test]
    #[ignore = "takes a minute"]
    fn a_pool_that_is_too_small_is_named() {
        let there = There::new(&[]);
        let way = |clients: &str, pool: &str| {
            let Some((_pooler, dsn)) = pgbouncer(&there, "transaction", pool) else { return };
            let admin_dsn = there.dsn();
            let through = ["--dsn", &dsn, "--admin-dsn", &admin_dsn, "--clients", clients];
            let run = there.bench(&[&through[..], &["--blocks", "1", "--duration", "14s"]].concat());
            for limits in &run.record.limits {
                println!("{pool}: {limits:?}");
                assert_eq!(limits.found.first().map(|found| found.kind), Some(BottleneckKind::Connections));
            }
        };
        way("16", "default_pool_size = 2");
        way("24", "default_pool_size = 3");
    }
}
