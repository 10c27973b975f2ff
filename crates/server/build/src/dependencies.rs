//! Dependencies of a source: programs, and optional libraries.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;

use pgdyno_provision::builds::BuildSystem;

use crate::{Request, recipe::Content};

/// How to detect a library.
#[derive(Debug, Clone, Copy)]
enum Detection {
    /// By a header.
    Header(&'static str),
    /// By a pkg-config file, as `configure` does.
    PkgConfig(&'static str),
}

/// Library that PostgreSQL uses if it is installed.
#[derive(Debug, Clone, Copy)]
struct Library {
    /// Name of the option.
    name: &'static str,
    detection: Detection,
    /// Debian package with the headers.
    package: &'static str,
    /// Whether `configure` fails without the library unless it is switched off.
    expected: bool,
}

const LIBRARIES: [Library; 5] = [
    library("zlib", Detection::Header("zlib.h"), "zlib1g-dev", true),
    library("readline", Detection::Header("readline/readline.h"), "libreadline-dev", true),
    library("lz4", Detection::PkgConfig("liblz4.pc"), "liblz4-dev", false),
    library("zstd", Detection::PkgConfig("libzstd.pc"), "libzstd-dev", false),
    library("liburing", Detection::PkgConfig("liburing.pc"), "liburing-dev", false),
];

const fn library(name: &'static str, detection: Detection, package: &'static str, expected: bool) -> Library {
    Library { name, detection, package, expected }
}

/// Names of the libraries that are installed.
pub fn libraries(request: &Request) -> Vec<&'static str> {
    let pkg_config = request.program("pkg-config").is_some();
    let here = LIBRARIES.iter().filter(|library| match library.detection {
        Detection::Header(name) => header_dirs().iter().any(|dir| dir.join(name).is_file()),
        Detection::PkgConfig(name) => {
            pkg_config && description_dirs().iter().any(|dir| dir.join(name).is_file())
        }
    });
    here.map(|library| library.name).collect()
}

fn multiarch() -> String {
    format!("{}-linux-gnu", env::consts::ARCH)
}

fn header_dirs() -> Vec<PathBuf> {
    let include = ["/usr/include", "/usr/local/include"].map(PathBuf::from);
    include.iter().cloned().chain([include[0].join(multiarch())]).collect()
}

fn description_dirs() -> Vec<PathBuf> {
    let multiarch = multiarch();
    let roots = ["/usr/lib", "/usr/lib64", "/usr/share", "/usr/local/lib", "/usr/local/share"];
    let dirs = roots.iter().map(PathBuf::from);
    let dirs = dirs.chain(["/usr/lib", "/usr/local/lib"].map(|root| Path::new(root).join(&multiarch)));
    dirs.map(|dir| dir.join("pkgconfig")).collect()
}

/// Options for the installed libraries, and the libraries left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Libraries {
    /// Options of configure or meson.
    pub options: Vec<String>,
    /// Libraries that the source could use and that are not installed: name and package.
    pub absent: Vec<(&'static str, &'static str)>,
}

/// Chooses options for the installed libraries that the source supports. Libraries that the user decided on are left
/// alone.
///
/// # Errors
/// If the user requested a library that is not installed; it is named with its package.
pub fn choose(source: &Source<'_>, here: &[&str], asked: &[String]) -> Result<Libraries, Problem> {
    let mut chosen = Libraries::default();
    for library in LIBRARIES.iter().filter(|library| source.knows(library.name)) {
        let is_here = here.contains(&library.name);
        match asked.iter().find(|option| decides(option, library.name)) {
            Some(option) if !is_here && wants(option) => return Err(wanted_and_absent(option, library)),
            Some(_) => {}
            None => {
                chosen.options.extend(source.option(library, is_here));
                chosen.absent.extend((!is_here).then_some((library.name, library.package)));
            }
        }
    }
    if source.knows("icu") && !asked.iter().any(|option| decides(option, "icu")) {
        chosen.options.push(source.without("icu"));
    }
    Ok(chosen)
}

