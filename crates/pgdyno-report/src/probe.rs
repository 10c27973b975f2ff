//! Results of `probe` and `prewarm` as text.

use pgdyno_core::{
    probe::{
        Asked, Count, CountTable, CountWay, Ddl, DdlTable, Depth, IndexDepth, Prewarm, Probe, Residency,
        SeenBy, Shape, Size, Sizes, median,
    },
    units,
};

use crate::layout::grid;

/// Share of shared buffers above which tables may evict each other.
const NEARLY_FULL: f64 = 0.75;

/// Result of reading tables into shared buffers, by relation and in total.
pub fn prewarm(prewarm: &Prewarm) -> String {
    let server = &prewarm.server;
    let mut rows: Vec<_> = prewarm.relations.iter().map(resident).collect();
    let all = ["all".to_owned(), units::count(prewarm.pages()), pages(prewarm.resident_pages())];
    let [name, count, there] = all;
    let total = [name, count, there, share(prewarm.share())];
    let bytes = prewarm.pages() * server.page_bytes;
    let was_read = prewarm.relations.iter().filter(|relation| relation.not_read.is_none());
    let read: u64 = was_read.map(|relation| relation.pages).sum();
    let mut text =
        format!("{}, shared buffers {}\n\n", heading(server), units::bytes(server.shared_buffers_bytes));
    if rows.len() < 60 {
        rows.push(total);
        text.push_str(&grid(RESIDENCY, &rows));
    } else {
        text.push_str(&grid(RESIDENCY, &rows));
        text.push_str(&grid(RESIDENCY, &[total]));
    }
    text.push_str(&format!(
        "\n{} read by {} in {}; checked with {}\n",
        units::bytes(read * server.page_bytes),
        prewarm.method.name(),
        units::duration(prewarm.duration_s),
        prewarm.seen_by.name()
    ));
    for relation in &prewarm.relations {
        if let Some(why) = &relation.not_read {
            let name = units::printable(&relation.name);
            text.push_str(&format!("! {name} was not read: {why}\n"));
        }
    }
    let full = bytes as f64 / server.shared_buffers_bytes as f64;
    if full > NEARLY_FULL {
        let full = units::percent(full);
        text.push_str(&format!("! they take {full} of shared buffers: other reads may evict them\n"));
    }
    if prewarm.seen_by == SeenBy::SecondRead {
        text.push_str(
            "for indexes, the second read measures only the share of leaf pages that were resident\n",
        );
    }
    text
}

const RESIDENCY: [&str; 4] = ["<relation", "pages", "resident", "share"];

fn resident(relation: &Residency) -> [String; 4] {
    [
        units::printable(&relation.name).into_owned(),
        units::count(relation.pages),
        pages(relation.resident_pages),
        share(relation.share),
    ]
}

fn pages(pages: Option<u64>) -> String {
    units::or_absent(pages, units::count)
}

fn share(share: Option<f64>) -> String {
    units::or_absent(share, units::part)
}

/// Result of a probe.
pub fn probe(probe: &Probe) -> String {
    match probe {
        Probe::Ddl(probe) => ddl(probe),
        Probe::Count(probe) => count(probe),
        Probe::Depth(probe) => depth(probe),
        Probe::Sizes(probe) => sizes(probe),
    }
}

fn heading(server: &Asked) -> String {
    let [version, database] = [&server.version, &server.database].map(|text| units::printable(text));
    format!("PostgreSQL {version}, database {database}")
}

fn shaped(shape: &Shape) -> String {
    let parts = match shape.partitions {
        0 => String::new(),
        parts => format!("{}, ", units::plural(parts, "partition")),
    };
    let (table, index) = (units::bytes(shape.table_bytes), units::bytes(shape.index_bytes));
    format!("{}: {parts}table {table}, indexes {index}", units::printable(&shape.name))
}

fn checkpoints(made: bool) -> &'static str {
    if made { "" } else { "! without a CHECKPOINT before each measurement: the role lacks the privilege\n" }
}

/// Median, minimum and maximum.
fn times(seconds: &[f64]) -> [String; 3] {
    let least = seconds.iter().copied().reduce(f64::min);
    let most = seconds.iter().copied().reduce(f64::max);
    [median(seconds), least, most].map(|seconds| units::or_absent(seconds, units::duration))
}

