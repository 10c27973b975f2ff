//! Output of the search for a rate (`--find-rate`).

use pgdyno_analysis::{
    Doubt,
    doubts::MAX_DRIVER_BUSY,
    find_rate::{Answer, Limit, Plan, Probe, RateInterval, Verdict, Why, interval},
};
use pgdyno_core::measure::Counts;

use super::{
    percent,
    steps::{ms, rate},
};

/// Share of the latency from which on waiting for a free client counts as the reason for breaking the limit.
const MUCH_WAITING: f64 = 0.5;

/// Results of a probe.
#[derive(Debug, Clone)]
pub struct ProbeResult {
    /// Rate and kind of the probe.
    pub plan: Plan,
    /// Length in nanoseconds, without the warm-up.
    pub duration_ns: u64,
    /// Outcomes of the transactions that fell due in the probe.
    pub due: Counts,
    /// Commits that were acknowledged in the probe.
    pub committed_within: u64,
    /// The limit's percentile over all transactions that fell due, in nanoseconds; `None` if that is a missed one.
    pub percentile_ns: Option<u64>,
    /// The same percentile of the wait to begin, for a free client or for the driver, in nanoseconds.
    pub wait_ns: Option<u64>,
    /// CPU utilization of the driver's busiest thread, 0 to 1.
    pub busiest_thread: f64,
    /// Round trips per second, over all clients.
    pub round_trips_per_s: f64,
    /// Share of the ceiling that each driver thread reached; `None` if no ceiling is known.
    pub of_ceiling: Option<f64>,
    /// Verdict on the rate.
    pub verdict: Verdict,
}

impl ProbeResult {
    /// Commits per second.
    pub fn tps(&self) -> f64 {
        self.committed_within as f64 * 1e9 / self.duration_ns.max(1) as f64
    }

    /// Transactions that fell due and did not commit.
    pub fn missed(&self) -> u64 {
        self.due.scheduled - self.due.committed
    }

    /// Whether most of the latency was the wait for a free client.
    pub fn waited_for_clients(&self) -> bool {
        match (self.wait_ns, self.percentile_ns) {
            (Some(wait_ns), Some(latency_ns)) => wait_ns as f64 >= MUCH_WAITING * latency_ns as f64,
            // Transactions that never started waited for a client until the end.
            (_, None) => self.due.never_started * 2 >= self.missed(),
            (None, Some(_)) => false,
        }
    }

    /// Name of the probe in a doubt.
    pub fn name(&self) -> String {
        format!("{} TPS", rate(self.plan.rate_per_s))
    }

    /// Whether the driver itself may have been the limit.
    pub fn driver_was_busy(&self) -> bool {
        self.busiest_thread > MAX_DRIVER_BUSY
    }
}

/// The rate and its interval from all probes.
pub fn estimate(probes: &[ProbeResult]) -> Option<RateInterval> {
    let usual_ns = probes.iter().map(|probe| probe.duration_ns).min()?.max(1);
    let made: Vec<_> =
        probes.iter().map(|probe| Probe { plan: probe.plan, verdict: probe.verdict }).collect();
    let lengths = probes.iter().map(|probe| (probe.plan, probe.duration_ns as f64 / usual_ns as f64));
    let lengths: Vec<_> = lengths.collect();
    let length =
        |probe: &Probe| lengths.iter().find(|(plan, _)| *plan == probe.plan).map_or(1.0, |(_, of)| *of);
    interval(&made, length)
}

/// In how many long probes of this rate the limit was kept, and how many there were.
pub fn kept_at(probes: &[ProbeResult], rate_per_s: f64) -> (usize, usize) {
    let long = || {
        let decided = probes.iter().filter(|probe| probe.verdict != Verdict::Undecided);
        decided.filter(move |probe| probe.plan.confirming && probe.plan.rate_per_s == rate_per_s)
    };
    (long().filter(|probe| probe.verdict == Verdict::Kept).count(), long().count())
}

/// Header of the table.
pub fn head(limit: &Limit) -> String {
    let name = format!("p{} ms", limit.percentile);
    format!("probe  seconds    rate/s       tps  {name:>9}  waiting ms   missed  verdict\n")
}

/// Line of a probe in the table.
pub fn line(number: usize, limit: &Limit, probe: &ProbeResult) -> String {
    let latency = match (probe.percentile_ns, probe.due.scheduled) {
        (None, 1..) => "missed".to_owned(),
        (latency_ns, _) => ms(latency_ns),
    };
    format!(
        "{number:>5}  {:>7.1}  {:>8}  {:>8.1}  {latency:>9}  {:>10}  {:>6.2}%  {}\n",
        probe.duration_ns as f64 / 1e9,
        rate(probe.plan.rate_per_s),
        probe.tps(),
        ms(probe.wait_ns),
        percent(probe.missed(), probe.due.scheduled),
        verdict(limit, probe),
    )
}

