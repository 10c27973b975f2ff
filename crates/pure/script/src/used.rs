//! Finds variables that scripts read but never set: probably typing errors.

use std::collections::BTreeSet;

use super::{Action, Command, Piece, Place, Script, ScriptError, Scripts, Slot, Sql, quotes::Within};

impl Scripts {
    /// Checks that every variable read in plain SQL gets a value: it must be in `known` or be set by any of the
    /// scripts. Passes if a `\gset` or `\aset` sets names that only the server knows.
    ///
    /// # Errors
    /// The first variable without a value, with its line and the most similar name.
    pub fn check_variables(&self, known: &[&str]) -> Result<(), ScriptError> {
        let stores = |sql: &Sql| sql.store.is_some();
        if self.statements().any(stores) {
            return Ok(());
        }
        let set = self.set_slots();
        let is_known = |slot: &Slot| set.contains(slot) || known.contains(&self.names.name(*slot).as_str());
        for script in &self.list {
            for command in &script.commands {
                if let Some(slot) = command.reads().into_iter().find(|slot| !is_known(slot)) {
                    return Err(self.unknown(script, command, slot, known));
                }
            }
        }
        Ok(())
    }

    /// Variables that `\set` and `\setshell` assign.
    pub(super) fn set_slots(&self) -> BTreeSet<Slot> {
        let commands = self.list.iter().flat_map(|script| &script.commands);
        let slot = |command: &Command| match &command.action {
            Action::Set { variable: Place::Slot(slot), .. }
            | Action::SetShell { variable: Place::Slot(slot), .. } => Some(*slot),
            _ => None,
        };
        commands.filter_map(slot).collect()
    }

    fn unknown(&self, script: &Script, command: &Command, slot: Slot, known: &[&str]) -> ScriptError {
        let name = self.names.name(slot);
        let set: Vec<_> = self.set_slots().into_iter().map(|slot| self.names.name(slot)).collect();
        let all = known.iter().copied().chain(set.iter().map(String::as_str));
        let near = all.map(|one| (strsim::jaro_winkler(one, &name), one));
        let near = near.filter(|(likeness, _)| *likeness >= 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
        ScriptError {
            script: script.name.clone(),
            line: Some(command.line_number as u32),
            column: None,
            what: format!("the variable :{name} has no value"),
            excerpt: Some(command.line.clone()),
            hint: Some(match near {
                Some((_, near)) => format!("did you mean :{near}?"),
                None => format!("give it one: {name} = … in [variables] of the plan"),
            }),
        }
    }
}

impl Command {
    /// Variables that the command certainly reads: not those in literals, quoted identifiers and comments of SQL.
    fn reads(&self) -> Vec<Slot> {
        match &self.action {
            Action::Sql(sql) => sql.plain_variables(),
            Action::Set { value, .. } => value.variables().collect(),
            Action::If(value) | Action::Elif(value) => value.variables().collect(),
            _ => Vec::new(),
        }
    }
}

impl Sql {
    /// Variables outside quotes and comments.
    fn plain_variables(&self) -> Vec<Slot> {
        let (mut within, mut before, mut found) = (Within::Sql, None, Vec::new());
        for piece in &self.pieces {
            match piece {
                Piece::Variable { slot, name } => {
                    if within == Within::Sql {
                        found.push(*slot);
                    }
                    before = name.last().copied();
                }
                Piece::Text(text) => {
                    let mut at = 0;
                    while at < text.len() {
                        let len = within.step(&text[at..], before);
                        before = text[..at + len].last().copied();
                        at += len;
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let scripts = Scripts::one("x.sql", text).expect(text);
        scripts.check_variables(&["rows", "client_id"]).map_err(|error| error.to_string())
    }

    #[test]
    fn what_has_a_value_is_known() {
        for text in [
            "SELECT :rows, :client_id;",
            "\\set id random(1, :rows)\nSELECT :id;",
            "SELECT 1 AS one \\gset\nSELECT :one;",
            "SELECT 'a:b', \"c:d\", $$ :e $$, $x$ :f $$ :g $x$ /* :h /* :i */ :j */; -- :k",
            "SELECT E'\\':l', 'it''s :m', x::text;",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_has_none_is_named_with_its_line() {
        for (text, said) in [
            ("SELECT 1;\nSELECT :row;", "x.sql:2: the variable :row has no value"),
            ("SELECT 'a' || :b;", "x.sql:1: the variable :b has no value"),
            ("SELECT $1$ :c;", "x.sql:1: the variable :c has no value"),
            ("\\set id :d + 1\nSELECT :id;", "x.sql:1: the variable :d has no value"),
            ("SELECT '\\' || :e;", "x.sql:1: the variable :e has no value"),
        ] {
            assert_eq!(check(text), Err(said.to_owned()), "{text}");
        }
        let scripts = Scripts::one("x.sql", "SELECT :row;").expect("a script");
        let error = scripts.check_variables(&["rows"]).expect_err("it is a slip");
        assert_eq!(error.hint.as_deref(), Some("did you mean :rows?"));
    }
}
