//! Text as wide as a column, counted in cells of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// A text in at most this many cells; what was cut is an ellipsis.
pub(super) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (mut out, mut taken) = (String::new(), 0);
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        if taken >= room {
            break;
        }
        out.push(c);
    }
    if room > 0 {
        out.push('…');
    }
    out
}

/// A text cut and filled with blanks to exactly this many cells.
pub(super) fn fitted(text: &str, room: usize, is_right: bool) -> String {
    let cut = cut(text, room);
    let blanks = " ".repeat(room.saturating_sub(width(&cut)));
    if is_right { blanks + &cut } else { cut + &blanks }
}

/// A text in lines of at most this many cells, broken between words.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, room)),
        }
    }
    lines
}

/// The end of a text in at most this many cells, for paths.
pub(super) fn end_of(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(length + 1 - room)).collect()
}

/// Texts in a line, those that fit, with two blanks between them.
pub(super) fn joined(parts: &[String], room: usize) -> String {
    let mut line = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let gap = if line.is_empty() { 0 } else { 2 };
        if !line.is_empty() && width(&line) + gap + width(part) > room {
            break;
        }
        line.push_str(&" ".repeat(gap));
        line.push_str(part);
    }
    cut(&line, room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_cells() {
        assert_eq!((cut("abcd", 4), cut("abcde", 4)), ("abcd".to_owned(), "abc…".to_owned()));
        assert_eq!((cut("表表表", 4), width("表…")), ("表…".to_owned(), 3));
        assert_eq!((fitted("表", 4, true), fitted("a", 3, false)), ("  表".to_owned(), "a  ".to_owned()));
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn long_texts_are_broken_between_words_and_paths_at_their_begin() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("longer x", 4), ["lon…", "x"]);
        assert_eq!((end_of("/a/b/c", 4), end_of("/a", 4)), ("…b/c".to_owned(), "/a".to_owned()));
    }

    #[test]
    fn what_does_not_fit_is_left_out_whole() {
        let parts = ["one", "", "two", "three"].map(str::to_owned);
        assert_eq!(
            (joined(&parts, 8), joined(&parts, 7), joined(&parts, 2)),
            ("one  two".into(), "one".into(), "o…".into())
        );
    }
}
