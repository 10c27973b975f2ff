//! Extensions of the server: where they are, and made where that was asked for.

use pgdyno_core::problem::Problem;

use pgdyno_wire::{Session, WireError};

/// The schema that an extension is in, as SQL takes it; `None` where the database has not got it.
pub fn find(session: &mut Session, name: &str) -> Result<Option<String>, WireError> {
    session.value(&format!(
        "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e \
         JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = '{name}'"
    ))
}

/// The same; where the database has not got it and it may be created, it is.
///
/// # Errors
/// Why it cannot be created.
pub fn find_or_create(session: &mut Session, name: &str, create: bool) -> Result<Option<String>, Problem> {
    let found = find(session, name).map_err(|error| error.into_problem("could not look for extensions"))?;
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
