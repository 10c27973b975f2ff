//! Copies a load to databases as pg_dump and pg_restore do: tables, rows by COPY, keys afterwards. Rows go from one
//! database to the other through this process, without a file between.

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_rows::load::LoadRequest;
use pgdyno_wire::{ConnectOptions, Session, WireError};
use serde_json::Value;

use super::{
    super::{BulkProgress, Job, schemas::within},
    Copied, check_lengths,
    databases::{check_room, is_taken, look, there},
    literals, quoted,
    schemas::{Copy, state},
};
use crate::session::open;

/// Copies a load to new databases with these names, one after the other, each with this many streams, and verifies
/// each. The schema of a copy is that of the source or, with `renames`, has the name of the copy. With `resume`
/// interrupted copies are continued and complete ones kept. `on_progress` receives progress messages.
///
/// # Errors
/// A copy fails. Nothing is begun if a name is taken or too long, or there is no room.
pub fn copy_by_dump(
    options: &ConnectOptions,
    job: &Job,
    names: &[String],
    (renames, resume): (bool, bool),
    streams: u64,
    stop: &Stop,
    on_progress: &mut dyn FnMut(BulkProgress),
) -> Result<Vec<Copied>, Problem> {
    check_lengths(names)?;
    let source = &options.database;
    let mut session = open(options, stop)?;
    let found = look(&mut session, source)?;
    let there = there(&mut session, source, names)?;
    if let Some(taken) = there.first().filter(|_| !resume) {
        return Err(is_taken(source, taken));
    }
    check_room(&session, &found, (names.len() - there.len()) as u64)?;
    let request = LoadRequest::copying_from(&job.plan, source, &job.target);
    let plan = request.plan(streams)?;
    let mut copied = Vec::new();
    for name in names {
        if !there.contains(name) {
            create(&mut session, source, name)?;
        }
        let schema = if renames { name } else { &job.target };
        let of_copy = options.with_database(name);
        let mut inside = open(&of_copy, stop)?;
        let state = state(&mut inside, schema, &plan, &format!("{source}.{}", job.target))?;
        let options = within(&of_copy, schema);
        let mut one = Copy { options, name: schema, request: &request, streams, stop };
        copied.push(Copied { name: name.clone(), ..one.carry_out(&mut inside, state, on_progress)? });
    }
    Ok(copied)
}

/// Creates an empty database like the source: same encoding, locale and tablespace.
fn create(session: &mut Session, source: &str, name: &str) -> Result<(), Problem> {
    let what = format!("could not create the database {name}");
    let read = |session: &mut Session| -> Result<String, WireError> {
        let sql = format!(
            "SELECT pg_catalog.row_to_json(d) FROM (SELECT s.*, pg_catalog.pg_encoding_to_char(s.encoding) AS charset, \
             t.spcname FROM pg_catalog.pg_database s JOIN pg_catalog.pg_tablespace t ON t.oid = s.dattablespace) d \
             WHERE d.datname = {}",
            literals(&[source.to_owned()])
        );
        Ok(session.value(&sql)?.unwrap_or_default())
    };
    let made = read(session).and_then(|row| {
        let row: Value = serde_json::from_str(&row).map_err(std::io::Error::other)?;
        session.execute(&format!("CREATE DATABASE {} {}", quoted(name), terms(&row)))
    });
    made.map_err(|error| error.into_problem(&what))
}

/// The options of CREATE DATABASE for a database like this row of `pg_database`, whose columns depend on the version.
fn terms(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().map(|text| literals(&[text.to_owned()]));
    let mut terms = "TEMPLATE template0".to_owned();
    let mut term = |name: &str, value: Option<String>| {
        terms += &value.map(|value| format!(" {name} {value}")).unwrap_or_default();
    };
    term("ENCODING", text("charset"));
    term("LC_COLLATE", text("datcollate"));
    term("LC_CTYPE", text("datctype"));
    // `daticulocale` before 17, where the builtin provider was added.
    let locale = text("datlocale").or_else(|| text("daticulocale"));
    match row["datlocprovider"].as_str() {
        Some("i") => {
            term("LOCALE_PROVIDER", Some("icu".to_owned()));
            term("ICU_LOCALE", locale);
            term("ICU_RULES", text("daticurules"));
        }
        Some("b") => {
            term("LOCALE_PROVIDER", Some("builtin".to_owned()));
            term("BUILTIN_LOCALE", locale);
        }
        _ => {}
    }
    term("TABLESPACE", row["spcname"].as_str().map(quoted));
    terms
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_database_is_created_like_its_source_in_every_version() {
        let row =
            json!({"charset": "UTF8", "datcollate": "C", "datctype": "de_DE.utf8", "spcname": "fa\"st"});
        let of_9_5 =
            "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'de_DE.utf8' TABLESPACE \"fa\"\"st\"";
        assert_eq!(terms(&row), of_9_5);
        let row = json!({"charset": "UTF8", "datlocprovider": "i", "daticulocale": "und", "spcname": "s"});
        let of_15 =
            "TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'und' TABLESPACE \"s\"";
        assert_eq!(terms(&row), of_15);
        let row = json!({"datlocprovider": "b", "datlocale": "C.UTF-8", "datcollate": null, "spcname": "s"});
        let of_17 = "TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' TABLESPACE \"s\"";
        assert_eq!(terms(&row), of_17);
    }
}
