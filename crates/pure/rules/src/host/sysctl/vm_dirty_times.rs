//! `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule of the age at which dirty pages are written.
pub static EXPIRE: Rule = Rule {
    page: Page {
        name: "vm.dirty_expire_centisecs",
        what: "Age in hundredths of a second from which on dirty page cache is written in the background, 3000 (30 \
               s) by default.",
        today: Today::DefaultIsRight,
        why: "The server syncs what must be durable, and asks for early writing by its own *_flush_after settings. \
              What is left to age are temporary files, which are better deleted than written.",
        danger: "Files of programs that never sync are lost for as long after a crash of the host.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst.",
        ..Page::EMPTY
    },
    judge: judge_expire,
};

/// The rule of how often dirty pages are written.
pub static WRITEBACK: Rule = Rule {
    page: Page {
        name: "vm.dirty_writeback_centisecs",
        what: "Interval in hundredths of a second at which the kernel looks for dirty page cache that is old enough, \
               500 (5 s) by default.",
        today: Today::DefaultIsRight,
        why: "Only the age decides what is written; looking twice a second or once a second instead of every five \
              changes at most when a page of 30 s is found.",
        danger: "0 turns periodic writing off: what no program syncs stays in memory until the limits of dirty bytes \
                 are reached.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst.",
        ..Page::EMPTY
    },
    judge: judge_writeback,
};

fn judge_expire(facts: &Facts<'_>) -> Vec<Finding> {
    match EXPIRE.number(facts) {
        None => Vec::new(),
        Some(value @ 100..=12_000) => {
            EXPIRE.fine(value, "It is of the order of the default, which is 3000 (30 s).")
        }
        Some(value) => {
            let reason = "Below a second temporary files are written before they are deleted; above two minutes \
                          files that nobody syncs are at risk for long.";
            vec![EXPIRE.finding(Standing::Improve, reason).present(value).set_sysctl(3000)]
        }
    }
}

fn judge_writeback(facts: &Facts<'_>) -> Vec<Finding> {
    match WRITEBACK.number(facts) {
        None => Vec::new(),
        Some(0) => {
            let reason = "Periodic writing of dirty pages is off, so that files that nobody syncs may stay in memory \
                          for hours.";
            vec![WRITEBACK.finding(Standing::Improve, reason).present(0).set_sysctl(500)]
        }
        Some(value) => {
            WRITEBACK.fine(value, "The age of pages decides what is written, not how often the kernel looks.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::check_values;

    #[test]
    fn only_extremes_are_wrong() {
        let (fine, improve) = (Standing::Fine, Standing::Improve);
        check_values(&EXPIRE, &[("3000", fine), ("6000", fine), ("10", improve), ("360000", improve)]);
        check_values(&WRITEBACK, &[("500", fine), ("50", fine), ("0", improve)]);
    }
}
