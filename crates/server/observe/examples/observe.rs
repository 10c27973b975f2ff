//! All observers alone, for `cargo xtask bench-observe`: watches a server on this machine until it is killed.
//!
//! `observe CONNINFO CLIENTS FILE` appends what it sees to the file.

use std::{fs::OpenOptions, path::PathBuf, thread, time::Instant};

use pgdyno_core::observe::ObserveLevel;
use pgdyno_observe::{Observers, Places, ServerLog, SessionOptions, Watched, WatchedServer};
use pgdyno_postgres::observe::postmaster_of;
use pgdyno_wire::{ConnectOptions, OsUser, Sources, connect};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [conninfo, clients, file] = args.as_slice() else { panic!("usage: observe CONNINFO CLIENTS FILE") };
    let env = |name: &str| std::env::var(name).ok();
    let sources = Sources {
        host: None,
        port: None,
        user: None,
        database: Some(conninfo),
        env: &env,
        os_user: &OsUser::of_process(),
    };
    let options = ConnectOptions::resolve(&sources).expect("a connection string");
    let mut session = connect(&options).expect("a server");
    let mut show = |name: &str| session.value(&format!("SHOW {name}")).expect("an answer").expect("a value");
    let (data, version) = (PathBuf::from(show("data_directory")), show("server_version_num"));
    let postmaster = postmaster_of(&session);
    let log = postmaster.map(|postmaster| ServerLog::find(&mut session, postmaster));
    let server = WatchedServer {
        postmaster,
        places: Places { data: Some(data), tablespaces: Vec::new() },
        ..WatchedServer::default()
    };
    drop(session);
    let session = SessionOptions {
        connect: options,
        databases: Vec::new(),
        stays_out: false,
        pooled: false,
        clock_only: false,
        version_num: version.parse().expect("a number"),
        leaves_free: clients.parse().expect("a number"),
    };
    let file = OpenOptions::new().append(true).create(true).open(file).expect("a file");
    let mut observers = Observers::begin(ObserveLevel::All, Instant::now(), Some(file), None);
    observers.watch(Watched { subject: None, server, log, session: Some(session) });
    loop {
        thread::park();
    }
}
