//! Time: who begins which attempt when, who waits for what, and what was measured.
//!
//! A [`Target`] is a state machine without any I/O; the engine owns the clock, the schedule, every system call on
//! the hot path and the recorder. It knows neither PostgreSQL nor a disk format.
//!
//! ```text
//!   run() ── one thread a worker ──┐
//!     driver (io_uring | epoll | blocking) ── Shift ── Arrivals   when is the next attempt due?
//!        │                           └───── Recorder   what became of it?
//!        └── Target::step(event) → Send | Receive | WaitUntil | Disk | Done | Reconnect | Last
//! ```

mod affinity;
mod arrivals;
mod bookkeeping;
mod clock;
mod collector;
mod connector;
mod drivers;
pub mod gauge;
mod log;
mod messages;
mod null;
mod outage;
mod probe;
mod recorder;
mod regime;
mod run;
mod shift;
mod steps;
mod stop;
mod target;
mod users;

pub use affinity::pin_current_thread;
pub use arrivals::{Arrivals, OpenLoop, Poisson};
pub use bookkeeping::{Bookkeeping, LogRecord, LogSettings, Mix};
pub use clock::Clock;
pub use drivers::{BlockingDriver, Driver, EpollDriver, SocketDriver, UringDriver};
pub use messages::{Level, Messages};
pub use null::NullTarget;
pub use probe::{ErrorTally, Probe};
pub use recorder::{IntervalReport, Phase, ScriptReport, Timeline, WorkerReport};
pub use regime::{Regime, Ruled};
pub use run::{EngineError, Listeners, Mark, MergedInterval, Report, Settings, run, run_keeping};
pub use steps::{Load, LoadStep, StepRecord, StepReport};
pub use stop::Stop;
pub use target::{Client, Dial, DiskOp, Event, Step, Target};
pub use users::{Pace, Population};