fn verdict(limit: &Limit, probe: &ProbeResult) -> String {
    let said = match probe.verdict {
        Verdict::Kept => "kept".to_owned(),
        Verdict::Broken(Why::Latency) => "broken".to_owned(),
        Verdict::Broken(Why::Missed) => "broken: too many were missed".to_owned(),
        Verdict::Broken(Why::Behind) => "broken: fell behind the rate".to_owned(),
        Verdict::Undecided => {
            format!("undecided: {} of {} transactions", probe.due.scheduled, limit.samples_needed())
        }
    };
    let is_long = probe.plan.confirming && probe.verdict != Verdict::Undecided;
    if is_long { format!("{said} (long)") } else { said }
}

/// The answer, and the bottleneck if it may be the driver or the clients.
pub fn answer(
    limit: &Limit,
    answer: &Answer,
    probes: &[ProbeResult],
    clients: u32,
    longest_s: f64,
) -> String {
    let all_of = |at: f64| probes.iter().filter(move |probe| probe.plan.rate_per_s == at);
    let of = |at: f64| all_of(at).next_back();
    match *answer {
        Answer::Found { kept, broken } => {
            let (kept_tps, broken_ns) = (of(kept).map_or(f64::NAN, ProbeResult::tps), of(broken));
            let held = broken_ns.map(|probe| got(limit, probe)).unwrap_or_default();
            let bound = of(broken).map(|probe| bound(limit, probe, clients)).unwrap_or_default();
            let interval = estimate(probes).map(|RateInterval { low, high, .. }| {
                format!(
                    "95 % interval of the highest rate that keeps it: {} to {} TPS\n",
                    rate(low),
                    rate(high)
                )
            });
            format!(
                "{limit}: kept at {} TPS (committed {kept_tps:.1}), broken at {} TPS ({held})\n\
                 long probes that kept it: {}, {}\n{}{bound}",
                rate(kept),
                rate(broken),
                long_probes(probes, kept),
                long_probes(probes, broken),
                interval.unwrap_or_default(),
            )
        }
        Answer::NoneKept { lowest } => {
            let held = of(lowest).map(|probe| got(limit, probe)).unwrap_or_default();
            let bound = of(lowest).map(|probe| bound(limit, probe, clients)).unwrap_or_default();
            format!(
                "{limit}: broken at every rate that was tried; the lowest was {} TPS ({held})\n{bound}\
                 a lower rate cannot be judged: {} transactions would take more than {longest_s:.0} s\n",
                rate(lowest),
                limit.samples_needed(),
            )
        }
        Answer::GaveUp { kept, broken } => {
            let [kept, broken] = [kept, broken].map(|at| at.map_or("none".to_owned(), rate));
            let last = probes.last().map(|probe| bound(limit, probe, clients)).unwrap_or_default();
            format!(
                "{limit}: no answer after {} probes; highest rate kept {kept}, lowest rate broken {broken}; \
                 not confirmed\n{last}",
                probes.len()
            )
        }
        Answer::Undecided { rate: at } => format!(
            "{limit}: no answer; probes at {} TPS had fewer transactions than the {} that a verdict needs\n",
            rate(at),
            limit.samples_needed()
        ),
    }
}

fn long_probes(probes: &[ProbeResult], at: f64) -> String {
    let (kept, all) = kept_at(probes, at);
    format!("{kept} of {all} at {} TPS", rate(at))
}

/// A reason to distrust the answer, as one line.
pub fn doubted(doubt: &Doubt) -> String {
    let Doubt { kind, detail, advice, cells } = doubt;
    format!("{} ({}): {detail}. {advice}\n", pgdyno_report::doubt_heading(*kind), cells.join(", "))
}

/// The percentile of a probe that broke the limit, or its misses.
fn got(limit: &Limit, probe: &ProbeResult) -> String {
    match probe.percentile_ns {
        Some(ns) => format!("p{} {} ms", limit.percentile, ms(Some(ns))),
        None => format!("{:.2} % missed", percent(probe.missed(), probe.due.scheduled)),
    }
}

