//! Lines of a `postgresql.conf`, as the server reads them (`guc-file.l`): names and values, comments, quotes.

/// Directives that read other files.
pub const INCLUDES: [&str; 3] = ["include", "include_dir", "include_if_exists"];

/// Name in lower case and value of a line that is neither empty nor a comment; `None` if the server would not accept
/// it.
pub fn setting(line: &str) -> Option<(String, String)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let (name, rest) = line.split_at(line.find(|c| !is_of_name(c)).unwrap_or(line.len()));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(())?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').map_or(rest, str::trim_start);
    let (value, rest) = match rest.strip_prefix('\'') {
        Some(quoted) => unquoted(quoted)?,
        None => {
            let end = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
            let (value, rest) = rest.split_at(end);
            ((!value.is_empty() && !value.contains(['\'', '='])).then(|| value.to_owned())?, rest)
        }
    };
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then(|| (name.to_ascii_lowercase(), value))
}

/// Whether a line, without blanks around it, sets nothing: it is empty or a comment.
pub fn is_blank(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// The value of a quoted text and what follows its last quote; `None` if it is not closed.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '\'' if rest.next_if(|(_, next)| *next == '\'').is_some() => value.push('\''),
            '\'' => return Some((value, &text[at + 1..])),
            '\\' => value.push(escaped(rest.next()?.1)),
            other => value.push(other),
        }
    }
    None
}

/// The character that a backslash and another one stand for; numbers are not read, since no setting needs them.
fn escaped(c: char) -> char {
    match c {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read_as_the_server_does() {
        for (line, found) in [
            ("shared_buffers = 128MB\t\t# min 128kB", Some(("shared_buffers", "128MB"))),
            ("Port=5433", Some(("port", "5433"))),
            ("my.own = 'it''s \\'so\\''", Some(("my.own", "it's 'so'"))),
            ("autovacuum = on# on", Some(("autovacuum", "on"))),
            ("empty = ''", Some(("empty", ""))),
            ("work_mem", None),
            ("1a = 2", None),
            ("a = 'x", None),
            ("a = 1 2", None),
        ] {
            let found = found.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(setting(line), found, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC*") {
            let _ = setting(&line);
        }
    }
}
