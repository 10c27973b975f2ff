//! The request for a temporary server.

use std::{
    env,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use pgdyno_plan::{ServerPlan, preset::Preset};
use pgdyno_provision::{Lifetime, Request};

use super::file;

/// The request for a server with these keys, which include those of the plan.
///
/// # Errors
/// The request is invalid, as far as that is known before reading any facts.
pub fn request(server: ServerPlan, run_as: Option<String>, name: String) -> Result<Request, Problem> {
    let wanted = |text: &String| {
        text.parse().map_err(|error| {
            Problem::wrong_request(format!("could not use --pg {text}: {error}"))
                .hint("a major or an exact version, such as 18, 9.6 or 16.4; `pgdyno versions` lists them")
        })
    };
    let request = Request {
        pg: server.pg.as_ref().map(wanted).transpose()?,
        bindir: server.bindir.map(PathBuf::from),
        build: server.build,
        bundle_only: server.bundle,
        search_path: env::var_os("PATH"),
        data: server.data.map(PathBuf::from),
        waldir: server.waldir.map(PathBuf::from),
        data_checksums: server.data_checksums,
        tablespaces: server.tablespaces.into_iter().map(|(name, dir)| (name, dir.into())).collect(),
        wal_segsize_mb: server.wal_segsize,
        encoding: server.encoding,
        locale: server.locale,
        collate: server.collate,
        ctype: server.ctype,
        settings: server.settings,
        preset: preset(server.preset.as_deref(), server.as_published)?,
        listen: server.listen,
        allow: server.allow,
        run_as,
        lifetime: Lifetime::DiesWithUs,
        ..Request::named(name)
    };
    pgdyno_provision::check(&request)?;
    pgdyno_provision::check_allow(&request.allow, request.listen.is_some())?;
    pgdyno_provision::check_build(&request, &pgdyno_lab::dirs()?).map(|()| request)
}

/// Refuses to apply presets as published where none of these servers has one.
///
/// # Errors
/// None has a preset.
pub fn refuse_as_published(servers: &[ServerPlan]) -> Result<(), Problem> {
    let asked = servers.iter().any(|server| server.as_published);
    if !asked || servers.iter().any(|server| server.preset.is_some()) {
        return Ok(());
    }
    let what = "could not apply a preset as published: none is named";
    Err(Problem::wrong_request(what).hint("name it with --preset, or leave --as-published out"))
}

/// The preset of this name, or the file with this path; `None` without one.
///
/// # Errors
/// There is no such preset, or the file cannot be read.
pub fn preset(named: Option<&str>, as_published: bool) -> Result<Option<Preset>, Problem> {
    let Some(named) = named else { return Ok(None) };
    let preset = match Preset::is_file(named) {
        true => Preset::of_file(named, &file::configuration(Path::new(named))?)?,
        false => Preset::named(named)?,
    };
    Ok(Some(Preset { as_published, ..preset }))
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
