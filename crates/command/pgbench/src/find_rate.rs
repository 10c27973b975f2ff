//! `--find-rate`: makes probes until the highest rate within the limit is known.

use std::{sync::Arc, time::Instant};

use pgdyno_analysis::{
    Doubt,
    doubts::{Ceiling, Measuring},
    find_rate::{Answer, Bounds, Limit, MOST_PROBES, Plan, RateInterval, Search, Seen, Verdict, Why},
};
use pgdyno_core::{facts::Instrument, measure::CommandTally, stop::Stop, units};
use pgdyno_engine::{Listeners, Load, LoadStep, Report, Settings, SocketDriver, StepReport};
use pgdyno_lab::{Lab, instrument};
use pgdyno_postgres::targets::run_clients;
use pgdyno_script::{Action, Script, Scripts, Streams};
use pgdyno_wire::ConnectOptions;
use serde_json::{Value, json};

use super::{
    clients::ClientFactory,
    connect,
    format::find_rate::{ProbeResult, answer, doubted, estimate, head, kept_at, line},
    options::{Chosen, Options},
    results::Histograms,
    run::{bookkeeping, set_up, settings},
    say::{ExitResult, Say, print},
};

/// Default length of a probe in seconds (`-T`).
pub const DEFAULT_TIME_S: i32 = 10;
/// Default length of its warm-up in nanoseconds (`--warmup`).
pub const DEFAULT_WARMUP_NS: u64 = 2 * NS_PER_S;
const NS_PER_S: u64 = 1_000_000_000;
/// Longest probe that is not confirming, in nanoseconds, unless `-T` is longer. It limits how low a rate can be judged.
const LONGEST_NS: u64 = 300 * NS_PER_S;
/// Length of a confirming probe, as a multiple of a usual one.
const CONFIRMING: u64 = 3;
/// Length of the closed loop from which the first rate follows, in nanoseconds; at most that of a probe.
const CALIBRATION_NS: u64 = 3 * NS_PER_S;
/// First rate, as a share of the rate of the closed loop.
const START: f64 = 0.5;
/// Usual number of probes of a search, and how many of them are confirming.
const TYPICAL: u64 = 14;
const ENDS: u64 = 6;
/// Longest search in nanoseconds, unless the maximum number of probes of the usual length takes longer.
const MOST_NS: u64 = 7_200 * NS_PER_S;
/// Time for transactions in flight to end after a probe, in nanoseconds.
const DRAIN_NS: u64 = 10 * NS_PER_S;

/// Searches for the rate; prints each probe and the answer.
///
/// # Errors
/// The exit status, after printing the error.
pub fn run(
    say: &Say,
    options: &Options,
    limit: &Limit,
    scripts: Scripts,
    stop: &Stop,
    lab: &Lab,
) -> ExitResult<()> {
    let outputs = Histograms::open(say, options)?;
    let (found, server_version) = set_up(say, options, None)?;
    let search = RateSearch {
        say,
        options,
        limit,
        scripts: Arc::new(scripts),
        connect: Arc::new(connect::target(say, options)?),
        scale: found.scale,
        instrument: pgdyno_host::facts::host().ok().and_then(|host| instrument::kept(&host, &lab.program)),
        stop,
    };
    let begin = Instant::now();
    print(say, &search.announcement())?;
    let most_tps = search.calibrate()?;
    let lowest = limit.lowest_rate(search.longest_ns());
    let bounds = Bounds { start: (most_tps * START).max(lowest), lowest };
    print(say, &search.heading(most_tps))?;
    let (probes, ended) = search.probe(bounds, begin)?;
    if let Ok(found) = &ended {
        let longest_s = search.longest_ns() as f64 / 1e9;
        print(say, &answer(limit, found, &probes, options.clients, longest_s))?;
        search.doubt(found, &probes).map_or(Ok(()), |doubt| print(say, &doubted(&doubt)))?;
    }
    outputs.finish(say, || search.json(most_tps, &server_version, &probes, ended.as_ref().ok()))?;
    match ended {
        Ok(Answer::Found { .. } | Answer::NoneKept { .. }) => Ok(()),
        Ok(Answer::GaveUp { .. } | Answer::Undecided { .. }) => Err(2),
        Err(why) => {
            say.error(format!("the search ended without an answer: {why}"));
            Err(2)
        }
    }
}

