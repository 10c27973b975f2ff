//! Parses sent messages to find the statement to which an error position refers.

/// Text of the statement with this number, from 0, in messages to the server; `None` if it was prepared
/// earlier. All statements of a Query are one text.
pub(super) fn statement(sent: &[u8], number: usize) -> Option<String> {
    let (mut rest, mut before, mut count) = (sent, 0, 0);
    while let Some((tag, body, behind)) = message(rest) {
        let text = match tag {
            b'Q' => return Some(text(body)),
            // The name comes first.
            b'P' => body.iter().position(|&byte| byte == 0).map(|end| text(&body[end + 1..])),
            _ => None,
        };
        if tag == b'P' || (tag == b'B' && before != b'P') {
            if count == number {
                return text;
            }
            count += 1;
        }
        (rest, before) = (behind, tag);
    }
    None
}

/// The first message: its tag and body, and the rest after it.
fn message(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let length = i32::from_be_bytes(*rest.first_chunk()?) as usize;
    let (message, behind) = rest.split_at_checked(length)?;
    Some((tag, message.get(4..)?, behind))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use pgdyno_wire::encode;

    use super::*;

    #[test]
    fn statements_are_found_by_their_numbers() {
        let mut simple = Vec::new();
        encode::query(&mut simple, "SELECT 1; SELECT 2");
        assert_eq!(statement(&simple, 1).as_deref(), Some("SELECT 1; SELECT 2"));
        let mut pipeline = Vec::new();
        encode::parse(&mut pipeline, "", b"SELECT 1");
        encode::bind(&mut pipeline, "", 0, |_, _| false);
        encode::execute(&mut pipeline);
        encode::bind(&mut pipeline, "P_1", 0, |_, _| false);
        encode::execute(&mut pipeline);
        encode::parse(&mut pipeline, "P_2", "SELECT 'ä'".as_bytes());
        encode::sync(&mut pipeline);
        let texts: Vec<_> = (0..4).map(|number| statement(&pipeline, number)).collect();
        let expected = [Some("SELECT 1"), None, Some("SELECT 'ä'"), None];
        assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
        assert_eq!((statement(&[], 0), statement(&pipeline[..9], 0)), (None, None));
    }
}
