//! What is probed: a server, and tables in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The probed server and database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// `server_version`.
    pub version: String,
    /// `server_version_num`.
    pub version_num: u32,
    /// Name of the database.
    pub database: String,
    /// Page size in bytes (`block_size`).
    pub page_bytes: u64,
    /// `shared_buffers` in bytes.
    pub shared_buffers_bytes: u64,
}

/// A table with its partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// Name with its schema.
    pub name: String,
    /// Number of partitions; 0 if it is not partitioned.
    pub partitions: u64,
    /// Bytes of all partitions, including TOAST and maps, without indexes.
    pub table_bytes: u64,
    /// Bytes of the indexes of all partitions.
    pub index_bytes: u64,
}
