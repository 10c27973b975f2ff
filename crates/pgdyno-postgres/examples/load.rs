//! Loads TPC-B into an empty database in one format of COPY, to choose between them: `load CONNINFO SCALE text|binary`
//! prints the seconds of COPY, VACUUM and primary keys, and the bytes sent. The tables are dropped again.

use pgdyno_engine::Stop;
use pgdyno_postgres::{
    load::{CopyFormat, TpcbLoad, load_tpcb},
    wire::{ConnectOptions, Sources, connect},
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [conninfo, scale, format] = args.as_slice() else { panic!("usage: load CONNINFO SCALE text|binary") };
    let format = [CopyFormat::Text, CopyFormat::Binary].into_iter().find(|known| known.name() == format);
    let env = |name: &str| std::env::var(name).ok();
    let sources = Sources {
        host: None,
        port: None,
        user: None,
        database: Some(conninfo),
        env: &env,
        os_user: "root".into(),
    };
    let options = ConnectOptions::resolve(&sources).expect("a connection string");
    let mut session = connect(&options).expect("a server");
    let load =
        TpcbLoad { scale: scale.parse().expect("a scale"), seed: 1, format: format.expect("text or binary") };
    let outcome = load_tpcb(&mut session, &load, &Stop::default(), &mut |_| ()).expect("the load works");
    println!("{:.3} {:.3} {:.3} {}", outcome.copy_s, outcome.vacuum_s, outcome.index_s, outcome.copy_bytes);
    let drop = "DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history";
    session.execute(drop).expect("the tables are ours");
}
