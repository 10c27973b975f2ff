//! `pgdyno load tpcc` and `pgdyno tpcc check`: tables that are what the specification populates, and every fault in
//! them found.

use std::process::Stdio;

use pgdyno_core::stop::Stop;
use pgdyno_postgres::verify::{Consistency, check_tpcc};
use pgdyno_wire::{Address, ConnectOptions, Session, connect};

use crate::common::{OLDEST, Place, admin, kill, text, wait_until, word};

/// A fault, and the conditions that find it where.
type Fault = (&'static str, &'static [(&'static str, &'static str)]);

/// Each in a different district, except for warehouse and stock.
const FAULTS: [Fault; 28] = [
    (
        "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2",
        &[("3.3.2.1", "warehouse 2"), ("3.3.2.8", "warehouse 2")],
    ),
    (
        "UPDATE district SET d_ytd = d_ytd - 0.01 WHERE d_w_id = 1 AND d_id = 1",
        &[("3.3.2.1", "warehouse 1"), ("3.3.2.9", "warehouse 1, district 1")],
    ),
    (
        "UPDATE district SET d_next_o_id = 3002 WHERE d_w_id = 1 AND d_id = 2",
        &[("3.3.2.2", "warehouse 1, district 2"), ("orders", "warehouse 1, district 2")],
    ),
    (
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 3 AND no_o_id = 2500",
        &[
            ("3.3.2.3", "warehouse 1, district 3"),
            ("3.3.2.5", "warehouse 1, district 3, order 2500"),
            ("3.3.2.11", "warehouse 1, district 3"),
        ],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = 2",
        &[("3.3.2.4", "warehouse 1, district 4"), ("3.3.2.6", "warehouse 1, district 4, order 2")],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL \
         WHERE ol_w_id = 1 AND ol_d_id = 5 AND ol_o_id = 1 AND ol_number = 2",
        &[("3.3.2.7", "warehouse 1, district 5, order 1")],
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 0.01 WHERE c_w_id = 1 AND c_d_id = 6 AND c_id = 8",
        &[
            ("3.3.2.10", "warehouse 1, district 6, customer 8"),
            ("3.3.2.12", "warehouse 1, district 6, customer 8"),
        ],
    ),
    (
        "DELETE FROM history WHERE h_c_w_id = 1 AND h_c_d_id = 7 AND h_c_id = 5",
        &[
            ("3.3.2.8", "warehouse 1"),
            ("3.3.2.9", "warehouse 1, district 7"),
            ("3.3.2.10", "warehouse 1, district 7, customer 5"),
            ("payments", "warehouse 1, district 7, customer 5"),
        ],
    ),
    (
        "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 8 AND o_id = 3000",
        &[
            ("3.3.2.2", "warehouse 1, district 8"),
            ("3.3.2.4", "warehouse 1, district 8"),
            ("3.3.2.5", "warehouse 1, district 8, order 3000"),
            ("3.3.2.6", "warehouse 1, district 8, order 3000"),
            ("3.3.2.7", "warehouse 1, district 8, order 3000"),
            ("3.3.2.11", "warehouse 1, district 8"),
            ("orders", "warehouse 1, district 8"),
        ],
    ),
    (
        "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 9 AND ol_o_id = 10 AND ol_number = 1",
        &[
            ("3.3.2.4", "warehouse 1, district 9"),
            ("3.3.2.6", "warehouse 1, district 9, order 10"),
            ("lines", "warehouse 1, district 9, order 10"),
        ],
    ),
    (
        "UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 10 AND o_id = 5",
        &[("3.3.2.5", "warehouse 1, district 10, order 5"), ("3.3.2.7", "warehouse 1, district 10, order 5")],
    ),
    (
        "UPDATE orders SET o_carrier_id = 3 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 2900",
        &[
            ("3.3.2.5", "warehouse 2, district 1, order 2900"),
            ("3.3.2.7", "warehouse 2, district 1, order 2900"),
        ],
    ),
    (
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (2, 2, 3001)",
        &[
            ("3.3.2.2", "warehouse 2, district 2"),
            ("3.3.2.5", "warehouse 2, district 2, order 3001"),
            ("3.3.2.11", "warehouse 2, district 2"),
        ],
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 0.01 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 9",
        &[
            ("3.3.2.12", "warehouse 2, district 3, customer 9"),
            ("payments", "warehouse 2, district 3, customer 9"),
        ],
    ),
    (
        "UPDATE customer SET c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 9",
        &[("payments", "warehouse 2, district 4, customer 9")],
    ),
    (
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 2 AND c_d_id = 5 AND c_id = 9",
        &[("3.3.2.11", "warehouse 2, district 5")],
    ),
    (
        "DELETE FROM customer WHERE c_w_id = 2 AND c_d_id = 6 AND c_id = 77",
        &[
            ("3.3.2.10", "warehouse 2, district 6, customer 77"),
            ("3.3.2.12", "warehouse 2, district 6, customer 77"),
            ("rows", "warehouse 2, district 6"),
        ],
    ),
    (
        "INSERT INTO history SELECT 5, 7, 2, 7, 2, h_date, 0.02, 'x' FROM history LIMIT 1",
        &[
            ("3.3.2.8", "warehouse 2"),
            ("3.3.2.9", "warehouse 2, district 7"),
            ("3.3.2.10", "warehouse 2, district 7, customer 5"),
            ("payments", "warehouse 2, district 7, customer 5"),
        ],
    ),
    (
        "UPDATE orders SET o_id = 4000 WHERE o_w_id = 2 AND o_d_id = 8 AND o_id = 100",
        &[
            ("3.3.2.2", "warehouse 2, district 8"),
            ("3.3.2.6", "warehouse 2, district 8, order 100"),
            ("3.3.2.6", "warehouse 2, district 8, order 4000"),
        ],
    ),
    (
        "UPDATE order_line SET ol_o_id = 7, ol_number = 20 \
         WHERE ol_w_id = 2 AND ol_d_id = 9 AND ol_o_id = 6 AND ol_number = 1",
        &[
            ("3.3.2.6", "warehouse 2, district 9, order 6"),
            ("3.3.2.6", "warehouse 2, district 9, order 7"),
            ("lines", "warehouse 2, district 9, order 7"),
        ],
    ),
    (
        "UPDATE order_line SET ol_amount = ol_amount + 1 \
         WHERE ol_w_id = 2 AND ol_d_id = 10 AND ol_o_id = 3 AND ol_number = 1",
        &[
            ("3.3.2.10", "warehouse 2, district 10, customer "),
            ("3.3.2.12", "warehouse 2, district 10, customer "),
        ],
    ),
    (
        "UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_w_id = 1 AND s_i_id = 5",
        &[("stock", "warehouse 1, item 5")],
    ),
    ("UPDATE stock SET s_order_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 6", &[("stock", "warehouse 2, item 6")]),
    (
        "UPDATE stock SET s_remote_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 7",
        &[("stock", "warehouse 2, item 6")],
    ),
    ("DELETE FROM stock WHERE s_w_id = 1 AND s_i_id = 99999", &[("rows", "warehouse 1")]),
    ("DELETE FROM item WHERE i_id = 4", &[("rows", "warehouses from 1 on, or items")]),
    (
        "INSERT INTO warehouse SELECT 5, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd FROM \
      warehouse WHERE w_id = 1",
        &[("rows", "warehouse 5"), ("3.3.2.1", "warehouse 5"), ("3.3.2.8", "warehouse 5")],
    ),
    (
        "INSERT INTO orders SELECT o_id, o_d_id, 9, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local \
         FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1",
        &[("3.3.2.2", "warehouse 9, district 1"), ("3.3.2.4", "warehouse 9, district 1")],
    ),
];

