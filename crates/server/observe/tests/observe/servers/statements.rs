//! Statements of the extension.

use pgdyno_core::observe::StatementSample;
use pgdyno_observe::activity::{StatementChange, StatementReader, StatementSupport};

use super::At;

pub fn statements_are_counted_and_named_once(at: &At<'_>) {
    let mut watch = at.session();
    assert_eq!(StatementSupport::find(&mut watch).expect("it answers"), StatementSupport::NotCreated);
    watch.execute("CREATE SCHEMA \"odd 'schema\"").expect("it may");
    watch.execute("CREATE EXTENSION pg_stat_statements SCHEMA \"odd 'schema\"").expect("it is there");
    let StatementSupport::Ready { schema } = StatementSupport::find(&mut watch).expect("it answers") else {
        panic!("it is there now");
    };
    let mut reader = StatementReader::new(&mut watch, &schema, &[]).expect("the view is there");
    assert_eq!(reader.read(&mut watch, 99).expect("it can be read"), StatementChange::First);
    let mut work = at.session();
    let mut since = |times: u32| {
        for _ in 0..times {
            work.execute("SELECT count(*) FROM t WHERE v >= 0").expect("it counts");
        }
        match reader.read(&mut watch, 99).expect("it can be read") {
            StatementChange::Since(samples) => samples,
            other => panic!("{other:?}"),
        }
    };
    let first = since(3);
    let counted =
        first.iter().find(|one| one.text.as_deref().is_some_and(|text| text.starts_with("SELECT count(*)")));
    let counted = counted.unwrap_or_else(|| panic!("{first:?}"));
    assert_eq!((counted.calls, counted.rows, counted.wal_bytes.is_some()), (3, 3, at.version_num >= 130_000));
    assert!(counted.total_ms > 0.0 && counted.blocks_hit + counted.blocks_read > 0, "{counted:?}");
    let times: Vec<_> = first.iter().map(|one| one.total_ms).collect();
    assert!(
        !first.iter().any(|one| one.text.as_ref().is_some_and(|text| text.contains("pgdyno"))),
        "{first:?}"
    );
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let again = since(2);
    let same = |one: &&StatementSample| one.query_id == counted.query_id;
    let again = again.iter().find(same).expect("it ran again");
    assert_eq!((again.calls, &again.text), (2, &None));
    at.session().execute("SELECT \"odd 'schema\".pg_stat_statements_reset()").expect("it may");
    assert_eq!(reader.read(&mut watch, 99).expect("it can be read"), StatementChange::Reset);
}
