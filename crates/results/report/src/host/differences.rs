//! What differs between two hosts.

use pgdyno_core::{
    facts::major_of,
    host::{Difference, Inventory},
    units,
};
use pgdyno_document::{
    Document,
    block::{Block, Fact, Section},
    figure::Format::Text,
    phrase::{Phrase, phrase},
};
use serde_json::{Map, Value};

use super::{document, limit::Unit, source};
use crate::source::Place;

/// The facts that differ between two hosts, in the order of the inventory. Figures that change all the time, such as
/// available memory, are not compared.
pub fn differences(a: &Inventory, b: &Inventory) -> Document {
    let found = pgdyno_core::host::differences(a, b);
    let indexed: Vec<(usize, &Difference)> = found.iter().enumerate().collect();
    let source = source(serde_json::to_value(&found));
    let [name_a, name_b] = [a, b].map(|host| units::printable(&host.name).into_owned());
    let lead = match found.len() as u64 {
        0 => "The hosts do not differ in anything that was read.".to_owned(),
        count => format!(
            "The hosts differ in {}. The value of {name_a} is before the arrow, that of {name_b} after it; – where a \
             host does not have or report the fact. Figures that change all the time, such as available \
             memory, are left out.",
            units::plural(count, "fact")
        ),
    };
    let heading = phrase!["Hosts: ", name_a, " and ", name_b];
    let parts = indexed.chunk_by(|(_, one), (_, other)| split(&one.path).0 == split(&other.path).0);
    let sections = parts.map(|part| section(part, &source.root())).collect();
    document("hosts".into(), heading, vec![Block::text(lead)], sections, "pgdyno host facts --diff")
}

/// The differences of a part of the host, each with its place among all.
fn section(part: &[(usize, &Difference)], at: &Place<'_>) -> Section {
    let facts = part.iter().map(|(index, one)| fact(one, &at.at(index))).collect();
    let title = part.first().map_or("", |(_, one)| split(&one.path).0);
    Section::new(units::printable(title).into_owned(), vec![Block::facts(facts)])
}

fn fact(of: &Difference, at: &Place<'_>) -> Fact {
    let value = |field: &str, value: Option<&String>| match value.map(|value| in_words(&of.path, value)) {
        None => "–".into(),
        Some(Some(words)) => Phrase::from(units::printable(&words).into_owned()),
        Some(None) => at.figure(field, Text).into(),
    };
    let label = label(split(&of.path).1);
    let text = phrase![value("a", of.a.as_ref()), " → ", value("b", of.b.as_ref())];
    Fact::new(units::printable(&label).into_owned(), text)
}

/// The part of the host, and the rest of a path.
fn split(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (part, rest) = path.split_at(end);
    (part, if rest.is_empty() { part } else { rest.trim_start_matches('.') })
}

/// The rest of a path as words: names in brackets as they are, the names of their lists left out where they go without
/// saying, and fields without underscores and units.
fn label(rest: &str) -> String {
    /// Lists whose elements need no other name than their own, and a field that is all of its structure.
    const UNSAID: [&str; 7] =
        ["sysctls", "settings", "mitigations", "affinities", "lines", "limits", "value"];
    let mut words: Vec<String> = Vec::new();
    let mut left = rest;
    while !left.is_empty() {
        left = match left.strip_prefix('[') {
            Some(inner) => {
                let (name, after) = closed(inner);
                let list = words.last().cloned().unwrap_or_default();
                if list == "caches" {
                    words.pop();
                }
                words.push(name_in(&list, name));
                after
            }
            None => {
                let (field, after) = left.split_at(left.find(['.', '[']).unwrap_or(left.len()));
                if !UNSAID.contains(&field) {
                    words.push(words_of_field(field));
                }
                after.strip_prefix('.').unwrap_or(after)
            }
        };
    }
    words.join(" ")
}

/// The name of an element of a list: pools of huge pages are named after the size of a page, caches after their level.
fn name_in(list: &str, name: &str) -> String {
    match (list, name.parse()) {
        ("huge pages", Ok(size)) => units::bytes(size),
        ("caches", _) => format!("L{name}"),
        _ => name.to_owned(),
    }
}

/// What is within a bracket that is open, and what follows it; a name may have brackets itself.
fn closed(inner: &str) -> (&str, &str) {
    let end = inner.find("].").or_else(|| inner.find("][")).unwrap_or(inner.len().saturating_sub(1));
    let (name, after) = inner.split_at(end);
    let after = after.strip_prefix(']').unwrap_or(after);
    (name, after.strip_prefix('.').unwrap_or(after))
}

