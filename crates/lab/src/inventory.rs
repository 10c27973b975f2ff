//! The machine of a run, with what is on it.

use std::path::Path;

use pgdyno_core::host::Inventory;
use pgdyno_host::inventory;
use pgdyno_record::RunRecord;

/// This machine, with the server and the storage of a record's first subject, if they are on it.
pub fn inventory_of(record: &RunRecord) -> Box<Inventory> {
    let first = record.subjects.first();
    let storage = first.and_then(|subject| subject.storage.as_ref()).or(record.storage.as_ref());
    let server = first.and_then(|subject| subject.server.as_ref());
    // Without storage the server is on another machine, where its directory is not ours.
    let data = storage.map(|storage| {
        let of_server = server.and_then(|server| server.data_directory.as_deref());
        Path::new(of_server.unwrap_or(&storage.path))
    });
    Box::new(inventory::read(&inventory::Request { root: Path::new("/"), data }))
}
