//! Work on one build: source, configure, compile, install, check. Each phase is recorded before it begins, so that the
//! next call knows where a killed one was.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Instant,
};

use jiff::Timestamp;
use pgdyno_core::problem::Problem;
use pgdyno_host::users::User;
use walkdir::{DirEntry, WalkDir};

use pgdyno_provision::{
    builds::{
        BuildSystem, Manifest, Phase,
        build_store::{BuildStore, LOG, MANIFEST, State},
    },
    safe::{first_closed, make_open_dir, remove, write_file},
    version::{OLDEST, parse_program_version},
};

use crate::{
    Event,
    dependencies::{self, Source},
    patch,
    recipe::Recipe,
    run::{Failure, Step, relevant_lines, run, wait_for_workers},
    source::Located,
    tree,
};

/// Age, in seconds before the end of an interrupted build, within which a file may be half written.
const HALF_WRITTEN_S: i64 = 10;
/// Last file that `configure` writes.
const CONFIGURED: &str = "config.log";

/// A running build; its owner holds the lock of its digest.
#[derive(Debug)]
pub struct Work<'a> {
    recipe: &'a Recipe<'a>,
    store: &'a BuildStore,
    digest: &'a str,
    user: Option<&'a User>,
    dir: PathBuf,
    prefix: PathBuf,
    log: File,
    begun: Instant,
    /// Phase that an earlier call was in, in the same tree.
    resumed: Option<Phase>,
}

impl<'a> Work<'a> {
    /// Creates the work tree, or takes over that of an interrupted call.
    ///
    /// # Errors
    /// If the work tree cannot be created, or the user who builds cannot reach it.
    pub fn begin(
        recipe: &'a Recipe<'a>,
        store: &'a BuildStore,
        digest: &'a str,
        user: Option<&'a User>,
    ) -> Result<Self, Problem> {
        let (dir, prefix) = (store.work(digest), store.made(digest));
        let resumed = resumable(&dir, user);
        let log = prepare(store, digest, resumed).map_err(|error| unwritable(&dir, &error))?;
        if let Some((user, closed)) = user.and_then(|user| Some((user, first_closed(&dir, user)?))) {
            return Err(Problem::could_not(format!("user `{}` cannot reach {}", user.name, dir.display()))
                .detail(format!("only its owner can enter {}", closed.display()))
                .hint("choose another directory with PGDYNO_CACHE, or another user with --run-as"));
        }
        Ok(Self { recipe, store, digest, user, dir, prefix, log, begun: Instant::now(), resumed })
    }

    /// Makes the build and its manifest. A failed build leaves its log; an interrupted one leaves everything.
    ///
    /// # Errors
    /// If the source is not PostgreSQL's, a patch does not apply, a dependency is missing, or a program fails.
    pub fn build(mut self, located: &Located, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
        let mut done = self.attempt(located, progress);
        if done.is_err() && self.resumed.is_some() && !self.recipe.request.stop.requested() {
            // The files of an interrupted call may not fit together, so the failure may not be the source's: try once
            // from scratch.
            wait_for_workers(&self.dir);
            self.resumed = None;
            done = self.attempt(located, progress);
        }
        let Err(problem) = done else {
            // Remains of the work tree do no harm, and `clean` finds them.
            let _ = self.store.remove_work(self.digest);
            return Ok(());
        };
        wait_for_workers(&self.dir);
        if !self.recipe.request.stop.requested() {
            self.give_up();
        }
        Err(problem)
    }

    fn attempt(&mut self, located: &Located, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
        self.source(located, progress)?;
        self.build_source(progress)
    }

    fn give_up(&self) {
        let configured = State::read(&self.dir).is_some_and(|state| state.phase != Phase::Source);
        let _ = remove(&self.prefix);
        if configured && self.enter(Phase::Failed).is_ok() {
            let _ = remove(&self.source_dir()).and_then(|()| remove(&self.build_dir()));
        } else {
            let _ = self.store.remove_work(self.digest);
        }
    }

    fn source_dir(&self) -> PathBuf {
        self.dir.join("source")
    }

    fn build_dir(&self) -> PathBuf {
        self.dir.join("build")
    }

