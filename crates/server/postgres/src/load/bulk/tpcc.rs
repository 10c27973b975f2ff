//! DDL of the TPC-C tables (clauses 1.3 and 1.4).

use pgdyno_rows::{
    load::{self, LoadPlan},
    tpcc::{Field, Table},
};

use super::{
    super::init::{joined, quoted},
    bounds::values,
};

/// Foreign keys: table, its columns, and the referenced table (clause 1.3).
const FOREIGN_KEYS: [(Table, &str, Table); 10] = [
    (Table::District, "d_w_id", Table::Warehouse),
    (Table::Customer, "c_w_id, c_d_id", Table::District),
    (Table::History, "h_c_w_id, h_c_d_id, h_c_id", Table::Customer),
    (Table::History, "h_w_id, h_d_id", Table::District),
    (Table::NewOrder, "no_w_id, no_d_id, no_o_id", Table::Orders),
    (Table::Orders, "o_w_id, o_d_id, o_c_id", Table::Customer),
    (Table::OrderLine, "ol_w_id, ol_d_id, ol_o_id", Table::Orders),
    (Table::OrderLine, "ol_supply_w_id, ol_i_id", Table::Stock),
    (Table::Stock, "s_w_id", Table::Warehouse),
    (Table::Stock, "s_i_id", Table::Item),
];

/// Storage parameters of a table as in `pg_class.reloptions`.
pub(super) fn options(plan: &LoadPlan, table: Table) -> String {
    let usual = [("fillfactor", plan.fillfactor.to_string())];
    joined(&plan.options_of(load::Table::Tpcc(table), &usual))
}

/// Statements that create the empty tables.
pub(super) fn table_statements(plan: &LoadPlan) -> Vec<String> {
    Table::ALL.into_iter().flat_map(|table| statements_of(plan, table)).collect()
}

/// Statements that create a table and its partitions by warehouse; items, which belong to all warehouses, have none.
fn statements_of(plan: &LoadPlan, table: Table) -> Vec<String> {
    let unlogged = if plan.unlogged { " UNLOGGED" } else { "" };
    let space = plan.tablespace.as_ref();
    let space = space.map_or_else(String::new, |name| format!(" TABLESPACE {}", quoted(name)));
    let with = format!(" WITH ({}){space}", options(plan, table));
    let columns: Vec<_> = table.fields().iter().map(Field::definition).collect();
    let (name, columns) = (table.name(), columns.join(", "));
    let Some((partitions, warehouse)) = plan.partitions.zip(table.warehouse()) else {
        return vec![format!("CREATE{unlogged} TABLE {name} ({columns}){with}")];
    };
    let method = partitions.method;
    let whole =
        format!("CREATE TABLE {name} ({columns}) PARTITION BY {} ({warehouse}){space}", method.name());
    let parts = (1..=partitions.count).map(|number| {
        let values = values(plan.scale, method, partitions.count, number);
        format!("CREATE{unlogged} TABLE {name}_{number} PARTITION OF {name} FOR VALUES {values}{with}")
    });
    std::iter::once(whole).chain(parts).collect()
}

/// The statement that adds the foreign key with this number.
pub(super) fn foreign_key(number: usize) -> String {
    let (table, columns, to) = FOREIGN_KEYS[number];
    format!(
        "ALTER TABLE {} ADD CONSTRAINT {} FOREIGN KEY ({columns}) REFERENCES {}",
        table.name(),
        foreign_key_name(table, to),
        to.name()
    )
}

fn foreign_key_name(table: Table, to: Table) -> String {
    format!("{}_{}_fkey", table.name(), to.name())
}

/// Names of the foreign keys of a table.
pub(super) fn foreign_key_names(table: Table) -> Vec<String> {
    let of_table = FOREIGN_KEYS.iter().filter(|(referring, ..)| *referring == table);
    of_table.map(|(table, _, to)| foreign_key_name(*table, *to)).collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_rows::load::{LoadRequest, PartitionMethod, Set};

    use super::*;

    fn plan(partitions: u64) -> LoadPlan {
        let request = LoadRequest {
            set: Set::Tpcc,
            scale: Some(10),
            partitions: Some(partitions),
            partition_method: (partitions > 0).then_some(PartitionMethod::Range),
            fillfactor: Some(90),
            unlogged: true,
            tablespace: Some("t".to_owned()),
            ..LoadRequest::default()
        };
        request.plan(1).expect("it can be")
    }

    #[test]
    fn tables_are_those_of_the_specification() {
        let all = table_statements(&plan(0));
        assert_eq!(all.len(), 9);
        let new_order = "CREATE UNLOGGED TABLE new_order (no_o_id int NOT NULL, no_d_id int NOT NULL, \
                         no_w_id int NOT NULL) WITH (fillfactor=90) TABLESPACE \"t\"";
        assert!(all.iter().any(|sql| sql == new_order), "{all:?}");
        let orders = all.iter().find(|sql| sql.contains("TABLE orders ")).expect("it is one of them");
        assert!(
            orders.contains("o_entry_d timestamp NOT NULL, o_carrier_id int, o_ol_cnt int NOT NULL"),
            "{orders}"
        );
    }

    #[test]
    fn all_but_items_have_partitions() {
        let all = table_statements(&plan(4));
        assert_eq!(all.len(), 8 * 5 + 1);
        assert_eq!(all.iter().filter(|sql| sql.contains("PARTITION BY range (")).count(), 8);
        let third = "CREATE UNLOGGED TABLE history_3 PARTITION OF history FOR VALUES FROM (7) TO (10) WITH (";
        assert!(all.iter().any(|sql| sql.starts_with(third)), "{all:?}");
    }

    #[test]
    fn foreign_keys_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> =
            Table::ALL.into_iter().flat_map(foreign_key_names).collect();
        assert_eq!(names.len(), Set::Tpcc.foreign_keys());
        assert_eq!(
            foreign_key(7),
            "ALTER TABLE order_line ADD CONSTRAINT order_line_stock_fkey \
             FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock"
        );
    }
}
