//! What the readers cost the server: CPU time of the answering backend for one reading, with many idle connections.
//!
//! `cargo run --release --example costs -- SOCKET_DIRECTORY PORT USER CONNECTIONS`, on the server's machine.

#![allow(clippy::print_stdout)]

use std::{env, error::Error, fs, time::Instant};

use pgdyno_observe::activity::{
    BlockedReader, CounterReader, ProgressReader, StatementReader, StatementSupport, TableReader, WaitReader,
};
use pgdyno_wire::{Address, ConnectOptions, Session, WireError, connect};

/// Readings of each reader.
const TIMES: u32 = 300;

type Fault = Box<dyn Error>;

fn main() -> Result<(), Fault> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [dir, port, user, connections] = args.as_slice() else {
        return Err(
            "give the directory of the socket, the port, the user, and a number of connections".into()
        );
    };
    let options = ConnectOptions::local(Address::Unix(dir.into(), port.parse()?), user);
    let mut idle = Vec::new();
    for _ in 0..connections.parse::<usize>()? {
        let mut session = connect(&options)?;
        session.execute("SELECT 1")?;
        idle.push(session);
    }
    let mut session = connect(&options)?;
    let version_num = session.value("SHOW server_version_num")?.ok_or("no version")?.parse()?;
    println!("{version_num}, {connections} idle connections: CPU time of the backend, and time of an answer");
    readings(&mut session, version_num)
}

fn readings(session: &mut Session, version_num: u32) -> Result<(), Fault> {
    let mut waits = WaitReader::new(version_num, &[], &[]);
    time("waits", session, &mut |session| waits.read(session).map(drop))?;
    let mut blocked = BlockedReader::new(version_num, &[]);
    time("blocked sessions", session, &mut |session| blocked.read(session).map(drop))?;
    let mut counters = CounterReader::new(session, version_num, &[])?;
    time("counters", session, &mut |session| counters.read(session).map(drop))?;
    let mut tables = TableReader::new(session, &[])?;
    time("tables", session, &mut |session| tables.read(session).map(drop))?;
    let mut progress = ProgressReader::new(session)?;
    time("progress", session, &mut |session| progress.read(session).map(drop))?;
    if let StatementSupport::Ready { schema } = StatementSupport::find(session)? {
        let mut statements = StatementReader::new(session, &schema, &[])?;
        time("statements", session, &mut |session| statements.read(session, 20).map(drop))?;
    }
    Ok(())
}

fn time(
    what: &str,
    session: &mut Session,
    read: &mut dyn FnMut(&mut Session) -> Result<(), WireError>,
) -> Result<(), Fault> {
    // The first readings prepare and plan.
    for _ in 0..10 {
        read(session)?;
    }
    let (before, begin) = (cpu_ns(session)?, Instant::now());
    for _ in 0..TIMES {
        read(session)?;
    }
    let (cpu_ns, answer) = (cpu_ns(session)? - before, begin.elapsed() / TIMES);
    println!(
        "{what:>18}: {:>7.0} µs CPU {:>7.0} µs",
        cpu_ns as f64 / 1e3 / f64::from(TIMES),
        answer.as_micros()
    );
    Ok(())
}

/// Time on a CPU of the session's backend.
fn cpu_ns(session: &Session) -> Result<u64, Fault> {
    let text = fs::read_to_string(format!("/proc/{}/schedstat", session.backend_pid()))?;
    Ok(text.split(' ').next().ok_or("no time")?.parse()?)
}