    /// Records the phase that begins.
    fn enter(&self, phase: Phase) -> Result<(), Problem> {
        let request = self.recipe.request;
        let (name, source) = (request.name.clone(), request.source.clone());
        let state = State { name, source, uid: uid_of(self.user), phase };
        state.write(&self.dir).map_err(|error| unwritable(&self.dir, &error))
    }

    /// Puts the source into the work tree and patches it.
    fn source(&mut self, located: &Located, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
        if let Some(phase) = self.resumed {
            progress(Event::Resuming { phase });
            return Ok(());
        }
        let request = self.recipe.request;
        self.enter(Phase::Source)?;
        progress(Event::Source { source: request.source.clone() });
        let dir = self.source_dir();
        located.put(&dir, request)?;
        self.unless_stopped("the source was copied")?;
        self.give(&dir)?;
        for content in self.recipe.patches {
            patch::apply(content, request, &dir, &self.dir, self.user, &mut self.log)?;
        }
        let source = Source::at(&dir, &request.source)?;
        refuse_old(&source)?;
        dependencies::check_programs(request, &source, self.recipe.patches)
    }

    fn unless_stopped(&self, what: &str) -> Result<(), Problem> {
        match self.recipe.request.stop.requested() {
            true => Err(interrupted(what)),
            false => Ok(()),
        }
    }

    fn build_source(&mut self, progress: &mut dyn FnMut(Event)) -> Result<(), Problem> {
        let (dir, request) = (self.source_dir(), self.recipe.request);
        let source = Source::at(&dir, &request.source)?;
        let libraries = dependencies::choose(&source, self.recipe.libraries, &request.configure)?;
        for (library, package) in libraries.absent {
            progress(Event::Absent { library, package });
        }
        let options = self.options(source.system, libraries.options);
        let kept = self.kept(source.system)?;
        if kept.is_none() {
            progress(Event::Configuring { version: source.version.clone() });
            self.configure(&source, &options)?;
        }
        self.compile(&source, kept.unwrap_or_default(), progress)?;
        progress(Event::Installing);
        self.install(&source)?;
        self.complete(&source, options)
    }

    /// Number of usable objects from an interrupted call; `None` if the build has to be configured again.
    fn kept(&self, system: BuildSystem) -> Result<Option<u64>, Problem> {
        let dir = self.build_dir();
        match (self.resumed, system) {
            (Some(Phase::Compile | Phase::Install), BuildSystem::Autoconf) => {
                sweep(&dir).map_err(|error| unwritable(&dir, &error))
            }
            // Ninja logs what is complete, and makes the rest again.
            (Some(Phase::Compile | Phase::Install), BuildSystem::Meson) => Ok(Some(0)),
            _ => Ok(None),
        }
    }

    /// All options except for prefix and compiler.
    fn options(&self, system: BuildSystem, libraries: Vec<String>) -> Vec<String> {
        let request = self.recipe.request;
        let (prefix, dash) = match system {
            BuildSystem::Autoconf => ("--with-", "-"),
            BuildSystem::Meson => ("-D", "_"),
        };
        let sizes = [
            ("blocksize".to_owned(), request.block_kb),
            (format!("wal{dash}blocksize"), request.wal_block_kb),
            ("segsize".to_owned(), request.segment_gb),
        ];
        let sizes = sizes.iter().map(|(name, size)| format!("{prefix}{name}={size}"));
        let archiver = self.archiver(system);
        sizes.chain(libraries).chain(archiver).chain(request.configure.iter().cloned()).collect()
    }

    /// Archiver for objects of link-time optimisation, which the ordinary one does not understand.
    fn archiver(&self, system: BuildSystem) -> Option<String> {
        let with_lto = self.recipe.cflags().split_whitespace().any(|flag| flag.starts_with("-flto"));
        let given = self.recipe.request.configure.iter().any(|option| option.starts_with("AR="));
        if !with_lto || given || system == BuildSystem::Meson {
            return None;
        }
        self.recipe.compiler.lto_archiver().map(|path| format!("AR={}", path.display()))
    }

    fn configure(&mut self, source: &Source<'_>, options: &[String]) -> Result<(), Problem> {
        self.enter(Phase::Configure)?;
        let dir = self.build_dir();
        self.renew(&dir)?;
        let (program, arguments, environment) = self.configuration(source, options);
        let step = Step { environment, ..Step::new(&program, arguments, &dir, self.user) };
        run(step, &mut self.log, &self.recipe.request.stop, &mut |_| {})
            .map(drop)
            .map_err(|failure| self.problem(failure, "configure", source))
    }

