//! DDL of the tables `test` and `log`, after article 002.

use pgdyno_rows::{
    load::{LoadPlan, Table},
    scaleup::id_type,
};

use super::{
    super::init::{joined, quoted},
    bounds::values,
};

/// Storage parameters that keep autovacuum from changing rows after the load.
pub(super) const FREEZING: [(&str, &str); 4] = [
    ("autovacuum_freeze_max_age", "1500000000"),
    ("autovacuum_freeze_table_age", "1400000000"),
    ("autovacuum_multixact_freeze_max_age", "1500000000"),
    ("autovacuum_multixact_freeze_table_age", "1400000000"),
];
/// Default fill factor, which is not written out.
const FULL: u32 = 100;

/// Storage parameters of a table as in `pg_class.reloptions`, separated by commas.
pub(super) fn options(plan: &LoadPlan, table: Table) -> String {
    let off = (table == Table::Log).then(|| ("autovacuum_enabled", "off".to_owned()));
    let filled = (plan.fillfactor != FULL).then(|| ("fillfactor", plan.fillfactor.to_string()));
    let freezing = FREEZING.map(|(name, value)| (name, value.to_owned()));
    let usual: Vec<_> = off.into_iter().chain(freezing).chain(filled).collect();
    joined(&plan.options_of(table, &usual))
}

/// Statements that create the empty tables.
pub(super) fn table_statements(plan: &LoadPlan) -> Vec<String> {
    let unlogged = if plan.unlogged { " UNLOGGED" } else { "" };
    let space = plan.tablespace.as_ref();
    let space = space.map_or_else(String::new, |name| format!(" TABLESPACE {}", quoted(name)));
    let with = |table| format!(" WITH ({}){space}", options(plan, table));
    // A primary key makes its column NOT NULL, and partitions must match their parent before it has one.
    let not_null = if plan.partitions.is_some() { " NOT NULL" } else { "" };
    let columns = format!("(id {}{not_null}, info text, crt_time timestamp)", id_type(plan.scale));
    let mut statements = Vec::new();
    match plan.partitions {
        None => statements.push(format!("CREATE{unlogged} TABLE test {columns}{}", with(Table::Test))),
        Some(partitions) => {
            let method = partitions.method.name();
            statements.push(format!("CREATE TABLE test {columns} PARTITION BY {method} (id){space}"));
            statements.extend((1..=partitions.count).map(|number| {
                let values = values(plan.scale, partitions.method, partitions.count, number);
                let with = with(Table::Test);
                format!("CREATE{unlogged} TABLE test_{number} PARTITION OF test FOR VALUES {values}{with}")
            }));
        }
    }
    let numbers: String = (1..=20).map(|number| format!("c{number} int8 DEFAULT 0, ")).collect();
    let columns = format!("(id serial8, {numbers}crt_time timestamptz)");
    statements.push(format!("CREATE{unlogged} TABLE log {columns}{}", with(Table::Log)));
    statements.push("ALTER SEQUENCE log_id_seq CACHE 100000".to_owned());
    statements
}

/// Statements that create the indexes of `log`, and its sequence, which continues after the loaded rows.
pub(super) fn indexes(plan: &LoadPlan) -> String {
    let space = plan.index_tablespace.as_ref();
    let space = space.map_or_else(String::new, |name| format!(" TABLESPACE {}", quoted(name)));
    let index = |column: &str| format!("CREATE INDEX ON log USING brin ({column}){space}");
    let mut sql = format!("{}; {}", index("id"), index("crt_time"));
    if plan.log_rows > 0 {
        sql += &format!("; SELECT pg_catalog.setval('log_id_seq', {})", plan.log_rows);
    }
    sql
}

#[cfg(test)]
mod tests {
    use pgdyno_rows::load::{LoadRequest, Set};

    use super::*;

    fn plan(partitions: u64) -> LoadPlan {
        let request = LoadRequest {
            set: Set::Scaleup,
            scale: Some(10),
            log_rows: Some(4),
            partitions: Some(partitions),
            fillfactor: Some(90),
            unlogged: true,
            tablespace: Some("t".to_owned()),
            index_tablespace: Some("i".to_owned()),
            ..LoadRequest::default()
        };
        request.plan(1).expect("it can be")
    }

    #[test]
    fn tables_are_those_of_the_article() {
        let [test, log, sequence] = &table_statements(&plan(0))[..] else { panic!("three statements") };
        assert!(
            test.starts_with("CREATE UNLOGGED TABLE test (id int, info text, crt_time timestamp) WITH (")
        );
        assert!(test.ends_with(
            ", autovacuum_multixact_freeze_table_age=1400000000, fillfactor=90) TABLESPACE \"t\""
        ));
        assert!(
            log.contains(", c20 int8 DEFAULT 0, crt_time timestamptz) WITH (autovacuum_enabled=off, "),
            "{log}"
        );
        assert_eq!(sequence, "ALTER SEQUENCE log_id_seq CACHE 100000");
        let indexes = indexes(&plan(0));
        assert!(indexes.starts_with("CREATE INDEX ON log USING brin (id) TABLESPACE \"i\"; "), "{indexes}");
        assert!(indexes.ends_with("; SELECT pg_catalog.setval('log_id_seq', 4)"), "{indexes}");
    }

    #[test]
    fn partitions_leave_no_key_without_a_place() {
        let statements = table_statements(&plan(3));
        assert!(statements[0].ends_with("PARTITION BY range (id) TABLESPACE \"t\""), "{}", statements[0]);
        for (statement, bounds) in statements[1..].iter().zip([
            "FROM (MINVALUE) TO (5) WITH (",
            "FROM (5) TO (9) WITH (",
            "FROM (9) TO (MAXVALUE) WITH (",
        ]) {
            assert!(
                statement.contains(bounds) && statement.starts_with("CREATE UNLOGGED TABLE test_"),
                "{statement}"
            );
        }
    }
}
