//! Results of a test script in TAP (Test Anything Protocol).

/// Results of one script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tap {
    /// Checks that passed, or whose failure is expected.
    pub passed: usize,
    /// Names of checks that failed.
    pub failed: Vec<String>,
    /// Why the script ended early.
    pub broken_off: Option<String>,
}

impl Tap {
    /// Parses the output of a script. Indented lines belong to a check that has its own line.
    pub fn read(text: &str) -> Self {
        let mut tap = Self::default();
        let mut planned = None;
        for line in text.lines() {
            if let Some(count) = line.strip_prefix("1..") {
                planned = count.split_whitespace().next().and_then(|count| count.parse::<usize>().ok());
            } else if let Some(reason) = line.strip_prefix("Bail out!") {
                tap.broken_off = Some(format!("given up:{reason}"));
            } else if line == "ok" || line.starts_with("ok ") {
                tap.passed += 1;
            } else if let Some(name) = line.strip_prefix("not ok ") {
                if name.contains("# TODO") {
                    tap.passed += 1;
                } else {
                    tap.failed.push(name.to_owned());
                }
            }
        }
        let made = tap.passed + tap.failed.len();
        if tap.broken_off.is_none() && planned != Some(made) {
            let planned = planned.map_or_else(|| "no plan".to_owned(), |n| format!("{n} checks planned"));
            tap.broken_off = Some(format!("ended after {made} checks, {planned}"));
        }
        tap
    }

    /// Whether all planned checks ran and passed.
    pub fn is_good(&self) -> bool {
        self.failed.is_empty() && self.broken_off.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_counted_and_failures_named() {
        let text = "# comment\nok 1 - a\n    not ok 1 - inner\nnot ok 2 - b\nnot ok 3 - c # TODO later\nok 4\n1..4\n";
        let tap = Tap::read(text);
        let failed = vec!["2 - b".to_owned()];
        assert_eq!(tap, Tap { passed: 3, failed, broken_off: None });
        assert!(!tap.is_good());
    }

    #[test]
    fn a_script_that_ends_early_is_not_good() {
        assert!(Tap::read("ok 1\nok 2\n1..2\n").is_good());
        for text in ["ok 1\nok 2\n1..3\n", "ok 1\n", "ok 1\nBail out!  no server\n"] {
            let tap = Tap::read(text);
            assert!(!tap.is_good() && tap.broken_off.is_some(), "{text}");
        }
    }
}
