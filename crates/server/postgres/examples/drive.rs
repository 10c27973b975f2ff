//! The driver alone, for `cargo xtask bench-driver`: runs a built-in script against a server, and prints a line
//! for every tenth of a second.
//!
//! `drive CONNINFO SCRIPT PROTOCOL CLIENTS JOBS SECONDS SCALE auto|epoll|io_uring` prints lines of `interval
//! UNIX_NS DURATION_NS COMMITTED`, and finally `total COMMITTED FAILED CPU_NS`.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::{
    io::Write,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use pgdyno_core::stop::Stop;
use pgdyno_engine::{Bookkeeping, Listeners, MergedInterval, Settings, SocketDriver};
use pgdyno_postgres::targets::{SqlClients, run_clients};
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::{ConnectOptions, OsUser, Sources};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [conninfo, script, protocol, clients, jobs, seconds, scale, driver] = args.as_slice() else {
        panic!("usage: drive CONNINFO SCRIPT PROTOCOL CLIENTS JOBS SECONDS SCALE DRIVER");
    };
    let number = |text: &String| -> u32 { text.parse().expect("a number") };
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
    let script = Builtin::by_name(script).expect("a built-in script").scripts();
    let protocol = [Protocol::Simple, Protocol::Extended, Protocol::Prepared]
        .into_iter()
        .find(|known| known.name() == protocol)
        .expect("a protocol");
    let driver = match driver.as_str() {
        "auto" => SocketDriver::best(),
        name => SocketDriver::ALL.into_iter().find(|known| known.name() == name).expect("a driver"),
    };
    let duration_ns = u64::from(number(seconds)) * 1_000_000_000;
    let settings = Settings::closed(duration_ns, script.statements().count());
    let settings = Settings { interval_ns: 100_000_000, ..settings };
    let script = Arc::new(script);
    let sql = SqlClients { scale: number(scale).into(), ..SqlClients::new(script, protocol) };
    let (workers, _) =
        sql.connect(&options, number(clients), number(jobs), &Stop::default()).expect("connections");
    let start = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let mut print = |interval: &MergedInterval| {
        let at = start + interval.start_ns;
        let line = format!("interval {at} {} {}\n", interval.duration_ns, interval.counts.committed);
        std::io::stdout().write_all(line.as_bytes()).expect("standard output is open");
    };
    let listeners = Listeners { on_interval: &mut print, on_mark: &mut |_| (), on_log: &mut |_, _| () };
    let bookkeeping = Bookkeeping::default();
    let report = run_clients(driver, workers, &settings, &bookkeeping, &Stop::default(), listeners)
        .expect("the run works");
    println!("total {} {} {}", report.counts_whole.committed, report.counts_whole.failed, report.cpu_ns);
    if let Some(reason) = report.stopped {
        eprintln!("stopped: {reason}");
    }
}
