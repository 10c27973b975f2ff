//! Wrong plan files with their messages, as a table in `golden/wrong_plans.txt`.
//!
//! A case is `=== title`, the plan, `---` and the message. In plans, ␀ stands for NUL, ␍ for CR and ⎁ for a byte order
//! mark. Cases without `name` get a valid head, so that each shows one fault; it counts as line 1 to 3.

use pgdyno_core::problem::Problem;
use pgdyno_plan::{MAX_PLAN_BYTES, Plan};

const GOLDEN: &str = include_str!("../golden/wrong_plans.txt");

const HEAD: &str = "name = \"x\"\n[[workload]]\nscript = \"select-only\"\n";

/// The message as printed.
fn printed(problem: &Problem) -> String {
    let detail = problem.detail.as_deref().map(|d| format!("\n{d}")).unwrap_or_default();
    let hint = problem.hint.as_deref().map(|h| format!("\nhint: {h}")).unwrap_or_default();
    format!("error: {}{detail}{hint}", problem.what)
}

fn outcome(plan: &str) -> String {
    let text = plan.replace('␀', "\0").replace('␍', "\r").replace('⎁', "\u{feff}");
    let text = match text.strip_prefix("(whole file)\n") {
        Some(whole) => whole.to_owned(),
        None => format!("{HEAD}{text}"),
    };
    Plan::from_toml(&text, "x.toml").map_or_else(|problem| printed(&problem), |_| "accepted".into())
}

#[test]
fn wrong_plans_get_their_messages() {
    let cases: Vec<_> = GOLDEN.split("=== ").skip(1).collect();
    assert!(cases.len() >= 30, "only {} cases", cases.len());
    let mut actual = String::new();
    for case in &cases {
        let (title, rest) = case.split_once('\n').expect("a case has a title");
        let (plan, _) = rest.split_once("\n---\n").expect("a case has a message");
        actual += &format!("=== {title}\n{plan}\n---\n{}\n\n", outcome(plan));
    }
    assert!(actual.trim_end() == GOLDEN.trim_end(), "the messages are now:\n{actual}");
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_parsed() {
    let text = "#".repeat(MAX_PLAN_BYTES + 1);
    let problem = Plan::from_toml(&text, "x.toml").expect_err("it is too large");
    assert_eq!(problem.what, "x.toml: the file is larger than 1 MiB");
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_accepted() {
    let text = format!("\u{feff}{}", HEAD.replace('\n', "\r\n"));
    Plan::from_toml(&text, "x.toml").expect("it is a plan");
}
