//! Pressure stall information (`/proc/pressure`, Documentation/accounting/psi.rst).

use std::fs;

use pgdyno_core::observe::Pressure;

use super::increase::Increase;

/// Microseconds of stalls since boot, each absent where the kernel does not count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stalls {
    cpu_some: Option<u64>,
    io_some: Option<u64>,
    io_full: Option<u64>,
    memory_some: Option<u64>,
    memory_full: Option<u64>,
}

impl Stalls {
    /// `None` on kernels without pressure stall information.
    pub(super) fn read() -> Option<Self> {
        let text = |name: &str| fs::read_to_string(format!("/proc/pressure/{name}")).unwrap_or_default();
        let (cpu, io, memory) = (text("cpu"), text("io"), text("memory"));
        let stalls = Self {
            cpu_some: total(&cpu, "some"),
            io_some: total(&io, "some"),
            io_full: total(&io, "full"),
            memory_some: total(&memory, "some"),
            memory_full: total(&memory, "full"),
        };
        (stalls != Self::default()).then_some(stalls)
    }

    fn parts(&self) -> [Option<u64>; 5] {
        [self.cpu_some, self.io_some, self.io_full, self.memory_some, self.memory_full]
    }
}

/// The number after `total=` in the line of a kind.
fn total(text: &str, kind: &str) -> Option<u64> {
    value(text, kind, "total=")?.parse().ok()
}

/// What follows a name, such as `avg60=`, in the line of a kind: `some` or `full`.
pub(crate) fn value<'a>(text: &'a str, kind: &str, name: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    line.split_whitespace().find_map(|word| word.strip_prefix(name))
}

/// Stalls over a time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Stalled([Increase; 5]);

impl Stalled {
    pub(super) fn between(now: Option<Stalls>, then: Option<Stalls>, over_s: f64) -> Self {
        let (now, then) = (now.unwrap_or_default().parts(), then.unwrap_or_default().parts());
        Self(std::array::from_fn(|kind| Increase::between(now[kind], then[kind], over_s)))
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.0.iter_mut().zip(&more.0).for_each(|(sum, more)| sum.add(more));
    }

    pub(super) fn shares(&self) -> Option<Pressure> {
        let share = |of: Increase| of.per_s().map(|us_per_s| (us_per_s / 1e6).min(1.0));
        let [cpu_some, io_some, io_full, memory_some, memory_full] = self.0.map(share);
        let pressure = Pressure { cpu_some, io_some, io_full, memory_some, memory_full };
        (pressure != Pressure::default()).then_some(pressure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_from_the_totals() {
        let text = "some avg10=0.00 avg60=0.10 avg300=0.05 total=1500000\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n";
        assert_eq!((total(text, "some"), total(text, "full")), (Some(1_500_000), Some(250_000)));
        let at = |io| Some(Stalls { io_some: Some(io), ..Stalls::default() });
        let shares = Stalled::between(at(1_500_000), at(1_000_000), 2.0).shares().expect("it was observed");
        assert_eq!((shares.io_some, shares.io_full, shares.cpu_some), (Some(0.25), None, None));
        assert_eq!(Stalled::between(None, at(5), 1.0).shares(), None);
        assert_eq!(Stalled::between(at(5_000_000), at(0), 1.0).shares().and_then(|s| s.io_some), Some(1.0));
    }
}
