//! The verdict on a directory of this machine.

use std::{env, time::Duration};

use pgdyno_core::stop::Stop;

use super::{SyncRequest, measure};

/// The verdict on `PGDYNO_DISK_DIR` is `PGDYNO_DISK_VERDICT` (`plausible`).
#[test]
#[ignore = "measures"]
fn a_directory_is_judged() {
    let dir = env::var("PGDYNO_DISK_DIR").unwrap_or_else(|_| "/var/tmp".to_owned());
    let request = SyncRequest { test_duration: Duration::from_millis(500), ..SyncRequest::new(&dir) };
    let report = measure(&request, &Stop::default(), &mut |_| ()).expect("it can be measured");
    println!("{:?} {:?}\n{:#?}", report.place.kind, report.place.devices, report.judgement);
    for test in &report.tests {
        let rate_per_s = test.timing.as_ref().map(|timing| timing.rate_per_s);
        println!(
            "{:<30} {rate_per_s:?} direct {:?} {:?}",
            test.action.label(),
            test.direct,
            test.unavailable
        );
    }
    println!("booked {:?}\nbulk {:?}", report.booked, report.bulk);
    let verdict = serde_json::to_value(report.judgement.verdict).expect("it is a word");
    let expected = env::var("PGDYNO_DISK_VERDICT").unwrap_or_else(|_| "plausible".to_owned());
    assert_eq!(verdict, expected.as_str());
}
