//! Judging records and real comparisons again.

mod judged_again;
mod relabelled;
