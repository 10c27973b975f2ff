//! Reads counters of the host and the server at the edges of a measured interval.

use pgdyno_core::measure::{CpuUse, HostShares, IoUse};
use pgdyno_engine::{Clock, Report};
use pgdyno_host::observe::{ProcessorTimes, TreeUsage, TreeUse};
use pgdyno_postgres::observe::Counters;
use pgdyno_wire::Session;

/// One reading of all counters.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    at_ns: u64,
    own_cpu_ns: u64,
    /// The processes that drive the clients, besides this one.
    drivers: Vec<TreeUsage>,
    host: Option<ProcessorTimes>,
    server: Option<TreeUsage>,
    counters: Option<Counters>,
}

/// Reads the counters of the host and of a server's processes.
#[derive(Debug, Clone, Default)]
pub struct CountersSampler {
    postmaster: Option<u32>,
    /// Processes that drive the clients, besides this one.
    drivers: Vec<u32>,
}

impl CountersSampler {
    /// A sampler for a server's processes, as far as they are on this machine.
    pub fn new(postmaster: Option<u32>) -> Self {
        Self { postmaster, drivers: Vec::new() }
    }

    /// Switches to the processes of a new postmaster, after a restart.
    pub fn follow(&mut self, postmaster: Option<u32>) {
        self.postmaster = postmaster;
    }

    /// Sets the processes that drive the clients of the next run, besides this one.
    pub fn drive_by(&mut self, drivers: Vec<u32>) {
        self.drivers = drivers;
    }

    /// Reads the kernel's counters.
    pub fn read(&self) -> Reading {
        Reading {
            at_ns: Clock::now_ns(),
            own_cpu_ns: Clock::process_cpu_ns(),
            drivers: self.drivers.iter().filter_map(|pid| TreeUsage::read(*pid)).collect(),
            host: ProcessorTimes::read(),
            server: self.postmaster.and_then(TreeUsage::read),
            counters: None,
        }
    }

    /// Reads the kernel's counters and the server's: of these databases, or of the session's if there are none. The
    /// latter are absent if the session cannot read them.
    pub fn read_all(&self, session: &mut Session, version_num: u32, databases: &[String]) -> Reading {
        // The kernel first: clients end right after their interval, and what their backends waited ends with them.
        let kernel = self.read();
        Reading { counters: Counters::read(session, version_num, databases).ok(), ..kernel }
    }
}

impl Reading {
    fn shares_since(&self, earlier: &Self) -> Option<HostShares> {
        self.host?.since(&earlier.host?)
    }

    fn server_cpu_s_since(&self, earlier: &Self) -> Option<f64> {
        Some(self.server.as_ref()?.since(earlier.server.as_ref()?).cpu_s)
    }

    fn drivers_since(&self, earlier: &Self) -> impl Iterator<Item = TreeUse> {
        self.drivers.iter().zip(&earlier.drivers).map(|(now, earlier)| now.since(earlier))
    }

    /// CPU time between two readings at the edges of a measured interval.
    pub fn cpu_since(&self, earlier: &Self, report: &Report) -> CpuUse {
        let server_s = self.server_cpu_s_since(earlier);
        // The workers report it themselves: a reader of counters here may be late, when they have ended, for want of a
        // CPU.
        let driver_waited_s = report.waited_ns.map(|waited_ns| waited_ns as f64 / 1e9);
        CpuUse {
            driver_s: report.cpu_ns as f64 / 1e9,
            server_s,
            busiest_worker: report.busiest_worker,
            steal: self.shares_since(earlier).map(|shares| shares.steal),
            others_cpus: server_s.and_then(|server_s| self.others_cpus(earlier, server_s)),
            waited_s: self
                .server_waited_s_since(earlier)
                .zip(driver_waited_s)
                .map(|(server, driver)| server + driver),
            driver_waited_s,
        }
    }

    /// Seconds that the server's processes waited for a CPU.
    fn server_waited_s_since(&self, earlier: &Self) -> Option<f64> {
        Some(self.server.as_ref()?.since(earlier.server.as_ref()?).waited_s)
    }

    /// CPUs used by neither the server nor pgdyno.
    fn others_cpus(&self, earlier: &Self, server_s: f64) -> Option<f64> {
        let shares = self.shares_since(earlier)?;
        let seconds = self.at_ns.saturating_sub(earlier.at_ns) as f64 / 1e9;
        let used = (shares.user + shares.system) * ProcessorTimes::online()? as f64;
        let of_drivers: f64 = self.drivers_since(earlier).map(|used| used.cpu_s).sum();
        let own_s = of_drivers + self.own_cpu_ns.saturating_sub(earlier.own_cpu_ns) as f64 / 1e9;
        (seconds > 0.0).then(|| (used - (server_s + own_s) / seconds).max(0.0))
    }

    /// Pages and bytes between two readings; `None` if the server's counters could not be read.
    pub fn io_since(&self, earlier: &Self) -> Option<IoUse> {
        let (now, then) = (self.counters.as_ref()?, earlier.counters.as_ref()?);
        let server = self.server.as_ref().zip(earlier.server.as_ref());
        let wal = now.wal_bytes.zip(then.wal_bytes).map(|(now, then)| now.saturating_sub(then));
        Some(IoUse {
            blocks_hit: now.blocks_hit.saturating_sub(then.blocks_hit),
            blocks_read: now.blocks_read.saturating_sub(then.blocks_read),
            device_read_bytes: server.and_then(|(now, then)| now.since(then).device_read_bytes),
            // By the devices themselves, which observers read.
            device_written_bytes: None,
            wal_bytes: wal,
            checkpoints: now.checkpoints_since(then),
        })
    }
}
