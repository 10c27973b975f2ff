//! The pages of all rules, family by family.

use crate::{Gain, Page, host, settings};

/// A family of rules: its heading, a sentence about it, and its pages.
type Family = (&'static str, &'static str, Vec<&'static Page>);

fn families() -> Vec<Family> {
    let of = |rules: &'static [&'static host::Rule]| rules.iter().map(|rule| &rule.page).collect();
    vec![
        ("Kernel parameters", "Set by `sysctl`, kept in `/etc/sysctl.d`.", of(host::sysctl::RULES)),
        (
            "Processors, memory, limits, network",
            "Files of sysfs, limits, and processes.",
            of(host::system::RULES),
        ),
        (
            "Boot line",
            "Words of the kernel's command line, which hold from the next boot on.",
            of(host::boot::RULES),
        ),
        ("Storage", "Block devices, LVM, ext4, XFS, ZFS and other file systems.", of(host::storage::RULES)),
        ("Clusters and builds", "Flags of initdb and configure.", of(host::build::RULES)),
        (
            "Tables and sessions",
            "Storage parameters, and settings of single sessions.",
            of(host::tables::RULES),
        ),
        ("Settings of the server", "postgresql.conf, for 9.5 to 18.", settings::pages().collect()),
    ]
}

/// All pages, family by family.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    families().into_iter().flat_map(|(.., pages)| pages)
}

/// `docs/host-rules.md`: all pages as Markdown.
pub fn book() -> String {
    let head = "# Rules of hosts and servers\n\n\
                Written by `cargo xtask rules` from [the rules](../crates/pgdyno-rules/src/lib.rs). \
                `pgdyno explain NAME` prints one of these pages, `pgdyno host check` and `pgdyno config recommend` \
                apply them. A gain is told only where somebody measured it.\n";
    let families = families().into_iter().map(|(title, about, pages)| {
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
    let versions = [
        page.since_kernel.map(|since| format!("since Linux {}", version(since))),
        page.until_kernel.map(|until| format!("gone in Linux {}", version(until))),
        page.since_major.map(|since| format!("since PostgreSQL {}", Page::major_words(since))),
        page.until_major.map(|until| format!("gone in PostgreSQL {}", Page::major_words(until))),
    ];
    let lines = [
        line("today", format!("**{}**", page.today.words())),
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
