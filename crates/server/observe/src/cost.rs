//! What observing costs: CPU time of the observers' threads, and of the server processes that answer them.

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pgdyno_core::observe::ObserverCost;
use rustix::time::{ClockId, clock_gettime};

/// CPU time of all observers of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account(Arc<Sums>);

#[derive(Debug, Default)]
struct Sums {
    threads_ns: AtomicU64,
    server_ns: AtomicU64,
    /// Server processes that were seen.
    seen: Mutex<BTreeSet<u32>>,
}

/// CPU time that was spent until some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    threads_ns: u64,
    server_ns: u64,
}

impl Account {
    /// The CPU time spent until now.
    pub(crate) fn spent(&self) -> Spent {
        Spent {
            threads_ns: self.0.threads_ns.load(Ordering::Relaxed),
            server_ns: self.0.server_ns.load(Ordering::Relaxed),
        }
    }

    /// The server processes that answer observers, or have done so.
    pub(crate) fn backends(&self) -> BTreeSet<u32> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a server process that answers an observer of another program; what it uses does not count.
    pub(crate) fn sees(&self, pid: u32) {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    }

    /// CPUs used on average over a time that began when `since` had been spent.
    pub(crate) fn cost(&self, over: Duration, since: &Spent) -> ObserverCost {
        let now = self.spent();
        let cpus = |now: u64, then: u64| {
            let used_s = now.saturating_sub(then) as f64 / 1e9;
            if over.is_zero() { 0.0 } else { used_s / over.as_secs_f64() }
        };
        let was_seen = !self.backends().is_empty();
        ObserverCost {
            cpus: cpus(now.threads_ns, since.threads_ns),
            server_cpus: was_seen.then(|| cpus(now.server_ns, since.server_ns)),
        }
    }
}

/// The CPU time of one thread, which adds it to the account from time to time.
#[derive(Debug)]
pub(crate) struct ThreadCost {
    account: Account,
    counted_ns: u64,
}

impl ThreadCost {
    /// Counts the calling thread.
    pub(crate) fn new(account: Account) -> Self {
        Self { account, counted_ns: 0 }
    }

    /// Adds what the calling thread used since the last call.
    pub(crate) fn count(&mut self) {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let now_ns = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
        let used_ns = now_ns.saturating_sub(std::mem::replace(&mut self.counted_ns, now_ns));
        self.account.0.threads_ns.fetch_add(used_ns, Ordering::Relaxed);
    }
}

/// The CPU time of a server process that answers an observer.
#[derive(Debug)]
pub(crate) struct BackendCost {
    account: Account,
    pid: u32,
    counted_ns: u64,
}

impl BackendCost {
    /// Counts a process from now on; `None` if it is not visible. What it took to connect counts.
    pub(crate) fn new(account: Account, pid: u32) -> Option<Self> {
        cpu_ns(pid)?;
        account.sees(pid);
        Some(Self { account, pid, counted_ns: 0 })
    }

    /// Adds what the process used since the last call.
    pub(crate) fn count(&mut self) {
        let Some(now_ns) = cpu_ns(self.pid) else { return };
        let used_ns = now_ns.saturating_sub(std::mem::replace(&mut self.counted_ns, now_ns));
        self.account.0.server_ns.fetch_add(used_ns, Ordering::Relaxed);
    }
}

/// The first number of `schedstat`: nanoseconds on a CPU.
fn cpu_ns(pid: u32) -> Option<u64> {
    fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_processes_are_counted_apart() {
        let account = Account::default();
        let mut thread = ThreadCost::new(account.clone());
        thread.count();
        let before = account.spent();
        assert!(before.threads_ns > 0);
        assert_eq!(account.cost(Duration::from_secs(1), &Spent::default()).server_cpus, None);
        let mut own = BackendCost::new(account.clone(), std::process::id()).expect("we are here");
        own.count();
        thread.count();
        let cost = account.cost(Duration::from_secs(1), &before);
        assert!(cost.server_cpus.is_some_and(|cpus| cpus > 0.0));
        assert!(BackendCost::new(account, u32::MAX).is_none());
    }
}
