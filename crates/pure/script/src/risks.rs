//! Detects what a script or a setup may affect beyond its own tables, to show before a plan from elsewhere is run.
//!
//! Only plain text is recognized, including that of literals and function bodies. This is no sandbox: SQL
//! assembled at run time is not seen, and permissions are up to the server.

use super::{Action, Script, quotes::Within, tokens::Token};

/// Something that affects more than the tables of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// Place: script name and line number from 1.
    pub place: String,
    /// First line of the command.
    pub command: String,
    /// Effect, worded to follow "it".
    pub does: &'static str,
}

const PROGRAM_HERE: &str = "runs a program where pgdyno runs";
const PROGRAM_THERE: &str = "runs a program at the server";
const FILES: &str = "reads or writes files at the server";
const CODE: &str = "loads code into the server";
const SERVER: &str = "changes the server beyond its own tables";

/// Functions and roles with their effects; a trailing `*` matches any ending.
const NAMES: &[(&str, &str)] = &[
    ("pg_execute_server_program", PROGRAM_THERE),
    ("pg_read_server_files", FILES),
    ("pg_write_server_files", FILES),
    ("pg_read_file", FILES),
    ("pg_read_binary_file", FILES),
    ("pg_ls_*", FILES),
    ("pg_stat_file", FILES),
    ("pg_file_*", FILES),
    ("lo_import", FILES),
    ("lo_export", FILES),
    ("pg_reload_conf", SERVER),
    ("pg_rotate_logfile", SERVER),
    ("pg_terminate_backend", SERVER),
    ("pg_cancel_backend", SERVER),
    ("pg_promote", SERVER),
    ("dblink*", SERVER),
];

/// Objects outside of schemas, whose creation, change or removal counts.
const OUTSIDE: &[&str] =
    &["role", "user", "group", "database", "tablespace", "server", "subscription", "publication", "event"];

/// Languages whose functions the server restricts.
const TRUSTED_LANGUAGES: &[&str] = &["sql", "plpgsql", "plperl", "pltcl"];

/// The start or the end of a literal.
const QUOTE: Token = Token::Sign(b'\'');

/// Everything in a script that affects more than tables, in order.
pub fn risks(script: &Script) -> Vec<Risk> {
    let mut found = Vec::new();
    for command in &script.commands {
        let does = match &command.action {
            Action::Shell(_) | Action::SetShell { .. } => Some(PROGRAM_HERE),
            Action::Sql(sql) => reach(&tokens(&sql.source())),
            _ => None,
        };
        found.extend(does.map(|does| Risk {
            place: format!("{}:{}", script.name, command.line_number),
            command: command.line.clone(),
            does,
        }));
    }
    found
}

/// Words of SQL, including those in literals and bodies but not those in comments; both ends of a literal are the sign
/// `'`.
fn tokens(text: &[u8]) -> Vec<Token> {
    let (mut within, mut found) = (Within::Sql, Vec::new());
    let (mut at, mut word) = (0, String::new());
    while at < text.len() {
        let was = within.clone();
        let len = within.step(&text[at..], at.checked_sub(1).map(|before| text[before]));
        let byte = text[at];
        let commented = matches!(was, Within::Line | Within::Block(_))
            || matches!(within, Within::Line | Within::Block(_));
        if !commented && len == 1 && (byte.is_ascii_alphanumeric() || byte == b'_') {
            word.push(char::from(byte.to_ascii_lowercase()));
        } else {
            if !word.is_empty() {
                found.push(Token::Word(std::mem::take(&mut word)));
            }
            match byte {
                _ if commented || byte.is_ascii_whitespace() => {}
                b'$' => found.push(QUOTE),
                sign => found.push(Token::Sign(sign)),
            }
        }
        at += len;
    }
    if !word.is_empty() {
        found.push(Token::Word(word));
    }
    found
}

/// Effect of a statement beyond tables, the worst first.
fn reach(tokens: &[Token]) -> Option<&'static str> {
    let copy = tokens.iter().position(|token| token.is("copy"));
    if copy.is_some_and(|copy| tokens[copy..].iter().any(|token| token.is("program"))) {
        return Some(PROGRAM_THERE);
    }
    if copy.is_some_and(|copy| copies_a_file(&tokens[copy..])) {
        return Some(FILES);
    }
    let named = tokens.iter().filter_map(Token::word).find_map(|word| {
        let is = |name: &str| match name.strip_suffix('*') {
            Some(start) => word.starts_with(start),
            None => word == name,
        };
        NAMES.iter().find(|(name, _)| is(name)).map(|(_, does)| *does)
    });
    named
        .or_else(|| tokens.windows(2).find_map(|pair| pair_of(&pair[0], &pair[1])))
        .or_else(|| untrusted(tokens))
}