fn decides(option: &str, library: &str) -> bool {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    ["--with-", "--without-", "-D"].iter().any(|prefix| name.strip_prefix(prefix) == Some(library))
}

fn wants(option: &str) -> bool {
    let off = ["=no", "=disabled", "=auto", "=false"].iter().any(|off| option.ends_with(off));
    !option.starts_with("--without-") && !off
}

fn wanted_and_absent(option: &str, library: &Library) -> Problem {
    Problem::could_not(format!("could not use --configure {option}: {} is not installed", library.name))
        .hint(format!("`apt-get install {}` installs it", library.package))
}

/// An unpacked source.
#[derive(Debug)]
pub struct Source<'a> {
    /// Root directory of the source.
    pub dir: &'a Path,
    /// Build system of the source.
    pub system: BuildSystem,
    /// Text that lists the options of the source.
    options: String,
    /// Version that the source states.
    pub version: String,
}

impl<'a> Source<'a> {
    /// Inspects a source; `said` is how the user named it.
    ///
    /// # Errors
    /// If the directory is not a PostgreSQL source.
    pub fn at(dir: &'a Path, said: &str) -> Result<Self, Problem> {
        let none = |why: &str| {
            Problem::wrong_request(format!("{said} is not a PostgreSQL source: {why}"))
                .hint("--source takes a directory, a tarball, or debian:18")
        };
        let read = |name: &str| {
            fs::read(dir.join(name)).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
        };
        let (system, options, version) = match read("configure") {
            Some(text) => {
                let version = between(&text, "PACKAGE_VERSION='");
                (BuildSystem::Autoconf, text, version)
            }
            None => {
                let text =
                    read("meson.build").ok_or_else(|| none("it has neither configure nor meson.build"))?;
                let options = read("meson_options.txt").unwrap_or_default();
                (BuildSystem::Meson, options, between(&text, "version: '"))
            }
        };
        let version = version.ok_or_else(|| none("its configuration names no version"))?;
        Ok(Self { dir, system, options, version })
    }

    /// Whether the source has an option of this name.
    fn knows(&self, name: &str) -> bool {
        let has = |words: String| self.options.contains(&words);
        match self.system {
            BuildSystem::Autoconf => has(format!("--with-{name}")) || has(format!("--without-{name}")),
            BuildSystem::Meson => has(format!("option('{name}'")),
        }
    }

    fn option(&self, library: &Library, is_here: bool) -> Option<String> {
        match (is_here, self.system) {
            (true, BuildSystem::Autoconf) => Some(format!("--with-{}", library.name)),
            (true, BuildSystem::Meson) => Some(format!("-D{}=enabled", library.name)),
            (false, _) if library.expected => Some(self.without(library.name)),
            (false, _) => None,
        }
    }

    fn without(&self, name: &str) -> String {
        match self.system {
            BuildSystem::Autoconf => format!("--without-{name}"),
            BuildSystem::Meson => format!("-D{name}=disabled"),
        }
    }

    fn has(&self, path: &str) -> bool {
        self.dir.join(path).is_file()
    }

    /// Programs needed to build the source, each with its Debian package. Tarballs before 17 contain the output of
    /// bison, flex and perl.
    fn programs(&self, patches: &[Content]) -> Vec<(&'static str, &'static str)> {
        let touches = |what: &[&str]| patches.iter().any(|patch| touches(&patch.bytes, what));
        let lacks = |made: &str, from: &str| self.has(from) && !self.has(made);
        let mut needed = match self.system {
            BuildSystem::Autoconf => vec![("make", "make")],
            BuildSystem::Meson => vec![("meson", "meson"), ("ninja", "ninja-build")],
        };
        if lacks("src/backend/parser/gram.c", "src/backend/parser/gram.y") || touches(&[".y"]) {
            needed.push(("bison", "bison"));
        }
        if lacks("src/backend/parser/scan.c", "src/backend/parser/scan.l") || touches(&[".l"]) {
            needed.push(("flex", "flex"));
        }
        let catalog = lacks("src/backend/catalog/postgres.bki", "src/backend/catalog/genbki.pl");
        if catalog || touches(&[".dat", "errcodes.txt", ".pl", "kwlist.h"]) || touches(&["catalog/pg_"]) {
            needed.push(("perl", "perl"));
        }
        needed
    }
}

