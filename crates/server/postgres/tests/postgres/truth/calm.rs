//! Measures the lateness of the machine itself, so that pgdyno is not blamed for it.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use pgdyno_engine::Clock;

/// Most measurements until the machine is calm.
const TRIES: usize = 3;
/// Length of the observed sleeps.
const SLEEP: Duration = Duration::from_millis(1);

/// Processors that other programs may use on a calm machine.
const OTHERS_CPUS: f64 = 0.15;
/// Ticks of `/proc/stat` per second (`USER_HZ`, 100 on every current Linux).
const TICKS_PER_S: f64 = 100.0;

/// Disturbances of the machine during a measurement.
#[derive(Debug)]
pub struct Lateness {
    /// Delays of sleeps, shortest first.
    late: Vec<Duration>,
    /// Processors used by other programs on average.
    others_cpus: f64,
}

impl Lateness {
    /// Quantile of the sleeps' delays.
    pub fn quantile(&self, quantile: f64) -> Duration {
        let rank = (self.late.len() as f64 * quantile) as usize;
        self.late.get(rank.min(self.late.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    /// Quantile of the sleeps' delays beyond the minimum.
    pub fn excess(&self, quantile: f64) -> Duration {
        self.quantile(quantile).saturating_sub(self.quantile(0.05))
    }

    /// Whether no other program used the machine: other programs hardly delay a sleeper's wake-up, but they delay work.
    pub fn alone(&self) -> bool {
        self.others_cpus < OTHERS_CPUS
    }

    /// The longest delay.
    pub fn most(&self) -> Duration {
        self.quantile(1.0)
    }
}

/// Measures, repeatedly while the machine is not calm; returns the last measurement with the lateness.
pub fn calmly<R>(calm: impl Fn(&Lateness) -> bool, mut measure: impl FnMut() -> R) -> (R, Lateness) {
    let mut result = watched(&mut measure);
    for _ in 1..TRIES {
        if calm(&result.1) {
            break;
        }
        let Lateness { others_cpus, .. } = result.1;
        let most = result.1.most();
        eprintln!(
            "the machine stood still for {most:?}, others used {others_cpus:.2} processors: measured again"
        );
        result = watched(&mut measure);
    }
    result
}

fn watched<R>(measure: impl FnOnce() -> R) -> (R, Lateness) {
    let over = AtomicBool::new(false);
    let (start, busy_s, own_ns) = (Instant::now(), busy_s(), Clock::process_cpu_ns());
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut late = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                thread::sleep(SLEEP);
                late.push(start.elapsed().saturating_sub(SLEEP));
            }
            late.sort_unstable();
            late
        });
        let result = measure();
        over.store(true, Ordering::Relaxed);
        let late = watching.join().expect("it only sleeps");
        let own_s = (Clock::process_cpu_ns() - own_ns) as f64 / 1e9;
        let others_cpus = (self::busy_s() - busy_s - own_s) / start.elapsed().as_secs_f64();
        (result, Lateness { late, others_cpus })
    })
}

/// Seconds since boot that all processors were busy: user, nice, system, interrupts and steal.
fn busy_s() -> f64 {
    let stat = fs::read_to_string("/proc/stat").expect("Linux has it");
    let ticks = stat.lines().next().into_iter().flat_map(str::split_whitespace).skip(1);
    let ticks: Vec<f64> = ticks.map(|number| number.parse().expect("a number")).collect();
    [0, 1, 2, 5, 6, 7].iter().filter_map(|&at| ticks.get(at)).sum::<f64>() / TICKS_PER_S
}
