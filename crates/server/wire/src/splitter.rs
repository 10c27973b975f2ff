//! Splits a byte stream into messages.

use super::WireError;

/// Longest message whose body is kept. Bodies that are not read are skipped, however long.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// Largest buffer of an incomplete message that is kept for reuse.
const MAX_SPARE_BYTES: usize = 1 << 10;
/// Length of type byte and length field.
const HEADER_BYTES: usize = 5;
/// Length of the field count at the start of a row or its description.
const COUNT_BYTES: usize = 2;

/// Splits received bytes into messages, in bounded memory and, for complete messages, without a copy.
#[derive(Debug, Default)]
pub struct Splitter {
    /// Start of a message whose rest has not arrived.
    carry: Vec<u8>,
    /// Bytes still to skip.
    skip: usize,
    /// Whether the bodies of rows and their descriptions are wanted.
    keep_rows: bool,
}

impl Splitter {
    /// Sets whether the bodies of rows and their descriptions are passed on.
    #[inline]
    pub fn keep_rows(&mut self, keep: bool) {
        self.keep_rows = keep;
    }

    /// Whether the body of a message is used: CommandComplete, ErrorResponse, NoticeResponse, ReadyForQuery.
    #[inline]
    fn body_matters(&self, tag: u8) -> bool {
        matches!(tag, b'C' | b'E' | b'N' | b'Z') || (self.keep_rows && matches!(tag, b'D' | b'T'))
    }

    /// Bytes of a message of this length that are used, from its type byte on.
    #[inline]
    fn kept(&self, tag: u8, total: usize) -> usize {
        match tag {
            _ if self.body_matters(tag) => total,
            b'D' | b'T' => total.min(HEADER_BYTES + COUNT_BYTES),
            _ => HEADER_BYTES,
        }
    }

