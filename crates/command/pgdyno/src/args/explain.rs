//! `pgdyno explain`.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, units::printable};
use pgdyno_document::{
    block::{Block, Fact},
    text_of_blocks,
};
use pgdyno_rules::{WAIT_EVENTS, WaitEvent, pages};
use pgdyno_settings::{ENTRIES, Entry as Setting};

use crate::{context::Context, output};

/// Documents whose tables explain a name in each row, and what such a name is.
const TABLES: [(&str, &str); 2] = [
    ("doubt", include_str!("../../../../../docs/method/doubts.md")),
    ("bottleneck", include_str!("../../../../../docs/bottlenecks.md")),
];

/// Flags of `pgdyno explain`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Names are those of kernel parameters, files of sysfs, limits, boot parameters, mount and mkfs \
    options, flags of LVM, initdb and configure, properties of ZFS, settings of the server, doubts and bottlenecks of \
    a report, and wait events.\n\n\
    Examples:\n  \
    pgdyno explain vm.swappiness\n  \
    pgdyno explain nobarrier\n  \
    pgdyno explain shared_buffers\n  \
    pgdyno explain 'cores shared'\n  \
    pgdyno explain LWLock:WALWrite"
)]
pub struct Args {
    /// The name
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// List all names
    #[arg(long, conflicts_with = "name")]
    list: bool,
}

/// Most similar names that an error lists.
const MOST_SIMILAR: usize = 8;

/// Runs `pgdyno explain`.
///
/// # Errors
/// Nothing is known of the name.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let Some(name) = args.name.as_deref() else {
        output::print(&list())?;
        return Ok(ExitCode::SUCCESS);
    };
    let texts = texts(name);
    if texts.is_empty() {
        return Err(nothing_of(name));
    }
    output::print(&texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// What is known of a name.
fn texts(name: &str) -> Vec<String> {
    let of_rules = pages().filter(|page| page.is_of(name)).map(pgdyno_report::rule_page);
    let of_reports = entries().into_iter().filter(|entry| entry.is_of(name)).map(|entry| entry.text());
    let found: Vec<String> = of_rules.chain(of_reports).collect();
    if found.is_empty() { of_setting(name).into_iter().collect() } else { found }
}

/// What is known of a setting that no rule judges.
fn of_setting(name: &str) -> Option<String> {
    let of_majors: Vec<&Setting> =
        ENTRIES.iter().filter(|entry| entry.name.eq_ignore_ascii_case(name)).collect();
    let facts = of_majors.iter().map(|of| {
        let default = if of.default.is_empty() { "empty" } else { of.default };
        Fact::new(format!("PostgreSQL {}", of.majors()), format!("{default} by default"))
    });
    let title = format!(
        "{}: a setting of postgresql.conf that no rule judges; the PostgreSQL manual explains it.",
        of_majors.first()?.name
    );
    Some(text_of_blocks(&[Block::text(title), Block::facts(facts.collect())]))
}

/// All names in the order of the documents.
fn list() -> String {
    let of_rules = pages().map(|page| (page.name.to_owned(), page.today.words()));
    let of_reports = entries().into_iter().map(|entry| (entry.name, entry.kind));
    let mut rest: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    rest.dedup();
    rest.retain(|name| !pages().any(|page| page.is_of(name)));
    let of_settings = rest.into_iter().map(|name| (name.to_owned(), "a setting that no rule judges"));
    let all = of_rules.chain(of_reports).chain(of_settings);
    all.map(|(name, what)| format!("{name:<44} {what}\n")).collect()
}

/// What explains a name of reports.
struct Entry {
    kind: &'static str,
    name: String,
    what: String,
    /// The wait event, if it is one.
    event: Option<&'static WaitEvent>,
}

impl Entry {
    /// The entry of a table's row; `None` for other lines.
    fn of_row(kind: &'static str, line: &str) -> Option<Self> {
        let mut cells = line.strip_prefix("| ")?.trim_end_matches('|').split(" | ").map(plain);
        Some(Self { kind, name: cells.next()?, what: cells.next()?, event: None })
    }

    fn of_event(event: &'static WaitEvent) -> Self {
        let (name, what) = (event.name.to_owned(), plain(event.waits_for));
        Self { kind: "wait event", name, what, event: Some(event) }
    }

    fn is_of(&self, name: &str) -> bool {
        match self.event {
            Some(event) => event.is_of(name),
            None => self.name.eq_ignore_ascii_case(name),
        }
    }

    fn text(&self) -> String {
        let label = match self.kind {
            "doubt" => "raised when",
            "bottleneck" => "seen in",
            _ => "waits for",
        };
        let older = self.event.map(|event| event.older).filter(|older| !older.is_empty());
        let older = older.map(|older| Fact::new("older names", older.join(", ")));
        let facts = [Fact::new(label, self.what.clone())].into_iter().chain(older).collect();
        text_of_blocks(&[Block::text(format!("{} ({})", self.name, self.kind)), Block::facts(facts)])
    }
}

/// Text of a table's cell without its marks: code, links, and the star of doubts that a comparison has.
fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell.trim();
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.replace(['`', '['], "").trim_end_matches(" *").trim().to_owned()
}

