//! Sizes, and what of the data lay in shared buffers, before the runs and after them.

use pgdyno_core::probe::{Held, HeldList};
use pgdyno_record::{HeldRecord, RunRecord};

use crate::{
    fact_group::FactGroup,
    figure::{
        Figure,
        Format::{self, Bytes, Count, Text},
        Phrase, Source,
    },
    servers::servers,
};

/// Relations of a kind that are told one by one.
const MOST: usize = 2;
/// Those that are smaller than this share of their kind are not.
const LEAST_SHARE: u64 = 100;

/// A group for each server of which it is known.
pub fn groups(record: &RunRecord, source: &Source) -> Vec<FactGroup> {
    let pairs = servers(record, source).into_iter().filter_map(|server| {
        let title = Phrase::of("Sizes").then(server.whose).text(" before → after the runs");
        Pair { held: server.held?, at: format!("{}/held", server.at), source }.group(title)
    });
    pairs.collect()
}

/// What a server held at two times.
struct Pair<'a> {
    held: &'a HeldRecord,
    at: String,
    source: &'a Source,
}

/// The relations of a kind.
type ListOf = fn(&Held) -> &HeldList;

/// Where something stands in what was found before and after, below each of them.
type Places = [Option<String>; 2];

impl Pair<'_> {
    fn group(&self, title: Phrase) -> Option<FactGroup> {
        let last = self.held.after.as_ref().or(self.held.before.as_ref())?;
        let mut items = Vec::new();
        let kinds: [(_, _, ListOf); 2] =
            [("tables", "table", |held| &held.tables), ("indexes", "index", |held| &held.indexes)];
        for (kind, one, list) in kinds {
            let all = self.everywhere(kind);
            let count = Phrase::default().figure(self.either(&all, "count", Count));
            items.push((kind, count.text(": ").then(self.size(&all)).then(self.share(&all))));
            let whole = list(last).bytes;
            let large = list(last).largest.iter().filter(|one| one.bytes * LEAST_SHARE >= whole);
            items.extend(large.take(MOST).map(|relation| {
                let places = self.places(&format!("{kind}/largest"), |held| {
                    list(held).largest.iter().position(|other| other.name == relation.name)
                });
                (one, self.relation(&places))
            }));
        }
        items.push(("database", self.size(&self.everywhere("database"))));
        items.extend(last.tablespaces.iter().map(|space| {
            let places = self.places("tablespaces", |held| {
                held.tablespaces.iter().position(|other| other.name == space.name)
            });
            let name = Phrase::default().figure(self.either(&places, "name", Text));
            ("tablespace", name.text(": ").then(self.size(&places)))
        }));
        Some(FactGroup { title, items })
    }

    /// What stands at the same place before and after.
    fn everywhere(&self, place: &str) -> Places {
        self.found(|_| Some(place.to_owned()))
    }

    /// What stands in a list at the position that is found there.
    fn places(&self, list: &str, position: impl Fn(&Held) -> Option<usize>) -> Places {
        self.found(|held| position(held).map(|at| format!("{list}/{at}")))
    }

    fn found(&self, place: impl Fn(&Held) -> Option<String>) -> Places {
        let times = [("before", &self.held.before), ("after", &self.held.after)];
        times.map(|(time, held)| Some(format!("{}/{time}/{}", self.at, place(held.as_ref()?)?)))
    }

    fn figure(&self, place: Option<&String>, field: &str, format: Format) -> Option<Figure> {
        self.source.figure(format!("{}/{field}", place?), format)
    }

    /// What does not change, from where it is known.
    fn either(&self, [before, after]: &Places, field: &str, format: Format) -> Option<Figure> {
        self.figure(after.as_ref(), field, format).or_else(|| self.figure(before.as_ref(), field, format))
    }

    fn relation(&self, places: &Places) -> Phrase {
        let name = Phrase::default().figure(self.either(places, "name", Text));
        let parts = self.either(places, "partitions", Count).filter(|parts| parts.value != 0);
        let named = name.maybe(", ", parts, " partitions").text(": ");
        named.then(self.size(places)).then(self.share(places))
    }

    fn size(&self, [before, after]: &Places) -> Phrase {
        let first = Phrase::default().figure(self.figure(before.as_ref(), "bytes", Bytes));
        first.text(" → ").figure(self.figure(after.as_ref(), "bytes", Bytes))
    }

    /// The share in shared buffers; of what has no page there is none.
    fn share(&self, places: &Places) -> Phrase {
        let [before, after] = places.clone().map(|place| {
            let place = place?;
            self.figure(Some(&place), "pages", Count).filter(|pages| pages.value != 0)?;
            self.source.part(format!("{place}/resident_pages"), format!("{place}/pages"))
        });
        let words = Phrase::of(", in shared buffers ").figure(before.clone());
        if before.is_none() && after.is_none() { words } else { words.text(" → ").figure(after) }
    }
}
