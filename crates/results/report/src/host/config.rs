//! What rules say of a configuration.

use pgdyno_core::{
    host::{Finding, Standing},
    units::printable,
};
use pgdyno_document::{block::Block, text_of_blocks};

use super::check::titled;

/// Groups in the order in which they are printed: the standing of a value, the heading of its group, and its words in
/// the summary.
const GROUPS: [(Standing, &str, &str); 7] = [
    (Standing::Refused, "The server would not start", "refused by the server"),
    (Standing::Dangerous, "Dangerous", "dangerous"),
    (Standing::Improve, "To improve", "to improve"),
    (Standing::NoEffect, "Without effect here", "without effect"),
    (Standing::Obsolete, "Obsolete", "obsolete"),
    (Standing::Unknown, "Not judged", "not judged"),
    (Standing::Fine, "Fine", "fine"),
];

/// What rules found in a configuration, as text. Without `all` what is fine is counted only.
pub fn config(title: &str, findings: &[Finding], all: bool) -> String {
    let listed = if all { GROUPS.len() } else { GROUPS.len() - 1 };
    let count = |standing| findings.iter().filter(|finding| finding.standing == standing).count();
    let counts: Vec<String> =
        GROUPS.iter().map(|(standing, _, words)| format!("{} {words}", count(*standing))).collect();
    let head = Block::text(format!("{}: {}.", printable(title), counts.join(", ")));
    let groups =
        GROUPS[..listed].iter().filter_map(|(standing, title, _)| titled(findings, *standing, title));
    let more =
        "`pgdyno explain NAME` describes each; `pgdyno config recommend --diff FILE` lists better values.";
    text_of_blocks(&[head].into_iter().chain(groups).chain([Block::text(more)]).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(name: &str, standing: Standing) -> Finding {
        Finding {
            name: name.to_owned(),
            object: String::new(),
            standing,
            present: Some("1".to_owned()),
            recommended: None,
            reason: "so it is".to_owned(),
            change: None,
        }
    }

    #[test]
    fn what_stops_a_server_comes_first_and_what_no_rule_judges_is_called_so() {
        let findings = [
            finding("a", Standing::Fine),
            finding("b", Standing::Unknown),
            finding("c", Standing::Dangerous),
            finding("d", Standing::Refused),
        ];
        let text = config("x", &findings, false);
        let head = "x: 1 refused by the server, 1 dangerous, 0 to improve, 0 without effect, 0 obsolete, 1 not judged";
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").starts_with(head), "{text}");
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} is missing: {text}"));
        assert!(at("The server would not start") < at("Dangerous") && at("Dangerous") < at("Not judged"));
        assert!(!text.contains("Could not be judged") && !text.contains("\nFine"), "{text}");
        assert!(config("x", &findings, true).contains("Fine"));
    }
}
