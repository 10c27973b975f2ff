//! What observers see at present, in a few lines below the progress of a run.

use pgdyno_core::{
    observe::{
        BlockedSession, DeviceSample, HostSample, Live, MOST_BLOCKED, ProgressSample, RoleSample, ServerNow,
        root_blockers,
    },
    units::{bytes_per_s, latency, percent, plural, printable, rate, significant},
};

/// Columns of a line.
const WIDTH: usize = 78;
/// Smaller shares of the samples, and fewer CPUs, are not shown.
const LEAST: f64 = 0.02;
/// Most wait events, and most roles.
const MOST: usize = 5;

/// The lines: clients, machine, waits, processes, and what is out of the ordinary. What was not seen has no line.
pub fn lines(live: &Live, driven: Option<(f64, Option<u64>)>) -> Vec<String> {
    let server = live.busiest_server();
    let machine = machine(live.host(), live.busiest_device());
    let of_server = server.iter().flat_map(|server| [waits(server), processes(server), troubles(server)]);
    [driven.map(clients), machine].into_iter().chain(of_server).flatten().collect()
}

fn clients((tps, latency_ns_p99): (f64, Option<u64>)) -> String {
    let p99 = latency_ns_p99.map(|ns| format!("p99 {}", latency(ns as f64)));
    line("now", std::iter::once(format!("{} TPS", rate(tps))).chain(p99)).unwrap_or_default()
}

fn machine(host: Option<&HostSample>, device: Option<&DeviceSample>) -> Option<String> {
    let cpus = host.map(|host| {
        let stolen = (host.all.steal >= LEAST).then(|| format!(", steal {}", percent(host.all.steal)));
        let waiting = (host.all.iowait >= LEAST).then(|| format!(", iowait {}", percent(host.all.iowait)));
        let used = format!("{} {} busy", plural(host.cpus.len() as u64, "CPU"), percent(host.all.busy()));
        used + &waiting.unwrap_or_default() + &stolen.unwrap_or_default()
    });
    let device = device.into_iter().flat_map(|device| {
        let moved = [("read", device.read_bytes_per_s), ("written", device.written_bytes_per_s)];
        let moved = moved.into_iter().filter(|(_, rate)| *rate >= 1.0);
        let busy = format!("{} {} busy", printable(&device.device), percent(device.utilisation));
        std::iter::once(busy).chain(moved.map(|(way, rate)| format!("{way} {}", bytes_per_s(rate))))
    });
    line("machine", cpus.into_iter().chain(device))
}

fn waits(server: &ServerNow<'_>) -> Option<String> {
    let seen = &server.waits?.seen;
    let mut events: Vec<(&str, u64)> = Vec::new();
    for one in seen.iter().filter(|one| one.is_of_client()) {
        match events.iter_mut().find(|(event, _)| *event == one.event) {
            Some((_, count)) => *count += one.count,
            None => events.push((&one.event, one.count)),
        }
    }
    let all: u64 = events.iter().map(|(_, count)| count).sum();
    events.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shares = events.iter().map(|(event, count)| (*event, *count as f64 / all as f64));
    let shares = shares.filter(|(_, share)| *share >= LEAST).take(MOST);
    let name =
        server.subject.map_or_else(|| "sessions".to_owned(), |subject| format!("sessions of {subject}"));
    line(&name, shares.map(|(event, share)| format!("{} {}", printable(event), percent(share))))
}

fn processes(server: &ServerNow<'_>) -> Option<String> {
    let roles = server.processes.map(|processes| processes.roles.iter()).into_iter().flatten();
    let used: Vec<&RoleSample> = roles.filter(|of| of.cpus >= LEAST).take(MOST).collect();
    let cpus = used.iter().enumerate().map(|(at, of)| {
        let head = if at == 0 { "CPUs used: " } else { "" };
        format!("{head}{} {}", of.role.words(), significant(of.cpus))
    });
    let wal = server.wal_bytes_per_s.map(|wal| format!("WAL {}", bytes_per_s(wal)));
    let checkpoint = server.in_checkpoint.then(|| "checkpoint in progress".to_owned());
    line("server", wal.into_iter().chain(checkpoint).chain(cpus))
}

/// Who waits for whose lock, or a command that shows how far it is.
fn troubles(server: &ServerNow<'_>) -> Option<String> {
    let longest = server.blocked.iter().max_by(|a, b| waited_s(a).total_cmp(&waited_s(b)));
    let blocked = longest.map(|longest| blocked(server.blocked, longest));
    blocked.or_else(|| server.commands.first().map(command)).map(|text| cut(&text))
}

fn waited_s(session: &BlockedSession) -> f64 {
    session.waited_s.unwrap_or_default()
}

fn blocked(all: &[BlockedSession], longest: &BlockedSession) -> String {
    let more = if all.len() >= MOST_BLOCKED { " or more" } else { "" };
    let heads = root_blockers(all);
    let head = heads.get(&longest.pid).and_then(|heads| heads.first());
    let mut blockers = all.iter().flat_map(|session| &session.blocked_by);
    let by = blockers.find(|by| Some(&by.pid) == head).map(|by| {
        let statement = printable(&by.statement);
        let who = if by.pid == 0 { String::new() } else { format!("pid {}, ", by.pid) };
        format!(", longest by {who}{}: {statement}", printable(&by.state))
    });
    format!("{:<8} {}{more}{}", "blocked", all.len(), by.unwrap_or_default())
}

