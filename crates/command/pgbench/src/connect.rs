//! The server of a run, and connections to it.

use pgdyno_core::problem::Problem;
use pgdyno_lab::conninfo_of;
use pgdyno_wire::{ConnectOptions, NoticeReceiver, OsUser, Session, Sources, libpq};

use super::{
    options::Options,
    say::{ExitResult, NAME, Say},
};

/// Connection options from the command line, then from the environment, as in libpq. Notices of the server are printed.
///
/// # Errors
/// The options are invalid; already printed.
pub fn target(say: &Say, options: &Options) -> ExitResult<ConnectOptions> {
    let is_named = options.server.is_some();
    // A server that is named has no other address, whatever the environment says.
    let variable = |name: &str| {
        std::env::var(name).ok().filter(|_| !(is_named && ["PGHOSTADDR", "PGSERVICE"].contains(&name)))
    };
    let os_user = OsUser::of_process();
    let database = match &options.server {
        Some(name) => named(say, name, options.dbname.as_deref())?,
        None => database(say, options, &variable, &os_user)?,
    };
    let resolved = ConnectOptions::resolve(&Sources {
        host: options.host.as_deref(),
        port: options.port.as_deref(),
        user: options.username.as_deref(),
        database: Some(&database),
        env: &variable,
        os_user: &os_user,
    });
    match resolved {
        Ok(resolved) => {
            let say = say.clone();
            let on_notice = NoticeReceiver::new(move |notice| say.raw(libpq::notice(notice)));
            Ok(ConnectOptions {
                fallback_application_name: NAME.to_owned(),
                on_notice: Some(on_notice),
                ..resolved
            })
        }
        Err(problem) => refuse(say, &problem),
    }
}

/// The connection string of a server of `pgdyno up`.
fn named(say: &Say, name: &str, database: Option<&str>) -> ExitResult<String> {
    conninfo_of(name, database, "could not connect").or_else(|problem| refuse(say, &problem))
}

fn refuse<T>(say: &Say, problem: &Problem) -> ExitResult<T> {
    say.error(&problem.what);
    if let Some(hint) = &problem.hint {
        say.hint(hint);
    }
    Err(1)
}

/// Database by pgbench's rules: the given one, even if it is empty; then the variables, which may hold connection
/// strings; then the name of the operating system user, whatever the role is.
fn database(
    say: &Say,
    options: &Options,
    variable: &dyn Fn(&str) -> Option<String>,
    os_user: &OsUser,
) -> ExitResult<String> {
    let variables = ["PGDATABASE", "PGUSER"].into_iter();
    let named = variables.filter_map(variable).find(|name| !name.is_empty());
    match (options.dbname.clone().or(named), &os_user.name) {
        (Some(name), _) => Ok(name),
        (None, Ok(name)) => Ok(name.clone()),
        (None, Err(why)) => say.fatal(why),
    }
}

/// Opens a session for everything but the run itself. Warnings of libpq are printed here, once instead of for every
/// connection.
///
/// # Errors
/// The connection failed; already printed, followed by `what`.
pub fn session(say: &Say, options: &Options, what: &str) -> ExitResult<Session> {
    let target = target(say, options).or_else(|_| say.fatal(what))?;
    libpq::warnings(&target).iter().for_each(|line| say.raw(line));
    libpq::connect(&target).or_else(|error| {
        say.error(error);
        say.fatal(what)
    })
}
