//! The reader of plans, for tests that feed it with anything. It panics where a promise is broken, and tells whether it
//! took everything.

use pgdyno_core::problem::Problem;

use crate::Plan;

/// Reads a plan file; a plan that is written down is read as the same plan.
pub fn plan(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match Plan::from_toml(text, "x.toml") {
        Ok(plan) => {
            let written = toml::to_string(&plan).expect("a plan can be written");
            let again = Plan::from_toml(&written, "x.toml");
            assert_eq!(again.as_ref(), Ok(&plan), "{written}");
            true
        }
        Err(problem) => {
            is_short(text, &problem);
            false
        }
    }
}

/// A fault of a plan is one sentence about a place in the file.
fn is_short(text: &str, problem: &Problem) {
    let what = &problem.what;
    assert!(what.starts_with("x.toml: ") || what.starts_with("x.toml:"), "{what}");
    assert!(!what.contains('\n') && what.len() < 1_000, "{what}");
    let place = what.strip_prefix("x.toml:").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
    let lines = text.split('\n').count();
    assert!(place.is_none_or(|line| (1..=lines).contains(&line)), "{what}");
    assert!(problem.detail.as_ref().is_none_or(|detail| detail.len() < 2_000), "{problem}");
    assert!(problem.hint.is_some(), "{problem}");
}
