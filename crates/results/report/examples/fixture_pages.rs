//! Writes the HTML reports of the fixtures into a directory for inspection: `cargo run -p pgdyno-report
//! --example fixture_pages -- DIR`. With observations, also those of a run of an hour and of a day.

#![allow(clippy::disallowed_methods, reason = "the crate is pure, this writes its pages")]

use pgdyno_document::html;
use pgdyno_report::{Details, OverTime, report};
use testkit::fixtures::{self, Fixture};

fn main() -> std::io::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let fixtures = [
        ("complete", fixtures::complete(), 240),
        ("thorough", fixtures::thorough(), 240),
        ("several", fixtures::several(), 240),
        ("tpcc", fixtures::tpcc(), 240),
        ("failed", fixtures::failed(), 0),
        ("operations", fixtures::operations(), 240),
        ("zero-cells", fixtures::zero_cells(), 0),
        ("absent-values", fixtures::absent_values(), 0),
        ("hour", fixtures::long(3_600, 1), 3_600),
        ("day", fixtures::long(86_400, 32), 86_400),
    ];
    for (name, fixture, seconds) in fixtures {
        std::fs::write(format!("{dir}/{name}.html"), page(&fixture, seconds))?;
    }
    Ok(())
}

fn page(fixture: &Fixture, seconds: u64) -> String {
    let mut over_time = OverTime::new(&fixture.record);
    fixtures::over_time(seconds).for_each(|line| over_time.add(&line));
    html(&report(
        None,
        &fixture.record,
        &fixture.timeline(),
        Details { over_time: Some(&over_time), ..Details::default() },
    ))
}
