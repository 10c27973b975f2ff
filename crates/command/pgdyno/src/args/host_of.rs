//! Which host, which server on it, and what it is for.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use pgdyno_core::{host::Inventory, problem::Problem};
use pgdyno_host::facts;
use pgdyno_provision::registry;
use pgdyno_settings::Purpose;

use crate::context::Context;

/// Which host, and which server on it.
#[derive(Debug, clap::Args)]
pub struct Of {
    /// A recorded run or a file of `host facts --json` [default: this host]
    #[arg(value_name = "RUN|FILE")]
    of: Option<String>,
    /// Server of `pgdyno up`, or a data directory: judge it, and the storage below it
    #[arg(long = "for", value_name = "SERVER|DIR", conflicts_with = "of")]
    server: Option<PathBuf>,
}

/// Purposes on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PurposeName {
    /// Many short transactions
    Oltp,
    /// Loading data once
    BulkLoad,
    /// Few long queries
    Olap,
    /// Short transactions, and reports at the same time
    Mixed,
}

impl From<PurposeName> for Purpose {
    fn from(name: PurposeName) -> Self {
        match name {
            PurposeName::Oltp => Self::Oltp,
            PurposeName::BulkLoad => Self::BulkLoad,
            PurposeName::Olap => Self::Olap,
            PurposeName::Mixed => Self::Mixed,
        }
    }
}

impl Of {
    /// Whether it is this host, as it is now.
    pub fn is_here(&self) -> bool {
        self.of.is_none()
    }

    /// The host that the flags name, with its server.
    ///
    /// # Errors
    /// There is no such run, file, server or directory, or it has no facts of a host.
    pub fn inventory(&self, context: &Context) -> Result<Inventory, Problem> {
        match (&self.of, &self.server) {
            (Some(of), _) => kept(of, context),
            (None, Some(server)) => here(Some(server)),
            (None, None) => here(None),
        }
    }
}

/// This host, with a server if one is named.
///
/// # Errors
/// There is no such server or directory.
pub fn here(server: Option<&Path>) -> Result<Inventory, Problem> {
    let data = server.map(data_directory).transpose()?;
    Ok(facts::host_with(data.as_deref()))
}

/// The data directory of a name: of a server of `pgdyno up`, else the directory itself.
fn data_directory(name: &Path) -> Result<PathBuf, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let of_server = name.to_str().filter(|name| !name.contains('/'));
    if let Some(record) = of_server.and_then(|name| registry::find(&dirs, name).ok()) {
        return Ok(record.data.path);
    }
    fs::metadata(name).map(|_| name.to_owned()).map_err(|error| {
        Problem::wrong_request(format!("there is no server and no directory `{}`: {error}", name.display()))
            .hint("`pgdyno ps` lists servers; of others name the data directory (SHOW data_directory)")
    })
}

/// The host of a recorded run, or of a file.
///
/// # Errors
/// There is no such run or file, or it is not one of a host.
pub fn kept(name: &str, context: &Context) -> Result<Inventory, Problem> {
    let path = Path::new(name);
    if path.is_file() {
        let problem = |why: &dyn std::fmt::Display| {
            Problem::wrong_request(format!("could not read the facts of a host from {name}: {why}"))
                .hint("`pgdyno host facts --json` writes such a file")
        };
        let text = fs::read_to_string(path).map_err(|error| problem(&error))?;
        return serde_json::from_slice(text.as_bytes()).map_err(|error| problem(&error));
    }
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, name)?)?;
    Ok(*run.record.host)
}
