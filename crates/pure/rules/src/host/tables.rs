//! Options of tables, sequences, sessions and roles: what no host shows.
use pgdyno_settings::here;

use super::rule::Rule;
use crate::{Page, Today};

const CREATE_TABLE: &str = "PostgreSQL manual, CREATE TABLE, Storage Parameters.";

/// A switch of the planner: right to compare plans, wrong as a setting.
const fn switch(name: &'static str, also: &'static [&'static str], what: &'static str) -> Rule {
    Rule::of(Page {
        name,
        also,
        what,
        today: Today::DefaultIsRight,
        why: "In a session it makes the planner use another plan, so that both can be measured; say so with the \
              figures, as no production server runs that way. It does not forbid the plan but makes it expensive, \
              so that it may still be chosen where there is no other. As a setting of a server it hides wrong \
              statistics or costs, for all statements.",
        source: "PostgreSQL manual, Query Planning, Planner Method Configuration.",
        ..Page::EMPTY
    })
}

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "parallel_workers",
        also: &["table parallel_workers"],
        what: "The workers of a parallel scan or index build of a table, instead of the number that follows from its \
              size.",
        today: Today::Depends,
        why: "Since 9.6. By size, a table gets one worker from min_parallel_table_scan_size on (8 MB) and one more \
             each time it is three times as large, so that even a table of 1 TiB gets 11. The option sets the number; \
             max_parallel_workers_per_gather or max_parallel_maintenance_workers, max_parallel_workers and \
             max_worker_processes still limit it. Workers Launched of EXPLAIN ANALYZE shows what came of it.",
        source: CREATE_TABLE,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "fillfactor",
        also: &["table fillfactor", "HOT"],
        what: "Up to which percentage inserts fill the pages of a table (100 by default) or of a B-tree (90).",
        today: Today::Depends,
        why: "An update that changes no indexed column and finds room for the new version on the page of the old one \
             leaves the indexes alone (HOT), and the old version goes without a VACUUM. Free space makes that more \
             likely for rows that are updated before others of their page, and the table larger for everybody who \
             reads it. n_tup_hot_upd of pg_stat_user_tables shows the share; where it is near n_tup_upd already, \
             nothing is to be had.",
        gain: here(
            "90 instead of 100: 14 % more TPS [5.4, 23] of TPC-B with 8 clients on tables just loaded",
        ),
        source: "PostgreSQL manual, CREATE TABLE, Storage Parameters, and Heap-Only Tuples (HOT).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "autovacuum_enabled",
        also: &["table autovacuum_enabled"],
        what: "Whether autovacuum treats a table.",
        today: Today::Depends,
        why: "Off keeps VACUUM and ANALYZE away from a table that is only filled, for the time of a load or a \
             measurement. Statistics are then not kept either, the visibility map is not set, so that index-only \
             scans read the table, and VACUUM against wraparound comes all the same, and all at once. Switch it on \
             again.",
        danger: "Dead rows and outdated statistics of a table that is changed.",
        source: CREATE_TABLE,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "table autovacuum_freeze_max_age",
        also: &["ALTER TABLE autovacuum_freeze_max_age"],
        what: "The age of a table at which VACUUM against wraparound is forced, for one table.",
        today: Today::NoEffect,
        why: "A value above the server's is ignored: for one table it can only be lowered. Set the server's higher to \
             delay such a VACUUM.",
        source: CREATE_TABLE,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "autovacuum_freeze_table_age",
        also: &["table autovacuum_freeze_table_age"],
        what: "The age at which autovacuum reads a whole table to freeze rows: vacuum_freeze_table_age for one table.",
        today: Today::DefaultIsRight,
        why: "It takes effect up to 95 % of autovacuum_freeze_max_age, of the server or the table, whichever is \
             smaller; raised alone, beyond that, it does nothing.",
        source: "PostgreSQL manual, CREATE TABLE, Storage Parameters, and vacuum_freeze_table_age.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "table autovacuum_multixact_freeze_max_age",
        also: &["ALTER TABLE autovacuum_multixact_freeze_max_age"],
        what: "The age in multixacts at which VACUUM against wraparound is forced, for one table.",
        today: Today::NoEffect,
        why: "A value above the server's is ignored: for one table it can only be lowered. Multixacts arise where \
             several transactions lock one row, as foreign keys do.",
        source: CREATE_TABLE,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "autovacuum_multixact_freeze_table_age",
        also: &["table autovacuum_multixact_freeze_table_age"],
        what: "The age in multixacts at which autovacuum reads a whole table: vacuum_multixact_freeze_table_age for \
              one table.",
        today: Today::DefaultIsRight,
        why: "It takes effect up to 95 % of autovacuum_multixact_freeze_max_age, of the server or the table, \
             whichever is smaller; raised alone, beyond that, it does nothing.",
        source: "PostgreSQL manual, CREATE TABLE, Storage Parameters, and vacuum_multixact_freeze_table_age.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "CACHE",
        also: &["sequence CACHE", "CREATE SEQUENCE CACHE", "ALTER SEQUENCE CACHE"],
        what: "How many numbers of a sequence a session takes at once; 1 by default.",
        today: Today::Kept,
        why: "With 1, sessions that insert concurrently meet at the one page of the sequence for each row. With 100 \
             or more each has its own range, and its rows go to another place of the index. WAL for a sequence is \
             written about every 32 numbers, more seldom with a larger cache. Numbers no longer follow the order of \
             inserts, and those that a session did not use are lost.",
        source: "PostgreSQL manual, CREATE SEQUENCE.",
        ..Page::EMPTY
    }),
    switch("enable_indexscan", &["SET enable_indexscan"], "Whether the planner likes index scans."),
    switch(
        "enable_indexonlyscan",
        &["SET enable_indexonlyscan"],
        "Whether the planner likes index-only scans.",
    ),
    switch("enable_bitmapscan", &["SET enable_bitmapscan"], "Whether the planner likes bitmap scans."),
    switch("enable_seqscan", &["SET enable_seqscan"], "Whether the planner likes sequential scans."),
    Rule::of(Page {
        name: "SET max_parallel_workers_per_gather",
        what: "The most workers of one parallel part of a plan, for one session.",
        today: Today::Depends,
        why: "Since 9.6. The planner takes fewer if the size of the table or its parallel_workers say so, and at run \
             time fewer start if max_parallel_workers or max_worker_processes are used up. 0 switches parallel plans \
             off, which is right for short transactions that never profit.",
        source: "PostgreSQL manual, Resource Consumption, Worker Processes.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "SET maintenance_work_mem",
        what: "The memory of CREATE INDEX, VACUUM and the like, for one session.",
        today: Today::Kept,
        why: "Set for the session that builds large indexes, it costs no other. The build of an index shares it among \
             its workers, each of which wants 32 MB. Up to 16, VACUUM uses at most 1 GB of it for dead rows. Beyond \
             what the sort fills it brings nothing.",
        danger: "Memory that the host does not have, if several sessions set it at once.",
        source: "PostgreSQL manual, Resource Consumption, Memory, and CREATE INDEX.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
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
    }),
];
