//! The tracks of a run, few enough points for a page, and series of them.

use std::{collections::BTreeMap, sync::Arc};

use pgdyno_core::measure::Interval;
use pgdyno_document::lanes::{Series, Value};
use pgdyno_record::{Found, RunRecord};

use crate::{
    over_time::{Machine, OverTime, Sum, Time, Track, Whose},
    run::Run,
};

/// Most values of a page. One takes 10 to 15 bytes, as data and in its line; a merged one has an extreme on each side.
const MOST_VALUES: usize = 200_000;
/// What a value of a merged point counts.
const MERGED: usize = 3;
/// Series of a track that are shown at most.
const MOST_SERIES: usize = 8;
/// Fields of the timeline's latency with the names of their series. The maximum is always known; a second often has too
/// few samples for p99.
pub const LATENCIES: [&str; 4] = ["p50", "p95", "p99", "max"];

/// All tracks of a run.
#[derive(Debug, Default)]
pub struct Tracks {
    /// `tps`, and [`LATENCIES`] in nanoseconds.
    pub driven: BTreeMap<Whose, Track>,
    /// `rows` and `wal` per second, by the index of the operation.
    pub loaded: BTreeMap<usize, Track>,
    /// As in [`OverTime::cpus`].
    pub cpus: BTreeMap<Machine, Track>,
    /// As in [`OverTime::devices`].
    pub devices: BTreeMap<Machine, Track>,
    /// As in [`OverTime::waits`].
    pub waits: BTreeMap<Whose, Track>,
    /// As in [`OverTime::wal`].
    pub wal: BTreeMap<Whose, Track>,
    /// As in [`OverTime::checkpointer`].
    pub checkpointer: BTreeMap<Whose, Track>,
}

impl Tracks {
    /// All that is known of a run over time, merged as far as a page needs it.
    pub fn gather(run: &Run<'_>, over_time: &OverTime) -> Self {
        let mut tracks = Self {
            driven: driven(run.record, run.timeline),
            loaded: loaded(run.record),
            cpus: over_time.cpus.clone(),
            devices: over_time.devices.clone(),
            waits: over_time.waits.clone(),
            wal: over_time.wal.clone(),
            checkpointer: over_time.checkpointer.clone(),
        };
        let mut most = tracks.all().iter().map(|track| track.times().len()).max().unwrap_or(0);
        while tracks.values() > MOST_VALUES && most > 2 {
            most /= 2;
            tracks.all_mut().into_iter().for_each(|track| track.limit(most));
        }
        tracks
    }

    fn all(&self) -> Vec<&Track> {
        let by_subject = [&self.driven, &self.waits, &self.wal, &self.checkpointer];
        let several = by_subject.into_iter().flat_map(BTreeMap::values).chain(self.loaded.values());
        several.chain(self.cpus.values()).chain(self.devices.values()).collect()
    }

    fn all_mut(&mut self) -> Vec<&mut Track> {
        let by_subject = [&mut self.driven, &mut self.waits, &mut self.wal, &mut self.checkpointer];
        let several = by_subject.into_iter().flat_map(BTreeMap::values_mut).chain(self.loaded.values_mut());
        several.chain(self.cpus.values_mut()).chain(self.devices.values_mut()).collect()
    }

    fn values(&self) -> usize {
        let of = |track: &&Track| {
            let each = if track.is_merged() { MERGED } else { 1 };
            track.times().len() * track.names().count().min(MOST_SERIES) * each
        };
        self.all().iter().map(of).sum()
    }

    /// Length of the longest point of several lines.
    pub fn merged_s(&self) -> Option<f64> {
        let all = self.all();
        let merged = all.iter().flat_map(|track| track.times()).filter(|time| time.lines > 1);
        merged.map(|time| time.to_s - time.from_s).reduce(f64::max)
    }
}

