//! A FUSE file system over a directory that answers later, drops syncs or fails: a slower, a lying or a broken disk for
//! any server, without a second disk.
//!
//! [`mount()`] shows the directory `source` at the empty directory `at`. What is written there is in `source`, with
//! owners, modes and times. [`Behaviour`] says what happens to reads, writes and syncs on their way to `source`; a
//! [`Behaviour::default`] passes them on unchanged.
//!
//! The kernel keeps a page cache over the layer, as over a disk: a read or write is an operation of the layer when it
//! misses the cache, is written back, or bypasses the cache (`O_DIRECT`). A delayed write therefore shows in the
//! `fsync` that waits for it, in a `close` of a file with dirty pages, or in a write with `O_DIRECT`, and not in
//! every `write`.
//!
//! # Limitations
//!
//! - Linux only. Root mounts for all users; a user needs `fusermount3` and mounts for itself.
//! - `source` must not be changed while it is mounted, except through the layer: the kernel caches what it has seen.
//! - File systems mounted below `source` are not shown (`EXDEV`). Symbolic links are followed by the kernel: what they
//!   lead to outside, such as tablespaces, is not part of the layer.
//! - Extended attributes and ACLs are not supported. Locks are kept by the kernel.
//! - A time before 1970 that is not a whole second is shown up to two seconds off.
//! - Delays add up to no queue: a disk that is busy answers each request later, this one answers each after its delay.

mod attributes;
mod behaviour;
mod delay_line;
mod device;
mod directory;
mod file;
mod filesystem;
mod handles;
mod injector;
mod mount;
mod nodes;
mod operations;

pub use behaviour::{Behaviour, Delay, Injection, Share};
pub use injector::OperationCounts;
pub use mount::{Mount, mount};

#[cfg(test)]
mod tests;
