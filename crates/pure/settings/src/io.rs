//! How pages are read.

use pgdyno_core::facts::Choice;

use super::{
    inputs::Inputs,
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "effective_io_concurrency",
        Today::Kept,
        "How many pages a query may have requested ahead: up to 17 by bitmap heap scans only, from 18 on \
         by sequential and other scans as well.",
        "Storage without moving parts serves many reads at once. From 13 to 17 it counts pages: 100. \
         Before 13 it counted drives, and 26 prefetches about as many. In 18 it counts reads of up to \
         io_combine_limit: 32, twice the default. What it brings here: not measured. On other storage the \
         default stays: what suits a rotating disk depends on how many share the work, and a guest does not \
         know what its disks are. 0 turns reading ahead off, which serves none of them.",
        "PostgreSQL manual, \"Resource Consumption\" of Server Configuration; release notes of 13 and \
         18",
    ))
    .recommends(effective_io_concurrency)
    .judges(concurrency),
    Rule::of(
        page(
            "maintenance_io_concurrency",
            Today::Kept,
            "As effective_io_concurrency, for maintenance: ANALYZE, recovery, from 18 on VACUUM.",
            "The same storage serves as many reads at once.",
            manual::RESOURCES,
        )
        .since(13),
    )
    .recommends(maintenance_io_concurrency)
    .judges(concurrency),
    Rule::of(
        page(
            "io_method",
            Today::Depends,
            "Who executes asynchronous reads: worker processes, io_uring of the kernel, or the process \
         itself (sync).",
            "worker works everywhere. io_uring spares processes; it needs a server built with liburing, a \
         kernel that allows it (containers and kernel.io_uring_disabled often do not) and a file \
         descriptor for each possible process. Checksums are verified by the process that executes the read: \
         with io_uring the session itself. What it brings here: not measured.",
            manual::RESOURCES,
        )
        .since(18),
    )
    .judges(io_method),
    Rule::of(
        page(
            "io_workers",
            Today::Kept,
            "How many processes execute reads with io_method = worker.",
            "3 by default, too few to keep fast storage of a large machine busy: a quarter of the \
         processors, from 3 to 16. What it brings here: not measured.",
            manual::RESOURCES,
        )
        .since(18),
    )
    .recommends(io_workers)
    .judges(judge_io_workers),
    Rule::of(
        page(
            "io_combine_limit",
            Today::DefaultIsRight,
            "How much neighbouring pages are read by one request.",
            "128 kB; more helps where a device has a high cost for each request. In 18 io_max_combine_limit \
         bounds it.",
            manual::RESOURCES,
        )
        .since(17),
    ),
    Rule::of(
        page(
            "io_max_combine_limit",
            Today::DefaultIsRight,
            "Up to what io_combine_limit may be set; it takes a restart.",
            "128 kB, as io_combine_limit.",
            manual::RESOURCES,
        )
        .since(18),
    ),
    Rule::of(
        page(
            "io_max_concurrency",
            Today::DefaultIsRight,
            "How many reads one process may have in progress.",
            "-1 derives it from shared_buffers and the number of processes, at most 64.",
            manual::RESOURCES,
        )
        .since(18),
    ),
    Rule::of(
        page(
            "file_copy_method",
            Today::Depends,
            "How files are copied by CREATE DATABASE ... STRATEGY = FILE_COPY: by reading and writing, or by \
         cloning.",
            "clone shares blocks on file systems that can, such as XFS with reflink and btrfs.",
            manual::RESOURCES,
        )
        .since(18),
    ),
    Rule::of(
        page(
            "file_extend_method",
            Today::Depends,
            "How files grow by several pages: by posix_fallocate or by writing zeros.",
            "write_zeros avoids files of allocated and unwritten blocks, which some file systems (btrfs with \
         compression) handle badly.",
            manual::RESOURCES,
        )
        .since(16),
    ),
];

/// Pages to prefetch. Before version 13 the setting counted drives (release notes of 13: new = Σ old/i), so 26
/// there prefetches about as many pages as 100 does later.
pub(super) fn pages_ahead(version_num: u32) -> u32 {
    match version_num {
        ..130_000 => 26,
        130_000..180_000 => 100,
        _ => 32,
    }
}

fn effective_io_concurrency(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "non-rotational storage serves many reads at once";
    inputs.is_fast().then(|| choice("effective_io_concurrency", pages_ahead(inputs.version_num), reason))?
}

fn maintenance_io_concurrency(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "as effective_io_concurrency: non-rotational storage serves many reads at once";
    inputs.is_fast().then(|| choice("maintenance_io_concurrency", pages_ahead(inputs.version_num), reason))?
}

fn concurrency(given: &Given<'_>) -> Finding {
    let pages = given.number().unwrap_or(0.0);
    let wanted = f64::from(pages_ahead(given.inputs.version_num));
    let is_fast = given.inputs.is_fast();
    let usual = if is_fast { wanted.to_string() } else { given.default().to_owned() };
    match pages {
        ..=0.0 => {
            given.improve(usual, "nothing is read ahead, and storage serves one read of a query at a time")
        }
        _ if is_fast && pages < wanted / 4.0 => given.by_recommendation(),
        _ if is_fast => given.fine("storage serves many reads of a query at once"),
        _ if given.is(&usual) => given.fine("it is the default"),
        _ => given.unjudged(ahead_of_unknown(given, pages)),
    }
}

/// What reading ahead means where nothing says how much of it the storage serves at once.
fn ahead_of_unknown(given: &Given<'_>, pages: f64) -> String {
    let ahead = match given.inputs.version_num {
        ..130_000 => format!("as many pages are requested ahead as keep {pages} drives busy"),
        130_000..180_000 => format!("up to {pages} pages of a query are requested ahead"),
        _ => format!("up to {pages} reads of a query are requested ahead"),
    };
    let why = match given.inputs.rotates() {
        Some(true) => "how many rotating disks serve them is not known",
        _ => "what storage this is is not known here",
    };
    format!("{ahead}, and by default {}: {why}", given.default())
}

fn io_method(given: &Given<'_>) -> Finding {
    match given.value.trim().to_ascii_lowercase().as_str() {
        "sync" => given.improve("worker", "reads are executed one after the other, as before 18"),
        "io_uring" => given.fine(
            "the kernel executes reads; the server does not start where it may not \
         use io_uring",
        ),
        _ => given.fine(format!("{} processes execute reads", given.other("io_workers"))),
    }
}

fn io_workers(inputs: &Inputs<'_>) -> Option<Choice> {
    let workers = (inputs.cpus() / 4).clamp(3, 16);
    let reason = format!("a quarter of {} processors, from 3 to 16", inputs.cpus());
    (workers > 3).then(|| choice("io_workers", workers, reason))?
}

fn judge_io_workers(given: &Given<'_>) -> Finding {
    let method = given.other("io_method");
    match given.number().unwrap_or(3.0) {
        _ if !method.eq_ignore_ascii_case("worker") => given.no_effect(format!("io_method is {method}")),
        workers if workers > f64::from(given.inputs.cpus().max(3)) => {
            given.improve((given.inputs.cpus() / 4).clamp(3, 16), "more processes than processors")
        }
        _ => given.by_size(),
    }
}
