//! Scenarios: pgdyno as its users call it, on servers that it provides itself.
//!
//! One program for all of them: they are linked once, and two of them are always running.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod ab;
mod bench;
mod build;
mod builds;
mod cancel;
mod common;
mod copy;
mod damaged;
mod detach;
mod disk;
mod durability;
mod existing;
mod hanging;
mod host;
mod interrupts;
mod limits;
mod load;
mod loading;
mod neighbours;
mod observing;
mod operations;
mod own_plans;
mod pgbench;
mod pgbench_connect;
mod pgbench_record;
mod places;
mod presets;
mod probe;
mod profile;
mod reading;
mod resume;
mod scaleup;
mod scarce;
mod selftest;
mod servers;
mod slots;
mod starts;
mod structure;
mod subjects;
mod tables;
mod top;
mod tpcc;
mod tpcc_load;
mod tpcc_run;
mod tpcc_sets;
mod ways;
mod why;
mod wrong_flags;
