//! Compares definitions of tables with the plan: existence, keys, storage parameters and tablespaces.

use std::collections::BTreeMap;

use pgdyno_rows::load::{LoadPlan, Set, Table};
use pgdyno_wire::{Row, Session, WireError};

use super::{
    super::init::{self, foreign_key_names},
    scaleup, tpcc,
};

/// Definition of a table or partition, as expected or as found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Relation {
    /// Whether the table is partitioned, and so has no storage.
    partitioned: bool,
    unlogged: bool,
    /// Storage parameters, separated by commas.
    options: String,
    tablespace: Option<String>,
    /// Columns of the valid primary key, separated by commas.
    key: Option<String>,
    key_tablespace: Option<String>,
    /// Number of valid BRIN indexes.
    brin_indexes: u64,
    /// Columns of every other valid index, separated by commas.
    indexes: Vec<String>,
    /// Names of the valid foreign keys.
    foreign_keys: Vec<String>,
    /// Columns with a default, separated by commas.
    defaults: String,
}

/// Faults of a plan's tables in the session's first schema, each in a sentence.
pub(super) fn faults(session: &mut Session, plan: &LoadPlan) -> Result<Vec<String>, WireError> {
    let found = found(session)?;
    let expected = expected(plan);
    Ok(expected.iter().flat_map(|(name, expected)| compared(name, expected, found.get(name))).collect())
}

/// Expected tables by name.
fn expected(plan: &LoadPlan) -> Vec<(String, Relation)> {
    let spread = plan.set.spread();
    let partitions = plan.partitions.map_or(0, |partitions| partitions.count);
    let stored = |table: Table| Relation {
        unlogged: plan.unlogged,
        options: options(plan, table),
        tablespace: plan.tablespace.clone(),
        key: table.key().map(str::to_owned),
        brin_indexes: if table == Table::Log { 2 } else { 0 },
        defaults: defaults(table),
        key_tablespace: table.key().and_then(|_| plan.index_tablespace.clone()),
        indexes: table.index().map(str::to_owned).into_iter().collect(),
        foreign_keys: if plan.foreign_keys { foreign_keys(table) } else { Vec::new() },
        ..Relation::default()
    };
    let whole = |table: Table| {
        let stored = stored(table);
        // As in pgbench, with partitions only these are unlogged.
        let unlogged = plan.unlogged && (partitions == 0 || plan.set != Set::Tpcb);
        if !spread.contains(&table) || partitions == 0 {
            return Relation { unlogged, ..stored };
        }
        let Relation { key, indexes, foreign_keys, .. } = stored;
        Relation { partitioned: true, key, indexes, foreign_keys, ..Relation::default() }
    };
    let tables = plan.set.tables().iter();
    let tables = tables.map(|table| (table.generator().table().to_owned(), whole(*table)));
    let parts = spread.iter().flat_map(|&table| {
        (1..=partitions).map(move |number| {
            // Foreign keys belong to the partitioned table.
            let part = Relation { foreign_keys: Vec::new(), ..stored(table) };
            (format!("{}_{number}", table.generator().table()), part)
        })
    });
    tables.chain(parts).collect()
}

/// Storage parameters requested when the table was created.
fn options(plan: &LoadPlan, table: Table) -> String {
    // The catalog has those of a TOAST table elsewhere.
    let own = plan.table_options.iter().filter(|option| !option.is_of_toast()).cloned().collect();
    let plan = &LoadPlan { table_options: own, ..plan.clone() };
    match table {
        Table::Test | Table::Log => scaleup::options(plan, table),
        Table::Branches | Table::Tellers | Table::Accounts | Table::History => init::options(plan, table),
        Table::Tpcc(table) => tpcc::options(plan, table),
    }
}

fn foreign_keys(table: Table) -> Vec<String> {
    match table {
        Table::Tpcc(table) => tpcc::foreign_key_names(table),
        _ => foreign_key_names(table.generator().table()),
    }
}

/// Columns that have a permanent default.
fn defaults(table: Table) -> String {
    let columns = table.generator().columns();
    let names =
        columns.iter().map(|column| column.name).filter(|name| table == Table::Log && *name != "crt_time");
    names.collect::<Vec<_>>().join(", ")
}

