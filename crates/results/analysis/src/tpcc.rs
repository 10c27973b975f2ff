//! Checks a TPC-C run against the clauses of the specification.

use pgdyno_core::{
    measure::{
        CellRun, Estimate, Judged, Latency, ScriptRun, SetCell, SetRun, SteadyVerdict, TpccCell, TpccRun,
    },
    tpcc::{DISTRICTS, Mix, Shares, Transaction},
    units,
};

use crate::{estimate::of_family, statistics::mean};

/// Fewest New-Orders per minute and warehouse (clause 4.2.1); with less, there are too many warehouses.
const LEAST: f64 = 9.0;
/// Tolerated deviation of a share in standard deviations. With three, one of the nine shares of a cell would exceed it
/// in one of 45 cells.
const SIGMAS: f64 = 4.0;
/// Smallest variance of a count for which the normal approximation is good enough for [`SIGMAS`].
const LEAST_VARIANCE: f64 = 10.0;
/// Fewest Deliveries for judging the share of skipped ones; with fewer, a single one could exceed the limit.
const LEAST_DELIVERIES: u64 = 100;
/// Largest share of Deliveries that may find a district without an order (clause 2.7.4.2).
const MOST_SKIPPED: f64 = 0.01;
/// Seconds within which 90 % of Deliveries must be executed after they were queued (clauses 5.2.5.3 and 2.7.2.2).
const DELIVERY_S: f64 = 80.0;

/// Summarises a TPC-C cell from its runs, its added scripts and its rates; `None` for other workloads.
pub(super) fn cell(
    runs: &[&CellRun],
    scripts: &[ScriptRun],
    nopm: Option<Estimate>,
    tpm: Option<Estimate>,
    latencies: &[Latency],
) -> Option<TpccCell> {
    let mut parts = runs.iter().filter_map(|run| run.tpcc.as_ref());
    let mut run = parts.next()?.clone();
    parts.for_each(|part| run.shares.merge(&part.shares));
    let steady: Vec<_> = runs.iter().map(|run| &run.steady).collect();
    let completed_per_min = completed_per_min(runs);
    let sets = sets(runs, &run, latencies, &steady);
    // A payment to a remote warehouse needs two warehouses in one set of tables.
    let several = run.warehouses > sets.len().max(1) as u64;
    let judged = judge(&run, several, scripts, completed_per_min, &steady);
    Some(TpccCell { run, nopm, completed_per_min, tpm, judged, sets })
}

/// The sets of tables of a cell that drove several, each judged by itself. `whole` is the run of all sets.
fn sets(
    runs: &[&CellRun],
    whole: &TpccRun,
    latencies: &[Latency],
    steady: &[&SteadyVerdict],
) -> Vec<SetCell> {
    let count = runs.first().map_or(0, |run| run.sets.len());
    let all: u64 = runs.iter().map(|run| run.counts.committed).sum();
    let of_set = |at: usize| {
        let in_runs: Vec<(&CellRun, &SetRun)> =
            runs.iter().filter_map(|run| Some((*run, run.sets.get(at)?))).collect();
        let first = in_runs.first()?.1;
        let committed: u64 = in_runs.iter().map(|(_, set)| set.counts.committed).sum();
        let tpm = |(run, set): &(&CellRun, &SetRun)| per_minute(set.counts.committed, run.duration_ns);
        Some(SetCell {
            name: first.name.clone(),
            warehouses: first.warehouses,
            clients: first.clients,
            driver: first.driver,
            nopm: estimate(in_runs.iter().filter_map(|(_, set)| set.nopm)),
            tpm: estimate(in_runs.iter().filter_map(tpm)),
            share: (all > 0).then(|| committed as f64 / all as f64),
            latency: match (latencies.get(at), in_runs.as_slice()) {
                (Some(latency), _) => latency.summary(),
                (None, [(_, only)]) => only.latency.clone(),
                (None, _) => None,
            },
            judged: judge_set(&in_runs, whole, steady),
        })
    };
    (0..count).filter_map(of_set).collect()
}

/// The mean rate of one set over the blocks, per minute.
fn estimate(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    of_family(&[values.collect()], "1/min").into_iter().next().flatten()
}