    fn configuration(
        &self,
        source: &Source<'_>,
        options: &[String],
    ) -> (PathBuf, Vec<OsString>, Vec<(&'static str, OsString)>) {
        let (cc, cflags) = (self.recipe.compiler.path.as_os_str(), self.recipe.cflags());
        let mut prefix = OsString::from("--prefix=");
        prefix.push(&self.prefix);
        let options = options.iter().map(OsString::from);
        match source.system {
            BuildSystem::Autoconf => {
                let mut compiler = OsString::from("CC=");
                compiler.push(cc);
                let own = [
                    source.dir.join("configure").into(),
                    prefix,
                    compiler,
                    format!("CFLAGS={cflags}").into(),
                ];
                ("/bin/sh".into(), own.into_iter().chain(options).collect(), Vec::new())
            }
            BuildSystem::Meson => {
                let mut own: Vec<OsString> = vec!["setup".into(), ".".into(), source.dir.into(), prefix];
                own.extend(["--libdir=lib", "--buildtype=plain", "--auto-features=disabled"].map(Into::into));
                own.extend([format!("-Dc_args={cflags}"), format!("-Dc_link_args={cflags}")].map(Into::into));
                let environment = vec![("CC", cc.to_owned())];
                (self.program("meson"), own.into_iter().chain(options).collect(), environment)
            }
        }
    }

    fn program(&self, name: &str) -> PathBuf {
        self.recipe.request.program(name).unwrap_or_else(|| name.into())
    }

    fn jobs(&self) -> String {
        let processors = || std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        format!("-j{}", self.recipe.request.jobs.unwrap_or_else(processors))
    }

    fn compile(
        &mut self,
        source: &Source<'_>,
        kept: u64,
        progress: &mut dyn FnMut(Event),
    ) -> Result<(), Problem> {
        let mut done = kept;
        self.enter(Phase::Compile)?;
        let mut total = objects(&self.source_dir()).max(done);
        progress(Event::Compiling { done, total });
        let mut on_line = |line: &str| {
            let counted = match counted(line) {
                Some((at, of)) => (at, of),
                None if line.contains(" -c ") => (done + 1, total),
                None => return,
            };
            (done, total) = (counted.0, counted.1.max(counted.0));
            progress(Event::Compiling { done, total });
        };
        self.run_all(source, "all", &mut on_line).map_err(|failure| self.problem(failure, "compile", source))
    }

    fn run_all(
        &mut self,
        source: &Source<'_>,
        what: &str,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let dir = self.build_dir();
        for (program, arguments) in self.commands(source, what) {
            let step = Step::new(&program, arguments, &dir, self.user);
            run(step, &mut self.log, &self.recipe.request.stop, on_line)?;
        }
        Ok(())
    }

    /// The commands that build everything with contrib, or install it: `world-bin` in versions that have it.
    fn commands(&self, source: &Source<'_>, what: &str) -> Vec<(PathBuf, Vec<String>)> {
        let install = what == "install";
        if source.system == BuildSystem::Meson {
            return vec![match install {
                true => (self.program("meson"), vec!["install".to_owned(), "--no-rebuild".to_owned()]),
                false => (self.program("ninja"), vec![self.jobs()]),
            }];
        }
        let makefile = fs::read_to_string(source.dir.join("GNUmakefile.in")).unwrap_or_default();
        let targets: Vec<Vec<&str>> = match (makefile.contains("world-bin"), install) {
            (true, true) => vec![vec!["install-world-bin"]],
            (true, false) => vec![vec!["world-bin"]],
            (false, _) if source.dir.join("contrib").is_dir() => {
                vec![vec![what], vec!["-C", "contrib", what]]
            }
            (false, _) => vec![vec![what]],
        };
        let make = |target: Vec<&str>| {
            let arguments = std::iter::once(self.jobs()).chain(target.into_iter().map(str::to_owned));
            (self.program("make"), arguments.collect())
        };
        targets.into_iter().map(make).collect()
    }

    fn install(&mut self, source: &Source<'_>) -> Result<(), Problem> {
        self.enter(Phase::Install)?;
        self.renew(&self.prefix)?;
        self.run_all(source, "install", &mut |_| {})
            .map_err(|failure| self.problem(failure, "install", source))
    }

    /// Checks the installed programs against the request, takes ownership back from the user who built, and writes the
    /// manifest.
    fn complete(&mut self, source: &Source<'_>, options: Vec<String>) -> Result<(), Problem> {
        let (version_num, version) = self.check(source, &options)?;
        let finish = || {
            fs::copy(self.dir.join(LOG), self.prefix.join(LOG))?;
            if self.user.is_some() {
                let process = (rustix::process::geteuid(), rustix::process::getegid());
                tree::give(&self.prefix, process.0.as_raw(), process.1.as_raw())?;
            }
            let manifest = self.manifest(source, (version_num, version), options);
            write_file(&self.prefix.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?, 0o644, None)
        };
        finish().map_err(|error| unwritable(&self.prefix, &error))
    }

    fn manifest(&self, source: &Source<'_>, version: (u32, String), options: Vec<String>) -> Manifest {
        let (recipe, request) = (self.recipe, self.recipe.request);
        Manifest {
            version_num: version.0,
            version: version.1,
            source: request.source.clone(),
            source_sha256: recipe.source_sha256.to_owned(),
            patches: recipe.patches.iter().map(|content| content.patch.clone()).collect(),
            compiler: recipe.compiler.first_line().to_owned(),
            cc: recipe.compiler.path.display().to_string(),
            cflags: recipe.cflags().to_owned(),
            configure: options,
            system: source.system,
            block_kb: request.block_kb,
            wal_block_kb: request.wal_block_kb,
            segment_gb: request.segment_gb,
            made_s: self.begun.elapsed().as_secs_f64(),
            built_at: Timestamp::now().to_string(),
        }
    }

    fn check(&mut self, source: &Source<'_>, options: &[String]) -> Result<(u32, String), Problem> {
        let wrong = |what: String, log: &Path| {
            Problem::could_not(format!("could not use the build of PostgreSQL {}: {what}", source.version))
                .hint(format!("the log of the build is {}", log.display()))
        };
        let log_path = self.dir.join(LOG);
        let said = self.ask("postgres", "--version", source)?;
        let (number, version) = parse_program_version(&said)
            .ok_or_else(|| wrong(format!("postgres says its version is `{}`", said.trim()), &log_path))?;
        self.ask("initdb", "--version", source)?;
        if Some(number) != number_of(&source.version) {
            return Err(wrong(format!("postgres says that it is {version}"), &log_path));
        }
        for (question, expected) in self.expected(source.system, options) {
            let answer = self.ask("pg_config", question, source)?;
            if let Some(missing) = expected.iter().find(|words| !answer.contains(*words)) {
                return Err(wrong(format!("pg_config {question} lacks `{missing}`"), &log_path));
            }
        }
        Ok((number, version))
    }

    /// Expected answers of `pg_config` by question; with meson it does not know the options.
    fn expected(&self, system: BuildSystem, options: &[String]) -> Vec<(&'static str, Vec<String>)> {
        let flags = self.recipe.cflags().split_whitespace().map(str::to_owned).collect();
        let mut expected =
            vec![("--bindir", vec![self.prefix.join("bin").display().to_string()]), ("--cflags", flags)];
        if system == BuildSystem::Autoconf {
            expected.push(("--cc", vec![self.recipe.compiler.path.display().to_string()]));
            expected.push(("--configure", options.to_vec()));
        }
        expected
    }

    fn ask(&mut self, program: &str, question: &str, source: &Source<'_>) -> Result<String, Problem> {
        let path = self.prefix.join("bin").join(program);
        let step = Step::new(&path, [question], Path::new("/"), self.user);
        run(step, &mut self.log, &self.recipe.request.stop, &mut |_| {})
            .map_err(|failure| self.problem(failure, "use the build of", source))
    }

    /// Changes the owner of a path in the work tree to the user who builds.
    fn give(&self, path: &Path) -> Result<(), Problem> {
        let Some(user) = self.user else { return Ok(()) };
        tree::give(path, user.uid, user.gid).map_err(|error| unwritable(path, &error))
    }

    /// Removes a directory and makes it again for the user who builds.
    fn renew(&self, dir: &Path) -> Result<(), Problem> {
        remove(dir).and_then(|()| make_open_dir(dir)).map_err(|error| unwritable(dir, &error))?;
        self.give(dir)
    }

    fn problem(&self, failure: Failure, what: &str, source: &Source<'_>) -> Problem {
        let log = self.dir.join(LOG);
        let problem = Problem::could_not(format!("could not {what} PostgreSQL {}", source.version));
        match failure {
            Failure::Stopped => interrupted(&format!("PostgreSQL {} was built", source.version)),
            Failure::Io(error) => Problem { what: format!("{}: {error}", problem.what), ..problem },
            Failure::Ended(status, said) => {
                let reason = Some(relevant_lines(&said)).filter(|reason| !reason.is_empty());
                let package = dependencies::package_for(&said).filter(|_| what == "configure");
                let brings = package.map(|package| format!("`apt-get install {package}` may help; "));
                problem.detail(reason.unwrap_or_else(|| status.to_string())).hint(format!(
                    "{}the whole output is in {}",
                    brings.unwrap_or_default(),
                    log.display()
                ))
            }
        }
    }
}

fn interrupted(what: &str) -> Problem {
    Problem::could_not(format!("interrupted while {what}"))
        .hint("the same command continues where it stopped; `pgdyno clean --yes` removes what is there")
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not write {}: {error}", path.display()))
        .hint("PGDYNO_CACHE moves the cache to another disk")
}

fn number_of(version: &str) -> Option<u32> {
    parse_program_version(&format!("postgres (PostgreSQL) {version}")).map(|(number, _)| number)
}

fn refuse_old(source: &Source<'_>) -> Result<(), Problem> {
    if number_of(&source.version).is_none_or(|number| number >= OLDEST) {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("PostgreSQL {} is too old to be built here", source.version))
        .hint("9.5 is the oldest"))
}

