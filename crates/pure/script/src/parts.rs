//! Variables that are part of an identifier: `test:client_id` names a separate table for each client.
//!
//! A parameter is not allowed there, so pgbench's extended and prepared protocols fail. If the value is fixed before
//! the first command, it is substituted in the text instead, and each client prepares its own statements.

use super::{Piece, Scripts, Slot, Sql, Variables, quotes::is_word};

impl Scripts {
    /// Whether any statement has a variable as part of an identifier, whose value in `start` is never changed.
    pub fn have_parts_of_names(&self, start: &Variables) -> bool {
        let settled = self.settled(start);
        self.statements().any(|sql| !sql.parts_of_names(&settled).is_empty())
    }

    /// The scripts with the initial values substituted for variables that are parts of identifiers.
    #[must_use]
    pub fn with_parts_of_names(&self, start: &Variables) -> Self {
        let settled = self.settled(start);
        let mut scripts = self.clone();
        let commands = scripts.list.iter_mut().flat_map(|script| &mut script.commands);
        for command in commands {
            if let super::Action::Sql(sql) = &mut command.action {
                sql.put_in(&settled, start);
            }
        }
        scripts
    }

    /// For each variable whether it has an initial value and no script sets it.
    fn settled(&self, start: &Variables) -> Vec<bool> {
        let set = self.set_slots();
        let slots = (0..self.names.len()).map(Slot::of_index);
        slots.map(|slot| start.is_defined(slot) && !set.contains(&slot)).collect()
    }
}

impl Sql {
    /// Indexes of pieces that are parts of identifiers: settled variables directly after a letter, a digit, `_`
    /// or `$`, or after another such part.
    fn parts_of_names(&self, settled: &[bool]) -> Vec<usize> {
        let (mut found, mut in_name) = (Vec::new(), false);
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => in_name = text.last().copied().is_some_and(is_word),
                Piece::Variable { slot, .. } => {
                    in_name &= settled[slot.index()];
                    found.extend(in_name.then_some(at));
                }
            }
        }
        found
    }

    fn put_in(&mut self, settled: &[bool], start: &Variables) {
        let places = self.parts_of_names(settled);
        if places.is_empty() {
            return;
        }
        for at in places {
            if let Piece::Variable { slot, .. } = self.pieces[at] {
                let mut text = Vec::new();
                start.write(slot, &mut text);
                self.pieces[at] = Piece::Text(text.into());
            }
        }
        let pieces = std::mem::take(&mut self.pieces);
        self.text.clear();
        self.parameters.clear();
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.push_text(&text),
                Piece::Variable { slot, name } => self.push_variable(slot, &name),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Automatic, Definition};

    fn sent(text: &str) -> Vec<(String, usize)> {
        let scripts = Scripts::one("x", text).expect(text);
        let defined = [Definition { name: "n".into(), value: "400".into() }];
        let automatic = Automatic { scale: 1, client_id: 7, random_seed: 0, default_seed: 0 };
        let start = Variables::new(scripts.names(), &defined, automatic);
        let own = scripts.with_parts_of_names(&start);
        assert_eq!(own != scripts, scripts.have_parts_of_names(&start), "{text}");
        let sent = own
            .statements()
            .map(|sql| (String::from_utf8_lossy(&sql.text).into_owned(), sql.parameters.len()));
        sent.collect()
    }

    #[test]
    fn what_follows_a_word_is_part_of_a_name() {
        for (text, expected, parameters) in [
            ("INSERT INTO test:client_id VALUES (:n);", "INSERT INTO test7 VALUES ($1);", 1),
            ("SELECT * FROM \"Test_:client_id\", t:n;", "SELECT * FROM \"Test_7\", t400;", 0),
            ("SELECT :n, :client_id, a[1 : n];", "SELECT $1, $2, a[1 : n];", 2),
            ("SELECT x::text, y:unset;", "SELECT x::text, y$1;", 1),
            ("SELECT a:n:client_id;", "SELECT a4007;", 0),
        ] {
            assert_eq!(sent(text), [(expected.to_owned(), parameters)], "{text}");
        }
    }

    #[test]
    fn what_a_script_sets_stays_a_parameter() {
        assert_eq!(sent("\\set n 5\nSELECT t:n;"), [("SELECT t$1;".to_owned(), 1)]);
    }
}
