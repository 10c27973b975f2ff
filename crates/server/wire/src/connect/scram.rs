//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677, RFC 5929).

use base64::{Engine, engine::general_purpose::STANDARD};
use postgres_protocol::authentication::sasl;
use ring::{
    digest, hmac,
    rand::{SecureRandom, SystemRandom},
};

use super::startup::{Startup, cut};
use crate::{ChannelBinding, ScramKeys, WireError, tls};

/// Random bytes in a nonce.
const NONCE_BYTES: usize = 18;

/// Channel binding as sent to the server.
enum Binding {
    /// Bound to the hash of the server's certificate.
    To(Vec<u8>),
    /// Supported here, and not offered by the server.
    Unrequested,
    /// Not supported on this connection.
    Unsupported,
}

impl Binding {
    fn mechanism(&self) -> &'static str {
        match self {
            Self::To(_) => sasl::SCRAM_SHA_256_PLUS,
            Self::Unrequested | Self::Unsupported => sasl::SCRAM_SHA_256,
        }
    }

    /// Header of RFC 5801, which precedes the first message.
    fn header(&self) -> &'static str {
        match self {
            Self::To(_) => "p=tls-server-end-point,,",
            Self::Unrequested => "y,,",
            Self::Unsupported => "n,,",
        }
    }

    /// Header followed by the channel binding data.
    fn data(&self) -> Vec<u8> {
        let hash = match self {
            Self::To(hash) => hash.as_slice(),
            Self::Unrequested | Self::Unsupported => &[],
        };
        [self.header().as_bytes(), hash].concat()
    }
}

/// Authenticates by SCRAM, in which the server must prove that it knows the password too.
pub(super) fn authenticate(startup: &mut Startup<'_>, mechanisms: &[u8]) -> Result<(), WireError> {
    let binding = choose(startup, mechanisms)?;
    let mechanism = binding.mechanism();
    if let Some(keys) = &startup.options.scram_keys {
        return with_keys(startup, keys, &binding);
    }
    let channel = match binding {
        Binding::To(hash) => sasl::ChannelBinding::tls_server_end_point(hash),
        Binding::Unrequested => sasl::ChannelBinding::unrequested(),
        Binding::Unsupported => sasl::ChannelBinding::unsupported(),
    };
    let mut scram = sasl::ScramSha256::new(startup.password()?.as_bytes(), channel);
    begin(startup, mechanism, scram.message())?;
    let challenge = next(startup, 11)?;
    check_challenge(scram.message(), &challenge)?;
    scram.update(&challenge).map_err(not_scram)?;
    startup.answer(scram.message())?;
    let signature = next(startup, 12)?;
    scram.finish(&signature).map_err(not_scram)
}

/// Sends the first message, with the name of the mechanism.
fn begin(startup: &mut Startup<'_>, mechanism: &str, message: &[u8]) -> Result<(), WireError> {
    let mut first = format!("{mechanism}\0").into_bytes();
    first.extend((message.len() as i32).to_be_bytes());
    first.extend(message);
    startup.answer(&first)
}

/// Authenticates with keys derived from a password: password, salt and iterations are not needed then.
fn with_keys(startup: &mut Startup<'_>, keys: &ScramKeys, binding: &Binding) -> Result<(), WireError> {
    let mut chance = [0; NONCE_BYTES];
    SystemRandom::new()
        .fill(&mut chance)
        .map_err(|_| refused("SCRAM failed: the system has no random numbers"))?;
    let ours = STANDARD.encode(chance);
    let bare = format!("n=,r={ours}");
    let first = format!("{}{bare}", binding.header());
    begin(startup, binding.mechanism(), first.as_bytes())?;
    let challenge = next(startup, 11)?;
    check_challenge(first.as_bytes(), &challenge)?;
    let challenge = String::from_utf8(challenge)
        .map_err(|_| refused("SCRAM was refused: the server's message is not UTF-8"))?;
    let nonce = challenge.split(',').next().and_then(|part| part.strip_prefix("r="));
    let Some(nonce) = nonce.filter(|nonce| nonce.starts_with(&ours)) else {
        return Err(refused("SCRAM was refused: the server's nonce does not begin with ours"));
    };
    let unproved = format!("c={},r={nonce}", STANDARD.encode(binding.data()));
    let signed = format!("{bare},{challenge},{unproved}");
    let stored = digest::digest(&digest::SHA256, &keys.client);
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, stored.as_ref()), signed.as_bytes());
    let proof: Vec<u8> = keys.client.iter().zip(signature.as_ref()).map(|(key, byte)| key ^ byte).collect();
    startup.answer(format!("{unproved},p={}", STANDARD.encode(proof)).as_bytes())?;
    let last = next(startup, 12)?;
    let theirs = last.strip_prefix(b"v=").and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &keys.server), signed.as_bytes(), &theirs)
        .map_err(|_| refused("SCRAM was refused: verification of the server failed"))
}

