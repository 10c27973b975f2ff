//! Real servers from our own provisioning: bundles of the oldest and the newest major version, or of every one
//! if `PGDYNO_TEST_ALL` is set.

mod everything;
mod lifetime;
mod own;
#[path = "../play/mod.rs"]
mod play;
mod scripts;
