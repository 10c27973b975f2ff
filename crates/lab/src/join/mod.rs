//! A run whose server is on another machine: [`observe`] watches host, devices, processes and log there and writes them
//! to a file, [`join`] adds such a file to the run, which is then judged again.

mod alignment;
mod digests;
mod joined;
mod known;
mod observer_file;
#[cfg(test)]
mod tests;

pub use joined::{Joined, join};
pub use observer_file::{ObserveEvent, ObserveRequest, ObservedFile, observe};
