//! Keyword/value connection strings: `host=localhost port=5432 …`, parsed as libpq does.

use pgdyno_core::problem::Problem;

/// Keys and values in order.
pub(super) type Pairs = Vec<(String, String)>;

/// Parses `key = value …`; values with blanks are in single quotes, `\` escapes a quote or itself.
pub(super) fn read(text: &str) -> Result<Pairs, Problem> {
    let mut pairs = Pairs::new();
    let mut rest = text.trim_start_matches(blank);
    while !rest.is_empty() {
        let Some((key, after)) = rest.split_once('=') else {
            return Err(wrong(format!("missing \"=\" after `{}`", first_word(rest))));
        };
        let key = key.trim_end_matches(blank);
        if key.contains(blank) {
            return Err(wrong(format!("missing \"=\" after `{}`", first_word(key))));
        }
        let (value, after) = read_value(after.trim_start_matches(blank))?;
        pairs.push((key.to_owned(), value));
        rest = after.trim_start_matches(blank);
    }
    Ok(pairs)
}

/// Whether C's `isspace` holds for a character in the C locale.
fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn first_word(text: &str) -> &str {
    text.split(blank).next().unwrap_or_default()
}

/// Parses one value; returns it and the rest.
fn read_value(text: &str) -> Result<(String, &str), Problem> {
    let quoted = text.starts_with('\'');
    let mut chars = text.char_indices().skip(usize::from(quoted));
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            c if !quoted && blank(c) => return Ok((value, &text[at..])),
            c => value.push(c),
        }
    }
    if quoted { Err(wrong("unterminated quoted string")) } else { Ok((value, "")) }
}

/// Error for an invalid connection string. Never quotes a value, which may be a password.
pub(super) fn wrong(why: impl Into<String>) -> Problem {
    Problem::wrong_request(format!("could not read the connection string: {}", why.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Quotes as the manual says: everything in quotes, with a backslash before quotes and backslashes.
    fn quote(value: &str) -> String {
        format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
    }

    proptest! {
        #[test]
        fn what_is_quoted_comes_back(values in prop::collection::vec(".{0,12}", 0..6)) {
            let text: Vec<_> = values.iter().enumerate().map(|(n, v)| format!("k{n} = {}", quote(v))).collect();
            let want: Pairs = values.iter().enumerate().map(|(n, v)| (format!("k{n}"), v.clone())).collect();
            prop_assert_eq!(read(&text.join(" ")).expect("it is well formed"), want);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}") {
            let _ = read(&text);
        }
    }

    #[test]
    fn values_end_as_libpq_ends_them() {
        for (text, want) in [
            ("a=b", vec![("a", "b")]),
            ("a = b c='d e'f=g", vec![("a", "b"), ("c", "d e"), ("f", "g")]),
            (r"a=b\ c d=\'e\'", vec![("a", "b c"), ("d", "'e'")]),
            ("a= b=c", vec![("a", "b=c")]),
            ("a='' b=", vec![("a", ""), ("b", "")]),
            ("a=b'c", vec![("a", "b'c")]),
            ("  ", vec![]),
        ] {
            let want: Pairs = want.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(read(text).expect(text), want, "{text}");
        }
    }
}
