//! How tables were loaded, stage by stage.

use pgdyno_record::{LoadRecord, RunRecord};
use pgdyno_rows::load::Set;
use serde_json::Value;

use crate::{
    fact_group::FactGroup,
    figure::{
        Figure,
        Format::{self, Bytes, Count, Rate, Seconds, Text, Word},
        Phrase, Source,
    },
    servers::servers,
};

/// Most phases of a stage that are told; the record has them all.
const MOST_PHASES: usize = 4;

/// A group for each load of the run.
pub fn groups(record: &RunRecord, source: &Source) -> Vec<FactGroup> {
    let loads = servers(record, source).into_iter().filter_map(|server| {
        let title = Phrase::of("Data").then(server.whose);
        Some(Loaded { load: server.load?, at: format!("{}/load", server.at), source }.group(title))
    });
    loads.collect()
}

/// One load, and where it stands in `run.json`.
struct Loaded<'a> {
    load: &'a LoadRecord,
    at: String,
    source: &'a Source,
}

impl Loaded<'_> {
    fn group(&self, title: Phrase) -> FactGroup {
        let tpcb = self.load.terms.as_ref().is_none_or(|terms| terms.set == Set::Tpcb);
        let mut items = Vec::new();
        if tpcb {
            items.push(("scale", Phrase::default().figure(self.source.figure("/plan/scale", Count))));
        }
        items.push(("rows", self.one("rows", Count)));
        items.extend(self.load.terms.as_ref().map(|_| ("tables", self.terms())));
        items.push(("copy", self.copy()));
        if self.load.stages.is_empty() {
            items.push(("vacuum", self.one("vacuum_s", Seconds)));
            items.push(("keys", self.one("index_s", Seconds)));
        }
        items.extend((0..self.load.stages.len()).map(|index| ("stage", self.stage(index))));
        items.extend(self.load.key_workers.as_ref().map(|_| ("key workers", self.workers())));
        items.push(("size", self.one("size_bytes", Bytes)));
        let by = self.one("prewarm/method", Text);
        items.push(("in buffers", self.one("prewarm/duration_s", Seconds).text(" by ").then(by)));
        FactGroup { title, items }
    }

    fn figure(&self, field: &str, format: Format) -> Option<Figure> {
        self.source.figure(format!("{}/{field}", self.at), format)
    }

    fn one(&self, field: &str, format: Format) -> Phrase {
        Phrase::default().figure(self.figure(field, format))
    }

    /// How tables were to be loaded; what is as usual is left out.
    fn terms(&self) -> Phrase {
        let term = |name: &str, format| self.figure(&format!("terms/{name}"), format);
        let other_than = |usual: u64| move |figure: &Figure| figure.value != usual;
        let is_so = |name: &str, words: &str| {
            let so = term(name, Word).is_some_and(|figure| figure.value == Value::Bool(true));
            Phrase::of(if so { words } else { "" })
        };
        Phrase::default()
            .maybe("", term("set", Text), ": ")
            .figure(term("method", Word))
            .maybe(", ", term("streams", Count).filter(other_than(1)), " connections")
            .maybe(", ", term("partitions", Count).filter(other_than(0)), " partitions")
            .maybe(" by ", term("partition_method", Text), "")
            .maybe(", fill factor ", term("fillfactor", Count).filter(other_than(100)), " %")
            .then(is_so("unlogged", ", unlogged"))
            .then(is_so("foreign_keys", ", foreign keys"))
            .maybe(", tablespace ", term("tablespace", Text), "")
            .maybe(", keys in tablespace ", term("index_tablespace", Text), "")
    }

    fn copy(&self) -> Phrase {
        let bytes = self.one("copy_bytes", Bytes).text(" of ").then(self.one("copy_format", Text));
        let sent = if self.load.copy_bytes > 0 { bytes } else { Phrase::of("nothing sent") };
        self.one("copy_s", Seconds)
            .text(", ")
            .then(sent)
            .maybe(", ", self.figure("rows_per_s", Rate), " rows/s")
            .maybe(", ", self.figure("copy_bytes_per_s", Bytes), "/s")
    }

    /// A stage with its WAL and the phases that took longest, in the order in which they came.
    fn stage(&self, index: usize) -> Phrase {
        let own = |field: &str, format| self.figure(&format!("stages/{index}/{field}"), format);
        let stage = Phrase::default().figure(own("name", Text)).text(": ").figure(own("duration_s", Seconds));
        let stage = stage.maybe(", WAL ", own("wal_bytes", Bytes), "");
        let phases = &self.load.stages[index].phases;
        let mut longest: Vec<usize> = (0..phases.len()).collect();
        longest.sort_by(|a, b| phases[*b].duration_s.total_cmp(&phases[*a].duration_s));
        longest.truncate(MOST_PHASES);
        longest.sort_unstable();
        longest.into_iter().enumerate().fold(stage, |stage, (place, phase)| {
            let part = |field: &str, format| own(&format!("phases/{phase}/{field}"), format);
            let before = if place == 0 { "; server: " } else { ", " };
            stage.text(before).figure(part("name", Text)).text(" ").figure(part("duration_s", Seconds))
        })
    }

    fn workers(&self) -> Phrase {
        let asked = Phrase::of("asked for ").then(self.one("key_workers/asked", Count));
        asked.text(", planned ").then(self.range("planned")).text(", at work ").then(self.range("launched"))
    }

    fn range(&self, name: &str) -> Phrase {
        let [least, most] =
            ["least", "most"].map(|end| self.figure(&format!("key_workers/{name}/{end}"), Count));
        match (&least, &most) {
            (Some(a), Some(b)) if a.value != b.value => {
                Phrase::default().figure(least).text(" to ").figure(most)
            }
            _ => Phrase::default().figure(most),
        }
    }
}
