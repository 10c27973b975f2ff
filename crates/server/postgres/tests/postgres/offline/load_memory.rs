//! Memory of a load is independent of the scale: peak allocation of the loading thread, with a server that
//! discards all rows.
//!
//! Seen to fail when a stream generates all rows of its part before it sends them.

use pgdyno_core::stop::Stop;
use pgdyno_postgres::load::load_tables;
use pgdyno_rows::load::{LoadRequest, Way};
use pgdyno_wire::{
    connect,
    fake::{FakeServer, usual},
};

use crate::allocator::{restart_peak, sums};

/// Peak allocation of a load in bytes.
fn most_bytes(scale: u64, partitions: u64) -> i64 {
    let server = FakeServer::start(usual).expect("a socket");
    server.keep_nothing();
    let mut sessions = [connect(&server.options(None)).expect("it answers")];
    let way = (partitions == 0).then_some(Way::Stream);
    let request = LoadRequest {
        scale: Some(scale),
        partitions: Some(partitions),
        method: way,
        ..LoadRequest::default()
    };
    let plan = request.plan(1).expect("it can be");
    let before = restart_peak();
    let outcome =
        load_tables(&mut sessions, None, &plan, &Stop::default(), &mut |_| ()).expect("it swallows all");
    assert_eq!(outcome.rows, scale * 100_011);
    sums().peak_bytes - before
}

/// Scale 10,000 has a billion rows, which take minutes: only with PGDYNO_TEST_ALL=1.
#[test]
fn a_load_takes_the_same_memory_at_any_scale() {
    let test_all = std::env::var_os("PGDYNO_TEST_ALL").is_some_and(|value| value == "1");
    let (small, large) = if test_all { (100, 10_000) } else { (5, 20) };
    for partitions in [0, 8] {
        let (at_small, at_large) = (most_bytes(small, partitions), most_bytes(large, partitions));
        // Keys have more digits.
        assert!(at_large <= at_small + 4_096, "{partitions} partitions: {at_small} and {at_large} bytes");
        assert!((1..1 << 20).contains(&at_large), "{at_large}");
    }
}
