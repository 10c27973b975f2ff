//! How late this machine is by itself, so that pgdyno is not blamed for it.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How often a measurement is repeated where the machine was not calm.
const TRIES: usize = 4;
/// Length of the sleeps that are watched.
const SLEEP: Duration = Duration::from_millis(1);

/// How late sleeps ended while something was measured, shortest first.
#[derive(Debug)]
pub struct Lateness(Vec<Duration>);

impl Lateness {
    /// A share of the sleeps was at most this late.
    pub fn quantile(&self, quantile: f64) -> Duration {
        let rank = (self.0.len() as f64 * quantile) as usize;
        self.0.get(rank.min(self.0.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    /// The longest that the machine stood still.
    pub fn most(&self) -> Duration {
        self.quantile(1.0)
    }
}

/// Measures, and again where the machine was not calm meanwhile; gives the last measurement, with how late the machine
/// was.
pub fn calmly<R>(calm: impl Fn(&Lateness) -> bool, mut measure: impl FnMut() -> R) -> (R, Lateness) {
    let mut result = watched(&mut measure);
    for _ in 1..TRIES {
        if calm(&result.1) {
            break;
        }
        eprintln!("this machine stood still for {:?} meanwhile: measured again", result.1.most());
        result = watched(&mut measure);
    }
    result
}

fn watched<R>(measure: impl FnOnce() -> R) -> (R, Lateness) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut late = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                thread::sleep(SLEEP);
                late.push(start.elapsed().saturating_sub(SLEEP));
            }
            late.sort_unstable();
            Lateness(late)
        });
        let result = measure();
        over.store(true, Ordering::Relaxed);
        (result, watching.join().expect("it only sleeps"))
    })
}
