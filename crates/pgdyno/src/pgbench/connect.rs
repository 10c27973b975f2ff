//! Which server, and connections to it.

use std::sync::atomic::{AtomicBool, Ordering};

use pgdyno_engine::Stop;
use pgdyno_postgres::{
    libpq,
    wire::{ConnectOptions, Session, Sources},
};

use super::{
    NAME,
    options::Options,
    say::{Go, Say},
};

/// Exit status after a second interrupt: what shells give for SIGINT.
const INTERRUPTED: i32 = 130;

/// Makes the first interrupt a request to stop, and the second the end of the process.
pub fn stop_on_interrupt(say: &Say) -> Stop {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let stop = Stop::default();
    let asked = stop.clone();
    let installed = ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED);
        }
        asked.request("interrupted");
    });
    if let Err(error) = installed {
        say.warning(format!("an interrupt will end the program at once: {error}"));
    }
    stop
}

/// Where to connect: options, then the environment, as libpq has it.
///
/// # Errors
/// They name no server; said already.
pub fn target(say: &Say, options: &Options) -> Go<ConnectOptions> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let port = match options.port.as_deref().filter(|text| !text.is_empty()).map(str::parse::<u16>) {
        None => None,
        Some(Ok(port @ 1..)) => Some(port),
        Some(_) => {
            let text = options.port.as_deref().unwrap_or_default();
            return say.fatal(format!("invalid port number: \"{text}\""));
        }
    };
    let os_user = variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(|| "postgres".to_owned());
    let sources = Sources {
        host: options.host.as_deref(),
        port,
        user: options.username.as_deref(),
        database: options.dbname.as_deref(),
        env: &variable,
        os_user,
    };
    match ConnectOptions::resolve(&sources) {
        Ok(mut resolved) => {
            resolved.fallback_application_name = NAME.to_owned();
            Ok(resolved)
        }
        Err(problem) => {
            say.error(&problem.what);
            if let Some(hint) = &problem.hint {
                say.hint(hint);
            }
            Err(1)
        }
    }
}

/// A session for everything but the run itself.
///
/// # Errors
/// There is none to be had; said already, with `what` could not be.
pub fn session(say: &Say, options: &Options, what: &str) -> Go<Session> {
    libpq::connect(&target(say, options)?).or_else(|error| {
        say.error(error);
        say.fatal(what)
    })
}
