//! Servers of `pgdyno up`, found by their names.

use std::path::Path;

use pgdyno_core::problem::Problem;
use pgdyno_provision::{Record, SUPERUSER, Status, registry};
use pgdyno_wire::{Address, ConnectOptions, OsUser, Sources};

use crate::dirs;

/// Connection options for a running server of `pgdyno up`, and for one of its databases if that is given.
///
/// # Errors
/// There is no server of that name, or it is not running. The message begins with `what`, such as `could not load`.
pub fn named_server(name: &str, database: Option<&str>, what: &str) -> Result<ConnectOptions, Problem> {
    let record = running(name, what)?;
    at_socket(&record.socket.path, record.port, database).map_err(|problem| {
        Problem { what: format!("{what}: {}", problem.what), ..problem }.hint(
            "-d names a database of --server, or more parameters, such as 'dbname=x options=-csearch_path=y'",
        )
    })
}

/// Connection options for a server's socket. As in libpq, a database may be a connection string. The environment has no
/// say, and neither has the string on which server it is.
fn at_socket(socket: &Path, port: u16, database: Option<&str>) -> Result<ConnectOptions, Problem> {
    let local = ConnectOptions::local(Address::Unix(socket.to_owned(), port), SUPERUSER);
    let is_string = |text: &str| text.contains('=') || text.contains("://");
    let Some(text) = database.filter(|text| is_string(text)) else {
        return Ok(match database {
            Some(name) => ConnectOptions { database: name.to_owned(), ..local },
            None => local,
        });
    };
    let (host, port) = (socket.to_string_lossy(), port.to_string());
    let resolved = ConnectOptions::resolve(&Sources {
        host: Some(&host),
        port: Some(&port),
        user: Some(SUPERUSER),
        database: Some(text),
        env: &|_| None,
        os_user: &OsUser::of_process(),
    })?;
    let is_same = resolved.hosts.iter().all(|host| host.address == *local.address());
    let elsewhere = || Problem::wrong_request(format!("`{text}` names a server of its own"));
    is_same.then(|| resolved.in_utf8()).ok_or_else(elsewhere)
}

/// The connection string of a running server of `pgdyno up`, for a database of it or `postgres`.
///
/// # Errors
/// As [`named_server`].
pub fn conninfo_of(name: &str, database: Option<&str>, what: &str) -> Result<String, Problem> {
    let record = running(name, what)?;
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let host = quoted(&record.socket.path.to_string_lossy());
    let database = quoted(database.unwrap_or(SUPERUSER));
    Ok(format!("host={host} port={} user={SUPERUSER} dbname={database}", record.port))
}

fn running(name: &str, what: &str) -> Result<Record, Problem> {
    let record: Record = registry::find(&dirs()?, name)?;
    if matches!(record.status(), Status::Running { .. }) {
        return Ok(record);
    }
    Err(Problem::wrong_request(format!("{what}: server `{name}` is not running"))
        .hint(format!("`pgdyno up {name}` starts it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_an_own_server_may_come_with_parameters() {
        let at = |database| at_socket(Path::new("/run/pg"), 5433, database);
        let plain = at(Some("shop")).expect("it is a name");
        assert_eq!((plain.database.as_str(), plain.options.as_deref()), ("shop", None));
        let more = at(Some("options=-csearch_path=tpcc")).expect("it is a parameter");
        assert_eq!((more.database.as_str(), more.user.as_str()), (SUPERUSER, SUPERUSER));
        assert_eq!(more.options.as_deref(), Some("-csearch_path=tpcc"));
        assert_eq!(more.address(), plain.address());
        assert_eq!(
            at(Some("dbname=shop user=me")).map(|of| (of.database, of.user)),
            Ok(("shop".into(), "me".into()))
        );
        let refused = at(Some("host=/elsewhere")).expect_err("it is another server").what;
        assert_eq!(refused, "`host=/elsewhere` names a server of its own");
    }
}
