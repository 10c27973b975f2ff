//! `fs.aio-max-nr`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "fs.aio-max-nr",
        what: "Events of Linux's older asynchronous I/O (io_setup, libaio) that all processes together may have, \
               65536 by default.",
        today: Today::NoEffect,
        why: "No version of PostgreSQL uses this interface: io_method = io_uring of 18 has its own, which is not \
              counted here. It matters to fio with libaio and to some other servers on the host.",
        danger: "Too low, programs that use libaio fail with EAGAIN.",
        source: "Linux Documentation/admin-guide/sysctl/fs.rst; PostgreSQL manual, io_method.",
        ..Page::EMPTY
    },
    judge,
};

/// The default of the kernel.
const DEFAULT: u64 = 65_536;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        None => Vec::new(),
        Some(value @ 0..DEFAULT) => {
            let reason = "Programs that use libaio, such as fio, may fail below the default of 65536.";
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(DEFAULT)]
        }
        Some(DEFAULT) => RULE.fine(DEFAULT, "It is the default, and PostgreSQL does not use libaio."),
        Some(value) => {
            let reason = "PostgreSQL does not use libaio; other programs may want it.";
            vec![RULE.finding(Standing::NoEffect, reason).present(value)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::check_values;

    #[test]
    fn postgresql_does_not_use_it() {
        check_values(
            &RULE,
            &[("65536", Standing::Fine), ("1048576", Standing::NoEffect), ("10", Standing::Improve)],
        );
    }
}