/// Everything that all probes of a search have in common.
struct RateSearch<'a> {
    say: &'a Say,
    options: &'a Options,
    limit: &'a Limit,
    scripts: Arc<Scripts>,
    connect: Arc<ConnectOptions>,
    scale: i64,
    /// Result of `pgdyno selftest`; `None` if it never ran on this machine.
    instrument: Option<Instrument>,
    stop: &'a Stop,
}

impl RateSearch<'_> {
    fn time_ns(&self) -> u64 {
        self.options.time_s as u64 * NS_PER_S
    }

    fn longest_ns(&self) -> u64 {
        self.time_ns().max(LONGEST_NS)
    }

    fn json(&self, most_tps: f64, server: &str, probes: &[ProbeResult], answer: Option<&Answer>) -> Value {
        let (options, limit) = (self.options, self.limit);
        let script = |script: &Chosen| json!({ "name": script.name, "weight": script.weight });
        json!({
            "format": "pgdyno-pgbench-find-rate",
            "version": 1,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "server_version": server,
            "scale": self.scale,
            "protocol": options.protocol.name(),
            "scripts": options.scripts.iter().map(script).collect::<Vec<_>>(),
            "clients": options.clients,
            "threads": options.jobs,
            "seed": options.seed,
            "warmup_ns": options.extras.warmup_ns,
            "limit": { "percentile": limit.percentile, "below_ns": limit.below_ns },
            "closed_loop_tps": most_tps,
            "probes": probes.iter().map(probe_json).collect::<Vec<_>>(),
            "answer": answer.map(|answer| answer_json(answer, probes)),
            "doubts": answer.and_then(|answer| self.doubt(answer, probes)).into_iter().collect::<Vec<_>>(),
        })
    }

    /// Ceiling of the driver, if it is known.
    fn ceiling(&self) -> Option<Ceiling<'_>> {
        let (instrument, waiting) = (self.instrument.as_ref()?, SocketDriver::best().name());
        Some(Ceiling { instrument, waiting, jobs: self.options.jobs })
    }

    /// Doubt if a rate of the answer was near the ceiling of the driver.
    fn doubt(&self, answer: &Answer, probes: &[ProbeResult]) -> Option<Doubt> {
        let of_answer = probes.iter().filter(|probe| rests_on(answer, probe));
        self.ceiling()?
            .doubt(Measuring::Pgbench, of_answer.filter_map(|probe| Some((probe.name(), probe.of_ceiling?))))
    }

    /// Length of a probe with warm-up and drain, in nanoseconds.
    fn whole_ns(&self, length_ns: u64) -> u64 {
        self.options.extras.warmup_ns + length_ns + DRAIN_NS
    }

    /// Maximum length of a search, in nanoseconds.
    fn most_ns(&self) -> u64 {
        MOST_NS.max(MOST_PROBES as u64 * self.whole_ns(CONFIRMING * self.time_ns()))
    }

    /// Announces the search and how long it takes.
    fn announcement(&self) -> String {
        let warmup_ns = self.options.extras.warmup_ns;
        let (once_ns, confirming_ns) = (self.time_ns(), CONFIRMING * self.time_ns());
        let usual_ns = (TYPICAL - ENDS) * (warmup_ns + once_ns) + ENDS * (warmup_ns + confirming_ns);
        let text = |ns: u64| units::duration(ns as f64 / 1e9);
        format!(
            "searching for the highest rate that keeps {}\na probe takes {} with {} of warm-up, a confirming one {}; \
             at low rates up to {}\nabout 14 probes take about {}; the search takes at most {}\n",
            self.limit,
            text(warmup_ns + once_ns),
            text(warmup_ns),
            text(warmup_ns + confirming_ns),
            text(warmup_ns + CONFIRMING * self.longest_ns()),
            text(usual_ns),
            text(self.most_ns()),
        )
    }

    fn heading(&self, most_tps: f64) -> String {
        let clients = self.options.clients;
        format!("in a closed loop {clients} clients commit {most_tps:.1} TPS\n{}", head(self.limit))
    }

    /// Commits per second of the clients in a closed loop.
    fn calibrate(&self) -> ExitResult<f64> {
        let (report, _) = self.measure(0, None, CALIBRATION_NS.min(self.time_ns()))?;
        if report.counts.committed == 0 {
            return self
                .say
                .fatal("no transaction committed in a closed loop, so there is no rate to start with");
        }
        if report.clients_lost > 0 || report.stopped.is_some() {
            self.say.error("Run was aborted before the search began.");
            return Err(2);
        }
        Ok(report.counts.committed as f64 * 1e9 / report.duration_ns.max(1) as f64)
    }

    /// Makes probes until there is an answer, or a reason why there is none.
    fn probe(
        &self,
        bounds: Bounds,
        begin: Instant,
    ) -> ExitResult<(Vec<ProbeResult>, Result<Answer, String>)> {
        let (mut search, mut probes) = (Search::new(bounds), Vec::new());
        loop {
            let plan = match search.next() {
                Ok(plan) => plan,
                Err(answer) => return Ok((probes, Ok(answer))),
            };
            let (number, length_ns) = (probes.len() + 1, self.length_ns(plan));
            let ends_ns = begin.elapsed().as_nanos() as u64 + self.whole_ns(length_ns);
            if ends_ns > self.most_ns() {
                return Ok((probes, Ok(search.gave_up())));
            }
            let (report, step) = self.measure(number as u64, Some(plan.rate_per_s), length_ns)?;
            let at = plan.rate_per_s;
            if let Some(why) = &report.stopped {
                return Ok((probes, Err(format!("{why} in the probe at {at} TPS"))));
            }
            if report.clients_lost > 0 {
                let lost = report.clients_lost;
                let what =
                    format!("{lost} clients were aborted in the probe at {at} TPS, which changed the load");
                return Ok((probes, Err(report.errors.why(&what))));
            }
            let Some(step) = step else { return self.say.fatal("the driver reported no results of a probe") };
            let probe = self.judged(plan, &report, &step);
            print(self.say, &line(number, self.limit, &probe))?;
            search.take(plan, probe.verdict);
            probes.push(probe);
        }
    }

    fn length_ns(&self, plan: Plan) -> u64 {
        let once_ns = self.time_ns().max(self.limit.nanos_needed(plan.rate_per_s));
        (once_ns * if plan.confirming { CONFIRMING } else { 1 }) << plan.undecided
    }

    fn judged(&self, plan: Plan, report: &Report, step: &StepReport) -> ProbeResult {
        let (limit, clients, committed_within) = (self.limit, self.options.clients, step.counts.committed);
        let seen = Seen { due: step.due, latency: &step.latency, committed_within, clients };
        let round_trips = round_trips(&self.scripts, &report.commands);
        let round_trips_per_s = round_trips as f64 * 1e9 / report.elapsed_ns.max(1) as f64;
        ProbeResult {
            plan,
            duration_ns: step.duration_ns,
            due: step.due,
            committed_within,
            percentile_ns: limit.percentile_ns(&step.due, &step.latency),
            wait_ns: report.lag.quantile_ns(limit.percentile / 100.0),
            busiest_thread: report.busiest_worker,
            round_trips_per_s,
            of_ceiling: self.ceiling().and_then(|ceiling| ceiling.share(clients, round_trips_per_s)),
            verdict: limit.judge(&seen),
        }
    }

    /// Makes one run over new connections: an open loop at a rate, or a closed loop.
    fn measure(
        &self,
        number: u64,
        rate_per_s: Option<f64>,
        length_ns: u64,
    ) -> ExitResult<(Report, Option<StepReport>)> {
        let Self { say, connect, scripts, stop, .. } = self;
        // Each probe has its own seed, derived from that of the run.
        let seed = self.options.seed.wrapping_add(number << 32);
        let options = &Options { rate_per_s, seed, ..self.options.clone() };
        let defined = options.define.iter().any(|definition| definition.name == "default_seed");
        let streams = Streams::derive(seed, options.clients, options.jobs, defined);
        let factory = ClientFactory {
            say,
            options,
            connect,
            scripts,
            streams: &streams,
            scale: self.scale,
            stop,
            sessions: None,
        };
        let (workers, _) = factory.connect()?;
        let settings =
            Settings { duration_ns: length_ns, drain_ns: DRAIN_NS, ..settings(options, scripts, false) };
        let mut bookkeeping = bookkeeping(say, options, scripts, &streams);
        let step = |rate| LoadStep { duration_ns: length_ns, load: Load::Rate(rate) };
        bookkeeping.steps = rate_per_s.into_iter().map(step).collect();
        let listeners = Listeners { on_interval: &mut |_| (), on_mark: &mut |_| (), on_log: &mut |_, _| () };
        match run_clients(SocketDriver::best(), workers, &settings, &bookkeeping, stop, listeners) {
            Ok(mut report) => {
                let step = report.steps.pop();
                Ok((report, step))
            }
            Err(error) => say.fatal(format!("the driver failed: {error}")),
        }
    }
}

