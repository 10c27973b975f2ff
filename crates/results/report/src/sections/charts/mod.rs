//! Charts for forms that can draw.

mod against_clients;
mod distribution;
mod of_blocks;
pub mod scales;
mod throughput_and_latency;

use pgdyno_document::{
    block::{Block, Section},
    chart::Chart,
    phrase::{Phrase, phrase},
};

use crate::run::Run;

/// A section of charts for each workload; with several subjects one for each script, with a line per subject.
pub fn sections(run: &Run<'_>) -> Vec<Section> {
    let compared = run.record.comparison.as_ref().and_then(|of| of_blocks::chart(run, of));
    let blocks = compared.map(|chart| Section::new("Block by block", vec![Block::Chart(chart)]));
    let groups = run.groups();
    let workloads: Vec<Section> = match run.record.levels {
        Some(_) => of_subjects(run, &groups),
        None => {
            groups.iter().enumerate().filter_map(|(number, group)| of_workload(run, number, group)).collect()
        }
    };
    blocks.into_iter().chain(workloads).collect()
}

/// The groups of all subjects under one script.
fn of_subjects(run: &Run<'_>, groups: &[Vec<usize>]) -> Vec<Section> {
    let work = |group: &[usize]| {
        let workload = &run.record.cells[group[0]].workload;
        (&workload.script, &workload.protocol)
    };
    let scripts = groups.chunk_by(|a, b| work(a) == work(b)).enumerate();
    let sections = scripts.filter_map(|(number, groups)| {
        let cell = *groups[0].first()?;
        section(run.script_of(cell), against_clients::of_subjects(run, number, groups))
    });
    sections.collect()
}

fn of_workload(run: &Run<'_>, number: usize, group: &[usize]) -> Option<Section> {
    let against = against_clients::of_workload(run, number, group);
    let over_time = throughput_and_latency::charts(run, number, group);
    let charts = against.into_iter().chain(over_time).chain(distribution::chart(run, number, group));
    section(run.work_of(*group.first()?), charts.collect())
}

fn section(title: Phrase, charts: Vec<Chart>) -> Option<Section> {
    let title = phrase!["Charts: ", title];
    (!charts.is_empty()).then(|| Section::new(title, charts.into_iter().map(Block::Chart).collect()))
}
