//! The load of the tables, stage by stage.

use pgdyno_document::{
    block::{Fact, Facts},
    figure::{
        Figure,
        Format::{Bytes, Count, Rate, Seconds, Text, Word},
    },
    phrase::{Phrase, joined, maybe, phrase},
};
use pgdyno_record::{LoadRecord, LoadTerms};
use pgdyno_rows::load::Set;
use serde_json::Value;

use crate::{run::Run, source::Place};

/// Most phases of a stage that are shown; the record has all.
const MOST_PHASES: usize = 4;

/// The load of a subject.
pub fn facts(run: &Run<'_>, index: usize, load: &LoadRecord) -> Facts {
    facts_at(run, load, &run.subject(index).at("load"), phrase!["Data", run.whose(index)])
}

/// The later loads of a subject, each for some workloads.
pub fn of_workloads(run: &Run<'_>, index: usize) -> impl Iterator<Item = Facts> {
    let loads = run.record.subjects[index].loads_of_workloads.iter().enumerate();
    loads.map(move |(number, of)| {
        let at = run.subject(index).at("loads_of_workloads").at(number);
        let name = |name: usize| Phrase::from(at.at("workloads").figure(name.to_string(), Text));
        let names = (0..of.workloads.len()).map(name);
        let title = phrase!["Data", run.whose(index), " for ", joined(names, ", ")];
        facts_at(run, &of.load, &at.at("load"), title)
    })
}

fn facts_at(run: &Run<'_>, load: &LoadRecord, at: &Place<'_>, title: Phrase) -> Facts {
    let mut items = Vec::new();
    if load.terms.as_ref().is_none_or(|terms| terms.set == Set::Tpcb) {
        items.push(Fact::new("scale", run.root().figure("plan/scale", Count)));
    }
    items.push(Fact::new("rows", at.figure("rows", Count)));
    items.extend(load.terms.as_ref().map(|of| Fact::new("tables", terms(of, &at.at("terms")))));
    items.push(Fact::new("copy", copy(load, at)));
    if load.stages.is_empty() {
        items.push(Fact::new("vacuum", at.figure("vacuum_s", Seconds)));
        items.push(Fact::new("keys", at.figure("index_s", Seconds)));
    }
    items.extend((0..load.stages.len()).map(|index| Fact::new("stage", stage(load, at, index))));
    items.extend(load.key_workers.as_ref().map(|_| Fact::new("key workers", workers(&at.at("key_workers")))));
    items.push(Fact::new("size", at.figure("size_bytes", Bytes)));
    let prewarm = at.at("prewarm");
    let by = phrase![prewarm.figure("duration_s", Seconds), " by ", prewarm.figure("method", Text)];
    items.extend(load.prewarm.as_ref().map(|_| Fact::new("in buffers", by)));
    Facts { title, items }
}

/// A load in a line.
pub fn in_short(at: &Place<'_>) -> Phrase {
    phrase![
        at.figure("rows", Count),
        " rows",
        maybe(" at ", at.figure("rows_per_s", Rate), " rows/s"),
        maybe(", keys in ", at.figure("index_s", Seconds), ""),
        maybe(", ", at.figure("size_bytes", Bytes), ""),
    ]
}

/// Tables that were there before the run.
pub fn existing(run: &Run<'_>, index: usize) -> Facts {
    let at = run.subject(index).at("existing");
    let by = match at.figure("loaded_by", Count) {
        Some(_) => phrase!["pgdyno load, seed ", at.figure("loaded_by", Word)],
        None => "not by pgdyno".into(),
    };
    let accounts = at.at("accounts");
    let layout = phrase![
        accounts.figure("access_method", Text),
        maybe(", ", accounts.figure("partitions", Count).filter(|of| of.value != 0), " partitions"),
    ];
    let mut items = vec![
        Fact::new("tables", phrase![at.figure("set", Text), ", as they were found"]),
        Fact::new("scale", at.figure("scale", Count)),
        Fact::new("schema", phrase![at.figure("schema", Text), ", owner ", at.figure("owner", Text)]),
        Fact::new("loaded", by),
    ];
    let is_tpcb = run.record.subjects[index].existing.as_ref().is_some_and(|of| of.accounts.is_some());
    items.extend(is_tpcb.then(|| Fact::new("accounts", layout)));
    Facts { title: phrase!["Data", run.whose(index)], items }
}

