//! Words for values of records.

/// The report's word for a value of the record; other values are unchanged.
pub fn plain(word: &str) -> String {
    match word {
        "client" => "client backends",
        "observer" => "pgdyno's own sessions",
        "parallel_worker" => "parallel workers",
        "background_writer" => "background writer",
        "wal_writer" => "WAL writer",
        "io_worker" => "I/O workers",
        "wal_sender" => "WAL senders",
        "recovery" => "startup, WAL receiver",
        "other" => "others",
        "ended" => "ended processes",
        "shared-buffers" => "shared buffers",
        "page-cache" => "page cache",
        "below-buffers-unknown" => "unknown",
        "async-commit" => "async",
        "no-sync" => "none",
        "second_read" => "a second read",
        "stream" => "one COPY per table",
        "chunks" => "COPY in chunks",
        "server" => "INSERT by the server",
        "unix" => "unix socket",
        "tcp" => "TCP",
        "own" => "own server",
        "external" => "existing server",
        "installed" => "installed on this machine",
        "built" => "built by pgdyno",
        "bundle" => "embedded bundle",
        "asked" => "requested",
        "besides" => "not requested",
        "default-of-version" => "default of this version",
        "chosen-for-version" => "chosen by pgdyno for the version",
        "follows-from-sizes" => "follows from block or segment size",
        other => other,
    }
    .to_owned()
}