fn ddl(ddl: &Ddl) -> String {
    let mut text = format!("{}\n", heading(&ddl.server));
    let first = ddl.tables.first();
    for (number, table) in ddl.tables.iter().enumerate() {
        let baseline = first.filter(|_| number > 0);
        text.push_str(&format!("\n{}\n{}", shaped(&table.table), ddl_table(table, baseline)));
    }
    text + checkpoints(ddl.checkpoints) + "\nchanges were rolled back: the times do not include commits\n"
}

fn ddl_table(table: &DdlTable, baseline: Option<&DdlTable>) -> String {
    let tried = table.statements.iter().filter(|statement| statement.left_out.is_none());
    let rows: Vec<_> = tried
        .map(|statement| {
            let [middle, least, most] = times(&statement.seconds);
            let other = baseline.and_then(|baseline| {
                let other =
                    baseline.statements.iter().find(|other| other.statement == statement.statement)?;
                Some(median(&statement.seconds)? / median(&other.seconds)?)
            });
            let rewrite = statement.rewritten.map_or("", |rewritten| if rewritten { "yes" } else { "no" });
            let times = other.map_or(String::new(), |times| format!("× {}", units::significant(times)));
            let wal = units::or_absent(statement.wal_bytes, units::bytes);
            [statement.statement.clone(), middle, least, most, wal, rewrite.to_owned(), times]
        })
        .collect();
    let first = if baseline.is_some() { "first table" } else { "" };
    let mut text = grid(["<statement", "median", "min", "max", "WAL", "<rewrite", first], &rows);
    for statement in &table.statements {
        if let Some(why) = &statement.left_out {
            text.push_str(&format!("skipped: {}: {why}\n", statement.statement));
        }
    }
    text
}

fn count(count: &Count) -> String {
    let mut text = format!("{}\n", heading(&count.server));
    for table in &count.tables {
        let rows = units::plural(table.rows, "row");
        text.push_str(&format!("\n{}, {rows}\n{}", shaped(&table.table), count_table(table)));
    }
    text + checkpoints(count.checkpoints)
        + "\npages and workers are from the first count of each line, which is not timed\n"
}

fn count_table(table: &CountTable) -> String {
    let row = |way: &CountWay| {
        let [middle, least, most] = times(&way.seconds);
        let rate = median(&way.seconds).map(|seconds| table.rows as f64 / seconds);
        let plan = &way.plan;
        [
            way.by.name().to_owned(),
            units::count(way.workers_asked),
            units::count(plan.workers_planned),
            units::count(plan.workers_launched),
            middle,
            least,
            most,
            units::or_absent(rate, units::rate),
            units::count(plan.hit_pages),
            units::count(plan.read_pages),
            scans(way),
        ]
    };
    let head =
        ["<by", "workers", "planned", "launched", "median", "min", "max", "rows/s", "hit", "read", "<plan"];
    let mut text = grid(head, &table.ways.iter().map(row).collect::<Vec<_>>());
    for way in table.ways.iter().filter(|way| !way.as_asked()) {
        let scans = scans(way);
        text.push_str(&format!("! requested {}, but the server chose {scans}\n", way.by.name()));
    }
    if let Some(way) = table.ways.iter().find(|way| way.plan.heap_fetches > 0) {
        let rows = units::plural(way.plan.heap_fetches, "row");
        text.push_str(&format!("! the index-only scan fetched {rows} from the table; VACUUM helps\n"));
    }
    text
}

fn scans(way: &CountWay) -> String {
    let scans = way.plan.scans.join(" and ");
    let scans = units::printable(&scans).into_owned();
    match way.plan.scan_count {
        0 => "no scan".to_owned(),
        1 => scans,
        count => format!("{} × {scans}", units::count(count)),
    }
}

fn depth(depth: &Depth) -> String {
    let row = |index: &IndexDepth| {
        [
            units::printable(&index.name).into_owned(),
            pages(index.rows_estimated),
            units::count(index.pages),
            pages(index.pages_predicted),
            pages(index.levels),
            pages(index.levels_predicted),
        ]
    };
    let head = ["<index", "rows", "pages", "predicted", "levels", "predicted"];
    let rows: Vec<_> = depth.indexes.iter().map(row).collect();
    let mut text = format!("{}\n\n{}", heading(&depth.server), grid(head, &rows));
    text.push_str("\nlevels: pages from the root to a leaf; rows: estimate of the last ANALYZE\n");
    if !depth.measured {
        text.push_str(
            "levels were not measured: this requires the extension pageinspect (--create-extension) and a superuser\n",
        );
    }
    text
}

