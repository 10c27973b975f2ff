//! Real servers from our own provisioning: bundles of the oldest and the newest major version; of every one in the
//! tests that only `cargo xtask test-all` runs.

mod everything;
mod lifetime;
mod scripts;
mod tls;
