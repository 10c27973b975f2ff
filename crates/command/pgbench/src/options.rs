//! The parsed options.

use pgdyno_postgres::load::PartitionMethod;
use pgdyno_script::{Definition, Protocol};

use super::extras::Extras;

/// A script of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Name in the summary: the file as given, or the description of a built-in script.
    pub name: String,
    /// Weight among the scripts of the run.
    pub weight: u32,
}

/// All options, as in pgbench.
#[derive(Debug, Clone)]
pub struct Options {
    pub initialize: bool,
    pub init_steps: Option<String>,
    pub scripts: Vec<Chosen>,
    /// Texts of the scripts.
    pub texts: Vec<Vec<u8>>,
    pub builtin_used: bool,
    pub clients: u32,
    pub jobs: u32,
    pub connect_each: bool,
    pub host: Option<String>,
    pub port: Option<String>,
    pub username: Option<String>,
    pub dbname: Option<String>,
    /// Name of a server of `pgdyno up`.
    pub server: Option<String>,
    pub define: Vec<Definition>,
    pub fillfactor: i32,
    pub quiet: bool,
    pub log: bool,
    pub latency_limit_us: i64,
    pub protocol: Protocol,
    pub no_vacuum: bool,
    pub vacuum_all: bool,
    pub progress_s: i32,
    pub progress_timestamp: bool,
    pub report_per_command: bool,
    pub rate_per_s: Option<f64>,
    pub scale: i32,
    pub scale_given: bool,
    pub transactions: i32,
    pub time_s: i32,
    pub unlogged: bool,
    pub tablespace: Option<String>,
    pub index_tablespace: Option<String>,
    pub foreign_keys: bool,
    pub partitions: i32,
    pub partition_method: Option<PartitionMethod>,
    pub sampling_rate: f64,
    pub aggregate_s: i32,
    pub log_prefix: Option<String>,
    pub seed: u64,
    pub max_tries: u32,
    pub failures_detailed: bool,
    pub verbose_errors: bool,
    pub exit_on_abort: bool,
    pub debug: bool,
    pub continue_on_error: bool,
    pub extras: Extras,
    /// Whether an option for the run, or for the initialization, was given.
    pub for_run: bool,
    pub for_init: bool,
}

/// A valid command line.
#[derive(Debug)]
pub enum Parsed {
    /// Options and operands.
    Options(Box<Options>, Vec<String>),
    /// The requested output is already printed (`-b list`, `--show-script`).
    Shown,
    /// `--help`.
    Help,
    /// `--version`.
    Version,
}

impl Options {
    /// pgbench's defaults.
    pub fn new(seed: u64) -> Self {
        Self {
            initialize: false,
            init_steps: None,
            scripts: Vec::new(),
            texts: Vec::new(),
            builtin_used: false,
            clients: 1,
            jobs: 1,
            connect_each: false,
            host: None,
            port: None,
            username: None,
            dbname: None,
            server: None,
            define: Vec::new(),
            fillfactor: 100,
            quiet: false,
            log: false,
            latency_limit_us: 0,
            protocol: Protocol::Simple,
            no_vacuum: false,
            vacuum_all: false,
            progress_s: 0,
            progress_timestamp: false,
            report_per_command: false,
            rate_per_s: None,
            scale: 1,
            scale_given: false,
            transactions: 0,
            time_s: 0,
            unlogged: false,
            tablespace: None,
            index_tablespace: None,
            foreign_keys: false,
            partitions: 0,
            partition_method: None,
            sampling_rate: 0.0,
            aggregate_s: 0,
            log_prefix: None,
            seed,
            max_tries: 1,
            failures_detailed: false,
            verbose_errors: false,
            exit_on_abort: false,
            debug: false,
            continue_on_error: false,
            extras: Extras::default(),
            for_run: false,
            for_init: false,
        }
    }
}
