//! Options of sessions and roles.

use crate::host::Rule;
use crate::host::compose::explained;
use crate::{Page, Today};

/// A switch of the planner: right to compare plans, wrong as a setting.
const fn switch(name: &'static str, also: &'static [&'static str], what: &'static str) -> Rule {
    explained(Page {
        name,
        also,
        what,
        today: Today::DefaultIsRight,
        why: "In a session it makes the planner use another plan, so that both can be measured; say so beside the \
              figures, as nobody runs that way. It does not forbid the plan but makes it expensive, so that it may \
              still be chosen where there is no other. As a setting of a server it hides wrong statistics or \
              costs, for all statements.",
        source: "PostgreSQL manual, Query Planning, Planner Method Configuration.",
        ..Page::EMPTY
    })
}

/// `enable_indexscan`.
pub static INDEX_SCAN: Rule =
    switch("enable_indexscan", &["SET enable_indexscan"], "Whether the planner likes index scans.");

/// `enable_indexonlyscan`.
pub static INDEX_ONLY_SCAN: Rule = switch(
    "enable_indexonlyscan",
    &["SET enable_indexonlyscan"],
    "Whether the planner likes index-only scans.",
);

/// `enable_bitmapscan`.
pub static BITMAP_SCAN: Rule =
    switch("enable_bitmapscan", &["SET enable_bitmapscan"], "Whether the planner likes bitmap scans.");

/// `enable_seqscan`.
pub static SEQ_SCAN: Rule =
    switch("enable_seqscan", &["SET enable_seqscan"], "Whether the planner likes sequential scans.");

/// `SET max_parallel_workers_per_gather`.
pub static WORKERS: Rule = explained(Page {
    name: "SET max_parallel_workers_per_gather",
    also: &[],
    what: "The most workers of one parallel part of a plan, for one session.",
    today: Today::Depends,
    why: "Since 9.6. The planner takes fewer if the size of the table or its parallel_workers say so, and at run \
          time fewer start if max_parallel_workers or max_worker_processes are used up. 0 switches parallel plans \
          off, which is right for short transactions that never profit.",
    source: "PostgreSQL manual, Resource Consumption, Worker Processes.",
    ..Page::EMPTY
});

/// `SET maintenance_work_mem`.
pub static MEMORY: Rule = explained(Page {
    name: "SET maintenance_work_mem",
    also: &[],
    what: "The memory of CREATE INDEX, VACUUM and the like, for one session.",
    today: Today::Kept,
    why: "Set for the session that builds large indexes, it costs no other. The build of an index shares it among \
          its workers, each of which wants 32 MB. Up to 16, VACUUM uses at most 1 GB of it for dead rows. Beyond \
          what the sort fills it brings nothing.",
    danger: "Memory that the host does not have, if several sessions set it at once.",
    source: "PostgreSQL manual, Resource Consumption, Memory, and CREATE INDEX.",
    ..Page::EMPTY
});

/// `search_path` of a role.
pub static SEARCH_PATH: Rule = explained(Page {
    name: "search_path",
    also: &["role search_path", "ALTER ROLE search_path"],
    what: "The schemas in which names without a schema are looked up.",
    today: Today::Depends,
    why: "Set for a role, it lets programs that name no schema work on one of several. It has no effect on speed \
          that was measured; a prepared statement is planned again when it changes. Give one role per schema \
          rather than changing it in sessions behind a connection pool.",
    danger: "A schema in the path in which others may create objects lets them replace functions that a superuser \
             calls.",
    source: "PostgreSQL manual, Schemas, The Schema Search Path and Secure Schema Usage Patterns.",
    ..Page::EMPTY
});
