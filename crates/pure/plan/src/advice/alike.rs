//! Warns before any server starts if the builds to be compared are known to differ.

use pgdyno_core::facts::{BuildFacts, major_of, same_build};

use super::program::Program;

/// A PostgreSQL build that takes part in a comparison.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// Name in messages: `A`, or the name of a subject.
    pub name: &'a str,
    /// `server_version_num`.
    pub version_num: u32,
    /// Version as `pg_config` prints it, for example `15.19`.
    pub version: String,
    /// Compiler and flags, as far as they are known.
    pub build: BuildFacts,
    /// Whether this is a bundle that has not been fetched yet.
    pub is_unfetched: bool,
    /// Whether this is a bundle rather than an installed PostgreSQL.
    pub is_bundle: bool,
    /// Whether the user asked for a build other than that of the first candidate.
    pub build_asked: bool,
}

impl Candidate<'_> {
    /// Whether the build differs, or must be expected to differ, from the first one without the user having
    /// asked for it. Two builds of the same major version that were requested as builds are a comparison of
    /// builds and do not count.
    fn differs_from(&self, first: &Self) -> bool {
        let same_major = major_of(first.version_num) == major_of(self.version_num);
        if self.build_asked && same_major {
            return false;
        }
        match same_build(&first.build, &self.build) {
            Some(same) => !same,
            // A bundle is never built like a packaged server.
            None => (first.is_unfetched || self.is_unfetched) && first.is_bundle != self.is_bundle,
        }
    }

    fn words(&self) -> String {
        let program = Program { build: self.build.clone(), ..Program::default() };
        let compiled = match program.compiled() {
            Some(compiled) => format!("({compiled})"),
            None if self.is_unfetched => "(a bundle that is not fetched yet)".to_owned(),
            None => "(compiler and flags unknown)".to_owned(),
        };
        format!("{} is PostgreSQL {} {compiled}", self.name, self.version)
    }
}

/// Warning that some candidates are not built like the first, as a sentence without a full stop; `None` if all
/// builds are alike or nothing is known about them.
pub fn unlike(candidates: &[Candidate<'_>]) -> Option<String> {
    let (first, others) = candidates.split_first()?;
    let differing: Vec<&Candidate<'_>> = others.iter().filter(|other| other.differs_from(first)).collect();
    if differing.is_empty() {
        return None;
    }
    let all = || std::iter::once(first).chain(differing.iter().copied());
    let words: Vec<String> = all().map(Candidate::words).collect();
    let words = words.join("; ");
    Some(format!(
        "the programs are not built alike, so a difference is not due to their versions alone: {words}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0";

    fn candidate<'a>(name: &'a str, version_num: u32, compiler: Option<&str>, cflags: &str) -> Candidate<'a> {
        let flags = compiler.map(|_| cflags.to_owned());
        let compiler = compiler.map(str::to_owned);
        Candidate {
            name,
            version_num,
            version: format!("{}.{}", version_num / 10_000, version_num % 10_000),
            build: BuildFacts { compiler, cflags: flags, ..BuildFacts::default() },
            is_unfetched: false,
            is_bundle: false,
            build_asked: false,
        }
    }

    fn installed(name: &str) -> Candidate<'_> {
        candidate(name, 150_019, Some(DEBIAN), "-Wall -O2")
    }

    fn bundle(name: &str, version_num: u32) -> Candidate<'_> {
        Candidate { is_bundle: true, ..candidate(name, version_num, Some("gcc-7.5.0"), "-Wall -Os") }
    }

    #[test]
    fn an_installed_server_and_a_bundle_are_two_builds() {
        let said = unlike(&[installed("A"), bundle("B", 180_006)]).expect("they are");
        assert!(said.contains("A is PostgreSQL 15.19 (gcc 12.2.0, -O2)"), "{said}");
        assert!(said.ends_with("B is PostgreSQL 18.6 (gcc-7.5.0, -Os)"), "{said}");
        assert_eq!(unlike(&[bundle("A", 150_019), bundle("B", 180_006)]), None);
        assert_eq!(unlike(&[installed("A"), Candidate { version_num: 160_002, ..installed("B") }]), None);
        assert_eq!((unlike(&[installed("A")]), unlike(&[])), (None, None));
    }

    #[test]
    fn of_several_those_are_named_that_differ_from_the_first() {
        let all = [bundle("pg=15", 150_019), installed("pg=16"), bundle("pg=18", 180_006)];
        let said = unlike(&all).expect("one differs");
        assert!(
            said.contains("pg=15 is") && said.contains("; pg=16 is") && !said.contains("pg=18"),
            "{said}"
        );
    }

    #[test]
    fn a_bundle_that_is_not_here_yet_is_expected_to_differ_from_what_is_installed() {
        let unfetched =
            |name| Candidate { is_unfetched: true, is_bundle: true, ..candidate(name, 170_002, None, "") };
        let said = unlike(&[installed("A"), unfetched("B")]).expect("nobody builds alike by chance");
        assert!(said.ends_with("B is PostgreSQL 17.2 (a bundle that is not fetched yet)"), "{said}");
        assert_eq!(unlike(&[bundle("A", 180_006), unfetched("B")]), None);
        assert_eq!(
            unlike(&[installed("A"), candidate("B", 170_002, None, "")]),
            None,
            "nothing is known of B"
        );
    }

    #[test]
    fn two_builds_of_one_major_may_be_the_question() {
        let asked = |of: Candidate<'static>| Candidate { build_asked: true, ..of };
        assert_eq!(unlike(&[installed("A"), asked(bundle("B", 150_018))]), None);
        assert!(unlike(&[installed("A"), asked(bundle("B", 180_006))]).is_some(), "versions differ too");
    }
}
