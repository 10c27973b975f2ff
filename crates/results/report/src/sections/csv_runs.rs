//! The runs as a table in machine units: one row per run, or in a comparison one row per block.

use pgdyno_core::measure::CellRun;
use pgdyno_document::{
    block::{Cell, Column, Row, Table},
    figure::Format::Raw,
    phrase::{joined, maybe},
};

use crate::run::Run;

/// The columns of runs with their JSON pointers, relative to the run, to the root if they start with `^`, or to the
/// run's subject if they start with `@`. Names end with the unit.
const RUN_COLUMNS: [(&str, &str); 50] = [
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

/// The columns of blocks with their JSON pointers, relative to the block, or to the root if they start with `^`.
const BLOCK_COLUMNS: [(&str, &str); 14] = [
    ("run_id", "^/id"),
    ("status", "^/status"),
    ("a", "^/subjects/0/said"),
    ("b", "^/subjects/1/said"),
    ("seed", "^/plan/seed"),
    ("block", "/number"),
    ("first", "/first"),
    ("start_s", "/start_s"),
    ("a_per_s", "/a_per_s"),
    ("b_per_s", "/b_per_s"),
    ("ln_ratio", "/ln_ratio"),
    ("outlier", "/outlier"),
    ("comparable", "^/subjects/1/comparable/verdict"),
    ("differs_besides", "^/subjects/1/comparable/besides"),
];

/// Name of the last column: the kinds of doubt that concern the row, separated by blanks.
pub const DOUBTS: &str = "doubts";

/// The rows in execution order.
pub fn table(run: &Run<'_>) -> Table {
    let (columns, rows): (&[(&str, &str)], Vec<Row>) = match &run.record.comparison {
        None => {
            let runs = run.record.measured_runs().iter().enumerate();
            let row = |(index, of): (usize, &CellRun)| {
                let place = |pointer: &str| of_run(run, index, of, pointer);
                self::row(run, &RUN_COLUMNS, place, doubts(run, Some(&of.workload.cell())))
            };
            (&RUN_COLUMNS[..], runs.map(row).collect())
        }
        Some(comparison) => {
            let row = |index: usize| {
                let place = |pointer: &str| match pointer.strip_prefix('^') {
                    Some(from_root) => from_root.to_owned(),
                    None => format!("/comparison/blocks/{index}{pointer}"),
                };
                self::row(run, &BLOCK_COLUMNS, place, doubts(run, None))
            };
            (&BLOCK_COLUMNS[..], (0..comparison.blocks.len()).map(row).collect())
        }
    };
    let names = columns.iter().map(|(name, _)| *name).chain([DOUBTS]);
    Table::new(names.map(Column::words).collect(), rows)
}

fn row(run: &Run<'_>, columns: &[(&str, &str)], place: impl Fn(&str) -> String, doubts: Cell) -> Row {
    let cell = |(_, pointer): &(&str, &str)| maybe("", run.source.figure(place(pointer), Raw), "").into();
    Row::new(false, columns.iter().map(cell).chain([doubts]))
}

/// The JSON pointer of a run's column.
fn of_run(run: &Run<'_>, index: usize, of: &CellRun, pointer: &str) -> String {
    match (pointer.strip_prefix('^'), pointer.strip_prefix('@')) {
        (Some(from_root), _) => from_root.to_owned(),
        (_, Some("/server/durability")) if of.durability.is_some() => {
            format!("/runs/{index}/durability/tier")
        }
        (_, Some(of_subject)) => format!("/subjects/{}{of_subject}", run.place_of(&of.workload)),
        _ => format!("/runs/{index}{pointer}"),
    }
}

/// The kinds of all doubts, or of those about a cell.
pub fn doubts(run: &Run<'_>, cell: Option<&String>) -> Cell {
    let doubts = run.record.doubts.iter().enumerate();
    let concerned =
        doubts.filter(|(_, of)| of.cells.is_empty() || cell.is_none_or(|cell| of.cells.contains(cell)));
    joined(concerned.map(|(index, _)| run.root().at("doubts").at(index).figure("kind", Raw)), " ").into()
}
