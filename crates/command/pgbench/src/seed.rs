//! The random seed.

use std::{
    fs::File,
    io::{self, Read},
};

use pgdyno_engine::Clock;

use super::{
    numbers,
    say::{ExitResult, Say},
};

/// Parses a seed: a number, `time` or `rand`. Without a text, the seed is the time. Errors name the `source`.
///
/// # Errors
/// The text is none of these, or no random number is available; already printed.
pub fn choose(say: &Say, text: Option<&str>, source: &str) -> ExitResult<u64> {
    let chosen = match text {
        None | Some("time") => Clock::now_ns() / 1_000,
        Some("rand") => match strong() {
            Ok(seed) => seed,
            Err(_) => {
                say.error("could not generate random seed");
                return say.fatal(format!("error while setting random seed from {source}"));
            }
        },
        Some(text) => match numbers::seed(text) {
            Some(seed) => seed,
            None => {
                say.error(format!("unrecognized random seed option \"{text}\""));
                say.detail("Expecting an unsigned integer, \"time\" or \"rand\".");
                return say.fatal(format!("error while setting random seed from {source}"));
            }
        },
    };
    if text.is_some() {
        say.info(format!("setting random seed to {chosen}"));
    }
    Ok(chosen)
}

fn strong() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
