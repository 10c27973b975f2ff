//! Encodes messages to the server by appending them to a buffer; nothing but the buffer allocates.

/// Appends a Query message.
pub fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, b'Q', |out| text(out, sql));
}

/// Appends a Query message, whose text `write` appends.
pub fn query_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    message(out, b'Q', |out| {
        write(out);
        out.push(0);
    });
}

/// Appends Parse without parameter types, which the server then infers.
pub fn parse(out: &mut Vec<u8>, name: &str, sql: &[u8]) {
    message(out, b'P', |out| {
        text(out, name);
        out.extend_from_slice(sql);
        out.push(0);
        out.extend_from_slice(&0i16.to_be_bytes());
    });
}

/// Appends Bind of the unnamed portal, with parameters and results in text format. `write` appends the parameter of a
/// number from 0, or returns `false` for NULL.
pub fn bind(
    out: &mut Vec<u8>,
    statement: &str,
    parameters: usize,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> bool,
) {
    message(out, b'B', |out| {
        text(out, "");
        text(out, statement);
        out.extend_from_slice(&0i16.to_be_bytes());
        out.extend_from_slice(&(parameters as i16).to_be_bytes());
        for number in 0..parameters {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            let length = if write(number, out) { (out.len() - start - 4) as i32 } else { -1 };
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
        out.extend_from_slice(&0i16.to_be_bytes());
    });
}

/// Appends Describe of the unnamed portal.
pub fn describe_portal(out: &mut Vec<u8>) {
    message(out, b'D', |out| {
        out.push(b'P');
        text(out, "");
    });
}

/// Appends Execute of the unnamed portal for all rows.
pub fn execute(out: &mut Vec<u8>) {
    message(out, b'E', |out| {
        text(out, "");
        out.extend_from_slice(&0i32.to_be_bytes());
    });
}

/// Appends Sync.
pub fn sync(out: &mut Vec<u8>) {
    message(out, b'S', |_| ());
}

/// Appends Terminate.
pub fn terminate(out: &mut Vec<u8>) {
    message(out, b'X', |_| ());
}

/// Appends PasswordMessage, which also carries the client's SASL messages.
pub fn password(out: &mut Vec<u8>, bytes: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(bytes));
}

/// Appends StartupMessage; `version` is the protocol version's number in messages.
pub fn startup(out: &mut Vec<u8>, version: i32, parameters: &[(&str, &str)]) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&version.to_be_bytes());
    for (name, value) in parameters {
        text(out, name);
        text(out, value);
    }
    out.push(0);
    set_length(out, start);
}

/// Appends SSLRequest, which asks whether the server supports TLS.
pub fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8i32.to_be_bytes());
    out.extend_from_slice(&80_877_103i32.to_be_bytes());
}

/// Appends CancelRequest; `key` is the body of BackendKeyData: process ID and secret key.
pub fn cancel_request(out: &mut Vec<u8>, key: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&80_877_102i32.to_be_bytes());
    out.extend_from_slice(key);
    set_length(out, start);
}

/// Appends CopyDone.
pub fn copy_done(out: &mut Vec<u8>) {
    message(out, b'c', |_| ());
}

/// Appends CopyFail with a reason.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) {
    message(out, b'f', |out| text(out, reason));
}

/// Appends a number in decimal digits.
#[inline]
pub fn decimal(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[inline]
fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    set_length(out, start);
}

#[inline]
fn set_length(out: &mut [u8], start: usize) {
    let length = (out.len() - start) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[inline]
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use postgres_protocol::message::frontend;
    use proptest::prelude::*;

    use super::*;

    /// Compares with an independent implementation, `postgres-protocol`.
    #[test]
    fn messages_agree_with_another_implementation() {
        let mut ours = Vec::new();
        let mut theirs = Default::default();
        query(&mut ours, "SELECT 1");
        frontend::query("SELECT 1", &mut theirs).expect("no NUL");
        parse(&mut ours, "p1", b"SELECT $1");
        frontend::parse("p1", "SELECT $1", [], &mut theirs).expect("no NUL");
        let values = [Some("5"), None, Some("-17")];
        bind(&mut ours, "p1", values.len(), |number, out| {
            values[number].map(|value| out.extend_from_slice(value.as_bytes())).is_some()
        });
        let write = |value: Option<&str>, out: &mut _| -> Result<_, _> {
            bytes_of(out, value.unwrap_or_default());
            Ok(if value.is_some() { postgres_protocol::IsNull::No } else { postgres_protocol::IsNull::Yes })
        };
        frontend::bind("", "p1", [], values, write, [], &mut theirs).map_err(drop).expect("it fits");
        describe_portal(&mut ours);
        frontend::describe(b'P', "", &mut theirs).expect("no NUL");
        execute(&mut ours);
        frontend::execute("", 0, &mut theirs).expect("no NUL");
        sync(&mut ours);
        frontend::sync(&mut theirs);
        startup(&mut ours, 3 << 16, &[("user", "me"), ("database", "db")]);
        frontend::startup_message([("user", "me"), ("database", "db")], &mut theirs).expect("no NUL");
        ssl_request(&mut ours);
        frontend::ssl_request(&mut theirs);
        cancel_request(&mut ours, &[0, 0, 0, 42, 255, 255, 255, 255]);
        frontend::cancel_request(42, -1, &mut theirs);
        copy_done(&mut ours);
        frontend::copy_done(&mut theirs);
        copy_fail(&mut ours, "why");
        frontend::copy_fail("why", &mut theirs).expect("no NUL");
        terminate(&mut ours);
        frontend::terminate(&mut theirs);
        assert_eq!(ours, theirs.to_vec());
    }

    fn bytes_of(out: &mut impl Extend<u8>, text: &str) {
        out.extend(text.bytes());
    }

    proptest! {
        #[test]
        fn decimals_are_what_rust_prints(value: i64) {
            let mut out = Vec::new();
            decimal(&mut out, value);
            prop_assert_eq!(String::from_utf8(out).expect("digits"), value.to_string());
        }
    }
}
