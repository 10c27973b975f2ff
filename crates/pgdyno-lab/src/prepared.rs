//! Everything known and decided before the first byte is written.

use pgdyno_core::facts::{HostFacts, Instrument, ServerFacts, StorageFacts};
use pgdyno_engine::SocketDriver;
use pgdyno_plan::{Plan, WorkloadFiles, advice::bench::BenchPlan};
use pgdyno_provision::Foreseen;
use pgdyno_rows::load::{LoadPlan, Set};

use crate::inspect_server::ExistingServer;

/// Everything known and decided before the first byte is written.
#[derive(Debug)]
pub struct Prepared {
    /// The plan with its seed.
    pub plan: Plan,
    /// The seed.
    pub seed: u64,
    /// Files of the plan.
    pub workload_files: WorkloadFiles,
    /// Whether scripts may run programs.
    pub trust: bool,
    /// Values chosen from facts.
    pub bench: BenchPlan,
    /// The load; `None` if nothing is loaded.
    pub load: Option<LoadPlan>,
    /// The machine.
    pub host: HostFacts,
    /// Results of `pgdyno selftest` for this program on this machine, if there are any.
    pub instrument: Option<Instrument>,
    /// How the driver waits for its connections.
    pub waiting: SocketDriver,
    /// Storage under the data directory, if it is on this machine.
    pub storage: Option<StorageFacts>,
    /// Shared buffers of each of several own servers, in bytes; `None` for a single one, which gets them by rule.
    pub shared_buffers_bytes: Option<u64>,
    /// Flag and duration of a thorough run, for hints.
    pub thorough_hint: String,
    /// The program of each own server; `None` for an existing server.
    pub programs: Vec<Option<Foreseen>>,
    /// Facts of each existing server; `None` for an own server.
    pub(crate) existing: Vec<Option<ExistingServer>>,
}

impl Prepared {
    /// Whether the tables are the plan's own, whose rows are counted before a run, rather than those of TPC-B or TPC-C.
    pub fn has_own_tables(&self) -> bool {
        self.workload_files.setup.is_some() || self.load.as_ref().is_some_and(|load| load.set == Set::Scaleup)
    }

    /// Facts of an existing server.
    pub fn existing(&self, server: usize) -> Option<&ExistingServer> {
        self.existing.get(server)?.as_ref()
    }

    /// Storage under a server's data, if it is on another file system than [`Prepared::storage`].
    pub fn storage_elsewhere(&self, own: Option<StorageFacts>) -> Option<StorageFacts> {
        let own = own?;
        let is_known = self.storage.as_ref().is_some_and(|known| known.is_of_file_system(&own));
        (!is_known).then_some(own)
    }

    /// Storage under a server's data: `elsewhere` if given. `None` if the server does not reveal its data directory.
    pub fn storage_of<'a>(
        &'a self,
        server: Option<&ServerFacts>,
        elsewhere: Option<&'a StorageFacts>,
    ) -> Option<&'a StorageFacts> {
        server?.data_directory.as_ref()?;
        elsewhere.or(self.storage.as_ref())
    }

    /// CPUs that a server of the job may use; `None` on another machine.
    pub fn cpus_of(&self, server: usize) -> Option<u32> {
        let all = self.host.cpu.allowed.len() as u32;
        match self.existing(server) {
            Some(existing) => existing.local.then_some(all),
            None if self.bench.cpus.server.is_empty() => Some(all),
            None => Some(self.bench.cpus.server.len() as u32),
        }
    }
}
