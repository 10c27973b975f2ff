//! Random and sequential reads and writes at depth.
