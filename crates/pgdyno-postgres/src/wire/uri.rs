//! Connection strings: URIs and keyword lists, as libpq reads them.

use percent_encoding::percent_decode_str;
use pgdyno_core::problem::Problem;

use super::parts::Parts;

/// Whether libpq would take a text for a URI.
pub(super) fn is_uri(text: &str) -> bool {
    text.starts_with("postgresql://") || text.starts_with("postgres://")
}

/// `postgresql://user:password@host:port/database?keyword=value&…`, every part optional.
pub(super) fn read_uri(text: &str) -> Result<Parts, Problem> {
    let mut parts = Parts::default();
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (credentials, location) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let (host, port) = split_location(location)?;
    for (keyword, value) in
        [("user", user), ("password", password), ("host", host), ("port", port), ("dbname", path)]
    {
        if !value.is_empty() {
            parts.set(keyword, decode(value)?);
        }
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((keyword, value)) = pair.split_once('=') else {
            return Err(wrong(format!("missing \"=\" after `{pair}` in the URI's query")));
        };
        parts.set(&decode(keyword)?, decode(value)?);
    }
    Ok(parts)
}

/// Host and port; an IPv6 address stands in brackets.
fn split_location(location: &str) -> Result<(&str, &str), Problem> {
    let Some(bracketed) = location.strip_prefix('[') else {
        return Ok(location.rsplit_once(':').unwrap_or((location, "")));
    };
    let Some((host, rest)) = bracketed.split_once(']') else {
        return Err(wrong("an IPv6 address in the URI lacks its closing `]`"));
    };
    Ok((host, rest.strip_prefix(':').unwrap_or("")))
}

/// Undoes percent-encoding; libpq refuses what is not hexadecimal, so do we.
fn decode(text: &str) -> Result<String, Problem> {
    for (at, _) in text.match_indices('%') {
        let hex = text.as_bytes().get(at + 1..at + 3);
        if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
            return Err(wrong("a percent sign in the URI is not followed by two hexadecimal digits"));
        }
    }
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| wrong("a part of the URI is not UTF-8"))
}

/// `keyword = value …`; values with blanks in single quotes, `\` escapes a quote or itself.
pub(super) fn read_keywords(text: &str) -> Result<Parts, Problem> {
    let mut parts = Parts::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let Some((keyword, after)) = rest.split_once('=') else {
            return Err(wrong(format!("missing \"=\" after `{rest}`")));
        };
        let keyword = keyword.trim_end();
        if keyword.contains(char::is_whitespace) {
            return Err(wrong(format!("missing \"=\" in `{keyword}`")));
        }
        let (value, after) = read_value(after.trim_start())?;
        parts.set(keyword, value);
        rest = after.trim_start();
    }
    Ok(parts)
}

/// One value and what follows it.
fn read_value(text: &str) -> Result<(String, &str), Problem> {
    let quoted = text.starts_with('\'');
    let mut chars = text.char_indices().skip(usize::from(quoted));
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            c if !quoted && c.is_whitespace() => return Ok((value, &text[at..])),
            c => value.push(c),
        }
    }
    if quoted { Err(wrong("unterminated quoted string")) } else { Ok((value, "")) }
}

fn wrong(why: impl Into<String>) -> Problem {
    Problem::wrong_request(format!("could not read the connection string: {}", why.into()))
}
