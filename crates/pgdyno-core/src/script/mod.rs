//! The pgbench script language.
