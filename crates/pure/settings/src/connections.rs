//! Connections, and what each of them takes.

use pgdyno_core::{
    facts::{Choice, amount::MB},
    units::{self, plural},
};

use super::{
    inputs::{DEFAULT_LOCKS, Inputs, mappable_bytes, usable_memory_bytes},
    rule::{Given, Rule, any, choice, manual, page},
};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(
        page(
            "max_connections",
            Today::Kept,
            "How many sessions there may be at a time.",
            "The clients and 20 more for administration, at least the default of 100. A transaction \
             looks at all sessions when it takes a snapshot, which is cheaper from 14 on; many more \
             active sessions than processors only wait for each other: a pooler in front of the server \
             keeps them few.",
            manual::CONNECTIONS,
        )
        .can(
            "Each session has a process with memory of its own; too many exhaust memory when all of \
         them are active.",
        ),
    )
    .recommends(max_connections)
    .judges(judge_connections),
    Rule::of(page(
        "superuser_reserved_connections",
        Today::Depends,
        "How many of the connections are for superusers only.",
        "3 let an administrator in when all others are taken; monitoring as a superuser needs its own.",
        manual::CONNECTIONS,
    ))
    .judges(reserved),
    Rule::of(
        page(
            "reserved_connections",
            Today::Depends,
            "How many of the connections are for roles with pg_use_reserved_connections only.",
            "Monitoring and administration without superusers need some.",
            manual::CONNECTIONS,
        )
        .since(16),
    ),
    Rule::of(page(
        "max_locks_per_transaction",
        Today::Kept,
        "Room in the lock table for each session, shared by all.",
        "64 is enough unless statements lock many partitions: then as many as there are tables and \
         indexes, bounded by a sixteenth of memory. The table has room for this many locks times \
         max_connections and max_prepared_transactions together, and takes some 400 bytes for each.",
        manual::LOCKS,
    ))
    .recommends(max_locks_per_transaction)
    .judges(judge_locks),
    Rule::of(
        page(
            "max_prepared_transactions",
            Today::Depends,
            "How many transactions may be prepared for two-phase commit at a time.",
            "0 unless an external transaction manager uses PREPARE TRANSACTION. It has nothing to do \
             with prepared statements.",
            manual::RESOURCES,
        )
        .can(
            "A prepared transaction that is never finished keeps its locks, over restarts too, and holds \
         back vacuum until transaction ids run out.",
        ),
    )
    .judges(prepared_transactions),
    Rule::of(page(
        "listen_addresses",
        Today::Depends,
        "The addresses on which the server accepts TCP connections.",
        "It says who can reach the server, not how fast it is. 0.0.0.0 or * needs a pg_hba.conf and a \
         firewall that say who may.",
        manual::CONNECTIONS,
    )),
    Rule::of(page(
        "port",
        Today::Depends,
        "The TCP port, also a part of the name of the socket.",
        "It says how the server is reached, not how fast it is.",
        manual::CONNECTIONS,
    ))
    .judges(any),
    Rule::of(page(
        "unix_socket_directories",
        Today::Depends,
        "The directories of the Unix sockets.",
        "In a directory that everybody may write, such as /tmp, another user can set up a false server \
         while this one is down. A relative path is one in the data directory.",
        manual::CONNECTIONS,
    )),
    Rule::of(page(
        "unix_socket_permissions",
        Today::Depends,
        "Who may connect through the Unix sockets, as a mode of files.",
        "pg_hba.conf decides as well; 0700 lets the user of the server in only.",
        manual::CONNECTIONS,
    )),
    Rule::of(page(
        "tcp_keepalives_idle",
        Today::Depends,
        "After which silence the kernel asks whether the client is still there; 0 is its default, 2 \
         hours on Linux.",
        "With interval and count it says when a session of a client that vanished is found and its locks \
         are released. Firewalls that forget idle connections need it shorter than their limit.",
        "PostgreSQL manual, Server Configuration, \"TCP Settings\"; tcp(7)",
    ))
    .judges(keepalives),
    Rule::of(page(
        "tcp_keepalives_interval",
        Today::Depends,
        "How long the kernel waits for an answer of a silent client before it asks again; 0 is its \
         default, 75 s on Linux.",
        "See tcp_keepalives_idle.",
        "PostgreSQL manual, Server Configuration, \"TCP Settings\"; tcp(7)",
    ))
    .judges(keepalives),
    Rule::of(page(
        "tcp_keepalives_count",
        Today::Depends,
        "After how many questions without an answer a connection is lost; 0 is the kernel's default, 9 \
         on Linux.",
        "See tcp_keepalives_idle. tcp_user_timeout bounds unanswered data, which keepalives do not.",
        "PostgreSQL manual, Server Configuration, \"TCP Settings\"; tcp(7)",
    ))
    .judges(keepalives),
    Rule::of(
        page(
            "client_connection_check_interval",
            Today::Depends,
            "How often a running query checks whether its client is still connected; 0 never.",
            "Without it a query of a client that is gone runs to its end. It finds closed connections, and \
         together with keepalives lost ones.",
            manual::CONNECTIONS,
        )
        .since(14),
    ),
];

fn max_connections(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = format!("{} clients and 20 more for administration; at least 100", inputs.clients);
    choice("max_connections", inputs.connections(), reason)
}

