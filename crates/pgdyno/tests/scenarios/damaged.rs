//! What is damaged under a run heals or says how: reports without room, schemas left behind, plans that never commit.

use std::process::{Child, Output, Stdio};

use pgdyno_postgres::wire::Session;

use crate::common::{Place, admin, text, tiny, wait_until, word};

/// A measurement under way, with what it says to come.
fn started(place: &Place, args: &[&str]) -> Child {
    let mut command = place.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run")
}

fn ended(child: Child) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    (status.code(), text(&stdout), text(&stderr))
}

/// A server that takes no writes any more keeps the schema: the end names it, with the statement that removes it.
#[test]
fn a_schema_that_is_left_behind_is_named() {
    let place = Place::new();
    place.done(&["up", "--pg", "18", "--bundle"]);
    let server = place.only();
    let port = server["port"].to_string();
    let mut session: Session = admin(&server);
    let flags = ["-h", word(&server, "socket_dir"), "-p", &port, "-U", "postgres", "--blocks", "20"];
    let child = started(&place, &tiny(&flags));
    wait_until("something was measured", || {
        let loaded = session.value("SELECT count(*) FROM pgdyno.pgbench_history");
        loaded.is_ok_and(|rows| rows.is_some_and(|rows| rows != "0"))
    });
    session.execute("ALTER SYSTEM SET default_transaction_read_only = on").expect("it can be set");
    session.execute("SELECT pg_reload_conf()").expect("it can be told");
    let (code, _, err) = ended(child);
    assert_eq!(code, Some(3), "{err}");
    assert_eq!(err.matches("error: ").count(), 1, "{err}");
    assert!(err.contains("schema pgdyno is left in database postgres: "), "{err}");
    assert!(err.contains("DROP SCHEMA pgdyno CASCADE"), "{err}");
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'";
    assert_eq!(session.value(left).expect("it can be asked").as_deref(), Some("1"));
    // What it says is enough.
    let writes = "BEGIN READ WRITE; DROP SCHEMA pgdyno CASCADE; COMMIT";
    session.execute(writes).expect("the statement removes it");
    assert_eq!(session.value(left).expect("it can be asked").as_deref(), Some("0"));
}
