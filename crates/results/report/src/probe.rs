//! Results of `probe`, `prewarm` and `disk` as text: the blocks of a report without the rest of it.

use pgdyno_core::{
    disk::Disk,
    probe::{Prewarm, Probe},
    units,
};
use pgdyno_document::{block::Block, phrase::phrase, short_of_blocks, text_of_blocks};
use serde_json::Value;

use crate::{
    run::escape,
    sections::operations,
    source::{Place, Source},
};

/// Result of reading tables into shared buffers, by relation and in total. `whole` is how all of it is shown if there
/// are too many rows; with `None` all are.
pub fn prewarm(prewarm: &Prewarm, whole: Option<&str>) -> String {
    text(serde_json::to_value(prewarm), whole, |at| operations::prewarm::blocks(at, prewarm))
}

/// Result of a probe; `whole` as for [`prewarm`].
pub fn probe(probe: &Probe, whole: Option<&str>) -> String {
    text(serde_json::to_value(probe), whole, |at| operations::probe::blocks(at, probe))
}

/// Results of measurements of storage and of the clock; `whole` as for [`prewarm`].
pub fn disks(disks: &[Disk], whole: Option<&str>) -> String {
    text(serde_json::to_value(disks), whole, |at| {
        let all = || disks.iter().enumerate().map(|(index, of)| (at.at(index), of));
        let each = all().flat_map(|(at, of)| {
            let title = phrase![operations::disk::title(of), operations::disk::place(&at, of)];
            [Block::text(title)].into_iter().chain(operations::disk::blocks(&at, of))
        });
        let compared = operations::disk::side_by_side(all(), (&[], at)).map(|section| section.blocks);
        compared.into_iter().flatten().chain(each).collect()
    })
}

