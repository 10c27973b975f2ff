//! Entry point for fuzzing the plan reader. Panics if the reader breaks a promise; returns whether it accepted
//! the input.

use pgdyno_core::problem::Problem;

use crate::Plan;

/// Reads a plan file, and checks that an accepted plan survives being written and read again.
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

/// Checks that a problem is one sentence about a place in the file.
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