/// Reasons other than the server for which a rate may have been broken.
fn bound(limit: &Limit, probe: &ProbeResult, clients: u32) -> String {
    let mut out = String::new();
    let at = rate(probe.plan.rate_per_s);
    if probe.driver_was_busy() {
        let share = probe.busiest_thread * 100.0;
        out += &format!(
            "at {at} TPS pgdyno itself may be the bottleneck: its busiest thread used {share:.0} % of a CPU; more \
             threads (-j) might keep a higher rate\n"
        );
    }
    if probe.waited_for_clients() {
        let waited = match probe.wait_ns {
            Some(ns) => format!("p{} of the wait {} ms", limit.percentile, ms(Some(ns))),
            None => format!("{} never began", probe.due.never_started),
        };
        out += &format!(
            "at {at} TPS transactions waited to begin ({waited}): all {clients} clients were busy, or pgdyno was \
             late; more clients (-c) might keep a higher rate\n"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use pgdyno_analysis::DoubtKind;

    use super::*;

    fn probe(rate_per_s: f64, confirming: bool, verdict: Verdict) -> ProbeResult {
        let due = Counts { scheduled: 20_000, committed: 19_900, failed: 100, ..Counts::default() };
        ProbeResult {
            plan: Plan { rate_per_s, confirming, undecided: 0 },
            duration_ns: 10_000_000_000,
            due,
            committed_within: 19_880,
            percentile_ns: Some(4_200_000),
            wait_ns: Some(300_000),
            busiest_thread: 0.4,
            round_trips_per_s: 1_988.0,
            of_ceiling: None,
            verdict,
        }
    }

    fn limit() -> Limit {
        "p99<5ms".parse().expect("it is a limit")
    }

    #[test]
    fn a_table_says_what_was_seen() {
        let behind =
            ProbeResult { percentile_ns: None, ..probe(2_345.0, true, Verdict::Broken(Why::Missed)) };
        let few = ProbeResult {
            due: Counts::default(),
            committed_within: 0,
            percentile_ns: None,
            wait_ns: None,
            ..behind.clone()
        };
        let few = ProbeResult { verdict: Verdict::Undecided, ..few };
        let lines = [(1, probe(2_000.0, false, Verdict::Kept)), (2, behind), (3, few)];
        let text: String = lines.iter().map(|(number, probe)| line(*number, &limit(), probe)).collect();
        assert_eq!(
            head(&limit()) + &text,
            "probe  seconds    rate/s       tps     p99 ms  waiting ms   missed  verdict\n    \
             1     10.0      2000    1988.0      4.200       0.300    0.50%  kept\n    \
             2     10.0      2345    1988.0     missed       0.300    0.50%  broken: too many were missed \
             (long)\n    \
             3     10.0      2345       0.0          -           -    0.00%  undecided: 0 of 10000 transactions\n"
        );
    }

    #[test]
    fn an_answer_has_both_ends_and_what_the_bound_was() {
        let kept = probe(2_000.0, true, Verdict::Kept);
        let mut broken = probe(2_100.0, true, Verdict::Broken(Why::Latency));
        broken.percentile_ns = Some(6_000_000);
        let found = Answer::Found { kept: 2_000.0, broken: 2_100.0 };
        let say = |broken: &ProbeResult| answer(&limit(), &found, &[kept.clone(), broken.clone()], 8, 300.0);
        let said = say(&broken);
        let plain = "p99<5ms: kept at 2000 TPS (committed 1988.0), broken at 2100 TPS (p99 6.000 ms)\n\
                     long probes that kept it: 1 of 1 at 2000 TPS, 0 of 1 at 2100 TPS\n\
                     95 % interval of the highest rate that keeps it: ";
        assert!(said.starts_with(plain) && said.lines().count() == 3, "{said}");
        let busy = ProbeResult { busiest_thread: 0.9, ..broken.clone() };
        assert!(say(&busy).contains("used 90 % of a CPU; more threads (-j)"), "{}", say(&busy));
        let waited = ProbeResult { wait_ns: Some(3_000_000), ..broken };
        assert!(
            say(&waited).contains("p99 of the wait 3.000 ms): all 8 clients were busy"),
            "{}",
            say(&waited)
        );
    }

    #[test]
    fn a_doubt_is_one_line() {
        let text = |words: &str| words.to_owned();
        let doubt = Doubt {
            kind: DoubtKind::NearCeiling,
            detail: text("so it was"),
            advice: text("Do so."),
            cells: vec![probe(2_000.0, true, Verdict::Kept).name()],
        };
        assert_eq!(doubted(&doubt), "Near the driver's ceiling (2000 TPS): so it was. Do so.\n");
    }

    #[test]
    fn no_answer_is_said_to_be_none() {
        let probes = [probe(35.0, false, Verdict::Broken(Why::Latency))];
        let say = |given: &Answer| answer(&limit(), given, &probes, 8, 300.0);
        assert_eq!(
            say(&Answer::NoneKept { lowest: 35.0 }),
            "p99<5ms: broken at every rate that was tried; the lowest was 35 TPS (p99 4.200 ms)\n\
             a lower rate cannot be judged: 10000 transactions would take more than 300 s\n"
        );
        let gave_up = say(&Answer::GaveUp { kept: Some(35.0), broken: None });
        assert!(
            gave_up.contains("highest rate kept 35, lowest rate broken none; not confirmed"),
            "{gave_up}"
        );
        assert!(
            say(&Answer::Undecided { rate: 35.0 })
                .contains("no answer; probes at 35 TPS had fewer transactions than the 10000")
        );
    }
}
