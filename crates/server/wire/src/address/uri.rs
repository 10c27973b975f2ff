//! Connection URIs, parsed as in libpq (PostgreSQL manual, "Connection URIs").

use percent_encoding::percent_decode_str;
use pgdyno_core::problem::Problem;

use super::conninfo::{Pairs, wrong};

/// Whether libpq takes a text for a URI.
pub(super) fn is_uri(text: &str) -> bool {
    text.starts_with("postgresql://") || text.starts_with("postgres://")
}

/// Parses `postgresql://user:password@host:port,…/database?key=value&…`, every part optional.
pub(super) fn read(text: &str) -> Result<Pairs, Problem> {
    let mut pairs = Pairs::new();
    let mut rest = text.split_once("://").map_or("", |(_, rest)| rest);
    // An `@` before the first slash ends user and password.
    if let Some((credentials, after)) = rest.split_at_checked(rest.find(['@', '/']).unwrap_or(rest.len()))
        && let Some(after) = after.strip_prefix('@')
    {
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        add(&mut pairs, "user", user)?;
        add(&mut pairs, "password", password)?;
        rest = after;
    }
    let (hosts, ports, rest) = read_hosts(rest)?;
    add(&mut pairs, "host", &hosts)?;
    add(&mut pairs, "port", &ports)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    add(&mut pairs, "dbname", path.strip_prefix('/').unwrap_or(path))?;
    read_query(query, &mut pairs)?;
    Ok(pairs)
}

fn add(pairs: &mut Pairs, key: &str, value: &str) -> Result<(), Problem> {
    if !value.is_empty() {
        pairs.push((key.to_owned(), decode(value)?));
    }
    Ok(())
}

/// Parses hosts and ports; returns them as comma-separated lists, and the rest.
fn read_hosts(mut rest: &str) -> Result<(String, String, &str), Problem> {
    let (mut hosts, mut ports) = (String::new(), String::new());
    loop {
        let (host, after) = read_host(rest)?;
        hosts.push_str(host);
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            let (port, after) = after.split_at(after.find(['/', '?', ',']).unwrap_or(after.len()));
            ports.push_str(port);
            rest = after;
        }
        let Some(after) = rest.strip_prefix(',') else {
            // A list of commas only is a list of defaults, like no list.
            let any = |list: &str| list.chars().any(|c| c != ',');
            let ports = if any(&ports) { ports } else { String::new() };
            return Ok((hosts, ports, rest));
        };
        hosts.push(',');
        ports.push(',');
        rest = after;
    }
}

/// Parses one host, an IPv6 address in brackets; returns it and the rest.
fn read_host(text: &str) -> Result<(&str, &str), Problem> {
    let Some(bracketed) = text.strip_prefix('[') else {
        return Ok(text.split_at(text.find([':', '/', '?', ',']).unwrap_or(text.len())));
    };
    let Some((host, rest)) = bracketed.split_once(']') else {
        return Err(wrong("an IPv6 address in the URI lacks its closing `]`"));
    };
    if host.is_empty() {
        return Err(wrong("an IPv6 address in the URI is empty"));
    }
    match rest.chars().next() {
        None | Some(':' | '/' | '?' | ',') => Ok((host, rest)),
        Some(c) => Err(wrong(format!("unexpected `{c}` after the `]` of an IPv6 address in the URI"))),
    }
}

fn read_query(query: &str, pairs: &mut Pairs) -> Result<(), Problem> {
    for pair in query.split('&').filter(|_| !query.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(wrong("missing key/value separator \"=\" in the URI's query"));
        };
        if value.contains('=') {
            return Err(wrong("extra key/value separator \"=\" in the URI's query"));
        }
        let (key, value) = (decode(key)?, decode(value)?);
        // JDBC's parameter for TLS.
        match (key.as_str(), value.as_str()) {
            ("ssl", "true") => pairs.push(("sslmode".to_owned(), "require".to_owned())),
            _ => pairs.push((key, value)),
        }
    }
    Ok(())
}

