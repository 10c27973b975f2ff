//! CPU use of the other servers while one is measured; normally none.

use std::{collections::BTreeSet, time::Instant};

use pgdyno_core::measure::IdleServers;
use pgdyno_host::observe::TreeUsage;

use crate::subject::Subject;

/// CPU time that all servers on this machine have used so far.
pub struct IdleReadings {
    at: Instant,
    servers: Vec<Option<Reading>>,
}

#[derive(Clone)]
struct Reading {
    postmaster: u32,
    usage: TreeUsage,
}

impl IdleReadings {
    /// Reads all servers. This takes a moment of the driver's CPUs, so it happens between two runs.
    fn read(servers: &[Subject]) -> Self {
        let one = |server: &Subject| {
            let postmaster = server.postmaster?;
            Some(Reading { postmaster, usage: TreeUsage::read(postmaster)? })
        };
        Self { at: Instant::now(), servers: servers.iter().map(one).collect() }
    }

    /// CPU use of all but the measured server since `earlier`. `None` if none of them is visible, or if the measured
    /// one is not: the visible ones might be it. Servers that were restarted in between are left out, and so are other
    /// names of the measured server.
    fn since(&self, earlier: &Self, measured: usize) -> Option<IdleServers> {
        let seconds = (self.at - earlier.at).as_secs_f64();
        let under_test = self.servers.get(measured)?.as_ref()?.postmaster;
        let pairs = self.servers.iter().zip(&earlier.servers).enumerate();
        let others = pairs.filter(|(at, _)| *at != measured);
        let used = others
            .filter_map(|(_, (now, then))| now.as_ref().zip(then.as_ref()))
            .filter(|(now, then)| now.postmaster == then.postmaster && now.postmaster != under_test);
        let mut idle: Option<IdleServers> = None;
        // Several subjects may be databases of the same server.
        let mut counted = BTreeSet::new();
        let each = used.filter(|(now, _)| counted.insert(now.postmaster));
        for used in each.map(|(now, then)| now.usage.since(&then.usage)) {
            let sum = idle.get_or_insert_default();
            sum.cpus += used.cpu_s / seconds.max(f64::MIN_POSITIVE);
            if let Some(bytes) = used.asked_written_bytes {
                *sum.written_bytes.get_or_insert(0) += bytes;
            }
        }
        idle
    }
}

/// Reads all servers, and returns what the others did since the previous reading, which it replaces.
pub fn since_last(
    last: &mut Option<IdleReadings>,
    servers: &[Subject],
    measured: usize,
) -> Option<IdleServers> {
    let now = IdleReadings::read(servers);
    let idle = last.as_ref().and_then(|earlier| now.since(earlier, measured));
    *last = Some(now);
    idle
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Child, Command},
        thread::sleep,
        time::Duration,
    };

    use super::*;

    /// Readings of processes in place of servers; `None` is a server on another machine.
    fn read(postmasters: &[Option<u32>]) -> IdleReadings {
        let one = |postmaster: &Option<u32>| {
            let postmaster = (*postmaster)?;
            Some(Reading { postmaster, usage: TreeUsage::read(postmaster)? })
        };
        IdleReadings { at: Instant::now(), servers: postmasters.iter().map(one).collect() }
    }

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).spawn().expect("a shell can be run")
    }

    /// Waits for a condition, with a limit that only a hang exceeds.
    fn until(what: &str, mut done: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !done() {
            assert!(begin.elapsed() < Duration::from_secs(180), "not within three minutes: {what}");
            sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn only_activity_of_idle_servers_is_counted() {
        let (mut busy, mut idle) = (shell("while :; do :; done"), shell("exec sleep 600"));
        let servers = [Some(busy.id()), Some(idle.id()), None];
        let comm = format!("/proc/{}/comm", idle.id());
        until("it sleeps", || std::fs::read_to_string(&comm).is_ok_and(|name| name == "sleep\n"));
        let before = read(&servers);
        // Ten CPU ticks, however long they take.
        let mut after = read(&servers);
        until("the busy one got its time", || {
            after = read(&servers);
            let [Some(now), Some(then)] = [&after, &before].map(|all| all.servers[0].as_ref()) else {
                return false;
            };
            now.usage.since(&then.usage).cpu_s >= 0.1
        });
        let twice = [Some(busy.id()), Some(busy.id())];
        let one_server = (read(&twice), read(&twice));
        for child in [&mut busy, &mut idle] {
            child.kill().expect("it is ours");
            child.wait().expect("it has ended");
        }
        let cpus = |measured| after.since(&before, measured).expect("one of the others is seen").cpus;
        assert!(cpus(1) > 0.0 && cpus(0) < cpus(1) / 2.0, "{} {}", cpus(0), cpus(1));
        // A second subject may be another database of the same server.
        let [before_once, after_once] = [&before, &after].map(|all| IdleReadings {
            at: all.at,
            servers: [1, 0, 0].map(|at: usize| all.servers[at].clone()).into(),
        });
        assert_eq!(
            after_once.since(&before_once, 0).map(|idle| idle.cpus),
            Some(cpus(1)),
            "it is counted once"
        );
        assert_eq!(after.since(&before, 2), None, "what is not seen may be either of them");
        assert_eq!(one_server.1.since(&one_server.0, 0), None, "two names of one server are one");
    }
}