fn command(of: &ProgressSample) -> String {
    let share = of.done.zip(of.total).filter(|(_, total)| *total > 0);
    let share = share.map(|(done, total)| format!(" {}", percent(done as f64 / total as f64)));
    let relation = of.relation.as_deref().map(|relation| format!(" {}", printable(relation)));
    let (command, phase) = (printable(&of.command), printable(&of.phase));
    let (relation, share) = (relation.unwrap_or_default(), share.unwrap_or_default());
    format!("{:<8} {command}{relation}{share}: {phase}", "running")
}

/// A name and its parts, as many as fit; `None` without parts.
fn line(name: &str, parts: impl IntoIterator<Item = String>) -> Option<String> {
    let mut parts = parts.into_iter();
    let mut line = format!("{name:<8} {}", parts.next()?);
    for part in parts {
        if line.chars().count() + 2 + part.chars().count() > WIDTH {
            break;
        }
        line += "  ";
        line += &part;
    }
    Some(cut(&line))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    text.chars().take(WIDTH - 1).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::observe::{
        BlockingSession, CounterSample, CpuSample, CpuShares, LogEvent, LogSample, Observed, ProcessSample,
        Role, WaitSample, WaitsSample, What,
    };

    use super::*;

    fn seen(what: impl IntoIterator<Item = What>) -> Live {
        let mut live = Live::default();
        let line = |what| Observed { at_s: 1.0, over_s: 1.0, subject: None, machine: None, what };
        what.into_iter().for_each(|what| live.add(&line(what)));
        live
    }

    fn wait(event: &str, backend: &str, count: u64) -> WaitSample {
        WaitSample { event: event.to_owned(), backend: backend.to_owned(), query_id: None, count }
    }

    fn role(role: Role, cpus: f64) -> RoleSample {
        RoleSample {
            role,
            processes: 1,
            cpus,
            busiest_cpus: cpus,
            run_delay: None,
            asked_read_bytes_per_s: None,
            asked_written_bytes_per_s: None,
            device_read_bytes_per_s: None,
            device_written_bytes_per_s: None,
            stuck: 0.0,
            throttled: None,
        }
    }

    fn busy() -> Vec<What> {
        let shares = CpuShares { user: 0.6, system: 0.2, iowait: 0.08, ..CpuShares::default() };
        let cpus = vec![CpuSample { cpu: 0, shares }, CpuSample { cpu: 1, shares }];
        let device = DeviceSample {
            device: "nvme0n1".to_owned(),
            utilisation: 0.84,
            written_bytes_per_s: 120e6,
            ..DeviceSample::default()
        };
        let waits = vec![
            wait("running", "client backend", 52),
            wait("IO:WALSync", "client backend", 21),
            wait("Activity:CheckpointerMain", "checkpointer", 10),
            wait("LWLock:WALWrite", "client backend", 12),
            wait("client", "client backend", 14),
            wait("Timeout:VacuumDelay", "client backend", 1),
        ];
        let mut counters = CounterSample::default();
        counters.views.entry("pg_stat_wal".to_owned()).or_default().insert("wal_bytes".to_owned(), 13e6);
        let checkpoint = LogEvent::CheckpointBegan { reason: "time".to_owned() };
        vec![
            What::Host(Box::new(HostSample { all: shares, cpus, ..HostSample::default() })),
            What::Devices { devices: vec![device] },
            What::Waits(WaitsSample { samples: 10, seen: waits }),
            What::Processes(ProcessSample {
                roles: vec![
                    role(Role::Client, 1.3),
                    role(Role::Checkpointer, 0.12),
                    role(Role::Other, 0.001),
                ],
                ..ProcessSample::default()
            }),
            What::Counters(counters),
            What::Log(LogSample { pid: None, event: checkpoint, message: String::new() }),
        ]
    }

    #[test]
    fn a_busy_server_in_four_lines() {
        let want = [
            "now      5,520 TPS  p99 1.23 ms",
            "machine  2 CPUs 80.0 % busy, iowait 8.0 %  nvme0n1 84.0 % busy",
            "sessions running 52.0 %  IO:WALSync 21.0 %  client 14.0 %",
            "server   WAL 12.4 MiB/s  checkpoint in progress  CPUs used: clients 1.30",
        ];
        assert_eq!(lines(&seen(busy()), Some((5_520.0, Some(1_230_000)))), want);
        assert_eq!(lines(&Live::default(), None), [""; 0], "nothing was seen yet");
    }

    #[test]
    fn who_blocks_is_named_and_a_command_shows_how_far_it_is() {
        let by = BlockingSession {
            pid: 4711,
            state: "idle in transaction".to_owned(),
            statement: "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1".to_owned(),
            transaction_age_s: None,
        };
        let blocked = BlockedSession {
            pid: 4712,
            lock: "transactionid".to_owned(),
            mode: "ShareLock".to_owned(),
            relation: None,
            waited_s: Some(3.0),
            statement: String::new(),
            blocked_by: vec![by],
        };
        let command = ProgressSample {
            pid: 1,
            command: "CREATE INDEX".to_owned(),
            relation: Some("pgbench_accounts".to_owned()),
            phase: "building index: loading tuples in tree".to_owned(),
            done: Some(42),
            total: Some(100),
            unit: None,
        };
        let commands = What::Progress { commands: vec![command] };
        let both = seen([commands.clone(), What::Blocked { blocked: vec![blocked] }]);
        let want = "blocked  1, longest by pid 4711, idle in transaction: UPDATE pgbench_branches…";
        assert_eq!(lines(&both, None), [want]);
        let want = "running  CREATE INDEX pgbench_accounts 42.0 %: building index: loading tuples…";
        assert_eq!(lines(&seen([commands]), None), [want]);
    }
}
