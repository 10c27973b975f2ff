//! Durability of commits: settings of sessions, and functions that scripts call.

use std::collections::BTreeSet;

use pgdyno_core::facts::{CommitSettings, DurabilityTier, Weakness};
use pgdyno_script::{Routine, reached, words};

use pgdyno_wire::{Row, Session, WireError};

/// Query for the settings that determine the durability of a session's commits; [`commit_settings`] parses its row.
pub const COMMIT_SETTINGS: &str = "SELECT pg_catalog.current_setting('synchronous_commit'), \
     pg_catalog.current_setting('fsync'), pg_catalog.current_setting('full_page_writes'), \
     (pg_catalog.date_part('epoch', pg_catalog.pg_conf_load_time()) * 1000000)::pg_catalog.int8";

/// Parses the row of [`COMMIT_SETTINGS`]; `None` if it does not match.
pub fn commit_settings(row: &Row) -> Option<CommitSettings> {
    Some(CommitSettings {
        synchronous_commit: row.get(0)?.to_owned(),
        fsync: row.get(1)? == "on",
        full_page_writes: row.get(2)? == "on",
        loaded_at_us: row.parse(3)?,
    })
}

/// Reads the settings that determine the durability of a session's commits.
///
/// # Errors
/// The query fails, or its result does not match.
pub fn ask_commit_settings(session: &mut Session) -> Result<CommitSettings, WireError> {
    let rows = session.query(COMMIT_SETTINGS)?;
    let settings = rows.first().and_then(commit_settings);
    settings.ok_or_else(|| WireError::Protocol("no reply to the query for settings".to_owned()))
}

/// FROM clause for user-defined functions with readable source.
const OWN_ROUTINES: &str = "pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
     JOIN pg_catalog.pg_language l ON l.oid = p.prolang \
     WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND l.lanname NOT IN ('internal', 'c')";

/// Regular expression for function bodies worth examining with [`Routine::weaknesses`].
const SUSPECT: &str = "synchronous_commit|set_config|execute|unlogged|temp";

/// Queries for edges from a name to a text that it leads to: from a function to its body, from a table to its
/// triggers, rules, checks, defaults and partitions, and to the tables that refer to it.
const LEADS: [&str; 6] = [
    "SELECT c.relname, p.proname FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid \
     JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'",
    "SELECT c.relname, pg_catalog.pg_get_ruledef(r.oid) FROM pg_catalog.pg_rewrite r \
     JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')",
    "SELECT c.relname, pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d \
     JOIN pg_catalog.pg_class c ON c.oid = d.adrelid",
    "SELECT c.relname, pg_catalog.pg_get_constraintdef(k.oid) FROM pg_catalog.pg_constraint k \
     JOIN pg_catalog.pg_class c ON c.oid = k.conrelid WHERE k.contype = 'c'",
    "SELECT c.relname, r.relname FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.confrelid \
     JOIN pg_catalog.pg_class r ON r.oid = k.conrelid WHERE k.contype = 'f'",
    "SELECT c.relname, r.relname FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhparent \
     JOIN pg_catalog.pg_class r ON r.oid = i.inhrelid",
];

/// Everything that weakens a commit, or may, in functions of this database reachable from scripts with these
/// words, by calls or triggers. Names are compared without schemas.
///
/// # Errors
/// The connection is lost. A query that the server refuses counts as a possible weakness.
pub fn weak_routines(session: &mut Session, said: &BTreeSet<String>) -> Result<Vec<Weakness>, WireError> {
    match find_weak(session, said) {
        Err(WireError::Server(error)) => Ok(vec![Weakness {
            tier: DurabilityTier::Uncertain,
            what: format!("functions that could not be examined ({})", error.message),
        }]),
        found => found,
    }
}

fn find_weak(session: &mut Session, said: &BTreeSet<String>) -> Result<Vec<Weakness>, WireError> {
    // A SQL-standard body is not stored as text, but can be printed.
    let body = match session.major() {
        Some(14..) => "p.prosrc || COALESCE(pg_catalog.pg_get_function_sqlbody(p.oid), '')",
        _ => "p.prosrc",
    };
    let config = "pg_catalog.array_to_string(p.proconfig, E'\\n', '')";
    let query = format!(
        "SELECT p.proname, n.nspname, l.lanname, {body}, COALESCE({config}, '') FROM {OWN_ROUTINES} \
         AND ({body} ~* '{SUSPECT}' OR {config} ~* 'synchronous_commit')"
    );
    let routines: Vec<_> = session.query(&query)?.iter().map(routine).collect();
    let weak: Vec<_> = routines.iter().map(|routine| (routine, routine.weaknesses())).collect();
    if weak.iter().all(|(_, found)| found.is_empty()) {
        return Ok(Vec::new());
    }
    let bodies = format!("SELECT p.proname, {body} FROM {OWN_ROUTINES}");
    let mut leads = Vec::new();
    for sql in [bodies.as_str()].into_iter().chain(LEADS) {
        let rows = session.query(sql)?;
        let lead = |row: &Row| Some((row.get(0)?.to_lowercase(), words(row.get(1)?.as_bytes())));
        leads.extend(rows.iter().filter_map(lead));
    }
    let reached = reached(said.clone(), &leads);
    let is_reached = |routine: &Routine| reached.contains(&routine.name.to_lowercase());
    Ok(weak.into_iter().filter(|(routine, _)| is_reached(routine)).flat_map(|(_, found)| found).collect())
}

fn routine(row: &Row) -> Routine {
    let text = |column| row.get(column).unwrap_or_default().to_owned();
    Routine { name: text(0), schema: text(1), language: text(2), body: text(3), config: text(4) }
}
