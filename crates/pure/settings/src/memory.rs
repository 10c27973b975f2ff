//! Memory: shared, of sessions, of maintenance, and in which pages.

use pgdyno_core::{
    facts::{
        Choice,
        amount::{GB, KB, MB, format},
    },
    units,
};

use super::{
    inputs::{
        Inputs, huge_pool_bytes, mappable_bytes, memory_outside, memory_words, outside_words,
        usable_memory_bytes, whole_mb,
    },
    rule::{Given, Rule, choice, manual, page},
};
use crate::{Finding, Purpose, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(
        page(
            "shared_buffers",
            Today::Kept,
            "Memory in which the server keeps pages.",
            "A quarter of memory: the rest is page cache, work_mem and the system. Much more holds many \
             pages twice, here and in the page cache, and a checkpoint has more to write; very much \
             (three quarters and up) can pay where nearly all of the data fits, with huge pages. What \
             counts as memory is less if a control group or the commit limit is lower.",
            manual::RESOURCES,
        )
        .can("Above the memory the server does not start, or the kernel swaps and kills processes."),
    )
    .recommends(shared_buffers)
    .judges(judge_shared_buffers),
    Rule::of(
        page(
            "work_mem",
            Today::Kept,
            "Memory of one sort or hash of a query, before it spills to temporary files.",
            "A query may use it several times over, in every parallel worker, and hashes may use \
             hash_mem_multiplier times as much. Memory outside shared_buffers over three times the \
             connections, from 4 MB to 256 MB; for few long queries a share for each of them, up to 1 \
             GB. Reports can have more by ALTER ROLE ... SET work_mem.",
            manual::RESOURCES,
        )
        .can("Times the sessions above free memory: the kernel swaps or kills the server."),
    )
    .recommends(work_mem)
    .judges(judge_work_mem),
    Rule::of(
        page(
            "hash_mem_multiplier",
            Today::Kept,
            "How many times work_mem a hash table may use.",
            "Hashes suffer more from spilling than sorts do. The default is 2 from 15 on, and was 1 before.",
            "PostgreSQL manual, \"Resource Consumption\" of Server Configuration; release notes of 15",
        )
        .since(13),
    )
    .recommends(hash_mem_multiplier)
    .judges(judge_hash_mem_multiplier),
    Rule::of(page(
        "maintenance_work_mem",
        Today::Kept,
        "Memory of one VACUUM, CREATE INDEX or ALTER TABLE ADD FOREIGN KEY.",
        "A sixteenth of memory, at most 2 GB, since a larger value rarely makes the sort for an index faster; for \
         loads an eighth, up to 8 GB, since they sort for indexes. Every worker of autovacuum may use as much \
         unless autovacuum_work_mem says less. Before 17 a vacuum uses at most 1 GB of it.",
        "PostgreSQL manual, \"Resource Consumption\" of Server Configuration; release notes of 17",
    ))
    .recommends(maintenance_work_mem)
    .judges(judge_maintenance),
    Rule::of(page(
        "autovacuum_work_mem",
        Today::Kept,
        "Memory of each worker of autovacuum; -1, the default, is maintenance_work_mem.",
        "Where maintenance_work_mem is large for the sake of indexes, autovacuum_max_workers workers \
         need not have it too: 1 GB at most. Before 17 a vacuum can use no more, and from 17 on that \
         holds the dead rows of very large tables. All workers together should leave half of memory to \
         others.",
        manual::RESOURCES,
    ))
    .recommends(autovacuum_work_mem)
    .judges(judge_autovacuum_work_mem),
    Rule::of(page(
        "temp_buffers",
        Today::DefaultIsRight,
        "Memory of a session for pages of temporary tables.",
        "Only sessions that use temporary tables take it; they can raise it by SET before the first \
         use.",
        manual::RESOURCES,
    )),
    Rule::of(
        page(
            "vacuum_buffer_usage_limit",
            Today::DefaultIsRight,
            "Size of the ring of buffers that VACUUM and ANALYZE reuse.",
            "2 MB from 17 on, 256 kB in 16. Larger rings flush WAL less often and evict more of what others \
         use.",
            manual::RESOURCES,
        )
        .since(16),
    )
    .recommends(vacuum_buffer_usage_limit),
    Rule::of(page(
        "gin_pending_list_limit",
        Today::Depends,
        "Size of the list of new entries of a GIN index with fastupdate.",
        "A longer list makes inserts cheaper, searches slower, and the insert that has to empty it wait \
         longer. It can be set for each index.",
        manual::CLIENT,
    )),
    Rule::of(
        page(
            "huge_pages",
            Today::Depends,
            "Whether shared memory is in explicit huge pages: try, on or off.",
            "Every process has its own page table for shared memory: 8 bytes for each 4 kB that it \
             touched, which hundreds of sessions and tens of gigabytes turn into gigabytes. Huge pages \
             of 2 MB make that 512 times less. They must be reserved by vm.nr_hugepages; with try, the \
             default, the server falls back silently: from 17 on huge_pages_status shows it. Transparent \
             huge pages do not concern this memory unless shmem_enabled says so.",
            "PostgreSQL manual, Managing Kernel Resources, \"Linux Huge Pages\"",
        )
        .can("on with too few free huge pages: the server does not start.")
        .brings(
            "on instead of off: 34 % more TPS [28, 40] of reads by key of 8 new sessions in their first 5 s, which \
             fill their page tables, with shared buffers of 2 GB",
        ),
    )
    .judges(huge_pages),
    Rule::of(
        page(
            "huge_page_size",
            Today::Depends,
            "Size of the huge pages for shared memory; 0 is the default size of the kernel.",
            "Pages of 1 GB must be reserved for themselves, usually on the kernel's command line, and shared \
         memory is rounded up to them.",
            manual::RESOURCES,
        )
        .since(14),
    ),
    Rule::of(
        page(
            "shared_memory_type",
            Today::DefaultIsRight,
            "How the main shared memory is had: mmap or sysv.",
            "sysv needs kernel.shmmax and kernel.shmall, and on Linux huge pages come with mmap only.",
            manual::RESOURCES,
        )
        .since(12),
    ),
    Rule::of(page(
        "dynamic_shared_memory_type",
        Today::DefaultIsRight,
        "How the memory of parallel queries is had: posix, sysv or mmap.",
        "posix uses /dev/shm, which containers often make too small. mmap uses files in the data \
         directory, which the kernel writes to storage; sysv counts against kernel.shmmax and \
         kernel.shmmni.",
        manual::RESOURCES,
    ))
    .judges(dynamic_shared_memory),
];

