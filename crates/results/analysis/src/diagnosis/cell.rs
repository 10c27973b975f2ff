//! What was observed of a cell, averaged over its runs.

use pgdyno_core::{
    measure::{CellRun, Workload},
    observe::{
        ByCheckpoint, DeviceDigest, Digest, HostDigest, Place, Role, RoleDigest, ServerDigest,
        ServerHostDigest,
    },
};
use pgdyno_record::RunRecord;

use crate::diagnosis::sessions::Sessions;

/// A cell with the figures that rules ask for. What no run observed is absent.
#[derive(Debug)]
pub struct Cell<'a> {
    /// What was measured.
    pub workload: &'a Workload,
    /// What the clients' sessions did.
    pub sessions: Option<Sessions>,
    /// CPUs that the server may use.
    pub server_cpus: f64,
    /// Whether the driver has no CPUs but those that the server may use.
    pub shares_cpus: bool,
    /// Driver threads of the cell.
    pub driver_threads: u32,
    /// The runs of the cell.
    pub runs: Vec<&'a CellRun>,
    /// Bytes of memory of the server's machine; absent if that is another one than pgdyno's.
    pub memory_bytes: Option<u64>,
}

impl<'a> Cell<'a> {
    /// The cell of these runs.
    pub fn new(record: &RunRecord, workload: &'a Workload, runs: Vec<&'a CellRun>) -> Self {
        let pinned = record.plan.server_cpus.len();
        let there = runs.iter().find_map(|run| server_host(run)).map(|host| host.cpus as usize);
        let here = || record.host.allowed_cpus().len();
        let allowed = if pinned > 0 { pinned } else { there.unwrap_or_else(here).max(1) };
        Self {
            workload,
            sessions: Sessions::of(runs.iter().filter_map(|run| run.waits.as_ref())),
            server_cpus: allowed as f64,
            shares_cpus: there.is_none() && shares_cpus(record),
            driver_threads: record.plan.jobs.min(workload.clients).max(1),
            runs,
            memory_bytes: there.is_none().then_some(record.host.memory.total_bytes),
        }
    }

    /// CPU use of the driver's busiest thread, from 0 to 1.
    pub fn busiest_driver_thread(&self) -> f64 {
        self.mean(|run| Some(run.cpu.busiest_worker)).unwrap_or_default()
    }

    /// CPUs for which driver threads waited on average, beyond those that they used.
    pub fn driver_waited(&self) -> Option<f64> {
        self.mean(|run| per_second(run, run.cpu.driver_waited_s?))
    }

    /// CPUs that the server used.
    pub fn server_used(&self) -> Option<f64> {
        let by_role = |run: &CellRun| server_host(run).map(|_| cpus_of_roles(run));
        self.mean(|run| {
            run.cpu.server_s.and_then(|seconds| per_second(run, seconds)).or_else(|| by_role(run))
        })
    }

    /// CPUs that the driver used of those that the server may use; 0 if it has others.
    pub fn driver_on_the_same_cpus(&self) -> f64 {
        let used = || self.mean(|run| per_second(run, run.cpu.driver_s));
        self.shares_cpus.then(used).flatten().unwrap_or(0.0)
    }

    /// CPUs for which processes of the server waited on average, beyond those that they used.
    pub fn server_waited(&self) -> Option<f64> {
        let by_counters = |run: &CellRun| {
            per_second(run, run.cpu.waited_s? - run.cpu.driver_waited_s?).map(|cpus| cpus.max(0.0))
        };
        self.mean(|run| {
            let roles = roles(run).filter(|role| role.mean.role != Role::Observer);
            roles.filter_map(|role| role.mean.run_delay).reduce(|a, b| a + b).or_else(|| by_counters(run))
        })
    }