/// Chooses the mechanism and the channel binding flag, by which an honest server notices if a man in the middle has
/// removed the better mechanism from its list.
fn choose(startup: &Startup<'_>, mechanisms: &[u8]) -> Result<Binding, WireError> {
    let offers = |wanted: &str| mechanisms.split(|&byte| byte == 0).any(|name| name == wanted.as_bytes());
    let (plain, plus) = (offers(sasl::SCRAM_SHA_256), offers(sasl::SCRAM_SHA_256_PLUS));
    let wish = startup.options.channel_binding;
    let tls = startup.incoming.socket_ref().tls();
    let hash = tls.filter(|_| wish != ChannelBinding::Disable).and_then(tls::end_point);
    match (hash, plus, plain) {
        (Some(hash), true, _) => Ok(Binding::To(hash)),
        _ if wish == ChannelBinding::Require && plus && tls.is_some() => {
            Err(refused("channel binding is required, and the server's certificate has no hash to bind to"))
        }
        _ if wish == ChannelBinding::Require && tls.is_some() => {
            Err(refused("channel binding is required, and the server does not offer it"))
        }
        _ if wish == ChannelBinding::Require => {
            Err(refused("channel binding is required, and the connection is not encrypted"))
        }
        (Some(_), false, true) => Ok(Binding::Unrequested),
        (None, _, true) if plus && tls.is_none() => {
            // Only a server that sees another connection than ours can offer this: a man in the middle.
            Err(refused("the server offers channel binding on a connection that is not encrypted"))
        }
        (None, _, true) => Ok(Binding::Unsupported),
        _ => Err(refused("the server offers only SASL mechanisms that need TLS or are unknown")),
    }
}

/// Next message of the exchange. A server that lets us in before its end may not know the password.
fn next(startup: &mut Startup<'_>, expected: i32) -> Result<Vec<u8>, WireError> {
    match startup.request()? {
        (kind, body) if kind == expected => Ok(body),
        (0, _) => Err(refused("the server asked for SCRAM and did not prove that it knows the password")),
        _ => Err(cut("SASL")),
    }
}

/// Checks what RFC 5802 demands of the server's challenge and the SCRAM library does not: at least one iteration, and a
/// nonce that extends ours.
fn check_challenge(first: &[u8], challenge: &[u8]) -> Result<(), WireError> {
    let (first, challenge) = (String::from_utf8_lossy(first), String::from_utf8_lossy(challenge));
    let ours = first.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
    let part = |name| challenge.split(',').find_map(|part| part.strip_prefix(name));
    if part("i=").and_then(|text| text.parse::<u64>().ok()) == Some(0) {
        return Err(refused("SCRAM was refused: the server requested 0 iterations"));
    }
    if part("r=") == Some(ours) {
        return Err(refused("SCRAM was refused: the server's nonce does not extend ours"));
    }
    Ok(())
}

fn not_scram(error: std::io::Error) -> WireError {
    WireError::Authentication(format!("SCRAM was refused: {error}"))
}

fn refused(why: &str) -> WireError {
    WireError::Authentication(why.to_owned())
}
