//! The times of completed loads, which predict those of others on this machine.
//!
//! Each recorded load of one process, from its beginning to its end, is a line of a file in the state
//! directory, and so is each calibration.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, tz::TimeZone};
use pgdyno_core::{problem::Problem, units};
use pgdyno_postgres::load::{BulkOutcome, Survey};
use pgdyno_provision::make_open_dir;
use pgdyno_rows::load::{
    LoadPlan, LoadScene, MeasuredLoad, PARTITIONS, Prediction, Stage, StageSpan, predict, tasks,
};

use crate::context::PROGRAM;

/// Name of the file in the state directory.
const FILE: &str = "load-times.ndjson";
/// Most lines that are kept; the oldest go first.
const MOST: usize = 200;
/// A load with more rows than this multiple of the measured ones is far from them.
const FAR: f64 = 10.0;

/// The measured loads of all machines that share the state directory.
pub(super) struct KeptTimes {
    path: PathBuf,
    loads: Vec<MeasuredLoad>,
    /// Lines that could not be read, from 1.
    damaged: Vec<usize>,
}

/// Reads the measured loads.
///
/// # Errors
/// There is no state directory, or the file cannot be read.
pub(super) fn kept() -> Result<KeptTimes, Problem> {
    let path = pgdyno_lab::dirs()?.state.join(FILE);
    let text = match fs::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let what = format!("could not read the times of earlier loads in {}: {error}", path.display());
            return Err(Problem::could_not(what).hint("make it readable, or remove it"));
        }
    };
    Ok(KeptTimes::parse(path, &text))
}

/// What the times of a load are kept as.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kept<'a> {
    /// Those of a recorded run.
    Run(&'a str),
    /// A calibration, which leaves no run.
    Calibration,
}

/// Keeps the times of a load. What cannot be kept is said; the load is done.
pub(super) fn keep(
    as_what: Kept<'_>,
    (plan, survey): (&LoadPlan, &Survey),
    streams: u64,
    outcome: &BulkOutcome,
) {
    if outcome.tasks != tasks(plan).len() as u64 {
        return; // others had a part in it, or it was to end early
    }
    let created_s = outcome.created_s.filter(|_| plan.partitions.is_some());
    let stages = outcome.stages.iter().map(|time| (time.stage.name(), time.seconds));
    let stages = created_s.map(|seconds| (PARTITIONS, seconds)).into_iter().chain(stages);
    let load = MeasuredLoad {
        finished_at: Timestamp::now().to_string(),
        run: match as_what {
            Kept::Run(run) => run,
            Kept::Calibration => "calibration",
        }
        .to_owned(),
        scene: scene(survey, streams),
        plan: plan.clone(),
        stages: stages.map(|(name, seconds)| (name.to_owned(), seconds)).collect(),
        is_calibration: matches!(as_what, Kept::Calibration),
    };
    if let Err(problem) = kept().and_then(|kept| kept.add(&load)) {
        eprintln!("warning: {}", problem.what);
    }
}

/// Where and how a load on an examined server runs.
fn scene(survey: &Survey, streams: u64) -> LoadScene {
    let dir = survey.room.first().map(|room| room.dir.as_path());
    LoadScene {
        machine: machine(),
        place: dir.and_then(place),
        version_num: survey.version_num,
        page_bytes: survey.page_bytes,
        streams,
        is_optimised: PROGRAM.is_optimised,
    }
}

fn place(dir: &Path) -> Option<String> {
    let storage = pgdyno_host::facts::storage(dir).ok()?;
    let device = storage.device.map(|device| format!(" on {device}")).unwrap_or_default();
    Some(format!("{}{device}", storage.filesystem?))
}

fn machine() -> String {
    let Ok(host) = pgdyno_host::facts::host() else { return "unknown".to_owned() };
    let model = host.cpu.model.as_ref().unwrap_or(&host.arch);
    let cpus = units::plural(host.allowed_cpus().len() as u64, "CPU");
    format!("{model}, {cpus}, {}", units::bytes(host.memory.total_bytes))
}

impl KeptTimes {
    fn parse(path: PathBuf, text: &str) -> Self {
        let (mut loads, mut damaged) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            match serde_json::from_slice(line.as_bytes()) {
                Ok(load) => loads.push(load),
                Err(_) => damaged.push(number),
            }
        }
        Self { path, loads, damaged }
    }

    /// Adds a load. Lines that cannot be read stay until the file is shortened.
    fn add(&self, load: &MeasuredLoad) -> Result<(), Problem> {
        self.write(load).map_err(|error| {
            let path = self.path.display();
            Problem::could_not(format!("could not keep the times of this load in {path}: {error}"))
        })
    }

    fn write(&self, load: &MeasuredLoad) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), make_open_dir)?;
        if self.loads.len() >= MOST {
            let latest = self.loads[self.loads.len() - MOST / 2..].iter().chain([load]);
            let lines = latest.map(line).collect::<io::Result<String>>()?;
            let new = self.path.with_extension("new");
            fs::write(&new, lines)?;
            return fs::rename(new, &self.path);
        }
        // A whole line in one write: of two loads that end at the same time none is lost.
        let mut file = OpenOptions::new().append(true).create(true).mode(0o644).open(&self.path)?;
        file.write_all(line(load)?.as_bytes())
    }

    /// How long a load may take, in words, a line for each thing to know.
    pub(super) fn forecast(&self, plan: &LoadPlan, survey: &Survey, streams: u64) -> String {
        let mut text = String::new();
        let mut line = |what: &str, value: String| text.push_str(&format!("  {what:<10} {value}\n"));
        let scene = scene(survey, streams);
        match predict(plan, &scene, &self.loads) {
            Some(prediction) => {
                line("time", times(&prediction));
                line("time from", origin(&prediction));
                far(&prediction).into_iter().for_each(|words| line("but", words));
            }
            None => line("time", self.nothing(&scene)),
        }
        if let Some(first) = self.damaged.first() {
            let path = self.path.display();
            line("note", format!("line {first} of {path} is damaged and was ignored; remove it"));
        }
        text
    }

    /// Seconds that the stages of a load may take, as far as they were measured.
    pub(super) fn expected(&self, plan: &LoadPlan, survey: &Survey, streams: u64) -> Vec<(Stage, f64)> {
        let prediction = predict(plan, &scene(survey, streams), &self.loads);
        let stages = prediction.iter().flat_map(|prediction| &prediction.stages);
        // Creating partitions is not a stage: it is done when the first one begins.
        let stage = |of: &StageSpan| Stage::ALL.into_iter().find(|stage| stage.name() == of.name);
        stages
            .filter_map(|of| Some((stage(of)?, of.seconds.map(|[least, most]| (least + most) / 2.0)?)))
            .collect()
    }

    /// Why nothing can be said.
    fn nothing(&self, scene: &LoadScene) -> String {
        let others = self.loads.iter().filter(|load| load.scene.machine != scene.machine).count();
        let elsewhere = match others {
            0 => String::new(),
            others => format!(" ({} on other machines)", units::plural(others as u64, "load")),
        };
        format!(
            "not known: no such load was measured on this machine{elsewhere}; --calibrate measures a small one"
        )
    }
}

