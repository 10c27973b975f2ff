//! Encodes messages of a server, valid or not, and reads those of a client.

use std::io::{self, Read};

/// Message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Type byte; 0 for a StartupMessage, which has none.
    pub tag: u8,
    /// Content after the length.
    pub body: Vec<u8>,
}

impl Message {
    /// Text that ends at the n-th NUL byte of the body, counted from 0.
    pub fn text(&self, n: usize) -> String {
        let part = self.body.split(|&byte| byte == 0).nth(n).unwrap_or_default();
        String::from_utf8_lossy(part).into_owned()
    }
}

/// StartupMessage of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Startup {
    /// Protocol version, as its number in messages.
    pub version: i32,
    /// Names and values of the parameters, in the order sent.
    pub parameters: Vec<(String, String)>,
}

impl Startup {
    /// Reads the content of a StartupMessage.
    pub fn read(message: &Message) -> Self {
        let version = message.body.first_chunk().map_or(0, |version| i32::from_be_bytes(*version));
        let mut texts = message.body.get(4..).unwrap_or_default().split(|&byte| byte == 0);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut parameters = Vec::new();
        while let (Some(name), Some(value)) = (texts.next().filter(|name| !name.is_empty()), texts.next()) {
            parameters.push((text(name), text(value)));
        }
        Self { version, parameters }
    }

    /// Value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Encodes a message with its correct length.
pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    announced(tag, body.len() as i32 + 4, body)
}

/// Encodes a message with an arbitrary length field.
pub fn announced(tag: u8, length: i32, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(length.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Encodes an Authentication message of a kind, followed by `rest`.
pub fn authentication(kind: i32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&kind.to_be_bytes(), rest].concat())
}

/// Encodes ReadyForQuery with a transaction status.
pub fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

/// Encodes CommandComplete.
pub fn complete(tag: &str) -> Vec<u8> {
    message(b'C', &texts(&[tag]))
}

/// Encodes ParameterStatus.
pub fn parameter(name: &str, value: &str) -> Vec<u8> {
    message(b'S', &texts(&[name, value]))
}

/// Encodes ErrorResponse with severity, SQLSTATE and text.
pub fn error(severity: &str, code: &str, text: &str) -> Vec<u8> {
    report(b'E', severity, code, text)
}

/// Encodes NoticeResponse.
pub fn notice(text: &str) -> Vec<u8> {
    report(b'N', "NOTICE", "00000", text)
}

/// Encodes RowDescription of this many columns of type text.
pub fn row_description(columns: usize) -> Vec<u8> {
    let names: Vec<_> = (0..columns).map(|column| format!("c{column}")).collect();
    described(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Encodes RowDescription of columns of type text with these names.
pub fn described(columns: &[&str]) -> Vec<u8> {
    let mut body = (columns.len() as i16).to_be_bytes().to_vec();
    for column in columns {
        body.extend(texts(&[column]));
        body.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0]);
    }
    message(b'T', &body)
}

/// Encodes DataRow; `None` is NULL.
pub fn row(fields: &[Option<&str>]) -> Vec<u8> {
    let mut body = (fields.len() as i16).to_be_bytes().to_vec();
    for field in fields {
        let length = field.map_or(-1, |field| field.len() as i32);
        body.extend(length.to_be_bytes());
        body.extend(field.unwrap_or_default().as_bytes());
    }
    message(b'D', &body)
}

/// Encodes CopyInResponse (`G`), CopyOutResponse (`H`) or CopyBothResponse (`W`) for one text column.
pub fn copy_response(tag: u8) -> Vec<u8> {
    message(tag, &[0, 0, 1, 0, 0])
}

fn report(tag: u8, severity: &str, code: &str, text: &str) -> Vec<u8> {
    let fields = [format!("S{severity}"), format!("V{severity}"), format!("C{code}"), format!("M{text}")];
    let mut body = texts(&fields.each_ref().map(String::as_str));
    body.push(0);
    message(tag, &body)
}

fn texts(texts: &[&str]) -> Vec<u8> {
    texts.iter().flat_map(|text| text.bytes().chain([0])).collect()
}

/// Encodes what an accepted client is sent, with `more` before ReadyForQuery.
pub fn welcome(more: &[u8]) -> Vec<u8> {
    let version = parameter("server_version", "15.0 (fake)");
    let key = message(b'K', &[0, 0, 0, 42, 0, 0, 0, 43]);
    [&authentication(0, &[]), &version, &key, more, &ready(b'I')].concat()
}

/// Reads a message of a client; a StartupMessage if `startup`.
///
/// # Errors
/// If the client disconnects.
pub fn read(link: &mut (impl Read + ?Sized), startup: bool) -> io::Result<Message> {
    let mut tag = [0];
    if !startup {
        link.read_exact(&mut tag)?;
    }
    let mut length = [0; 4];
    link.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length).saturating_sub(4);
    let mut body = Vec::new();
    link.take(length.into()).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Message { tag: tag[0], body })
}
