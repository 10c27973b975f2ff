//! Reads a `postgresql.conf` as the server does (`guc-file.l`): names and values, comments, quotes.

use std::collections::BTreeMap;

use pgdyno_core::problem::Problem;

/// Directives that read other files.
const INCLUDES: [&str; 3] = ["include", "include_dir", "include_if_exists"];

/// The settings of a configuration file by their names in lower case; of one given twice the last counts.
///
/// # Errors
/// A wrong request for a line that the server would not accept, or that includes another file.
pub(super) fn settings(file: &str, text: &str) -> Result<BTreeMap<String, String>, Problem> {
    let mut settings = BTreeMap::new();
    for (at, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let wrong = |what: &str, hint: &str| {
            Problem::wrong_request(format!("could not read {file}: line {} {what}", at + 1)).hint(hint)
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = setting(line).ok_or_else(|| {
            wrong("is no setting", "settings are written as in postgresql.conf: name = value")
        })?;
        if INCLUDES.contains(&name.as_str()) {
            let hint = "write the settings of that file into this one";
            return Err(wrong(&format!("has {name}, which is not followed"), hint));
        }
        settings.insert(name, value);
    }
    Ok(settings)
}

/// Name and value of a line that is no comment; `None` if the server would not accept it.
fn setting(line: &str) -> Option<(String, String)> {
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

    fn read(text: &str) -> Result<BTreeMap<String, String>, Problem> {
        settings("x.conf", text)
    }

    #[test]
    fn settings_are_read_as_the_server_does() {
        let text = "\u{feff}# a comment\r\n\nshared_buffers = 128MB\t\t# min 128kB\nPort=5433\nwork_mem 4MB\n\
                    log_line_prefix = '%m [%p] '#x\nmy.own = 'it''s \\'so\\''\nautovacuum = on# on\n\
                    jit = on\njit = off\nempty = ''\n";
        let found: Vec<_> = read(text).expect("it is right").into_iter().collect();
        let pairs: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("autovacuum", "on"),
                ("empty", ""),
                ("jit", "off"),
                ("log_line_prefix", "%m [%p] "),
                ("my.own", "it's 'so'"),
                ("port", "5433"),
                ("shared_buffers", "128MB"),
                ("work_mem", "4MB"),
            ]
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, words) in [
            ("a = 1\nwork_mem\n", "line 2 is no setting"),
            ("1a = 2", "line 1 is no setting"),
            ("a = 'x", "line 1 is no setting"),
            ("a = 1 2", "line 1 is no setting"),
            ("a == 1", "line 1 is no setting"),
            ("include_dir 'conf.d'", "line 1 has include_dir, which is not followed"),
            ("Include = 'x.conf'", "line 1 has include, which is not followed"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.what.starts_with("could not read x.conf: ") && problem.what.contains(words));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = read(&text);
        }
    }
}