fn line(load: &MeasuredLoad) -> io::Result<String> {
    Ok(serde_json::to_string(load).map_err(io::Error::other)? + "\n")
}

/// `40 s`, or `40 s to 1 min 20 s` where loads differ by more than rounding hides.
fn span([least, most]: [f64; 2]) -> String {
    let [from, to] = [least, most].map(units::duration);
    if from == to { from } else { format!("{from} to {to}") }
}

fn times(prediction: &Prediction<'_>) -> String {
    let stage = |of: &StageSpan| {
        format!("{} {}", of.name, of.seconds.map_or_else(|| "not measured".to_owned(), span))
    };
    let stages: Vec<_> = prediction.stages.iter().map(stage).collect();
    format!("about {}: {}", span(prediction.total_s()), stages.join(", "))
}

fn origin(prediction: &Prediction<'_>) -> String {
    let latest = prediction.from[prediction.from.len() - 1];
    let date = latest.finished_at.parse::<Timestamp>();
    let date = date.map(|at| at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M UTC").to_string());
    let date = date.unwrap_or_else(|_| latest.finished_at.clone());
    let rates = prediction.rows_per_s().map(|rates| {
        let [least, most] = rates.map(units::rate);
        if least == most { format!(": {most} rows/s") } else { format!(": {least} to {most} rows/s") }
    });
    let calibrations = prediction.from.iter().filter(|load| load.is_calibration).count();
    let loads = match (prediction.from.len(), calibrations) {
        (all, 0) => units::plural(all as u64, "load"),
        (all, some) if all == some => units::plural(all as u64, "calibration"),
        (all, some) => {
            format!(
                "{}, {} of them",
                units::plural(all as u64, "load"),
                units::plural(some as u64, "calibration")
            )
        }
    };
    let of_run = if latest.is_calibration { String::new() } else { format!(" ({})", latest.run) };
    format!("{loads} on this machine, the latest of {date}{of_run}{}", rates.unwrap_or_default())
}

/// In what the load differs from the measured ones, if it does.
fn far(prediction: &Prediction<'_>) -> Option<String> {
    let growth = (prediction.growth >= FAR)
        .then(|| format!("{} times as many rows", units::count(prediction.growth.round() as u64)));
    let differences = (!prediction.differences.is_empty())
        .then(|| format!("measured with {}", prediction.differences.join(", ")));
    let words: Vec<_> = differences.into_iter().chain(growth).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_lines_are_named_and_cost_nothing_else() {
        let good = r#"{"finished_at":"2026-11-26T08:00:00Z","run":"r","machine":"m","version_num":180000,
            "page_bytes":8192,"streams":1,"is_optimised":true,"plan":{"scale":1,"partitions":null,"fillfactor":100,
            "unlogged":false,"foreign_keys":false,"tablespace":null,"index_tablespace":null,"way":"stream",
            "chunk_rows":50000},"stages":[["rows",1.5]]}"#
            .replace('\n', "");
        let kept = KeptTimes::parse("times".into(), &format!("{good}\n{{\"finished_at\":\n{good}\n"));
        assert_eq!((kept.loads.len(), kept.damaged), (2, vec![2]));
        assert_eq!(
            line(&kept.loads[0]).expect("it can be written").parse::<serde_json::Value>().ok(),
            good.parse().ok()
        );
    }

    #[test]
    fn a_full_file_keeps_the_latest() {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let path = dir.path().join("state").join(FILE);
        let load = |run: usize| MeasuredLoad {
            finished_at: "2026-11-26T08:00:00Z".to_owned(),
            run: run.to_string(),
            scene: LoadScene {
                machine: "m".to_owned(),
                place: None,
                version_num: 180_000,
                page_bytes: 8_192,
                streams: 1,
                is_optimised: true,
            },
            plan: LoadPlan::default(),
            stages: vec![("rows".to_owned(), 1.0)],
            is_calibration: false,
        };
        let read = || KeptTimes::parse(path.clone(), &fs::read_to_string(&path).unwrap_or_default());
        for run in 0..=MOST {
            read().add(&load(run)).expect("there is room");
        }
        let kept = read();
        assert_eq!((kept.loads.len(), kept.damaged.len()), (MOST / 2 + 1, 0));
        assert_eq!(kept.loads.last(), Some(&load(MOST)));
    }
}