fn uid_of(user: Option<&User>) -> u32 {
    user.map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid)
}

/// Phase of an interrupted call, if this call can continue it: the source is complete, and the same user builds.
fn resumable(dir: &Path, user: Option<&User>) -> Option<Phase> {
    let state = State::read(dir).filter(|state| state.uid == uid_of(user))?;
    let goes_on = matches!(state.phase, Phase::Configure | Phase::Compile | Phase::Install);
    (goes_on && dir.join("source").is_dir()).then_some(state.phase)
}

/// Waits for programs left by a killed call, clears the directory unless the build resumes, and opens the log.
fn prepare(store: &BuildStore, digest: &str, resumed: Option<Phase>) -> io::Result<File> {
    let dir = store.work(digest);
    if dir.exists() {
        wait_for_workers(&dir);
    }
    if resumed.is_none() {
        store.remove_work(digest)?;
    }
    make_open_dir(&dir)?;
    let log = dir.join(LOG);
    let file = File::options().append(true).create(true).open(&log)?;
    fs::set_permissions(&log, fs::Permissions::from_mode(0o644))?;
    Ok(file)
}

/// Progress of ninja from a line such as `[12/345] …`: done and total.
fn counted(line: &str) -> Option<(u64, u64)> {
    let (at, of) = line.strip_prefix('[')?.split_once(']')?.0.split_once('/')?;
    Some((at.trim().parse().ok()?, of.trim().parse().ok()?))
}

