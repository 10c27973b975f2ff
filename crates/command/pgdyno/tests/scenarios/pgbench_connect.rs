//! How pgdyno as pgbench finds a server, whom it connects as, and what it shows of that: as pgbench 15 to 18 do.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use crate::common::{Place, admin, text, word};

/// Says who runs it, and where.
const WHO: &str = "DO $$ BEGIN RAISE NOTICE 'it is % in %', current_user, current_database(); END $$;\n";

struct Server {
    place: Place,
    facts: Value,
}

impl Server {
    fn new(pg: &str) -> Self {
        let place = Place::new();
        place.done(&["up", "--pg", pg, "--bundle"]);
        fs::write(place.path("who.sql"), WHO).expect("a file");
        let facts = place.only();
        Self { place, facts }
    }

    /// What a command line says on stderr, with these variables and no others of PostgreSQL's but host and port.
    fn says(&self, env: &[(&str, &str)], args: &[&str], status: i32) -> String {
        let mut command = self.place.command(&[&["pgbench"], args].concat());
        command.env("PGHOST", word(&self.facts, "socket_dir")).env("PGPORT", self.facts["port"].to_string());
        command.env("USER", "somebody_else").env("LOGNAME", "somebody_else");
        let output = command.envs(env.iter().copied()).output().expect("it can be run");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{env:?} pgbench {args:?}\n{out}{err}");
        err
    }

    fn execute(&self, sql: &[&str]) {
        let mut session = admin(&self.facts);
        sql.iter().for_each(|sql| session.execute(sql).expect(sql));
    }

    /// A session in UTF-8.
    fn database(&self, name: &str) -> Session {
        let port = self.facts["port"].as_u64().expect("it has one") as u16;
        let address = Address::Unix(word(&self.facts, "socket_dir").into(), port);
        connect(&ConnectOptions::local(address, "postgres").with_database(name))
            .expect("it takes connections")
    }
}

/// The user with whose rights the tests run.
fn me() -> String {
    let output = Command::new("id").arg("-un").output().expect("id can be run");
    text(&output.stdout).trim().to_owned()
}

const AS_POSTGRES: (&str, &str) = ("PGUSER", "postgres");