fn shared_buffers(inputs: &Inputs<'_>) -> Option<Choice> {
    let (bytes, pool) = (inputs.shared_buffers_bytes(), huge_pool_bytes(inputs.host));
    // What the server has in addition to its buffers is a few per cent of them.
    let idle = match pool > bytes + bytes / 4 {
        true => format!(
            "; of {} of huge pages the server fills little more than this, and nothing else can use the rest: where \
             you give it back (`pgdyno host check`), have these values computed again",
            units::bytes(pool)
        ),
        false if pool == 0 && bytes >= GB => {
            "; huge pages for it pay with many sessions (`pgdyno explain vm.nr_hugepages`)".to_owned()
        }
        false => String::new(),
    };
    choice("shared_buffers", format(bytes), format!("a quarter of {}{idle}", memory_words(inputs.host)))
}

fn judge_shared_buffers(given: &Given<'_>) -> Finding {
    let host = given.inputs.host;
    let memory = usable_memory_bytes(host);
    let bytes = given.bytes().unwrap_or(0);
    let share = bytes as f64 / memory.max(1) as f64 * 100.0;
    let recommended = format(given.inputs.shared_buffers_bytes());
    let words = memory_words(host);
    if let Some(most) = mappable_bytes(host).filter(|most| bytes > *most) {
        let reason = format!(
            "the server does not start: it is more than memory and swap together, {}, and the kernel refuses it",
            units::bytes(most)
        );
        return given.refused(reason).recommend(recommended);
    }
    if bytes >= memory {
        return given.dangerous(
            &recommended,
            format!("no less than the {words}: the server does not start, swaps or is killed"),
        );
    }
    match share {
        75.0.. => given.dangerous(
            &recommended,
            format!(
                "{share:.0} % of {words}: sessions and system \
         have the rest"
            ),
        ),
        45.0.. => given.improve(
            recommended,
            format!("{share:.0} % of {words}: many pages are held twice, here and in the page cache"),
        ),
        12.5.. => given.fine(format!("{share:.0} % of {words}")),
        _ => given.improve(recommended, format!("only {share:.1} % of {words}")),
    }
}

