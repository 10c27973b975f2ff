//! The runs as CSV: one line a run of a cell, in machine units.

use pgdyno_core::measure::CellRun;
use serde_json::Value;

use crate::{document::Document, subjects::place};

/// The columns in order, each with the place in `run.json` it comes from: a pointer below `/runs/N`, or from
/// the root where it starts with `^`. Units are at the end of the names; an absent value is an empty field.
pub const COLUMNS: [(&str, &str); 50] = [
    ("run_id", "^/id"),
    ("status", "^/status"),
    ("server_version", "@/server/version"),
    ("durability", "@/server/durability"),
    ("scale", "^/plan/scale"),
    ("seed", "^/plan/seed"),
    ("block", "/block"),
    ("script", "/workload/script"),
    ("protocol", "/workload/protocol"),
    ("clients", "/workload/clients"),
    ("target_rate_per_s", "/workload/rate_per_s"),
    ("start_s", "/start_s"),
    ("duration_ns", "/duration_ns"),
    ("tps_per_s", "/tps"),
    ("committed", "/counts/committed"),
    ("failed", "/counts/failed"),
    ("skipped", "/counts/skipped"),
    ("timed_out", "/counts/timed_out"),
    ("in_doubt", "/counts/in_doubt"),
    ("never_started", "/counts/never_started"),
    ("latency_mean_ns", "/latency/mean_ns"),
    ("latency_p50_ns", "/latency/p50_ns"),
    ("latency_p95_ns", "/latency/p95_ns"),
    ("latency_p99_ns", "/latency/p99_ns"),
    ("latency_p999_ns", "/latency/p999_ns"),
    ("latency_max_ns", "/latency/max_ns"),
    ("driver_cpu_s", "/cpu/driver_s"),
    ("server_cpu_s", "/cpu/server_s"),
    ("steal_share", "/cpu/steal"),
    ("blocks_hit", "/io/blocks_hit"),
    ("blocks_read", "/io/blocks_read"),
    ("device_read_bytes", "/io/device_read_bytes"),
    ("wal_bytes", "/io/wal_bytes"),
    ("served_from", "/served_from"),
    ("server_source", "@/server/source"),
    ("server_build", "@/server/build/made/name"),
    ("server_compiler", "@/server/build/compiler"),
    ("server_cflags", "@/server/build/cflags"),
    ("server_features", "@/server/build/features"),
    ("server_block_bytes", "@/server/block_bytes"),
    ("subject", "/workload/subject"),
    ("tpcc_warehouses", "/tpcc/warehouses"),
    ("tpcc_shape", "/tpcc/shape"),
    ("tpcc_paced", "/tpcc/paced"),
    ("tpcc_isolation", "/tpcc/isolation"),
    ("tpcc_max_tries", "/tpcc/max_tries"),
    ("tpcc_weights", "/tpcc/weights"),
    ("tpcc_nopm", "/nopm"),
    ("tpcc_conditions_broken", "@/consistency/violations"),
    ("tpcc_note", "/tpcc/note"),
];

/// The columns of a comparison in order, a line a block: a pointer below `/comparison/blocks/N`, or from the root.
pub const BLOCK_COLUMNS: [(&str, &str); 15] = [
    ("run_id", "^/id"),
    ("status", "^/status"),
    ("a", "^/subjects/0/said"),
    ("b", "^/subjects/1/said"),
    ("seed", "^/plan/seed"),
    ("block", "/number"),
    ("kind", "/kind"),
    ("first", "/first"),
    ("start_s", "/start_s"),
    ("a_per_s", "/a_per_s"),
    ("b_per_s", "/b_per_s"),
    ("ln_ratio", "/ln_ratio"),
    ("outlier", "/outlier"),
    ("comparable", "^/subjects/1/comparable/verdict"),
    ("differs_besides", "^/subjects/1/comparable/besides"),
];

/// Name of the last column: the kinds of doubt that concern the run, separated by blanks.
const DOUBTS: &str = "doubts";

/// A header, then a line a run in the order they ran, or in a comparison a line a block (RFC 4180 with line feeds).
pub fn csv(document: &Document) -> String {
    match &document.record.comparison {
        None => {
            let runs = document.record.runs.iter().enumerate();
            let lines = runs.map(|(index, run)| {
                let columns = COLUMNS.map(|(name, pointer)| (name, of_subject(document, run, pointer)));
                let columns = columns.each_ref().map(|(name, pointer)| (*name, pointer.as_str()));
                line(document, &columns, &format!("/runs/{index}"), doubts(document, run))
            });
            whole(&COLUMNS, lines)
        }
        Some(comparison) => {
            let kinds = (0..document.record.doubts.len()).map(|index| kind(document, index));
            let kinds = kinds.collect::<Vec<_>>().join(" ");
            let blocks = 0..comparison.blocks.len();
            let lines = blocks.map(|index| {
                line(document, &BLOCK_COLUMNS, &format!("/comparison/blocks/{index}"), kinds.clone())
            });
            whole(&BLOCK_COLUMNS, lines)
        }
    }
}

/// A pointer below the subject of a run, where it begins with `@`.
fn of_subject(document: &Document, run: &CellRun, pointer: &str) -> String {
    match pointer.strip_prefix("@/") {
        Some("server/durability") if run.durability.is_some() => "/durability/tier".to_owned(),
        Some(rest) => format!("^/subjects/{}/{rest}", place(&document.record, &run.workload)),
        None => pointer.to_owned(),
    }
}

fn whole(columns: &[(&str, &str)], lines: impl Iterator<Item = String>) -> String {
    let header: Vec<_> = columns.iter().map(|(name, _)| *name).chain([DOUBTS]).collect();
    [header.join(",")].into_iter().chain(lines).map(|line| line + "\n").collect()
}

fn line(document: &Document, columns: &[(&str, &str)], below: &str, doubts: String) -> String {
    let field = |(_, pointer): &(&str, &str)| {
        let pointer = match pointer.strip_prefix('^') {
            Some(from_root) => from_root.to_owned(),
            None => format!("{below}{pointer}"),
        };
        field(document.source.0.pointer(&pointer))
    };
    columns.iter().map(field).chain([doubts]).collect::<Vec<_>>().join(",")
}

fn kind(document: &Document, index: usize) -> String {
    field(document.source.0.pointer(&format!("/doubts/{index}/kind")))
}

fn doubts(document: &Document, run: &CellRun) -> String {
    let cell = run.workload.cell();
    let concerned = |(index, doubt): (usize, &pgdyno_analysis::Doubt)| {
        (doubt.cells.is_empty() || doubt.cells.contains(&cell)).then(|| kind(document, index))
    };
    document.record.doubts.iter().enumerate().filter_map(concerned).collect::<Vec<_>>().join(" ")
}

/// Whether a spreadsheet would calculate a text. Flags of a compiler begin with a minus: what can harm has more in it.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '@', '\t', '\r']) || (text.starts_with('-') && text.contains(['(', '|', '!']))
}

/// A text as RFC 4180 has it.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn field(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        // A list of words or numbers.
        Some(Value::Array(list)) => {
            let words: Vec<_> =
                list.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
            field(Some(&Value::from(words.join("; "))))
        }
        Some(Value::String(text)) if is_formula(text) => quoted(&format!("'{text}")),
        Some(Value::String(text)) => quoted(text),
        Some(other) => other.to_string(),
    }
}
