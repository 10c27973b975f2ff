//! Activity of the machine: CPUs, memory, devices, network, and the processes of servers. Every reading is a set of
//! counters; differences between readings matter.

mod device;
mod file_systems;
mod host;
mod increase;
mod memory;
mod network;
pub(crate) mod pressure;
mod processes;
mod processors;
mod roles;
mod run_delay;
mod tree;
mod watch;

pub use device::DeviceCounters;
pub use file_systems::Places;
pub use processors::ProcessorTimes;
pub use roles::process_roles;
pub use tree::{TreeUsage, TreeUse};
pub use watch::{Gap, Seen, ServerId, WatchedServer, Watcher};
