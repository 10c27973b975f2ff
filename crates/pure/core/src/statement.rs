//! SQL statements of others, as they are shown: cut, and without secrets.

use crate::redact::{REDACTED, redact};

/// Most characters of a statement that observers keep.
pub const SHOWN_CHARS: usize = 200;

/// Words of statements whose literals may be secrets: passwords of roles and user mappings, connection strings,
/// programs, keys of pgcrypto. A statement that has one somewhere is cut before its first literal.
const TELLING: [&str; 16] = [
    "passw",
    "passphrase",
    "secret",
    "token",
    "credential",
    "connection",
    "conninfo",
    "program",
    "dblink",
    "_command",
    "api_key",
    "apikey",
    "user mapping",
    "crypt",
    "hmac",
    "scram-",
];

/// Makes a statement fit to be shown: without the literals of statements that handle secrets, without passwords of
/// connection strings, in one line, and at most `chars` characters long.
pub fn shown(statement: &str, chars: usize) -> String {
    let lower = statement.to_ascii_lowercase();
    let telling = TELLING.iter().any(|word| lower.contains(word));
    let safe = if telling { without_literals(statement, &lower) } else { redact(statement) };
    one_line(&safe, chars)
}

/// Joins lines and blanks, and cuts.
fn one_line(text: &str, chars: usize) -> String {
    let mut out = String::new();
    for (at, word) in text.split(|c: char| c.is_whitespace() || c.is_control()).enumerate() {
        if !word.is_empty() {
            out.push_str(if at > 0 && !out.is_empty() { " " } else { "" });
            out.push_str(word);
        }
        if out.len() > 4 * chars {
            break;
        }
    }
    match out.char_indices().nth(chars) {
        None => out,
        Some(_) => {
            let kept: String = out.chars().take(chars.saturating_sub(1)).collect();
            format!("{kept}…")
        }
    }
}

/// Leaves out everything from the first literal or value of a setting on. Where literals end is not looked for: it
/// depends on settings, and on what was cut off.
fn without_literals(statement: &str, lower: &str) -> String {
    let is_setting = ["set ", "alter "].iter().any(|word| lower.trim_start().starts_with(word));
    let value = [" to ", "="].iter().filter_map(|sign| Some(lower.find(sign)? + sign.len())).min();
    let quote = statement.char_indices().find(|(at, c)| match c {
        '\'' => true,
        '$' => !statement[at + 1..].starts_with(|c: char| c.is_ascii_digit()),
        _ => false,
    });
    match (quote.map(|(at, _)| at), value.filter(|_| is_setting)) {
        (None, None) => statement.to_owned(),
        (quote, value) => {
            let end = quote.unwrap_or(usize::MAX).min(value.unwrap_or(usize::MAX));
            format!("{}{REDACTED}", &statement[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        for (statement, want) in [
            ("ALTER ROLE bob PASSWORD 's3'", "ALTER ROLE bob PASSWORD ***"),
            ("create user bob encrypted password E's\\'3' login", "create user bob encrypted password E***"),
            ("CREATE ROLE x PASSWORD $a$s3$a$ LOGIN", "CREATE ROLE x PASSWORD ***"),
            ("CREATE ROLE x PASSWORD 'it''s3", "CREATE ROLE x PASSWORD ***"),
            ("SET my.password TO s3", "SET my.password TO ***"),
            ("set local my.token=s3", "set local my.token=***"),
            ("SELECT set_config('my.secret', 's3', false)", "SELECT set_config(***"),
            ("ALTER SYSTEM SET primary_conninfo = 'host=h s3'", "ALTER SYSTEM SET primary_conninfo =***"),
            (
                "CREATE SUBSCRIPTION s CONNECTION 'host=h s3' PUBLICATION p",
                "CREATE SUBSCRIPTION s CONNECTION ***",
            ),
            ("COPY t FROM PROGRAM 'curl -u me:s3 x'", "COPY t FROM PROGRAM ***"),
            ("SELECT * FROM dblink('host=h s3', 'SELECT 1') AS t(a int)", "SELECT * FROM dblink(***"),
            (
                "CREATE USER MAPPING FOR a SERVER b OPTIONS (x 's3')",
                "CREATE USER MAPPING FOR a SERVER b OPTIONS (x ***",
            ),
            ("SELECT 's3' AS password", "SELECT ***"),
            ("SELECT crypt('s3', gen_salt('bf'))", "SELECT crypt(***"),
            (
                "INSERT INTO urls VALUES ('postgres://bob:s3@h/d",
                "INSERT INTO urls VALUES ('postgres://bob:***@h/d",
            ),
            ("SELECT 'x', $1, abalance\n  FROM a", "SELECT 'x', $1, abalance FROM a"),
            ("UPDATE t SET password = $1 WHERE name = $2", "UPDATE t SET password = $1 WHERE name = $2"),
        ] {
            assert_eq!(shown(statement, SHOWN_CHARS), want);
        }
    }

    #[test]
    fn long_statements_are_cut_by_characters() {
        assert_eq!(shown("SELECT äöü", 10), "SELECT äöü");
        assert_eq!(shown("SELECT äöüß", 10), "SELECT äö…");
        assert_eq!(shown(&"x ".repeat(1 << 20), 3), "x …");
        assert_eq!(shown("", 3), "");
    }

    proptest! {
        #[test]
        fn no_password_survives(
            secret in "[a-z0-9\"\\\\ ;$=,@:/?&]{0,10}XYZZY[a-z0-9\"\\\\ ;$=,@:/?&]{0,10}",
            form in 0..4_usize,
            cut in 0..200_usize,
        ) {
            let literal = match form {
                0 => format!("'{secret}'"),
                1 => format!("E'{}'", secret.replace('\\', "\\\\")),
                2 => format!("'a''{secret}'"),
                _ => format!("$tag${secret}$tag$"),
            };
            let statement = format!("ALTER ROLE x LOGIN PASSWORD {literal} VALID UNTIL 'infinity'");
            let cut: String = statement.chars().take(cut).collect();
            prop_assert!(!shown(&statement, SHOWN_CHARS).contains("XYZZY"));
            prop_assert!(!shown(&cut, SHOWN_CHARS).contains("XYZZY"), "{}", cut);
        }

        #[test]
        fn nothing_makes_it_panic_or_longer(text in "\\PC*", chars in 0..50_usize) {
            prop_assert!(shown(&text, chars).chars().count() <= chars.max(1));
            let secret = format!("password {text}");
            prop_assert!(shown(&secret, chars).chars().count() <= chars.max(1));
        }
    }
}