/// A server whose database is loaded.
pub struct Loaded {
    pub place: Place,
    options: ConnectOptions,
}

impl Loaded {
    pub fn new(pg: &str) -> Self {
        let place = Place::new();
        place.done(&["up", "--pg", pg, "--bundle", "-c", "fsync=off"]);
        let server = place.only();
        let port = server["port"].as_u64().expect("it has one") as u16;
        let options =
            ConnectOptions::local(Address::Unix(word(&server, "socket_dir").into(), port), "postgres");
        Self { place, options }
    }

    pub fn load<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["load", "tpcc", "--server", "main", "--seed", "7", "--at", "1475366400"], more].concat()
    }

    pub fn session(&self) -> Session {
        connect(&self.options).expect("it takes connections")
    }

    fn check(&self, sessions: u64) -> Consistency {
        check_tpcc(&self.options, sessions, &Stop::default(), &mut |_, _| ()).expect("it can be looked at")
    }

    /// Checksums of all tables, whatever the order of their rows and whatever they are partitioned by.
    fn contents(&self) -> Vec<String> {
        let tables = "warehouse district customer history new_order orders order_line item stock".split(' ');
        let mut session = self.session();
        let mut sum = |table| {
            let sql = format!(
                "SELECT sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::int::bigint) FROM {table} t"
            );
            session.value(&sql).expect("it can be asked").expect("there are rows")
        };
        tables.map(&mut sum).collect()
    }
}

