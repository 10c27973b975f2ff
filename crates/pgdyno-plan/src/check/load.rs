//! Checks `[load]`.

use pgdyno_rows::load::{MAX_PARTITIONS, Misfit, why_not};

use crate::{
    Plan,
    fault::{Fault, fault},
};

/// Most streams of a load.
const MAX_LOAD_JOBS: u64 = 1_000;

/// Allowed fill factors of a table, in per cent.
const FILLFACTORS: std::ops::RangeInclusive<u32> = 10..=100;

/// Appends the faults of `[load]`.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    let load = &plan.load;
    let scaleup = plan.data.scaleup.is_some();
    let tpcc = plan.data.tpcc.is_some();
    if !load.is_default() && !plan.has_tpcb() && !scaleup && !tpcc {
        let what = "[load] says how tables are loaded, and the plan loads none";
        faults.push(fault("load", what, "leave [load] out, or give `scale` in [data] a number"));
    }
    if load.foreign_keys && scaleup {
        let what = "the tables test and log have no foreign keys between them";
        faults.push(fault("load.foreign_keys", what, "leave it out"));
    }
    if let Some(jobs) = load.jobs.filter(|jobs| !(1..=MAX_LOAD_JOBS).contains(jobs)) {
        let what = format!("{jobs} streams are not between 1 and {MAX_LOAD_JOBS}");
        faults.push(fault("load.jobs", what, "a stream for each processor of the server is enough"));
    }
    if let Some(percent) = load.fillfactor.filter(|percent| !FILLFACTORS.contains(percent)) {
        let what = format!("a fill factor of {percent} is not between 10 and 100");
        faults.push(fault("load.fillfactor", what, "write per cent, such as 90; pgbench has 100"));
    }
    for (key, name) in [("tablespace", &load.tablespace), ("index_tablespace", &load.index_tablespace)] {
        if name.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains('\0')) {
            let what = format!("`{key}` names no tablespace");
            faults.push(fault(format!("load.{key}"), what, "write its name, or leave it out"));
        }
    }
    let rows = plan.data.scaleup.map(|scaleup| scaleup.rows);
    if let (Some(count), Some(rows)) = (load.partitions, rows)
        && count > rows
    {
        faults.push(of_misfit(Misfit::MorePartitionsThanRows { count, rows, what: "row" }));
    }
    faults.extend(load.request(None).misfit().map(of_misfit));
}

fn of_misfit(misfit: Misfit) -> Fault {
    match misfit {
        Misfit::MethodWithoutPartitions => fault(
            "load.partition_method",
            "how to make partitions is said, and there are none",
            "say how many (`partitions`), or leave the method out",
        ),
        Misfit::TooManyPartitions(count) => fault(
            "load.partitions",
            format!("{count} partitions are more than {MAX_PARTITIONS}"),
            "use fewer",
        ),
        Misfit::MorePartitionsThanRows { count, rows, what } => fault(
            "load.partitions",
            format!("{count} partitions are more than {rows} {what}s"),
            format!("use no more than there are {what}s"),
        ),
        Misfit::MadeByServer => fault(
            "load.method",
            "the rows of TPC-C are made by pgdyno alone",
            "leave the method of loading out",
        ),
        Misfit::Way(way, method) => fault(
            "load.method",
            format!(
                "the method {} is not for partitions by {}: {}",
                way.name(),
                method.name(),
                why_not(method)
            ),
            "leave the method of loading out",
        ),
    }
}
