//! `pgdyno versions`.

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use pgdyno_core::{
    facts::{BuildFacts, block_bytes_of_configure, major_of},
    problem::Problem,
};
use pgdyno_plan::advice::program::{Program, alike};
use pgdyno_provision::{
    Dirs,
    builds::{self, Build},
    bundle::{self, Bundle, version_num_of},
    installation::{self, Installation},
    version_words,
};
use serde_json::{Value, json};

use crate::context::Context;

/// Flags of `pgdyno versions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a choice, `up` uses an installed server, else a bundle, which is fetched once and cached. A \
    build is used only with --build. How a program was compiled is read from the program itself. Two versions can be \
    compared if they are built alike. Programs compiled for size are slower and good for trials only; every report \
    says so."
)]
pub struct Args {
    /// Print JSON, with all details
    #[arg(long)]
    json: bool,
}

/// A program that can be used.
struct Row {
    version_num: u32,
    version: String,
    /// `installed`, `built`, `cached` or `fetchable`.
    source: &'static str,
    /// Name of a build.
    name: Option<String>,
    bindir: Option<PathBuf>,
    program: Program,
}

/// Runs `pgdyno versions`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let mut rows = rows(&pgdyno_lab::dirs()?);
    rows.sort_by(|a, b| b.version_num.cmp(&a.version_num).then_with(|| a.rank().cmp(&b.rank())));
    let groups = alike(&rows.iter().map(|row| row.program.clone()).collect::<Vec<_>>());
    if args.json {
        let list = rows.iter().enumerate().map(|(at, row)| as_json(row, group_of(&groups, at)));
        println!("{:#}", Value::from(list.collect::<Vec<_>>()));
    } else {
        print!("{}", table(&rows, &groups));
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(dirs: &Dirs) -> Vec<Row> {
    let installed = installation::find(env::var_os("PATH").as_deref()).into_iter().map(installed_row);
    let built = builds::all(dirs).into_iter().map(build_row);
    let cached = bundle::cached(&dirs.cache);
    let pinned = bundle::pins().into_iter().map(|pin| version_num_of(&pin.version));
    let fetchable: Vec<u32> =
        pinned.filter(|number| !cached.iter().any(|bundle| bundle.version_num == *number)).collect();
    let bundles = cached.iter().map(bundle_row).chain(fetchable.into_iter().map(fetchable_row));
    installed.chain(built).chain(bundles).collect()
}

/// Facts of a program that is no build of pgdyno.
fn inspect(bindir: &Path) -> Program {
    let build = installation::build(bindir);
    // Without options of configure it was built with Meson, and its block size is unknown.
    let block_bytes = build.configure.as_deref().map(block_bytes_of_configure);
    Program { build, block_bytes, wal_block_bytes: None, pinned: None }
}

fn installed_row(found: Installation) -> Row {
    Row {
        version_num: found.version_num,
        version: found.version,
        source: "installed",
        name: None,
        program: inspect(&found.bindir),
        bindir: Some(found.bindir),
    }
}

fn build_row(build: Build) -> Row {
    let own = installation::build(&build.bindir());
    let compiler = own.compiler.or_else(|| Some(build.manifest.compiler.clone()));
    let facts = BuildFacts { compiler, made: Some(build.facts()), ..own };
    let program = Program {
        build: facts,
        block_bytes: Some(build.manifest.block_kb << 10),
        // As for other programs: known only if it differs from the default.
        wal_block_bytes: Some(build.manifest.wal_block_kb << 10).filter(|bytes| *bytes != 8_192),
        pinned: None,
    };
    Row {
        version_num: build.manifest.version_num,
        version: build.manifest.version.clone(),
        source: "built",
        bindir: Some(build.bindir()),
        name: Some(build.name),
        program,
    }
}

fn bundle_row(bundle: &Bundle) -> Row {
    Row {
        version_num: bundle.version_num,
        version: version_words(bundle.version_num),
        source: "cached",
        name: None,
        program: Program { pinned: Some(bundle.pinned), ..inspect(&bundle.bindir()) },
        bindir: Some(bundle.bindir()),
    }
}

fn fetchable_row(version_num: u32) -> Row {
    let version = version_words(version_num);
    let program = Program { pinned: Some(true), ..Program::default() };
    Row { version_num, version, source: "fetchable", name: None, bindir: None, program }
}

impl Row {
    /// The order in which `up` searches, with builds after installed programs.
    fn rank(&self) -> usize {
        ["installed", "built", "cached", "fetchable"]
            .iter()
            .position(|source| *source == self.source)
            .unwrap_or(4)
    }

    fn place(&self) -> String {
        match (self.source, &self.name) {
            (_, Some(name)) => format!("build {name}"),
            ("cached", _) => "bundle, cached".to_owned(),
            ("fetchable", _) => "bundle".to_owned(),
            (source, _) => source.to_owned(),
        }
    }

    fn means(&self) -> String {
        match self.source {
            "fetchable" => "fetched when first used; how it was compiled is known only then".to_owned(),
            _ => self.program.means(),
        }
    }
}

/// Place of the group that a row is in, from 1.
fn group_of(groups: &[Vec<usize>], row: usize) -> Option<usize> {
    groups.iter().position(|group| group.contains(&row)).map(|at| at + 1)
}

/// Maximum width of a line.
const WIDTH: usize = 80;
/// Indentation of the lines below a program.
const INDENT: usize = 18;

fn table(rows: &[Row], groups: &[Vec<usize>]) -> String {
    let width = rows.iter().map(|row| row.place().chars().count()).max().unwrap_or(0).clamp(9, 30);
    let mut lines = vec![format!("{:<7}{:<11}{:<width$}  COMPILED BY", "MAJOR", "VERSION", "PROGRAM")];
    for row in rows {
        let compiled = row.program.compiled().unwrap_or_else(|| "-".to_owned());
        let head = format!("{:<7}{:<11}{:<width$}  ", major_of(row.version_num), row.version, row.place());
        lines.extend(pgdyno_document::wrap::prose(&compiled, WIDTH, &head, &" ".repeat(INDENT)));
        if let Some(bindir) = row.bindir.as_ref().filter(|_| row.source == "installed") {
            lines.push(format!("{:INDENT$}{}", "", bindir.display()));
        }
        lines.extend(pgdyno_document::wrap::prose(
            &row.means(),
            WIDTH,
            &" ".repeat(INDENT),
            &" ".repeat(INDENT),
        ));
    }
    lines.extend(alike_lines(rows, groups));
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Groups of programs that can be compared as versions.
fn alike_lines(rows: &[Row], groups: &[Vec<usize>]) -> Vec<String> {
    if groups.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), "Built alike, so that their versions can be compared:".to_owned()];
    for group in groups {
        let names: Vec<_> =
            group.iter().map(|at| format!("{} ({})", rows[*at].version, rows[*at].place())).collect();
        lines.extend(pgdyno_document::wrap::prose(&names.join(", "), WIDTH, "  ", "    "));
    }
    lines
}

