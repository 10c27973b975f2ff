//! Stores results in variables for `\gset` and `\aset`.

use pgdyno_script::{Slot, Store, Variables};

use pgdyno_wire::WireError;

/// Most result descriptions cached per command. A command has as many kinds of results as statements, so more
/// are unusual.
const REMEMBERED: usize = 16;
/// Bytes after each column name in a RowDescription.
const AFTER_NAME: usize = 18;

/// Results of commands whose values are stored. Columns are resolved to variables once per description, which
/// the server repeats in identical bytes.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Known descriptions by number of the command.
    known: Vec<Vec<Columns>>,
    /// The result being received.
    current: Outline,
    /// The last complete result.
    last: Outline,
    /// The last row received.
    row: Vec<u8>,
}

/// A result without its rows.
#[derive(Debug, Clone, Copy, Default)]
struct Outline {
    /// Index into the known descriptions; `None` for results without rows.
    columns: Option<usize>,
    rows: u64,
}

/// The columns of a result.
#[derive(Debug)]
struct Columns {
    description: Vec<u8>,
    places: Vec<Place>,
}

#[derive(Debug)]
enum Place {
    To(Slot),
    /// No script reads the column.
    Nowhere,
    /// No variable can have the column's name.
    Invalid {
        variable: String,
        why: String,
    },
}

/// Why a result was not stored in variables.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// `\gset` expects one row, but got this many.
    Rows(u64),
    /// The column's name is not valid for a variable; with pgbench's message.
    Name { variable: String, why: String },
}

fn broken(what: &str) -> WireError {
    WireError::Protocol(what.to_owned())
}

impl Results {
    /// Begins a command.
    pub fn begin(&mut self) {
        (self.current, self.last) = (Outline::default(), Outline::default());
    }

    /// Completes a result.
    pub fn complete(&mut self) {
        self.last = std::mem::take(&mut self.current);
    }

    /// Takes a RowDescription.
    pub fn describe(
        &mut self,
        body: &[u8],
        number: usize,
        store: &Store,
        variables: &Variables,
    ) -> Result<(), WireError> {
        if self.known.len() <= number {
            self.known.resize_with(number + 1, Vec::new);
        }
        let known = &mut self.known[number];
        let found = known.iter().position(|columns| columns.description == body);
        let index = match found {
            Some(index) => index,
            None => {
                if known.len() == REMEMBERED {
                    known.clear();
                }
                known.push(Columns::read(body, store, variables)?);
                known.len() - 1
            }
        };
        self.current = Outline { columns: Some(index), rows: 0 };
        Ok(())
    }

    /// Takes a DataRow; the last one counts.
    pub fn row(&mut self, body: &[u8]) {
        self.current.rows += 1;
        self.row.clear();
        self.row.extend_from_slice(body);
    }

    /// Stores the last complete result: with `\gset` it must have one row; with `\aset` the last row counts,
    /// and an empty result changes nothing.
    pub fn store(
        &self,
        number: usize,
        store: &Store,
        variables: &mut Variables,
    ) -> Result<Result<(), Refusal>, WireError> {
        let Outline { columns, rows } = self.last;
        if !store.all && (rows != 1 || columns.is_none()) {
            return Ok(Err(Refusal::Rows(rows)));
        }
        match columns {
            Some(index) if rows > 0 => self.known[number][index].put(&self.row, variables),
            _ => Ok(Ok(())),
        }
    }
}

impl Columns {
    fn read(body: &[u8], store: &Store, variables: &Variables) -> Result<Self, WireError> {
        let (count, mut rest) = count(body).ok_or_else(|| broken("a RowDescription is cut"))?;
        let mut places = Vec::new();
        for _ in 0..count {
            let len = rest.iter().position(|&b| b == 0);
            let (name, after) = len
                .and_then(|len| Some((&rest[..len], rest.get(len + 1 + AFTER_NAME..)?)))
                .ok_or_else(|| broken("a RowDescription is cut"))?;
            rest = after;
            let variable = [&store.prefix, name].concat();
            places.push(match variables.slot_of_column(store.word(), &variable) {
                Ok(Some(slot)) => Place::To(slot),
                Ok(None) => Place::Nowhere,
                Err(why) => Place::Invalid { variable: String::from_utf8_lossy(&variable).into_owned(), why },
            });
        }
        Ok(Self { description: body.to_vec(), places })
    }

    /// Stores the values of a row; NULL becomes the empty text, as in libpq.
    fn put(&self, row: &[u8], variables: &mut Variables) -> Result<Result<(), Refusal>, WireError> {
        let cut = || broken("a DataRow does not fit its RowDescription");
        let (count, mut rest) = count(row).ok_or_else(cut)?;
        if count != self.places.len() {
            return Err(cut());
        }
        for place in &self.places {
            let (len, after) = rest.split_first_chunk().ok_or_else(cut)?;
            let len = match i32::from_be_bytes(*len) {
                -1 => 0,
                len => usize::try_from(len).map_err(|_| cut())?,
            };
            let (value, after) = after.split_at_checked(len).ok_or_else(cut)?;
            rest = after;
            match place {
                Place::To(slot) => variables.set_text(*slot, value),
                Place::Nowhere => {}
                Place::Invalid { variable, why } => {
                    return Ok(Err(Refusal::Name { variable: variable.clone(), why: why.clone() }));
                }
            }
        }
        if rest.is_empty() { Ok(Ok(())) } else { Err(cut()) }
    }
}

/// Reads a 16-bit count; returns it with the rest.
fn count(body: &[u8]) -> Option<(usize, &[u8])> {
    let (count, rest) = body.split_first_chunk()?;
    Some((usize::from(u16::from_be_bytes(*count)), rest))
}
