//! The machine of a run, with what is on it.

use std::path::Path;

use pgdyno_core::host::Inventory;
use pgdyno_host::facts;
use pgdyno_record::RunRecord;

/// This machine, with the server and the storage of a record's first subject, if they are on it. What this process may
/// use stays as the record has it, since threads may be pinned by now.
pub fn host_of(record: &RunRecord) -> Box<Inventory> {
    let first = record.subjects.first();
    let storage = first.and_then(|subject| subject.storage.as_ref()).or(record.storage.as_ref());
    let server = first.and_then(|subject| subject.server.as_ref());
    // Without storage the server is on another machine, where its directory is not ours.
    let data = storage.map(|storage| {
        let of_server = server.and_then(|server| server.data_directory.as_deref());
        Path::new(of_server.unwrap_or(&storage.path))
    });
    let now = facts::host_with(data);
    Box::new(Inventory { process: record.host.process.clone(), ..now })
}
