//! Reads plan files from TOML into a [`Plan`], with errors that name the position.
//!
//! The text is read three times: as a tree with positions, to name unknown keys and locate faults; by serde,
//! into the types; and by [`Plan::faults`], for what types cannot express.

use std::ops::Range;

use pgdyno_core::problem::Problem;
use toml::de::{DeTable, DeValue};

use super::{
    Plan,
    fault::{Fault, shown},
    schema_keys::{self, Holds, Key, PLAN, Table},
};

/// Longest plan file in bytes: 1 MiB. Readers should not read more than this.
pub const MAX_PLAN_BYTES: usize = 1 << 20;

/// Longest excerpt of a line in an error, in characters.
const EXCERPT: usize = 90;

impl Plan {
    /// Reads a plan file; `file` is its name in messages.
    ///
    /// A byte order mark and CRLF line ends are accepted.
    ///
    /// # Errors
    /// A wrong request whose sentence begins with `file:line:column` (both from 1, the column in characters),
    /// whose detail shows the line with a caret, and whose hint names the nearest known key or value.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Problem> {
        let source = Source { text: text.strip_prefix('\u{feff}').unwrap_or(text), file };
        source.check_text()?;
        let tree = DeTable::parse(source.text).map_err(|error| source.syntax(&error))?;
        let tree = tree.get_ref();
        source.check_keys(tree)?;
        let plan: Self = toml::from_str(source.text).map_err(|error| source.wrong_value(tree, &error))?;
        match plan.faults().into_iter().next() {
            None => Ok(plan),
            Some(fault) => Err(source.fault(tree, fault)),
        }
    }
}

struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    /// Refuses texts that are not worth parsing.
    fn check_text(&self) -> Result<(), Problem> {
        if self.text.len() > MAX_PLAN_BYTES {
            let what = format!("{}: the file is larger than 1 MiB", self.file);
            return Err(
                Problem::wrong_request(what).hint("a plan is a page of text: is this the right file?")
            );
        }
        if let Some(at) = self.text.find('\0') {
            let problem = self.problem(at..at + 1, "the file holds a NUL byte");
            return Err(problem.hint("a plan is plain text in UTF-8: is this the right file?"));
        }
        if self.text.trim().is_empty() {
            let what = format!("{}: the file is empty", self.file);
            return Err(Problem::wrong_request(what).hint("start from plans/bench.toml"));
        }
        Ok(())
    }

    /// Checks for unknown keys, tables in the wrong place, and missing mandatory keys.
    fn check_keys(&self, tree: &DeTable<'_>) -> Result<(), Problem> {
        let mut strange = Vec::new();
        strange_keys(tree, &PLAN, &mut strange);
        if let Some((span, what, hint)) = strange.into_iter().min_by_key(|(span, ..)| span.start) {
            let secret = schema_keys::is_address(&self.text[span.clone()]);
            let problem = self.problem(span, &what).hint(hint);
            return Err(if secret { Problem { detail: None, ..problem } } else { problem });
        }
        for (name, hint) in [
            ("name", "add a first line such as name = \"bench\""),
            ("workload", "add a [[workload]] with a script, such as \"select-only\""),
        ] {
            let may_lack = name == "workload" && tree.contains_key("stage");
            if !tree.contains_key(name) && !may_lack {
                let what = format!("{}: the key `{name}` is missing", self.file);
                return Err(Problem::wrong_request(what).hint(hint));
            }
        }
        let workloads = tree.get("workload").and_then(|list| list.get_ref().as_array());
        let workloads = workloads.into_iter().flat_map(|list| list.iter());
        let lacks_script = |table: &DeTable<'_>| {
            !["script", "text", "scripts", "tpcc"].iter().any(|key| table.contains_key(*key))
        };
        let mut lacking = workloads.filter(|one| one.get_ref().as_table().is_some_and(lacks_script));
        if let Some(workload) = lacking.next() {
            let hint = format!("add script = {}; or text, or scripts, or tpcc", script_words());
            return Err(self.problem(workload.span(), "the workload has no `script`").hint(hint));
        }
        Ok(())
    }

    /// Problem of a violation of the TOML grammar.
    fn syntax(&self, error: &toml::de::Error) -> Problem {
        let span = error.span().unwrap_or(0..0);
        let first = error.message().lines().next().unwrap_or("not TOML");
        let hint = if first.contains("duplicate key") {
            "keep one of the two"
        } else {
            "the file is TOML: strings in quotes, lists in brackets, tables as [measure]"
        };
        self.problem(span, first).hint(hint)
    }

    /// Problem of a value with the wrong type, or a word that is not accepted.
    fn wrong_value(&self, tree: &DeTable<'_>, error: &toml::de::Error) -> Problem {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().lines().next().unwrap_or("wrong value");
        let leaf = leaf_at(tree, "", span.start);
        let Some((key, path, span)) =
            leaf.and_then(|(path, span)| Some((schema_keys::at(&path)?, path, span)))
        else {
            return self.misplaced_table(tree, span, message);
        };
        let given = shown(&self.text[span.clone()]);
        let problem = self.problem(span, &format!("`{path}` must be {}, not {given}", key.expects()));
        match schema_keys::nearest(given.trim_matches(['"', '\'']), key.words()) {
            Some(word) => problem.hint(format!("did you mean \"{word}\"?")),
            None if path.contains(".settings.") => {
                problem.hint("values of settings are written in quotes, as in work_mem = \"64MB\"")
            }
            None => problem.hint(self.example()),
        }
    }

    /// Hint at a valid plan of the same kind.
    fn example(&self) -> &'static str {
        match self.text.contains("tpcc") {
            true => "see plans/tpcc.toml for a valid plan",
            false => "see plans/bench.toml for a valid plan",
        }
    }

    /// Problem of a table in place of a value, which TOML makes of a name with an unquoted dot.
    fn misplaced_table(&self, tree: &DeTable<'_>, span: Range<usize>, message: &str) -> Problem {
        let server = tree.get("server").and_then(|server| server.get_ref().as_table());
        let settings = server.and_then(|server| server.get("settings")?.get_ref().as_table());
        match settings.and_then(|all| all.iter().find(|(_, value)| value.get_ref().is_table())) {
            Some((name, _)) => {
                let what = format!("`server.settings.{}` is a table, not a value", shown(name.get_ref()));
                let hint = "a name with a dot is written in quotes, as in \"auto_explain.log_min_duration\" = \"1s\"";
                self.problem(name.span(), &what).hint(hint)
            }
            None => self.problem(span, message).hint(self.example()),
        }
    }

    /// Problem of a plan that can be read but makes no sense.
    fn fault(&self, tree: &DeTable<'_>, fault: Fault) -> Problem {
        match span_of(tree, &fault.path) {
            Some(span) => self.problem(span, &fault.what).hint(fault.hint),
            None => Problem::wrong_request(format!("{}: {}", self.file, fault.what)).hint(fault.hint),
        }
    }

    /// A wrong request with its position and an excerpt of the line.
    fn problem(&self, span: Range<usize>, what: &str) -> Problem {
        let place = Place::new(self.text, span);
        let what = format!("{}:{}:{}: {what}", self.file, place.line, place.column);
        Problem::wrong_request(what).detail(place.excerpt)
    }
}

/// Names of the scripts, for a hint.
fn script_words() -> String {
    schema_keys::at("workload.script").map(Key::expects).unwrap_or_default()
}

/// A position in a text for people, and the line there with a caret below.
pub(crate) struct Place {
    /// Line number from 1.
    pub line: usize,
    /// Column number from 1, in characters.
    pub column: usize,
    /// The line, and the caret below.
    pub excerpt: String,
}

impl Place {
    /// Position of a byte range, which may begin at the end of the text.
    pub(crate) fn new(text: &str, span: Range<usize>) -> Self {
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let rest = &text[line_start..];
        let line_text = rest.find('\n').map_or(rest, |at| &rest[..at]).trim_end_matches('\r');
        let line = text[..line_start].matches('\n').count() + 1;
        let before = text[line_start..start].chars().count();
        let marked = text[start..end].lines().next().unwrap_or("").chars().count().max(1);
        Self { line, column: before + 1, excerpt: excerpt(line, line_text, before, marked) }
    }
}

