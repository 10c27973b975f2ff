//! What differs between two hosts, as a table.

use pgdyno_core::units;
use pgdyno_document::{
    Document,
    block::{Block, Column, Row, Section, Table},
    figure::Format::Text,
    phrase::{Phrase, phrase},
};
use pgdyno_inventory::{Difference, Inventory};

use super::{document, source};
use crate::source::Place;

/// The facts that differ between two hosts, in the order of the inventory. Figures that change all the time, such as
/// available memory, are not compared.
pub fn differences(a: &Inventory, b: &Inventory) -> Document {
    let found = pgdyno_inventory::differences(a, b);
    let indexed: Vec<(usize, &Difference)> = found.iter().enumerate().collect();
    let source = source(serde_json::to_value(&found));
    let [name_a, name_b] = [a, b].map(|host| units::printable(&host.name).into_owned());
    let heading = phrase!["Hosts: ", name_a, " and ", name_b];
    let parts = indexed.chunk_by(|(_, one), (_, other)| split(&one.path).0 == split(&other.path).0);
    let sections = parts.map(|part| section(part, &source.root())).collect();
    let lead = match found.len() as u64 {
        0 => "The hosts do not differ in anything that was read.".to_owned(),
        count => format!("The hosts differ in {}.", units::plural(count, "fact")),
    };
    document("hosts".into(), heading, vec![Block::text(lead)], sections, "pgdyno host facts --diff")
}

/// The differences of a part of the host, each with its place among all.
fn section(part: &[(usize, &Difference)], at: &Place<'_>) -> Section {
    /// Longest name of a fact that is kept on one line.
    const LONGEST: usize = 40;
    let is_short = part.iter().all(|(_, one)| split(&one.path).1.chars().count() <= LONGEST);
    let first = if is_short { Column::words("fact") } else { Column::text("fact") };
    let columns = vec![first, Column::text("first"), Column::text("second")];
    let rows = part.iter().map(|(index, one)| row(one, &at.at(index))).collect();
    let title = part.first().map_or("", |(_, one)| split(&one.path).0);
    Section::new(units::printable(title).into_owned(), vec![Block::Table(Table::new(columns, rows))])
}

fn row(of: &Difference, at: &Place<'_>) -> Row {
    let value = |field: &str, value: Option<&String>| match bytes(&of.path, value) {
        Some(text) => Phrase::from(text),
        None => at.figure(field, Text).into(),
    };
    let name = units::printable(split(&of.path).1).into_owned();
    Row::new(true, [name.into(), value("a", of.a.as_ref()).into(), value("b", of.b.as_ref()).into()])
}

/// The part of the host, and the rest of a path.
fn split(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (part, rest) = path.split_at(end);
    (part, if rest.is_empty() { part } else { rest.trim_start_matches('.') })
}

/// A number of bytes with its unit; `None` for another value.
fn bytes(path: &str, value: Option<&String>) -> Option<String> {
    let number = value?.parse().ok()?;
    path.ends_with("_bytes").then(|| units::bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_with_the_part_of_the_host() {
        for (path, parts) in [
            ("memory.total_bytes", ("memory", "total_bytes")),
            ("devices[sda].scheduler", ("devices", "[sda].scheduler")),
            ("os", ("os", "os")),
        ] {
            assert_eq!(split(path), parts);
        }
        assert_eq!(bytes("memory.total_bytes", Some(&"8192".into())).as_deref(), Some("8 KiB"));
        assert_eq!(bytes("cpu.logical", Some(&"8192".into())), None);
        assert_eq!(bytes("memory.total_bytes", None), None);
    }
}
