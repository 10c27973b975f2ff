//! Reads and writes at depth.
