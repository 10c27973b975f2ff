//! Judges from its compilation what a PostgreSQL build may be used for.

use pgdyno_core::{
    facts::{BuildFacts, same_build},
    units,
};

/// Default block size in bytes.
const USUAL_BLOCK_BYTES: u32 = 8_192;

/// A PostgreSQL build that could be used, described without running it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Compiler, flags and features.
    pub build: BuildFacts,
    /// Block size in bytes, if known.
    pub block_bytes: Option<u32>,
    /// WAL block size in bytes, if known.
    pub wal_block_bytes: Option<u32>,
    /// Whether a bundle is one of the tested ones; `None` if this is no bundle.
    pub pinned: Option<bool>,
}

impl Program {
    /// Verdict on the build for measurements, in plain words without a full stop.
    pub fn means(&self) -> String {
        let speed = match (self.build.slow_because(), self.build.optimised_for_speed()) {
            (Some(reason), _) if self.build.has_assertions() == Some(true) => {
                format!("built {reason}: for tests, not for numbers")
            }
            (Some(reason), _) => {
                format!("built {reason}, slower than usual: to try things, not to compare with other builds")
            }
            (None, Some(_)) => {
                let level = self.build.level().unwrap_or_default();
                format!("built with {level}: good for numbers")
            }
            (None, None) => {
                let what = if self.build.compiler.is_some() { "flags" } else { "compiler and flags" };
                format!("{what} are unknown: do not compare with other builds")
            }
        };
        let unusual = |what: &str, bytes: Option<u32>| {
            let bytes = bytes.filter(|bytes| *bytes != USUAL_BLOCK_BYTES)?;
            Some(format!("{what} of {} instead of 8 KiB", units::bytes(bytes.into())))
        };
        let untested = self.pinned == Some(false);
        let parts = [
            Some(speed),
            unusual("blocks", self.block_bytes),
            unusual("WAL blocks", self.wal_block_bytes),
            untested.then(|| "not tested with this pgdyno".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Compiler and optimization level in a few words, such as `gcc 12.2.0, -O2`; `None` if neither is known.
    pub fn compiled(&self) -> Option<String> {
        let compiler = self.build.compiler.as_deref().map(without_package);
        let flags = match &self.build.made {
            Some(made) if !made.cflags.is_empty() => Some(made.cflags.clone()),
            _ => self.build.level(),
        };
        let parts: Vec<_> = [compiler, flags].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Whether a comparison of the two would compare versions only: compiler, flags, features and block sizes
    /// are known to be equal.
    pub fn is_like(&self, other: &Self) -> bool {
        let features = |program: &Self| {
            let features = program.build.telling_features()?;
            Some(features.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        let sizes = |program: &Self| (program.block_bytes, program.wal_block_bytes);
        same_build(&self.build, &other.build) == Some(true)
            && features(self).is_some()
            && features(self) == features(other)
            && sizes(self) == sizes(other)
    }
}

/// Shortens `gcc (Debian 12.2.0-14) 12.2.0` and `gcc (GCC) 4.4.7 20120313 (Red Hat 4.4.7-23)` to name and version.
fn without_package(compiler: &str) -> String {
    let version = compiler.split_once(") ").and_then(|(_, after)| after.split_whitespace().next());
    match (compiler.split_once(" ("), version) {
        (Some((name, _)), Some(version)) => format!("{name} {version}"),
        _ => compiler.to_owned(),
    }
}

/// Groups of equal builds as indexes into the list; a build without an equal is in no group.
pub fn alike(programs: &[Program]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        match groups.iter_mut().find(|group| programs[group[0]].is_like(program)) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::MadeFacts;

    use super::*;

    fn program(compiler: &str, cflags: &str) -> Program {
        let build = BuildFacts {
            compiler: Some(compiler.into()),
            cflags: Some(cflags.into()),
            features: Some(vec!["icu".into()]),
            ..BuildFacts::default()
        };
        Program { build, block_bytes: Some(8_192), wal_block_bytes: Some(8_192), pinned: None }
    }

    const GCC: &str = "gcc (Debian 12.2.0-14) 12.2.0";

    #[test]
    fn what_a_build_means_is_said_in_words() {
        let good = program(GCC, "-Wall -O2");
        assert_eq!(good.means(), "built with -O2: good for numbers");
        assert_eq!(good.compiled().as_deref(), Some("gcc 12.2.0, -O2"));
        let small = Program { pinned: Some(false), ..program("clang version 14.0.6", "-Os") };
        assert!(small.means().contains("with -Os, slower than usual: to try things"), "{}", small.means());
        assert!(small.means().ends_with("; not tested with this pgdyno"));
        assert_eq!(small.compiled().as_deref(), Some("clang version 14.0.6, -Os"));
        let mut tests = good.clone();
        tests.build.features = Some(vec!["cassert".into()]);
        assert_eq!(tests.means(), "built with assertions: for tests, not for numbers");
        let wide = Program { block_bytes: Some(32_768), ..good };
        assert_eq!(wide.means(), "built with -O2: good for numbers; blocks of 32 KiB instead of 8 KiB");
        assert!(Program::default().means().contains("unknown"));
        assert_eq!(Program::default().compiled(), None);
        let old = program("gcc (GCC) 4.4.7 20120313 (Red Hat 4.4.7-23)", "-g -O2");
        assert_eq!(old.compiled().as_deref(), Some("gcc 4.4.7, -O2"));
    }

    #[test]
    fn the_flags_that_were_given_say_more_than_the_level() {
        let mut own = program(GCC, "-Wall -O3 -march=native");
        own.build.made = Some(MadeFacts { cflags: "-O3 -march=native".into(), ..MadeFacts::default() });
        assert_eq!(own.compiled().as_deref(), Some("gcc 12.2.0, -O3 -march=native"));
    }

    #[test]
    fn only_what_is_known_to_be_alike_is() {
        let one = || program(GCC, "-O2 -g");
        let mut wide = one();
        wide.block_bytes = Some(32_768);
        let mut plain = one();
        plain.build.features = Some(vec![]);
        let mut dark = one();
        dark.build.compiler = None;
        let programs = [one(), wide, one(), plain, dark.clone(), dark, program(GCC, "-O3"), one()];
        assert_eq!(alike(&programs), [vec![0, 2, 7]]);
        assert_eq!(alike(&[]), Vec::<Vec<usize>>::new());
    }
}
