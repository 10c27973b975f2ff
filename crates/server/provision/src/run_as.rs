//! User of a server. PostgreSQL refuses to run as root, so root starts it as an unprivileged user.

use pgdyno_core::problem::Problem;
use pgdyno_host::users::{User, by_name};

/// User that a server runs as, `None` being the user of pgdyno; and a warning for the user, if there is one.
pub type Chosen = (Option<User>, Option<String>);

/// Chooses the user for a server.
///
/// # Errors
/// If an ordinary user names another one; if root names an unknown user or one with root's ID, or no unprivileged user
/// exists.
pub fn choose(requested: Option<&str>) -> Result<Chosen, Problem> {
    choose_among(requested, rustix::process::geteuid().as_raw(), &by_name)
}

fn choose_among(
    requested: Option<&str>,
    uid: u32,
    lookup: &dyn Fn(&str) -> Option<User>,
) -> Result<Chosen, Problem> {
    match requested {
        Some(name) => named(name, uid, lookup).map(|user| (user, None)),
        None if uid != 0 => Ok((None, None)),
        None => default_for_root(lookup),
    }
}

fn named(name: &str, uid: u32, lookup: &dyn Fn(&str) -> Option<User>) -> Result<Option<User>, Problem> {
    let user = lookup(name).ok_or_else(|| {
        Problem::wrong_request(format!("there is no user `{name}` to run the server as"))
            .hint("name an unprivileged user of this machine with --run-as")
    })?;
    match (uid, user.uid) {
        (0, 0) => Err(Problem::wrong_request(format!("the server cannot run as `{name}`, who is root"))
            .hint("PostgreSQL refuses that; name an unprivileged user with --run-as")),
        (0, _) => Ok(Some(user)),
        (own, other) if own == other => Ok(None),
        _ => Err(Problem::wrong_request(format!("only root can run the server as `{name}`"))
            .hint("leave --run-as out to run it as yourself")),
    }
}

fn default_for_root(lookup: &dyn Fn(&str) -> Option<User>) -> Result<Chosen, Problem> {
    let unprivileged = |name| lookup(name).filter(|user| user.uid != 0);
    if let Some(user) = unprivileged("postgres") {
        return Ok((Some(user), None));
    }
    let warning =
        "the server runs as `nobody`, which other programs may use too; choose another user with --run-as";
    match unprivileged("nobody") {
        Some(user) => Ok((Some(user), Some(warning.to_owned()))),
        None => Err(Problem::wrong_request("there is no unprivileged user to run the server as")
            .hint("create one (`useradd --system postgres`), or name one with --run-as")),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_host::users::find;

    use super::*;

    const PASSWD: &str = "\
root:x:0:0:root:/root:/bin/bash
toor:x:0:0::/root:/bin/sh
postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
broken:x:abc:1::/:/bin/sh
short:x:1
";

    fn chosen(requested: Option<&str>, uid: u32, passwd: &str) -> Result<Option<u32>, String> {
        let result = choose_among(requested, uid, &|name| find(passwd, |user| user.name == name));
        result.map(|(user, _)| user.map(|user| user.uid)).map_err(|problem| problem.what)
    }

    #[test]
    fn root_runs_the_server_as_an_unprivileged_user() {
        assert_eq!(chosen(None, 0, PASSWD), Ok(Some(101)));
        assert_eq!(chosen(Some("nobody"), 0, PASSWD), Ok(Some(65534)));
        for wrong in ["root", "toor", "broken", "short", "missing", ""] {
            assert!(chosen(Some(wrong), 0, PASSWD).is_err(), "{wrong}");
        }
        let without = PASSWD.replace("postgres:", "pg:");
        let (user, warning) =
            choose_among(None, 0, &|name| find(&without, |user| user.name == name)).expect("nobody is left");
        assert_eq!(user.map(|user| user.uid), Some(65534));
        assert!(warning.is_some_and(|words| words.contains("nobody")));
        assert!(chosen(None, 0, "").is_err());
    }

    #[test]
    fn an_ordinary_user_runs_the_server_themselves() {
        assert_eq!(chosen(None, 101, PASSWD), Ok(None));
        assert_eq!(chosen(Some("postgres"), 101, PASSWD), Ok(None));
        assert!(chosen(Some("nobody"), 101, PASSWD).is_err());
    }
}
