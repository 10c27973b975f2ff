//! Real servers, made by our own provisioning: bundles of the oldest and the newest major, and of every major where
//! `PGDYNO_TEST_ALL` is set.

mod everything;
mod lifetime;
mod own;
#[path = "../play/mod.rs"]
mod play;
mod scripts;
