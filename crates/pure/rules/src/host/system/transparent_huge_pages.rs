//! Transparent huge pages: `enabled`, `defrag` and `shmem_enabled`.

use pgdyno_core::host::Knob;

use crate::{
    Finding, Page, Purpose, Standing, Today,
    host::{Facts, Rule},
    measured::here,
};

const DIRECTORY: &str = "/sys/kernel/mm/transparent_hugepage";
const SOURCE: &str = "Linux Documentation/admin-guide/mm/transhuge.rst; PostgreSQL manual, huge_pages.";

/// The rule of private memory.
pub static ENABLED: Rule = Rule {
    page: Page {
        name: "transparent_hugepage/enabled",
        also: &["transparent_hugepage", "thp", "transparent huge pages"],
        what: "Whether the kernel gives huge pages to private memory without being told: always, madvise (to \
               programs that ask for it) or never.",
        today: Today::Depends,
        why: "PostgreSQL does not ask, so madvise is the same as never for it and keeps the feature for others. With \
              always, memory of sessions (sorts, hash tables) is huge: fewer misses of the TLB in long queries, more \
              memory for many small sessions, and where defrag is always, too, waits for compaction. The manual \
              discourages it. Shared memory is not concerned: that is shmem_enabled, and huge_pages of the \
              server.",
        danger: "With always, sessions take more memory than they use, and where defrag is always, too, short \
                 transactions can wait milliseconds for compaction.",
        gain: here(
            "never instead of always: no difference could be told, -0.6 % [-21, 25] of the TPS of reads by key with 8 \
             clients",
        ),
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_enabled,
};

/// The rule of compaction.
pub static DEFRAG: Rule = Rule {
    page: Page {
        name: "transparent_hugepage/defrag",
        what: "Whether a page fault waits until memory has been compacted for a huge page: always, defer, \
               defer+madvise, madvise (the default since Linux 4.6) or never.",
        today: Today::Kept,
        why: "Where enabled is always, every process would wait under always; madvise lets only those wait that \
              asked for huge pages.",
        danger: "always stops sessions for milliseconds when memory is fragmented.",
        source: SOURCE,
        ..Page::EMPTY
    },
    judge: judge_defrag,
};

/// The rule of shared memory.
pub static SHARED: Rule = Rule {
    page: Page {
        name: "transparent_hugepage/shmem_enabled",
        what: "Whether shared anonymous memory, such as shared_buffers, may be in transparent huge pages: never (the \
               default), advise, within_size, always; deny and force are for tests.",
        today: Today::Depends,
        why: "Explicit huge pages (huge_pages of the server, vm.nr_hugepages) are the dependable way, since they are \
              there from boot on. always or within_size are an alternative where nothing can be set aside; the \
              server runs either way and gets as many huge pages as are found.",
        danger: "",
        source: SOURCE,
        since_kernel: Some((4, 8)),
        ..Page::EMPTY
    },
    judge: judge_shared,
};

fn knob(file: &str) -> Knob {
    Knob::Sysfs(format!("{DIRECTORY}/{file}"))
}

fn judge_enabled(facts: &Facts<'_>) -> Vec<Finding> {
    match (facts.host.memory.transparent.enabled.as_deref(), facts.purpose) {
        (None, _) => {
            vec![ENABLED.finding(Standing::Unknown, "The mode of transparent huge pages could not be read.")]
        }
        (Some("always"), Purpose::Olap) => ENABLED.fine(
            "always",
            "Long queries with much private memory may gain; whether they do here is not measured.",
        ),
        (Some("always"), _) => {
            let waits = match facts.host.memory.transparent.defrag.as_deref() {
                Some("always") => ", and page faults wait for compaction",
                _ => "",
            };
            let reason = format!(
                "Sessions get huge pages without a request, and so more memory than they use{waits}. madvise \
                 leaves huge pages to programs that request them."
            );
            vec![ENABLED.finding(Standing::Improve, reason).present("always").set(knob("enabled"), "madvise")]
        }
        (Some(mode), _) => {
            ENABLED.fine(mode, "Sessions of PostgreSQL do not ask for huge pages and get none.")
        }
    }
}

fn judge_defrag(facts: &Facts<'_>) -> Vec<Finding> {
    let transparent = &facts.host.memory.transparent;
    match (transparent.defrag.as_deref(), transparent.enabled.as_deref()) {
        (None, _) => Vec::new(),
        (Some("always"), Some("never")) => {
            let reason = "Transparent huge pages are off, so there is nothing to compact for.";
            vec![DEFRAG.finding(Standing::NoEffect, reason).present("always")]
        }
        (Some("always"), _) => {
            let reason = "Page faults wait for compaction when memory is fragmented.";
            vec![DEFRAG.finding(Standing::Improve, reason).present("always").set(knob("defrag"), "madvise")]
        }
        (Some(mode), _) => {
            DEFRAG.fine(mode, "Only processes that ask for huge pages wait for compaction, or none.")
        }
    }
}

fn judge_shared(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(mode) = facts.host.memory.transparent.shared.as_deref() else { return Vec::new() };
    let held = facts.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0) > 0;
    match mode {
        "force" => {
            let reason = "force is for tests: it puts every file of tmpfs into huge pages as well.";
            vec![SHARED.finding(Standing::Improve, reason).present(mode).set(knob("shmem_enabled"), "never")]
        }
        "always" | "within_size" if held => {
            SHARED.fine(mode, "The server has explicit huge pages; it concerns other programs.")
        }
        "always" | "within_size" => SHARED.fine(
            mode,
            "shared_buffers get huge pages as far as the kernel finds them; none are guaranteed.",
        ),
        _ => SHARED.fine(mode, "shared_buffers are in huge pages only by huge_pages of the server."),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Inventory;

    use super::*;
    use crate::host::testing::{changes, host, standings};

    fn transparent(enabled: &str, defrag: &str, shared: &str) -> Inventory {
        let mut host = host(&[]);
        host.memory.transparent.enabled = Some(enabled.to_owned());
        host.memory.transparent.defrag = Some(defrag.to_owned());
        host.memory.transparent.shared = Some(shared.to_owned());
        host
    }

    #[test]
    fn huge_pages_are_for_those_who_ask() {
        let always = transparent("always", "always", "never");
        assert_eq!(changes(&ENABLED, &always), ["madvise"]);
        assert_eq!(changes(&DEFRAG, &always), ["madvise"]);
        let olap = (ENABLED.judge)(&Facts { host: &always, purpose: Purpose::Olap });
        assert_eq!(olap[0].standing, Standing::Fine);
        for mode in ["madvise", "never"] {
            let host = transparent(mode, "madvise", "never");
            assert_eq!(standings(&ENABLED, &host), [Standing::Fine], "{mode}");
            assert_eq!(standings(&DEFRAG, &host), [Standing::Fine], "{mode}");
        }
        assert_eq!(standings(&DEFRAG, &transparent("never", "always", "never")), [Standing::NoEffect]);
    }

    #[test]
    fn shared_memory_has_its_own_mode() {
        for (mode, expected) in
            [("never", Standing::Fine), ("within_size", Standing::Fine), ("force", Standing::Improve)]
        {
            assert_eq!(standings(&SHARED, &transparent("madvise", "madvise", mode)), [expected], "{mode}");
        }
    }

    #[test]
    fn what_was_not_read_is_not_judged() {
        assert_eq!(standings(&ENABLED, &host(&[])), [Standing::Unknown]);
        assert!(standings(&DEFRAG, &host(&[])).is_empty());
        assert!(standings(&SHARED, &host(&[])).is_empty());
    }
}
