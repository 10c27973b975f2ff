//! Versions of PostgreSQL for tests.

/// The oldest major that tests start here. Of 9.5 there is a bundle for one architecture alone.
pub const OLDEST: &str = if cfg!(target_arch = "x86_64") { "9.5" } else { "9.6" };

/// The version of its bundle.
pub const OLDEST_VERSION: &str = if cfg!(target_arch = "x86_64") { "9.5.3" } else { "9.6.24" };
