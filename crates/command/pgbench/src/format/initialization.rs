//! Messages of the initialization (`initPopulateTable`, `runInitSteps`).

/// Seconds between two lines with `--quiet`.
const QUIET_STEP_S: f64 = 5.0;
/// Rows between two lines without.
const ROWS: u64 = 100_000;

/// Progress lines of a table that is being filled.
#[derive(Debug, Clone)]
pub struct Filling {
    table: &'static str,
    total: u64,
    quiet: bool,
    /// Whether lines overwrite each other.
    terminal: bool,
    /// Length of the last line.
    chars: usize,
    next_step: f64,
}

impl Filling {
    /// Progress of a table with `total` rows.
    pub fn new(table: &'static str, total: u64, quiet: bool, terminal: bool) -> Self {
        Self { table, total, quiet, terminal, chars: 0, next_step: 1.0 }
    }

    /// The line after `rows` rows and `elapsed_s` seconds, if one is due.
    pub fn line(&mut self, rows: u64, elapsed_s: f64) -> Option<String> {
        let due = if self.quiet {
            rows.is_multiple_of(100) && (rows == self.total || elapsed_s >= self.next_step * QUIET_STEP_S)
        } else {
            rows.is_multiple_of(ROWS)
        };
        if !due || rows == 0 {
            return None;
        }
        let remaining_s = (self.total - rows) as f64 * elapsed_s / rows as f64;
        let (total, table, percent) = (self.total, self.table, rows * 100 / self.total);
        let mut line = format!(
            "{rows} of {total} tuples ({percent}%) of {table} done \
             (elapsed {elapsed_s:.2} s, remaining {remaining_s:.2} s)"
        );
        let chars = line.len();
        // A shorter line covers the longer one before it.
        line.extend(std::iter::repeat_n(' ', self.chars.saturating_sub(chars)));
        self.chars = chars;
        line.push(if self.terminal { '\r' } else { '\n' });
        if self.quiet {
            self.next_step = (elapsed_s / QUIET_STEP_S).ceil();
        }
        Some(line)
    }

    /// Text that clears the last line on a terminal.
    pub fn clear(&self) -> Option<String> {
        (self.terminal && self.chars > 0).then(|| format!("{}\r", " ".repeat(self.chars)))
    }
}

/// The closing line: names of the steps with their seconds.
pub fn done(steps: &[(&str, f64)]) -> String {
    // Not `sum`, which is −0 of nothing.
    let sum = steps.iter().fold(0.0, |sum, (_, seconds)| sum + seconds);
    let each: Vec<_> = steps.iter().map(|(name, seconds)| format!("{name} {seconds:.2} s")).collect();
    format!("done in {sum:.2} s ({}).\n", each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hundred_thousandth_row_has_a_line() {
        let mut filling = Filling::new("pgbench_accounts", 300_000, false, false);
        assert_eq!(filling.line(50_000, 0.1), None);
        assert_eq!(
            filling.line(100_000, 0.5).as_deref(),
            Some(
                "100000 of 300000 tuples (33%) of pgbench_accounts done (elapsed 0.50 s, remaining 1.00 s)\n"
            )
        );
        assert_eq!(filling.clear(), None);
    }

    #[test]
    fn quiet_lines_come_every_five_seconds_and_at_the_end() {
        let mut filling = Filling::new("pgbench_accounts", 300_000, true, true);
        assert_eq!(filling.line(100_000, 4.9), None);
        assert!(filling.line(150_000, 5.1).is_some_and(|line| line.ends_with("remaining 5.10 s)\r")));
        assert_eq!(filling.line(160_000, 5.2), None);
        let last = filling.line(300_000, 10.2).expect("it is the last");
        assert!(last.starts_with("300000 of 300000 tuples (100%)"), "{last}");
        assert_eq!(filling.clear().map(|line| line.len()), Some(last.trim_end().len() + 1));
    }

    #[test]
    fn the_closing_line_names_the_steps() {
        assert_eq!(
            done(&[("drop tables", 0.0), ("create tables", 0.25), ("vacuum", 1.0)]),
            "done in 1.25 s (drop tables 0.00 s, create tables 0.25 s, vacuum 1.00 s).\n"
        );
        assert_eq!(done(&[]), "done in 0.00 s ().\n", "what `-I ' '` comes to");
    }
}