    /// Share of the clients' time in which their sessions had nothing to do: the client had not sent anything yet.
    ///
    /// A session that waits for a CPU before it reads what was sent still looks idle to the server. So the time for
    /// which backends used CPUs and waited for them is not the clients', if the kernel reports it.
    pub fn client_share(&self) -> Option<f64> {
        let sessions = self.sessions.as_ref()?;
        let ready = self.mean(|run| {
            let mut clients = roles(run).filter(|role| role.mean.role == Role::Client);
            clients.try_fold(0.0, |sum, role| Some(sum + role.mean.cpus + role.mean.run_delay?))
        });
        let ready = ready.unwrap_or(0.0) / sessions.present.max(1.0);
        Some(sessions.client().min(1.0 - sessions.waiting() - ready).max(0.0))
    }

    /// Share of the clients' time in which their sessions ran, or waited for a CPU.
    pub fn running_share(&self) -> Option<f64> {
        let sessions = self.sessions.as_ref()?;
        Some(sessions.running() + sessions.client() - self.client_share()?)
    }

    /// CPUs that other programs used, on the server's machine if that was observed there.
    pub fn others_used(&self) -> Option<f64> {
        let there = |run: &CellRun| {
            server_host(run).map(|of| (of.host.all.busy() * f64::from(of.cpus) - cpus_of_roles(run)).max(0.0))
        };
        self.mean(|run| there(run).or(run.cpu.others_cpus))
    }

    /// Share of CPU time that the hypervisor gave to other guests, of the server's machine if that was observed there.
    pub fn steal(&self) -> Option<f64> {
        self.mean(|run| server_host(run).map(|of| of.host.all.steal).or(run.cpu.steal))
    }

    /// A figure of the clients' backends.
    pub fn clients(&self, figure: impl Fn(&RoleDigest) -> Option<f64>) -> Option<f64> {
        self.mean(|run| {
            let mut clients = roles(run).filter(|role| role.mean.role == Role::Client).peekable();
            clients.peek()?;
            Some(clients.filter_map(&figure).sum())
        })
    }

    /// A figure of the server by its own words.
    pub fn server(&self, figure: impl Fn(&ServerDigest) -> Option<f64>) -> Option<f64> {
        self.mean(|run| observed(run)?.servers.iter().find_map(&figure))
    }

    /// Throughput of the runs that had checkpoints and times without.
    pub fn by_checkpoint(&self) -> Vec<ByCheckpoint> {
        let of_run = |run: &&CellRun| observed(run)?.servers.iter().find_map(|server| server.by_checkpoint);
        self.runs.iter().filter_map(of_run).collect()
    }

    /// A figure of the host, which is the server's machine if that was observed there.
    pub fn host(&self, figure: impl Fn(&HostDigest) -> Option<f64>) -> Option<f64> {
        let host = |run: &CellRun| server_host(run).map(|of| figure(&of.host));
        self.mean(|run| host(run).unwrap_or_else(|| figure(observed(run)?.host.as_ref()?)))
    }

    /// A figure of the device with this kind of files; of the slowest one, if there are several.
    pub fn device(&self, place: Files, figure: impl Fn(&DeviceDigest) -> Option<f64>) -> Option<f64> {
        self.mean(|run| {
            let devices = observed(run)?.devices.iter().filter(|device| place.is_on(&device.mean.places));
            devices.filter_map(&figure).max_by(f64::total_cmp)
        })
    }

    /// The sum of a figure over all devices with this kind of files; absent if none of them has it.
    pub fn devices(&self, place: Files, figure: impl Fn(&DeviceDigest) -> Option<f64>) -> Option<f64> {
        self.mean(|run| {
            let devices = observed(run)?.devices.iter().filter(|device| place.is_on(&device.mean.places));
            devices.filter_map(&figure).reduce(|a, b| a + b)
        })
    }

    /// Mean transactions per second of its runs.
    pub fn tps(&self) -> f64 {
        self.mean(|run| Some(run.tps)).unwrap_or_default()
    }

    /// Whether the clients were to keep a rate: then they are meant to wait.
    pub fn is_paced(&self) -> bool {
        self.workload.rate_per_s.is_some()
    }