fn sizes(sizes: &Sizes) -> String {
    let mut text = format!("{}\n", heading(&sizes.server));
    for (title, list) in [
        ("tables", &sizes.tables),
        ("indexes", &sizes.indexes),
        ("databases", &sizes.databases),
        ("tablespaces", &sizes.tablespaces),
    ] {
        let row = |size: &Size| {
            let parts = if size.partitions > 0 { units::count(size.partitions) } else { String::new() };
            let name = units::printable(&size.name).into_owned();
            [name, parts, units::or_absent(size.bytes, units::bytes)]
        };
        let rows: Vec<_> = list.iter().map(row).collect();
        let parted = list.iter().any(|size| size.partitions > 0);
        let (title, parts) = (format!("<{title}"), if parted { "partitions" } else { "" });
        text.push_str(&format!("\n{}", grid([&title, parts, "size"], &rows)));
    }
    text
}

#[cfg(test)]
mod tests {
    use pgdyno_core::probe::{CountBy, DdlStatement, Explained, ReadMethod, RelationKind};

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
        let text = prewarm(&Prewarm { server: server(), method, duration_s: 0.0125, seen_by, relations });
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
            wal_bytes: Some(4_096),
            rewritten,
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
        let text = probe(&Probe::Ddl(Ddl { server: server(), checkpoints: false, tables: vec![one, two] }));
        let want = "\
PostgreSQL 18.6, database d

public.t: table 13 MiB, indexes 2 MiB
statement    median      min      max    WAL  rewrite
ADD COLUMN  2.00 ms  1.00 ms  3.00 ms  4 KiB  no
VACUUM       500 ms   500 ms   500 ms  4 KiB
skipped: VOLATILE: say --rewrite

public.p: 8 partitions, table 13 MiB, indexes 2 MiB
statement    median      min      max    WAL  rewrite  first table
ADD COLUMN  9.00 ms  9.00 ms  9.00 ms  4 KiB  yes           × 4.50
! without a CHECKPOINT before each measurement: the role lacks the privilege

changes were rolled back: the times do not include commits
";
        assert_eq!(text, want);
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
        };
        let ways = vec![way("Parallel Index Only Scan", 7), way("Seq Scan", 0)];
        let tables = vec![CountTable { table: shape("public.p", 8), rows: 100_000, ways }];
        let text = probe(&Probe::Count(Count { server: server(), checkpoints: true, tables }));
        let want = "\
PostgreSQL 18.6, database d

public.p: 8 partitions, table 13 MiB, indexes 2 MiB, 100,000 rows
by     workers  planned  launched   median      min      max     rows/s  hit  read  plan
index        2        2         1  50.0 ms  50.0 ms  50.0 ms  2,000,000  276     0  8 × Parallel Index Only Scan
index        2        2         1  50.0 ms  50.0 ms  50.0 ms  2,000,000  276     0  8 × Seq Scan
! requested index, but the server chose 8 × Seq Scan
! the index-only scan fetched 7 rows from the table; VACUUM helps

pages and workers are from the first count of each line, which is not timed
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
        let text = probe(&Probe::Depth(Depth { server: server(), measured: false, indexes: vec![index] }));
        assert!(text.contains("public.t_pkey  100,000    276        276       –          2\n"), "{text}");
        assert!(text.contains("levels were not measured"), "{text}");
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
        let text = probe(&Probe::Sizes(sizes));
        assert!(text.contains("tables    partitions      size\npublic.t           8  1.22 TiB\n"), "{text}");
        assert!(text.contains("databases    size\nd               –\n"), "{text}");
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
        let texts = [
            prewarm(&Prewarm {
                server: server(),
                method: ReadMethod::Scans,
                duration_s: 0.1,
                seen_by: SeenBy::PgBuffercache,
                relations: vec![residency],
            }),
            probe(&Probe::Ddl(Ddl { server: server(), checkpoints: true, tables: vec![ddl] })),
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
