//! The cells as a table in machine units: one row per cell, with its comparison if there is one.

use pgdyno_core::{
    measure::{CellSummary, Estimate},
    results::ComparedRate,
};
use pgdyno_document::{
    block::{Cell, Column, Row, Table},
    figure::Format::Raw,
    phrase::maybe,
};
use pgdyno_record::ComparisonRecord;

use crate::{
    run::Run,
    sections::{comparison::RATES, csv_runs},
    source::Source,
};

/// Where the value of a column is.
#[derive(Clone, Copy)]
enum At {
    /// In the record.
    Record(&'static str),
    /// In the cell.
    OfCell(&'static str),
    /// In the cell's subject.
    Subject(&'static str),
    /// In the comparison of the cell with the baseline.
    Comparison(&'static str),
    /// In the rate of operations on storage, of an arm without cells.
    OfStorage(&'static str),
    /// An end of the confidence interval of TPS: its mean and this many half-widths.
    Tps(f64),
}

use At::{Comparison, OfCell, OfStorage, Record, Subject, Tps};

/// The columns. Names end with the unit.
const COLUMNS: [(&str, At); 57] = [
    ("run_id", Record("id")),
    ("status", Record("status")),
    ("server_version", Subject("server/version")),
    ("durability", Subject("server/durability")),
    ("scale", Record("plan/scale")),
    ("seed", Record("plan/seed")),
    ("subject", OfCell("workload/subject")),
    ("script", OfCell("workload/script")),
    ("protocol", OfCell("workload/protocol")),
    ("clients", OfCell("workload/clients")),
    ("target_rate_per_s", OfCell("workload/rate_per_s")),
    ("blocks", OfCell("tps/count")),
    ("duration_ns", Record("plan/duration_ns")),
    ("tps_per_s", OfCell("tps/value")),
    ("tps_half_width_per_s", OfCell("tps/half_width")),
    ("tps_low_per_s", Tps(-1.0)),
    ("tps_high_per_s", Tps(1.0)),
    ("tps_least_per_s", OfCell("tps/min")),
    ("tps_most_per_s", OfCell("tps/max")),
    ("qps_per_s", OfCell("qps/value")),
    ("rows_per_s", OfCell("rows_per_s/value")),
    ("latency_count", OfCell("latency/count")),
    ("latency_mean_ns", OfCell("latency/mean_ns")),
    ("latency_stddev_ns", OfCell("latency/stddev_ns")),
    ("latency_p50_ns", OfCell("latency/p50_ns")),
    ("latency_p95_ns", OfCell("latency/p95_ns")),
    ("latency_p99_ns", OfCell("latency/p99_ns")),
    ("latency_p999_ns", OfCell("latency/p999_ns")),
    ("latency_max_ns", OfCell("latency/max_ns")),
    ("longest_silence_ns", OfCell("longest_silence_ns")),
    ("miss_share", OfCell("miss_rate")),
    ("driver_cpus", OfCell("driver_cpus")),
    ("server_cpus", OfCell("server_cpus")),
    ("driver_cpu_us_per_transaction", OfCell("driver_cpu_us_per_transaction")),
    ("server_cpu_us_per_transaction", OfCell("server_cpu_us_per_transaction")),
    ("served_from", OfCell("served_from")),
    ("server_source", Subject("server/source")),
    ("server_build", Subject("server/build/made/name")),
    ("server_compiler", Subject("server/build/compiler")),
    ("server_cflags", Subject("server/build/cflags")),
    ("server_block_bytes", Subject("server/block_bytes")),
    ("tpcc_warehouses", OfCell("tpcc/run/warehouses")),
    ("tpcc_shape", OfCell("tpcc/run/shape")),
    ("tpcc_paced", OfCell("tpcc/run/paced")),
    ("tpcc_isolation", OfCell("tpcc/run/isolation")),
    ("tpcc_nopm", OfCell("tpcc/nopm/value")),
    ("tpcc_nopm_half_width", OfCell("tpcc/nopm/half_width")),
    ("tpcc_tpm", OfCell("tpcc/tpm/value")),
    ("tpcc_conditions_broken", Subject("consistency/violations")),
    ("tpcc_note", OfCell("tpcc/run/note")),
    ("effect_share", Comparison("effect")),
    ("effect_low_share", Comparison("low")),
    ("effect_high_share", Comparison("high")),
    ("verdict", Comparison("verdict/answer")),
    ("rows_half_width_per_s", OfCell("rows_per_s/half_width")),
    ("operations_per_s", OfStorage("value")),
    ("operations_half_width_per_s", OfStorage("half_width")),
];

/// The cells in listing order. A comparison of commands, loads or storage, which have no cells, has a row for each arm.
pub fn table(run: &Run<'_>) -> Table {
    let names = COLUMNS.iter().map(|(name, _)| *name).chain([csv_runs::DOUBTS]);
    let cells = run.cells().into_iter().map(|(index, cell)| row(run, index, cell));
    let without_cells = run.record.comparison.as_ref().filter(|_| run.record.cells.is_empty());
    let arms =
        without_cells.into_iter().flat_map(|of| (0..RATES.len()).map(move |arm| row_of_arm(run, of, arm)));
    Table::new(names.map(Column::words).collect(), cells.chain(arms).collect())
}

fn row(run: &Run<'_>, index: usize, cell: &CellSummary) -> Row {
    let doubts = csv_runs::doubts(run, Some(&cell.workload.cell()));
    let compared = compared(run, cell);
    let value = |(_, from): &(&str, At)| value(run, index, cell, compared.as_deref(), *from);
    Row::new(false, COLUMNS.iter().map(value).chain([doubts]))
}

/// The row of an arm of a comparison without cells.
fn row_of_arm(run: &Run<'_>, of: &ComparisonRecord, arm: usize) -> Row {
    let value = |(_, from): &(&str, At)| value_of_arm(run, of, arm, *from);
    Row::new(false, COLUMNS.iter().map(value).chain([csv_runs::doubts(run, None)]))
}

fn value_of_arm(run: &Run<'_>, comparison: &ComparisonRecord, arm: usize, from: At) -> Cell {
    let rates = [&comparison.a_per_s, &comparison.b_per_s];
    let rate = match comparison.by {
        ComparedRate::Tps | ComparedRate::NewOrders => "tps/",
        ComparedRate::LoadedRows => "rows_per_s/",
        // In columns of their own.
        ComparedRate::Syncs | ComparedRate::Reads => "operations/",
    };
    let pointer = match from {
        Tps(widths) if rate == "tps/" => {
            return rates[arm].as_ref().map_or_else(String::new, |rate| end(rate, widths)).into();
        }
        // Loads have no interval of their own: it is the plan's.
        Record("plan/duration_ns") if comparison.by == ComparedRate::LoadedRows => return "".into(),
        Record(field) => format!("/{field}"),
        Subject(field) => format!("/subjects/{arm}/{field}"),
        Comparison(field) if arm == 1 => format!("/comparison/result/{field}"),
        OfCell("workload/subject") => format!("/subjects/{arm}/name"),
        OfCell("tps/count") => format!("{}/count", RATES[arm]),
        OfStorage(field) if run.compares_storage() => format!("{}/{field}", RATES[arm]),
        OfStorage(_) => return "".into(),
        OfCell(field) => match field.strip_prefix(rate) {
            Some(field) => format!("{}/{field}", RATES[arm]),
            None => return "".into(),
        },
        Tps(_) | Comparison(_) => return "".into(),
    };
    of(&run.source, pointer)
}

fn value(run: &Run<'_>, index: usize, cell: &CellSummary, compared: Option<&str>, from: At) -> Cell {
    let subject = run.place_of(&cell.workload);
    let pointer = match from {
        Tps(widths) => return end(&cell.tps, widths).into(),
        Comparison(field) => match compared {
            Some(result) => format!("{result}/{field}"),
            None => return "".into(),
        },
        Record(field) => format!("/{field}"),
        Subject("server/durability") if cell.durability.is_some() => format!("/cells/{index}/durability"),
        Subject(field) => format!("/subjects/{subject}/{field}"),
        OfCell(field) => format!("/cells/{index}/{field}"),
        OfStorage(_) => return "".into(),
    };
    of(&run.source, pointer)
}

fn of(source: &Source, pointer: String) -> Cell {
    maybe("", source.figure(pointer, Raw), "").into()
}

/// An end of the interval of a rate, which is never below 0.
fn end(tps: &Estimate, widths: f64) -> String {
    tps.half_width.map_or_else(String::new, |half| (tps.value + widths * half).max(0.0).to_string())
}

/// The place of the comparison of a cell with the baseline: that of its level, or in a comparison of two that of B.
fn compared(run: &Run<'_>, cell: &CellSummary) -> Option<String> {
    if run.record.comparison.is_some() {
        return (run.place_of(&cell.workload) == 1).then(|| "/comparison/result".to_owned());
    }
    let levels = &run.record.levels.as_ref()?.list;
    let own = &cell.workload;
    let level = levels.iter().position(|level| {
        Some(&level.subject) == own.subject.as_ref()
            && (&level.script, &level.protocol, level.clients) == (&own.script, &own.protocol, own.clients)
    })?;
    Some(format!("/levels/list/{level}/result"))
}

#[cfg(test)]
mod tests {
    use testkit::fixtures;

    use super::*;

    fn column(table: &Table, name: &str) -> Vec<String> {
        let at = table.columns.iter().position(|column| column.name.plain() == name).expect("it is one");
        table.rows().map(|row| row.cells[at].text.plain()).collect()
    }

    #[test]
    fn every_cell_has_one_row_with_its_interval() {
        let record = fixtures::complete().record;
        let table = table(&Run::new(&record, &[]));
        assert_eq!(column(&table, "clients"), ["1", "4", "16", "1", "4", "16"]);
        for (row, cell) in record.cells.iter().enumerate() {
            let number = |name: &str| column(&table, name)[row].parse::<f64>().expect("it has a value");
            let half = cell.tps.half_width.expect("three blocks");
            assert_eq!(number("tps_low_per_s"), cell.tps.value - half);
            assert_eq!(number("tps_high_per_s"), cell.tps.value + half);
            assert_eq!(number("blocks"), 3.0);
        }
    }

    #[test]
    fn verdicts_are_next_to_the_cells_that_are_compared() {
        let several = fixtures::several().record;
        let verdicts = column(&table(&Run::new(&several, &[])), "verdict");
        assert_eq!(verdicts[..3], ["", "faster", "faster"]);
        let two = fixtures::faster().record;
        assert_eq!(column(&table(&Run::new(&two, &[])), "verdict"), ["", "faster"]);
    }

    #[test]
    fn no_interval_of_a_rate_goes_below_zero() {
        let mut record = fixtures::complete().record;
        record.cells[0].tps.half_width = Some(3.0 * record.cells[0].tps.value);
        assert_eq!(column(&table(&Run::new(&record, &[])), "tps_low_per_s")[0], "0");
    }

    /// What has no cells has its rates by arm.
    #[test]
    fn loads_have_a_row_for_each_arm() {
        let record = fixtures::loads().record;
        let table = table(&Run::new(&record, &[]));
        assert_eq!(column(&table, "subject"), ["A", "B"]);
        let comparison = record.comparison.as_ref().expect("it is one");
        let means = [&comparison.a_per_s, &comparison.b_per_s].map(|of| of.as_ref().expect("it has blocks"));
        assert_eq!(column(&table, "rows_per_s"), means.map(|of| of.value.to_string()));
        assert_eq!(column(&table, "blocks"), ["3", "3"]);
        assert_eq!(column(&table, "tps_per_s"), ["", ""], "rows are no transactions");
        assert_eq!(column(&table, "verdict"), ["", "cannot-tell"]);
    }
}