/// In a database of another encoding the clients use that one, unless another one is requested.
#[test]
fn databases_of_other_encodings_are_driven_in_them() {
    let server = Server::new("18");
    server.execute(&[
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
        "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    ]);
    let script = |name: &str, letter: &[u8]| {
        let insert = "INSERT INTO seen VALUES (current_setting('client_encoding'), '";
        let text = [insert.as_bytes(), letter, b"');\n"].concat();
        fs::write(server.place.path(name), text).expect("a file");
    };
    script("latin.sql", b"\xe9");
    script("utf8.sql", "é".as_bytes());
    for (database, own, utf8) in [("latin", "LATIN1 1", "UTF8 1"), ("ascii", "SQL_ASCII 1", "UTF8 2")] {
        let mut session = server.database(database);
        session.execute("CREATE TABLE seen (encoding text, letter text)").expect("it can be made");
        // Each with the bytes that the letter has in the database.
        let mut seen = || -> Vec<String> {
            let sql = "SELECT encoding || ' ' || octet_length(letter) FROM seen";
            let rows = session.query(sql).expect("it is there");
            session.execute("TRUNCATE seen").expect("it is ours");
            rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect()
        };
        for more in [&["-c", "2"][..], &["-C", "-t", "2"], &["-M", "prepared", "-c", "2"]] {
            let args = [&["-n", "-t", "1", "-f", "latin.sql", database], more].concat();
            server.says(&[AS_POSTGRES], &args, 0);
            assert_eq!(seen(), [own; 2], "{database} {more:?}");
        }
        let asked = format!("client_encoding=UTF8 dbname={database}");
        server.says(&[AS_POSTGRES], &["-n", "-t", "1", "-f", "utf8.sql", &asked], 0);
        let variable = [AS_POSTGRES, ("PGCLIENTENCODING", "UTF8")];
        server.says(&variable, &["-n", "-t", "1", "-f", "utf8.sql", database], 0);
        assert_eq!(seen(), [utf8; 2], "{database}");
        server.says(&[AS_POSTGRES], &["-i", "-q", "-I", "dtv", database], 0);
    }
}

/// What pgbench 15 does with the same words: role and database.
#[test]
fn role_and_database_are_those_of_pgbench() {
    let server = Server::new("18");
    let me = me();
    let mine =
        ["CREATE ROLE \"me\" SUPERUSER LOGIN", "CREATE DATABASE \"me\""].map(|sql| sql.replace("me", &me));
    server.execute(&["CREATE DATABASE other"]);
    if me != "postgres" {
        server.execute(&mine.each_ref().map(String::as_str));
    }
    let other = ("PGDATABASE", "other");
    for (env, args, role, database) in [
        (&[][..], &[][..], me.as_str(), me.as_str()),
        (&[("PGUSER", ""), ("PGDATABASE", "")], &[], &me, &me),
        (&[], &["-U", "postgres"], "postgres", &me),
        (&[AS_POSTGRES], &[], "postgres", "postgres"),
        (&[AS_POSTGRES, ("PGDATABASE", "")], &[], "postgres", "postgres"),
        (&[other], &[], &me, "other"),
        (&[other], &["-d", "postgres"], &me, "postgres"),
        (&[("PGDATABASE", "dbname=other user=postgres")], &[], "postgres", "other"),
        (&[("PGDATABASE", "postgres://postgres@/other")], &["-U", "nobody"], "postgres", "other"),
        (&[other], &[""], &me, "other"),
        (&[other], &["-d", ""], &me, "other"),
        (&[], &["-U", "postgres", ""], "postgres", "postgres"),
        (&[], &["-h", "", "-p", "", "-U", ""], &me, &me),
    ] {
        let err = server.says(env, &[&["-n", "-t", "1", "-f", "who.sql"], args].concat(), 0);
        assert!(err.contains(&format!("NOTICE:  it is {role} in {database}\n")), "{env:?} {args:?}: {err}");
    }
    a_server_of_ours_is_found_by_its_name(&server);
}

/// Whatever variables say of other servers.
fn a_server_of_ours_is_found_by_its_name(server: &Server) {
    let named = ["-n", "-t", "1", "-f", "who.sql", "--server", word(&server.facts, "name")];
    let env =
        [("PGHOST", "/nowhere"), ("PGHOSTADDR", "127.0.0.9"), ("PGSERVICE", "no-such"), ("PGDATABASE", "x")];
    for (more, database) in [(&[][..], "postgres"), (&["other"], "other"), (&["-d", "other"], "other")] {
        let err = server.says(&env, &[&named, more].concat(), 0);
        assert!(err.contains(&format!("NOTICE:  it is postgres in {database}\n")), "{more:?}: {err}");
    }
    let err = server.says(&[], &["-n", "-t", "1", "--server", "no-such"], 1);
    assert!(err.starts_with("pgbench: error: ") && err.contains("no-such"), "{err}");
}

#[test]
fn hosts_and_ports_may_be_lists() {
    let server = Server::new("18");
    let (dir, port) = (word(&server.facts, "socket_dir"), server.facts["port"].to_string());
    let run = |host: &str, ports: &str, status| {
        let args = ["-n", "-t", "1", "-f", "who.sql", "--debug", "-h", host, "-p", ports];
        server.says(&[AS_POSTGRES], &args, status)
    };
    let twice = format!("{dir},{dir}");
    let err = run(&twice, &format!("1,{port}"), 0);
    assert!(
        err.contains(&format!("pghost: {dir} pgport: {port} nclients: 1 ")),
        "the one that took us: {err}"
    );
    run(&format!("/nowhere,{dir}"), &port, 0);
    let end = "pgbench: error: could not create connection for setup\n";
    for (host, ports, why) in [
        (dir, "1,5432", "could not match 2 port numbers to 1 hosts"),
        (dir, "x", "invalid integer value \"x\" for connection option \"port\""),
        (dir, "0", "invalid port number: \"0\""),
        (twice.as_str(), "1,2,3", "could not match 3 port numbers to 2 hosts"),
    ] {
        let err = run(host, ports, 1);
        assert!(err.starts_with(&format!("pgbench: error: {why}\n")) && err.ends_with(end), "{ports}: {err}");
    }
    let err = run("/nowhere,/elsewhere", "7", 1);
    let failed = |dir: &str| {
        format!(
            "connection to server on socket \"{dir}/.s.PGSQL.7\" failed: No such file or directory\n\
             \tIs the server running locally and accepting connections on that socket?\n"
        )
    };
    assert_eq!(err, format!("pgbench: error: {}{}{end}", failed("/nowhere"), failed("/elsewhere")));
}

/// Warnings of connecting, of vacuuming and of the password file.
#[test]
fn warnings_before_a_run_are_shown() {
    let server = Server::new("18");
    server.execute(&[
        "CREATE DATABASE moved",
        "UPDATE pg_database SET datcollversion = 'another' WHERE datname = 'moved'",
        "CREATE ROLE limited LOGIN",
    ]);
    let run = ["-n", "-t", "1", "-f", "who.sql"];
    let warning = "WARNING:  database \"moved\" ";
    let count = |err: &str, what: &str| err.lines().filter(|line| line.starts_with(what)).count();
    let err = server.says(&[AS_POSTGRES], &[&run[..], &["-c", "2", "moved"]].concat(), 0);
    assert_eq!(count(&err, warning), 3, "once for every connection: {err}");
    let err = server.says(&[AS_POSTGRES], &[&run[..], &["-C", "-c", "2", "moved"]].concat(), 0);
    assert_eq!(count(&err, warning), 3, "once for every connection: {err}");

    server.says(&[AS_POSTGRES], &["-i", "-q", "-I", "dt"], 0);
    let err = server.says(&[("PGUSER", "limited")], &["-t", "1", "-f", "who.sql", "postgres"], 0);
    let refused = |table: &str| format!("permission denied to vacuum \"pgbench_{table}\", skipping it\n");
    let lines = format!("WARNING:  {}WARNING:  {}", refused("branches"), refused("tellers"));
    assert!(err.contains(&format!("starting vacuum...{lines}")), "{err}");

    let file = server.place.path("passwords");
    fs::write(&file, "*:*:*:*:secret\n").expect("a file");
    let path = file.to_str().expect("UTF-8");
    let with_file = |mode: u32| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
        server.says(&[AS_POSTGRES, ("PGPASSFILE", path)], &[&run[..], &["-c", "2"]].concat(), 0)
    };
    let open = format!(
        "WARNING: password file \"{path}\" has group or world access; permissions should be u=rw (0600) or less\n"
    );
    assert_eq!(with_file(0o640).matches(&open).count(), 1);
    assert!(!with_file(0o600).contains("password file"));
    let err = server.says(&[AS_POSTGRES, ("PGPASSFILE", "/tmp")], &run, 0);
    assert!(err.starts_with("WARNING: password file \"/tmp\" is not a plain file\n"), "{err}");
}

/// The newest version of the protocol, with servers that have it and such that do not. (9.5.3 refuses it, and offers no
/// other.)
#[test]
fn versions_of_the_protocol_are_agreed_upon() {
    for (pg, status) in [("18", 0), ("9.6", 1)] {
        let server = Server::new(pg);
        let run =
            |text, status| server.says(&[AS_POSTGRES], &["-n", "-t", "1", "-f", "who.sql", text], status);
        run("max_protocol_version=latest dbname=postgres", 0);
        let err = run("min_protocol_version=3.2 dbname=postgres", status);
        let why = "server only supports protocol version 3.0, but \"min_protocol_version\" was set to 3.2\n";
        assert_eq!(err.contains(why), status == 1, "{pg}: {err}");
    }
}
