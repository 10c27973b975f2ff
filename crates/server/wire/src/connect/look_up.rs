//! Lookup of host names, and random order.

use std::{
    hash::{BuildHasher, RandomState},
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::socket::WaitLimits;
use crate::WireError;

/// Interval in which deadline and stop request are checked during a lookup.
const LOOKS: Duration = Duration::from_millis(100);

/// Addresses of a host, in the resolver's order. The resolver may take minutes and cannot be interrupted, so it runs in
/// a thread of its own, which is abandoned at the limit.
pub(super) fn look_up(name: &str, port: u16, limits: &WaitLimits) -> Result<Vec<SocketAddr>, WireError> {
    if let Ok(ip) = name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let (sender, receiver) = mpsc::channel();
    let wanted = (name.to_owned(), port);
    thread::Builder::new().name("resolver".to_owned()).spawn(move || {
        let _ = sender.send(wanted.to_socket_addrs().map(Iterator::collect::<Vec<_>>)); // nobody may wait any more
    })?;
    loop {
        let slice = limits.slice()?.unwrap_or(LOOKS).min(LOOKS);
        match receiver.recv_timeout(slice) {
            Ok(Ok(found)) if found.is_empty() => return Err(unknown(name, "it has no address")),
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => return Err(unknown(name, &error.to_string())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(unknown(name, "the resolver failed")),
        }
    }
}

fn unknown(name: &str, why: &str) -> WireError {
    io::Error::other(format!("could not translate host name \"{name}\" to address: {why}")).into()
}

/// Shuffles elements (Fisher–Yates), seeded like the standard library's hash maps.
pub(super) fn shuffle<T>(elements: &mut [T]) {
    let random = RandomState::new();
    for last in (1..elements.len()).rev() {
        let chosen = random.hash_one(last) % (last as u64 + 1);
        elements.swap(last, chosen as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_comes_first_at_times() {
        let mut first = [0; 3];
        for _ in 0..600 {
            let mut elements = [0, 1, 2];
            shuffle(&mut elements);
            first[elements[0]] += 1;
            let mut sorted = elements;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        // Each is expected 200 times with a standard deviation of 12: six of these are exceeded once in 10^9.
        assert!(first.iter().all(|count| (128..=272).contains(count)), "{first:?}");
    }
}
