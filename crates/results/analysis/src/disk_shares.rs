//! What cells used of the disks that were measured in the same run.

use std::collections::BTreeMap;

use pgdyno_core::{
    disk::{
        Disk, DiskShare, DiskWork,
        io::{IoOrder, IoReport},
    },
    measure::{CellRun, Workload, runs_by_cell},
    observe::DeviceSample,
};
use pgdyno_record::{Found, RunRecord};

/// Largest block of what counts as single pages, in bytes: an SSD serves larger ones at a lower rate.
const MOST_PAGE_BYTES: u32 = 16 << 10;

/// The shares of every cell, by device and kind of work; empty if no disk was measured.
pub fn disk_shares(record: &RunRecord) -> Vec<DiskShare> {
    let most = measured(record);
    let cells = runs_by_cell(record.measured_runs());
    let of_cell = |(workload, runs): &(&Workload, Vec<&CellRun>)| {
        let cell = workload.cell();
        let each = most.iter().filter_map(|((device, at), most_per_s)| {
            share(&cell, runs, device, DiskWork::ALL[*at], *most_per_s)
        });
        each.collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}

fn share(
    cell: &str,
    runs: &[&CellRun],
    device: &str,
    work: DiskWork,
    measured_per_s: f64,
) -> Option<DiskShare> {
    let used = runs.iter().filter_map(|run| {
        let devices = &run.observed.as_ref()?.devices;
        devices
            .iter()
            .find(|of| of.mean.device == device && of.machine.is_none())
            .map(|of| per_s(&of.mean, work))
    });
    let used: Vec<f64> = used.collect();
    let used_per_s = used.iter().sum::<f64>() / used.len() as f64;
    let is_known = !used.is_empty() && measured_per_s > 0.0;
    is_known.then(|| DiskShare {
        cell: cell.to_owned(),
        device: device.to_owned(),
        work,
        used_per_s,
        measured_per_s,
        share: used_per_s / measured_per_s,
    })
}

/// The most that each device gave when it was measured, by device and index of the work.
fn measured(record: &RunRecord) -> BTreeMap<(String, usize), f64> {
    let mut most: BTreeMap<(String, usize), f64> = BTreeMap::new();
    let reports = record.operations.iter().filter_map(|operation| match &operation.found {
        Found::Disk(Disk::Io(of)) => Some(of),
        _ => None,
    });
    for report in reports {
        // Of a stack, the device right below the file system has the requests of PostgreSQL.
        let Some(device) = report.devices.first() else { continue };
        for (at, work) in DiskWork::ALL.into_iter().enumerate().filter(|(_, work)| counts(report, *work)) {
            let found = most.entry((device.mean.device.clone(), at)).or_default();
            *found = found.max(per_s(&device.mean, work));
        }
    }
    most
}

/// Whether a measurement shows the most of a kind of work.
fn counts(report: &IoReport, work: DiskWork) -> bool {
    let is_by_page = report.pattern.order == IoOrder::Random && report.pattern.block_bytes <= MOST_PAGE_BYTES;
    match work {
        DiskWork::Reads => report.reads.is_some() && is_by_page,
        DiskWork::ReadBytes => report.reads.is_some(),
        DiskWork::Writes => report.writes.is_some() && is_by_page,
        DiskWork::WrittenBytes => report.writes.is_some(),
    }
}

fn per_s(device: &DeviceSample, work: DiskWork) -> f64 {
    match work {
        DiskWork::Reads => device.reads_per_s,
        DiskWork::ReadBytes => device.read_bytes_per_s,
        DiskWork::Writes => device.writes_per_s,
        DiskWork::WrittenBytes => device.written_bytes_per_s,
    }
}
