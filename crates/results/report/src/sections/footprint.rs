//! Sizes of the data and their share in shared buffers, before and after the runs.

use pgdyno_core::probe::{Held, HeldList};
use pgdyno_document::{
    block::{Fact, Facts},
    figure::{
        Figure,
        Format::{self, Bytes, Count, Text},
    },
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::FootprintRecord;

use crate::{run::Run, source::Place};

/// Most relations of a kind that are listed individually.
const LISTED: usize = 2;
/// Relations smaller than 1/100 of their kind are not listed individually.
const LEAST_SHARE: u64 = 100;

/// The footprint of a subject before and after the runs; `None` if both are unknown.
pub fn facts(run: &Run<'_>, index: usize, held: &FootprintRecord) -> Option<Facts> {
    let at = run.subject(index).at("held");
    let last = held.after.as_ref().or(held.before.as_ref())?;
    let pair = Pair { held, at };
    let mut items = Vec::new();
    let kinds: [(_, _, ListOf); 2] =
        [("tables", "table", |held| &held.tables), ("indexes", "index", |held| &held.indexes)];
    for (kind, one, list) in kinds {
        let all = pair.found(|_| Some(kind.to_owned()));
        let count = either(&all, "count", Count);
        items.push(Fact::new(kind, phrase![count, ": ", size(&all), share(&all)]));
        let whole = list(last).bytes;
        let large = list(last).largest.iter().filter(|one| one.bytes * LEAST_SHARE >= whole);
        items.extend(large.take(LISTED).map(|relation| {
            let places = pair.found(|held| {
                let position = list(held).largest.iter().position(|other| other.name == relation.name)?;
                Some(format!("{kind}/largest/{position}"))
            });
            Fact::new(one, largest(&places))
        }));
    }
    items.push(Fact::new("database", size(&pair.found(|_| Some("database".to_owned())))));
    items.extend(last.tablespaces.iter().map(|space| {
        let places = pair.found(|held| {
            let position = held.tablespaces.iter().position(|other| other.name == space.name)?;
            Some(format!("tablespaces/{position}"))
        });
        Fact::new("tablespace", phrase![either(&places, "name", Text), ": ", size(&places)])
    }));
    Some(Facts { title: phrase!["Sizes", run.whose(index), ", before → after the runs"], items })
}

/// Selects the relations of a kind.
type ListOf = fn(&Held) -> &HeldList;

/// The footprint before and after the runs, with its place in the record.
struct Pair<'a> {
    held: &'a FootprintRecord,
    at: Place<'a>,
}

/// Places of a fact before and after the runs.
type Places<'a> = [Option<Place<'a>>; 2];

impl<'a> Pair<'a> {
    fn found(&self, place: impl Fn(&Held) -> Option<String>) -> Places<'a> {
        let times = [("before", &self.held.before), ("after", &self.held.after)];
        times.map(|(time, held)| Some(self.at.at(time).at(place(held.as_ref()?)?)))
    }
}

/// A field that does not change, from either place.
fn either([before, after]: &Places<'_>, field: &str, format: Format) -> Option<Figure> {
    let of = |place: &Option<Place<'_>>| place.as_ref()?.figure(field, format);
    of(after).or_else(|| of(before))
}

fn largest(places: &Places<'_>) -> Phrase {
    let parts = either(places, "partitions", Count).filter(|parts| parts.value != 0);
    let name = either(places, "name", Text);
    phrase![name, maybe(", ", parts, " partitions"), ": ", size(places), share(places)]
}

fn size(places: &Places<'_>) -> Phrase {
    let [before, after] = places.each_ref().map(|place| place.as_ref()?.figure("bytes", Bytes));
    phrase![before, " → ", after]
}

/// The share in shared buffers; absent for relations without pages.
fn share(places: &Places<'_>) -> Phrase {
    let [before, after] = places.each_ref().map(|place| {
        let place = place.as_ref()?;
        place.figure("pages", Count).filter(|pages| pages.value != 0)?;
        place.part("resident_pages", "pages")
    });
    let later = if before.is_none() && after.is_none() { Phrase::default() } else { phrase![" → ", after] };
    phrase![", in shared buffers ", before, later]
}