/// Checks one set of tables against all clauses. Steady state is that of all sets together.
fn judge_set(in_runs: &[(&CellRun, &SetRun)], whole: &TpccRun, steady: &[&SteadyVerdict]) -> Vec<Judged> {
    let Some((_, first)) = in_runs.first() else { return Vec::new() };
    let (mut scripts, mut shares) = (first.scripts.clone(), first.shares);
    for (_, set) in &in_runs[1..] {
        scripts.iter_mut().zip(&set.scripts).for_each(|(whole, one)| whole.add(one));
        shares.merge(&set.shares);
    }
    let run = TpccRun {
        warehouses: first.warehouses,
        load_constant_known: first.load_constant_known,
        shares,
        ..whole.clone()
    };
    let orders = |(run, set): &(&CellRun, &SetRun)| {
        per_minute(set.scripts.get(Transaction::NewOrder as usize)?.committed, run.duration_ns)
    };
    let completed = mean(&in_runs.iter().filter_map(orders).collect::<Vec<_>>());
    judge(&run, first.warehouses > 1, &scripts, completed, steady)
}

/// New-Orders per minute with those that were rolled back: the mean over the runs of a cell.
fn completed_per_min(runs: &[&CellRun]) -> Option<f64> {
    let orders = |run: &&CellRun| {
        per_minute(run.scripts.get(Transaction::NewOrder as usize)?.committed, run.duration_ns)
    };
    mean(&runs.iter().filter_map(orders).collect::<Vec<_>>())
}

/// NOPM: New-Orders per minute that were not rolled back, from the five scripts of a run and its duration.
pub fn nopm(scripts: &[ScriptRun], duration_ns: u64) -> Option<f64> {
    let orders = scripts.get(Transaction::NewOrder as usize)?;
    per_minute(orders.committed - orders.rolled_back, duration_ns)
}

/// TPM: transactions of all kinds per minute, including intended rollbacks; also known as tpmTOTAL.
pub(super) fn tpm(run: &CellRun) -> Option<f64> {
    per_minute(run.counts.committed, run.duration_ns)
}

fn per_minute(count: u64, duration_ns: u64) -> Option<f64> {
    (duration_ns > 0).then(|| count as f64 * 60e9 / duration_ns as f64)
}

/// Checks a cell against all clauses, including steady state; `several` is whether a set of tables has more than one
/// warehouse.
fn judge(
    tpcc: &TpccRun,
    several: bool,
    scripts: &[ScriptRun],
    completed_per_min: Option<f64>,
    runs: &[&SteadyVerdict],
) -> Vec<Judged> {
    let mut judged = vec![minima(scripts)];
    judged.extend(constants(tpcc));
    judged.push(mix(tpcc, scripts));
    judged.extend(shares(tpcc, several, scripts));
    judged.push(skipped(&tpcc.shares));
    if tpcc.paced {
        judged.extend(responses(scripts));
        judged.extend(pace(tpcc, scripts, completed_per_min));
    } else {
        judged.push(Judged {
            clause: "5.2.5".into(),
            words: "no keying and think times: response times are not judged".into(),
            holds: None,
        });
    }
    judged.push(steady(runs));
    judged
}

/// Fewest transactions that meet the minimum shares unless drawn too close to them: with fewer, chance decides.
const ENOUGH_FOR_MINIMA: u64 = 100_000;

/// Checks the minimum shares by what was executed, not by the weights that it was drawn by. Few transactions that fall
/// short no further than chance would have it are not judged.
fn minima(scripts: &[ScriptRun]) -> Judged {
    let total: u64 = scripts.iter().map(|script| script.committed).sum();
    let (mut short, mut by_chance) = (Vec::new(), total < ENOUGH_FOR_MINIMA);
    for (transaction, script) in Transaction::ALL.into_iter().zip(scripts) {
        let Some(least) = transaction.terms().least_percent else { continue };
        let is = 100.0 * script.committed as f64 / total.max(1) as f64;
        if is < least {
            short.push(format!("{} {is:.3} %, required {least:.0} %", transaction.name()));
            by_chance &= sigmas(script.committed, total, least / 100.0).is_none_or(|sigmas| sigmas <= SIGMAS);
        }
    }
    let words = match short.is_empty() {
        true => "executed shares are at least the minimum".to_owned(),
        false => short.join(", "),
    };
    let holds = match short.is_empty() {
        _ if total == 0 => None,
        true => Some(true),
        false => (!by_chance).then_some(false),
    };
    Judged { clause: "5.2.3".into(), words: or_too_few(words, holds), holds }
}

