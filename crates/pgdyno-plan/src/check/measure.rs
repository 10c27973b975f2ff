//! Checks numbers and times of a plan.

use std::time::Duration;

use pgdyno_core::span::Span;

use crate::{
    Plan,
    fault::{Fault, fault},
};

/// Largest scale factor (10^13 accounts), at which branch and teller keys still fit 32 bits.
pub const MAX_SCALE: u64 = 100_000_000;

/// Most clients of a run.
pub const MAX_CLIENTS: u32 = 100_000;

/// Most client counts of a plan.
pub const MAX_CLIENT_COUNTS: usize = 64;

/// Most worker threads of the driver.
pub const MAX_JOBS: u32 = 1_024;

/// Most blocks.
pub const MAX_BLOCKS: u32 = 1_000;

/// Highest rate in transactions per second.
pub const MAX_RATE_PER_S: f64 = 1e12;

/// Shortest measured interval.
pub const MIN_DURATION: Duration = Duration::from_millis(100);

/// Longest warm-up.
pub const MAX_WARMUP: Duration = Duration::from_secs(24 * 3600);

/// Appends the faults of `measure.clients`.
pub(super) fn clients(plan: &Plan, faults: &mut Vec<Fault>) {
    if let Some(clients) = plan.measure.clients.clone().given() {
        client_list("measure.clients", &clients, faults);
    }
}

/// Appends the faults of a list of client counts at `path`.
pub(super) fn client_list(path: &str, clients: &[u32], faults: &mut Vec<Fault>) {
    let hint = "write for example clients = [1, 8, 32]";
    if clients.is_empty() {
        faults.push(fault(path, "no client count is given", hint));
    }
    if clients.len() > MAX_CLIENT_COUNTS {
        let what = format!("{} client counts are more than {MAX_CLIENT_COUNTS}", clients.len());
        faults.push(fault(path, what, hint));
    }
    for (index, &count) in clients.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if !(1..=MAX_CLIENTS).contains(&count) {
            let what = format!("{count} clients are not between 1 and {MAX_CLIENTS}");
            faults.push(fault(path, what, hint));
        } else if clients[..index].contains(&count) {
            let hint = "use `blocks` to run a cell more than once";
            faults.push(fault(path, format!("the client count {count} is listed twice"), hint));
        }
    }
}

pub(super) fn numbers(plan: &Plan, faults: &mut Vec<Fault>) {
    if let Some(scale) = plan.data.scale.given().filter(|scale| !(1..=MAX_SCALE).contains(scale)) {
        let what = format!("the scale {scale} is not between 1 and {MAX_SCALE}");
        faults.push(fault("data.scale", what, "one unit of scale is 100,000 accounts, about 15 MiB"));
    }
    if let Some(jobs) = plan.measure.jobs.given().filter(|jobs| !(1..=MAX_JOBS).contains(jobs)) {
        let what = format!("{jobs} threads are not between 1 and {MAX_JOBS}");
        faults.push(fault("measure.jobs", what, "one thread for each processor of the driver is enough"));
    }
    let blocks = plan.measure.blocks;
    if !(1..=MAX_BLOCKS).contains(&blocks) {
        let what = format!("{blocks} blocks are not between 1 and {MAX_BLOCKS}");
        faults.push(fault("measure.blocks", what, "3 for a first look, 5 or more for publication"));
    }
    if let Some(rate) = plan.measure.rate.filter(|rate| !(*rate > 0.0 && *rate <= MAX_RATE_PER_S)) {
        let what = format!("the rate {rate} is not a number above 0 and at most {MAX_RATE_PER_S:e}");
        faults.push(fault("measure.rate", what, "leave `rate` out for a closed loop"));
    }
}

pub(super) fn times(plan: &Plan, faults: &mut Vec<Fault>) {
    let ms = |limit: Duration| Span::from_millis(limit.as_millis() as u64);
    let (duration, warmup) = (plan.measure.duration, plan.measure.warmup);
    if duration.as_duration() < MIN_DURATION {
        let what = format!("an interval of {duration} is shorter than {}", ms(MIN_DURATION));
        faults.push(fault("measure.duration", what, "5s shows something, 30s can be judged for steadiness"));
    }
    if warmup.as_duration() > MAX_WARMUP {
        let what = format!("a warm-up of {warmup} is longer than {}", ms(MAX_WARMUP));
        faults.push(fault("measure.warmup", what, "it precedes every run: keep it short"));
    }
}
