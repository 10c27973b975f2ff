//! `pgdyno tpcc`.

use std::{fs, path::Path, process::Stdio};

use pgdyno_wire::Session;

use crate::common::{OLDEST, Place, Small, admin, kill, text, wait_until};

/// The files, with the columns that BenchmarkSQL's `sqlTableCopies` has for each (article 001), and the rows of a
/// warehouse; of lines there are about ten for each order.
const FILES: [(&str, &str, Option<u64>); 9] = [
    ("warehouse", "w_id, w_ytd, w_tax, w_name, w_street_1, w_street_2, w_city, w_state, w_zip", Some(1)),
    ("item", "i_id, i_name, i_price, i_data, i_im_id", Some(100_000)),
    (
        "stock",
        "s_i_id, s_w_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data, s_dist_01, s_dist_02, s_dist_03, \
         s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10",
        Some(100_000),
    ),
    (
        "district",
        "d_id, d_w_id, d_ytd, d_tax, d_next_o_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip",
        Some(10),
    ),
    (
        "customer",
        "c_id, c_d_id, c_w_id, c_discount, c_credit, c_last, c_first, c_credit_lim, c_balance, c_ytd_payment, \
         c_payment_cnt, c_delivery_cnt, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_middle, \
         c_data",
        Some(30_000),
    ),
    (
        "cust-hist",
        "hist_id, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data",
        Some(30_000),
    ),
    ("order", "o_id, o_w_id, o_d_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, o_entry_d", Some(30_000)),
    (
        "order-line",
        "ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_delivery_d, ol_amount, ol_supply_w_id, ol_quantity, \
         ol_dist_info",
        None,
    ),
    ("new-order", "no_w_id, no_d_id, no_o_id", Some(9_000)),
];

/// BenchmarkSQL 4.1's tables, by the columns that the specification has (clause 1.3), with keys that no row may break.
const TABLES: &str = "
    CREATE TABLE warehouse (w_id int PRIMARY KEY, w_ytd numeric(12,2) NOT NULL, w_tax numeric(4,4) NOT NULL,
        w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL,
        w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL);
    CREATE TABLE district (d_w_id int REFERENCES warehouse, d_id int, d_ytd numeric(12,2) NOT NULL,
        d_tax numeric(4,4) NOT NULL, d_next_o_id int NOT NULL, d_name varchar(10) NOT NULL,
        d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
        d_state char(2) NOT NULL, d_zip char(9) NOT NULL, PRIMARY KEY (d_w_id, d_id));
    CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_discount numeric(4,4) NOT NULL,
        c_credit char(2) NOT NULL, c_last varchar(16) NOT NULL, c_first varchar(16) NOT NULL,
        c_credit_lim numeric(12,2) NOT NULL, c_balance numeric(12,2) NOT NULL,
        c_ytd_payment numeric(12,2) NOT NULL, c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL,
        c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL,
        c_state char(2) NOT NULL, c_zip char(9) NOT NULL, c_phone char(16) NOT NULL, c_since timestamp NOT NULL,
        c_middle char(2) NOT NULL, c_data varchar(500) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id),
        FOREIGN KEY (c_w_id, c_d_id) REFERENCES district);
    CREATE TABLE history (hist_id int PRIMARY KEY, h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int,
        h_date timestamp NOT NULL, h_amount numeric(6,2) NOT NULL, h_data varchar(24) NOT NULL,
        FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer, FOREIGN KEY (h_w_id, h_d_id) REFERENCES district);
    CREATE TABLE oorder (o_w_id int, o_d_id int, o_id int, o_c_id int NOT NULL, o_carrier_id int,
        o_ol_cnt int NOT NULL, o_all_local int NOT NULL, o_entry_d timestamp NOT NULL,
        PRIMARY KEY (o_w_id, o_d_id, o_id), UNIQUE (o_w_id, o_d_id, o_c_id),
        FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer);
    CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id),
        FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES oorder);
    CREATE TABLE item (i_id int PRIMARY KEY, i_name varchar(24) NOT NULL, i_price numeric(5,2) NOT NULL,
        i_data varchar(50) NOT NULL, i_im_id int NOT NULL);
    CREATE TABLE stock (s_w_id int REFERENCES warehouse, s_i_id int REFERENCES item, s_quantity int NOT NULL,
        s_ytd int NOT NULL, s_order_cnt int NOT NULL, s_remote_cnt int NOT NULL, s_data varchar(50) NOT NULL,
        s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24),
        s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24),
        PRIMARY KEY (s_w_id, s_i_id));
    CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int NOT NULL,
        ol_delivery_d timestamp, ol_amount numeric(6,2) NOT NULL, ol_supply_w_id int NOT NULL,
        ol_quantity int NOT NULL, ol_dist_info char(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
        FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES oorder,
        FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock)";