/// Memory outside `shared_buffers` and huge pages in bytes.
fn free_bytes(inputs: &Inputs<'_>) -> u64 {
    memory_outside(inputs.host, inputs.shared_buffers_bytes())
}

fn work_mem(inputs: &Inputs<'_>) -> Option<Choice> {
    let connections = u64::from(inputs.connections());
    let bytes = whole_mb(free_bytes(inputs) / (3 * connections), 4 * MB).min(256 * MB);
    if let Some((of_reports, reason)) = work_mem_of_reports(inputs).filter(|(more, _)| *more > bytes) {
        return choice("work_mem", format(of_reports), reason);
    }
    let rest = outside_words(inputs.host, inputs.shared_buffers_bytes());
    let reason = format!(
        "a third of the memory outside {rest} if {connections} connections use it once, from 4MB to 256MB: sessions \
         need more for themselves, and a query may use it several times"
    );
    choice("work_mem", format(bytes), reason)
}

/// A share for each of few long queries, which have workers: half of the memory outside `shared_buffers` if each of
/// their processes uses it once.
fn work_mem_of_reports(inputs: &Inputs<'_>) -> Option<(u64, String)> {
    let (clients, processes) = (u64::from(inputs.clients.max(1)), u64::from(inputs.cpus() / 2).min(16) + 1);
    let bytes = whole_mb(free_bytes(inputs) / (2 * clients * processes), 4 * MB).min(GB);
    let rest = outside_words(inputs.host, inputs.shared_buffers_bytes());
    let reason =
        format!("memory outside {rest} over 2 x {clients} queries of {processes} processes, up to 1GB");
    (inputs.purpose == Purpose::Olap).then_some((bytes, reason))
}

fn judge_work_mem(given: &Given<'_>) -> Finding {
    let bytes = given.bytes().unwrap_or(0);
    let sessions = given.other_number("max_connections").unwrap_or(100.0).max(1.0);
    let host = given.inputs.host;
    let shared = given.other_number("shared_buffers").unwrap_or(128.0 * MB as f64);
    let left = memory_outside(host, shared as u64) as f64;
    let all = bytes as f64 * sessions;
    let chosen = work_mem(given.inputs).map(|choice| choice.value).unwrap_or_default();
    let words = |what: &str| {
        let (all, left) = (units::bytes(all as u64), units::bytes(left as u64));
        let rest = outside_words(host, shared as u64);
        format!("once in each of {sessions} connections it is {all}{what} the {left} outside {rest}")
    };
    if given.is(&chosen) {
        given.fine(words(", of"))
    } else if all > left {
        given.improve(share_of(left, sessions), words(", more than"))
    } else if bytes < 4 * MB {
        given.improve(chosen, "below the default of 4MB sorts and hashes spill to files early")
    } else {
        given.fine(words(", of"))
    }
}

/// A third of the memory, for each of the sessions; never below what the server accepts.
fn share_of(memory: f64, sessions: f64) -> String {
    let bytes = ((memory / 3.0 / sessions) as u64).max(64 * KB);
    format(if bytes < MB { bytes } else { bytes / MB * MB })
}

fn hash_mem_multiplier(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "hashes suffer more from spilling than sorts; the default from version 15 on";
    let is_early = inputs.version_num < 150_000;
    let has_reports = matches!(inputs.purpose, Purpose::Olap | Purpose::Mixed);
    (is_early && has_reports).then(|| choice("hash_mem_multiplier", "2.0", reason))?
}

