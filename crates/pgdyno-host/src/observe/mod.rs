//! Activity of the machine: CPUs, a process tree, a block device. Every reading is a set of counters; differences
//! between readings matter.

mod device;
mod processors;
mod tree;

pub use device::DeviceCounters;
pub use processors::ProcessorTimes;
pub use tree::{TreeUsage, TreeUse, own_threads_waited_ns};