/// The requested kind of load, without defaults.
pub fn terms(of: &LoadTerms, at: &Place<'_>) -> Phrase {
    let other_than = |field: &str, usual: u64| at.figure(field, Count).filter(|of| of.value != usual);
    let is_so = |field: &str, words: &'static str| {
        let so = at.figure(field, Word).is_some_and(|figure| figure.value == Value::Bool(true));
        if so { words } else { "" }
    };
    let options = of.options.table_options.iter().map(|option| {
        let key = option.key();
        let value = at.at("table_options").figure(&key, Text);
        phrase![", ", key, "=", value]
    });
    phrase![
        maybe("", at.figure("set", Text), ": "),
        at.figure("method", Word),
        maybe(", ", other_than("streams", 1), " connections"),
        maybe(", ", other_than("partitions", 0), " partitions"),
        maybe(" by ", at.figure("partition_method", Text), ""),
        maybe(", fill factor ", other_than("fillfactor", 100), " %"),
        joined(options, ""),
        is_so("unlogged", ", unlogged"),
        is_so("foreign_keys", ", foreign keys"),
        maybe(", tablespace ", at.figure("tablespace", Text), ""),
        maybe(", keys in tablespace ", at.figure("index_tablespace", Text), ""),
        maybe(", ", at.figure("key_workers", Count), " workers requested for a key"),
    ]
}

fn copy(load: &LoadRecord, at: &Place<'_>) -> Phrase {
    let sent = match load.copy_bytes {
        0 => "no COPY data".into(),
        _ => phrase![at.figure("copy_bytes", Bytes), " of ", at.figure("copy_format", Text)],
    };
    phrase![
        at.figure("copy_s", Seconds),
        ", ",
        sent,
        maybe(", ", at.figure("rows_per_s", Rate), " rows/s"),
        maybe(", ", at.figure("copy_bytes_per_s", Bytes), "/s"),
    ]
}

/// A stage with its WAL and its longest phases, in execution order.
fn stage(load: &LoadRecord, at: &Place<'_>, index: usize) -> Phrase {
    let own = at.at("stages").at(index);
    let phases = &load.stages[index].phases;
    let mut longest: Vec<usize> = (0..phases.len()).collect();
    longest.sort_by(|a, b| phases[*b].duration_s.total_cmp(&phases[*a].duration_s));
    longest.truncate(MOST_PHASES);
    longest.sort_unstable();
    let longest = longest.into_iter().map(|index| phase(&own.at("phases").at(index)));
    phrase![
        own.figure("name", Text),
        ": ",
        own.figure("duration_s", Seconds),
        maybe(", ", own.figure("rows_per_s", Rate), " rows/s"),
        maybe(", WAL ", own.figure("wal_bytes", Bytes), ""),
        maybe(", temporary files ", own.figure("temp_bytes", Bytes).filter(|bytes| bytes.value != 0), ""),
        if phases.is_empty() { "" } else { "; server: " },
        joined(longest, ", "),
    ]
}

/// A phase with what its processes read and wrote.
pub fn phase(at: &Place<'_>) -> Phrase {
    let read = at.figure("read_bytes_per_s", Bytes).filter(|of| of.value != 0);
    let separator = if read.is_some() { ", wrote " } else { " (wrote " };
    let written = at.figure("written_bytes_per_s", Bytes).filter(|of| of.value != 0);
    let end = if read.is_some() || written.is_some() { ")" } else { "" };
    phrase![
        at.figure("name", Text),
        " ",
        at.figure("duration_s", Seconds),
        maybe(" (read ", read, "/s"),
        maybe(separator, written, "/s"),
        end,
    ]
}

/// Parallel workers of keys: requested, planned and launched.
pub fn workers(at: &Place<'_>) -> Phrase {
    let range = |name: &str| match ["least", "most"].map(|end| at.at(name).figure(end, Count)) {
        [Some(a), Some(b)] if a.value != b.value => phrase![Some(a), " to ", Some(b)],
        [_, most] => Phrase::from(most),
    };
    let requested: Option<Figure> = at.figure("asked", Count);
    phrase!["requested ", requested, ", planned ", range("planned"), ", launched ", range("launched")]
}
