//! Runs of test programs, several at a time.

use std::{
    collections::VecDeque,
    process::Stdio,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use crate::{
    failure::Failure,
    programs::{Program, without_package},
    sum::Sum,
};

/// Test programs that run at a time. The first ones mostly wait for servers; each runs several tests at a time.
const AT_ONCE: usize = 2;

/// Programs that start servers, those that take longest first: the others overlap with them.
const WITH_SERVERS: [&str; 4] = ["scenarios", "postgres", "observe", "pgdyno_provision"];

/// Scenarios that take more than some ten seconds: see CONTRIBUTING.md.
const LONG: &str = "::long::";

/// Runs ignored tests only.
const IGNORED: &str = "--ignored";

/// Tests that need the machine to themselves: they run after all others, one at a time.
const ALONE: &str = "::alone::";

/// Variable by which tests that have a short and a long form run the long one.
const LONG_FORM: &str = "PGDYNO_TEST_ALL";

/// How many tests of a program run at a time, and its variable: long ones compute more.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "4");

/// Which tests are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Those that are not ignored.
    Usual,
    /// Also the long scenarios of the two majors.
    Long,
    /// All, in their long form.
    All,
}

/// A run of a test program.
#[derive(Debug)]
pub struct Job {
    program: Program,
    arguments: Vec<String>,
    variables: Vec<(&'static str, &'static str)>,
}

/// Runs that may overlap.
#[derive(Debug)]
pub struct Pass {
    jobs: VecDeque<Job>,
    at_once: usize,
}

/// What to run in each pass; one begins when all runs of the one before have ended. Tests by name are run in one pass.
pub fn passes(kind: Kind, programs: &[Program], of_tests: &[String]) -> Vec<Pass> {
    let mut programs: Vec<_> = programs.to_vec();
    let rank = |name: &str| WITH_SERVERS.iter().position(|of| *of == name).unwrap_or(WITH_SERVERS.len());
    programs.sort_by_key(|program| rank(&program.name));
    let job = |program: &Program, more: &[&str], variables: &[(&'static str, &'static str)]| {
        let arguments = more.iter().map(|argument| (*argument).to_owned()).chain(of_tests.iter().cloned());
        Job { program: program.clone(), arguments: arguments.collect(), variables: variables.to_vec() }
    };
    let pass = |at_once: usize, more: &[&str], variables: &[(&'static str, &'static str)]| {
        let jobs = programs.iter().map(|program| job(program, more, variables)).collect();
        Pass { jobs, at_once }
    };
    let all = [(LONG_FORM, "1"), THREADS];
    match kind {
        Kind::Usual => vec![pass(AT_ONCE, &[], &[])],
        // Long scenarios compare what they measure, which other programs would disturb.
        Kind::Long => {
            let with_long = programs.iter().filter(|program| program.name == WITH_SERVERS[0]);
            let jobs = with_long.map(|program| job(program, &[IGNORED, LONG], &[THREADS])).collect();
            vec![pass(AT_ONCE, &[], &[]), Pass { jobs, at_once: 1 }]
        }
        Kind::All if of_tests.is_empty() => vec![
            pass(AT_ONCE, &["--include-ignored", "--skip", ALONE], &all),
            pass(1, &["--include-ignored", "--test-threads=1", ALONE], &all),
        ],
        Kind::All => vec![pass(AT_ONCE, &["--include-ignored"], &all)],
    }
}

/// Executes the runs of a pass.
pub fn run_all(pass: Pass) -> Result<Sum, Failure> {
    let waiting = Mutex::new(pass.jobs);
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let lane = || -> Result<Sum, Failure> {
        let mut sum = Sum::default();
        while let Some(job) = next() {
            sum += job.run()?;
        }
        Ok(sum)
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..pass.at_once).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().try_fold(Sum::default(), |mut all, lane| {
            all += lane.join().map_err(|_| "a lane has panicked")??;
            Ok(all)
        })
    })
}

impl Job {
    /// Runs the program and prints its output when it has ended. What it writes to standard error is seen at once.
    fn run(&self) -> Result<Sum, Failure> {
        let Program { path, name, dir } = &self.program;
        let begin = Instant::now();
        let output = without_package(path)
            .args(&self.arguments)
            .envs(self.variables.iter().copied())
            .env("CARGO_MANIFEST_DIR", dir)
            .current_dir(dir)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut sum = Sum::of_output(&said);
        if self.arguments.first().is_some_and(|first| first == IGNORED) {
            sum.otherwise_ignored = sum.passed + sum.failed;
        }
        let arguments = self.arguments.join(" ");
        let took_s = begin.elapsed().as_secs_f64();
        println!("\n{name} {arguments} ({}, {took_s:.1} s)\n{said}", path.display());
        if !output.status.success() && sum.failed == 0 {
            println!("{name} failed ({}) without a test that failed", output.status);
            sum.failed = 1;
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runs of each pass, as lines.
    fn lines(kind: Kind, of_tests: &[&str]) -> Vec<Vec<String>> {
        let program = |name: &str| Program { path: name.into(), name: name.into(), dir: "/".into() };
        let of_tests: Vec<String> = of_tests.iter().map(|argument| (*argument).to_owned()).collect();
        let line = |job: &Job| {
            let variables = job.variables.iter().map(|(name, value)| format!("{name}={value} "));
            variables.collect::<String>() + &job.program.name + " " + &job.arguments.join(" ")
        };
        let passes = passes(kind, &["pgdyno_core", "scenarios"].map(program), &of_tests);
        passes.iter().map(|pass| pass.jobs.iter().map(line).collect()).collect()
    }

    #[test]
    fn programs_that_wait_for_servers_begin() {
        assert_eq!(lines(Kind::Usual, &[]), [["scenarios ", "pgdyno_core "]]);
        assert_eq!(lines(Kind::Usual, &["tpcc"]), [["scenarios tpcc", "pgdyno_core tpcc"]]);
    }

    #[test]
    fn long_scenarios_run_after_the_others() {
        let long = "RUST_TEST_THREADS=4 scenarios --ignored ::long::";
        assert_eq!(lines(Kind::Long, &[]), [vec!["scenarios ", "pgdyno_core "], vec![long]]);
    }

    #[test]
    fn all_tests_include_those_that_are_ignored() {
        let all = "PGDYNO_TEST_ALL=1 RUST_TEST_THREADS=4 scenarios --include-ignored";
        let passes = lines(Kind::All, &[]);
        assert_eq!(passes[0][0], format!("{all} --skip ::alone::"));
        assert_eq!(passes[1][0], format!("{all} --test-threads=1 ::alone::"));
        assert_eq!(lines(Kind::All, &["tpcc"])[0][0], format!("{all} tpcc"));
        assert_eq!((passes.len(), lines(Kind::All, &["tpcc"]).len()), (2, 1));
    }

    #[test]
    fn a_program_that_fails_without_a_test_counts_as_one() {
        let job = |path: &str| Job {
            program: Program { path: path.into(), name: "x".into(), dir: "/".into() },
            arguments: Vec::new(),
            variables: Vec::new(),
        };
        let pass = |jobs: &[&str]| Pass { jobs: jobs.iter().map(|path| job(path)).collect(), at_once: 2 };
        let sum = run_all(pass(&["/bin/false", "/bin/true", "/bin/false"])).expect("they can be run");
        assert_eq!(sum, Sum { failed: 2, ..Sum::default() });
        assert!(run_all(pass(&["/nowhere"])).is_err());
    }
}