/// Estimates the number of objects of a source: some files are compiled several times, for the server, for programs and
/// for libraries.
fn objects(source: &Path) -> u64 {
    const NOT_COMPILED: [&str; 8] =
        ["test", "tools", "win32", "plperl", "plpython", "tcl", "tutorial", "sepgsql"];
    let left_out = |entry: &DirEntry| {
        entry.file_type().is_dir() && NOT_COMPILED.iter().any(|name| entry.file_name() == *name)
    };
    let count = |dir: PathBuf| -> u64 {
        let entries = WalkDir::new(dir).into_iter().filter_entry(|entry| !left_out(entry)).flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "c")).count() as u64
    };
    let twice = ["src/common", "src/port"].iter().map(|dir| 2 * count(source.join(dir))).sum::<u64>();
    let all = count(source.join("src")) + count(source.join("contrib")) + twice;
    // Libraries of contrib and of interfaces compile some files once more: 18.6 has 1,701 compilations of 1,554 files.
    all + all / 10
}

/// Resets a make build to its state some seconds before its end, since files written later may be half written. Returns
/// the number of objects that stay; `None` if that instant lies before the end of `configure`.
///
/// Everything made after the doubtful objects is removed as well. PostgreSQL's makefiles say `.SECONDARY:`, so make
/// does not remake a missing object as long as a file made from it exists: the lists of objects (`objfiles.txt`) would
/// name files that the linker cannot find.
fn sweep(build: &Path) -> io::Result<Option<u64>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(build) {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            files.push((entry.into_path(), metadata.mtime()));
        }
    }
    let modified = |(_, modified): &(PathBuf, i64)| *modified;
    let good_until = files.iter().map(modified).max().unwrap_or_default() - HALF_WRITTEN_S;
    let configured = files.iter().find(|(path, _)| *path == build.join(CONFIGURED)).map(modified);
    if configured.is_none_or(|at| at >= good_until) {
        return Ok(None);
    }
    let (doubtful, kept): (Vec<_>, Vec<_>) = files.iter().partition(|file| modified(file) >= good_until);
    doubtful.iter().try_for_each(|(path, _)| fs::remove_file(path))?;
    let is_object = |path: &Path| path.extension().is_some_and(|extension| extension == "o");
    Ok(Some(kept.iter().filter(|(path, _)| is_object(path)).count() as u64))
}

