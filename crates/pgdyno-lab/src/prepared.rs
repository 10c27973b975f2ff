//! All that is known and decided before the first byte is written.

use pgdyno_core::facts::{HostFacts, Instrument, ServerFacts, StorageFacts};
use pgdyno_engine::SocketDriver;
use pgdyno_plan::{Plan, WorkloadFiles, advice::bench::BenchPlan};
use pgdyno_provision::Foreseen;
use pgdyno_rows::load::{LoadPlan, Set};

use crate::inspect_server::ExistingServer;

/// What is known and decided before the first byte is written.
#[derive(Debug)]
pub struct Prepared {
    /// The plan with its seed.
    pub plan: Plan,
    /// The seed.
    pub seed: u64,
    /// What the plan brings of its own.
    pub material: WorkloadFiles,
    /// Whether its scripts may run programs.
    pub trust: bool,
    /// Everything that was left to facts.
    pub bench: BenchPlan,
    /// What is loaded and how; `None` where nothing is.
    pub load: Option<LoadPlan>,
    /// The machine.
    pub host: HostFacts,
    /// What `pgdyno selftest` found out about this program on this machine, if it was run.
    pub instrument: Option<Instrument>,
    /// How the driver waits for its connections.
    pub waiting: SocketDriver,
    /// Storage under the data directory, where it is on this machine.
    pub storage: Option<StorageFacts>,
    /// Shared buffers of each of several servers to be made, in bytes; one alone gets what the rules give it.
    pub shared_buffers_bytes: Option<u64>,
    /// Command and time of a thorough run, for the advice.
    pub thorough_hint: String,
    /// The program of each of the job's servers that is to be made; `None` of one that is there.
    pub programs: Vec<Option<Foreseen>>,
    /// What was found at each of the job's servers that is there; `None` where one is to be made.
    pub(crate) existing: Vec<Option<ExistingServer>>,
}

impl Prepared {
    /// Whether what is driven are tables of the plan's, whose rows are counted before a run: not TPC-B's nor TPC-C's.
    pub fn has_own_tables(&self) -> bool {
        self.material.setup.is_some() || self.load.as_ref().is_some_and(|load| load.set == Set::Scaleup)
    }

    /// What was found at a server of the job that is there.
    pub fn existing(&self, server: usize) -> Option<&ExistingServer> {
        self.existing.get(server)?.as_ref()
    }

    /// Storage under the data of a server, where that is another file system than [`Prepared::storage`].
    pub fn storage_elsewhere(&self, own: Option<StorageFacts>) -> Option<StorageFacts> {
        let own = own?;
        let is_known = self.storage.as_ref().is_some_and(|known| known.is_of_file_system(&own));
        (!is_known).then_some(own)
    }

    /// Storage under the data of a server, `elsewhere` if there is such; `None` of one that does not tell where they
    /// are.
    pub fn storage_of<'a>(
        &'a self,
        server: Option<&ServerFacts>,
        elsewhere: Option<&'a StorageFacts>,
    ) -> Option<&'a StorageFacts> {
        server?.data_directory.as_ref()?;
        elsewhere.or(self.storage.as_ref())
    }

    /// Processors that a server of the job may run on; `None` where it is on another machine.
    pub fn processors_of(&self, server: usize) -> Option<u32> {
        let all = self.host.cpu.allowed.len() as u32;
        match self.existing(server) {
            Some(existing) => existing.local.then_some(all),
            None if self.bench.cpus.server.is_empty() => Some(all),
            None => Some(self.bench.cpus.server.len() as u32),
        }
    }
}