/// Whether an answer rests on this probe.
fn rests_on(answer: &Answer, probe: &ProbeResult) -> bool {
    let ends = match *answer {
        Answer::Found { kept, broken } => [Some(kept), Some(broken)],
        Answer::NoneKept { lowest } => [Some(lowest), None],
        Answer::GaveUp { kept, broken } => [kept, broken],
        Answer::Undecided { rate } => [Some(rate), None],
    };
    ends.contains(&Some(probe.plan.rate_per_s))
}

/// Number of round trips: one per statement outside of a pipeline, and one per pipeline.
fn round_trips(scripts: &Scripts, commands: &[CommandTally]) -> u64 {
    let mut tallies = commands.iter();
    let mut of_script = |script: &Script| {
        let (mut in_pipeline, mut made) = (false, 0);
        for (command, tally) in script.commands.iter().zip(tallies.by_ref()) {
            match command.action {
                Action::StartPipeline => in_pipeline = true,
                Action::EndPipeline => (in_pipeline, made) = (false, made + tally.latency.count),
                Action::Sql(_) if !in_pipeline => made += tally.latency.count,
                _ => {}
            }
        }
        made
    };
    scripts.iter().map(&mut of_script).sum()
}

fn probe_json(probe: &ProbeResult) -> Value {
    let verdict = match probe.verdict {
        Verdict::Kept => "kept",
        Verdict::Broken(Why::Latency) => "broken",
        Verdict::Broken(Why::Missed) => "broken-missed",
        Verdict::Broken(Why::Behind) => "broken-behind",
        Verdict::Undecided => "undecided",
    };
    json!({
        "rate_per_s": probe.plan.rate_per_s,
        "confirming": probe.plan.confirming,
        "duration_ns": probe.duration_ns,
        "tps": probe.tps(),
        "due": probe.due,
        "percentile_ns": probe.percentile_ns,
        "wait_for_client_ns": probe.wait_ns,
        "waited_for_clients": probe.waited_for_clients(),
        "driver_busiest_thread": probe.busiest_thread,
        "driver_was_busy": probe.driver_was_busy(),
        "round_trips_per_s": probe.round_trips_per_s,
        "share_of_ceiling": probe.of_ceiling,
        "verdict": verdict,
    })
}