/// Weights in per cent.
fn listed(weights: [u32; 5]) -> String {
    let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let each = |weight: u32| {
        let percent = format!("{:.2}", 100.0 * f64::from(weight) / total.max(1) as f64);
        percent.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    weights.map(each).join("/")
}

/// If the constant of the load is known, the run draws its own far enough from it.
fn constants(tpcc: &TpccRun) -> Option<Judged> {
    (!tpcc.load_constant_known).then(|| Judged {
        clause: "2.1.6.1".into(),
        words: "the load's constant C for last names is unknown; the run's constant may be too close to it"
            .into(),
        holds: None,
    })
}

/// Checks whether the shares of the executed transactions match the weights.
fn mix(tpcc: &TpccRun, scripts: &[ScriptRun]) -> Judged {
    let total: u64 = scripts.iter().map(|script| script.committed).sum();
    let mix = tpcc.mix();
    let all = Transaction::ALL.into_iter().zip(scripts);
    let sigmas: Option<Vec<f64>> =
        all.map(|(transaction, script)| sigmas(script.committed, total, mix.share(transaction))).collect();
    let holds = sigmas.filter(|_| total > 0).map(|sigmas| sigmas.iter().all(|sigmas| *sigmas <= SIGMAS));
    let found: Vec<_> = scripts.iter().map(|script| percent(script.committed, total)).collect();
    let failed: u64 = scripts.iter().map(|script| script.failed).sum();
    let (found, drawn) = (found.join(" / "), listed(tpcc.weights));
    let words = match failed {
        0 => format!("executed {found}, drawn by {drawn}"),
        _ => {
            let failed = units::count(failed);
            format!("executed {found}, drawn by {drawn}; {failed} failed transactions not included")
        }
    };
    Judged { clause: "5.2.4".into(), words: or_too_few(words, holds), holds }
}

/// Appends the reason if there is no verdict.
fn or_too_few(words: String, holds: Option<bool>) -> String {
    if holds.is_some() { words } else { format!("{words}: too few to judge") }
}

/// Deviation of a count from its expected share in standard deviations of the binomial distribution; `None` if the
/// count is too small.
fn sigmas(count: u64, of: u64, share: f64) -> Option<f64> {
    let variance = of as f64 * share * (1.0 - share);
    match of {
        0 => None,
        _ if variance == 0.0 => Some(if count as f64 == of as f64 * share { 0.0 } else { f64::INFINITY }),
        _ if variance < LEAST_VARIANCE => None,
        _ => Some((count as f64 - of as f64 * share).abs() / variance.sqrt()),
    }
}

fn percent(count: u64, of: u64) -> String {
    match of {
        0 => units::ABSENT.to_owned(),
        _ => format!("{:.2} %", 100.0 * count as f64 / of as f64),
    }
}

/// Checks the shares of random input.
fn shares(tpcc: &TpccRun, several: bool, scripts: &[ScriptRun]) -> Vec<Judged> {
    let of = &tpcc.shares;
    // Actual rollbacks, not entered unused items: another item may be missing from the tables.
    let (undone, orders) = scripts.first().map_or((0, 0), |orders| (orders.rolled_back, orders.committed));
    let remote = |share: f64| if several { share } else { 0.0 };
    [
        ("2.4.1.4", "rolled-back New-Orders", undone, orders, 0.01),
        ("2.4.1.5", "order lines from a remote warehouse", of.remote_lines, of.lines, remote(0.01)),
        ("2.5.1.2", "Payments to a remote warehouse", of.remote_payments, of.payments, remote(0.15)),
        ("2.5.1.2", "customers selected by last name", of.named, of.customers, 0.6),
    ]
    .into_iter()
    .map(|(clause, what, count, all, share)| {
        let (found, of) = (percent(count, all), units::count(all));
        let words = format!("{what} {found} of {of}, required {:.0} %", share * 100.0);
        let holds = sigmas(count, all, share).map(|sigmas| sigmas <= SIGMAS);
        Judged { clause: clause.into(), words: or_too_few(words, holds), holds }
    })
    .collect()
}

fn skipped(shares: &Shares) -> Judged {
    let share = shares.skipped_deliveries as f64 / shares.deliveries.max(1) as f64;
    let found = percent(shares.skipped_deliveries, shares.deliveries);
    let words = format!("Deliveries with a district without an order {found}");
    let enough = shares.deliveries >= LEAST_DELIVERIES;
    let holds = enough.then_some(share <= MOST_SKIPPED || shares.skipped_deliveries <= 1);
    Judged { clause: "2.7.4.2".into(), words: or_too_few(words, holds), holds }
}

/// Checks the 90th percentiles of the response times, counted from sending.
fn responses(scripts: &[ScriptRun]) -> Vec<Judged> {
    let all = Transaction::ALL.into_iter().zip(scripts);
    all.map(|(transaction, script)| {
        // A Delivery is answered when it is queued; measured is the time until it was executed.
        let (limit_s, what) = match transaction {
            Transaction::Delivery => (DELIVERY_S, " executed"),
            _ => (transaction.terms().response_s, ""),
        };
        let p90_s = script.p90_ns.map(|ns| ns as f64 / 1e9);
        let found = p90_s.map_or(units::ABSENT.to_owned(), units::duration);
        let words = format!("{}{what}: 90 % within {found}, {limit_s:.0} s allowed", transaction.name());
        let holds = p90_s.map(|p90_s| p90_s <= limit_s);
        Judged { clause: "5.2.5.3".into(), words: or_too_few(words, holds), holds }
    })
    .collect()
}

/// Most New-Orders per minute that the ten terminals of a warehouse can enter, given keying and think times: 12.86 with
/// the weights of the specification, whose keying and think times are 21 seconds on average.
fn ceiling(mix: &Mix) -> f64 {
    let round = |transaction: Transaction| {
        let terms = transaction.terms();
        mix.share(transaction) * (terms.keying_s + terms.think_s)
    };
    let round_s: f64 = Transaction::ALL.into_iter().map(round).sum();
    DISTRICTS as f64 * 60.0 * mix.share(Transaction::NewOrder) / round_s
}

/// Checks the New-Orders per warehouse against the ceiling given by keying and think times, and against the lower
/// limit. The bounds apply to the specification's weights; with other weights there is no verdict.
fn pace(tpcc: &TpccRun, scripts: &[ScriptRun], completed_per_min: Option<f64>) -> Option<Judged> {
    let each = completed_per_min? / tpcc.warehouses as f64;
    let ceiling = ceiling(&tpcc.mix());
    let seen = scripts.first()?.committed as f64;
    // A count scatters by its square root: within that range there is no verdict.
    let scatter = 1.0 + SIGMAS / seen.max(1.0).sqrt();
    let holds = match each {
        _ if !tpcc.mix().keeps_minima() => None,
        each if (LEAST..=ceiling).contains(&each) => Some(true),
        each if (LEAST / scatter..=ceiling * scatter).contains(&each) => None,
        _ => Some(false),
    };
    let words = format!(
        "{each:.2} New-Orders per minute and warehouse, {:.1} % of the ceiling of {ceiling:.2}",
        100.0 * each / ceiling
    );
    let words = match tpcc.mix().keeps_minima() {
        true => or_too_few(words, holds),
        false => format!("{words}; not judged, because the weights are below the specification's"),
    };
    Some(Judged { clause: "4.2.1".into(), words, holds })
}

/// Checks whether throughput was steady in all runs; reports the first unsteady run.
fn steady(runs: &[&SteadyVerdict]) -> Judged {
    let rank = |verdict: &&&SteadyVerdict| match verdict {
        SteadyVerdict::Steady => 0,
        SteadyVerdict::TooShort => 1,
        SteadyVerdict::Trending { .. } | SteadyVerdict::NotSteady { .. } => 2,
    };
    let worst = runs.iter().max_by_key(rank).copied().unwrap_or(&SteadyVerdict::TooShort);
    let (words, holds) = match worst {
        SteadyVerdict::Steady => ("steady".to_owned(), Some(true)),
        SteadyVerdict::Trending { change } => {
            (format!("not steady: throughput changed by {:.1} %", change * 100.0), Some(false))
        }
        verdict @ SteadyVerdict::NotSteady { .. } => {
            (format!("not steady: {}", verdict.words()), Some(false))
        }
        SteadyVerdict::TooShort => ("too short to judge steady state".to_owned(), None),
    };
    Judged { clause: "5.5.1".into(), words, holds }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::tpcc::Shape;

    use super::*;

    /// A cell that meets all clauses: a million transactions by the terminals of ten warehouses.
    fn good() -> (TpccRun, Vec<ScriptRun>) {
        let shares = Shares {
            orders: 450_000,
            unused_items: 4_500,
            lines: 4_500_000,
            remote_lines: 45_000,
            payments: 430_000,
            remote_payments: 64_500,
            customers: 470_000,
            named: 282_000,
            deliveries: 40_000,
            skipped_deliveries: 0,
        };
        let run = TpccRun {
            warehouses: 10,
            shape: Shape::Statements,
            isolation: None,
            max_tries: 10,
            paced: true,
            weights: [45, 43, 4, 4, 4],
            load_constant_known: true,
            transactions: None,
            sets: None,
            drivers: None,
            note: pgdyno_core::tpcc::DERIVED.into(),
            shares,
        };
        let script = |(transaction, committed): (Transaction, u64)| ScriptRun {
            name: transaction.name().to_owned(),
            committed,
            rolled_back: if transaction == Transaction::NewOrder { 4_500 } else { 0 },
            failed: 0,
            retries: 0,
            p90_ns: Some(20_000_000),
            latency: None,
        };
        let counts = [450_000, 430_000, 40_000, 40_000, 40_000];
        (run, Transaction::ALL.into_iter().zip(counts).map(script).collect())
    }

    fn judged(run: &TpccRun, scripts: &[ScriptRun], nopm: f64) -> Vec<Judged> {
        judge(run, run.warehouses > 1, scripts, Some(nopm), &[&SteadyVerdict::Steady])
    }

    fn broken(run: &TpccRun, scripts: &[ScriptRun], nopm: f64) -> Vec<String> {
        let all = judged(run, scripts, nopm).into_iter();
        all.filter(|one| one.holds == Some(false)).map(|one| one.clause).collect()
    }

    /// Each set is judged by itself: one whose payments stay at home is named, and the sum of both would hide it.
    #[test]
    fn a_set_that_breaks_a_clause_is_found_alone() {
        let (tpcc, scripts) = good();
        let mut run = crate::doubts::samples::run("tpcc", 8, 100.0);
        (run.tpcc, run.scripts) = (Some(tpcc.clone()), scripts.clone());
        let set = |name: &str, remote_payments| SetRun {
            name: name.into(),
            warehouses: tpcc.warehouses,
            clients: 4,
            driver: None,
            counts: run.counts,
            counts_whole: run.counts_whole,
            tps: 1.0,
            nopm: Some(60.0),
            latency: None,
            scripts: scripts.clone(),
            load_constant_known: true,
            shares: Shares { remote_payments, ..tpcc.shares },
            errors: Vec::new(),
        };
        let both = [set("tpcc_1", tpcc.shares.remote_payments), set("tpcc_2", 0)];
        run.sets = both.to_vec();
        let cell = cell(&[&run], &scripts, None, None, &[]).expect("it is one of TPC-C");
        let broken = |judged: &[Judged]| {
            judged
                .iter()
                .filter(|one| one.holds == Some(false))
                .map(|one| one.clause.clone())
                .collect::<Vec<_>>()
        };
        assert!(broken(&cell.sets[1].judged).contains(&"2.5.1.2".to_owned()), "{:?}", cell.sets[1].judged);
        let others = [&cell.sets[0].judged, &cell.judged].map(|judged| broken(judged));
        assert!(others.iter().all(|clauses| !clauses.contains(&"2.5.1.2".to_owned())), "{others:?}");
        assert_eq!(cell.sets[0].nopm.as_ref().map(|nopm| nopm.value), Some(60.0));
    }

    #[test]
    fn what_is_as_it_must_be_holds() {
        let (run, scripts) = good();
        let all = judged(&run, &scripts, 125.0);
        assert!(all.iter().all(|one| one.holds == Some(true)), "{all:?}");
        assert_eq!(all.len(), 14);
    }

    /// Every clause is violated by its own fault, and by no other.
    #[test]
    fn each_fault_is_found_by_its_clause() {
        type Fault = fn(&mut TpccRun, &mut Vec<ScriptRun>);
        let faults: [(&str, Fault); 10] = [
            // By 100 of a million, which is no deviation from the weights.
            ("5.2.3", |_, scripts| scripts[3].committed -= 100),
            ("2.4.1.4", |_, scripts| scripts[0].rolled_back = 0),
            ("2.4.1.5", |run, _| run.shares.remote_lines = 50_000),
            ("2.5.1.2", |run, _| run.shares.remote_payments = 70_000),
            ("2.5.1.2", |run, _| run.shares.named = 470_000),
            ("2.7.4.2", |run, _| run.shares.skipped_deliveries = 500),
            ("5.2.4", |_, scripts| {
                scripts[0].committed -= 20_000;
                scripts[2].committed += 20_000;
            }),
            ("5.2.5.3", |_, scripts| scripts[1].p90_ns = Some(5_100_000_000)),
            ("5.2.5.3", |_, scripts| scripts[3].p90_ns = Some(81_000_000_000)),
            ("5.2.5.3", |_, scripts| scripts[4].p90_ns = Some(20_100_000_000)),
        ];
        for (clause, fault) in faults {
            let (mut run, mut scripts) = good();
            fault(&mut run, &mut scripts);
            assert_eq!(broken(&run, &scripts, 125.0), [clause]);
        }
        let (run, scripts) = good();
        assert_eq!(broken(&run, &scripts, 80.0), ["4.2.1"], "less than nine a warehouse");
        assert_eq!(broken(&run, &scripts, 135.0), ["4.2.1"], "more than can be entered");
    }

    #[test]
    fn a_load_that_is_not_known_is_reported() {
        let (run, scripts) = good();
        let all = judged(&TpccRun { load_constant_known: false, ..run }, &scripts, 125.0);
        let open: Vec<_> = all.iter().filter(|one| one.holds.is_none()).map(|one| &one.clause).collect();
        assert_eq!(open, ["2.1.6.1"]);
    }

    #[test]
    fn weights_of_the_article_are_no_mix_of_the_specification() {
        let (run, mut scripts) = good();
        let run = TpccRun { weights: [40, 36, 8, 8, 8], paced: false, ..run };
        let counts = [400_000, 360_000, 80_000, 80_000, 80_000];
        scripts.iter_mut().zip(counts).for_each(|(script, count)| script.committed = count);
        let all = judged(&run, &scripts, 60_000.0);
        let short = all.iter().find(|one| one.clause == "5.2.3").expect("it is judged");
        assert_eq!(short.words, "Payment 36.000 %, required 43 %");
        assert_eq!(short.holds, Some(false));
        // Without keying and think times neither pace nor response times are judged.
        assert!(!all.iter().any(|one| ["4.2.1", "5.2.5.3"].contains(&one.clause.as_str())));
    }

    #[test]
    fn minima_that_chance_decides_are_not_judged() {
        let (run, mut scripts) = good();
        let judged_with = |counts: [u64; 5], scripts: &mut [ScriptRun]| {
            scripts.iter_mut().zip(counts).for_each(|(script, count)| script.committed = count);
            let all = judged(&run, scripts, 125.0);
            all.into_iter().find(|one| one.clause == "5.2.3").expect("it is judged").holds
        };
        assert_eq!(judged_with([4_520, 4_320, 390, 385, 385], &mut scripts), None);
        assert_eq!(judged_with([4_420, 4_330, 417, 416, 417], &mut scripts), Some(true));
        assert_eq!(judged_with([5_000, 4_400, 200, 200, 200], &mut scripts), Some(false));
        assert_eq!(judged_with([452_000, 432_000, 39_900, 38_500, 37_600], &mut scripts), Some(false));
    }

    #[test]
    fn one_warehouse_has_no_other_and_a_short_run_shows_little() {
        let (run, _) = good();
        let shares = Shares { lines: 90, orders: 9, ..Shares::default() };
        let run = TpccRun { warehouses: 1, shares, ..run };
        let all = judged(&run, &[], 10.0);
        let lines = all.iter().find(|one| one.clause == "2.4.1.5").expect("it is judged");
        assert!(lines.words.ends_with("required 0 %") && lines.holds == Some(true), "{lines:?}");
        let payments = all.iter().find(|one| one.words.starts_with("Payments")).expect("it is judged");
        assert_eq!(payments.holds, None);
        let worst = judge(
            &run,
            true,
            &[],
            None,
            &[&SteadyVerdict::TooShort, &SteadyVerdict::NotSteady { cut_s: 3.0, change: None }],
        );
        assert_eq!(worst.last().map(|one| one.holds), Some(Some(false)));
    }
}
