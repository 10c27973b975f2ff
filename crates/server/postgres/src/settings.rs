//! Settings of sessions, for servers of all supported versions.

use pgdyno_core::facts::amount::{self, BLOCK};
use pgdyno_wire::{Session, WireError};

/// Statement that sets a setting for the session, or, with `local`, for the transaction. A version that lacks the
/// setting is left alone: its query has no row.
pub fn set_if_known(name: &str, value: &str, local: bool) -> String {
    format!(
        "SELECT pg_catalog.set_config(name, '{value}', {local}) FROM pg_catalog.pg_settings WHERE name = '{name}'"
    )
}

/// Reads a setting that is a size, in bytes. (`pg_size_bytes` exists since 9.6.)
///
/// # Errors
/// The setting cannot be read, or is no size.
pub fn size_bytes(session: &mut Session, name: &str) -> Result<u64, WireError> {
    let sql = format!("SELECT pg_catalog.current_setting('{name}')");
    let text = session.value(&sql)?.unwrap_or_default();
    let bytes = amount::parse(&text, BLOCK);
    bytes.ok_or_else(|| WireError::Protocol(format!("{text:?} is not a size, in answer to {sql}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_server_has_is_set() {
        assert!(
            set_if_known("jit", "off", true)
                .ends_with("(name, 'off', true) FROM pg_catalog.pg_settings WHERE name = 'jit'")
        );
    }
}
