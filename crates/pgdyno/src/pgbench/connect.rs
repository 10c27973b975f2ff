//! Which server, and connections to it.

use pgdyno_postgres::{
    libpq,
    wire::{ConnectOptions, Session, Sources},
};

use super::{
    NAME,
    options::Options,
    say::{Go, Say},
};

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
