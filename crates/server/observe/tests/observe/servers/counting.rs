//! Counters against the views read by hand.

use pgdyno_core::observe::CounterSample;
use pgdyno_observe::activity::{CounterReader, TableReader};
use pgdyno_wire::Session;

use super::{At, until};

const INSERTED: &str = "SELECT tup_inserted FROM pg_stat_database WHERE datname = current_database()";

fn number(session: &mut Session, sql: &str) -> f64 {
    session.value(sql).expect("it can be read").expect("there is a row").parse().expect("it is a number")
}

fn database(session: &mut Session) -> String {
    session.value("SELECT current_database()").expect("it answers").expect("it has a name")
}

/// The change of a column, if the sample has it.
fn change(sample: &CounterSample, view: &str, column: &str) -> f64 {
    sample.views.get(view).and_then(|columns| columns.get(column)).copied().unwrap_or_default()
}

pub fn counters_agree_with_the_view(at: &At<'_>) {
    let (mut watch, mut work) = (at.session(), at.session());
    let name = database(&mut watch);
    let mut reader = CounterReader::new(&mut watch, at.version_num, &[]).expect("the views are there");
    assert_eq!(reader.read(&mut watch).expect("it can be read"), None);
    let before = number(&mut watch, INSERTED);
    work.execute("INSERT INTO t SELECT i, 0, 'y' FROM generate_series(100001, 101234) i")
        .expect("it inserts");
    // Its end reports what is still to be reported.
    drop(work);
    let (mut inserted, mut last) = (0.0, CounterSample::default());
    until("the rows are counted", || {
        last = reader.read(&mut watch).expect("it can be read").expect("it is not the first");
        assert_eq!(last.reset, [""; 0]);
        inserted += change(&last, "pg_stat_database", &format!("{name} tup_inserted"));
        (inserted >= 1_234.0).then_some(())
    });
    // Autovacuum may insert a few rows of its own meanwhile, and servers before 15 may count earlier rows only now.
    let by_hand = number(&mut watch, INSERTED) - before;
    assert!((0.0..100.0).contains(&(by_hand - inserted)), "{inserted} and {by_hand}");
    assert!(last.levels["pg_stat_database"][&format!("{name} numbackends")] >= 1.0, "{last:?}");
    assert!(!last.views["pg_stat_database"].keys().any(|column| column.ends_with("numbackends")));
    assert!(reader.unreadable().is_empty(), "{:?}", reader.unreadable());
    if at.version_num >= 160_000 {
        watch.execute("CHECKPOINT").expect("it may");
        until("the checkpointer wrote", || {
            let sample = reader.read(&mut watch).expect("it can be read").expect("it is not the first");
            (change(&sample, "pg_stat_io", "checkpointer/relation/normal writes") > 0.0).then_some(())
        });
    }
}

pub fn a_reset_is_noticed(at: &At<'_>) {
    let mut watch = at.session();
    let mut reader = CounterReader::new(&mut watch, at.version_num, &[]).expect("the views are there");
    reader.read(&mut watch).expect("it can be read");
    let mut tables = TableReader::new(&mut watch, &[]).expect("the views are there");
    tables.read(&mut watch).expect("it can be read");
    watch.execute("SELECT pg_stat_reset(), pg_stat_reset_shared('bgwriter')").expect("it may");
    until("the reset of tables is seen", || {
        let sample = tables.read(&mut watch).expect("it can be read").expect("it is not the first");
        (sample.reset == ["pg_stat_user_indexes", "pg_stat_user_tables", "pg_statio_user_tables"])
            .then_some(())
    });
    let mut seen = Vec::new();
    until("both resets are seen", || {
        let sample = reader.read(&mut watch).expect("it can be read").expect("it is not the first");
        assert!(sample.reset.iter().all(|view| !sample.views.contains_key(view)), "{sample:?}");
        seen.extend(sample.reset);
        let both =
            ["pg_stat_database", "pg_stat_bgwriter"].iter().all(|view| seen.iter().any(|one| one == view));
        both.then_some(())
    });
}

pub fn tables_have_sums_and_names(at: &At<'_>) {
    let mut watch = at.session();
    let mut reader = TableReader::new(&mut watch, &[]).expect("the views are there");
    assert_eq!(reader.read(&mut watch).expect("it can be read"), None);
    let mut work = at.session();
    work.execute("UPDATE t SET v = v + 1 WHERE id <= 100").expect("it updates");
    drop(work);
    let (mut all, mut named) = (0.0, 0.0);
    until("the updates are counted", || {
        let sample = reader.read(&mut watch).expect("it can be read").expect("it is not the first");
        all += change(&sample, "pg_stat_user_tables", "all n_tup_upd");
        named += change(&sample, "pg_stat_user_tables", "public.t n_tup_upd");
        let dead = sample.levels["pg_stat_user_tables"].contains_key("all n_dead_tup");
        (all >= 100.0 && dead).then_some(())
    });
    assert_eq!((all, named), (100.0, 100.0));
    let mut none = TableReader::new(&mut watch, &["no such table".to_owned()]).expect("the views are there");
    none.read(&mut watch).expect("it can be read");
    let sample = none.read(&mut watch).expect("it can be read").expect("it is not the first");
    assert!(sample.views.is_empty() && sample.reset.is_empty(), "{sample:?}");
}
