//! Texts in columns.

/// Most rows that are printed: more nobody reads, and JSON has all of them.
const MOST_ROWS: usize = 60;

/// Lines of a table with two blanks between its columns: a header, then a line a row. A header that begins with `<`
/// stands to the left, and so do its cells; the others stand to the right. Of very many rows the first are shown, and
/// how many more there are.
pub fn grid<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let shown = &rows[..rows.len().min(MOST_ROWS)];
    let title = head.map(|header| header.trim_start_matches('<').to_owned());
    let lines: Vec<&[String; N]> = std::iter::once(&title).chain(shown).collect();
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let cell = |line: &[String; N], at: usize| match head[at].starts_with('<') {
        true => format!("{:<1$}", line[at], widths[at]),
        false => format!("{:>1$}", line[at], widths[at]),
    };
    let mut text = String::new();
    for line in lines {
        let cells: Vec<_> = (0..N).map(|at| cell(line, at)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    if rows.len() > shown.len() {
        let more = pgdyno_core::units::count((rows.len() - shown.len()) as u64);
        text.push_str(&format!("… and {more} more: --json shows all\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_to_the_left_and_numbers_to_the_right() {
        let rows = [["a µ", "1"], ["b", "1,000"]].map(|row| row.map(str::to_owned));
        assert_eq!(grid(["<name", "n"], &rows), "name      n\na µ       1\nb     1,000\n");
    }

    #[test]
    fn of_very_many_rows_some_are_shown() {
        let rows = vec![["x".to_owned()]; 1_060];
        let text = grid(["<name"], &rows);
        assert_eq!(text.lines().count(), 62);
        assert!(text.ends_with("x\n… and 1,000 more: --json shows all\n"), "{text}");
    }
}
