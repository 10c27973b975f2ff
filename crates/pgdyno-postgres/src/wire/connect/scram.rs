//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677, RFC 5929).

use postgres_protocol::authentication::sasl;

use super::greeting::{Greeting, cut};
use crate::wire::{ChannelBinding, WireError, tls};

/// Authenticates by SCRAM: the server has to prove that it knows the password too.
pub(super) fn authenticate(greeting: &mut Greeting<'_>, mechanisms: &[u8]) -> Result<(), WireError> {
    let (mechanism, channel) = choose(greeting, mechanisms)?;
    let mut scram = sasl::ScramSha256::new(greeting.password()?.as_bytes(), channel);
    let mut first = format!("{mechanism}\0").into_bytes();
    first.extend((scram.message().len() as i32).to_be_bytes());
    first.extend(scram.message());
    greeting.answer(&first)?;
    let challenge = next(greeting, 11)?;
    check_challenge(scram.message(), &challenge)?;
    scram.update(&challenge).map_err(not_scram)?;
    greeting.answer(scram.message())?;
    let signature = next(greeting, 12)?;
    scram.finish(&signature).map_err(not_scram)?;
    greeting.bound = mechanism == sasl::SCRAM_SHA_256_PLUS;
    Ok(())
}

/// The mechanism, and what is said about channel binding: an honest server notices where somebody between has taken
/// the better mechanism out of its list.
fn choose(
    greeting: &Greeting<'_>,
    mechanisms: &[u8],
) -> Result<(&'static str, sasl::ChannelBinding), WireError> {
    let offers = |wanted: &str| mechanisms.split(|&byte| byte == 0).any(|name| name == wanted.as_bytes());
    let (plain, plus) = (offers(sasl::SCRAM_SHA_256), offers(sasl::SCRAM_SHA_256_PLUS));
    let wish = greeting.options.channel_binding;
    let tls = greeting.incoming.socket_ref().tls();
    let hash = tls.filter(|_| wish != ChannelBinding::Disable).and_then(tls::end_point);
    match (hash, plus, plain) {
        (Some(hash), true, _) => {
            Ok((sasl::SCRAM_SHA_256_PLUS, sasl::ChannelBinding::tls_server_end_point(hash)))
        }
        _ if wish == ChannelBinding::Require && plus && tls.is_some() => {
            Err(refused("channel binding is required, and the server's certificate has no hash to bind to"))
        }
        _ if wish == ChannelBinding::Require && tls.is_some() => {
            Err(refused("channel binding is required, and the server does not offer it"))
        }
        _ if wish == ChannelBinding::Require => {
            Err(refused("channel binding is required, and the connection is not encrypted"))
        }
        (Some(_), false, true) => Ok((sasl::SCRAM_SHA_256, sasl::ChannelBinding::unrequested())),
        (None, _, true) if plus && tls.is_none() => {
            // Only a server that was told of another connection than ours can offer this.
            Err(refused("the server offers channel binding on a connection that is not encrypted"))
        }
        (None, _, true) => Ok((sasl::SCRAM_SHA_256, sasl::ChannelBinding::unsupported())),
        _ => Err(refused("the server offers no mechanism but those that need TLS, or that are not known")),
    }
}

/// The next message of the exchange. A server that lets us in before the end may not know the password.
fn next(greeting: &mut Greeting<'_>, expected: i32) -> Result<Vec<u8>, WireError> {
    match greeting.request()? {
        (kind, body) if kind == expected => Ok(body),
        (0, _) => Err(refused("the server asked for SCRAM and did not prove that it knows the password")),
        _ => Err(cut("SASL")),
    }
}

/// What RFC 5802 demands of the server's challenge and the SCRAM library does not: at least one iteration, and a nonce
/// that adds something to ours.
fn check_challenge(first: &[u8], challenge: &[u8]) -> Result<(), WireError> {
    let (first, challenge) = (String::from_utf8_lossy(first), String::from_utf8_lossy(challenge));
    let ours = first.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
    let part = |name| challenge.split(',').find_map(|part| part.strip_prefix(name));
    if part("i=").and_then(|text| text.parse::<u64>().ok()) == Some(0) {
        return Err(refused("SCRAM was refused: the server wants no iteration"));
    }
    if part("r=") == Some(ours) {
        return Err(refused("SCRAM was refused: the server adds nothing to our nonce"));
    }
    Ok(())
}

fn not_scram(error: std::io::Error) -> WireError {
    WireError::Authentication(format!("SCRAM was refused: {error}"))
}

fn refused(why: &str) -> WireError {
    WireError::Authentication(why.to_owned())
}
