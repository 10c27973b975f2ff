//! The laboratory: carries an experiment out, from its servers to their end, and leaves a record. It prints nothing;
//! what happens is told as [`events`].
//!
//! A command writes a [`Job`]: its subjects, and what its runs are to answer. [`prepare`] reads facts and decides what
//! was left open, [`announce`] says what will be done, [`carry_out`] does it: servers (`subject.rs`,
//! `side_by_side.rs`), their tables (`fill.rs`, `load.rs`), round after round as the schedule says (`experiment/`), one
//! run at a time (`cell.rs`), written down as it comes about (`recording.rs`). A run that was killed or stopped goes on
//! from its record ([`resume`]).

mod announcement;
mod carry_out;
pub mod cell;
pub mod counters_sampler;
mod digest;
mod event_log;
pub mod events;
mod experiment;
mod fill;
mod first_record;
mod footprint;
mod full_disk;
mod inspect_server;
pub mod instrument;
mod job;
mod lab;
mod load;
pub mod places;
mod prepare;
mod prepared;
mod programs;
mod recording;
mod refuse;
mod reset_state;
mod resume;
mod side_by_side;
pub mod slow;
mod storage;
mod subject;
mod tpcc;
mod tpcc_facts;
mod wait_sampler;
mod waiting;
mod workload_files;

pub use announcement::{Announcement, announce};
pub use carry_out::{Outcome, Recorded, carry_out};
pub use events::{Event, Events, Sink};
pub use job::{Compare, External, Job, Measured, PGBENCH_RESULT, Question, SubjectJob, SubjectWork, Wanted};
pub use lab::{Lab, Program, dirs, draw_seed};
pub use prepare::prepare;
pub use prepared::Prepared;
pub use resume::{as_recorded, check_resumable, digest_of, resume};
pub use tpcc_facts::are_as_many;
