//! What TPC-B's tables are to be like, and how a measuring command loads them.

use clap::{
    Arg, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use pgdyno_plan::LoadingPlan;
use pgdyno_rows::load::{PartitionMethod, Way};

/// What the tables are like.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct Shape {
    /// Partitions of the largest table, of TPC-C's of all but item (PostgreSQL 11 and newer); 0: none
    #[arg(long, value_name = "P")]
    partitions: Option<u64>,
    /// How they are made [default: range]
    #[arg(long, value_name = "METHOD")]
    partition_method: Option<Method>,
    /// Tablespace of the tables
    #[arg(long, value_name = "NAME")]
    tablespace: Option<String>,
    /// Tablespace of the primary keys
    #[arg(long, value_name = "NAME")]
    index_tablespace: Option<String>,
    /// Fill factor of the tables in per cent [default: 100]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(10..=100))]
    fillfactor: Option<u32>,
    /// Unlogged tables, which a crash of the server empties
    #[arg(long)]
    unlogged: bool,
}

/// The same beside flags that are about something else.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Tables")]
pub struct Loading {
    #[command(flatten)]
    shape: Shape,
    /// Foreign keys between the tables
    #[arg(long)]
    foreign_keys: bool,
    /// Connections that load at the same time [default: 1]
    #[arg(long, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=1000))]
    load_jobs: Option<u64>,
    /// How rows get in [default: by one COPY for each table or partition, by hash in chunks]
    #[arg(long, value_name = "METHOD")]
    load_method: Option<Writing>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Method {
    Range,
    Hash,
}

/// How rows get into a table.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Writing {
    /// One COPY for each table or partition, frozen as it is written
    Stream,
    /// COPY in chunks, by many streams into one table, then frozen by VACUUM
    Chunks,
    /// INSERT … SELECT of rows that the server makes itself, then frozen by VACUUM
    Server,
}

/// A flag that takes a [`Writing`], for tables whose rows no server makes.
pub fn without_server(flag: Arg) -> Arg {
    let all = Writing::value_variants().iter().filter(|writing| !matches!(writing, Writing::Server));
    let values = PossibleValuesParser::new(all.filter_map(ValueEnum::to_possible_value));
    flag.value_parser(values.try_map(|name| Writing::from_str(&name, false)))
}

impl Writing {
    /// As the loader calls it.
    pub fn way(self) -> Way {
        match self {
            Self::Stream => Way::Stream,
            Self::Chunks => Way::Chunks,
            Self::Server => Way::Server,
        }
    }
}

impl Shape {
    /// What is said here over what a plan says.
    pub fn over(&self, plan: &LoadingPlan) -> LoadingPlan {
        let method = self.partition_method.map(|method| match method {
            Method::Range => PartitionMethod::Range,
            Method::Hash => PartitionMethod::Hash,
        });
        LoadingPlan {
            partitions: self.partitions.or(plan.partitions),
            partition_method: method.or(plan.partition_method),
            tablespace: self.tablespace.clone().or_else(|| plan.tablespace.clone()),
            index_tablespace: self.index_tablespace.clone().or_else(|| plan.index_tablespace.clone()),
            fillfactor: self.fillfactor.or(plan.fillfactor),
            unlogged: self.unlogged || plan.unlogged,
            ..plan.clone()
        }
    }
}

impl Loading {
    /// What is said here over what a plan says.
    pub fn over(&self, plan: &LoadingPlan) -> LoadingPlan {
        LoadingPlan {
            jobs: self.load_jobs.or(plan.jobs),
            foreign_keys: self.foreign_keys || plan.foreign_keys,
            method: self.load_method.map(Writing::way).or(plan.method),
            ..self.shape.over(plan)
        }
    }
}
