//! Compares load methods: `load CONNINFO SCALE stream|chunks|server` loads TPC-B into an empty database by one
//! of them, and prints the seconds for rows, VACUUM and primary keys, and the bytes sent. The tables are
//! dropped afterwards.

use pgdyno_core::stop::Stop;
use pgdyno_postgres::load::load_tables;
use pgdyno_rows::load::{LoadRequest, Stage, Way};
use pgdyno_wire::{ConnectOptions, OsUser, Sources, connect};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [conninfo, scale, way] = args.as_slice() else {
        panic!("usage: load CONNINFO SCALE stream|chunks|server")
    };
    let way = Way::ALL.into_iter().find(|known| known.name() == way);
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
    let scale = Some(scale.parse().expect("a scale"));
    let request =
        LoadRequest { scale, method: Some(way.expect("stream, chunks or server")), ..LoadRequest::default() };
    let plan = request.plan(1).expect("a plan");
    let sessions = std::slice::from_mut(&mut session);
    let outcome = load_tables(sessions, None, &plan, &Stop::default(), &mut |_| ()).expect("the load works");
    let [rows, vacuum, keys] =
        [Stage::Copy, Stage::Vacuum, Stage::Keys].map(|one| outcome.seconds(|stage| stage == one));
    println!("{rows:.3} {vacuum:.3} {keys:.3} {}", outcome.copy_bytes);
    let drop = "DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history";
    session.execute(drop).expect("the tables are ours");
}
