//! Layout of tables in plain text.

use pgdyno_core::units;

use crate::{block::Align, wrap};

/// Blanks between two columns.
pub const GAP: usize = 2;
/// Smallest width of a column of text.
const NARROWEST: usize = 8;
/// Most rows that [`grid`] prints; JSON has all of them.
const MOST_ROWS: usize = 60;

/// The width of every column, with columns of text narrowed so that rows are at most `width` wide.
pub fn widths(aligns: &[Align], rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let natural = |at: usize| rows.iter().map(|row| wrap::length(&row[at])).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..aligns.len()).map(natural).collect();
    let mut texts: Vec<usize> = (0..aligns.len()).filter(|at| aligns[*at] == Align::Wrap).collect();
    texts.sort_by_key(|at| widths[*at]);
    let gaps = GAP * aligns.len().saturating_sub(1);
    let fixed: usize = (0..aligns.len()).filter(|at| aligns[*at] != Align::Wrap).map(|at| widths[at]).sum();
    let mut room = width.saturating_sub(gaps + fixed);
    // Short columns get their width; the others share the rest.
    for (done, at) in texts.iter().enumerate() {
        let share = (room / (texts.len() - done)).max(NARROWEST);
        widths[*at] = widths[*at].min(share);
        room = room.saturating_sub(widths[*at]);
    }
    widths
}

/// The lines of a row; more than one if a column of text needs them.
pub fn row(aligns: &[Align], widths: &[usize], cells: &[String]) -> Vec<String> {
    let lines = |at: usize| match aligns[at] {
        Align::Wrap => wrap::prose(&cells[at], widths[at], "", ""),
        Align::Left | Align::Right => vec![wrap::plain(&cells[at])],
    };
    let cells: Vec<Vec<String>> = (0..aligns.len()).map(lines).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let cell = |at: usize| {
            let (text, width) = (cells[at].get(number).map_or("", String::as_str), widths[at]);
            match aligns[at] {
                Align::Right => format!("{text:>width$}"),
                Align::Left | Align::Wrap => format!("{text:<width$}"),
            }
        };
        let line: Vec<String> = (0..aligns.len()).map(cell).collect();
        line.join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

/// A share from 0 to 1 as a bar.
pub fn bar(share: f64) -> String {
    const LONGEST: f64 = 40.0;
    "▇".repeat((share * LONGEST).round() as usize)
}

/// A table as text of any width: a header, then a line a row. Columns whose heading begins with `<` are left-aligned,
/// the others right-aligned. If there are very many rows, the rest is replaced by their number.
pub fn grid<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let aligns = head.map(|name| if name.starts_with('<') { Align::Left } else { Align::Right });
    let title = head.map(|name| name.trim_start_matches('<').to_owned());
    let shown = &rows[..rows.len().min(MOST_ROWS)];
    let lines: Vec<Vec<String>> = std::iter::once(&title).chain(shown).map(|line| line.to_vec()).collect();
    let widths = widths(&aligns, &lines, usize::MAX);
    let lines = lines.iter().flat_map(|line| row(&aligns, &widths, line));
    let mut text: String = lines.map(|line| line + "\n").collect();
    if rows.len() > shown.len() {
        let more = units::count((rows.len() - shown.len()) as u64);
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

    #[test]
    fn columns_of_text_give_way_to_the_others() {
        let aligns = [Align::Right, Align::Wrap, Align::Wrap];
        let cells = ["1,000", "short", "a text that is too long"].map(str::to_owned).to_vec();
        let widths = widths(&aligns, std::slice::from_ref(&cells), 28);
        assert_eq!(widths, [5, 5, 14]);
        assert_eq!(row(&aligns, &widths, &cells), ["1,000  short  a text that is", "              too long"]);
    }
}
