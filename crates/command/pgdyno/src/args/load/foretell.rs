//! What a load would be, without loading.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_postgres::load::Survey;
use pgdyno_rows::load::LoadPlan;

use super::{outlook::outlook, times};
use crate::output;

/// Says what a load would be and how long it may take, and whether there is room.
pub(super) fn foretell(plan: &LoadPlan, survey: &Survey, streams: u64) -> Result<ExitCode, Problem> {
    let kept = times::kept()?;
    output::print(&format!("{}{}", outlook(plan, survey, streams), kept.forecast(plan, survey, streams)))?;
    survey.check_room().map(|()| ExitCode::SUCCESS)
}