fn as_json(row: &Row, group: Option<usize>) -> Value {
    let Program { build, block_bytes, wal_block_bytes, pinned } = &row.program;
    json!({
        "major": major_of(row.version_num),
        "version": row.version,
        "version_num": row.version_num,
        "source": row.source,
        "build": row.name,
        "bindir": row.bindir,
        "pinned": pinned,
        "compiler": build.compiler,
        "cflags": build.cflags,
        "configure": build.configure,
        "features": build.features,
        "made": build.made,
        "block_bytes": block_bytes,
        "wal_block_bytes": wal_block_bytes,
        "optimised_for_speed": build.optimised_for_speed(),
        "note": row.means(),
        "alike": group,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version_num: u32, name: Option<&str>, compiler: &str, cflags: &str) -> Row {
        let build = BuildFacts {
            compiler: Some(compiler.into()),
            cflags: Some(cflags.into()),
            features: Some(vec!["icu".into()]),
            ..BuildFacts::default()
        };
        Row {
            version_num,
            version: version_words(version_num),
            source: if name.is_some() { "built" } else { "cached" },
            name: name.map(str::to_owned),
            bindir: None,
            program: Program { build, block_bytes: Some(8_192), ..Program::default() },
        }
    }

    #[test]
    fn the_table_keeps_to_its_width_and_says_what_can_be_compared() {
        let gcc = "gcc (Debian 12.2.0-14) 12.2.0";
        let rows = [
            row(180_006, Some(&"long-name-".repeat(2)), gcc, "-O3 -march=native -flto -fno-plt"),
            row(180_006, Some("pg18"), gcc, "-O2"),
            row(180_006, None, "gcc (Ubuntu 7.5.0) 7.5.0", "-Os"),
            row(150_018, Some("pg15"), gcc, "-O2"),
            fetchable_row(170_011),
        ];
        let groups = alike(&rows.iter().map(|row| row.program.clone()).collect::<Vec<_>>());
        let text = table(&rows, &groups);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("\n  18.6 (build pg18), 15.18 (build pg15)\n"), "{text}");
        assert!(text.contains("slower than usual") && text.contains("good for numbers"), "{text}");
        assert_eq!(as_json(&rows[1], group_of(&groups, 1))["alike"], 1);
        assert_eq!(as_json(&rows[2], group_of(&groups, 2))["alike"], Value::Null);
    }
}
