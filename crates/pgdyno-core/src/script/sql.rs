//! SQL statements: where they end, what they are, and where variables stand in them.

use std::ops::Range;

use super::{Piece, Slot, Sql, SqlKind, error::Fault, lexer::variable_len, parser::MAX_PARAMETERS};

/// Where a statement ends and what of it is no plain SQL.
#[derive(Debug, Default)]
pub(super) struct Extent {
    /// First byte after the statement, without its semicolon.
    pub end: usize,
    /// Where the next command may begin.
    pub next: usize,
    /// Literals, quoted names and comments.
    quoted: Vec<(Range<usize>, Quoted)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Text,
    Comment,
}

/// Finds the end of the statement that begins at `start`: a semicolon outside quotes, comments and
/// parentheses, a backslash command, or the end of the script (psql's rules, `psqlscan.l`).
pub(super) fn extent(text: &str, start: usize) -> Result<Extent, Fault> {
    let mut extent = Extent::default();
    let (mut at, mut parentheses) = (start, 0usize);
    while let Some(c) = text[at..].chars().next() {
        if let Some((end, kind)) = quoted(text, at)? {
            extent.quoted.push((at..end, kind));
            at = end;
            continue;
        }
        match c {
            ';' if parentheses == 0 => return Ok(Extent { end: at, next: at + 1, ..extent }),
            '\\' if text[at..].starts_with("\\;") => {
                return Err(Fault::new(
                    at..at + 2,
                    "statements joined by `\\;` are not part of this language yet",
                )
                .hint("write them one after another with `;`"));
            }
            '\\' => return Ok(Extent { end: at, next: at, ..extent }),
            '(' => parentheses += 1,
            ')' => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        at += c.len_utf8();
    }
    Ok(Extent { end: at, next: at, ..extent })
}

/// The end of the literal, quoted name or comment that begins at `at`, if one does.
fn quoted(text: &str, at: usize) -> Result<Option<(usize, Quoted)>, Fault> {
    let rest = &text[at..];
    if rest.starts_with("--") {
        return Ok(Some((at + rest.find('\n').unwrap_or(rest.len()), Quoted::Comment)));
    }
    if rest.starts_with("/*") {
        let end = comment_len(rest).ok_or_else(|| Fault::new(at..at + 2, "unterminated comment"))?;
        return Ok(Some((at + end, Quoted::Comment)));
    }
    let (len, what) = match rest.as_bytes()[0] {
        b'\'' if is_escape_string(text, at) => (escape_len(rest), "unterminated quoted string"),
        b'\'' => (closing(rest, '\''), "unterminated quoted string"),
        b'"' => (closing(rest, '"'), "unterminated quoted identifier"),
        b'$' => match dollar_tag(text, at) {
            Some(tag) => {
                let body = rest[tag.len()..].find(tag);
                (body.map(|len| len + 2 * tag.len()), "unterminated dollar-quoted string")
            }
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    match len {
        Some(len) => Ok(Some((at + len, Quoted::Text))),
        None => Err(Fault::new(at..at + 1, what)),
    }
}

/// The length of a literal that ends at the next quote; a doubled quote simply begins the next literal.
fn closing(rest: &str, quote: char) -> Option<usize> {
    rest[1..].find(quote).map(|len| len + 2)
}

/// The length of an `E'…'` literal from its quote on, in which a backslash takes the next character with it.
fn escape_len(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '\'' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn is_escape_string(text: &str, at: usize) -> bool {
    let mut before = text[..at].chars().rev();
    matches!(before.next(), Some('e' | 'E')) && !before.next().is_some_and(is_word)
}

/// The length of a comment with the comments inside it.
fn comment_len(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// The `$tag$` that begins at `at`, if one does: not within a word, and not a parameter such as `$1`.
fn dollar_tag(text: &str, at: usize) -> Option<&str> {
    if text[..at].chars().next_back().is_some_and(is_word) {
        return None;
    }
    let rest = &text[at + 1..];
    let len = rest.find('$')?;
    let tag = &rest[..len];
    let good = !tag.starts_with(|c: char| c.is_ascii_digit()) && tag.chars().all(|c| is_word(c) && c != '$');
    good.then(|| &text[at..at + len + 2])
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii()
}

/// The length of white space and comments at `at`.
pub(super) fn blank_len(text: &str, at: usize) -> Result<usize, Fault> {
    let mut end = at;
    loop {
        end += text[end..].len() - text[end..].trim_start().len();
        match text[end..].starts_with("--") || text[end..].starts_with("/*") {
            true => end = quoted(text, end)?.map_or(text.len(), |(end, _)| end),
            false => return Ok(end - at),
        }
    }
}

/// Makes a statement of the text from `start` to the extent's end; `slot` finds a variable by its name.
pub(super) fn statement(
    text: &str,
    start: usize,
    extent: &Extent,
    slot: impl Fn(&str) -> Option<Slot>,
) -> Result<Sql, Fault> {
    let end = start + text[start..extent.end].trim_end().len();
    let body = &text[start..end];
    let words = words(text, start..end, extent);
    let kind = kind(&words, start..end)?;
    let mut sql = Sql {
        text: String::with_capacity(body.len()),
        parameters: Vec::new(),
        pieces: Vec::new(),
        kind,
        returns_rows: returns_rows(&words),
        label: body.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    substitute(text, start..end, extent, slot, &mut sql)?;
    Ok(sql)
}

/// Fills text, parameters and pieces. As in pgbench a variable counts wherever it stands, also within a
/// literal, where an unknown name is left alone; comments are left alone.
fn substitute(
    text: &str,
    range: Range<usize>,
    extent: &Extent,
    slot: impl Fn(&str) -> Option<Slot>,
    sql: &mut Sql,
) -> Result<(), Fault> {
    let (mut at, mut plain) = (range.start, range.start);
    while let Some(found) = text[at..range.end].find(':') {
        let colon = at + found;
        let name = &text[colon + 1..colon + 1 + variable_len(&text[colon + 1..range.end])];
        if name.is_empty() {
            // A cast: all colons go by, as in pgbench.
            at = colon + text[colon..range.end].len() - text[colon..range.end].trim_start_matches(':').len();
            continue;
        }
        let place = colon..colon + 1 + name.len();
        at = place.end;
        let inside = extent.quoted.iter().find(|(quoted, _)| quoted.contains(&colon)).map(|(_, kind)| *kind);
        match slot(name).filter(|_| inside != Some(Quoted::Comment)) {
            Some(slot) => {
                push_text(sql, &text[plain..colon]);
                push_variable(sql, slot, place.clone())?;
                plain = place.end;
            }
            None if inside.is_some() => {}
            None => return Err(undefined(name, place)),
        }
    }
    push_text(sql, &text[plain..range.end]);
    Ok(())
}

/// The fault of a variable that is used before it is set.
pub(super) fn undefined(name: &str, place: Range<usize>) -> Fault {
    Fault::new(place, format!("undefined variable \"{name}\""))
        .hint(format!("set it before with \\set {name} …"))
}

fn push_text(sql: &mut Sql, text: &str) {
    if !text.is_empty() {
        sql.text.push_str(text);
        sql.pieces.push(Piece::Text(text.to_owned()));
    }
}

fn push_variable(sql: &mut Sql, slot: Slot, place: Range<usize>) -> Result<(), Fault> {
    if sql.parameters.len() == MAX_PARAMETERS {
        return Err(Fault::new(
            place,
            format!("statement has too many arguments (maximum is {MAX_PARAMETERS})"),
        ));
    }
    sql.parameters.push(slot);
    sql.text.push_str(&format!("${}", sql.parameters.len()));
    sql.pieces.push(Piece::Variable(slot));
    Ok(())
}

/// The words outside literals and comments, in capitals.
fn words(text: &str, range: Range<usize>, extent: &Extent) -> Vec<String> {
    let mut plain = String::with_capacity(range.len());
    let mut at = range.start;
    for (quoted, _) in extent.quoted.iter().filter(|(quoted, _)| quoted.start < range.end) {
        plain.push_str(&text[at..quoted.start]);
        plain.push(' ');
        at = quoted.end.min(range.end);
    }
    plain.push_str(&text[at..range.end]);
    let words = plain.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
    words.map(str::to_ascii_uppercase).collect()
}

fn kind(words: &[String], range: Range<usize>) -> Result<SqlKind, Fault> {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let ends = matches!(word(0), "END" | "COMMIT" | "ROLLBACK" | "ABORT");
    let chains = words.windows(2).any(|pair| pair[0] == "AND" && pair[1] == "CHAIN");
    match (word(0), word(1)) {
        ("BEGIN", _) | ("START", "TRANSACTION") => Ok(SqlKind::Begin),
        (_, "PREPARED") => Ok(SqlKind::Statement),
        ("ROLLBACK", _) if words.iter().any(|word| word == "TO") => Ok(SqlKind::Statement),
        _ if ends && chains => Err(Fault::new(range, "AND CHAIN is not part of this language yet")
            .hint("end the transaction and begin the next one in two statements")),
        _ if ends => Ok(SqlKind::End),
        _ => Ok(SqlKind::Statement),
    }
}

fn returns_rows(words: &[String]) -> bool {
    const FIRST: [&str; 7] = ["SELECT", "VALUES", "TABLE", "SHOW", "WITH", "EXPLAIN", "FETCH"];
    words.first().is_some_and(|word| FIRST.contains(&word.as_str()))
        || words.iter().any(|word| word == "RETURNING")
}
