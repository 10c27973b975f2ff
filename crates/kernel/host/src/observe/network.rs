//! Network interfaces (`/proc/net/dev`).

use std::{collections::BTreeMap, fs};

use pgdyno_core::observe::NetworkSample;

/// Counters of an interface: bytes received and sent, packets lost in both directions.
type Counters = [u64; 3];

/// Counters of all interfaces since they came up.
pub(super) fn read() -> BTreeMap<String, Counters> {
    parse(&fs::read_to_string("/proc/net/dev").unwrap_or_default())
}

/// Sixteen numbers an interface: bytes, packets, errors and drops are the first four of each direction.
fn parse(text: &str) -> BTreeMap<String, Counters> {
    let of_line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [received, _, in_errors, in_drops, _, _, _, _, sent, _, out_errors, out_drops, ..] = numbers[..]
        else {
            return None;
        };
        let lost = [in_errors, in_drops, out_errors, out_drops].into_iter().fold(0, u64::saturating_add);
        Some((name.trim().to_owned(), [received, sent, lost]))
    };
    text.lines().filter_map(of_line).collect()
}

/// What interfaces transferred over a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Traffic(BTreeMap<String, (Counters, f64)>);

impl Traffic {
    /// Interfaces that were there both times and did not restart from 0.
    pub(super) fn between(
        now: &BTreeMap<String, Counters>,
        then: &BTreeMap<String, Counters>,
        over_s: f64,
    ) -> Self {
        let of = |(name, now): (&String, &Counters)| {
            let then = then.get(name)?;
            let restarted = now.iter().zip(then).any(|(now, then)| now < then);
            let grown = std::array::from_fn(|at| now[at].saturating_sub(then[at]));
            (!restarted).then(|| (name.clone(), (grown, over_s)))
        };
        Self(now.iter().filter_map(of).collect())
    }

    pub(super) fn add(&mut self, more: &Self) {
        for (name, (counters, over_s)) in &more.0 {
            let (sum, sum_s) = self.0.entry(name.clone()).or_default();
            sum.iter_mut().zip(counters).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
            *sum_s += over_s;
        }
    }

    pub(super) fn samples(&self) -> Vec<NetworkSample> {
        let sample = |(name, ([received, sent, lost], over_s)): (&String, &(Counters, f64))| NetworkSample {
            interface: name.clone(),
            received_bytes_per_s: *received as f64 / over_s,
            sent_bytes_per_s: *sent as f64 / over_s,
            lost_packets: *lost,
        };
        self.0.iter().filter(|(_, (_, over_s))| *over_s > 0.0).map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs drop\n";

    #[test]
    fn interfaces_that_restart_or_vanish_are_absent() {
        let then = format!(
            "{HEAD}    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n  eth0:900 1 1 1 0 0 0 0 50 1 0 2 0 0 0 0\n"
        );
        let now = format!(
            "{HEAD}    lo: 300 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n  eth0:10 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n"
        );
        let mut traffic = Traffic::between(&parse(&now), &parse(&then), 2.0);
        traffic.add(&traffic.clone());
        let samples = traffic.samples();
        assert_eq!(samples.len(), 1);
        assert_eq!((samples[0].received_bytes_per_s, samples[0].sent_bytes_per_s), (100.0, 200.0));
        assert_eq!(parse(&then)["eth0"], [900, 50, 4]);
    }
}