#[cfg(test)]
mod tests {
    use std::{
        fs::FileTimes,
        time::{Duration, SystemTime},
    };

    use super::*;

    #[test]
    fn ninja_reports_its_progress() {
        assert_eq!(counted("[12/345] Compiling C object x.o"), Some((12, 345)));
        for other in ["gcc -c x.c", "[x/y] z", "[12] z", ""] {
            assert_eq!(counted(other), None, "{other}");
        }
    }

    /// Objects and files left of a build with these files, each with its age in seconds.
    fn swept(files: &[(&str, u64)]) -> (Option<u64>, Vec<String>) {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let now = SystemTime::now();
        for (name, age_s) in files {
            let path = dir.path().join(name);
            fs::write(&path, "x").expect("it can be written");
            let time = FileTimes::new().set_modified(now - Duration::from_secs(*age_s));
            let file = File::options().write(true).open(&path);
            file.and_then(|file| file.set_times(time)).expect("it is ours");
        }
        let kept = sweep(dir.path()).expect("it can be read");
        let left = fs::read_dir(dir.path()).expect("it is there").flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        left.sort();
        (kept, left)
    }

    #[test]
    fn all_of_the_last_seconds_is_made_again() {
        let files = [
            ("config.log", 90),
            ("Makefile", 91),
            ("old.o", 60),
            ("older.o", 70),
            ("new.o", 9),
            ("objfiles.txt", 8),
            ("libx.so.5.1", 5),
            ("program", 0),
        ];
        let left = ["Makefile", "config.log", "old.o", "older.o"].map(str::to_owned).to_vec();
        assert_eq!(swept(&files), (Some(2), left));
    }

    /// The output of `configure` cannot be remade by make.
    #[test]
    fn a_build_that_was_hardly_begun_is_configured_again() {
        let begun = |configured_s| swept(&[("config.log", configured_s), ("new.o", 1), ("last.o", 0)]).0;
        assert_eq!((begun(5), begun(12)), (None, Some(0)));
        assert_eq!(swept(&[("old.o", 60), ("new.o", 1)]).0, None, "nothing says when it was configured");
    }

    #[test]
    fn what_is_compiled_is_counted() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        for name in
            ["src/backend/a.c", "src/common/b.c", "src/test/c.c", "contrib/x/d.c", "doc/e.c", "src/f.h"]
        {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, "").expect("it can be written");
        }
        assert_eq!(objects(dir.path()), 2 + 3);
    }

    #[test]
    fn versions_of_sources_are_numbers() {
        assert_eq!(number_of("18.6"), Some(180_006));
        assert_eq!(number_of("9.5.25"), Some(90_525));
        assert_eq!(number_of("19devel"), Some(190_000));
    }
}
