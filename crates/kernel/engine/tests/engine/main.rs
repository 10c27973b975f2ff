//! Runs of the engine, with targets whose every attempt is known.

mod bookkeeping;
mod counting;
mod raw_log;
mod reconnects;
mod returned;
mod runs;
mod slowest;
mod steps;
mod together;
