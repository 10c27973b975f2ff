//! Findings of the rules about a host, and what is known of one name.

use pgdyno_core::units::{plural, printable};
use pgdyno_document::{
    block::{Block, Fact, Facts},
    text_of_blocks,
};
use pgdyno_rules::{Check, Finding, Gain, Page, Standing, Today};

/// What rules found, as text. Without `all` what is fine is only counted.
pub fn check(check: &Check, all: bool) -> String {
    let listed: &[Standing] = if all { &ALL } else { &ALL[..ALL.len() - 1] };
    let groups = listed.iter().filter_map(|&standing| group(&check.findings, standing));
    let blocks: Vec<Block> = head(check).into_iter().chain(groups).chain([Block::text(next(all))]).collect();
    text_of_blocks(&blocks)
}

const ALL: [Standing; 6] = [
    Standing::Dangerous,
    Standing::Improve,
    Standing::NoEffect,
    Standing::Obsolete,
    Standing::Unknown,
    Standing::Fine,
];

fn head(check: &Check) -> Vec<Block> {
    let count = |standing: Standing| check.count(standing);
    let judged = match check.directories.as_slice() {
        [] => "all storage".to_owned(),
        dirs => format!("the storage of {}", printable(&dirs.join(", "))),
    };
    let findings: u64 = ALL.iter().map(|standing| count(*standing)).sum();
    let several = if findings > check.judging { ", some of them in several places" } else { "" };
    let what = format!(
        "{}, {}, for {}: {judged}. {} of {} concern this host{several}; the others are about what it does not \
         have, or does not tell.",
        printable(&check.host),
        match check.kernel.as_str() {
            "" => "kernel unknown".to_owned(),
            release => format!("Linux {}", printable(release)),
        },
        check.purpose.name(),
        check.judging,
        plural(check.rules, "rule")
    );
    let found = format!(
        "{} dangerous, {} to improve, {} without effect, {} obsolete, {} fine, {} could not be judged.",
        count(Standing::Dangerous),
        count(Standing::Improve),
        count(Standing::NoEffect),
        count(Standing::Obsolete),
        count(Standing::Fine),
        count(Standing::Unknown)
    );
    vec![Block::text(what), Block::text(found)]
}

fn group(findings: &[Finding], standing: Standing) -> Option<Block> {
    let title = match standing {
        Standing::Refused => "The server would not start",
        Standing::Dangerous => "Dangerous",
        Standing::Improve => "To improve",
        Standing::NoEffect => "Without effect here",
        Standing::Obsolete => "Obsolete",
        Standing::Unknown => "Could not be judged",
        Standing::Fine => "Fine",
    };
    titled(findings, standing, title)
}

/// The findings of a standing below a title; `None` if there are none.
pub(super) fn titled(findings: &[Finding], standing: Standing, title: &str) -> Option<Block> {
    let items: Vec<Fact> = findings.iter().filter(|of| of.standing == standing).map(fact).collect();
    (!items.is_empty()).then(|| Block::Facts(Facts { title: title.into(), items }))
}

fn fact(finding: &Finding) -> Fact {
    let label = match finding.object.as_str() {
        "" => finding.name.clone(),
        object => format!("{} ({object})", finding.name),
    };
    // An empty text would look like a missing value.
    let shown = |value: &String| if value.is_empty() { "''".to_owned() } else { value.clone() };
    let values = match (finding.present.as_ref().map(shown), finding.recommended.as_ref().map(shown)) {
        (Some(present), Some(better)) if present != better => format!("{present}, better {better}: "),
        (Some(present), _) => format!("{present}: "),
        (None, Some(better)) => format!("better {better}: "),
        (None, None) => String::new(),
    };
    // Names and values come from the host's files.
    Fact::new(printable(&label).into_owned(), printable(&format!("{values}{}", finding.reason)).into_owned())
}

fn next(all: bool) -> &'static str {
    match all {
        true => "`pgdyno explain NAME` describes each; `pgdyno host plan` prints what would change it.",
        false => {
            "`pgdyno explain NAME` describes each; --all also lists what is fine; `pgdyno host plan` prints what would \
             change it."
        }
    }
}

/// What is known of one name, as text.
pub fn page(page: &Page) -> String {
    let fact = |label: &str, text: &str| (!text.is_empty()).then(|| Fact::new(label, text));
    let is_judged = !matches!(page.today, Today::NotJudged | Today::Term);
    let gain = match page.gain {
        Gain::NotMeasured if !is_judged => String::new(),
        Gain::NotMeasured => "not measured".to_owned(),
        Gain::Measured { by, result } => format!("{result} ({by})"),
    };
    let items = [
        fact("verdict", if page.today == Today::Term { "" } else { page.today.words() }),
        fact("why", page.why),
        fact("danger", page.danger),
        fact("gain", &gain),
        fact("kernels", &kernels(page)),
        fact("PostgreSQL", &majors(page)),
        fact("also", &page.also.join(", ")),
        fact("source", page.source),
    ];
    let title = format!("{}: {}", page.name, page.what);
    text_of_blocks(&[Block::text(title), Block::facts(items.into_iter().flatten().collect())])
}

fn kernels(page: &Page) -> String {
    let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    let since = page.since_kernel.map(|since| format!("since Linux {}", version(since)));
    let until = page.until_kernel.map(|until| format!("gone in Linux {}", version(until)));
    since.into_iter().chain(until).collect::<Vec<_>>().join(", ")
}

fn majors(page: &Page) -> String {
    let since = page.since_major.map(|since| format!("since {}", Page::major_words(since)));
    let until = page.until_major.map(|until| format!("gone in {}", Page::major_words(until)));
    since.into_iter().chain(until).collect::<Vec<_>>().join(", ")
}
