//! Predicts the time of a load from loads that were measured on the same machine.

use pgdyno_core::units;
use serde::{Deserialize, Serialize};

use super::{LoadPlan, PartitionMethod, Partitions, Stage, Way, tasks};

/// Loads that a prediction is made from: the latest of those that are most alike.
const LATEST: usize = 5;

/// Name of the time in which the empty tables of a partitioned table are created.
pub const PARTITIONS: &str = "partitions";
/// Rows of a calibration for each stream, and at most: seconds on today's machines.
const CALIBRATION_ROWS: u64 = 1_000_000;
const MOST_CALIBRATION_ROWS: u64 = 10_000_000;
/// Most partitions of a calibration, unless more streams fill them.
const CALIBRATION_PARTITIONS: u64 = 64;

/// Where and how a load runs, besides its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadScene {
    /// CPUs and memory of the machine that pgdyno ran on.
    pub machine: String,
    /// File system and device of the server's data directory; `None` if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// `server_version_num`.
    pub version_num: u32,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Number of streams.
    pub streams: u64,
    /// Whether pgdyno was compiled with optimisation.
    pub is_optimised: bool,
}

/// A completed load with the times of its stages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLoad {
    /// When it ended, as RFC 3339 writes it, in UTC.
    pub finished_at: String,
    /// Name of its run.
    pub run: String,
    /// Where and how it ran.
    #[serde(flatten)]
    pub scene: LoadScene,
    /// What was loaded.
    pub plan: LoadPlan,
    /// Seconds of each stage, by the names of [`Stage::name`] and [`PARTITIONS`].
    pub stages: Vec<(String, f64)>,
    /// Whether it was a small load whose only purpose are these times.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_calibration: bool,
}

/// Seconds that a stage may take, from the fastest and the slowest of the measured loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageSpan {
    /// Name of the stage.
    pub name: &'static str,
    /// Least and most seconds; `None` if no measured load had the stage.
    pub seconds: Option<[f64; 2]>,
}

/// A prediction, and what it is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction<'a> {
    /// The stages of the load in order.
    pub stages: Vec<StageSpan>,
    /// The measured loads, the latest last; at least one.
    pub from: Vec<&'a MeasuredLoad>,
    /// In what they differ from the load, in words.
    pub differences: Vec<String>,
    /// Rows of the load as a multiple of the largest of the measured loads.
    pub growth: f64,
}

/// Predicts the stages of a load. Only loads of the same tables by the same method, made by the same machine, count;
/// of these the ones that differ least. `None` if there is no such load.
///
/// Stages about partitions as such are taken to grow with their number, all others with the number of rows. Sorts that
/// no longer fit into memory grow faster.
pub fn predict<'a>(
    plan: &LoadPlan,
    scene: &LoadScene,
    measured: &'a [MeasuredLoad],
) -> Option<Prediction<'a>> {
    let alike = |load: &&MeasuredLoad| is_alike(load, plan, scene);
    let with_differences = |load: &'a MeasuredLoad| (load, differences(load, plan, scene));
    let candidates: Vec<_> = measured.iter().filter(alike).map(with_differences).collect();
    // Of equally good ones the last: it is the latest.
    let (_, least) = candidates.iter().rev().min_by_key(|(_, differences)| differences.len())?;
    let mut from: Vec<_> =
        candidates.iter().filter(|(_, differences)| differences == least).map(|(load, _)| *load).collect();
    let differences = least.clone();
    from.drain(..from.len().saturating_sub(LATEST));
    let rows = |plan: &LoadPlan| plan.rows_total().max(1) as f64;
    let span = |name: &'static str| {
        let seconds = from.iter().filter_map(|load| {
            let (_, seconds) = load.stages.iter().find(|(stage, _)| stage == name)?;
            Some(seconds * growth_of(name, &load.plan, plan))
        });
        let seconds: Vec<_> = seconds.collect();
        let least = seconds.iter().copied().min_by(f64::total_cmp);
        let most = seconds.iter().copied().max_by(f64::total_cmp);
        StageSpan { name, seconds: least.zip(most).map(|(least, most)| [least, most]) }
    };
    let stages = names(plan).map(span).collect();
    let growth = rows(plan) / from.iter().map(|load| rows(&load.plan)).fold(1.0, f64::max);
    Some(Prediction { stages, from, differences, growth })
}

