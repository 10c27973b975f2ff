//! Line breaking of prose, and of commands for a shell.

/// Breaks prose into lines of at most `width` characters, of which the first starts with `first` and the
/// others with `next`. A word longer than a line is broken, a path or a list where that can be between its parts.
pub fn prose(text: &str, width: usize, first: &str, next: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    let room = width.saturating_sub(length(next));
    // A no-break space keeps its words together; it is printed as a plain space.
    for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let blank = usize::from(!empty);
        if !empty && length(&line) + blank + length(word) > width {
            lines.push(std::mem::replace(&mut line, next.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        let mut start = line.len();
        for c in word.chars() {
            if length(&line) >= width {
                let rest = line.split_off(start + joint(&line[start..], room));
                lines.push(std::mem::replace(&mut line, next.to_owned()));
                start = line.len();
                line.push_str(&rest);
            }
            line.push(if c == '\u{a0}' { ' ' } else { c });
        }
        empty = false;
    }
    lines.push(line);
    lines
}

/// Where to break a part of a word that fills its line: after the last `/`, `=` or `,` of its second half, if the rest
/// leaves space in the room of the next line, else at its end.
fn joint(part: &str, room: usize) -> usize {
    let after = part.rfind(['/', '=', ',']).map(|at| at + 1);
    after.filter(|at| *at > part.len() / 2 && part.len() - at < room).unwrap_or(part.len())
}

/// Cuts a line at `width` characters, with an ellipsis if something was cut.
pub fn cut(text: &str, width: usize) -> String {
    match length(text) <= width {
        true => text.to_owned(),
        false => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Cuts a line at `width` characters after a word, with an ellipsis if something was cut. A word longer than half of
/// the line is cut as it is.
pub fn cut_at_word(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let room: String = text.chars().take(width.saturating_sub(1)).collect();
    match room.rsplit_once(' ') {
        Some((words, _)) if length(words) * 2 >= width => format!("{} …", words.trim_end()),
        _ => cut(text, width),
    }
}

/// A text on one line, with plain blanks.
pub fn plain(text: &str) -> String {
    text.replace(['\n', '\u{a0}'], " ")
}

/// Number of characters.
pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a command into lines of at most `width` characters (at least 8), each continued by a backslash:
/// pasted into a POSIX shell they are the same command. Breaks are between words if possible.
pub fn command(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let blank = usize::from(!line.is_empty());
        if !line.is_empty() && length(&line) + blank + length(word) + 2 > width {
            lines.push(format!("{line} \\"));
            line = String::from("  ");
        } else if blank == 1 {
            line.push(' ');
        }
        push_word(word, width, &mut line, &mut lines);
    }
    lines.push(line);
    lines
}

/// Appends a word, broken if it does not fit on a line. There is no indent after a break within a word, because it
/// would become part of the word.
fn push_word(word: &str, width: usize, line: &mut String, lines: &mut Vec<String>) {
    let mut quote = None;
    let mut escaped = false;
    for c in word.chars() {
        let room = if quote == Some('\'') { 4 } else { 3 };
        if !escaped && length(line) + room > width {
            // Within single quotes a backslash is literal: the quotes are closed and opened again.
            let (end, start) = if quote == Some('\'') { ("'\\", "'") } else { ("\\", "") };
            lines.push(format!("{line}{end}"));
            *line = start.to_owned();
        }
        line.push(c);
        (quote, escaped) = after(c, quote, escaped);
    }
}

/// State of a shell's parser after a character: the open quote, and whether the next character is escaped.
fn after(c: char, quote: Option<char>, escaped: bool) -> (Option<char>, bool) {
    match (c, quote) {
        _ if escaped => (quote, false),
        ('\\', None | Some('"')) => (quote, true),
        ('\'' | '"', None) => (Some(c), false),
        (c, Some(open)) if c == open => (None, false),
        _ => (quote, false),
    }
}

/// The words of a command as a shell divides them, with their quotes.
pub fn words(text: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        if c == ' ' && quote.is_none() && !escaped {
            words.push(&text[start..at]);
            start = at + 1;
        }
        (quote, escaped) = after(c, quote, escaped);
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words() {
        let lines = prose("one two three four", 12, "- ", "  ");
        assert_eq!(lines, ["- one two", "  three four"]);
        assert_eq!(prose("abcdefghij", 6, "", ""), ["abcdef", "ghij"]);
        assert_eq!(prose("to /usr/lib/share", 12, "", "  "), ["to", "  /usr/lib/", "  share"]);
        assert_eq!(prose("a/bcdefghij", 6, "", ""), ["a/bcde", "fghij"]);
        assert_eq!(cut("abcdefghij", 6), "abcde…");
        assert_eq!(cut_at_word("one two three", 12), "one two …");
        assert_eq!(cut_at_word("one two three", 13), "one two three");
        assert_eq!(cut_at_word("abcdefghij", 6), "abcde…");
        // The blank before the ellipsis must fit, too.
        assert_eq!(cut_at_word("abcdefghi jk", 11), "abcdefghi …");
    }

    /// Verified with a shell.
    #[test]
    fn a_broken_command_is_the_same_command() {
        let long = "x".repeat(100);
        let commands = [
            "bench --scale 50".to_owned(),
            "bench --pg 18 --scale 50 --clients 1,4,16,64,128 --duration 30s --seed 4711 --thorough".into(),
            format!("bench --data /{long}/{long}"),
            format!("bench --set 'it'\\''s {long} {long}' --name \"a b\" c\\ d"),
        ];
        for text in commands {
            for width in [20, 33, 80] {
                let lines = command(&text, width);
                assert!(lines.iter().all(|line| length(line) <= width), "{lines:?}");
                assert_eq!(shell(&lines.join("\n")), shell(&text), "{lines:?}");
            }
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a shell says how it reads them")]
    fn shell(arguments: &str) -> String {
        let script = format!("printf '<%s>' {arguments}");
        let output =
            std::process::Command::new("sh").arg("-c").arg(script).output().expect("there is a shell");
        String::from_utf8(output.stdout).expect("plain text")
    }
}