/// Consistency conditions 1 to 12 (clause 3.3.2), each a query that finds what breaks it. Keys and foreign keys are
/// held by the tables.
const CONDITIONS: [&str; 12] = [
    "SELECT FROM warehouse WHERE w_ytd IS DISTINCT FROM (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)",
    "SELECT FROM district WHERE d_next_o_id - 1 IS DISTINCT FROM (SELECT max(o_id) FROM oorder WHERE o_w_id = d_w_id \
     AND o_d_id = d_id) OR d_next_o_id - 1 IS DISTINCT FROM (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id \
     AND no_d_id = d_id)",
    "SELECT FROM new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)",
    "SELECT FROM district WHERE (SELECT sum(o_ol_cnt) FROM oorder WHERE o_w_id = d_w_id AND o_d_id = d_id) \
     IS DISTINCT FROM (SELECT count(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)",
    "SELECT FROM oorder LEFT JOIN new_order ON (no_w_id, no_d_id, no_o_id) = (o_w_id, o_d_id, o_id) \
     WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    "SELECT FROM oorder LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS n FROM order_line GROUP BY 1, 2, 3) l \
     ON (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id) WHERE n IS DISTINCT FROM o_ol_cnt",
    "SELECT FROM order_line JOIN oorder ON (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id) \
     WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    "SELECT FROM warehouse WHERE w_ytd IS DISTINCT FROM (SELECT sum(h_amount) FROM history WHERE h_w_id = w_id)",
    "SELECT FROM district WHERE d_ytd IS DISTINCT FROM (SELECT sum(h_amount) FROM history WHERE h_w_id = d_w_id \
     AND h_d_id = d_id)",
    "SELECT FROM customer LEFT JOIN delivered USING (c_w_id, c_d_id, c_id) LEFT JOIN (SELECT h_c_w_id, h_c_d_id, \
     h_c_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2, 3) h \
     ON (h_c_w_id, h_c_d_id, h_c_id) = (c_w_id, c_d_id, c_id) \
     WHERE c_balance IS DISTINCT FROM coalesce(value, 0) - coalesce(paid, 0)",
    "SELECT FROM district WHERE (SELECT count(*) FROM oorder WHERE o_w_id = d_w_id AND o_d_id = d_id) - \
     (SELECT count(*) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) <> 2100",
    "SELECT FROM customer LEFT JOIN delivered USING (c_w_id, c_d_id, c_id) \
     WHERE c_balance + c_ytd_payment IS DISTINCT FROM coalesce(value, 0)",
];

/// Faults, and the numbers of conditions that find them.
const FAULTS: [(&str, &[usize]); 7] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 1", &[1, 8]),
    ("UPDATE district SET d_next_o_id = 3002 WHERE d_w_id = 1 AND d_id = 10", &[2]),
    ("UPDATE district SET d_ytd = d_ytd - 0.01 WHERE d_w_id = 1 AND d_id = 3", &[1, 9]),
    ("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 7 AND no_o_id = 2500", &[3, 5, 11]),
    ("UPDATE oorder SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 2", &[4, 6]),
    ("UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1", &[7]),
    (
        "UPDATE customer SET c_balance = c_balance + 0.01 WHERE c_w_id = 1 AND c_d_id = 9 AND c_id = 8",
        &[10, 12],
    ),
];

/// What conditions 10 and 12 speak of: the value of every customer's delivered lines.
const DELIVERED: &str = "CREATE VIEW delivered AS SELECT o_w_id AS c_w_id, o_d_id AS c_d_id, o_c_id AS c_id, \
    sum(ol_amount) AS value FROM oorder JOIN order_line ON (ol_w_id, ol_d_id, ol_o_id) = (o_w_id, o_d_id, o_id) \
    WHERE ol_delivery_d IS NOT NULL GROUP BY 1, 2, 3";

fn export<'a>(dir: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let dir = dir.to_str().expect("a name of ours");
    [&["tpcc", "export", "--csv", dir, "--seed", "7", "--at", "1475366400"], more].concat()
}

/// Loads the files as BenchmarkSQL does, and holds the tables to the specification.
fn the_files_are_a_population(pg: &str, warehouses: u64) {
    let place = Place::new();
    place.done(&["up", "--pg", pg, "--bundle", "-c", "fsync=off"]);
    let dir = place.path("csv");
    let said = place.done(&export(&dir, &["--warehouses", &warehouses.to_string()]));
    assert!(said.contains("Derived from TPC-C; this is not a TPC result"), "{said}");
    let mut session = admin(&place.only());
    session.execute(TABLES).expect("every version has these types");
    // Tables in an order in which what they refer to is there.
    let order = [
        "warehouse",
        "district",
        "customer",
        "cust-hist",
        "order",
        "new-order",
        "item",
        "stock",
        "order-line",
    ];
    for name in order {
        let (_, columns, rows) = FILES.iter().find(|(file, ..)| *file == name).expect("all are listed");
        copy(&mut session, &dir, name, columns);
        let factor = if name == "item" { 1 } else { warehouses };
        let expected = rows.map(|rows| rows * factor);
        assert!(expected.is_none_or(|rows| said_of(&said, name) == rows), "{name}: {said}");
    }
    let lines = said_of(&said, "order-line");
    assert!(lines.abs_diff(300_000 * warehouses) < 5_000 * warehouses, "{lines} lines of orders of 5 to 15");
    session.execute(DELIVERED).expect("the tables are there");
    let mut found = |number: usize| session.query(CONDITIONS[number - 1]).expect("it can be asked").len();
    assert_eq!((1..=12).map(&mut found).collect::<Vec<_>>(), [0; 12]);
    for (fault, finders) in FAULTS {
        session.execute(&format!("BEGIN; {fault}")).expect("it is ours");
        for number in finders {
            let found = session.query(CONDITIONS[number - 1]).expect("it can be asked").len();
            assert!(found > 0, "condition {number} does not find: {fault}");
        }
        session.execute("ROLLBACK").expect("it is begun");
    }
}