/// Names of the times of a load, in order.
fn names(plan: &LoadPlan) -> impl Iterator<Item = &'static str> {
    let wanted = tasks(plan);
    let stages = Stage::ALL.into_iter().filter(move |stage| wanted.iter().any(|task| task.stage == *stage));
    plan.partitions.map(|_| PARTITIONS).into_iter().chain(stages.map(Stage::name))
}

/// How many times as long a stage takes in a load as in another.
fn growth_of(name: &str, from: &LoadPlan, to: &LoadPlan) -> f64 {
    let amount = |plan: &LoadPlan| match plan.partitions {
        Some(partitions) if name == PARTITIONS || name == Stage::ParentKey.name() => partitions.count,
        _ => plan.rows_total(),
    };
    amount(to).max(1) as f64 / amount(from).max(1) as f64
}

/// A small load of the kind of another, whose times predict those of that one: the same tables by the same method and
/// with the same options, and as many rows for each partition as fit into it.
pub fn calibration(plan: &LoadPlan, streams: u64) -> LoadPlan {
    let rows = (CALIBRATION_ROWS * streams.max(1)).min(MOST_CALIBRATION_ROWS);
    let per_unit = (LoadPlan { scale: 1, log_rows: 0, ..plan.clone() }).rows_total().max(1);
    let part = |amount: u64| amount.min(rows.div_ceil(per_unit));
    let scale = part(plan.scale).max(1);
    let fewer = |partitions: Partitions| {
        let each = (plan.rows_total() / partitions.count.max(1)).max(1);
        let count = (scale * per_unit / each).clamp(streams.max(1), CALIBRATION_PARTITIONS.max(streams));
        let main = plan.set.main();
        let most = main.generator().units_at(scale) / main.grain();
        Partitions { count: count.min(partitions.count).min(most.max(1)), ..partitions }
    };
    LoadPlan {
        scale,
        log_rows: plan.log_rows.min(rows),
        partitions: plan.partitions.map(fewer),
        chunk_rows: plan
            .chunk_rows
            .min(rows.div_ceil(CHUNKS_A_STREAM * streams.max(1)).max(LEAST_CHUNK_ROWS)),
        ..plan.clone()
    }
}

/// Tasks of each stream of a calibration in chunks, and fewest rows of one.
const CHUNKS_A_STREAM: u64 = 16;
const LEAST_CHUNK_ROWS: u64 = 50_000;

impl Prediction<'_> {
    /// Least and most seconds of all stages that were measured.
    pub fn total_s(&self) -> [f64; 2] {
        let known = self.stages.iter().filter_map(|span| span.seconds);
        known.fold([0.0; 2], |[least, most], [a, b]| [least + a, most + b])
    }

    /// Least and most rows per second of writing rows in the measured loads.
    pub fn rows_per_s(&self) -> Option<[f64; 2]> {
        let rates = self.from.iter().filter_map(|load| {
            let (_, seconds) = load.stages.iter().find(|(name, _)| name == Stage::Copy.name())?;
            (*seconds > 0.0).then(|| load.plan.rows_total() as f64 / seconds)
        });
        let rates: Vec<_> = rates.collect();
        let least = rates.iter().copied().min_by(f64::total_cmp)?;
        Some([least, rates.iter().copied().fold(least, f64::max)])
    }
}

/// How partitions, methods and sources decide which tasks there are.
fn kind(plan: &LoadPlan) -> (Way, Option<PartitionMethod>, bool, bool) {
    let method = plan.partitions.map(|partitions| partitions.method);
    (plan.way, method, plan.log_chunks, plan.source.is_some())
}

fn is_alike(load: &MeasuredLoad, plan: &LoadPlan, scene: &LoadScene) -> bool {
    let same_machine = load.scene.machine == scene.machine && load.scene.is_optimised == scene.is_optimised;
    let same_tables = load.plan.set == plan.set && load.plan.unlogged == plan.unlogged;
    same_machine && same_tables && kind(&load.plan) == kind(plan)
}

