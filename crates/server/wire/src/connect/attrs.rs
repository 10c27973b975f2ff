//! Checks a server against `target_session_attrs`.

use crate::{Session, SessionAttrs, WireError};

/// Refuses a server of another kind. Servers from 14 on report their state at startup, others are queried.
pub(super) fn check(session: &mut Session, wanted: SessionAttrs) -> Result<(), WireError> {
    let (is_so, why) = match wanted {
        SessionAttrs::Any | SessionAttrs::PreferStandby => return Ok(()),
        SessionAttrs::ReadWrite => (!read_only(session)?, "session is read-only"),
        SessionAttrs::ReadOnly => (read_only(session)?, "session is not read-only"),
        SessionAttrs::Primary => (!standby(session)?, "server is in hot standby mode"),
        SessionAttrs::Standby => (standby(session)?, "server is not in hot standby mode"),
    };
    if is_so { Ok(()) } else { Err(WireError::NotWanted(why)) }
}

fn standby(session: &mut Session) -> Result<bool, WireError> {
    match session.parameter("in_hot_standby") {
        Some(reported) => Ok(reported == "on"),
        None => Ok(session.value("SELECT pg_catalog.pg_is_in_recovery()")?.as_deref() == Some("t")),
    }
}

/// Whether sessions are read-only. Both parameters must be reported: a pooler may pass on only one of them.
fn read_only(session: &mut Session) -> Result<bool, WireError> {
    match (session.parameter("default_transaction_read_only"), session.parameter("in_hot_standby")) {
        (Some(default), Some(standby)) => Ok(default == "on" || standby == "on"),
        _ => Ok(session.value("SHOW transaction_read_only")?.as_deref() == Some("on")),
    }
}
