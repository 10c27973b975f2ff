//! The flags, and the order of what is measured.

use std::{fs, path::PathBuf};

use crate::Failure;

/// Flags of `bench-disk`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory to measure in; may be repeated
    #[arg(long = "dir", value_name = "DIR", default_value = ".")]
    pub(super) dirs: Vec<PathBuf>,
    /// Pairs of each measurement; even numbers are balanced
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(3..))]
    pub(super) pairs: u32,
    /// Seconds of a measurement by fio and by pgdyno
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) seconds: u32,
    /// Seconds of each test of pg_test_fsync, of which there are 16
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) sync_seconds: u32,
    /// Size of the file for fio, in MiB
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) size_mib: u32,
    /// Directory of pg_test_fsync and pg_test_timing, instead of a search
    #[arg(long, value_name = "DIR")]
    pg_bindir: Option<PathBuf>,
    /// Skip a part; may be repeated
    #[arg(long, value_name = "PART", value_parser = ["syncs", "at-depth", "clock", "nop"])]
    skip: Vec<String>,
    /// Write every pair as CSV
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
}

impl Args {
    pub(super) fn wants(&self, part: &str) -> bool {
        !self.skip.iter().any(|skipped| skipped == part)
    }

    /// A program of PostgreSQL: as named, else of the newest major that Debian's packages installed, else of `PATH`.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        if let Some(dir) = &self.pg_bindir {
            return dir.join(name);
        }
        let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = installed.map(|version| version.path().join("bin").join(name));
        programs.filter(|path| path.exists()).max().unwrap_or_else(|| name.into())
    }

    /// Measures by both programs, the other one first in every second pair: pgdyno's figures and the peer's.
    pub(super) fn alternate<T>(
        &self,
        mut ours: impl FnMut() -> Result<T, Failure>,
        mut theirs: impl FnMut() -> Result<T, Failure>,
    ) -> Result<Vec<(T, T)>, Failure> {
        let pair = |number: u32| {
            if number.is_multiple_of(2) {
                let own = ours()?;
                return Ok((own, theirs()?));
            }
            let other = theirs()?;
            Ok((ours()?, other))
        };
        (0..self.pairs).map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(pairs: u32) -> Args {
        Args {
            dirs: Vec::new(),
            pairs,
            seconds: 1,
            sync_seconds: 1,
            size_mib: 1,
            pg_bindir: Some("/pg".into()),
            skip: vec!["nop".to_owned()],
            csv: None,
        }
    }

    #[test]
    fn the_first_of_a_pair_changes() {
        let order = std::cell::RefCell::new(String::new());
        let say = |who: char| {
            order.borrow_mut().push(who);
            Ok(who)
        };
        let pairs = args(3).alternate(|| say('p'), || say('f')).expect("both work");
        assert_eq!((order.into_inner().as_str(), pairs), ("pffppf", vec![('p', 'f'); 3]));
    }

    #[test]
    fn parts_and_programs_are_those_asked_for() {
        let args = args(3);
        assert!(args.wants("clock") && !args.wants("nop"));
        assert_eq!(args.program("pg_test_fsync"), PathBuf::from("/pg/pg_test_fsync"));
    }
}
