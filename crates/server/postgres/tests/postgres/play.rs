//! Runs scripts like pgbench for a number of attempts, and keeps the messages.

use std::sync::{Arc, Mutex};

use pgdyno_core::stop::Stop;
use pgdyno_engine::{
    Bookkeeping, Client, Level, Listeners, Messages, Mix, Paced, Pacing, Report, Settings, SocketDriver,
    run_keeping,
};
use pgdyno_postgres::targets::{ClientBehavior, ErrorHandling, Link, SharedScripts, SqlTarget, Start};
use pgdyno_script::{Automatic, Definition, Protocol, Scripts, Streams, Variables};
use pgdyno_wire::{ConnectOptions, connect};

/// How scripts are run.
pub struct How {
    pub protocol: Protocol,
    pub manner: ClientBehavior,
    pub clients: u32,
    pub attempts: u64,
    pub weights: Vec<u32>,
    pub definitions: Vec<Definition>,
    pub reconnect_after: Option<u64>,
    pub level: Level,
    pub duration_ns: u64,
}

impl Default for How {
    fn default() -> Self {
        Self {
            protocol: Protocol::Simple,
            manner: pgbench(),
            clients: 1,
            attempts: 1,
            weights: vec![1],
            definitions: Vec::new(),
            reconnect_after: None,
            level: Level::Info,
            duration_ns: 60_000_000_000,
        }
    }
}

/// pgbench's behaviour without options.
pub fn pgbench() -> ClientBehavior {
    ClientBehavior { errors: ErrorHandling::Pgbench, trust: true, ..ClientBehavior::default() }
}

/// Result of a run.
pub struct Played {
    pub report: Report,
    /// Messages, each with the letter of its level.
    pub said: Vec<String>,
}

impl Played {
    /// Whether any message contains this text.
    pub fn heard(&self, text: &str) -> bool {
        self.said.iter().any(|said| said.contains(text))
    }
}

pub fn play(options: &ConnectOptions, texts: &[&str], how: &How) -> Played {
    let mut scripts = Scripts::default();
    for (number, text) in texts.iter().enumerate() {
        scripts.add(&format!("script{number}"), text).unwrap_or_else(|error| panic!("{error}"));
    }
    let scripts = Arc::new(scripts);
    let play = Arc::new(SharedScripts::new(Arc::clone(&scripts), how.protocol, how.manner));
    let streams = Streams::derive(42, how.clients, 1, false);
    let options = Arc::new(options.clone());
    let client = |number: u32| {
        let automatic = Automatic {
            scale: 1,
            client_id: i64::from(number),
            random_seed: 42,
            default_seed: streams.default_seed.expect("nobody defined it"),
        };
        let start = Start {
            client: number,
            variables: Variables::new(scripts.names(), &how.definitions, automatic),
            random: streams.clients[number as usize].clone(),
            options: Some(Arc::clone(&options)),
            terminal_input: None,
        };
        let pacing = Pacing {
            attempts: Some(how.attempts),
            reconnect_after: how.reconnect_after,
            ..Pacing::default()
        };
        let first = how.reconnect_after.is_none().then(|| {
            let session = connect(&options).expect("the server answers");
            session.into_parts().expect("there is a descriptor").0
        });
        let target = Link::new(SqlTarget::new(Arc::clone(&play), start), None);
        Client { target: Paced::new(target, number, first.is_some(), pacing), io: first }
    };
    let workers = vec![(0..how.clients).map(client).collect()];
    let said = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&said);
    let bookkeeping = Bookkeeping {
        mix: Mix { weights: how.weights.clone(), streams: vec![streams.threads[0].choose.clone()] },
        commands: play.commands(),
        by_number: true,
        messages: Messages::to(how.level, move |level, text| {
            let level = format!("{level:?}").remove(0);
            sink.lock().expect("nobody panics").push(format!("{level} {}", text.trim_end()));
        }),
        ..Bookkeeping::default()
    };
    let settings = Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns: how.duration_ns,
        interval_ns: 1_000_000_000,
        drain_ns: 30_000_000_000,
        rate_per_s: None,
        seed: 1,
        statements: scripts.statements().count(),
        cpus: Vec::new(),
    };
    let listeners = Listeners { on_interval: &mut |_| (), on_mark: &mut |_| (), on_log: &mut |_, _| () };
    let report =
        run_keeping(SocketDriver::Epoll, workers, &settings, &bookkeeping, &Stop::default(), listeners)
            .expect("the run works");
    report.counts_whole.check().expect("nothing is lost in counting");
    let said = said.lock().expect("nobody panics").clone();
    Played { report, said }
}