/// In what a measured load differs from another that it is alike.
fn differences(load: &MeasuredLoad, plan: &LoadPlan, scene: &LoadScene) -> Vec<String> {
    let (of, other) = (&load.scene, &load.plan);
    let mut differences = Vec::new();
    let mut differ = |is: bool, words: String| differences.extend(is.then_some(words));
    let streams = units::plural(of.streams, "stream");
    differ(of.streams != scene.streams, format!("{streams} instead of {}", units::count(scene.streams)));
    let [was, is] = [of.version_num, scene.version_num].map(major);
    differ(was != is, format!("PostgreSQL {was} instead of {is}"));
    let (was, is) = (units::bytes(of.page_bytes), units::bytes(scene.page_bytes));
    differ(of.page_bytes != scene.page_bytes, format!("pages of {was} instead of {is}"));
    if let Some([was, is]) = of.place.as_ref().zip(scene.place.as_ref()).map(<[_; 2]>::from) {
        differ(was != is, format!("data on {was} instead of {is}"));
    }
    let fill = format!("fill factor {} % instead of {}", other.fillfactor, plan.fillfactor);
    differ(other.fillfactor != plan.fillfactor, fill);
    let count = |plan: &LoadPlan| plan.partitions.map_or(0, |partitions| partitions.count);
    let parts = units::plural(count(other), "partition");
    differ(count(other) != count(plan), format!("{parts} instead of {}", units::count(count(plan))));
    let workers =
        |plan: &LoadPlan| plan.key_workers.map_or("chosen".to_owned(), |workers| workers.to_string());
    let [was, is] = [other, plan].map(workers);
    differ(was != is, format!("{was} workers for a key instead of {is}"));
    differences
}

