//! `transparent_hugepage=`.

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `transparent_hugepage=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "transparent_hugepage=",
        also: &["transparent_hugepage=never", "transparent_hugepage=madvise", "transparent_hugepage=always"],
        what: "The mode in which transparent huge pages begin: always, madvise or never.",
        today: Today::Depends,
        why: "It sets the first value of /sys/kernel/mm/transparent_hugepage/enabled, which anything may change \
              later: the present mode counts, not the word. It concerns anonymous memory; shared_buffers are \
              shared memory, for which there is shmem_enabled, and the explicit pages of huge_pages.",
        source: "Linux Documentation/admin-guide/mm/transhuge.rst (Boot parameters).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    let (Some(word), Some(mode)) =
        (host.kernel.boot_word("transparent_hugepage"), &host.memory.transparent.enabled)
    else {
        return Vec::new();
    };
    let finding = match word == mode {
        true => RULE.finding(Standing::Fine, format!("The present mode is {mode}, as the boot line says.")),
        false => RULE.finding(
            Standing::NoEffect,
            format!("The present mode is {mode}: something changed it after the host booted."),
        ),
    };
    vec![finding.seen(format!("transparent_hugepage={word}"))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn the_word_is_compared_with_the_present_mode() {
        let mut host = booted(&["transparent_hugepage=never"]);
        assert_eq!(standings(&RULE, &host), [], "mode unknown");
        host.memory.transparent.enabled = Some("never".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::Fine]);
        host.memory.transparent.enabled = Some("always".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect]);
        host.kernel.boot_words.clear();
        assert_eq!(standings(&RULE, &host), []);
    }
}
