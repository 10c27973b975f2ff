//! Checks numbers and times of a plan.

use std::time::Duration;

use pgdyno_core::span::Span;

use crate::{
    MAX_RATE_PER_S, Plan,
    fault::{Fault, fault},
    measure::MAX_CLIENT_COUNTS,
};

/// Shortest measured interval.
const MIN_DURATION: Duration = Duration::from_millis(100);

/// Longest warm-up.
const MAX_WARMUP: Duration = Duration::from_secs(24 * 3600);

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
        if clients[..index].contains(&count) {
            let what = format!("the client count {count} is listed twice");
            faults.push(fault(format!("{path}[{index}]"), what, "use `blocks` to run a cell more than once"));
        }
    }
}

/// Appends the fault of the rate.
pub(super) fn rate(plan: &Plan, faults: &mut Vec<Fault>) {
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
