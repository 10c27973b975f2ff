//! Whether the programs that will be compared are built alike, as far as it shows before any of them is started.

use pgdyno_core::facts::{BuildFacts, major_of, same_build};

use super::program::Program;

/// A program that will be compared with others.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// What it goes by: `A`, or the name of a subject.
    pub name: &'a str,
    /// `server_version_num`.
    pub version_num: u32,
    /// Its version as people write it.
    pub version: String,
    /// How it was compiled, as far as it is known.
    pub build: BuildFacts,
    /// Whether it is a bundle that has not been fetched yet.
    pub is_unfetched: bool,
    /// Whether it is a bundle.
    pub is_bundle: bool,
    /// Whether another build than that of the first of them was asked for.
    pub build_asked: bool,
}

impl Candidate<'_> {
    /// Whether it is known, or to be expected, that the build differs from another one's and nobody asked for that
    /// alone: two builds of one major, asked for as builds, are a question of their own.
    fn differs_from(&self, first: &Self) -> bool {
        let same_major = major_of(first.version_num) == major_of(self.version_num);
        if self.build_asked && same_major {
            return false;
        }
        match same_build(&first.build, &self.build) {
            Some(same) => !same,
            // A bundle is not built as what is installed here, whatever it turns out to be.
            None => (first.is_unfetched || self.is_unfetched) && first.is_bundle != self.is_bundle,
        }
    }

    fn words(&self) -> String {
        let program = Program { build: self.build.clone(), ..Program::default() };
        let compiled = match program.compiled() {
            Some(compiled) => format!("({compiled})"),
            None if self.is_unfetched => "(a bundle that is not here yet)".to_owned(),
            None => "(compiled in a way that is not known)".to_owned(),
        };
        format!("{} is PostgreSQL {} {compiled}", self.name, self.version)
    }
}

/// What to know of programs that are not built as the first of them is, in a sentence without a full stop; `None` where
/// all are, or nothing is known.
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
        assert!(said.ends_with("B is PostgreSQL 17.2 (a bundle that is not here yet)"), "{said}");
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