/// All tables of the schema by name.
fn found(session: &mut Session) -> Result<BTreeMap<String, Relation>, WireError> {
    let rows = session.query(
        "SELECT c.relname, c.relkind, c.relpersistence, pg_catalog.array_to_string(c.reloptions, ', '), \
         coalesce(t.spcname, d.spcname), k.names, coalesce(s.spcname, d.spcname), \
         (SELECT pg_catalog.string_agg(f.conname, ',') FROM pg_catalog.pg_constraint f \
         WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.convalidated), \
         (SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a \
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.atthasdef), \
         (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i \
         JOIN pg_catalog.pg_class b ON b.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = b.relam \
         WHERE i.indrelid = c.oid AND i.indisvalid AND m.amname = 'brin'), \
         (SELECT pg_catalog.string_agg((SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum) \
         FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indexrelid), ';') FROM pg_catalog.pg_index i \
         WHERE i.indrelid = c.oid AND i.indisvalid AND NOT i.indisprimary) \
         FROM pg_catalog.pg_class c CROSS JOIN (SELECT t.spcname FROM pg_catalog.pg_database b \
         JOIN pg_catalog.pg_tablespace t ON t.oid = b.dattablespace \
         WHERE b.datname = pg_catalog.current_database()) d \
         LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace \
         LEFT JOIN (SELECT i.indrelid, i.indexrelid, pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum) AS names \
         FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indexrelid \
         WHERE i.indisprimary AND i.indisvalid GROUP BY 1, 2) k ON k.indrelid = c.oid \
         LEFT JOIN pg_catalog.pg_class x ON x.oid = k.indexrelid \
         LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = x.reltablespace \
         WHERE c.relkind IN ('r', 'p') AND c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n \
         WHERE n.nspname = pg_catalog.current_schema())",
    )?;
    Ok(rows.iter().filter_map(|row| Some((row.get(0)?.to_owned(), read(row)))).collect())
}

fn read(row: &Row) -> Relation {
    let text = |column| row.get(column).map(str::to_owned);
    let names = |column| row.get(column).into_iter().flat_map(|list| list.split(',').map(str::to_owned));
    Relation {
        partitioned: row.get(1) == Some("p"),
        unlogged: row.get(2) == Some("u"),
        options: text(3).unwrap_or_default(),
        tablespace: text(4),
        key: text(5),
        key_tablespace: text(6),
        foreign_keys: names(7).collect(),
        defaults: text(8).unwrap_or_default(),
        brin_indexes: row.parse(9).unwrap_or(0),
        indexes: row.get(10).into_iter().flat_map(|list| list.split(';').map(str::to_owned)).collect(),
    }
}

/// Differences between the expected and the found table. Without a planned tablespace any one is right.
fn compared(name: &str, expected: &Relation, found: Option<&Relation>) -> Vec<String> {
    let Some(found) = found else { return vec![format!("{name} does not exist")] };
    let mut faults = Vec::new();
    let mut wrong = |is: bool, what: String| {
        if is {
            faults.push(format!("{name} {what}"));
        }
    };
    let kind = |partitioned: bool| if partitioned { "partitioned" } else { "not partitioned" };
    let logged = |unlogged: bool| if unlogged { "unlogged" } else { "logged" };
    let some = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    let differs = |is: &str, must: &str| format!("{is}, {must} was expected");
    let (is, must) = (found.partitioned, expected.partitioned);
    wrong(is != must, format!("is {}", differs(kind(is), kind(must))));
    let (is, must) = (found.unlogged, expected.unlogged);
    wrong(is != must, format!("is {}", differs(logged(is), logged(must))));
    let (is, must) = (&found.options, &expected.options);
    wrong(is != must, format!("has the storage parameters {}", differs(&some(is), &some(must))));
    if let Some(must) = &expected.key {
        let lacks = format!("lacks its primary key ({must})");
        wrong(found.key.is_none(), lacks);
        let other = found.key.as_ref().filter(|is| *is != must);
        wrong(other.is_some(), format!("has the primary key {}", differs(other.map_or("", |is| is), must)));
    }
    let tablespaces = [
        ("is in the tablespace", &found.tablespace, &expected.tablespace),
        ("has its key in the tablespace", &found.key_tablespace, &expected.key_tablespace),
    ];
    for (what, is, must) in tablespaces {
        if let (Some(is), Some(must)) = (is, must) {
            wrong(is != must, format!("{what} {}", differs(is, must)));
        }
    }
    // On a table loaded without BRIN indexes a user may create any.
    let (is, must) = (found.brin_indexes, expected.brin_indexes);
    wrong(must > 0 && is != must, format!("has {is} BRIN indexes, {must} were expected"));
    for index in expected.indexes.iter().filter(|index| !found.indexes.contains(index)) {
        wrong(true, format!("lacks its index on ({index})"));
    }
    for key in expected.foreign_keys.iter().filter(|key| !found.foreign_keys.contains(key)) {
        wrong(true, format!("lacks the foreign key {key}"));
    }
    let (is, must) = (&found.defaults, &expected.defaults);
    wrong(is != must, format!("has defaults for {}", differs(&some(is), &some(must))));
    faults
}