fn words_of_field(field: &str) -> String {
    match field {
        "version_num" => "PostgreSQL".to_owned(),
        "logical" => "CPUs".to_owned(),
        "boot_words" => "boot line".to_owned(),
        "clocks" => "clock source".to_owned(),
        "huge_page_bytes" => "memory in huge pages".to_owned(),
        _ => field.strip_suffix("_bytes").unwrap_or(field).replace('_', " "),
    }
}

/// Whether a field is an amount of bytes that is written with its unit: the MTU is known by its plain number.
fn is_in_bytes(path: &str) -> bool {
    path.ends_with("_bytes") && !path.ends_with("mtu_bytes")
}

/// A value that is not shown as it is: an amount, a version, or a thing of which the other host has none.
fn in_words(path: &str, value: &str) -> Option<String> {
    if let Ok(Value::Object(fields)) = serde_json::from_str(value) {
        return Some(thing(&fields, path));
    }
    let number: u64 = value.parse().ok()?;
    let limit = path.split_once("limits[").and_then(|(_, rest)| rest.split_once(']'));
    match limit {
        Some((name, _)) => Unit::of(name).words(number),
        None if is_in_bytes(path) => Some(units::bytes(number)),
        None if path.ends_with(".version_num") => Some(major_of(u32::try_from(number).ok()?)),
        None => None,
    }
}

/// A thing by its fields but for those that its name consists of.
fn thing(fields: &Map<String, Value>, path: &str) -> String {
    let name = path.rsplit_once('[').map_or("", |(_, name)| name.trim_end_matches(']'));
    let is_named = |text: &str| name == text || name.split(' ').any(|word| word == text);
    let shown = fields.iter().filter_map(|(field, value)| {
        let text = plain(field, value);
        let what = match field.as_str() {
            "value" => String::new(),
            _ => words_of_field(field) + " ",
        };
        (!is_named(&text)).then(|| what + &text)
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "present".to_owned() } else { shown.join("; ") }
}

fn plain(field: &str, value: &Value) -> String {
    match value {
        Value::Number(number) if is_in_bytes(field) => {
            number.as_u64().map_or_else(|| number.to_string(), units::bytes)
        }
        Value::Bool(is) => (if *is { "yes" } else { "no" }).to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(|one| plain("", one)).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let each =
                fields.iter().map(|(name, value)| format!("{} {}", words_of_field(name), plain(name, value)));
            each.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
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
    }

    #[test]
    fn facts_are_named_in_words() {
        for (rest, expected) in [
            ("total_bytes", "total"),
            ("sysctls[net.ipv4.tcp_rmem]", "net.ipv4.tcp_rmem"),
            ("[sda].read_ahead_bytes", "sda read ahead"),
            ("[eth0.7].offloads[tso]", "eth0.7 offloads tso"),
            ("lines[/etc/limits.conf * soft nofile].value", "/etc/limits.conf * soft nofile"),
            ("limits[Max open files].soft", "Max open files soft"),
            ("huge_pages[2097152].total", "huge pages 2 MiB total"),
            ("version_num", "PostgreSQL"),
            ("[/srv/a[1]].options", "/srv/a[1] options"),
            ("affinities[virtio0-input.0]", "virtio0-input.0"),
            ("boot_words", "boot line"),
            ("caches[1 Data].size_bytes", "L1 Data size"),
        ] {
            assert_eq!(label(rest), expected);
        }
    }

    #[test]
    fn values_have_units() {
        for (path, value, expected) in [
            ("memory.total_bytes", "8192", Some("8 KiB")),
            ("cpu.logical", "8192", None),
            ("server.version_num", "90624", Some("9.6")),
            ("server.limits[Max locked memory].soft", "8388608", Some("8 MiB")),
            ("server.limits[Max open files].hard", "1048576", None),
            ("server.limits[Max open files].hard", "unlimited", None),
            (
                "devices[sda]",
                r#"{"name":"sda","size_bytes":1024,"discard":true,"parents":["a","b"],"stripe":{"members":2}}"#,
                Some("size 1 KiB; discard yes; parents a, b; stripe members 2"),
            ),
            ("network[eth0].mtu_bytes", "1500", None),
            ("login.lines[* soft nofile]", r#"{"domain":"*","value":"1024"}"#, Some("1024")),
            ("directories[data /pg]", r#"{"path":"/pg","purpose":"data"}"#, Some("present")),
        ] {
            assert_eq!(in_words(path, value).as_deref(), expected, "{path}");
        }
    }
}