fn judge_connections(given: &Given<'_>) -> Finding {
    let (connections, cpus) = (given.number().unwrap_or(100.0), given.inputs.cpus());
    let (clients, recommended) = (given.inputs.clients, given.inputs.connections());
    let kept = given.other_number("superuser_reserved_connections").unwrap_or(3.0);
    if connections < f64::from(clients) + kept {
        return given.improve(
            recommended,
            format!(
                "{clients} clients do not get in: {kept} of {connections} connections are for \
             superusers"
            ),
        );
    }
    if connections > 16.0 * f64::from(cpus) && connections > 2.0 * f64::from(recommended) {
        return given.improve(
            recommended,
            format!(
                "{clients} clients are expected, and {connections} active sessions on {} only wait for each other: a \
                 pooler keeps them few",
                plural(cpus.into(), "processor")
            ),
        );
    }
    given.fine(format!("room for {clients} clients on {}", plural(cpus.into(), "processor")))
}

fn reserved(given: &Given<'_>) -> Finding {
    let (kept, all) = (given.number().unwrap_or(3.0), given.other_number("max_connections").unwrap_or(100.0));
    let others = match given.inputs.version_num {
        110_000..120_000 => "max_wal_senders",
        160_000.. => "reserved_connections",
        _ => "",
    };
    let together = kept + given.other_number(others).unwrap_or(0.0);
    match kept {
        _ if kept >= all => {
            given.refused(format!("the server does not start: max_connections is {all}")).recommend(3)
        }
        _ if together >= all => given.refused(format!(
            "the server does not start: with {others} it is {together}, and max_connections is {all}"
        )),
        ..1.0 => given.improve(3, "no administrator gets in when all connections are taken"),
        _ => given.fine(format!("{kept} of {all} connections are for superusers")),
    }
}

/// Bytes of shared memory for a lock and its holder (`LOCK`, `PROCLOCK` and their entries in hash tables).
const LOCK_BYTES: u64 = 400;
/// Sessions that may lock everything at once in any case.
const LOCKING_SESSIONS: u64 = 8;

/// Locks for a statement over all partitions in every session, such as the generic plan of a prepared statement: the
/// lock table has room for this number times that of sessions. Where that takes more than a sixteenth of memory, fewer
/// sessions have the room, since it is shared.
fn max_locks_per_transaction(inputs: &Inputs<'_>) -> Option<Choice> {
    let wanted = inputs.relations.saturating_add(DEFAULT_LOCKS);
    if wanted <= 2 * DEFAULT_LOCKS {
        return None;
    }
    let sessions = u64::from(inputs.connections());
    let room = usable_memory_bytes(inputs.host) / 16 / LOCK_BYTES / sessions;
    let least = wanted.saturating_mul(LOCKING_SESSIONS).div_ceil(sessions).max(DEFAULT_LOCKS);
    let value = wanted.min(room.max(least));
    let reason = match value == wanted {
        true => format!("a statement may lock {} tables and indexes, in every session", inputs.relations),
        false => format!(
            "a statement may lock {} tables and indexes; {} sessions may do so at once",
            inputs.relations,
            value * sessions / wanted
        ),
    };
    choice("max_locks_per_transaction", value, reason)
}

fn judge_locks(given: &Given<'_>) -> Finding {
    let host = given.inputs.host;
    let of = |name: &str, default: f64| given.other_number(name).unwrap_or(default);
    let sessions = of("max_connections", 100.0) + of("max_prepared_transactions", 0.0);
    let locks = given.number().unwrap_or(DEFAULT_LOCKS as f64);
    let bytes = locks * sessions * LOCK_BYTES as f64;
    let shared = bytes + of("shared_buffers", 128.0 * MB as f64);
    let memory = usable_memory_bytes(host) as f64;
    let amount = |bytes: f64| units::bytes(bytes as u64);
    let words =
        format!("the lock table takes {}, of {locks} locks for each of {sessions} sessions", amount(bytes));
    let better = max_locks_per_transaction(given.inputs);
    let recommended =
        better.as_ref().map_or_else(|| DEFAULT_LOCKS.to_string(), |choice| choice.value.clone());
    match mappable_bytes(host).map(|most| most as f64) {
        _ if given.is(&recommended) => given.by_recommendation(),
        Some(most) if shared > most => {
            let most = amount(most);
            let reason = format!("the server does not start: {words}; memory and swap are {most} together");
            given.refused(reason).recommend(recommended)
        }
        _ if shared >= memory => given.dangerous(
            &recommended,
            format!("{words}: with shared_buffers more than the {} of memory", amount(memory)),
        ),
        _ if bytes > memory / 16.0 => {
            given.improve(recommended, format!("{words}, more than a sixteenth of {}", amount(memory)))
        }
        _ if better.is_some() => given.by_size(),
        _ if locks < DEFAULT_LOCKS as f64 => {
            given.improve(recommended, format!("{words}: statements that lock many tables fail"))
        }
        _ => given.fine(words),
    }
}

fn prepared_transactions(given: &Given<'_>) -> Finding {
    match given.number().unwrap_or(0.0) {
        ..=0.0 => given.fine("two-phase commit is off: no forgotten transaction can hold back vacuum"),
        most => given.improve(
            "0",
            format!(
                "up to {most} transactions may be prepared; unless a transaction manager finishes them, one that is \
                 forgotten keeps its locks and holds back vacuum"
            ),
        ),
    }
}

fn keepalives(given: &Given<'_>) -> Finding {
    let of =
        |name: &str, default: f64| given.other_number(name).filter(|value| *value > 0.0).unwrap_or(default);
    let idle = of("tcp_keepalives_idle", 7_200e3) / 1e3;
    let interval = of("tcp_keepalives_interval", 75e3) / 1e3;
    let count = of("tcp_keepalives_count", 9.0);
    given.fine(format!(
        "a client that vanished is found after {} s: {idle} s of silence and {count} questions of \
         {interval} s",
        idle + interval * count
    ))
}