/// Whether this is `COPY … FROM` or `TO` with a literal file name.
fn copies_a_file(tokens: &[Token]) -> bool {
    let direction = |token: &Token| token.is("from") || token.is("to");
    // `E'…'` and `U&'…'` are literals, too.
    let literal = |behind: &[Token]| match behind {
        [QUOTE, ..] => true,
        [Token::Word(prefix), QUOTE, ..] => prefix == "e",
        [Token::Word(prefix), Token::Sign(_), QUOTE, ..] => prefix == "u",
        _ => false,
    };
    (0..tokens.len()).any(|at| direction(&tokens[at]) && literal(&tokens[at + 1..]))
}

fn pair_of(first: &Token, second: &Token) -> Option<&'static str> {
    if first.is("load") && *second == QUOTE {
        return Some(CODE);
    }
    match (first.word()?, second.word()) {
        ("alter", Some("system")) => Some(SERVER),
        ("create" | "alter" | "drop", Some("extension" | "language" | "transform")) => Some(CODE),
        ("create" | "alter" | "drop", Some(what)) if OUTSIDE.contains(&what) => Some(SERVER),
        _ => None,
    }
}

/// Effect of a function in a language that has all rights of the server's user.
fn untrusted(tokens: &[Token]) -> Option<&'static str> {
    let at = tokens.iter().position(|token| token.is("language"))?;
    let name = tokens[at + 1..].iter().find_map(Token::word)?;
    (!TRUSTED_LANGUAGES.contains(&name)).then_some(CODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scripts;

    fn found(text: &str) -> Vec<(String, &'static str)> {
        let scripts = Scripts::one("x.sql", text).expect(text);
        risks(scripts.get(0)).into_iter().map(|risk| (risk.place, risk.does)).collect()
    }

    #[test]
    fn what_reaches_beyond_tables_is_found() {
        for (text, does) in [
            ("\\shell rm -rf /tmp/x\nSELECT 1;", PROGRAM_HERE),
            ("\\setshell x date +%s\nSELECT :x;", PROGRAM_HERE),
            ("COPY t FROM PROGRAM 'curl x';", PROGRAM_THERE),
            ("copy (select 1) to program 'sh';", PROGRAM_THERE),
            ("DO $$ BEGIN EXECUTE 'COPY t FROM PROGRAM ''id'''; END $$;", PROGRAM_THERE),
            ("COPY/**/t FROM '/etc/passwd';", FILES),
            ("COPY t TO E'/tmp/x';", FILES),
            ("COPY t TO U&'/tmp/x';", FILES),
            ("SELECT '--'; ", ""),
            ("SELECT '--', pg_read_file('x');", FILES),
            ("SELECT pg_ls_dir('.');", FILES),
            ("SELECT lo_import('/etc/passwd');", FILES),
            ("LOAD 'auto_explain';", CODE),
            ("CREATE EXTENSION dblink;", SERVER),
            ("CREATE EXTENSION hstore;", CODE),
            ("CREATE FUNCTION f() RETURNS int AS 'x', 'y' LANGUAGE c;", CODE),
            ("CREATE FUNCTION f() RETURNS int LANGUAGE 'plpython3u' AS $$ return 1 $$;", CODE),
            ("ALTER SYSTEM SET fsync = off;", SERVER),
            ("CREATE ROLE me;", SERVER),
            ("DROP DATABASE x;", SERVER),
            ("CREATE TABLESPACE x LOCATION '/srv';", SERVER),
        ] {
            let reported: Vec<_> = found(text).into_iter().map(|(_, does)| does).collect();
            let expected: Vec<_> = Some(does).filter(|does| !does.is_empty()).into_iter().collect();
            assert_eq!(reported, expected, "{text}");
        }
    }

    #[test]
    fn tables_and_what_is_in_them_are_none_of_it() {
        for text in [
            "CREATE TABLE program(copy text, \"from\" text); INSERT INTO program VALUES ('to');",
            "COPY t FROM stdin;",
            "-- COPY t FROM PROGRAM 'x'\nSELECT 1;",
            "SELECT 1 /* pg_read_file */;",
            "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;",
            "CREATE INDEX i ON test USING brin (id); ALTER SEQUENCE s CACHE 100000;",
            "DO $$ BEGIN FOR i IN 1 .. 3 LOOP EXECUTE format('CREATE TABLE t%s (LIKE t)', i); END LOOP; END $$;",
            "SELECT user, current_user; UPDATE t SET load = 'x';",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn the_place_is_the_line_of_the_command() {
        assert_eq!(found("SELECT 1;\n\nALTER SYSTEM\nRESET ALL;"), [("x.sql:3".to_owned(), SERVER)]);
    }
}