#[cfg(test)]
mod tests {
    use pgdyno_rows::load::LoadRequest;

    use super::*;

    fn plan(partitions: u64) -> LoadPlan {
        let request = LoadRequest {
            scale: Some(1),
            partitions: Some(partitions),
            foreign_keys: true,
            index_tablespace: Some("fast".to_owned()),
            ..LoadRequest::default()
        };
        request.plan(1).expect("it can be")
    }

    /// A change to an expected table, and the resulting fault.
    type Change = (fn(&mut Relation), &'static str);

    #[test]
    fn every_fault_is_named() {
        let changes: [Change; 9] = [
            (|table| table.partitioned = true, "is partitioned, not partitioned was expected"),
            (|table| table.unlogged = true, "is unlogged, logged was expected"),
            (|table| table.options.clear(), "has the storage parameters none, fillfactor=100 was expected"),
            (|table| table.key = None, "lacks its primary key (aid)"),
            (|table| table.key = Some("bid".to_owned()), "has the primary key bid, aid was expected"),
            (
                |table| table.key_tablespace = Some("slow".to_owned()),
                "has its key in the tablespace slow, fast was expected",
            ),
            (|table| table.foreign_keys.clear(), "lacks the foreign key pgbench_accounts_bid_fkey"),
            (|table| table.defaults = "abalance".to_owned(), "has defaults for abalance, none was expected"),
            (|_| (), ""),
        ];
        let (name, expected) = expected(&plan(0)).swap_remove(2);
        for (change, said) in changes {
            let mut found = expected.clone();
            change(&mut found);
            let faults = compared(&name, &expected, Some(&found));
            let said = if said.is_empty() { Vec::new() } else { vec![format!("pgbench_accounts {said}")] };
            assert_eq!(faults, said);
        }
        assert_eq!(compared(&name, &expected, None), ["pgbench_accounts does not exist"]);
    }

    #[test]
    fn partitions_have_what_the_whole_has_not() {
        let all: BTreeMap<_, _> = expected(&plan(2)).into_iter().collect();
        assert_eq!(all.len(), 6);
        let (whole, part) = (&all["pgbench_accounts"], &all["pgbench_accounts_2"]);
        assert_eq!((whole.partitioned, whole.options.as_str(), whole.foreign_keys.len()), (true, "", 1));
        assert_eq!(
            (part.partitioned, part.options.as_str(), part.foreign_keys.len()),
            (false, "fillfactor=100", 0)
        );
        assert_eq!((&whole.key, &whole.key_tablespace), (&part.key, &None));
        let history = &all["pgbench_history"];
        assert_eq!(history.key_tablespace, None, "it has no key");
        let unlogged: BTreeMap<_, _> =
            expected(&LoadPlan { unlogged: true, ..plan(2) }).into_iter().collect();
        let is = |name: &str| unlogged[name].unlogged;
        assert!(is("pgbench_accounts_1") && !is("pgbench_accounts") && !is("pgbench_history"));
        let log = LoadRequest { set: Set::Scaleup, scale: Some(1), ..LoadRequest::default() }
            .plan(1)
            .expect("it can be");
        let (name, log) = expected(&log).swap_remove(1);
        assert!(
            log.defaults.starts_with("id, c1, c2, ") && log.defaults.ends_with(", c20"),
            "{}",
            log.defaults
        );
        for brin_indexes in [1, 4] {
            let faults = compared(&name, &log, Some(&Relation { brin_indexes, ..log.clone() }));
            assert_eq!(faults, [format!("log has {brin_indexes} BRIN indexes, 2 were expected")]);
        }
        assert_eq!((&history.key, history.options.as_str(), history.foreign_keys.len()), (&None, "", 3));
    }
}
