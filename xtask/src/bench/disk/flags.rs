//! The flags, and the order of what is measured.

use std::{fs, path::PathBuf, process::Command};

use crate::{Failure, bench::turns::alternately};

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
    pub(super) fn program(&self, name: &str) -> Command {
        let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let installed = installed.map(|version| version.path().join("bin").join(name));
        let installed = || installed.filter(|path| path.exists()).max();
        let named = self.pg_bindir.as_ref().map(|dir| dir.join(name));
        let mut command = Command::new(named.or_else(installed).unwrap_or_else(|| name.into()));
        command.env("LC_ALL", "C");
        command
    }

    /// Measures by both programs alternately: pgdyno's figures and the peer's.
    pub(super) fn alternate<T>(
        &self,
        mut ours: impl FnMut() -> Result<T, Failure>,
        mut theirs: impl FnMut() -> Result<T, Failure>,
    ) -> Result<Vec<(T, T)>, Failure> {
        let results = alternately(2, self.pairs, |_, who| if who == 0 { ours() } else { theirs() })?;
        let mut results = results.into_iter();
        Ok(results.next().into_iter().flatten().zip(results.next().into_iter().flatten()).collect())
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
    fn parts_and_programs_are_those_asked_for() {
        let args = args(3);
        assert!(args.wants("clock") && !args.wants("nop"));
        assert_eq!(args.program("pg_test_fsync").get_program(), "/pg/pg_test_fsync");
    }
}
