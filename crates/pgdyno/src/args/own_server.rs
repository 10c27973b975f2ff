//! A server to be made for a run, as flags say it.

use std::{collections::BTreeMap, env, path::PathBuf};

use pgdyno_core::problem::Problem;
use pgdyno_plan::{Plan, ServerPlan};
use pgdyno_provision::{Lifetime, Request};

/// What is said of a server to be made.
#[derive(Debug, Clone, Default)]
pub struct OwnServer {
    /// Its version.
    pub pg: Option<String>,
    /// Directory of its programs.
    pub bindir: Option<PathBuf>,
    /// Name of the build that they are.
    pub build: Option<String>,
    /// Whether to pass over installed servers.
    pub bundle: bool,
    /// Data directory.
    pub data: Option<PathBuf>,
    /// Directory for WAL.
    pub waldir: Option<PathBuf>,
    /// All settings, those of the plan too.
    pub settings: BTreeMap<String, String>,
    /// User that it runs as.
    pub run_as: Option<String>,
}

impl OwnServer {
    /// The request for it; what flags leave open, the plan may say.
    ///
    /// # Errors
    /// A wrong request, as far as it can be seen before facts are known.
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
        // A program that a flag names is another one than that of the plan, whatever it is named by.
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

/// A setting, written `name=value`.
///
/// # Errors
/// What is missing.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a setting is written NAME=VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return Err("a setting is written NAME=VALUE, and both are needed".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}
