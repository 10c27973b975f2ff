//! How quantities are written: bytes, counts, rates and latencies.