    fn mean(&self, figure: impl Fn(&CellRun) -> Option<f64>) -> Option<f64> {
        let figures: Vec<_> = self.runs.iter().filter_map(|run| figure(run)).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    }
}

/// Files of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Tables and indexes.
    Tables,
    /// The write-ahead log.
    Wal,
}

impl Files {
    fn is_on(self, places: &[Place]) -> bool {
        places.iter().any(|place| match place {
            Place::Wal => self == Self::Wal,
            Place::Data | Place::Tablespace(_) => self == Self::Tables,
        })
    }
}

fn shares_cpus(record: &RunRecord) -> bool {
    let (all, plan) = (&record.host.allowed_cpus(), &record.plan);
    let [driver, server] =
        [&plan.driver_cpus, &plan.server_cpus].map(|pinned| if pinned.is_empty() { all } else { pinned });
    !driver.is_empty() && driver.iter().all(|cpu| server.contains(cpu))
}

fn observed(run: &CellRun) -> Option<&Digest> {
    run.observed.as_deref()
}

/// The server's machine, if `pgdyno observe` saw it there.
fn server_host(run: &CellRun) -> Option<&ServerHostDigest> {
    observed(run)?.server_hosts.first()
}

/// The server's processes by role; none if they were not observed.
fn roles(run: &CellRun) -> impl Iterator<Item = &RoleDigest> {
    observed(run).into_iter().flat_map(|digest| &digest.roles)
}

fn cpus_of_roles(run: &CellRun) -> f64 {
    roles(run).map(|role| role.mean.cpus).sum()
}

fn per_second(run: &CellRun, seconds: f64) -> Option<f64> {
    (run.duration_ns > 0).then(|| seconds * 1e9 / run.duration_ns as f64)
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        observe::{CpuShares, RoleSample},
        results::BottleneckKind,
    };
    use testkit::fixtures;

    use super::*;

    /// What `pgdyno observe` saw on the server's machine, which has 8 CPUs while the driver's has fewer.
    #[test]
    fn the_machine_of_a_server_elsewhere_is_that_which_counts() {
        let mut record = fixtures::complete().record;
        record.plan.server_cpus.clear();
        let judged = |record: &RunRecord| -> Vec<BottleneckKind> {
            crate::diagnosis::limits(record)
                .iter()
                .flat_map(|cell| &cell.found)
                .map(|found| found.kind)
                .collect()
        };
        for run in &mut record.runs {
            run.cpu.server_s = None;
            run.observed = None;
        }
        assert!(!judged(&record).contains(&BottleneckKind::ServerCpu));
        for run in &mut record.runs {
            let busy = CpuShares { user: 0.97, steal: 0.02, ..CpuShares::default() };
            let host = HostDigest { all: busy, ..HostDigest::default() };
            let there =
                ServerHostDigest { machine: "db1".to_owned(), cpus: 8, host, ..ServerHostDigest::default() };
            let mean = RoleSample {
                role: Role::Client,
                processes: 16,
                cpus: 7.6,
                busiest_cpus: 1.0,
                run_delay: None,
                asked_read_bytes_per_s: None,
                asked_written_bytes_per_s: None,
                device_read_bytes_per_s: None,
                device_written_bytes_per_s: None,
                stuck: 0.0,
                throttled: None,
            };
            let roles =
                vec![RoleDigest { subject: None, mean, peak_cpus: 7.6, peak_device_bytes_per_s: None }];
            run.observed = Some(Box::new(Digest { roles, server_hosts: vec![there], ..Digest::default() }));
        }
        let runs = record.runs.iter().take(1).collect();
        let cell = Cell::new(&record, &record.runs[0].workload, runs);
        assert_eq!((cell.server_cpus, cell.steal()), (8.0, Some(0.02)));
        assert!(cell.others_used().is_some_and(|cpus| (cpus - 0.16).abs() < 1e-9));
        assert!(judged(&record).contains(&BottleneckKind::ServerCpu));
    }
}
