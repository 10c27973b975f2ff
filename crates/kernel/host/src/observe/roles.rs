//! What a process of a server does, from its title in `ps`.

use std::collections::BTreeMap;

use pgdyno_core::observe::Role;

use crate::procs;

/// Begin of the title of every process of a server except the postmaster.
const TITLE: &str = "postgres: ";

/// The role that a title shows; `None` if the process has not set its title yet, and still has the command line of the
/// postmaster. Versions before 11 write ` process` after the name of a role. With `cluster_name` that name and a colon
/// come first.
pub(super) fn role_of(title: &str) -> Option<Role> {
    let title = title.strip_prefix(TITLE)?.trim_end();
    let after_colons = title.match_indices(": ").map(|(at, colon)| &title[at + colon.len()..]);
    let known = [title].into_iter().chain(after_colons).find_map(of_server);
    Some(known.unwrap_or(if names_client(title) { Role::Client } else { Role::Other }))
}

/// The processes of a server with their roles, its postmaster included; empty if that does not exist. A process that
/// has not set its title yet is [`Role::Other`].
pub fn process_roles(postmaster: u32) -> BTreeMap<u32, Role> {
    if procs::ProcessId::of(postmaster).is_none() {
        return BTreeMap::new();
    }
    let role = |pid: u32| {
        let words = procs::arguments(pid);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        (pid, role_of(&words.join(" ")).unwrap_or(Role::Other))
    };
    procs::children(postmaster).into_iter().chain([postmaster]).map(role).collect()
}

/// Beginnings of titles with more text after the name of the role, each with the role.
const BEGINNINGS: [(&str, Role); 12] = [
    // 14 and later say which checkpoint they perform.
    ("checkpointer performing ", Role::Checkpointer),
    ("parallel worker for PID ", Role::ParallelWorker),
    ("autovacuum worker ", Role::Autovacuum),
    ("startup recovering ", Role::Recovery),
    ("startup waiting for ", Role::Recovery),
    ("startup process ", Role::Recovery),
    ("walreceiver ", Role::Recovery),
    ("wal receiver process ", Role::Recovery),
    ("archiver ", Role::Archiver),
    ("io worker ", Role::IoWorker),
    ("walsender ", Role::WalSender),
    ("wal sender process ", Role::WalSender),
];

/// The role of a process that belongs to the server; `None` for others, and for clients.
fn of_server(title: &str) -> Option<Role> {
    let beginning = BEGINNINGS.iter().find(|(begin, _)| title.starts_with(begin)).map(|(_, role)| *role);
    match beginning {
        // A user may have the name of a role.
        Some(Role::WalSender) => return Some(Role::WalSender),
        Some(_) if names_client(title) => return None,
        Some(role) => return Some(role),
        None => {}
    }
    Some(match title.strip_suffix(" process").unwrap_or(title) {
        "checkpointer" => Role::Checkpointer,
        "background writer" | "writer" => Role::BackgroundWriter,
        "walwriter" | "wal writer" => Role::WalWriter,
        "autovacuum launcher" | "autovacuum worker" => Role::Autovacuum,
        "startup" | "walreceiver" | "wal receiver" => Role::Recovery,
        "archiver" => Role::Archiver,
        "walsender" | "wal sender" => Role::WalSender,
        "logger"
        | "stats collector"
        | "walsummarizer"
        | "slotsync worker"
        | "logical replication launcher" => Role::Other,
        _ => return None,
    })
}

/// Whether a title has a word for where a client is: `[local]`, or a host and its port.
fn names_client(title: &str) -> bool {
    let is_port = |word: &str| {
        let port = word.strip_suffix(')').and_then(|word| word.rsplit_once('('));
        port.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    };
    title.split_whitespace().any(|word| word == "[local]" || is_port(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_all_versions_are_known() {
        let titles = [
            ("checkpointer process   ", Role::Checkpointer),
            ("checkpointer ", Role::Checkpointer),
            ("main: checkpointer ", Role::Checkpointer),
            ("14/main: checkpointer performing end-of-recovery checkpoint", Role::Checkpointer),
            ("writer process   ", Role::BackgroundWriter),
            ("background writer ", Role::BackgroundWriter),
            ("wal writer process   ", Role::WalWriter),
            ("walwriter ", Role::WalWriter),
            ("autovacuum launcher process   ", Role::Autovacuum),
            ("autovacuum launcher ", Role::Autovacuum),
            ("autovacuum worker process   bench", Role::Autovacuum),
            ("autovacuum worker bench", Role::Autovacuum),
            ("a: b: autovacuum worker bench", Role::Autovacuum),
            ("stats collector process   ", Role::Other),
            ("logger process   ", Role::Other),
            ("logger ", Role::Other),
            ("archiver process   last was 000000010000000000000001", Role::Archiver),
            ("archiver archiving 000000010000000000000001", Role::Archiver),
            ("startup process   recovering 000000010000000000000001", Role::Recovery),
            ("startup recovering 000000010000000000000001", Role::Recovery),
            ("startup ", Role::Recovery),
            ("wal receiver process   streaming 0/3000060", Role::Recovery),
            ("walreceiver streaming 0/3000060", Role::Recovery),
            ("wal sender process repl 10.0.0.2(40000) streaming 0/3000060", Role::WalSender),
            ("walsender repl [local] streaming 0/3000060", Role::WalSender),
            ("bgworker: parallel worker for PID 4711   ", Role::ParallelWorker),
            ("parallel worker for PID 4711 ", Role::ParallelWorker),
            ("main: parallel worker for PID 4711 ", Role::ParallelWorker),
            ("bgworker: logical replication launcher   ", Role::Other),
            ("logical replication launcher ", Role::Other),
            ("io worker 2", Role::IoWorker),
            ("main: io worker 0", Role::IoWorker),
            ("walsummarizer ", Role::Other),
            ("slotsync worker ", Role::Other),
            ("pg_cron launcher ", Role::Other),
            ("alice bench [local] idle in transaction", Role::Client),
            ("alice bench 127.0.0.1(5000) UPDATE waiting", Role::Client),
            ("main: alice bench ::1(5000) COPY", Role::Client),
            ("archiver bench [local] SELECT", Role::Client),
            ("checkpointer bench [local] idle", Role::Client),
            ("", Role::Other),
        ];
        for (title, role) in titles {
            assert_eq!(role_of(&format!("postgres: {title}")), Some(role), "{title:?}");
        }
    }

    #[test]
    fn a_process_without_a_title_of_its_own_is_not_known_yet() {
        for title in ["/usr/lib/postgresql/18/bin/postgres -D /data", "", "postgres", "sleep 60"] {
            assert_eq!(role_of(title), None, "{title:?}");
        }
    }
}