fn major(version_num: u32) -> String {
    match version_num {
        100_000.. => (version_num / 10_000).to_string(),
        _ => format!("{}.{}", version_num / 10_000, version_num / 100 % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadRequest, Set};

    fn scene(streams: u64) -> LoadScene {
        LoadScene {
            machine: "2 CPUs".to_owned(),
            place: Some("ext4 on /dev/vda".to_owned()),
            version_num: 180_000,
            page_bytes: 8_192,
            streams,
            is_optimised: true,
        }
    }

    fn plan(scale: u64) -> LoadPlan {
        LoadRequest { scale: Some(scale), ..LoadRequest::default() }.plan(1).expect("it can be")
    }

    fn measured(run: &str, scale: u64, streams: u64, copy_s: f64) -> MeasuredLoad {
        let stages = [("rows", copy_s), ("vacuum", 1.0), ("primary keys", 2.0)];
        MeasuredLoad {
            finished_at: "2026-11-26T08:00:00Z".to_owned(),
            run: run.to_owned(),
            scene: scene(streams),
            plan: plan(scale),
            stages: stages.map(|(name, seconds)| (name.to_owned(), seconds)).into(),
            is_calibration: false,
        }
    }

    #[test]
    fn stages_grow_with_rows_between_the_fastest_and_the_slowest_load() {
        let loads = [measured("a", 10, 1, 10.0), measured("b", 20, 1, 16.0), measured("c", 10, 4, 3.0)];
        let found = predict(&plan(100), &scene(1), &loads).expect("two are alike");
        let names: Vec<_> = found.from.iter().map(|load| load.run.as_str()).collect();
        assert_eq!((names, found.differences.len()), (vec!["a", "b"], 0));
        let spans: Vec<_> = found.stages.iter().map(|span| (span.name, span.seconds)).collect();
        let near = |seconds: Option<[f64; 2]>| seconds.map(|both| both.map(|s| (s * 100.0).round() / 100.0));
        assert_eq!(spans.len(), 3);
        assert_eq!(near(spans[0].1), Some([80.0, 100.0]));
        assert_eq!((spans[2].0, near(spans[2].1)), ("primary keys", Some([10.0, 20.0])));
        assert_eq!(found.total_s().map(f64::round), [95.0, 130.0]);
        assert_eq!(found.growth.round(), 5.0);
        assert_eq!(
            found.rows_per_s().map(|rates| rates.map(|rate| (rate / 1e3).round())),
            Some([100.0, 125.0])
        );
    }

    #[test]
    fn what_differs_is_said_and_what_is_another_load_does_not_count() {
        let loads = [measured("a", 10, 4, 3.0)];
        let found = predict(&plan(10), &LoadScene { version_num: 90_600, ..scene(1) }, &loads);
        let expected = ["4 streams instead of 1", "PostgreSQL 18 instead of 9.6"];
        assert_eq!(found.expect("there is one").differences, expected);
        let foreign_keys = LoadPlan { foreign_keys: true, ..plan(10) };
        let found = predict(&foreign_keys, &scene(4), &loads).expect("there is one");
        assert_eq!(found.stages.last().map(|span| (span.name, span.seconds)), Some(("foreign keys", None)));
        let elsewhere = LoadScene { machine: "96 CPUs".to_owned(), ..scene(4) };
        let debug = LoadScene { is_optimised: false, ..scene(4) };
        let unlogged = LoadPlan { unlogged: true, ..plan(10) };
        let chunks = LoadPlan { way: Way::Chunks, ..plan(10) };
        assert_eq!(predict(&plan(10), &elsewhere, &loads), None);
        assert_eq!(predict(&plan(10), &debug, &loads), None);
        assert_eq!(
            (predict(&unlogged, &scene(4), &loads), predict(&chunks, &scene(4), &loads)),
            (None, None)
        );
    }

    /// Those of article 004: 4,096 partitions of 244 million rows each.
    #[test]
    fn a_calibration_is_small_and_of_the_same_kind() {
        let request = |scale, partitions, set| LoadRequest {
            set,
            scale: Some(scale),
            partitions: Some(partitions),
            ..LoadRequest::default()
        };
        let count = |plan: &LoadPlan| plan.partitions.map_or(0, |partitions| partitions.count);
        for (set, scale, partitions, streams, expected) in [
            (Set::Tpcb, 10_000_000, 4_096, 8, (80, 8)),
            (Set::Tpcb, 10_000_000, 0, 1, (10, 0)),
            (Set::Tpcb, 3, 2, 1, (3, 2)),
            (Set::Tpcb, 1_000, 1_000, 2, (20, 20)),
            (Set::Tpcb, 1_000, 100_000, 2, (20, 64)),
            (Set::Scaleup, 1_000_000_000, 100, 4, (4_000_000, 4)),
            (Set::Tpcc, 1_000, 100, 4, (7, 4)),
        ] {
            let plan = request(scale, partitions, set).plan(streams).expect("it can be");
            let small = calibration(&plan, streams);
            assert_eq!((small.scale, count(&small)), expected, "{set:?} {scale} {partitions}");
            assert_eq!(kind(&small), kind(&plan));
            assert!(tasks(&small).len() < 1_000);
        }
        let plan = request(10_000_000, 4_096, Set::Tpcb).plan(8).expect("it can be");
        let small = calibration(&plan, 8);
        let stages = [(PARTITIONS, 0.5), ("rows", 10.0), ("key of the whole", 0.1)];
        let load = MeasuredLoad {
            plan: small,
            is_calibration: true,
            stages: stages.map(|(name, seconds)| (name.to_owned(), seconds)).into(),
            ..measured("calibration", 1, 8, 0.0)
        };
        let loads = [load];
        let found = predict(&plan, &scene(8), &loads).expect("it is alike");
        let seconds = |name| found.stages.iter().find(|span| span.name == name).and_then(|span| span.seconds);
        assert_eq!(seconds(PARTITIONS), Some([256.0; 2]), "512 times as many");
        assert_eq!(seconds("key of the whole").map(|both| both[0].round()), Some(51.0));
        assert_eq!(seconds("rows").map(|both| both[0].round()), Some(1_250_000.0));
        assert_eq!((seconds("vacuum"), found.differences.len()), (None, 1));
    }

    #[test]
    fn the_latest_loads_count() {
        let loads: Vec<_> = (0..9).map(|run| measured(&run.to_string(), 10, 1, f64::from(run))).collect();
        let found = predict(&plan(10), &scene(1), &loads).expect("all are alike");
        assert_eq!((found.from.len(), found.stages[0].seconds), (LATEST, Some([4.0, 8.0])));
        let text = serde_json::to_string(&loads[3]).expect("it can be written");
        assert_eq!(serde_json::from_str::<MeasuredLoad>(&text).expect("it can be read"), loads[3]);
    }
}
