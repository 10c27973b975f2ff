//! Startup phase of the fake server.

use std::io::{self, Read, Write};

use super::{Message, message};

/// The startup phase of a connection: reads from the client, writes to it, records its StartupMessage by the closure,
/// and returns whether the client was accepted.
pub type Greeting =
    dyn Fn(&mut dyn Read, &mut dyn Write, &dyn Fn(&Message)) -> io::Result<bool> + Send + Sync;

/// Code of an SSLRequest, in place of a StartupMessage's version.
pub const SSL_REQUEST: [u8; 4] = 80_877_103i32.to_be_bytes();
/// Code of a CancelRequest, which is ignored.
pub const CANCEL_REQUEST: [u8; 4] = 80_877_102i32.to_be_bytes();

/// The usual [`Greeting`]: declines TLS and accepts everybody.
///
/// # Errors
/// If the client disconnects.
pub fn trust(input: &mut dyn Read, output: &mut dyn Write, note: &dyn Fn(&Message)) -> io::Result<bool> {
    let mut startup = message::read(input, true)?;
    if startup.body == SSL_REQUEST {
        output.write_all(b"N")?;
        startup = message::read(input, true)?;
    }
    if startup.body.starts_with(&CANCEL_REQUEST) {
        return Ok(false);
    }
    note(&startup);
    output.write_all(&message::welcome(&[]))?;
    Ok(true)
}
