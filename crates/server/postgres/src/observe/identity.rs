//! Identifies the server behind a session: its version, and whether it runs on this machine.

use std::net::IpAddr;

use pgdyno_core::problem::Problem;
use pgdyno_host::procs;

use pgdyno_wire::{Address, Session, WireError};

use super::counters::CONTROL_SINCE;

/// Oldest supported version, as `server_version_num`.
const OLDEST: u32 = 90_500;

/// Refuses servers that are too old or not PostgreSQL.
///
/// # Errors
/// The server is not supported; the message names its version.
pub fn check_version(session: &Session) -> Result<(), Problem> {
    let version = session.parameter("server_version").unwrap_or("unknown");
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let version_num = if major >= 10 { major * 10_000 } else { major * 10_000 + minor * 100 };
    if version_num >= OLDEST {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("could not measure this server: its version is {version}"))
        .hint("PostgreSQL 9.5 is the oldest that can be measured"))
}

/// The format of a server's data in words: two servers with the same can read each other's data directory. It has all
/// that `pg_control` says about how the cluster was made, and the versions of catalog and control file.
///
/// # Errors
/// The functions that read the control file may not be called.
pub fn data_format(session: &mut Session, version_num: u32) -> Result<String, WireError> {
    let format = session.value(if version_num < CONTROL_SINCE { FORMAT_OF_9_5 } else { FORMAT })?;
    Ok(format.unwrap_or_default())
}

const FORMAT: &str = "SELECT pg_catalog.concat_ws(' ', i::text, s.pg_control_version, s.catalog_version_no) \
                      FROM pg_catalog.pg_control_init() i, pg_catalog.pg_control_system() s";
/// The same of 9.5, as far as it was chosen when the server was compiled or the cluster was made.
const FORMAT_OF_9_5: &str = "SELECT pg_catalog.concat_ws(' ', '9.5', \
     (SELECT pg_catalog.string_agg(setting, ' ' ORDER BY name) \
     FROM pg_catalog.pg_settings WHERE name IN ('block_size', 'data_checksums', 'integer_datetimes', \
     'max_identifier_length', 'max_index_keys', 'segment_size', 'wal_block_size', 'wal_segment_size')), \
     (SELECT pg_catalog.string_agg(typbyval::text, ' ' ORDER BY typname) FROM pg_catalog.pg_type \
     WHERE oid IN ('float4'::pg_catalog.regtype, 'float8'::pg_catalog.regtype)))";

/// Process ID of the postmaster behind a session, if it runs on this machine and is visible.
pub fn postmaster_of(session: &Session) -> Option<u32> {
    let local = match session.address() {
        Address::Unix(..) => true,
        Address::Tcp(host, _) => host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
    };
    let backend = u32::try_from(session.backend_pid()).ok().filter(|_| local)?;
    parent_of_backend(backend)
}

/// As [`postmaster_of`], also for a session over the machine's address in a network: then process and server must agree
/// on how old both the backend and the postmaster are.
///
/// # Errors
/// See [`Session::query`].
pub fn postmaster_here(session: &mut Session) -> Result<Option<u32>, WireError> {
    if let Some(postmaster) = postmaster_of(session) {
        return Ok(Some(postmaster));
    }
    let seen = u32::try_from(session.backend_pid()).ok();
    let Some((backend, postmaster)) = seen.and_then(|pid| Some((pid, parent_of_backend(pid)?))) else {
        return Ok(None);
    };
    let rows = session.query(AGES)?;
    let said = |column| rows.first().and_then(|row| row.parse::<f64>(column));
    let ages = [procs::age_s(backend), said(0), procs::age_s(postmaster), said(1)];
    let [Some(own), Some(own_said), Some(its), Some(its_said)] = ages else { return Ok(None) };
    // A backend begins before it knows whom it serves, and a postmaster before it has its memory.
    let is_one = (-1.0..=STARTING_S).contains(&(own - own_said)) && its >= its_said - 1.0;
    Ok(is_one.then_some(postmaster))
}

/// Longest time in seconds from the begin of a backend to its first query.
const STARTING_S: f64 = 10.0;
const AGES: &str = "SELECT pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - backend_start), \
     pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - pg_catalog.pg_postmaster_start_time()) \
     FROM pg_catalog.pg_stat_activity WHERE pid = pg_catalog.pg_backend_pid()";

/// The postmaster, if this is one of its backends.
fn parent_of_backend(backend: u32) -> Option<u32> {
    let is_postgres = |pid: u32| procs::name(pid).is_some_and(|name| name.starts_with("postgres"));
    let parent = procs::parent(backend).filter(|_| is_postgres(backend))?;
    is_postgres(parent).then_some(parent)
}
