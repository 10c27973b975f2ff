//! Reports on hosts: their facts, what differs between two, what rules say of one, and layouts of storage.

mod check;
mod config;
mod differences;
mod facts;
mod layout;
mod limit;
mod storage;

use pgdyno_core::units;
use pgdyno_document::{
    Document, Short,
    block::{Block, Section, Table},
    phrase::Phrase,
};
use serde_json::Value;

use crate::{run::escape, source::Source};

pub use check::{check, page};
pub use config::config;
pub use differences::differences;
pub use facts::facts;
pub use layout::layout;

/// What figures are taken from. Names and values come from a host, and may contain escape sequences.
fn source(json: serde_json::Result<Value>) -> Source {
    let mut json = json.unwrap_or(Value::Null);
    escape(&mut json, units::printable);
    Source(json)
}

/// A document of sections alone.
fn document(id: Phrase, heading: Phrase, head: Vec<Block>, sections: Vec<Section>, whole: &str) -> Document {
    Document {
        id,
        title: heading.clone(),
        heading,
        warning: None,
        brief: head.clone(),
        head,
        cards: Vec::new(),
        sections,
        short: Short { whole: whole.into(), ..Short::default() },
        cells: Table::default(),
        data: Table::default(),
        foot: format!("Written by pgdyno. Every number has a reference to its field in `{whole} --json`.")
            .into(),
    }
}
