//! The lines in which test programs sum up.

use std::ops::AddAssign;

/// Number of tests by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed, and programs that failed without one.
    pub failed: u64,
    /// Tests that were not run.
    pub ignored: u64,
    /// Tests of a run of nothing but ignored ones: another run of the same program counts them as ignored.
    pub otherwise_ignored: u64,
}

impl Sum {
    /// Adds up `test result: ok. 12 passed; 0 failed; …`; skips other lines.
    pub fn of_output(output: &str) -> Self {
        let mut sum = Self::default();
        let results = output.lines().filter_map(|line| line.strip_prefix("test result: ")?.split_once(". "));
        for part in results.flat_map(|(_, counts)| counts.split("; ")) {
            let Some((number, ended)) = part.split_once(' ') else { continue };
            let number = number.parse().unwrap_or(0);
            match ended {
                "passed" => sum.passed += number,
                "failed" => sum.failed += number,
                "ignored" => sum.ignored += number,
                _ => {}
            }
        }
        sum
    }

    /// Tests that no run of their program has run.
    pub fn left(&self) -> u64 {
        self.ignored.saturating_sub(self.otherwise_ignored)
    }

    /// Whether nothing failed, and something passed.
    pub fn succeeded(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.otherwise_ignored += other.otherwise_ignored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed() {
        let sum = Sum::of_output(
            "running 14 tests\n\
            test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s\n",
        );
        assert_eq!(sum, Sum { passed: 13, failed: 2, ignored: 3, otherwise_ignored: 0 });
        assert!(!sum.succeeded() && !Sum::default().succeeded());
    }
}
