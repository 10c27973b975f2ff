//! Position of an error in a statement: its line with a caret below, as libpq's `reportErrorPosition` prints it.

use unicode_width::UnicodeWidthChar;

/// Most columns of a line that are shown.
const SHOWN: usize = 60;
/// Columns kept after the position if the line is cut at its end.
const KEPT_BEHIND: usize = 10;

/// The line of a character and a line with a caret, without the final newline; `None` if the statement has no such
/// character. `position` counts characters from 1, as the server does.
pub(super) fn lines(statement: &str, position: u32) -> Option<String> {
    let at = (position as usize).checked_sub(1)?;
    let text: Vec<char> = statement.chars().collect();
    let (before, behind) = text.split_at_checked(at)?;
    let start = before.iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = behind.iter().position(is_end).map_or(text.len(), |len| at + len);
    let line = Line::new(&text[start..end], at - start);
    let window = line.window();
    let left = if window.cut_left { "..." } else { "" };
    let right = if window.cut_right { "..." } else { "" };
    let head = format!("LINE {}: {left}", line_number(before));
    let shown: String = line.text[window.from..window.to].iter().map(shown).collect();
    let indent = head.len() + line.columns[line.at] - line.columns[window.from];
    Some(format!("{head}{shown}{right}\n{:indent$}^", ""))
}

fn is_end(c: &char) -> bool {
    matches!(c, '\r' | '\n')
}

/// A tab takes one column, so that the caret is aligned.
fn shown(c: &char) -> char {
    if *c == '\t' { ' ' } else { *c }
}

/// Number of the line that starts after `before`, from 1; CR LF is one line end.
fn line_number(before: &[char]) -> usize {
    let ends = before.iter().filter(|c| is_end(c)).count();
    let doubled = before.windows(2).filter(|pair| pair == &['\r', '\n']).count();
    ends - doubled + 1
}

/// A line, and the character in or just after it that the caret points at.
struct Line<'a> {
    text: &'a [char],
    at: usize,
    /// Column at which each character begins, and the line ends.
    columns: Vec<usize>,
}

/// Characters that are shown.
struct Window {
    from: usize,
    to: usize,
    cut_left: bool,
    cut_right: bool,
}

impl<'a> Line<'a> {
    fn new(text: &'a [char], at: usize) -> Self {
        let mut column = 0;
        let begins = text.iter().map(|c| {
            let begin = column;
            column += c.width().unwrap_or(1).max(1);
            begin
        });
        let mut columns: Vec<_> = begins.collect();
        columns.push(column);
        Self { text, at, columns }
    }

    /// Chooses the characters to show: the end is cut first, the start only if the rest is still too long.
    fn window(&self) -> Window {
        let len = self.text.len();
        let mut window = Window { from: 0, to: len, cut_left: false, cut_right: false };
        if self.columns[len] <= SHOWN {
            return window;
        }
        let here = self.columns[self.at];
        let last = if here + KEPT_BEHIND <= SHOWN { SHOWN } else { here + KEPT_BEHIND };
        while self.columns[window.to] > last {
            window.to -= 1;
            window.cut_right = true;
        }
        while self.columns[window.to] - self.columns[window.from] > SHOWN {
            window.from += 1;
            window.cut_left = true;
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Statements, error positions reported by the server, and the output of psql 15 (in UTF-8).
    const PRINTED: &[(&str, u32, &str)] = &[
        ("SELEC 1", 1, "LINE 1: SELEC 1\n        ^"),
        ("SELECT 1,\n       nosuch,\n\t3", 18, "LINE 2:        nosuch,\n               ^"),
        ("SELECT\t\tnosuch\tFROM x", 21, "LINE 1: SELECT  nosuch FROM x\n                            ^"),
        ("SELECT 'größe', nosuch", 17, "LINE 1: SELECT 'größe', nosuch\n                        ^"),
        ("SELECT '漢字漢字', nosuch", 16, "LINE 1: SELECT '漢字漢字', nosuch\n                           ^"),
        ("SELECT '😀😀', nosuch", 14, "LINE 1: SELECT '😀😀', nosuch\n                       ^"),
        (
            "SELECT 'e\u{301}\u{301}', nosuch",
            15,
            "LINE 1: SELECT 'e\u{301}\u{301}', nosuch\n                      ^",
        ),
        ("SELECT 1\r\n, nosuch\r\n, 3", 13, "LINE 2: , nosuch\n          ^"),
        ("SELECT 1\r, nosuch", 12, "LINE 2: , nosuch\n          ^"),
        ("SELECT 1; SELECT nosuch", 18, "LINE 1: SELECT 1; SELECT nosuch\n                         ^"),
        ("SELECT 1 +", 11, "LINE 1: SELECT 1 +\n                  ^"),
        ("SELECT (1\n", 11, "LINE 2: \n        ^"),
        (
            "SELECT nosuch, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21",
            8,
            "LINE 1: SELECT nosuch, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1...\n               ^",
        ),
        (
            "SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, nosuch, 14, 15, 16, 17, 18, 19, 20, 21",
            51,
            "LINE 1: SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, nosuch, 14...\n\
             \x20                                                         ^",
        ),
        (
            "SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, nosuch, 17, 18, 19, 20, 21",
            63,
            "LINE 1: ... 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, nosuch, 17...\n\
             \x20                                                            ^",
        ),
        (
            "SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1, nosuch",
            54,
            "LINE 1: SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1, nosuch\n\
             \x20                                                            ^",
        ),
        (
            "SELECT '漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字', nosuch, \
             '漢字漢字漢字漢字漢字漢字漢字'",
            44,
            "LINE 1: ...漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字', nosuch, '...\n\
             \x20                                                             ^",
        ),
    ];

    #[test]
    fn places_are_shown_as_psql_shows_them() {
        for &(statement, position, printed) in PRINTED {
            assert_eq!(lines(statement, position).as_deref(), Some(printed), "{statement}");
        }
    }

    #[test]
    fn a_place_that_is_not_there_is_not_shown() {
        for position in [0, 9, u32::MAX] {
            assert_eq!(lines("SELECT 1", position).as_deref(), (position == 9).then_some(BEHIND));
        }
    }

    const BEHIND: &str = "LINE 1: SELECT 1\n                ^";

    proptest! {
        #[test]
        fn two_short_lines_come_of_anything(text in "[a-z \t\r\n漢é]{0,300}", position in 0u32..320) {
            let len = text.chars().count() as u32;
            let shown = lines(&text, position);
            prop_assert_eq!(shown.is_some(), (1..=len + 1).contains(&position));
            if let Some(shown) = shown {
                prop_assert_eq!(shown.lines().count(), 2);
                prop_assert!(shown.lines().all(|line| line.chars().count() <= 100), "{}", shown);
            }
        }
    }
}
