//! What is declared of storage, next to what the same run measured, and what transactions cost by declared prices.

use std::path::Path;

use pgdyno_core::{
    disk::{
        CellCost, DeclaredStorage, Disk, NominalShare, NominalUnit,
        io::{IoFigures, IoReport},
    },
    measure::CellSummary,
};
use pgdyno_record::{Found, RunRecord};

/// The highest rate measured in each directory, with each nominal rate that is declared of it.
pub(crate) fn nominal_shares(record: &RunRecord) -> Vec<NominalShare> {
    let reports: Vec<&IoReport> =
        record.operations.iter().filter_map(|operation| io_report(&operation.found)).collect();
    let mut paths: Vec<&str> = reports.iter().map(|report| report.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let of_path = |declared: &'_ DeclaredStorage, path: &str| {
        let of_path: Vec<&IoReport> = reports.iter().copied().filter(|report| report.path == path).collect();
        let rates = [
            (NominalUnit::Operations, declared.most_iops()),
            (NominalUnit::Bytes, declared.most_bytes_per_s()),
        ];
        let known = rates.into_iter().filter_map(|(unit, rate)| Some((unit, rate?)));
        known.filter_map(|(unit, rate)| share((declared, unit, rate), &of_path)).collect::<Vec<_>>()
    };
    let pairs = record.declared.iter().flat_map(|declared| paths.iter().map(move |path| (declared, *path)));
    pairs
        .filter(|(declared, path)| is_about(declared, path))
        .flat_map(|(declared, path)| of_path(declared, path))
        .collect()
}

fn io_report(found: &Found) -> Option<&IoReport> {
    match found {
        Found::Disk(Disk::Io(report)) => Some(report),
        _ => None,
    }
}

fn is_about(declared: &DeclaredStorage, path: &str) -> bool {
    declared.dir.as_ref().is_none_or(|dir| Path::new(path).starts_with(dir))
}

fn share(
    (declared, unit, declared_per_s): (&DeclaredStorage, NominalUnit, f64),
    reports: &[&IoReport],
) -> Option<NominalShare> {
    let best = reports.iter().max_by(|a, b| rate(a, unit).total_cmp(&rate(b, unit)))?;
    let measured_per_s = rate(best, unit);
    Some(NominalShare {
        name: declared.name.clone(),
        path: best.path.clone(),
        pattern: best.pattern.name.clone(),
        unit,
        declared_per_s,
        measured_per_s,
        share: measured_per_s / declared_per_s,
    })
}

/// Reads and writes together.
fn rate(report: &IoReport, unit: NominalUnit) -> f64 {
    let of = |figures: &IoFigures| match unit {
        NominalUnit::Operations => figures.rate_per_s,
        NominalUnit::Bytes => figures.bytes_per_s,
    };
    [&report.reads, &report.writes].into_iter().flatten().map(of).sum()
}

/// The price of a million transactions of each cell, by every declared price of the storage that the data is on.
pub(crate) fn costs(record: &RunRecord) -> Vec<CellCost> {
    let data = record.storage.as_ref().map_or("", |storage| storage.path.as_str());
    let priced = record.declared.iter().filter(|declared| is_about(declared, data));
    let priced: Vec<_> = priced.filter_map(|declared| Some((declared, declared.price_per_hour?))).collect();
    let of_cell = |cell: &CellSummary| {
        let each = priced.iter().filter_map(|&(declared, price)| cost(cell, declared, price));
        each.collect::<Vec<_>>()
    };
    record.cells.iter().flat_map(of_cell).collect()
}

fn cost(cell: &CellSummary, declared: &DeclaredStorage, price_per_hour: f64) -> Option<CellCost> {
    let at = |tps: f64| CellCost::per_million(price_per_hour, tps);
    let tps = &cell.tps;
    let half_width = tps.half_width.filter(|half_width| *half_width < tps.value);
    Some(CellCost {
        cell: cell.workload.cell(),
        name: declared.name.clone(),
        per_million: at(tps.value)?,
        per_million_range: half_width.and_then(|half| at(tps.value + half).zip(at(tps.value - half))),
        currency: declared.currency.clone(),
    })
}

#[cfg(test)]
mod tests {
    use testkit::fixtures;

    use super::*;

    fn declared(name: &str, dir: Option<&str>) -> DeclaredStorage {
        DeclaredStorage {
            name: name.to_owned(),
            dir: dir.map(str::to_owned),
            disks: 2,
            iops: Some(1_000.0),
            bytes_per_s: Some(1e6),
            instance_iops: None,
            instance_bytes_per_s: Some(1.5e6),
            price_per_hour: Some(3.6),
            currency: Some("EUR".to_owned()),
        }
    }

    #[test]
    fn the_highest_rate_of_a_directory_is_listed_with_what_is_declared_of_it() {
        let mut record = fixtures::operations().record;
        let reports: Vec<IoReport> =
            record.operations.iter().filter_map(|one| io_report(&one.found)).cloned().collect();
        let path = reports.first().expect("the fixture has reads at depth").path.clone();
        record.declared = vec![declared("all", None), declared("elsewhere", Some("/elsewhere"))];
        let shares = nominal_shares(&record);
        let most =
            |unit| reports.iter().filter(|of| of.path == path).map(|of| rate(of, unit)).fold(0.0, f64::max);
        let iops =
            shares.iter().find(|of| of.path == path && of.unit == NominalUnit::Operations).expect("declared");
        assert_eq!((iops.declared_per_s, iops.measured_per_s), (2_000.0, most(NominalUnit::Operations)));
        let bytes =
            shares.iter().find(|of| of.path == path && of.unit == NominalUnit::Bytes).expect("declared");
        assert_eq!((bytes.declared_per_s, bytes.share), (1.5e6, most(NominalUnit::Bytes) / 1.5e6));
        assert!(shares.iter().all(|share| share.name == "all"));
    }

    #[test]
    fn a_price_is_that_of_the_storage_of_the_data() {
        let mut record = fixtures::complete().record;
        let data = record.storage.as_ref().expect("a server of its own").path.clone();
        record.declared = vec![declared("here", Some(&data)), declared("elsewhere", Some("/elsewhere"))];
        let costs = costs(&record);
        assert_eq!(costs.len(), record.cells.len());
        let (cell, cost) = (&record.cells[0], &costs[0]);
        assert_eq!((cost.name.as_str(), cost.currency.as_deref()), ("here", Some("EUR")));
        assert!((cost.per_million - 1_000.0 / cell.tps.value).abs() < 1e-9);
        assert!(
            cost.per_million_range
                .is_none_or(|(low, high)| low < cost.per_million && cost.per_million < high)
        );
    }
}