fn table_of(file: &str) -> String {
    match file {
        "cust-hist" => "history".to_owned(),
        "order" => "oorder".to_owned(),
        other => other.replace('-', "_"),
    }
}

fn copy(session: &mut Session, dir: &Path, file: &str, columns: &str) {
    let text = fs::read(dir.join(format!("{file}.csv"))).expect("it was written");
    let sql = format!("COPY {} ({columns}) FROM STDIN WITH CSV", table_of(file));
    let mut copy = session.copy_in(&sql).expect("the columns are there");
    copy.row(|out| out.extend_from_slice(&text)).expect("it is sent");
    copy.finish().expect("every line is a row, and no key is there twice");
    session.execute(&format!("ANALYZE {}", table_of(file))).expect("it is ours");
}

/// Rows of a file, as printed.
fn said_of(said: &str, file: &str) -> u64 {
    let line = said.lines().find(|line| line.trim_start().starts_with(&format!("{file}.csv")));
    let rows = line.and_then(|line| line.split_whitespace().nth(1)).expect("every file is listed");
    rows.replace(',', "").parse().expect("a number")
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn files_of_two_warehouses_are_a_population_in_every_server() {
    [OLDEST, "9.6", "12", "15", "18"].into_iter().for_each(|pg| the_files_are_a_population(pg, 2));
}

#[test]
fn the_same_seed_gives_the_same_bytes_in_any_process() {
    let place = Place::new();
    let [one, other] = ["one", "other"].map(|name| place.path(name));
    place.done(&export(&one, &["--warehouses", "1", "--jobs", "1"]));
    place.done(&export(&other, &["--warehouses", "1", "--jobs", "3"]));
    for (name, ..) in FILES {
        let file = |dir: &Path| fs::read(dir.join(format!("{name}.csv"))).expect("it was written");
        assert!(file(&one) == file(&other), "{name}");
    }
    assert_eq!(fs::read_dir(&one).expect("it is there").count(), FILES.len());
}

#[test]
fn what_cannot_be_written_is_named_before() {
    let place = Place::new();
    let dir = place.path("csv");
    fs::create_dir(&dir).expect("it is ours");
    fs::write(dir.join("mine"), "").expect("it is ours");
    let said = place.refused(&export(&dir, &["--warehouses", "1"]), 2);
    assert!(said.contains("csv: it is not empty"), "{said}");
    assert!(dir.join("mine").exists());
    let output = place.run(&export(&place.path("none"), &["--warehouses", "1000", "--dry-run"]));
    let said = text(&output.stderr);
    assert!(
        !place.path("none").exists() && (said.contains("writes  about 6") || output.status.code() == Some(2))
    );
    let Some(small) = Small::mount(20) else { return };
    let said = place.refused(&export(small.0.path(), &["--warehouses", "1"]), 2);
    assert!(said.contains("they need about 7") && said.contains("20 MiB are free"), "{said}");
}

#[test]
fn an_interrupted_export_leaves_nothing() {
    let place = Place::new();
    let dir = place.path("csv");
    let mut command = place.command(&export(&dir, &["--warehouses", "20"]));
    let mut child = command.stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
    wait_until("a large file is begun", || dir.join("stock.csv.part").exists());
    kill(child.id().into(), "-INT");
    assert_eq!(child.wait().expect("it is ours").code(), Some(3));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("it is piped"), &mut said)
        .expect("it is text");
    assert!(said.contains("could not finish the CSV files: stopped"), "{said}");
    assert!(!dir.exists());
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn files_are_a_population_in_the_newest_server() {
        the_files_are_a_population("18", 1);
    }

    /// Files that another process writes to the same directory meanwhile are kept.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn files_of_somebody_else_are_left_alone() {
        let place = Place::new();
        let dir = place.path("csv");
        let mut command = place.command(&export(&dir, &["--warehouses", "20"]));
        let mut child = command.stderr(Stdio::null()).spawn().expect("pgdyno can be run");
        wait_until("a large file is begun", || dir.join("stock.csv.part").exists());
        fs::write(dir.join("order-line.csv.part"), "theirs").expect("it is ours");
        assert_eq!(child.wait().expect("it is ours").code(), Some(3));
        let left: Vec<_> =
            fs::read_dir(&dir).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["order-line.csv.part"]);
    }
}
