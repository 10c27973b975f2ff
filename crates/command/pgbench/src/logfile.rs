//! The log files of `-l`, one per thread.

use std::{
    fs::File,
    io::{BufWriter, Write},
};

use pgdyno_engine::LogRecord;

use super::{
    format::log::{Aggregator, Columns},
    say::{ExitResult, Say, strerror},
};

/// The log of one thread.
#[derive(Debug)]
pub struct LogFile {
    path: String,
    file: BufWriter<File>,
    columns: Columns,
    aggregator: Option<Aggregator>,
    /// Buffer of lines, kept to reuse its memory.
    lines: String,
    /// The first write error.
    failed: Option<String>,
}

/// Converts times of the engine's clock into Unix time.
#[derive(Debug, Clone, Copy)]
pub struct Epoch {
    shift_ns: i128,
}

impl Epoch {
    /// The present difference of both clocks.
    pub fn now() -> Self {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self { shift_ns: wall.as_nanos() as i128 - i128::from(pgdyno_engine::Clock::now_ns()) }
    }

    /// Converts a time of the engine's clock in nanoseconds into microseconds since 1970.
    pub fn us(self, at_ns: u64) -> u64 {
        ((self.shift_ns + i128::from(at_ns)) / 1_000).max(0) as u64
    }
}

impl LogFile {
    /// Opens the file of a thread, named as in pgbench.
    ///
    /// # Errors
    /// The file cannot be opened; already printed.
    pub fn open(
        say: &Say,
        prefix: &str,
        thread: usize,
        columns: Columns,
        aggregator: Option<Aggregator>,
    ) -> ExitResult<Self> {
        let process = std::process::id();
        let path = match thread {
            0 => format!("{prefix}.{process}"),
            thread => format!("{prefix}.{process}.{thread}"),
        };
        match File::create(&path) {
            Ok(file) => {
                let file = BufWriter::with_capacity(1 << 16, file);
                Ok(Self { path, file, columns, aggregator, lines: String::new(), failed: None })
            }
            Err(error) => say.fatal(format!("could not open logfile \"{path}\": {}", strerror(&error))),
        }
    }

    /// Writes transactions.
    pub fn write(&mut self, records: &[LogRecord], epoch: Epoch) {
        self.lines.clear();
        for record in records {
            let at_us = epoch.us(record.end_ns);
            match &mut self.aggregator {
                Some(aggregator) => aggregator.add(&mut self.lines, record, at_us),
                None => self.columns.line(&mut self.lines, record, at_us),
            }
        }
        self.put();
    }

    /// Writes the rest at the end of the run.
    ///
    /// # Errors
    /// The file could not be written; already printed.
    pub fn close(mut self, say: &Say, epoch: Epoch) -> ExitResult<()> {
        self.lines.clear();
        if let Some(aggregator) = &mut self.aggregator {
            aggregator.until(&mut self.lines, epoch.us(pgdyno_engine::Clock::now_ns()));
        }
        self.put();
        if let Err(error) = self.file.flush() {
            self.failed.get_or_insert_with(|| strerror(&error));
        }
        match self.failed {
            None => Ok(()),
            Some(why) => say.fatal(format!("could not write logfile \"{}\": {why}", self.path)),
        }
    }

    fn put(&mut self) {
        if let Err(error) = self.file.write_all(self.lines.as_bytes()) {
            self.failed.get_or_insert_with(|| strerror(&error));
        }
    }
}
