//! A saved record analysed by the current rules.

use pgdyno_analysis::{analyse, changes};
use testkit::fixtures;

#[test]
fn a_record_judged_by_the_same_rules_changes_in_nothing() {
    let mut record = fixtures::thorough().record;
    analyse(&mut record, &[]);
    let mut again = record.clone();
    analyse(&mut again, &[]);
    assert_eq!(changes(&record, &again), [""; 0]);
}

#[test]
fn a_different_result_is_reported() {
    let record = fixtures::complete().record;
    let mut other = record.clone();
    other.cells[0].tps.value += 1.0;
    let doubt = other.doubts.remove(0);
    let reported = changes(&record, &other);
    assert!(reported[0].starts_with("TPS of ") && reported[0].contains(" → "), "{reported:?}");
    assert!(reported[1].contains("doubt removed") && reported[1].contains(&doubt.detail), "{reported:?}");
}
