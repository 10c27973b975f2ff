//! Time that threads waited for a CPU (`/proc/schedstat`, Documentation/scheduler/sched-stats.rst).

use std::{collections::BTreeMap, fs};

/// Nanoseconds that threads waited for each CPU since boot; `None` on kernels that do not count them.
pub(super) fn read() -> Option<BTreeMap<u32, u64>> {
    parse(&fs::read_to_string("/proc/schedstat").ok()?)
}

/// The eighth number of the line of each CPU.
fn parse(text: &str) -> Option<BTreeMap<u32, u64>> {
    let of_line = |line: &str| {
        let (cpu, numbers) = line.strip_prefix("cpu")?.split_once(' ')?;
        Some((cpu.parse().ok()?, numbers.split_whitespace().nth(7)?.parse().ok()?))
    };
    let all: BTreeMap<_, _> = text.lines().filter_map(of_line).collect();
    (!all.is_empty()).then_some(all)
}

/// Nanoseconds since an earlier reading, over the CPUs that were online both times.
pub(super) fn since(now: &BTreeMap<u32, u64>, earlier: &BTreeMap<u32, u64>) -> u64 {
    let of_cpu = |(cpu, ns): (&u32, &u64)| Some(ns.saturating_sub(*earlier.get(cpu)?));
    now.iter().filter_map(of_cpu).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpus_that_stay_count() {
        let then = parse(
            "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 50 100 9\ndomain0 3 0 0\ncpu1 0 0 0 0 0 0 5 7 9\n",
        );
        let now = parse("version 15\ntimestamp 2\ncpu0 0 0 0 0 0 0 60 130 9\ncpu2 0 0 0 0 0 0 5 900 9\n");
        let (now, then) = (now.expect("it is read"), then.expect("it is read"));
        assert_eq!(since(&now, &then), 30);
        assert_eq!(since(&then, &now), 0, "a counter that went backwards");
        assert_eq!(parse("version 15\n"), None);
    }
}
