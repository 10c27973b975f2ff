//! What pgdyno itself measured for pages. docs/measured-gains.md has the commands and all pairs.

use crate::Gain;

/// By whom and where: on another machine it can be different.
const BY: &str = "`pgdyno ab` on a virtual machine with one CPU for the server and one for the driver, 24 GiB, a \
                  virtio disk with ext4, Linux 6.18, PostgreSQL 15.20; 8 starts of \
                  each, 16 pairs of 4 s, 27 and 28 November 2026";

/// What came out, with its 95 % confidence interval.
pub const fn here(result: &'static str) -> Gain {
    Gain::Measured { by: BY, result }
}
