//! Finds extensions of the server, and creates them on request.

use pgdyno_core::problem::Problem;

use pgdyno_wire::{Session, WireError};

/// The quoted name of the schema that contains an extension; `None` if it is not installed in the database.
pub fn find(session: &mut Session, name: &str) -> Result<Option<String>, WireError> {
    session.value(&format!(
        "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e \
         JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = '{name}'"
    ))
}

/// Finds an extension like [`find`], or creates it if `create` allows.
///
/// # Errors
/// The extension cannot be created.
pub fn find_or_create(session: &mut Session, name: &str, create: bool) -> Result<Option<String>, Problem> {
    let found = find(session, name).map_err(|error| error.into_problem("could not list extensions"))?;
    if found.is_some() || !create {
        return Ok(found);
    }
    let what = format!("could not create the extension {name}");
    session.execute(&format!("CREATE EXTENSION {name}")).map_err(|error| {
        let problem = error.into_problem(&what);
        let hint = "leave --create-extension out, or have it installed (often by a package named contrib)";
        Problem { hint: Some(hint.to_owned()), ..problem }
    })?;
    find(session, name).map_err(|error| error.into_problem(&what))
}
