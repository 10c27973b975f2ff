//! Passwords of a detached run, which nobody can type once it is detached. They are typed before, as in psql where a
//! server wants one that no file and no variable has, and travel through a pipe.

use std::sync::OnceLock;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_host::terminal::ask_secret;
use pgdyno_wire::{ConnectOptions, Password, WireError, try_connect_unless};
use serde::{Deserialize, Serialize};

/// A password that was typed.
#[derive(Clone, Serialize, Deserialize)]
pub struct Answer {
    /// Role, database and servers that it is for: it is sent to no other.
    to: String,
    password: String,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Answer({})", self.to)
    }
}

static ANSWERS: OnceLock<Vec<Answer>> = OnceLock::new();

/// Keeps the answers for the connections of this process.
pub fn keep(answers: Vec<Answer>) {
    ANSWERS.get_or_init(|| answers);
}

/// Adds the password that was typed for a connection.
pub fn complete(mut options: ConnectOptions) -> ConnectOptions {
    let to = whom(&options);
    let answer = ANSWERS.get().into_iter().flatten().find(|answer| answer.to == to);
    for host in options.hosts.iter_mut().filter(|host| host.password.is_none()) {
        host.password = answer.map(|answer| Password::new(&answer.password));
    }
    options
}

/// Asks for the passwords that servers want and that are not known. A server that cannot be reached, or a user without
/// a terminal, is left to the run, whose message says what is wrong.
///
/// # Errors
/// The terminal could not be used, or the user interrupted.
pub fn ask(servers: &[ConnectOptions], stop: &Stop) -> Result<Vec<Answer>, Problem> {
    let mut answers: Vec<Answer> = Vec::new();
    for options in servers {
        let to = whom(options);
        if answers.iter().any(|answer| answer.to == to) || !wants_password(options, stop) {
            continue;
        }
        let prompt = format!("Password for {to}: ");
        let typed = ask_secret(&prompt, &|| stop.requested())
            .map_err(|error| Problem::could_not(format!("could not read the password: {error}")))?;
        if stop.requested() {
            return Err(Problem::could_not("could not detach: interrupted").hint("Nothing was changed."));
        }
        answers.extend(typed.map(|password| Answer { to, password }));
    }
    Ok(answers)
}

fn wants_password(options: &ConnectOptions, stop: &Stop) -> bool {
    let is_unknown = options.hosts.iter().any(|host| host.password.is_none());
    is_unknown && matches!(try_connect_unless(stop, options), Err(WireError::NoPassword))
}

fn whom(options: &ConnectOptions) -> String {
    format!("{} in {} at {}", options.user, options.database, options.places())
}

#[cfg(test)]
mod tests {
    use pgdyno_wire::{Address, Host};

    use super::*;

    #[test]
    fn an_answer_is_for_one_server_and_is_not_shown() {
        let options = |user: &str, port| {
            let address = Address::Tcp("db".into(), port);
            ConnectOptions { hosts: vec![Host::at(address.clone())], ..ConnectOptions::local(address, user) }
        };
        let answer = Answer { to: whom(&options("bob", 5432)), password: "s3cret".into() };
        assert!(!format!("{answer:?}").contains("s3cret"));
        keep(vec![answer]);
        let known = |user, port| complete(options(user, port)).hosts[0].password.is_some();
        assert_eq!([known("bob", 5432), known("bob", 5433), known("eve", 5432)], [true, false, false]);
    }
}