/// The blocks of a result as text. Its names come from a server, and may contain escape sequences.
fn text(
    found: serde_json::Result<Value>,
    whole: Option<&str>,
    blocks: impl Fn(&Place<'_>) -> Vec<Block>,
) -> String {
    let mut json = found.unwrap_or(Value::Null);
    escape(&mut json, units::printable);
    let blocks = blocks(&Source(json).root());
    match whole {
        Some(whole) => short_of_blocks(&blocks, whole),
        None => text_of_blocks(&blocks),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::probe::{
        Asked, CatalogShare, Count, CountBy, CountTable, CountWay, Ddl, DdlStatement, DdlTable, Depth,
        ExecutionTimes, Explained, FirstTouch, IndexDepth, PartitionedTable, Partitions, PlanCost, PlanWay,
        PrewarmTotal, ReadMethod, RelationKind, Residency, SeenBy, Shape, Size, Sizes, Touch, TouchedTable,
    };

    use super::*;

    fn server() -> Asked {
        Asked {
            version: "18.6".to_owned(),
            version_num: 180_006,
            database: "d".to_owned(),
            page_bytes: 8_192,
            shared_buffers_bytes: 16 << 20,
        }
    }

    fn shape(name: &str, partitions: u64) -> Shape {
        Shape { name: name.to_owned(), partitions, table_bytes: 13 << 20, index_bytes: 2 << 20 }
    }

    #[test]
    fn what_is_not_there_is_never_all() {
        let relation = |name: &str, pages, resident: Option<u64>, not_read: Option<&str>| Residency {
            name: name.to_owned(),
            kind: RelationKind::Table,
            pages,
            resident_pages: resident,
            share: resident.map(|resident| resident as f64 / pages as f64),
            not_read: not_read.map(str::to_owned),
        };
        let relations = vec![
            relation("public.a", 1_640, Some(1_639), None),
            relation("public.b", 10, Some(0), Some("no query reads it")),
        ];
        let (method, seen_by) = (ReadMethod::Scans, SeenBy::PgBuffercache);
        let total = PrewarmTotal::of(&relations, &server());
        let text = prewarm(
            &Prewarm { server: server(), method, duration_s: 0.0125, seen_by, relations, total },
            None,
        );
        let want = "\
PostgreSQL 18.6, database d, shared buffers 16 MiB

relation  pages  resident   share
public.a  1,640     1,639  99.9 %
public.b     10         0     0 %
all       1,650     1,639  99.3 %

12.8 MiB read by scans in 12.5 ms; checked with pg_buffercache
! public.b was not read: no query reads it
! they take 80.6 % of shared buffers: other reads may evict them
";
        assert_eq!(text, want);
    }

    fn statement(
        name: &str,
        seconds: &[f64],
        rewritten: Option<bool>,
        left_out: Option<&str>,
    ) -> DdlStatement {
        DdlStatement {
            statement: name.to_owned(),
            seconds: seconds.to_vec(),
            commit_seconds: Vec::new(),
            sessions: None,
            wal_bytes: Some(4_096),
            rewritten,
            times_of_first: None,
            left_out: left_out.map(str::to_owned),
        }
    }

    #[test]
    fn a_table_is_compared_with_the_first() {
        let one = DdlTable {
            table: shape("public.t", 0),
            statements: vec![
                statement("ADD COLUMN", &[0.001, 0.003, 0.002], Some(false), None),
                statement("VOLATILE", &[], None, Some("say --rewrite")),
                statement("VACUUM", &[0.5], None, None),
            ],
        };
        let two = DdlTable {
            table: shape("public.p", 8),
            statements: vec![statement("ADD COLUMN", &[0.009], Some(true), None)],
        };
        let text = probe(&Probe::Ddl(Ddl::new(server(), false, vec![one, two])), None);
        let want = "\
PostgreSQL 18.6, database d

  statement    median      min      max    WAL  rewrite  × first
public.t: table 13 MiB, indexes 2 MiB
  ADD COLUMN  2.00 ms  1.00 ms  3.00 ms  4 KiB  no
  VACUUM       500 ms   500 ms   500 ms  4 KiB
public.p: 8 partitions, table 13 MiB, indexes 2 MiB
  ADD COLUMN  9.00 ms  9.00 ms  9.00 ms  4 KiB  yes         4.50

skipped: VOLATILE: say --rewrite
! without a CHECKPOINT before each measurement: the role lacks the privilege
Changes were rolled back: the times do not include commits.
";
        assert_eq!(text, want);
    }

    #[test]
    fn commits_and_sessions_have_columns_where_there_are_any() {
        let commit = |one: DdlStatement| DdlStatement { commit_seconds: vec![0.004], ..one };
        let one = DdlTable {
            table: shape("public.p", 8),
            statements: vec![
                commit(statement("ADD COLUMN", &[0.001], Some(false), None)),
                DdlStatement { sessions: Some(4), ..statement("VACUUM", &[0.5], None, None) },
            ],
        };
        let ddl = Ddl { committed: true, ..Ddl::new(server(), true, vec![one]) };
        let text = probe(&Probe::Ddl(ddl), None);
        let want = "\
PostgreSQL 18.6, database d

  statement   sessions   median      min      max   commit    WAL  rewrite
public.p: 8 partitions, table 13 MiB, indexes 2 MiB
  ADD COLUMN            1.00 ms  1.00 ms  1.00 ms  4.00 ms  4 KiB  no
  VACUUM             4   500 ms   500 ms   500 ms           4 KiB

Changes were committed and undone: the tables keep dropped columns. Load them
again before you measure them.
";
        assert_eq!(text, want);
    }

    fn times(planning_s: f64, execution_s: Option<f64>, scans: u64) -> ExecutionTimes {
        ExecutionTimes {
            planning_s: Some(planning_s),
            execution_s,
            planning_hit_pages: Some(40),
            planning_read_pages: Some(3),
            hit_pages: 1,
            read_pages: 2,
            rows_estimated: Some(200_000),
            scans,
        }
    }

    #[test]
    fn a_first_touch_has_planning_and_execution_apart() {
        let table = TouchedTable {
            table: shape("public.t", 0),
            rows_estimated: Some(200_000),
            analyzed: false,
            statement_seconds: vec![0.005, 0.007, 0.006],
            executions: vec![
                Touch::new("first", &[times(0.003, Some(0.001), 1)]),
                Touch::new("second", &[times(0.0005, Some(0.00025), 1)]),
            ],
        };
        let found = FirstTouch { server: server(), limit: 10, cold: true, tables: vec![table] };
        let text = probe(&Probe::FirstTouch(found), None);
        let flowing = text.replace('\n', " ");
        for words in [
            "public.t: table 13 MiB, indexes 2 MiB\n",
            "the planner expects 200,000 rows in the table, which was never analyzed.",
            "first            3.00 ms    1.00 ms",
            "second            500 µs     250 µs",
            "SELECT * FROM public.t LIMIT 10 took 6.00 ms as the first statement of a session;",
            "Files were dropped from the page cache",
        ] {
            assert!(text.contains(words) || flowing.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn partitions_show_what_each_way_costs() {
        let cost = |planning_s, execution_s, scans, locks| {
            let mut cost = PlanCost::default();
            cost.add(&times(planning_s, execution_s, scans), (locks, 16));
            Some(cost)
        };
        let way = |name: &str, first, later| PlanWay { way: name.to_owned(), first, later, left_out: None };
        let table = PartitionedTable {
            table: shape("public.p", 4_096),
            key: vec!["aid".to_owned()],
            ways: vec![
                way("one row", cost(0.25, Some(0.001), 1, 8_195), cost(0.0001, Some(0.0005), 1, 2)),
                way("all rows", cost(0.5, None, 4_096, 8_194), cost(0.125, None, 4_096, 8_194)),
                PlanWay { left_out: Some("too old".to_owned()), ..way("generic", None, None) },
            ],
            catalogs: vec![CatalogShare {
                catalog: "pg_class".to_owned(),
                rows: Some(8_194),
                row_bytes: Some(2 << 20),
                size_bytes: 3 << 20,
            }],
            cache_bytes: Some(64 << 20),
        };
        let text = probe(&Probe::Partitions(Partitions { server: server(), tables: vec![table] }), None);
        for words in [
            "public.p: 4,096 partitions, table 13 MiB, indexes 2 MiB",
            "8,195 (16)",
            "all rows  500 ms        –  4,096  8,194 (16)  125 ms        –  8,194 (16)",
            "skipped: generic: too old",
            "pg_class  8,194         2 MiB          3 MiB",
            "Planning for all rows of public.p added 64 MiB to the caches of each session.",
        ] {
            let flowing = text.replace('\n', " ");
            assert!(text.contains(words) || flowing.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn a_count_with_another_plan_is_reported() {
        let way = |scan: &str, heap_fetches| CountWay {
            by: CountBy::Index,
            workers_asked: 2,
            plan: Explained {
                scans: vec![scan.to_owned()],
                scan_count: 8,
                workers_planned: 2,
                workers_launched: 1,
                hit_pages: 276,
                heap_fetches,
                ..Explained::default()
            },
            seconds: vec![0.05],
            rows_per_s: Some(2_000_000.0),
        };
        let ways = vec![way("Parallel Index Only Scan", 7), way("Seq Scan", 0)];
        let tables = vec![CountTable { table: shape("public.p", 8), rows: 100_000, ways }];
        let text = probe(&Probe::Count(Count { server: server(), checkpoints: true, tables }), None);
        let want = "\
PostgreSQL 18.6, database d

          workers                                            pages
  by     asked  ran   median      min      max     rows/s  hit  read  plan
public.p: 8 partitions, table 13 MiB, indexes 2 MiB, 100,000 rows
  index      2    1  50.0 ms  50.0 ms  50.0 ms  2,000,000  276     0  8 ×
                                                                      Parallel
                                                                      Index Only
                                                                      Scan
  index      2    1  50.0 ms  50.0 ms  50.0 ms  2,000,000  276     0  8 × Seq
                                                                      Scan

! requested index, but the server chose 8 × Seq Scan
! the index-only scan fetched 7 rows from the table; VACUUM helps
Pages and workers are from the first count of each line, which is not timed.
";
        assert_eq!(text, want);
    }

    #[test]
    fn depths_that_are_not_known_are_absent() {
        let index = IndexDepth {
            name: "public.t_pkey".to_owned(),
            table: "public.t".to_owned(),
            rows_estimated: Some(100_000),
            pages: 276,
            levels: None,
            levels_predicted: Some(2),
            pages_predicted: Some(276),
        };
        let text =
            probe(&Probe::Depth(Depth { server: server(), measured: false, indexes: vec![index] }), None);
        assert!(text.contains("public.t_pkey  100,000    276        276       –          2\n"), "{text}");
        assert!(text.contains("Levels were not measured"), "{text}");
    }

    #[test]
    fn sizes_are_in_binary_units() {
        let size = |name: &str, partitions, bytes| Size { name: name.to_owned(), partitions, bytes };
        let sizes = Sizes {
            server: server(),
            tables: vec![size("public.t", 8, Some(1_251 << 30))],
            indexes: Vec::new(),
            databases: vec![size("d", 0, None)],
            tablespaces: Vec::new(),
        };
        let text = probe(&Probe::Sizes(sizes), None);
        assert!(text.contains("tables    partitions      size\npublic.t           8  1.22 TiB\n"), "{text}");
        assert!(text.contains("databases  size\nd             –\n"), "{text}");
    }

    /// Control characters in names must not reach the terminal.
    #[test]
    fn names_of_a_foreign_database_are_escaped() {
        let name = "public.\"a\u{1b}[2Jb\nc\u{9b}m\u{202e}\"".to_owned();
        let server = || Asked { database: name.clone(), version: name.clone(), ..server() };
        let residency = Residency {
            name: name.clone(),
            kind: RelationKind::Table,
            pages: 1,
            resident_pages: Some(0),
            share: Some(0.0),
            not_read: Some("no query reads it".to_owned()),
        };
        let size = Size { name: name.clone(), partitions: 0, bytes: Some(1) };
        let sizes = || vec![size.clone()];
        let ddl = DdlTable { table: shape(&name, 0), statements: Vec::new() };
        let way = CountWay {
            by: CountBy::Index,
            workers_asked: 0,
            plan: Explained { scans: vec![name.clone()], scan_count: 1, ..Explained::default() },
            seconds: vec![0.05],
            rows_per_s: None,
        };
        let index = IndexDepth {
            name: name.clone(),
            table: name.clone(),
            rows_estimated: None,
            pages: 1,
            levels: None,
            levels_predicted: None,
            pages_predicted: None,
        };
        let prewarm = |of: &Prewarm| super::prewarm(of, None);
        let probe = |of: &Probe| super::probe(of, None);
        let texts = [
            prewarm(&Prewarm {
                server: server(),
                method: ReadMethod::Scans,
                duration_s: 0.1,
                seen_by: SeenBy::PgBuffercache,
                total: PrewarmTotal::of(std::slice::from_ref(&residency), &server()),
                relations: vec![residency],
            }),
            probe(&Probe::Ddl(Ddl { committed: false, ..Ddl::new(server(), true, vec![ddl]) })),
            probe(&Probe::Count(Count {
                server: server(),
                checkpoints: true,
                tables: vec![CountTable { table: shape(&name, 0), rows: 1, ways: vec![way] }],
            })),
            probe(&Probe::Depth(Depth { server: server(), measured: true, indexes: vec![index] })),
            probe(&Probe::Sizes(Sizes {
                server: server(),
                tables: sizes(),
                indexes: sizes(),
                databases: sizes(),
                tablespaces: sizes(),
            })),
        ];
        for text in texts {
            assert!(text.contains("public.\"a\\u{1b}[2Jb\\nc\\u{9b}m\\u{202e}\""), "{text}");
            assert!(!text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), "{text:?}");
            assert!(!text.contains("b\nc"), "{text}");
        }
    }
}
