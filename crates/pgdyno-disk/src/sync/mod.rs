//! Synchronous writes by every method that PostgreSQL has, as pg_test_fsync measures them.
