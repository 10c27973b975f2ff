//! `pgdyno versions`.

use std::{env, process::ExitCode};

use pgdyno_core::{facts::major_of, problem::Problem};
use pgdyno_postgres::provision::{
    Dirs,
    bundle::{self, version_num_of},
    installation, version_words,
};
use serde_json::{Value, json};

use crate::{context::Context, servers};

/// Flags of `pgdyno versions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Installed servers come first when `up` looks for one; then bundles, which are fetched once and \
    cached. Bundles from 11 on are built for size: good for trying things, slower than a usual build, \
    and marked in every report."
)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One program that could be used.
struct Row {
    version_num: u32,
    version: String,
    source: &'static str,
    note: String,
    place: Option<String>,
}

/// Runs `pgdyno versions`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let mut rows = rows(&servers::dirs()?);
    rows.sort_by(|a, b| b.version_num.cmp(&a.version_num).then_with(|| b.source.cmp(a.source)));
    if args.json {
        let list: Vec<Value> = rows.iter().map(as_json).collect();
        println!("{:#}", Value::from(list));
        return Ok(ExitCode::SUCCESS);
    }
    println!("{:<8}{:<10}{:<11}NOTE", "MAJOR", "VERSION", "SOURCE");
    for row in &rows {
        let Row { version, source, note, .. } = row;
        println!("{:<8}{version:<10}{source:<11}{note}", major_of(row.version_num));
        if let Some(place) = row.place.as_ref().filter(|_| row.source == "installed") {
            println!("{:29}{place}", "");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(dirs: &Dirs) -> Vec<Row> {
    let installed = installation::find(env::var_os("PATH").as_deref()).into_iter().map(|found| Row {
        version_num: found.version_num,
        note: build_note(&found.bindir),
        place: Some(found.bindir.display().to_string()),
        version: found.version,
        source: "installed",
    });
    let cached = bundle::cached(&dirs.cache);
    let fetchable = bundle::pins().into_iter().map(|pin| version_num_of(&pin.version));
    let fetchable = fetchable.filter(|number| !cached.iter().any(|bundle| bundle.version_num == *number));
    let fetchable: Vec<Row> = fetchable.map(fetchable_row).collect();
    installed.chain(cached.iter().map(cached_row)).chain(fetchable).collect()
}

fn fetchable_row(version_num: u32) -> Row {
    let note = "fetched when first used".to_owned();
    Row { version_num, version: version_words(version_num), source: "fetchable", note, place: None }
}

fn cached_row(bundle: &bundle::Bundle) -> Row {
    let tested = if bundle.pinned { "" } else { ", not tested with this pgdyno" };
    Row {
        version_num: bundle.version_num,
        version: version_words(bundle.version_num),
        source: "cached",
        note: format!("bundle, {}{tested}", build_note(&bundle.bindir())),
        place: Some(bundle.bindir().display().to_string()),
    }
}

fn build_note(bindir: &std::path::Path) -> String {
    let words = match installation::build(bindir).optimised_for_speed() {
        Some(true) => "built for speed",
        Some(false) => "built for size: slower than usual",
        None => "compiler flags not known",
    };
    words.to_owned()
}

fn as_json(row: &Row) -> Value {
    json!({
        "major": major_of(row.version_num),
        "version": row.version,
        "version_num": row.version_num,
        "source": row.source,
        "note": row.note,
        "bindir": row.place,
    })
}
