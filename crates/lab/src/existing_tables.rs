//! Finds the tables of an existing server before anything is done there: those that are to be measured, and those that
//! are left alone.

use pgdyno_core::{problem::Problem, units};
use pgdyno_plan::{Plan, Scale, SetPlace};
use pgdyno_postgres::load::{find_existing, glimpse_tpcb};
use pgdyno_rows::load::{ExistingTables, Set};
use pgdyno_wire::Session;

use crate::table_sets;

/// What was found in the search path of the clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundTables {
    /// Tables to be measured.
    pub measured: Option<ExistingTables>,
    /// Schema and scale of TPC-B's tables that are left alone.
    pub left_alone: Option<(String, u64)>,
}

/// Finds tables, and takes their scale into a plan that leaves it open. `open` opens a session that finds the tables of
/// a set of TPC-C.
///
/// # Errors
/// The plan wants existing tables, and there are none, or others.
pub fn find(
    plan: &mut Plan,
    session: &mut Session,
    open: &mut dyn FnMut(&SetPlace) -> Result<Session, Problem>,
) -> Result<FoundTables, Problem> {
    let Some(set) = set_of(plan) else { return Ok(FoundTables::default()) };
    if !plan.data.loaded {
        let seen = glimpse_tpcb(session).map_err(|error| error.into_problem("could not look for tables"))?;
        let left_alone = seen.filter(|_| set == Set::Tpcb);
        return Ok(FoundTables { measured: None, left_alone });
    }
    if let Some(tpcc) = &plan.data.tpcc {
        let measured = Some(table_sets::find(tpcc, Some(tpcc.warehouses), open)?);
        return Ok(FoundTables { measured, left_alone: None });
    }
    let found = find_existing(session, set)?;
    fits(plan, &found)?;
    if set == Set::Tpcb {
        plan.data.scale = Scale::Given(found.scale);
    }
    Ok(FoundTables { measured: Some(found), left_alone: None })
}

/// The set of tables that a plan measures; `None` if its own scripts may use any tables.
fn set_of(plan: &Plan) -> Option<Set> {
    let data = &plan.data;
    match (&data.tpcc, data.scaleup) {
        (Some(_), _) => Some(Set::Tpcc),
        (None, Some(_)) => Some(Set::Scaleup),
        (None, None) => plan.has_tpcb().then_some(Set::Tpcb),
    }
}

/// Refuses tables of another size than the plan names.
fn fits(plan: &Plan, found: &ExistingTables) -> Result<(), Problem> {
    let wanted = match (found.set, plan.data.scale, plan.data.scaleup) {
        (Set::Tpcb, Scale::Given(scale), _) => scale,
        (Set::Scaleup, _, Some(scaleup)) => scaleup.rows,
        _ => return Ok(()),
    };
    if wanted == found.scale {
        return Ok(());
    }
    let what = format!(
        "could not use the existing tables: {} {} requested, and there is {}",
        found.set.scale_word(),
        units::count(wanted),
        found.words()
    );
    let hint = match found.set {
        Set::Tpcb => "leave the scale out: it is read from the tables",
        _ => {
            "request that number, or name the schema of other tables by options=-csearch_path=SCHEMA in -d or --dsn"
        }
    };
    Err(Problem::wrong_request(what).hint(hint))
}

#[cfg(test)]
mod tests {
    use pgdyno_plan::{ScaleupPlan, WorkloadPlan};
    use pgdyno_script::{Builtin, Protocol};

    use super::*;

    #[test]
    fn tables_of_another_size_than_requested_are_refused() {
        let mut plan = Plan::new("x", vec![WorkloadPlan::builtin(Builtin::SelectOnly, Protocol::Prepared)]);
        let schema = "public".to_owned();
        let mut found = ExistingTables {
            set: Set::Tpcb,
            schema,
            owner: "me".into(),
            scale: 10,
            loaded_by: None,
            accounts: None,
        };
        assert!(fits(&plan, &found).is_ok(), "the scale is left open");
        plan.data.scale = Scale::Given(20);
        let problem = fits(&plan, &found).expect_err("it is another");
        assert_eq!(
            problem.what,
            "could not use the existing tables: scale 20 requested, and there is tpcb at scale 10 in schema public"
        );
        plan.data.scaleup = Some(ScaleupPlan { rows: 7, log_rows: 0 });
        (found.set, found.scale) = (Set::Scaleup, 8);
        let problem = fits(&plan, &found).expect_err("it has more rows");
        assert!(problem.what.ends_with("there is scaleup with 8 rows in schema public"), "{}", problem.what);
    }
}
