//! What the machine is doing: processors, one program's processes, a device. Readings are counters at an instant; what
//! matters is their difference.

mod device;
mod processors;
mod tree;

pub use device::DeviceCounters;
pub use processors::ProcessorTimes;
pub use tree::{TreeUsage, TreeUse};
