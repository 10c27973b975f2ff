//! Rows of the benchmark tables: any part of any table, anywhere, always the same bytes.
