//! What a load will be, in words.

use pgdyno_core::{tpcc::DERIVED, units};
use pgdyno_postgres::load::Survey;
use pgdyno_rows::{
    load::{Cost, LoadPlan, MAX_PAGES, Set, Way},
    scaleup::id_type,
    tpcb::BIGINT_SCALE,
};

/// What a load will be, a line for each thing to know.
pub(super) fn outlook(plan: &LoadPlan, survey: &Survey, streams: u64) -> String {
    let at = &survey.estimate;
    let mut text = format!(
        "{} into schema {:?} of PostgreSQL {}: {} rows, {}\n",
        plan.title(),
        survey.target,
        units::printable(&survey.version),
        units::count(plan.rows_total()),
        units::plural(streams, "stream")
    );
    let mut line = |what: &str, value: String| text.push_str(&format!("  {what:<10} {value}\n"));
    let (main, key, key_type) = main_table(plan);
    line(main, format!("{}, key {}", units::bytes(at.main.heap.bytes), units::bytes(at.main.index.bytes)));
    let (heap, index) = (units::bytes(at.others.heap.bytes), units::bytes(at.others.index.bytes));
    line("others", format!("{heap}, keys {index}"));
    line("WAL", format!("up to {} in all", units::bytes(at.wal_bytes)));
    line("temporary", format!("up to {}", units::bytes(at.temp_bytes)));
    line(
        "pages",
        format!("{} in the largest table, of {}", units::count(at.largest_pages), units::count(MAX_PAGES)),
    );
    line(key, key_type.to_owned());
    line("how", ways(plan));
    if let (Way::Stream | Way::Chunks, None) = (plan.way, plan.partitions) {
        line("cost", cost(plan, streams));
    }
    if plan.set == Set::Tpcc {
        let (seed, at_s) = (plan.seed, plan.at_us / 1_000_000);
        line("rows", format!("as of --seed {seed} --at {at_s}"));
        line("note", DERIVED.to_owned());
    }
    for choice in &survey.keys.choices {
        line("keys", format!("{} = {}: {}", choice.name, choice.value, choice.reason));
    }
    for room in &survey.room {
        let (need, free) = (units::bytes(room.need_bytes), units::bytes(room.free_bytes));
        line("room", format!("{need} of {free} free under {}", room.dir.display()));
    }
    if survey.room.is_empty() {
        line("room", "not known: the server may be on another machine".to_owned());
    }
    text
}

/// The largest table, its key, and the type of that.
pub(super) fn main_table(plan: &LoadPlan) -> (&'static str, &'static str, &'static str) {
    match plan.set {
        Set::Tpcb => ("accounts", "aid", if plan.scale >= BIGINT_SCALE { "bigint" } else { "int" }),
        Set::Scaleup => ("test", "id", id_type(plan.scale)),
        Set::Tpcc => ("order_line", "ids", "int"),
    }
}

/// How rows are written: of the main table, and of `log` where that differs.
fn ways(plan: &LoadPlan) -> String {
    if !plan.log_chunks {
        return way(plan);
    }
    let rows = units::count(plan.chunk_rows);
    format!("{}; log in tasks of {rows} rows, then frozen by VACUUM", way(plan))
}

fn way(plan: &LoadPlan) -> String {
    let chunks = format!("tasks of {} rows", units::count(plan.chunk_rows));
    let by_server = if plan.way == Way::Server { " made by the server" } else { "" };
    match (plan.partitions, plan.way) {
        (Some(partitions), way) if !plan.routed() => {
            let frozen =
                if way == Way::Stream { "each frozen as it is written" } else { "then frozen by VACUUM" };
            format!("{}{by_server}, {frozen}", units::plural(partitions.count, "partition"))
        }
        (Some(partitions), _) => format!(
            "{chunks}{by_server}, which the server sorts into {}, then frozen by VACUUM",
            units::plural(partitions.count, "partition")
        ),
        (None, Way::Stream) => {
            "one stream for a table, frozen as it is written: after a kill it begins anew".to_owned()
        }
        (None, _) => format!("{chunks}{by_server}, then frozen by VACUUM"),
    }
}

/// Both ways of filling plain tables.
fn cost(plan: &LoadPlan, streams: u64) -> String {
    let Cost { stream_s, chunks_s } = Cost::of_set(plan.set, plan.rows_total(), streams);
    let (one, pace) = match plan.set {
        Set::Tpcb | Set::Scaleup => ("one stream", "a million"),
        Set::Tpcc => ("one stream for each table", "half a million"),
    };
    format!(
        "about {} in {one}, {} in chunks by {}, if one COPY writes {pace} rows/s here",
        units::duration(stream_s),
        units::duration(chunks_s),
        units::plural(streams, "stream")
    )
}