fn judge_hash_mem_multiplier(given: &Given<'_>) -> Finding {
    let multiplier = given.number().unwrap_or(1.0);
    let bytes = multiplier * given.other_number("work_mem").unwrap_or(4.0 * MB as f64);
    let words = format!("one hash table may take {} in each process of a query", units::bytes(bytes as u64));
    match usable_memory_bytes(given.inputs.host) as f64 {
        _ if given.is(given.default()) => given.by_recommendation(),
        memory if multiplier > 2.0 && bytes > memory / 16.0 => {
            given.improve("2.0", format!("{words}, more than a sixteenth of {}", units::bytes(memory as u64)))
        }
        _ => given.fine(words),
    }
}

fn maintenance_bytes(inputs: &Inputs<'_>) -> u64 {
    let usable = usable_memory_bytes(inputs.host);
    match inputs.purpose {
        Purpose::BulkLoad => whole_mb(usable / 8, MB).min(8 * GB),
        _ => whole_mb(usable / 16, MB).min(2 * GB),
    }
}

fn maintenance_work_mem(inputs: &Inputs<'_>) -> Option<Choice> {
    let words = memory_words(inputs.host);
    let reason = match inputs.purpose {
        Purpose::BulkLoad => format!("an eighth of {words}, up to 8GB: loads sort for their indexes"),
        _ => {
            format!("a sixteenth of {words}, at most 2GB: a larger value rarely makes an index build faster")
        }
    };
    choice("maintenance_work_mem", format(maintenance_bytes(inputs)), reason)
}

fn judge_maintenance(given: &Given<'_>) -> Finding {
    let bytes = given.bytes().unwrap_or(0);
    let memory = usable_memory_bytes(given.inputs.host);
    let recommended = maintenance_bytes(given.inputs);
    let own = given.other_number("autovacuum_work_mem").filter(|bytes| *bytes >= 0.0);
    let workers = given.other_number("autovacuum_max_workers").unwrap_or(3.0);
    let all = of_vacuum(given, own.unwrap_or(bytes as f64)) * workers + bytes as f64;
    let words = units::bytes(all as u64);
    if all > memory as f64 / 2.0 && bytes > recommended {
        let memory = units::bytes(memory);
        let reason =
            format!("{workers} workers of autovacuum and one command may take {words} of {memory} of memory");
        return given.improve(format(recommended), reason);
    }
    match bytes < recommended / 4 {
        true => given.by_recommendation(),
        false => given.fine(format!("up to {words} for autovacuum and one command")),
    }
}

/// What a vacuum takes of the bytes that it may: before 17 it keeps its list of dead rows in one piece of at most 1 GB.
fn of_vacuum(given: &Given<'_>, bytes: f64) -> f64 {
    if given.inputs.version_num < 170_000 { bytes.min(GB as f64) } else { bytes }
}

fn autovacuum_work_mem(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = match inputs.version_num {
        ..170_000 => {
            "maintenance_work_mem is larger for the sake of indexes; a vacuum uses no more than this"
        }
        _ => {
            "maintenance_work_mem is larger for the sake of indexes; this holds the dead rows of very large tables"
        }
    };
    (maintenance_bytes(inputs) > GB).then(|| choice("autovacuum_work_mem", "1GB", reason))?
}

fn judge_autovacuum_work_mem(given: &Given<'_>) -> Finding {
    let Some(bytes) = given.bytes() else { return given.fine("maintenance_work_mem applies") };
    let workers = given.other_number("autovacuum_max_workers").unwrap_or(3.0).max(1.0);
    let memory = usable_memory_bytes(given.inputs.host);
    let all = of_vacuum(given, bytes as f64) * workers;
    let words = format!("{workers} workers of autovacuum take up to {}", units::bytes(all as u64));
    if all > memory as f64 / 2.0 {
        // An eighth of memory for all workers, and what the server accepts at least.
        let each = whole_mb((memory as f64 / 8.0 / workers) as u64, MB).min(GB);
        return given.improve(format(each), format!("{words} of {} of memory", units::bytes(memory)));
    }
    match bytes > GB && given.inputs.version_num < 170_000 {
        true => given.no_effect("before 17 a vacuum uses at most 1GB: what is above does nothing"),
        false => given.fine(words),
    }
}