/// Decodes percent-encoding; like libpq it refuses malformed escapes, NUL and blanks within.
fn decode(text: &str) -> Result<String, Problem> {
    let text = text.trim_matches(' ');
    if text.contains(' ') {
        return Err(wrong("a part of the URI contains a blank: write %20"));
    }
    for (at, _) in text.match_indices('%') {
        let hex = text.as_bytes().get(at + 1..at + 3);
        if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
            return Err(wrong("a percent sign in the URI is not followed by two hexadecimal digits"));
        }
        if hex == Some(b"00") {
            return Err(wrong("%00 is not possible in a URI"));
        }
    }
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| wrong("a part of the URI is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::*;

    fn pairs(of: &[(&str, &str)]) -> Pairs {
        of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    /// Examples of the manual and of libpq's own tests (`src/interfaces/libpq/t/001_uri.pl`), with their results.
    #[test]
    fn the_examples_of_libpq() {
        for (text, want) in [
            (
                "postgresql://uri-user:secret@host:12345/db",
                &[
                    ("user", "uri-user"),
                    ("password", "secret"),
                    ("host", "host"),
                    ("port", "12345"),
                    ("dbname", "db"),
                ][..],
            ),
            ("postgresql://uri-user@", &[("user", "uri-user")]),
            ("postgresql://%68ost/", &[("host", "host")]),
            (
                "postgresql://host/db?user=uri-user",
                &[("host", "host"), ("dbname", "db"), ("user", "uri-user")],
            ),
            (
                "postgresql://host:12345?user=uri-user",
                &[("host", "host"), ("port", "12345"), ("user", "uri-user")],
            ),
            ("postgresql:///", &[]),
            ("postgresql://", &[]),
            ("postgres://[::1]:5/db", &[("host", "::1"), ("port", "5"), ("dbname", "db")]),
            ("postgres://[2001:db8::1234]/", &[("host", "2001:db8::1234")]),
            ("postgresql://[::]", &[("host", "::")]),
            ("postgres://?hostaddr=127.0.0.1", &[("hostaddr", "127.0.0.1")]),
            (
                "postgres://example.com?hostaddr=63.1.2.4",
                &[("host", "example.com"), ("hostaddr", "63.1.2.4")],
            ),
            ("postgresql://host?sslmode=disable", &[("host", "host"), ("sslmode", "disable")]),
            ("postgresql://h?ssl=true", &[("host", "h"), ("sslmode", "require")]),
            ("postgres:///?host=/path/to/socket/dir", &[("host", "/path/to/socket/dir")]),
            (
                "postgres://otheruser@/no/such/directory",
                &[("user", "otheruser"), ("dbname", "no/such/directory")],
            ),
            (
                "postgres://otheruser@%2Fno%2Fsuch%2Fsocket%2Fpath:12345",
                &[("user", "otheruser"), ("host", "/no/such/socket/path"), ("port", "12345")],
            ),
            (
                "postgresql://h1:123,h2,[::3]:456/db",
                &[("host", "h1,h2,::3"), ("port", "123,,456"), ("dbname", "db")],
            ),
            ("postgresql://h1,h2/", &[("host", "h1,h2")]),
            ("postgres://%40abstract/db", &[("host", "@abstract"), ("dbname", "db")]),
        ] {
            assert_eq!(read(text).expect(text), pairs(want), "{text}");
        }
    }

    #[test]
    fn what_libpq_refuses_is_refused() {
        for text in [
            "postgresql://host?uzer",
            "postgresql://host?user=a=b",
            "postgresql://[::1",
            "postgresql://[]",
            "postgresql://[::1]z",
            "postgresql://u%zz@h",
            "postgresql://%",
            "postgresql://%1",
            "postgresql://a%00b",
            "postgresql://a b/",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(user in ".{1,9}", password in ".{1,9}", db in ".{1,9}") {
            prop_assume!([&user, &password, &db].iter().all(|text| !text.contains('\0')));
            let code = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let text = format!("postgres://{}:{}@h/{}", code(&user), code(&password), code(&db));
            let want = pairs(&[("user", &user), ("password", &password), ("host", "h"), ("dbname", &db)]);
            prop_assert_eq!(read(&text).expect("it is well formed"), want);
        }

        #[test]
        fn no_text_makes_it_panic(text in "postgres://[a@:/?,=&%\\[\\]0-9é ]{0,40}") {
            let _ = read(&text);
        }
    }
}
