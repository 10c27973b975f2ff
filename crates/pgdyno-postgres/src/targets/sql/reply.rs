//! What the server says to what was sent.

use pgdyno_script::{Sql, Variables};
use pgdyno_wire::{Fields, ServerError, WireError};

use super::store::{Refusal, Results};

/// What came since something was sent, up to the last ReadyForQuery that answers it.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// ReadyForQuery still to come: one for every Query and Sync.
    pub awaited: u32,
    /// Transaction status of the last ReadyForQuery: `I`, `T` or `E`.
    pub status: u8,
    /// The first error.
    pub error: Option<Box<ServerError>>,
    /// Results that are complete.
    pub results: u32,
    /// How many of them came before the error.
    pub before_error: u32,
    /// ReadyForQuery since the last result that is complete, and as they were with the error.
    pub syncs: u32,
    pub syncs_before_error: u32,
    /// What became of the last command.
    pub completed: Option<Completed>,
    /// Why a result did not go into variables, and how many came before it.
    pub refusal: Option<(Refusal, u32)>,
    /// Whether a statement was parsed: it stays prepared, whatever became of its execution.
    pub parsed: bool,
    /// The fields of the rows that come.
    pub fields: Fields,
    /// The server wants to copy.
    pub copies: bool,
    /// Errors of statements that were prepared by themselves, each with the number of those before it.
    pub unprepared: Vec<(usize, ServerError)>,
    /// ReadyForQuery that answered already.
    pub answered: u32,
    /// An error that answers nothing: why the server is about to close the connection.
    pub farewell: Option<Box<ServerError>>,
}

/// A command that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completed {
    Commit,
    Rollback,
    Other,
}

/// What a reply is to.
#[derive(Debug)]
pub(super) enum Of<'a> {
    /// A command whose results go nowhere, several of them, or a ROLLBACK.
    Statement,
    /// A command whose results go into variables.
    Stored { sql: &'a Sql, results: &'a mut Results, variables: &'a mut Variables },
    /// Statements that are prepared and not executed.
    Preparation,
}

impl Reply {
    /// Something was sent that `awaited` ReadyForQuery answer.
    pub fn expect(&mut self, awaited: u32) {
        (self.awaited, self.answered) = (awaited, 0);
        (self.error, self.completed, self.refusal) = (None, None, None);
        (self.results, self.before_error, self.parsed) = (0, 0, false);
        self.fields = Fields::default();
        (self.syncs, self.syncs_before_error) = (0, 0);
    }

    /// Takes a message.
    #[inline]
    pub fn take(&mut self, tag: u8, body: &[u8], of: &mut Of<'_>) -> Result<(), WireError> {
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
                if let Of::Stored { sql, results, variables } = of
                    && let Some(store) = &sql.store
                {
                    results.describe(body, sql.number, store, variables)?;
                }
            }
            b'D' => {
                self.fields.take(tag, body)?;
                if let Of::Stored { results, .. } = of {
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

    /// Between ReadyForQuery and the next statement: an error here must not be taken for the outcome of either.
    fn take_unasked(&mut self, tag: u8, body: &[u8]) -> Result<(), WireError> {
        match tag {
            b'S' | b'A' => Ok(()),
            b'E' => {
                self.farewell = Some(Box::new(ServerError::parse(body)));
                Ok(())
            }
            tag => {
                Err(WireError::Protocol(format!("a message of type {:?} that nobody asked for", tag as char)))
            }
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

    /// A result is complete. Those of `\aset` are stored at once; of `\gset` only the last one counts, which is known
    /// at the end.
    fn complete(&mut self, body: &[u8], of: &mut Of<'_>) -> Result<(), WireError> {
        self.completed = Some(if body.starts_with(b"COMMIT") {
            Completed::Commit
        } else if body.starts_with(b"ROLLBACK") {
            Completed::Rollback
        } else {
            Completed::Other
        });
        if let Of::Stored { sql, results, variables } = of {
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

    /// All has come: stores the last result of a `\gset`.
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

    fn failed(&mut self, body: &[u8], of: &Of<'_>) {
        let error = ServerError::parse(body);
        if matches!(of, Of::Preparation) {
            self.unprepared.push((self.answered as usize, error));
        } else if self.error.is_none() {
            (self.error, self.before_error) = (Some(Box::new(error)), self.results);
            self.syncs_before_error = self.syncs;
        }
    }
}