/// The line with its number and a caret line below, cut around the caret if the line is long.
fn excerpt(line: usize, text: &str, before: usize, marked: usize) -> String {
    let from = before.saturating_sub(EXCERPT / 2);
    let plain = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let shown: String = text.chars().skip(from).take(EXCERPT).map(plain).collect();
    let carets = marked.min(EXCERPT - (before - from).min(EXCERPT - 1));
    let (gutter, indent) = (line.to_string(), before - from);
    let blank = " ".repeat(gutter.len());
    format!("{gutter} | {shown}\n{blank} | {}{}", " ".repeat(indent), "^".repeat(carets))
}

fn floor_boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// A key in the wrong place: its range, message and hint.
type Strange = (Range<usize>, String, String);

/// Collects keys that a plan does not have.
fn strange_keys(given: &DeTable<'_>, table: &Table, found: &mut Vec<Strange>) {
    for (name, value) in given {
        match table.key(name.get_ref()) {
            Some(key) => strange_value(key, name.span(), value.get_ref(), found),
            None => {
                let what = format!("unknown key `{}` {}", shown(name.get_ref()), table.place());
                found.push((name.span(), what, schema_keys::advice(table, name.get_ref())));
            }
        }
    }
}

/// Collects unknown keys below a key, or that it holds no table.
fn strange_value(key: &Key, span: Range<usize>, value: &DeValue<'_>, found: &mut Vec<Strange>) {
    match (&key.holds, value) {
        (Holds::Nothing, _) => {}
        (Holds::Table(table), DeValue::Table(given)) => strange_keys(given, table, found),
        (Holds::List(table), DeValue::Array(list)) if list.iter().all(|one| one.get_ref().is_table()) => {
            list.iter()
                .filter_map(|one| one.get_ref().as_table())
                .for_each(|given| strange_keys(given, table, found));
        }
        (Holds::Any(each), DeValue::Table(given)) => {
            given.iter().for_each(|(name, value)| strange_value(each, name.span(), value.get_ref(), found));
        }
        (holds, _) => {
            let hint = match holds {
                Holds::List(table) if !key.path.contains('.') => format!("write {}", table.heading),
                _ => "see plans/bench.toml".to_owned(),
            };
            found.push((span, format!("`{}` must be {}", key.path, key.expects()), hint));
        }
    }
}

/// Path (without list positions) and range of the value that contains a byte position.
fn leaf_at(table: &DeTable<'_>, prefix: &str, at: usize) -> Option<(String, Range<usize>)> {
    table.iter().find_map(|(name, value)| {
        let dot = if prefix.is_empty() { "" } else { "." };
        let path = format!("{prefix}{dot}{}", name.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => leaf_at(inner, &path, at),
            DeValue::Array(list) if list.iter().any(|one| one.get_ref().is_table()) => list
                .iter()
                .filter_map(|one| one.get_ref().as_table())
                .find_map(|inner| leaf_at(inner, &path, at)),
            _ => value.span().contains(&at).then(|| (path, value.span())),
        }
    })
}

/// Range of the value that a fault's path names, or of the nearest table around it.
fn span_of(table: &DeTable<'_>, path: &str) -> Option<Range<usize>> {
    let (head, rest) = path.split_once('.').unwrap_or((path, ""));
    let (name, index) = match head.split_once('[') {
        Some((name, index)) => (name, index.trim_end_matches(']').parse::<usize>().ok()),
        None => (head, None),
    };
    // Names of settings may contain dots.
    let value = table.get(path).or_else(|| table.get(name))?;
    let value = index.and_then(|index| value.get_ref().as_array()?.get(index)).unwrap_or(value);
    let inner = value.get_ref().as_table().and_then(|inner| span_of(inner, rest));
    Some(inner.unwrap_or_else(|| value.span()))
}