fn vacuum_buffer_usage_limit(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "the default from version 17 on: a larger ring flushes WAL less often";
    (inputs.version_num < 170_000).then(|| choice("vacuum_buffer_usage_limit", "2MB", reason))?
}

/// What there is of huge pages for `shared_buffers`.
enum Pool {
    /// It is not known.
    Unknown,
    /// Enough are free.
    Enough,
    /// Too few are free: how many, in words.
    Short(String),
}

impl Pool {
    fn of(given: &Given<'_>, shared: u64) -> Self {
        let pool = given.inputs.host.default_huge_pages();
        // The setting came in 14: before, pages have the kernel's default size.
        let own = given.other_number("huge_page_size").unwrap_or(0.0) as u64;
        if pool.page_bytes == 0 || ![0, pool.page_bytes].contains(&own) {
            return Self::Unknown;
        }
        let needed = shared.div_ceil(pool.page_bytes);
        let size = units::bytes(pool.page_bytes);
        match pool.unreserved() < needed {
            true => Self::Short(format!(
                "{} huge pages of {size} are free, and {needed} or more are needed",
                pool.unreserved()
            )),
            false => Self::Enough,
        }
    }
}

fn huge_pages(given: &Given<'_>) -> Finding {
    let shared = given.other_number("shared_buffers").unwrap_or(128.0 * MB as f64) as u64;
    // Of 8 bytes for each 4 kB.
    let table = units::bytes(shared / 512);
    let has_none = given.other("shared_memory_type").eq_ignore_ascii_case("sysv");
    match given.value.trim().to_ascii_lowercase().as_str() {
        _ if given.is_off() && shared >= 8 * GB => given.improve(
            "try",
            format!("a process that touches all of shared_buffers has a page table of {table}"),
        ),
        _ if given.is_off() => given.fine("with few shared_buffers page tables stay small"),
        "try" if has_none => given.no_effect("with shared_memory_type = sysv there are no huge pages"),
        _ if has_none => given
            .refused("the server does not start: with shared_memory_type = sysv there are no huge pages")
            .recommend("try"),
        "try" => given.fine(match Pool::of(given, shared) {
            Pool::Short(free) => format!("{free}: ordinary pages will be used"),
            Pool::Enough => "enough huge pages are free".to_owned(),
            Pool::Unknown => "where too few huge pages are free, ordinary pages will be used".to_owned(),
        }),
        _ => demanded(given, shared),
    }
}

/// Of `huge_pages = on`.
fn demanded(given: &Given<'_>, shared: u64) -> Finding {
    match Pool::of(given, shared) {
        Pool::Short(free) => given.refused(format!("the server does not start: {free}")).recommend("try"),
        Pool::Enough => given
            .fine("a server without huge pages does not start, rather than run with large page tables"),
        Pool::Unknown => given.unjudged(
            "without enough free huge pages the server does not start, and how many there are of this size is not \
             known",
        ),
    }
}

fn dynamic_shared_memory(given: &Given<'_>) -> Finding {
    match given.value.trim().to_ascii_lowercase().as_str() {
        "posix" => given.fine("it is the default on Linux"),
        "none" if given.inputs.version_num >= 120_000 => {
            given.refused("the server does not start: none was removed in 12").recommend("posix")
        }
        "none" => given.improve(
            "posix",
            "parallel queries and some extensions are impossible without \
         it",
        ),
        "mmap" => given.improve(
            "posix",
            "its files are in the data directory, and the kernel writes \
         them to storage",
        ),
        _ => given.improve("posix", "System V memory counts against kernel.shmmax and kernel.shmmni"),
    }
}
