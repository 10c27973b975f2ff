//! `pgdyno build`, `builds` and what `clean` does with them. The source is a small one made here, with a `configure`
//! and makefiles like PostgreSQL's that "compile" shell scripts; a real one is built with `PGDYNO_TEST_ALL`.

use std::{
    fs::{self, File, FileTimes},
    io::Read,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::common::{Place, admin, am_root, kill, left_out, text, wait_until, word, workers_in};

const CONFIGURE: &str = r#"#!/bin/sh
PACKAGE_VERSION='18.6'
# knows: --without-icu --without-zlib
source=$(cd "$(dirname "$0")" && pwd)
for word; do
  words="$words '$word'"
  case $word in
    --prefix=*) prefix=${word#--prefix=} ;;
    CC=*) cc=${word#CC=} ;;
    CFLAGS=*) cflags=${word#CFLAGS=} ;;
    --fail) echo "checking for readline"; echo "configure: error: readline library not found"; exit 1 ;;
  esac
done
umask 022
mkdir -p contrib
for part in . contrib; do
  sed -e "s|@source@|$source|g; s|@prefix@|$prefix|g; s|@cc@|$cc|g; s|@cflags@|$cflags|g" \
    "$source/$part/Makefile.in" > "$part/Makefile"
done
echo "$words" > words
echo configured
echo configured > config.log
"#;

/// A make that is stopped deletes what it is making; whether it has just made `objfiles.txt` must not matter.
const MAKEFILE: &str = r#"
SOURCE = @source@
PREFIX = @prefix@
.SECONDARY:
.PRECIOUS: objfiles.txt
all: objfiles.txt b.o
objfiles.txt: a.o
	echo $^ > $@
%.o: $(SOURCE)/src/%.c
	@echo "@cc@ @cflags@ -c -o $@ $<"
	@sh $(SOURCE)/compile $< $@