/// Whether a patch changes a file whose name ends with, or contains, one of `what`.
fn touches(patch: &[u8], what: &[&str]) -> bool {
    let text = String::from_utf8_lossy(patch);
    let names = text.lines().filter_map(|line| line.strip_prefix("+++ "));
    let mut names = names.filter_map(|name| name.split_whitespace().next());
    names.any(|name| {
        what.iter().any(|what| name.ends_with(what) || what.ends_with('_') && name.contains(what))
    })
}

fn between(text: &str, before: &str) -> Option<String> {
    let version = text.split_once(before)?.1.split_once('\'')?.0;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

/// Checks that all programs a source needs are installed, before anything is configured.
///
/// # Errors
/// If programs are missing: all of them are named, with the packages to install.
pub fn check_programs(request: &Request, source: &Source<'_>, patches: &[Content]) -> Result<(), Problem> {
    let needed = source.programs(patches);
    let missing: Vec<_> = needed.into_iter().filter(|(name, _)| request.program(name).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    let (version, list) = (&source.version, names.join(" and "));
    Err(Problem::could_not(format!("could not build PostgreSQL {version}: {list} {are} not installed"))
        .hint(format!("`apt-get install {}`, then the same command again", packages.join(" "))))
}

/// Package of the dependency that a failed configuration missed, by its last output.
pub fn package_for(said: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 17] = [
        ("readline", "libreadline-dev"),
        ("zlib", "zlib1g-dev"),
        ("bison", "bison"),
        ("flex", "flex"),
        ("perl", "perl libperl-dev"),
        ("icu", "libicu-dev pkg-config"),
        ("lz4", "liblz4-dev pkg-config"),
        ("zstd", "libzstd-dev pkg-config"),
        ("uring", "liburing-dev pkg-config"),
        ("libxml", "libxml2-dev"),
        ("xslt", "libxslt1-dev"),
        ("ssl", "libssl-dev"),
        ("gssapi", "libkrb5-dev"),
        ("ldap", "libldap-dev"),
        ("llvm", "llvm-dev clang"),
        ("python", "python3-dev"),
        ("C compiler cannot create executables", "libc6-dev"),
    ];
    let lower = said.lines().filter(|line| line.contains("error")).collect::<String>().to_lowercase();
    KNOWN.iter().find(|(word, _)| lower.contains(&word.to_lowercase())).map(|(_, package)| *package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_core::facts::PatchFacts as Patch;

    fn source(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        dir
    }

    const EIGHTEEN: &str = "PACKAGE_VERSION='18.6'\n--without-icu --without-zlib --without-readline\n\
        --with-lz4 --with-zstd --with-liburing";
    const NINE: &str = "PACKAGE_VERSION='9.6.24'\n--without-zlib --without-readline";

    fn chosen(configure: &str, here: &[&str], asked: &[&str]) -> Result<Libraries, Problem> {
        let dir = source(&[("configure", configure)]);
        let source = Source::at(dir.path(), "x").expect("it is one");
        let asked: Vec<String> = asked.iter().map(|option| (*option).to_owned()).collect();
        choose(&source, here, &asked)
    }

    #[test]
    fn libraries_are_taken_where_they_are_and_known() {
        let all = ["zlib", "readline", "lz4", "zstd", "liburing"];
        let words = |configure, here: &[&str]| {
            let Libraries { options, absent } = chosen(configure, here, &[]).expect("nothing is asked for");
            (options.join(" "), absent.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" "))
        };
        let with = "--with-zlib --with-readline --with-lz4 --with-zstd --with-liburing --without-icu";
        assert_eq!(words(EIGHTEEN, &all), (with.into(), String::new()));
        assert_eq!(words(NINE, &all), ("--with-zlib --with-readline".into(), String::new()));
        let absent = "zlib readline lz4 zstd liburing";
        let without = "--without-zlib --without-readline --without-icu";
        assert_eq!(words(EIGHTEEN, &[]), (without.into(), absent.into()));
    }

    #[test]
    fn what_the_user_decides_is_left_alone() {
        let asked = ["--without-zlib", "--with-icu", "--with-lz4=no"];
        let chosen_options = chosen(EIGHTEEN, &["zlib", "lz4"], &asked).expect("it is possible").options;
        assert_eq!(chosen_options, ["--without-readline"]);
        let problem = chosen(EIGHTEEN, &[], &["--with-zstd"]).expect_err("it is not here");
        assert!(problem.hint.is_some_and(|hint| hint.contains("libzstd-dev")));
    }

    #[test]
    fn checkouts_and_new_tarballs_need_more_programs() {
        let needs = |files: &[&str], patch: &str| {
            let files: Vec<_> =
                [("configure", EIGHTEEN)].into_iter().chain(files.iter().map(|f| (*f, ""))).collect();
            let dir = source(&files);
            let patch =
                Content { patch: Patch { name: "p".into(), sha256: String::new() }, bytes: patch.into() };
            let source = Source::at(dir.path(), "x").expect("it is one");
            source.programs(&[patch]).into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        let (y, l) = ("src/backend/parser/gram.y", "src/backend/parser/scan.l");
        let genbki = "src/backend/catalog/genbki.pl";
        assert_eq!(needs(&[y, l, genbki], ""), "make bison flex perl");
        let made =
            ["src/backend/parser/gram.c", "src/backend/parser/scan.c", "src/backend/catalog/postgres.bki"];
        let whole = [&[y, l, genbki][..], &made].concat();
        assert_eq!(needs(&whole, ""), "make");
        assert_eq!(needs(&whole, "+++ b/src/backend/parser/gram.y\n"), "make bison");
        assert_eq!(needs(&whole, "+++ b/src/include/catalog/pg_proc.dat\t2024\n"), "make perl");
        assert_eq!(needs(&whole, "+++ b/src/backend/executor/execMain.c\n"), "make");
    }

    #[test]
    fn versions_and_systems_are_read_from_the_source() {
        let dir = source(&[("configure", NINE)]);
        assert_eq!(Source::at(dir.path(), "x").expect("it is one").version, "9.6.24");
        let meson = [
            ("meson.build", "project('postgresql',\n  ['c'],\n  version: '19devel',"),
            ("meson_options.txt", "option('lz4', type: 'feature')\noption('icu', type: 'feature')"),
        ];
        let dir = source(&meson);
        let meson = Source::at(dir.path(), "x").expect("it is one");
        assert_eq!((meson.system, meson.version.as_str()), (BuildSystem::Meson, "19devel"));
        let libraries = choose(&meson, &["lz4", "zlib"], &[]).expect("nothing is asked for");
        assert_eq!(libraries.options, ["-Dlz4=enabled", "-Dicu=disabled"]);
        let problem = Source::at(source(&[("x", "")]).path(), "the thing").expect_err("it is none").what;
        assert_eq!(problem, "the thing is not a PostgreSQL source: it has neither configure nor meson.build");
    }

    #[test]
    fn what_configure_misses_has_a_package() {
        let said = "checking for library\nconfigure: error: readline library not found\nIf you have libedit";
        assert_eq!(package_for(said), Some("libreadline-dev"));
        assert_eq!(package_for("checking readline... yes\nconfigure: error: something else"), None);
    }
}
