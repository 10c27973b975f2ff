//! The engine: which client begins which attempt when, what each waits for, and what was measured.
//!
//! A [`Target`] is a state machine without any I/O; the engine owns the clock, the schedule, every system call on the
//! hot path and the recorder. Nothing here knows PostgreSQL.
//!
//! ```text
//!   run() ── one thread a worker ──┐
//!     driver (io_uring | epoll) ── WorkerSchedule ── Arrivals   when is the next attempt due?
//!        │                        └───── Recorder   what became of it?
//!        └── Target::step(event) → Send | Receive | WaitUntil | Done | Reconnect | Last
//! ```

mod affinity;
mod arrivals;
mod begin;
mod bookkeeping;
mod chooser;
mod clock;
mod collector;
mod concurrency_limit;
mod connector;
mod drivers;
pub mod files;
pub mod gauge;
mod load;
mod log;
mod messages;
mod null;
mod outage;
mod pacing;
mod probe;
mod recorder;
mod report;
mod run;
mod run_delay;
mod settings;
mod silence;
mod steps;
mod target;
mod timeline;
mod together;
mod users;
mod worker_channel;
mod worker_schedule;

pub use affinity::pin_current_thread;
pub(crate) use arrivals::{Arrivals, Poisson};
pub use begin::{Begin, StartLine};
pub use bookkeeping::{Bookkeeping, LogRecord, LogSettings};
pub use chooser::Mix;
pub use clock::Clock;
pub use drivers::SocketDriver;
pub(crate) use load::StepRecord;
pub use load::{Load, LoadStep, StepReport};
pub use messages::{Level, Messages};
pub use null::NullTarget;
pub use pacing::{Paced, Pacing};
pub use probe::{ErrorTally, Probe};
pub(crate) use report::WorkerReport;
pub use report::{MergedInterval, Report, ScriptReport};
pub use run::{ClientsOfWorkers, run, run_keeping, run_returning};
pub use settings::{EngineError, Listeners, Mark, Settings};
pub use target::{Client, Dial, Event, Step, Target};
pub use timeline::Phase;
pub(crate) use timeline::Timeline;
pub use together::Merger;
pub use users::{Pace, Population};
