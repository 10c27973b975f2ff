//! Checks the number of fields in the rows of a result.

use super::WireError;

/// Number of fields announced for the rows of the current result; `None` between two results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fields(Option<u16>);

impl Fields {
    /// Checks a RowDescription, DataRow or CommandComplete, of whose body the first two bytes matter.
    ///
    /// # Errors
    /// If a DataRow has another number of fields than its RowDescription, or has none before it.
    #[inline]
    pub fn take(&mut self, tag: u8, body: &[u8]) -> Result<(), WireError> {
        let count = || body.first_chunk().map(|count| u16::from_be_bytes(*count));
        match tag {
            b'D' if self.0.is_none() || self.0 != count() => return Err(unexpected()),
            b'D' => {}
            b'T' => self.0 = count(),
            _ => self.0 = None,
        }
        Ok(())
    }
}

/// Error in libpq's words.
#[cold]
fn unexpected() -> WireError {
    WireError::Protocol("unexpected field count in \"D\" message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_fields_of_its_description_until_the_result_is_complete() {
        let mut fields = Fields::default();
        assert!(fields.take(b'D', &[0, 0]).is_err(), "no description came");
        for (tag, body, good) in [
            (b'T', &[0, 2][..], true),
            (b'D', &[0, 2], true),
            (b'D', &[0, 1], false),
            (b'D', &[0], false),
            (b'D', &[0, 2], true),
            (b'C', b"SELECT 2", true),
            (b'D', &[0, 2], false),
            (b'T', &[0, 0], true),
            (b'D', &[0, 0], true),
        ] {
            assert_eq!(fields.take(tag, body).is_ok(), good, "{} {body:?}", tag as char);
        }
    }
}
