//! The pages of all rules, family by family.

use pgdyno_settings::{self as settings, Gain, Page, Today};

use crate::{host, words};

/// A family of pages: its heading, a sentence about it, and its pages.
type Family = (&'static str, &'static str, Vec<&'static Page>);

fn families() -> impl Iterator<Item = Family> {
    let of_hosts = host::FAMILIES.iter().map(|family| {
        let pages = family.rules.iter().map(|rule| &rule.page).collect();
        (family.title, family.about, pages)
    });
    of_hosts.chain([
        ("Settings of the server", "postgresql.conf, for 9.5 to 18.", settings::pages().collect()),
        (
            "Settings that are gone",
            "postgresql.conf of older majors, which current servers do not have.",
            words::SETTINGS.iter().collect(),
        ),
        (
            "Kernel parameters that are only shown",
            "What `pgdyno host facts` shows and no rule judges.",
            words::PARAMETERS.iter().collect(),
        ),
        (
            "Words of the output",
            "What `pgdyno host facts` and `host check` mean.",
            words::TERMS.iter().collect(),
        ),
    ])
}

/// All pages, family by family.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    families().flat_map(|(.., pages)| pages)
}

/// `docs/host-rules.md`: all pages as Markdown.
pub fn book() -> String {
    let head = "# Rules of hosts and servers\n\n\
                Written by `cargo xtask rules` from [the rules](../crates/pure/rules/src/lib.rs). \
                `pgdyno explain NAME` prints one of these pages, `pgdyno host check` and `pgdyno config recommend` \
                apply them. A gain is stated only where it was measured.\n";
    let families = families().map(|(title, about, pages)| {
        let pages: String = pages.into_iter().map(page).collect();
        format!("\n## {title}\n\n{about}\n{pages}")
    });
    [head.to_owned()].into_iter().chain(families).collect()
}

fn page(page: &Page) -> String {
    let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    let line = |label: &str, text: String| (!text.is_empty()).then(|| format!("- {label}: {text}\n"));
    let gain = match page.gain {
        Gain::NotMeasured => String::new(),
        Gain::Measured { by, result } => format!("{result} ({by})"),
    };
    let verdict = match page.today {
        Today::Term => String::new(),
        today => format!("**{}**", today.words()),
    };
    let versions = [
        page.since_kernel.map(|since| format!("since Linux {}", version(since))),
        page.until_kernel.map(|until| format!("gone in Linux {}", version(until))),
        page.since_major.map(|since| format!("since PostgreSQL {}", Page::major_words(since))),
        page.until_major.map(|until| format!("gone in PostgreSQL {}", Page::major_words(until))),
    ];
    let lines = [
        line("verdict", verdict),
        line("why", page.why.to_owned()),
        line("danger", page.danger.to_owned()),
        line("gain", gain),
        line("versions", versions.into_iter().flatten().collect::<Vec<_>>().join(", ")),
        line("also", page.also.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        line("source", page.source.to_owned()),
    ];
    let lines: String = lines.into_iter().flatten().collect();
    format!("\n### `{}`\n\n{}\n\n{lines}", page.name, page.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> impl Iterator<Item = &'static Page> {
        words::SETTINGS.iter().chain(words::PARAMETERS).chain(words::TERMS)
    }

    #[test]
    fn no_word_has_two_pages() {
        for page in words() {
            for name in std::iter::once(&page.name).chain(page.also) {
                let owners: Vec<&str> = pages().filter(|of| of.is_of(name)).map(|of| of.name).collect();
                assert_eq!(owners, [page.name], "{name}");
            }
        }
    }

    #[test]
    fn words_are_explained_in_sentences() {
        for page in words() {
            let texts = [page.what, page.source, page.why].into_iter().filter(|text| !text.is_empty());
            for text in texts {
                assert!(
                    text.ends_with('.') && !text.contains("  ") && text.len() > 5,
                    "{}: {text}",
                    page.name
                );
            }
            assert!(!page.what.is_empty() && !page.source.is_empty(), "{}", page.name);
        }
    }

    #[test]
    fn words_of_the_output_have_pages() {
        for name in [
            "control group",
            "page tables",
            "committed",
            "write back",
            "madvise",
            "TLB",
            "OOM killer",
            "said to rotate",
            "kvm-clock",
            "tsc",
            "retbleed",
            "dioread_nolock",
            "auto_da_alloc",
            "resuid",
            "commit",
            "checkpoint_segments",
            "stats_temp_directory",
            "barrier (/data01)",
        ] {
            assert_eq!(pages().filter(|page| page.is_of(name)).count(), 1, "{name}");
        }
        let of_numa: Vec<&str> = pages().filter(|page| page.is_of("numa")).map(|page| page.name).collect();
        assert_eq!(of_numa, ["NUMA"], "the word, not the option that turns it off");
        assert!(book().contains("### `TLB`") && !book().contains("**a word of the output**"));
    }
}