/// Doubts and bottlenecks, from the tables whose first column is called so; and wait events.
fn entries() -> Vec<Entry> {
    let of_document = |(kind, text): (&'static str, &'static str)| {
        let head = format!("| {kind} | ");
        let mut inside = false;
        text.lines().filter_map(move |line| {
            inside = if line.starts_with(&head) { true } else { inside && line.starts_with('|') };
            let is_row = inside && !line.starts_with(&head) && !line.starts_with("|---");
            is_row.then(|| Entry::of_row(kind, line)).flatten()
        })
    };
    TABLES.into_iter().flat_map(of_document).chain(WAIT_EVENTS.iter().map(Entry::of_event)).collect()
}

fn nothing_of(name: &str) -> Problem {
    let known: Vec<String> = list().lines().map(|line| line.chars().take(44).collect::<String>()).collect();
    let wanted = name.to_lowercase();
    let mut near: Vec<(bool, usize, &str)> = known
        .iter()
        .map(|known| known.trim())
        .map(|known| {
            let lower = known.to_lowercase();
            (!lower.contains(&wanted), strsim::damerau_levenshtein(&lower, &wanted), known)
        })
        .filter(|(apart, edits, _)| !apart || *edits <= wanted.len() / 3)
        .collect();
    near.sort_unstable();
    near.dedup();
    let names: Vec<&str> = near.into_iter().take(MOST_SIMILAR).map(|(.., name)| name).collect();
    let all = "`pgdyno explain --list` lists all names";
    Problem::wrong_request(format!("nothing is known of `{}`", printable(name))).hint(
        match names.as_slice() {
            [] => all.to_owned(),
            names => format!("similar: {}; {all}", names.join(", ")),
        },
    )
}

#[cfg(test)]
mod tests {
    use pgdyno_analysis::DoubtKind;
    use pgdyno_core::results::BottleneckKind;
    use serde_json::Value;

    use super::*;

    fn one(name: &str) -> Entry {
        let mut found: Vec<Entry> = entries().into_iter().filter(|entry| entry.is_of(name)).collect();
        assert_eq!(found.len(), 1, "{name}");
        found.remove(0)
    }

    #[test]
    fn rows_of_tables_are_entries() {
        assert_eq!(one("Cores shared").what, "driver and server may have run on the same CPUs");
        assert_eq!(one("mixed cache state").kind, "doubt");
        assert_eq!(one("snapshots").what, "LWLock:ProcArray");
        assert_eq!(one("WALWriteLock").name, "LWLock:WALWrite");
        assert_eq!(one("transactionid").kind, "wait event");
        assert!(entries().iter().all(|entry| !entry.what.is_empty() && !entry.what.contains("](")));
    }

    /// All values of an enum, as the schema of records lists them.
    fn kinds<K: serde::de::DeserializeOwned>(name: &str) -> Vec<K> {
        let schema: Value =
            serde_json::from_str(include_str!("../../../../../schemas/run.schema.json")).expect("JSON");
        let of = schema["$defs"][name]["oneOf"].as_array().expect("it is an enum");
        of.iter().map(|of| serde_json::from_value(of["const"].clone()).expect("it is one of them")).collect()
    }

    /// What a report names can be explained.
    #[test]
    fn every_doubt_and_bottleneck_is_explained() {
        for kind in kinds::<DoubtKind>("DoubtKind") {
            one(pgdyno_report::doubt_heading(kind));
        }
        for kind in kinds::<BottleneckKind>("BottleneckKind") {
            one(pgdyno_report::bottleneck_words(kind));
        }
    }

    #[test]
    fn settings_that_no_rule_judges_are_known() {
        let text = texts("Bonjour_name").concat();
        assert!(text.contains("9.5 and later") && text.contains("empty by default"), "{text}");
        assert!(texts("stats_temp_directory").concat().contains("gone in 15"));
        assert!(texts("checkpoint_segments").concat().contains("max_wal_size"));
        assert_eq!(texts("enable_seqscan").len(), 1, "it has a page");
        assert!(list().contains("\nbonjour_name ") && !list().contains("\nenable_seqscan   a setting"));
        assert_eq!(texts("nothing"), [""; 0]);
    }

    #[test]
    fn labels_of_findings_are_names() {
        assert_eq!(texts("barrier (/data01)"), texts("barrier"));
        assert!(texts("barrier(x)").is_empty() && !texts("barrier").is_empty());
    }

    #[test]
    fn unknown_names_have_a_hint() {
        let hint = nothing_of("vm.swapiness").hint.expect("it has one");
        assert!(hint.contains("vm.swappiness"), "{hint}");
    }
}
