//! Who writes dirty buffers between checkpoints.

use pgdyno_core::{facts::amount::BLOCK, units::bytes_per_s};

use super::rule::{Given, Rule, manual, page};
use crate::{Finding, Today};

/// Rules of this family.
pub const RULES: &[Rule] = &[
    Rule::of(page(
        "bgwriter_delay",
        Today::Depends,
        "How often the background writer looks for dirty buffers that will soon be reused.",
        "With bgwriter_lru_maxpages it bounds what the background writer can write per second: 4 MB by \
         default. More spares backends their own writes where the data does not fit in shared_buffers; \
         pages that are changed again are written twice. What it brings here: not measured.",
        manual::RESOURCES,
    ))
    .judges(rate),
    Rule::of(page(
        "bgwriter_lru_maxpages",
        Today::Depends,
        "How many buffers the background writer writes in one round at most; 0 turns it off.",
        "It is only a bound: what it writes follows bgwriter_lru_multiplier and the demand for buffers. \
         Before 10 the server accepts up to 1000.",
        manual::RESOURCES,
    ))
    .judges(rate),
    Rule::of(page(
        "bgwriter_lru_multiplier",
        Today::Depends,
        "How many clean buffers the background writer keeps ready, as a multiple of recent demand.",
        "2 leaves room for some fluctuation; more writes pages earlier, some of them twice. What it \
         brings here: not measured.",
        manual::RESOURCES,
    )),
    Rule::of(
        page(
            "bgwriter_flush_after",
            Today::DefaultIsRight,
            "After how many written pages the background writer asks the kernel to begin writing them to \
         storage.",
            "512 kB on Linux keeps dirty pages from piling up in the page cache.",
            manual::RESOURCES,
        )
        .since(9),
    ),
    Rule::of(
        page(
            "backend_flush_after",
            Today::Depends,
            "After how many written pages a backend asks the kernel to begin writing them to storage; 0, the \
         default, never.",
            "It bounds what a load leaves dirty in the page cache, and loses the merging of pages that are \
         written again.",
            manual::RESOURCES,
        )
        .since(9),
    ),
];

fn rate(given: &Given<'_>) -> Finding {
    let delay_ms = given.other_number("bgwriter_delay").unwrap_or(200.0).max(1.0);
    let pages = given.other_number("bgwriter_lru_maxpages").unwrap_or(100.0);
    if pages <= 0.0 {
        return given.improve(
            "100",
            "the background writer is off: backends write dirty buffers \
         themselves",
        );
    }
    let most = bytes_per_s(pages * BLOCK as f64 * 1000.0 / delay_ms);
    given.fine(format!(
        "at most {pages} pages each {delay_ms} ms, {most}; what it writes follows the demand for buffers"
    ))
}
