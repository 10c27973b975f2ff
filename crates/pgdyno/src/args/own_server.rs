//! The flags that describe a temporary server.

use std::{collections::BTreeMap, env, path::PathBuf};

use pgdyno_core::problem::Problem;
use pgdyno_plan::{Plan, ServerPlan};
use pgdyno_provision::{Lifetime, Request};

/// Properties of a temporary server that flags set.
#[derive(Debug, Clone, Default)]
pub struct OwnServer {
    /// PostgreSQL version.
    pub pg: Option<String>,
    /// Directory of the programs.
    pub bindir: Option<PathBuf>,
    /// Name of a build.
    pub build: Option<String>,
    /// Whether to use a bundle even if PostgreSQL is installed.
    pub bundle: bool,
    /// Data directory.
    pub data: Option<PathBuf>,
    /// WAL directory.
    pub waldir: Option<PathBuf>,
    /// All settings, including those of the plan.
    pub settings: BTreeMap<String, String>,
    /// User to run the server as.
    pub run_as: Option<String>,
}

impl OwnServer {
    /// Request for the server. The plan fills in what the flags leave open.
    ///
    /// # Errors
    /// The request is invalid, as far as that is known before reading any facts.
    pub fn request(self, plan: &Plan, name: String) -> Result<Request, Problem> {
        let server = &plan.server;
        let wanted = |text: &String| {
            text.parse().map_err(|error| {
                Problem::wrong_request(format!("could not use --pg {text}: {error}")).hint(
                    "a major or an exact version, such as 18, 9.6 or 16.4; `pgdyno versions` lists them",
                )
            })
        };
        let pg = self.pg.as_ref().or(server.pg.as_ref());
        // A program named by any flag replaces that of the plan.
        let named = self.bindir.is_some() || self.build.is_some() || self.bundle;
        let of_plan = if named { &ServerPlan::default() } else { server };
        let request = Request {
            pg: pg.map(wanted).transpose()?,
            bindir: self.bindir.or_else(|| of_plan.bindir.clone().map(PathBuf::from)),
            build: self.build.or_else(|| of_plan.build.clone()),
            bundle_only: self.bundle,
            search_path: env::var_os("PATH"),
            data: self.data.or_else(|| server.data.clone().map(PathBuf::from)),
            waldir: self.waldir.or_else(|| server.waldir.clone().map(PathBuf::from)),
            data_checksums: server.data_checksums,
            settings: self.settings,
            run_as: self.run_as,
            lifetime: Lifetime::DiesWithUs,
            ..Request::named(name)
        };
        pgdyno_provision::check(&request)?;
        pgdyno_provision::check_build(&request, &pgdyno_lab::dirs()?).map(|()| request)
    }
}

/// Parses a setting, written `NAME=VALUE`.
///
/// # Errors
/// Name or value is missing.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a setting is written NAME=VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return Err("a setting is written NAME=VALUE, and both are needed".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}