fn answer_json(answer: &Answer, probes: &[ProbeResult]) -> Value {
    match *answer {
        Answer::Found { kept, broken } => {
            let at = |rate| {
                let (held, probes) = kept_at(probes, rate);
                json!({ "kept": held, "probes": probes })
            };
            let interval = estimate(probes).map(|RateInterval { low, middle, high }| {
                json!({ "low_per_s": low, "middle_per_s": middle, "high_per_s": high })
            });
            json!({
                "found": true,
                "kept_rate_per_s": kept,
                "broken_rate_per_s": broken,
                "long_probes_at_kept_rate": at(kept),
                "long_probes_at_broken_rate": at(broken),
                "interval": interval,
            })
        }
        Answer::NoneKept { lowest } => {
            json!({ "found": false, "kept_rate_per_s": null, "broken_rate_per_s": lowest })
        }
        Answer::GaveUp { kept, broken } => {
            json!({ "found": null, "kept_rate_per_s": kept, "broken_rate_per_s": broken })
        }
        Answer::Undecided { rate } => json!({ "found": null, "undecided_rate_per_s": rate }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_is_one_round_trip() {
        let read = |text: &str| Scripts::one("mine", text).expect("a script");
        let made = |scripts: &Scripts, counts: &[u64]| {
            let tally = |count: &u64| {
                let mut tally = CommandTally::default();
                (0..*count).for_each(|_| tally.latency.add(1.0));
                tally
            };
            round_trips(scripts, &counts.iter().map(tally).collect::<Vec<_>>())
        };
        assert_eq!(made(&read("\\set a 1\nBEGIN;\nSELECT 1;\nEND;\n"), &[5, 5, 5, 4]), 14);
        let piped =
            "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\syncpipeline\nSELECT 3;\n\\endpipeline\nSELECT 4;\n";
        assert_eq!(made(&read(piped), &[7, 7, 7, 7, 7, 6, 3]), 9);
    }
}