/// The timeline of every subject, by pgdyno's clock.
fn driven(record: &RunRecord, timeline: &[Interval]) -> BTreeMap<Whose, Track> {
    let mut tracks: BTreeMap<Whose, Track> = BTreeMap::new();
    for line in timeline {
        let Some(run) = record.runs.get(line.run as usize) else { continue };
        let from_s = run.start_s - run.warmup_ns as f64 / 1e9 + line.start_ns as f64 / 1e9;
        let length_s = line.duration_ns as f64 / 1e9;
        let latency = line.latency.as_ref();
        let of = [
            latency.and_then(|of| of.p50_ns),
            latency.and_then(|of| of.p95_ns),
            latency.and_then(|of| of.p99_ns),
            latency.map(|of| of.max_ns),
        ];
        let latencies = LATENCIES.into_iter().zip(of).filter_map(|(name, ns)| Some((name, ns? as f64)));
        let values = [("tps", line.counts.committed as f64 / length_s)].into_iter().chain(latencies);
        tracks.entry(run.workload.subject.clone()).or_default().add(from_s, from_s + length_s, values);
    }
    tracks
}

/// Rows of the recorded loads.
fn loaded(record: &RunRecord) -> BTreeMap<usize, Track> {
    let of = |(index, operation): (usize, &pgdyno_record::OperationRecord)| {
        let Found::Load(load) = &operation.found else { return None };
        let mut track = Track::default();
        for one in &load.progress {
            let (from_s, to_s) = (operation.start_s + one.start_s, operation.start_s + one.end_s);
            let wal = one.wal_bytes.map(|bytes| ("wal", bytes as f64 / (to_s - from_s)));
            track.add(from_s, to_s, [("rows", one.rows_per_s)].into_iter().chain(wal));
        }
        (!track.times().is_empty()).then_some((index, track))
    };
    record.operations.iter().enumerate().filter_map(of).collect()
}

/// What is shown of the lines that are merged in a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Their mean.
    Mean,
    /// Their mean, where a line without the value means 0.
    MeanOfAll,
    /// The largest of them.
    Most,
}

impl Shown {
    fn of(self, sum: &Sum, time: &Time) -> Value {
        let (shown, least) = match self {
            Self::Mean => (sum.mean(), sum.least()),
            Self::MeanOfAll => (sum.mean_of_all(time), sum.least_of_all(time)),
            Self::Most => (sum.most(), sum.least()),
        };
        Value { shown, range: (time.lines > 1).then_some((least, sum.most())) }
    }
}

/// Begin and end of all points of a track.
pub fn times(track: &Track) -> Arc<Vec<(f64, f64)>> {
    Arc::new(track.times().iter().map(|time| (time.from_s, time.to_s)).collect())
}

/// A value of a track as a series under an entry of the legend.
pub fn series(
    track: &Track,
    times: &Arc<Vec<(f64, f64)>>,
    name: &str,
    shown: Shown,
    key: usize,
    src: String,
) -> Series {
    let is_all = shown == Shown::MeanOfAll;
    let value = |(sum, time): (Option<&Sum>, &Time)| match sum {
        Some(sum) => Some(shown.of(sum, time)),
        None if is_all => Some(Value { shown: 0.0, range: (time.lines > 1).then_some((0.0, 0.0)) }),
        None => None,
    };
    let values = track.values(name).into_iter().zip(track.times()).map(value).collect();
    Series { key, subject: None, stacked: false, src, times: Arc::clone(times), values }
}

/// The tracks in the order of the subjects, with the subject's index; `None` if there is one, or if it is not known.
pub fn by_subject<'a>(
    record: &RunRecord,
    tracks: &'a BTreeMap<Whose, Track>,
) -> Vec<(Option<usize>, &'a Track)> {
    let place = |whose: &Whose| {
        let name = whose.as_ref().filter(|_| record.subjects.len() > 1)?;
        record.subjects.iter().position(|subject| subject.name == *name)
    };
    let mut all: Vec<_> = tracks.iter().map(|(whose, track)| (place(whose), track)).collect();
    all.sort_by_key(|(place, _)| *place);
    all
}

/// Entry of a legend: the subject, or a word where there is one.
pub fn entry(record: &RunRecord, place: Option<usize>, word: &str) -> (usize, String) {
    let name = place.and_then(|place| record.subjects.get(place)).map(|subject| subject.name.clone());
    (place.unwrap_or(0), name.unwrap_or_else(|| word.to_owned()))
}
