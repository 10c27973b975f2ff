//! Collects the server's reply.

use pgdyno_script::{Sql, Variables};
use pgdyno_wire::{Fields, ServerError, WireError};

use super::store::{Refusal, Results};

/// The reply to everything sent, up to the last ReadyForQuery.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// Number of ReadyForQuery still expected, one for every Query and Sync.
    pub awaited: u32,
    /// Transaction status in the last ReadyForQuery: `I`, `T` or `E`.
    pub status: u8,
    /// First error of the reply.
    pub error: Option<Box<ServerError>>,
    /// Number of complete results.
    pub results: u32,
    /// Rows that statements returned or changed, as the server reported them; the target sets it back for every try.
    pub rows: u64,
    /// Number of results before the error.
    pub before_error: u32,
    /// Number of ReadyForQuery since the last complete result, now and at the error.
    pub syncs: u32,
    pub syncs_before_error: u32,
    /// Kind of the last completed command.
    pub completed: Option<Completed>,
    /// Why a result was not stored in variables, and the number of results before it.
    pub refusal: Option<(Refusal, u32)>,
    /// Whether a statement was parsed; it remains prepared even if its execution fails.
    pub parsed: bool,
    /// Fields of the current rows.
    pub fields: Fields,
    /// Whether the server started a COPY.
    pub copies: bool,
    /// Errors of statements prepared separately, each with the number of statements before it.
    pub unprepared: Vec<(usize, ServerError)>,
    /// Number of ReadyForQuery received.
    pub answered: u32,
    /// An error that does not answer anything sent: why the server is about to close the connection.
    pub farewell: Option<Box<ServerError>>,
}

/// Kind of a completed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completed {
    Commit,
    Rollback,
    Other,
}

/// Request that a reply answers.
#[derive(Debug)]
pub(super) enum ReplyTo<'a> {
    /// Commands whose results are not stored, or a ROLLBACK.
    Statement,
    /// A command whose results are stored in variables.
    Stored { sql: &'a Sql, results: &'a mut Results, variables: &'a mut Variables },
    /// Statements that are prepared but not executed.
    Preparation,
}

/// The number of rows at the end of a command tag, such as `INSERT 0 400` and `SELECT 1`; 0 for tags without one
/// ("Message Formats", CommandComplete).
#[inline]
fn rows_of(tag: &[u8]) -> u64 {
    let (mut rows, mut place) = (0_u64, 1_u64);
    for &letter in tag.iter().rev().skip_while(|letter| **letter == 0) {
        if !letter.is_ascii_digit() {
            // A digit belongs to a word of its own.
            return if letter == b' ' { rows } else { 0 };
        }
        rows = rows.wrapping_add(u64::from(letter - b'0').wrapping_mul(place));
        place = place.wrapping_mul(10);
    }
    0
}

impl Reply {
    /// Expects a reply with this many ReadyForQuery.
    pub fn expect(&mut self, awaited: u32) {
        (self.awaited, self.answered) = (awaited, 0);
        (self.error, self.completed, self.refusal) = (None, None, None);
        (self.results, self.before_error, self.parsed) = (0, 0, false);
        self.fields = Fields::default();
        (self.syncs, self.syncs_before_error) = (0, 0);
    }

    /// Takes a message.
    #[inline]
    pub fn take(&mut self, tag: u8, body: &[u8], of: &mut ReplyTo<'_>) -> Result<(), WireError> {
        if self.awaited == 0 {
            return self.take_unasked(tag, body);
        }
        match tag {
            b'Z' => self.ready(body)?,
            b'C' | b'I' | b's' => {
                self.fields.take(tag, body)?;
                self.complete(body, of)?;
            }
            b'E' => self.failed(body, of),
            b'1' => self.parsed = true,
            b'T' => {
                self.fields.take(tag, body)?;
                if let ReplyTo::Stored { sql, results, variables } = of
                    && let Some(store) = &sql.store
                {
                    results.describe(body, sql.number, store, variables)?;
                }
            }
            b'D' => {
                self.fields.take(tag, body)?;
                if let ReplyTo::Stored { results, .. } = of {
                    results.row(body);
                }
            }
            b'2' | b'n' | b'S' | b'A' => {}
            b'G' | b'H' | b'W' => {
                self.copies = true;
                return Err(WireError::Protocol("a script cannot COPY".to_owned()));
            }
            tag => return Err(WireError::Protocol(format!("a message of type {:?}", tag as char))),
        }
        Ok(())
    }

    /// Takes a message outside any reply; an error must not be mistaken for the outcome of a statement.
    fn take_unasked(&mut self, tag: u8, body: &[u8]) -> Result<(), WireError> {
        match tag {
            b'S' | b'A' => Ok(()),
            b'E' => {
                self.farewell = Some(Box::new(ServerError::parse(body)));
                Ok(())
            }
            tag => Err(WireError::Protocol(format!("an unexpected message of type {:?}", tag as char))),
        }
    }

    fn ready(&mut self, body: &[u8]) -> Result<(), WireError> {
        let [status @ (b'I' | b'T' | b'E')] = *body else {
            return Err(WireError::Protocol("ReadyForQuery without a transaction status".to_owned()));
        };
        self.status = status;
        self.awaited -= 1;
        self.answered += 1;
        self.syncs += 1;
        Ok(())
    }

    /// Ends a result. `\aset` stores each result at once; `\gset` stores only the last one, which is known at the end.
    fn complete(&mut self, body: &[u8], of: &mut ReplyTo<'_>) -> Result<(), WireError> {
        self.completed = Some(if body.starts_with(b"COMMIT") {
            Completed::Commit
        } else if body.starts_with(b"ROLLBACK") {
            Completed::Rollback
        } else {
            Completed::Other
        });
        self.rows += rows_of(body);
        if let ReplyTo::Stored { sql, results, variables } = of {
            results.complete();
            if let (Some(store), None) = (sql.store.as_ref().filter(|store| store.all), &self.refusal) {
                let stored = results.store(sql.number, store, variables)?;
                self.refusal = stored.err().map(|refusal| (refusal, self.results));
            }
        }
        self.results += 1;
        self.syncs = 0;
        Ok(())
    }

    /// Stores the last result for `\gset` after the whole reply.
    pub fn store_last(
        &mut self,
        sql: &Sql,
        results: &Results,
        variables: &mut Variables,
    ) -> Result<(), WireError> {
        if let Some(store) = sql.store.as_ref().filter(|store| !store.all) {
            let stored = results.store(sql.number, store, variables)?;
            self.refusal = stored.err().map(|refusal| (refusal, self.results.saturating_sub(1)));
        }
        Ok(())
    }

    fn failed(&mut self, body: &[u8], of: &ReplyTo<'_>) {
        let error = ServerError::parse(body);
        if matches!(of, ReplyTo::Preparation) {
            self.unprepared.push((self.answered as usize, error));
        } else if self.error.is_none() {
            (self.error, self.before_error) = (Some(Box::new(error)), self.results);
            self.syncs_before_error = self.syncs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_number_at_the_end_of_a_tag() {
        for (tag, rows) in [
            ("INSERT 0 400", 400),
            ("SELECT 1", 1),
            ("UPDATE 0", 0),
            ("DELETE 18446744073709551615", u64::MAX),
            ("BEGIN", 0),
            ("CREATE TABLE", 0),
            ("WORD9", 0),
            ("", 0),
        ] {
            assert_eq!(rows_of(format!("{tag}\0").as_bytes()), rows, "{tag}");
            assert_eq!(rows_of(tag.as_bytes()), rows, "{tag}");
        }
    }
}
