//! Server side of SCRAM-SHA-256 (RFC 5802, RFC 7677), honest or not.

use std::io::{self, Read, Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{digest, hmac};

use pgdyno_wire::fake::message;

/// How the server performs SCRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scram {
    /// Correctly.
    Honest,
    /// With this number of iterations.
    Iterations(u64),
    /// With a nonce that does not extend the client's.
    ForeignNonce,
    /// With the client's nonce unchanged.
    SameNonce,
    /// With a wrong server signature.
    WrongSignature,
    /// Without a server signature: AuthenticationOk straight after the client's proof.
    NoSignature,
    /// AuthenticationOk straight after the client's first message.
    OkAtOnce,
}

/// Authenticates a client; returns whether its proof was valid. `how` selects the deviation.
pub fn authenticate(
    password: &str,
    how: Scram,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> io::Result<bool> {
    output.write_all(&message::authentication(10, b"SCRAM-SHA-256\0\0"))?;
    let first = message::read(input, false)?;
    if how == Scram::OkAtOnce {
        return Ok(true);
    }
    // The first message is the mechanism, a NUL, a length, then `n,,n=,r=NONCE`.
    let first = String::from_utf8_lossy(&first.body).into_owned();
    let bare = first.split_once(",,").map_or("", |(_, bare)| bare);
    let nonce = bare.split_once("r=").map_or("", |(_, nonce)| nonce);
    let verifier = Verifier::new(password)?;
    let nonce = match how {
        Scram::ForeignNonce => format!("foreign{nonce}"),
        Scram::SameNonce => nonce.to_owned(),
        _ => format!("{nonce}server"),
    };
    let iterations = match how {
        Scram::Iterations(lie) => lie.to_string(),
        _ => verifier.iterations.clone(),
    };
    let challenge = format!("r={nonce},s={},i={iterations}", verifier.salt);
    output.write_all(&message::authentication(11, challenge.as_bytes()))?;
    let answer = message::read(input, false)?;
    let answer = String::from_utf8_lossy(&answer.body).into_owned();
    let Some((without_proof, proof)) = answer.rsplit_once(",p=") else { return Ok(false) };
    let signed = format!("{bare},{challenge},{without_proof}");
    if !verifier.proves(proof, signed.as_bytes()) {
        return Ok(false);
    }
    if how != Scram::NoSignature {
        let mut signature = hmac_sha256(&verifier.server_key, signed.as_bytes()).as_ref().to_vec();
        signature[0] ^= u8::from(how == Scram::WrongSignature);
        let last = format!("v={}", STANDARD.encode(signature));
        output.write_all(&message::authentication(12, last.as_bytes()))?;
    }
    Ok(true)
}

/// What a server stores of a password.
struct Verifier {
    iterations: String,
    salt: String,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Verifier {
    /// Parses `SCRAM-SHA-256$iterations:salt$stored:server`, as in `pg_authid`, or computes it from a password.
    fn new(password: &str) -> io::Result<Self> {
        let text = match password.starts_with("SCRAM-SHA-256$") {
            true => password.to_owned(),
            false => postgres_protocol::password::scram_sha_256(password.as_bytes()),
        };
        let parts: Vec<&str> = text.split(['$', ':']).collect();
        let [_, iterations, salt, stored, server] = parts.as_slice() else {
            return Err(io::Error::other("a verifier has five parts"));
        };
        let decode = |text: &str| STANDARD.decode(text).map_err(io::Error::other);
        Ok(Self {
            iterations: (*iterations).to_owned(),
            salt: (*salt).to_owned(),
            stored_key: decode(stored)?,
            server_key: decode(server)?,
        })
    }

    /// Verifies a proof, which is the client key XOR the client signature; the hash of that key is stored.
    fn proves(&self, proof: &str, signed: &[u8]) -> bool {
        let signature = hmac_sha256(&self.stored_key, signed);
        let proof = STANDARD.decode(proof).unwrap_or_default();
        let key: Vec<u8> =
            proof.iter().zip(signature.as_ref()).map(|(proof, signature)| proof ^ signature).collect();
        digest::digest(&digest::SHA256, &key).as_ref() == self.stored_key
    }
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}