/// Of every warehouse some 300,000 lines and 199,011 other rows, and 100,000 items.
fn holds(checked: &Consistency, warehouses: u64) {
    assert_eq!((&checked.violations, checked.warehouses), (&vec![], warehouses));
    let expected = 100_000 + 499_000 * warehouses;
    assert!(checked.rows_examined.abs_diff(expected) < 5_000 * warehouses, "{}", checked.rows_examined);
}

/// What is loaded is consistent, and every fault is found.
fn faults_are_found(pg: &str) {
    let loaded = Loaded::new(pg);
    let said = loaded.place.done(&Loaded::load(&["--warehouses", "2", "--jobs", "2"]));
    assert!(said.contains("loaded warehouses 2 into schema") && said.contains("verified: 1,"), "{said}");
    assert!(said.contains("Derived from TPC-C; this is not a TPC result"), "{said}");
    let said = loaded.place.done(&["tpcc", "check", "--server", "main", "--jobs", "1"]);
    assert!(
        said.contains("consistent: 1,") && said.contains("rows of 2 warehouses in one snapshot"),
        "{said}"
    );
    assert_eq!(said.lines().filter(|line| line.ends_with(" holds")).count(), 17, "{said}");
    // The check by one session is that of the command.
    holds(&loaded.check(3), 2);
    let mut session = loaded.session();
    for (sql, _) in FAULTS {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let found = loaded.check(3);
    for (sql, finders) in FAULTS {
        for (name, place) in finders {
            let of = found.violations.iter().find(|violation| violation.condition.name == *name);
            let places = &of.unwrap_or_else(|| panic!("{name} does not find: {sql}")).places;
            assert!(places.iter().any(|other| other.starts_with(place)), "{name}, {sql}: {places:?}");
        }
    }
    let output = loaded.place.run(&["tpcc", "check", "--server", "main", "--jobs", "1"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("BROKEN in 3 places") && said.contains("not consistent: 17 conditions"), "{said}");
    let output = loaded.place.run(&["load", "verify", "--server", "main"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    for table in
        ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "stock"]
    {
        assert!(said.contains(&format!("! {table} has the checksum")), "{table}: {said}");
    }
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn faults_are_found_in_older_servers() {
    [OLDEST, "9.6", "12", "15"].into_iter().for_each(faults_are_found);
}

/// Ways of loading that give the same rows.
const WAYS: [&[&str]; 4] = [
    &["--method", "chunks", "--jobs", "3", "--unlogged"],
    &["--partitions", "2", "--foreign-keys"],
    &["--method", "stream", "--foreign-keys", "--fillfactor", "80"],
    &["--partitions", "2", "--partition-method", "hash", "--jobs", "2"],
];

/// However they are stored and written, the rows are the same, keys and foreign keys hold, and copies are equal.
fn every_way_gives_the_same(pg: &str, warehouses: u64, ways: &[&[&str]]) {
    let loaded = Loaded::new(pg);
    let (has_partitions, mut first) = (!pg.starts_with("9."), None);
    let size = ["--warehouses", &warehouses.to_string()];
    for (number, way) in ways.iter().enumerate() {
        if way.contains(&"--partitions") && !has_partitions {
            let said = loaded.place.refused(&Loaded::load(&[&size, *way].concat()), 2);
            assert!(said.contains("older than PostgreSQL 11"), "{said}");
            continue;
        }
        let mut admin = loaded.session();
        admin.execute(&format!("CREATE DATABASE d{number}")).expect("a new name");
        let database = format!("d{number}");
        let said = loaded.place.done(&Loaded::load(&[&["-d", &database], &size, *way].concat()));
        assert!(said.contains("verified: "), "{said}");
        let mut options = loaded.options.clone();
        options.database = database;
        let of = Loaded { place: Place::new(), options };
        holds(&of.check(2), warehouses);
        let contents = of.contents();
        assert_eq!(first.get_or_insert_with(|| contents.clone()), &contents, "{way:?}");
    }
    let said = loaded.place.done(&[
        "load",
        "copy",
        "--server",
        "main",
        "-d",
        "d0",
        "--into-schemas",
        "1",
        "--jobs",
        "2",
    ]);
    assert!(said.contains("public_1: verified: "), "{said}");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn every_way_of_loading_warehouses_gives_the_same_in_every_server() {
    [OLDEST, "9.6", "12", "15", "18"].into_iter().for_each(|pg| every_way_gives_the_same(pg, 2, &WAYS));
}

#[test]
fn what_cannot_be_is_named_before() {
    let loaded = Loaded::new("18");
    for (more, said) in [
        (&["--warehouses", "2", "--partitions", "3"] as &[&str], "3 partitions are more than 2 warehouses"),
        (&["--warehouses", "2", "--method", "server"], "'server' for '--method <METHOD>'"),
        (&["--warehouses", "1000000"], "could not load"),
    ] {
        let refused = text(&loaded.place.run(&Loaded::load(more)).stderr);
        assert!(refused.contains(said), "{refused}");
    }
    let said = loaded.place.refused(&["tpcc", "check", "--server", "main"], 2);
    assert!(said.contains("names must be those of the specification"), "{said}");
    admin(&loaded.place.only()).execute("CREATE TABLE orders (o_id int)").expect("a new name");
    let said = loaded.place.refused(&Loaded::load(&["--warehouses", "1"]), 2);
    assert!(said.contains("orders exists already"), "{said}");
    let mut session = loaded.session();
    session.execute("CREATE TABLE warehouse (w_id int); CREATE TABLE item (i_id int)").expect("new names");
    let said = loaded.place.refused(&["tpcc", "check", "--server", "main"], 2);
    assert!(said.contains("there is no warehouse"), "{said}");
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_killed_load_of_warehouses_is_resumed() {
        let loaded = Loaded::new("18");
        let args = Loaded::load(&["--warehouses", "2", "--jobs", "2", "--method", "chunks"]);
        let mut command = loaded.place.command(&args);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pgdyno can be run");
        let mut session = loaded.session();
        wait_until("a task is done", || {
            let done = "SELECT count(*) FROM pgdyno_load.task_1 WHERE done";
            session.value(done).ok().flatten().is_some_and(|count| count != "0")
        });
        kill(child.id().into(), "-KILL");
        child.wait().expect("it is ours");
        let refused = ["load", "tpcc", "--server", "main", "--resume", "--seed", "8"];
        let said = loaded.place.refused(&refused, 2);
        assert!(said.contains("--seed: 8 was requested, but the load was begun with 7"), "{said}");
        let refused = ["load", "tpcc", "--server", "main", "--warehouses", "1"];
        let said = loaded.place.refused(&refused, 2);
        assert!(said.contains("a load of warehouses 2 is unfinished there"), "{said}");
        let said = loaded.place.done(&["load", "tpcc", "--server", "main", "--resume", "--jobs", "3"]);
        assert!(said.contains("verified: "), "{said}");
        holds(&loaded.check(2), 2);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn sets_of_tables_are_loaded_side_by_side() {
        let loaded = Loaded::new("18");
        let args = Loaded::load(&["--warehouses", "1", "--schemas", "2"]);
        let said = loaded.place.done(&args);
        assert_eq!(said.matches("verified: ").count(), 2, "{said}");
        let within = |number| {
            let mut options = loaded.options.clone();
            options.startup.push(("search_path".to_owned(), format!("tpcc_{number}")));
            Loaded { place: Place::new(), options }
        };
        let [one, other] = [1, 2].map(|number| within(number).contents());
        assert!(
            one.iter().zip(&other).filter(|(one, other)| one == other).count() == 1,
            "new_order alone is equal"
        );
        assert_eq!(within(2).check(1).violations, vec![]);
        let said = loaded.place.refused(&args, 2);
        assert!(said.contains("schema tpcc_1 holds a load already"), "{said}");
        loaded.session().execute("DROP SCHEMA tpcc_2 CASCADE").expect("it is ours");
        let resume = ["load", "tpcc", "--server", "main", "--warehouses", "1", "--schemas", "2", "--resume"];
        let said = loaded.place.done(&resume);
        assert!(
            said.starts_with("tpcc_1: loaded and verified before\n") && said.contains("verified: "),
            "{said}"
        );
        assert_eq!(within(2).contents(), other);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn ways_of_loading_warehouses_give_the_same() {
        every_way_gives_the_same("18", 1, &[WAYS[0], &["--partitions", "1", "--foreign-keys"]]);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn faults_are_found_in_the_newest_server() {
        faults_are_found("18");
    }
}
