//! Measures row generation on one core: `rows [SCALE]` prints rows of accounts per second, as COPY text and as sums.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::time::Instant;

use pgdyno_rows::{Part, Population, RowGenerator, Sums, tpcb::Accounts};

/// Rows per batch, as in a loader, so that the text stays in processor caches.
const PIECE: u64 = 5_000;

fn main() {
    let scale = std::env::args().nth(1).map_or(200, |text| text.parse().expect("a scale"));
    let total = Accounts.units_at(scale);
    let pieces =
        || (0..total.div_ceil(PIECE)).map(|k| Part { first: k * PIECE, end: total.min((k + 1) * PIECE) });
    let (mut text, mut bytes, of) = (Vec::new(), 0, Population::default());
    let start = Instant::now();
    for part in pieces() {
        text.clear();
        Accounts.write(&of, part, &mut text);
        bytes += text.len() as u64;
    }
    println!(
        "{:.1} million rows/s as text, {bytes} bytes",
        total as f64 / start.elapsed().as_secs_f64() / 1e6
    );
    let mut sums = Sums::none(Accounts.columns().len());
    let start = Instant::now();
    for part in pieces() {
        sums += &Accounts.sums(&of, part);
    }
    println!("{:.1} million rows/s summed, {sums:?}", total as f64 / start.elapsed().as_secs_f64() / 1e6);
}
