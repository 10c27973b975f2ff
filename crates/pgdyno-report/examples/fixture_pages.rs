//! Writes the HTML reports of the fixtures into a directory for inspection: `cargo run -p pgdyno-report
//! --example fixture_pages -- DIR`.

use pgdyno_report::{Document, html};
use testkit::fixtures;

fn main() -> std::io::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let fixtures = [
        ("complete", fixtures::complete()),
        ("thorough", fixtures::thorough()),
        ("tpcc", fixtures::tpcc()),
        ("failed", fixtures::failed()),
        ("zero-cells", fixtures::zero_cells()),
        ("absent-values", fixtures::absent_values()),
    ];
    for (name, fixture) in fixtures {
        let page = html(&Document::new(&fixture.record, &fixture.timeline()));
        std::fs::write(format!("{dir}/{name}.html"), page)?;
    }
    Ok(())
}