    /// Takes the next bytes and calls `on_message` with type and body of every complete message. The body is empty for
    /// messages that the hot path does not use; for rows and descriptions it is only the field count, unless
    /// [`Splitter::keep_rows`] is set.
    ///
    /// # Errors
    /// [`WireError::Protocol`] for an impossible length, or what `on_message` returned.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        mut on_message: impl FnMut(u8, &[u8]) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len());
                self.skip -= skipped;
                bytes = &bytes[skipped..];
            } else if self.carry.is_empty() {
                bytes = self.take_whole(bytes, &mut on_message)?;
            } else {
                bytes = self.take_carried(bytes, &mut on_message)?;
            }
        }
        Ok(())
    }

    /// Takes one message from the start of `bytes`, or keeps its part. Returns the rest.
    #[inline]
    fn take_whole<'a>(
        &mut self,
        bytes: &'a [u8],
        on_message: &mut impl FnMut(u8, &[u8]) -> Result<(), WireError>,
    ) -> Result<&'a [u8], WireError> {
        if bytes.len() < HEADER_BYTES {
            self.carry.extend_from_slice(bytes);
            return Ok(&[]);
        }
        let (tag, total) = self.header(bytes)?;
        let kept = self.kept(tag, total);
        if let Some((message, rest)) = bytes.split_at_checked(total) {
            on_message(tag, &message[HEADER_BYTES..kept])?;
            return Ok(rest);
        }
        if bytes.len() < kept {
            self.carry.extend_from_slice(bytes);
        } else {
            self.skip = total - bytes.len();
            on_message(tag, &bytes[HEADER_BYTES..kept])?;
        }
        Ok(&[])
    }

    /// Completes the kept message, first its header, then the used part of its body. Returns the rest.
    fn take_carried<'a>(
        &mut self,
        bytes: &'a [u8],
        on_message: &mut impl FnMut(u8, &[u8]) -> Result<(), WireError>,
    ) -> Result<&'a [u8], WireError> {
        if self.carry.len() < HEADER_BYTES {
            let (more, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.carry.len()));
            self.carry.extend_from_slice(more);
            if self.carry.len() < HEADER_BYTES {
                return Ok(rest);
            }
            let (tag, total) = self.header(&self.carry)?;
            if self.kept(tag, total) == HEADER_BYTES {
                self.carry.clear();
                self.skip = total - HEADER_BYTES;
                on_message(tag, &[])?;
            }
            return Ok(rest);
        }
        let (tag, total) = self.header(&self.carry)?;
        let kept = self.kept(tag, total);
        let (more, rest) = bytes.split_at(bytes.len().min(kept - self.carry.len()));
        self.carry.extend_from_slice(more);
        if self.carry.len() == kept {
            let mut message = std::mem::take(&mut self.carry);
            self.skip = total - kept;
            on_message(tag, &message[HEADER_BYTES..])?;
            // Reuses the buffer for the next incomplete message; a long one, an error's text, is rare.
            if message.capacity() <= MAX_SPARE_BYTES {
                message.clear();
                self.carry = message;
            }
        }
        Ok(rest)
    }

    /// Type and whole length in bytes of the message that starts here.
    #[inline]
    fn header(&self, bytes: &[u8]) -> Result<(u8, usize), WireError> {
        let length = i32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        let tag = bytes[0];
        if length < 4 || (self.body_matters(tag) && length as usize > MAX_KEPT_BYTES) {
            return Err(WireError::Protocol(format!(
                "a message of type {:?} gives its length as {length}",
                tag as char
            )));
        }
        Ok((tag, length as usize + 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend((body.len() as i32 + 4).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    proptest! {
        /// The same messages come out, however the stream is cut.
        #[test]
        fn cuts_do_not_matter(
            messages in prop::collection::vec(
                (prop::sample::select(b"CEZDTN12".to_vec()), prop::collection::vec(any::<u8>(), 0..40)),
                0..20,
            ),
            cuts in prop::collection::vec(1usize..30, 1..40),
        ) {
            let stream: Vec<u8> = messages.iter().flat_map(|(tag, body)| message(*tag, body)).collect();
            let mut splitter = Splitter::default();
            let mut got = Vec::new();
            let mut rest = stream.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (part, after) = rest.split_at((*cut).min(rest.len()));
                splitter.feed(part, |tag, body| { got.push((tag, body.to_vec())); Ok(()) }).expect("it is well formed");
                rest = after;
            }
            let kept = |tag, body: &[u8]| Splitter::default().kept(tag, body.len() + HEADER_BYTES) - HEADER_BYTES;
            let want: Vec<_> = messages.into_iter()
                .map(|(tag, body)| (tag, body[..kept(tag, &body)].to_vec())).collect();
            prop_assert_eq!(got, want);
        }

        #[test]
        fn no_bytes_make_it_panic_or_keep_much(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut splitter = Splitter::default();
            let _ = splitter.feed(&bytes, |_, _| Ok(()));
            prop_assert!(splitter.carry.len() <= 300);
        }
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for length in [-1i32, 0, 3, i32::MIN, (MAX_KEPT_BYTES + 1) as i32] {
            let mut bytes = vec![b'E'];
            bytes.extend(length.to_be_bytes());
            assert!(Splitter::default().feed(&bytes, |_, _| Ok(())).is_err(), "{length}");
        }
    }

    #[test]
    fn a_row_of_two_gigabytes_is_passed_over_in_no_memory() {
        let mut splitter = Splitter::default();
        let mut bytes = vec![b'D'];
        bytes.extend(i32::MAX.to_be_bytes());
        bytes.extend([0, 1]);
        splitter
            .feed(&bytes, |tag, body| {
                assert_eq!((tag, body), (b'D', &[0, 1][..]), "the number of fields");
                Ok(())
            })
            .expect("it is allowed");
        splitter.feed(&[0; 4096], |_, _| unreachable!("the row is incomplete")).expect("it is allowed");
        assert_eq!(splitter.carry.capacity(), 0);
    }
}
