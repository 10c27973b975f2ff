//! The cost of a timer call, as pg_test_timing measures it.