install: all
	mkdir -p $(PREFIX)/bin
	for name in postgres initdb; do \
	  { echo '#!/bin/sh'; echo "echo '$$name (PostgreSQL) '" | tr -d '\n'; cat a.o; } > $(PREFIX)/bin/$$name; done
	{ echo '#!/bin/sh'; echo 'case $$1 in'; echo '--bindir) echo $(PREFIX)/bin ;;'; echo '--cc) echo @cc@ ;;'; \
	  echo '--cflags) echo -Wall @cflags@ ;;'; echo '--configure) cat <<.'; cat words; echo .; echo ';; esac'; \
	} > $(PREFIX)/bin/pg_config
	chmod 755 $(PREFIX)/bin/*
"#;

const CONTRIB: &str = "\
all:
	@echo '@cc@ -c contrib.c'
install:
	mkdir -p @prefix@/share && touch @prefix@/share/contrib
";

/// What `a.c` says becomes the version; `b.c` waits for as long as there is a file of the name that it holds.
const COMPILE: &str = r#"
if grep -n mistake "$1"; then echo "$1:1:1: error: unknown type name 'mistake'"; exit 1; fi
cp "$1" "$2.new"
case $1 in *b.c) while [ -e "$(cat "$1")" ]; do sleep 0.05; done ;; esac
mv "$2.new" "$2"
"#;

/// A place with a separate cache, and a source in it.
struct Yard {
    place: Place,
    source: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let place = Place::with_empty_cache();
        let source = place.path("source");
        let yard = Self { place, source };
        let gate = yard.gate().display().to_string();
        for (name, content) in [
            ("configure", CONFIGURE),
            ("Makefile.in", MAKEFILE),
            ("contrib/Makefile.in", CONTRIB),
            ("compile", COMPILE),
            ("src/a.c", "18.6\n"),
            ("src/b.c", &gate),
        ] {
            yard.write(name, content);
        }
        yard
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.source.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        fs::write(&path, content).expect("it can be written");
        // Older than every object.
        let hour_ago = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(3600));
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_times(hour_ago))
            .expect("it is ours");
    }

    /// While it is there, `b.c` is not compiled to its end.
    fn gate(&self) -> PathBuf {
        self.place.path("gate")
    }

    fn args<'a>(&'a self, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let source = self.source.to_str().expect("it is UTF-8");
        [&["build", name, "--source", source][..], more].concat()
    }

    fn build(&self, name: &str, more: &[&str]) -> Value {
        let args = self.args(name, &[&["--json"], more].concat());
        serde_json::from_str(&self.place.done(&args)).expect("it is JSON")
    }

    fn refused(&self, more: &[&str], code: i32, words: &[&str]) {
        let said = self.place.refused(&self.args("x", more), code);
        let missing: Vec<_> = words.iter().filter(|words| !said.contains(**words)).collect();
        assert!(missing.is_empty(), "{more:?} lacks {missing:?}:\n{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{said}");
    }

    fn builds(&self) -> Vec<Value> {
        let list: Value = serde_json::from_str(&self.place.done(&["builds", "--json"])).expect("it is JSON");
        list.as_array().expect("it is a list").clone()
    }

    /// How many times something is in the log of a build.
    fn logged(&self, build: &Value, words: &str) -> usize {
        let log = Path::new(word(build, "dir")).join("build.log");
        fs::read_to_string(log).expect("it is there").matches(words).count()
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.place.path(name);
        fs::write(&path, content).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        path.display().to_string()
    }

    /// Starts a build that comes no further than `b.c`.
    fn begin(&self, name: &str) -> Child {
        let mut command = self.place.command(&self.args(name, &[]));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
        // Its line passes through a pipe before it is in the log, and a kill would lose it.
        let is_logged = || {
            let log = self.work("../build.log").and_then(|path| fs::read_to_string(path).ok());
            log.is_some_and(|log| log.contains("-c -o b.o"))
        };
        wait_until("b.c is being compiled", || {
            self.work("b.o.new").is_some() && self.work("objfiles.txt").is_some() && is_logged()
        });
        child
    }

    /// A file in the only work tree.
    fn work(&self, name: &str) -> Option<PathBuf> {
        let work = fs::read_dir(self.place.path("cache/builds/work")).ok()?.flatten().next()?;
        Some(work.path().join("build").join(name)).filter(|path| path.exists())
    }

    fn interrupted(&self, name: &str) {
        let builds = self.builds();
        assert_eq!(builds.len(), 1, "{builds:?}");
        assert_eq!(
            (word(&builds[0], "name"), word(&builds[0], "status")),
            (name, "interrupted"),
            "{builds:?}"
        );
        assert_eq!(word(&builds[0], "phase"), "compile");
        assert!(self.place.done(&["builds"]).contains("was interrupted (compile)"));
    }

    /// Opens the gate and lets the same command continue: nothing is configured again, and no object made twice that
    /// was old enough to be whole.
    fn goes_on(&self, name: &str) {
        self.age(&["config.log", "Makefile", "contrib/Makefile", "words", "a.o", "objfiles.txt"]);
        let build = self.resumed(name);
        assert_eq!((self.logged(&build, "-c -o a.o"), self.logged(&build, "-c -o b.o")), (1, 2));
    }

    /// Lets files of the work tree be a minute old.
    fn age(&self, names: &[&str]) {
        self.date(names, SystemTime::now() - Duration::from_secs(60));
    }

    fn date(&self, names: &[&str], at: SystemTime) {
        for name in names {
            let file = File::options().write(true).open(self.work(name).expect(name));
            file.and_then(|file| file.set_times(FileTimes::new().set_modified(at)))
                .expect("root or the builder");
        }
    }

    /// Opens the gate; the same command continues, and configures nothing.
    fn resumed(&self, name: &str) -> Value {
        fs::remove_file(self.gate()).expect("it is there");
        let output = self.place.run(&self.args(name, &["--json"]));
        let said = text(&output.stderr);
        assert!(
            output.status.success() && said.contains("resuming an interrupted build (compile)"),
            "{said}"
        );
        let build: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!(self.logged(&build, "\nconfigured\n"), 1);
        assert!(fs::read_dir(self.place.path("cache/builds/work")).expect("it is there").next().is_none());
        build
    }
}

#[test]
fn a_build_is_made_once_and_has_what_was_asked_for() {
    let yard = Yard::new();
    let before = snapshot(&yard.source);
    let said =
        yard.place.done(&yard.args("fast", &["--cflags", "-O3 -march=native", "--with-blocksize", "32"]));
    for words in
        ["PostgreSQL 18.6 was built in", "flags     -O3 -march=native", "pages of 32 KiB", "--build fast"]
    {
        assert!(said.contains(words), "{said}");
    }
    let builds = yard.builds();
    let build = &builds[0];
    assert_eq!(
        (word(build, "name"), word(build, "status"), word(build, "version")),
        ("fast", "complete", "18.6")
    );
    assert_eq!((build["block_kb"].as_u64(), build["version_num"].as_u64()), (Some(32), Some(180_006)));
    let options: Vec<_> = build["configure"].as_array().expect("it is a list").iter().collect();
    assert!(
        options.contains(&&"--with-blocksize=32".into()) && options.contains(&&"--without-icu".into()),
        "{options:?}"
    );
    let dir = Path::new(word(build, "dir"));
    assert!(dir.join("share/contrib").is_file(), "contrib is installed");
    assert_eq!(yard.logged(build, "-c -o a.o"), 1);
    assert_eq!(snapshot(&yard.source), before, "the source is as it was");
    let owner = fs::metadata(dir.join("bin/postgres")).expect("it is there").uid();
    assert_eq!(owner, fs::metadata("/proc/self").expect("it is there").uid(), "what root uses is root's");
    let table = yard.place.done(&["builds"]);
    assert!(
        table.contains("fast") && table.contains("32/8 KiB") && table.contains("-O3 -march=native"),
        "{table}"
    );
}

/// Names, contents and times of all files.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>, i64, i64)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("it can be read").flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().expect("it is there"));
        if metadata.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.push((
                path.clone(),
                fs::read(&path).expect("it can be read"),
                metadata.mtime(),
                metadata.ctime_nsec(),
            ));
        }
    }
    files.sort();
    files
}

#[test]
fn a_second_name_costs_nothing_and_a_change_is_another_build() {
    let yard = Yard::new();
    let first = yard.build("first", &[]);
    let second = yard.build("second", &[]);
    assert_eq!(first["dir"], second["dir"]);
    assert_eq!(first["built_at"], second["built_at"]);
    assert!(yard.place.done(&yard.args("first", &[])).contains("was already built"));
    let flags = yard.build("flags", &["--cflags", "-O3"]);
    let cc = yard.file("my-cc", "#!/bin/sh\necho my-cc 1.0\n");
    let compiler = yard.build("compiler", &["--cc", &cc]);
    assert_eq!((word(&compiler, "compiler"), word(&compiler, "cc")), ("my-cc 1.0", cc.as_str()));
    yard.file("my-cc", "#!/bin/sh\necho my-cc 2.0 ...\n");
    let newer = yard.build("newer", &["--cc", &cc]);
    yard.write("src/other.c", "x");
    let source = yard.build("source", &[]);
    let all = [first, flags, compiler, newer, source];
    let dirs: std::collections::BTreeSet<&str> = all.iter().map(|build| word(build, "dir")).collect();
    assert_eq!(dirs.len(), all.len(), "{dirs:?}");
    assert_eq!(yard.builds().len(), 6);
}

#[test]
fn a_name_can_be_given_to_another_build() {
    let yard = Yard::new();
    let first = yard.build("mine", &[]);
    yard.write("src/a.c", "18.6 \n");
    let output = yard.place.run(&yard.args("mine", &[]));
    assert!(text(&output.stderr).contains("`mine` was the name of another build until now"), "{output:?}");
    assert_ne!(yard.builds()[0]["dir"], first["dir"]);
    assert!(yard.place.done(&["clean"]).contains("build 18.6, no name"));
}

#[test]
fn a_tarball_is_built_and_one_that_climbs_out_is_refused() {
    let yard = Yard::new();
    let tarball = yard.place.path("source.tar.gz");
    let packed = Command::new("tar")
        .arg("-czf")
        .arg(&tarball)
        .arg("-C")
        .arg(yard.place.dir.path())
        .arg("source")
        .status();
    assert!(packed.expect("tar can be run").success());
    let tarball = tarball.display().to_string();
    yard.place.done(&["build", "t", "--source", &tarball]);
    assert_eq!(word(&yard.builds()[0], "source"), tarball);

    let evil = yard.place.path("evil.tar");
    let mut tar = Command::new("tar");
    tar.arg("-cPf").arg(&evil).args(["--transform", "s|.*|../../evil|"]).arg(yard.source.join("compile"));
    assert!(tar.status().expect("tar can be run").success());
    let said = yard.place.refused(&["build", "x", "--source", &evil.display().to_string()], 2);
    assert!(said.contains("`../../evil` would land outside"), "{said}");
    assert_eq!(yard.builds().len(), 1, "nothing is left of it");
    let said = yard.place.refused(&["build", "x", "--source", &yard.file("no.tar.gz", "hello")], 2);
    assert!(said.contains("is not a tarball"), "{said}");
}

#[test]
fn patches_are_applied_exactly_or_named() {
    let yard = Yard::new();
    let patch = |old: &str, new: &str| format!("--- a/src/a.c\n+++ b/src/a.c\n@@ -1 +1 @@\n-{old}\n+{new}\n");
    let good = yard.file("good.patch", &patch("18.6", "18.6 patched"));
    let build = yard.build("patched", &["--patch", &good]);
    assert_eq!(word(&build["patches"][0], "name"), "good.patch");
    let postgres =
        Command::new(Path::new(word(&build, "bindir")).join("postgres")).output().expect("it can be run");
    assert_eq!(text(&postgres.stdout), "postgres (PostgreSQL) 18.6 patched\n");
    assert_eq!(fs::read_to_string(yard.source.join("src/a.c")).expect("it is there"), "18.6\n");
    assert!(yard.place.done(&["builds"]).contains("-O2, 1 patch"));
    assert_ne!(yard.build("plain", &[])["dir"], build["dir"]);

    let wrong = yard.file("wrong.patch", &patch("17.0", "17.1"));
    yard.refused(
        &["--patch", &wrong],
        2,
        &["the patch wrong.patch: hunk 1 does not fit src/a.c at line 1", "hint: "],
    );
    let absent = yard.file("absent.patch", &patch("a", "b").replace("src/a.c", "src/none.c"));
    yard.refused(&["--patch", &absent], 2, &["there is no file b/src/none.c"]);
    yard.refused(&["--patch", "/not/there.patch"], 2, &["/not/there.patch"]);
    assert_eq!(yard.builds().len(), 2, "nothing is left of them");
}

#[test]
fn what_does_not_compile_shows_why_and_keeps_its_log() {
    let yard = Yard::new();
    yard.write("src/a.c", "mistake\n");
    yard.refused(
        &[],
        3,
        &["could not compile PostgreSQL 18.6", "unknown type name 'mistake'", "build.log", "hint: "],
    );
    let builds = yard.builds();
    assert_eq!((builds.len(), word(&builds[0], "status")), (1, "failed"));
    let log = fs::read_to_string(word(&builds[0], "log")).expect("it is kept");
    assert!(log.contains("configured") && log.contains("'mistake'"), "{log}");
    let tree = Path::new(word(&builds[0], "dir"));
    assert!(!tree.join("build").exists() && !tree.join("source").exists(), "its objects are of no use");
    yard.refused(
        &["--configure", "--fail"],
        3,
        &[
            "could not configure PostgreSQL 18.6",
            "readline library not found",
            "apt-get install libreadline-dev",
        ],
    );
    yard.write("src/a.c", "17.0\n");
    yard.refused(&[], 3, &["postgres says that it is 17.0"]);
    yard.write("src/a.c", "18.6\n");
    yard.build("x", &[]);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_unpacked() {
    let yard = Yard::new();
    yard.refused(&["--with-blocksize", "12"], 2, &["--with-blocksize 12", "powers of two from 1 to 32"]);
    yard.refused(&["--with-blocksize", "64"], 2, &["--with-blocksize 64"]);
    yard.refused(&["--with-wal-blocksize", "128"], 2, &["from 1 to 64"]);
    yard.refused(&["--with-segsize", "0"], 2, &["1 to 1024 GiB"]);
    yard.refused(&["--cc", "no-such-cc"], 2, &["there is no compiler `no-such-cc`"]);
    yard.refused(&["--cc", "clang-99"], 2, &["there is no compiler `clang-99`", "apt-get install clang-99"]);
    yard.refused(&["--configure", "--prefix=/usr"], 2, &["--prefix=/usr"]);
    yard.refused(&["--configure", "CFLAGS=-O3"], 2, &["use --cflags"]);
    let said = |args: &[&str], code| yard.place.refused(args, code);
    assert!(said(&["build", "a/b", "--source", "."], 2).contains("name of a build"));
    assert!(said(&["build", "x", "--source", "/not/there"], 2).contains("/not/there"));
    assert!(said(&["build", "x", "--source", "debian:x"], 2).contains("has no version"));
    assert!(said(&["build", "x"], 2).contains("--source"));
    let empty = yard.place.path("empty");
    fs::create_dir(&empty).expect("it can be made");
    assert!(
        said(&["build", "x", "--source", empty.to_str().expect("UTF-8")], 2)
            .contains("not a PostgreSQL source")
    );
    yard.write("config.status", "x");
    yard.refused(&[], 2, &["was configured in place", "make distclean"]);
    fs::remove_file(yard.source.join("config.status")).expect("it is there");
    yard.write("configure", &CONFIGURE.replace("18.6", "9.4.26"));
    yard.refused(&[], 2, &["9.4.26 is too old"]);
    assert_eq!(yard.builds(), Vec::<Value>::new());
}

#[test]
fn missing_programs_are_named_before_configuring() {
    let yard = Yard::new();
    yard.write("src/backend/parser/gram.y", "x");
    yard.write("src/backend/parser/scan.l", "x");
    let path = yard.place.path("path");
    fs::create_dir(&path).expect("it can be made");
    for (name, program) in [("gcc", "/bin/sh"), ("make", "/bin/sh")] {
        symlink(program, path.join(name)).expect("it can be made");
    }
    let cc = yard.file("my-cc", "#!/bin/sh\necho my-cc 1.0\n");
    let mut command = yard.place.command(&yard.args("x", &["--cc", &cc]));
    let output = command.env("PATH", &path).output().expect("pgdyno can be run");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("error: could not build PostgreSQL 18.6: bison and flex are not installed"),
        "{said}"
    );
    assert!(said.contains("hint: `apt-get install bison flex`") && !said.contains("configuring"), "{said}");
    assert_eq!(yard.builds(), Vec::<Value>::new());
}

#[test]
fn a_killed_build_is_shown_and_continues() {
    let yard = Yard::new();
    fs::write(yard.gate(), "").expect("it can be written");
    let mut child = yard.begin("killed");
    assert_eq!(word(&yard.builds()[0], "status"), "running");
    let said = yard.place.done(&["clean", "--yes"]);
    assert!(said.contains("stays: it is being built"), "{said}");
    child.kill().and_then(|()| child.wait()).expect("it is ours");
    wait_until("its programs have ended", || workers_in(&yard.place.path("cache")).is_empty());
    yard.interrupted("killed");
    yard.goes_on("killed");
}

/// An object that may be half written is rebuilt, with all that was made from it: make itself would not notice.
#[test]
fn what_was_made_last_is_made_again() {
    let yard = Yard::new();
    fs::write(yard.gate(), "").expect("it can be written");
    let mut child = yard.begin("late");
    child.kill().and_then(|()| child.wait()).expect("it is ours");
    wait_until("its programs have ended", || workers_in(&yard.place.path("cache")).is_empty());
    yard.age(&["config.log", "Makefile", "contrib/Makefile", "words"]);
    // At once, however long it took here.
    yard.date(&["a.o", "b.o.new", "objfiles.txt"], SystemTime::now());
    let build = yard.resumed("late");
    assert_eq!((yard.logged(&build, "-c -o a.o"), yard.logged(&build, "-c -o b.o")), (2, 2));
}

#[test]
fn what_cannot_continue_starts_again() {
    let yard = Yard::new();
    fs::write(yard.gate(), "").expect("it can be written");
    let mut child = yard.begin("torn");
    child.kill().and_then(|()| child.wait()).expect("it is ours");
    wait_until("its programs have ended", || workers_in(&yard.place.path("cache")).is_empty());
    fs::write(yard.work("Makefile").expect("it is there"), "all:\n\tfalse\n").expect("root or the builder");
    yard.age(&["config.log", "Makefile", "contrib/Makefile", "words"]);
    fs::remove_file(yard.gate()).expect("it is there");
    let build = yard.build("torn", &[]);
    assert_eq!(yard.logged(&build, "\nconfigured\n"), 2);
}

#[test]
fn ctrl_c_ends_all_programs_and_the_build_continues() {
    let yard = Yard::new();
    fs::write(yard.gate(), "").expect("it can be written");
    let child = yard.begin("stopped");
    kill(u64::from(child.id()), "-INT");
    let output = child.wait_with_output().expect("it is ours");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("error: interrupted while") && said.contains("hint: the same command continues"),
        "{said}"
    );
    assert_eq!(workers_in(&yard.place.path("cache")), Vec::<u32>::new());
    assert!(yard.work("b.o").is_none());
    yard.interrupted("stopped");
    yard.goes_on("stopped");
}

#[test]
fn two_at_once_build_it_once() {
    let yard = Yard::new();
    fs::write(yard.gate(), "").expect("it can be written");
    let first = yard.begin("one");
    let mut command = yard.place.command(&yard.args("two", &[]));
    let mut second =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
    let mut stderr = second.stderr.take().expect("it is piped");
    let mut said = [0; 64];
    let length = stderr.read(&mut said).expect("it says something");
    assert!(text(&said[..length]).starts_with("waiting: another pgdyno is making the same build"));
    fs::remove_file(yard.gate()).expect("it is there");
    for child in [first, second] {
        let output = child.wait_with_output().expect("it is ours");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let builds = yard.builds();
    assert_eq!((builds.len(), &builds[0]["dir"]), (2, &builds[1]["dir"]));
    assert_eq!(yard.logged(&builds[0], "-c -o a.o"), 1);
}

#[test]
fn clean_lists_and_frees_what_no_server_uses() {
    let yard = Yard::new();
    let used = yard.build("used", &["--cflags", "-O1"]);
    yard.build("free", &[]);
    let listed = yard.place.done(&["clean"]);
    assert!(listed.contains("build `used`") && listed.contains("nothing was changed"), "{listed}");
    assert_eq!(yard.builds().len(), 2);
    // A process of the name of a server's, from the build's own directory.
    let program = Path::new(word(&used, "bindir")).join("sleep");
    fs::copy("/bin/sleep", &program).expect("it can be copied");
    let mut server = Command::new(&program).arg("600").spawn().expect("it can be run");
    let said = yard.place.done(&["clean", "--yes"]);
    server.kill().and_then(|()| server.wait()).expect("it is ours");
    assert!(said.contains("stays: process ") && said.contains("freed"), "{said}");
    let names: Vec<_> = yard.builds().iter().map(|build| word(build, "name").to_owned()).collect();
    assert_eq!(names, ["used"]);
    yard.place.done(&["clean", "--yes"]);
    assert_eq!(yard.builds(), Vec::<Value>::new());
    assert!(yard.place.done(&["clean"]).contains("keeps nothing"));
}

/// As root, everything of a build is run by an unprivileged user.
#[test]
fn root_lends_a_user_to_the_build() {
    if !am_root() {
        left_out("only root can lend a user");
        return;
    }
    let yard = Yard::new();
    yard.write("compile", &format!("id -u\n{COMPILE}"));
    let build = yard.build("lent", &["--run-as", "nobody"]);
    let log = fs::read_to_string(Path::new(word(&build, "dir")).join("build.log")).expect("it is there");
    let users: Vec<&str> = log.lines().filter(|line| line.parse::<u32>().is_ok()).collect();
    assert_eq!(users, ["65534", "65534"]);
    yard.refused(&["--run-as", "root"], 2, &["root"]);
}

/// `meson`, as far as a build by it is concerned; its programs are shell scripts again.
const MESON: &str = r#"#!/bin/sh
case $1 in
  setup)
    echo "$CC" > cc; echo "$*" > words
    for word; do
      case $word in
        --prefix=*) echo "${word#--prefix=}" > prefix ;;
        -Dc_args=*) echo "${word#-Dc_args=}" > cflags ;;
      esac
    done
    echo "$3" > source
    echo configured ;;
  install)
    prefix=$(cat prefix); mkdir -p "$prefix/bin"
    for name in postgres initdb; do
      printf '#!/bin/sh\necho "%s (PostgreSQL) %s"\n' $name "$(cat a.o)" > "$prefix/bin/$name"
    done
    printf '#!/bin/sh\ncase $1 in --bindir) echo %s ;; --cflags) echo -Wall %s ;; esac\n' \
      "$prefix/bin" "$(cat cflags)" > "$prefix/bin/pg_config"
    chmod 755 "$prefix"/bin/* ;;
esac
"#;

/// `ninja`, which knows by its log what is complete: `a.o` is made once, `b.o` waits at the gate.
const NINJA: &str = r#"#!/bin/sh
source=$(cat source)
if ! grep -q a.o .ninja_log 2>/dev/null; then
  echo "[1/2] Compiling C object a.o"; cp "$source/src/a.c" a.o; echo a.o >> .ninja_log
fi
cp "$source/src/b.c" b.o.new
while [ -e "$(cat b.o.new)" ]; do sleep 0.05; done
echo "[2/2] Compiling C object b.o"; mv b.o.new b.o
"#;

/// A checkout that has meson alone is built by it, with the same flags in its own words, and continues by ninja's log.
#[test]
fn a_source_with_meson_alone_is_built_by_it() {
    let yard = Yard::new();
    fs::remove_file(yard.source.join("configure")).expect("it is there");
    yard.write("meson.build", "project('postgresql',\n  ['c'],\n  version: '18.6',\n)\n");
    yard.write("meson_options.txt", "option('icu', type: 'feature')\n");
    fs::create_dir(yard.place.path("tools")).expect("it can be made");
    yard.file("tools/meson", MESON);
    yard.file("tools/ninja", NINJA);
    let path =
        format!("{}:{}", yard.place.path("tools").display(), std::env::var("PATH").unwrap_or_default());
    let start = |more: &[&str]| {
        let mut command = yard.place.command(&yard.args("m", more));
        command.env("PATH", &path).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("pgdyno can be run")
    };
    let flags = ["--cflags", "-O3 -march=native", "--with-blocksize", "32", "--json"];
    fs::write(yard.gate(), "").expect("it can be written");
    let mut child = start(&flags);
    // A kill takes what ninja has said and pgdyno has not yet written to the log.
    wait_until("b.c is being compiled, and a.c is in the log", || {
        let log = yard.work("../build.log").and_then(|log| fs::read_to_string(log).ok());
        yard.work("b.o.new").is_some() && log.is_some_and(|log| log.contains("Compiling C object a.o"))
    });
    child.kill().and_then(|()| child.wait()).expect("it is ours");
    wait_until("its programs have ended", || workers_in(&yard.place.path("cache")).is_empty());
    fs::remove_file(yard.gate()).expect("it is there");
    let output = start(&flags).wait_with_output().expect("it is ours");
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("resuming an interrupted build (compile)"), "{said}");
    let build: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((word(&build, "system"), word(&build, "version")), ("meson", "18.6"));
    assert_eq!(yard.logged(&build, "\nconfigured\n"), 1);
    assert_eq!(yard.logged(&build, "Compiling C object a.o"), 1, "what is complete is kept");
    let log = fs::read_to_string(Path::new(word(&build, "dir")).join("build.log")).expect("it is there");
    let setup = log.lines().next().expect("it was set up");
    for words in [
        "meson setup . ",
        "--libdir=lib --buildtype=plain --auto-features=disabled",
        "'-Dc_args=-O3 -march=native'",
        "-Dblocksize=32 -Dwal_blocksize=8 -Dsegsize=1 -Dicu=disabled",
    ] {
        assert!(setup.contains(words), "{words}: {setup}");
    }
}

/// Why no source of the distribution is available here, from the error message; `None` if one is.
fn no_source(said: &str) -> Option<&str> {
    let why =
        ["apt is not installed", "no source packages are configured here", "has no source of PostgreSQL"];
    said.lines().find(|line| why.iter().any(|why| line.contains(why)))
}

#[test]
fn a_distribution_without_sources_says_how_to_get_them() {
    let place = Place::with_empty_cache();
    let config = place.path("apt.conf");
    let none = "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"/dev/null\";\n";
    fs::write(&config, none).expect("it can be written");
    let mut build = place.command(&["build", "x", "--source", "debian:18"]);
    let output = build.env("APT_CONFIG", &config).output().expect("pgdyno can be run");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("could not fetch debian:18: ") && said.contains("a tarball with --source"),
        "{said}"
    );
    assert!(no_source(&said).is_some(), "{said}");
}

/// Builds a source with pages of 32 KiB, starts it, and asks it; leaves out what the distribution has not.
fn built_and_started(source: &str, flags: &[&str]) -> Option<Value> {
    let place = Place::with_empty_cache();
    let args = ["build", "real", "--source", source, "--with-blocksize", "32", "--json"];
    let output = place.run(&[&args[..], flags].concat());
    let said = text(&output.stderr);
    if let (true, Some(why)) = (source.starts_with("debian:"), no_source(&said)) {
        left_out(&format!("PGDYNO_TEST_SOURCE names a directory or a tarball: {why}"));
        return None;
    }
    assert!(output.status.success(), "no build of {source}:\n{said}");
    let build: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    place.done(&["up", "--bindir", word(&build, "bindir")]);
    let mut session = admin(&place.only());
    assert_eq!(session.value("SHOW block_size").expect("it answers").as_deref(), Some("32768"));
    session.value("CREATE EXTENSION pg_stat_statements").expect("contrib is there");
    Some(build)
}

/// A real source, built, started and asked.
#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn a_real_source_is_built_and_started() {
    let source = std::env::var("PGDYNO_TEST_SOURCE").unwrap_or_else(|_| "debian:18".to_owned());
    if let Some(build) = built_and_started(&source, &[]) {
        assert_eq!(word(&build, "cflags"), "-O2");
    }
}
