//! Sources of the distribution: fetched by apt, which knows the mirrors and checks digests, and cached.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use pgdyno_host::users::User;

use pgdyno_provision::{
    builds::build_store::{BuildStore, unwritable},
    safe::{Place, make_open_dir, remove},
};

use crate::{
    Event, Request,
    run::{Failure, Step, relevant_lines, run},
};

/// Majors to query when listing what a distribution has.
const MAJORS: std::ops::RangeInclusive<u32> = 10..=40;
/// Environment variables that apt needs to reach the network.
const OF_NETWORK: [&str; 5] = ["http_proxy", "https_proxy", "no_proxy", "ftp_proxy", "APT_CONFIG"];

/// A source requested from the distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Major version, `18` or `9.6`: each is a package of its own.
    major: String,
    /// Exact version, if one is requested.
    exact: Option<String>,
}

impl Wanted {
    /// Parses `debian:18` or `debian:18.6`; `None` if `source` has another form.
    pub fn parse(source: &str) -> Option<Result<Self, Problem>> {
        let version = source.strip_prefix("debian:")?;
        let parts: Vec<&str> = version.split('.').collect();
        let numbers = parts.iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
        let of_major = if parts[0].parse::<u32>().is_ok_and(|major| major < 10) { 2 } else { 1 };
        Some(match (numbers, parts.len().checked_sub(of_major)) {
            (true, Some(0)) => Ok(Self { major: version.to_owned(), exact: None }),
            (true, Some(1)) => {
                Ok(Self { major: parts[..of_major].join("."), exact: Some(version.to_owned()) })
            }
            _ => Err(Problem::wrong_request(format!("could not use the source {source}: it has no version"))
                .hint("debian:18 is the newest source of that major, debian:18.6 an exact one")),
        })
    }

    fn package(&self) -> String {
        format!("postgresql-{}", self.major)
    }

    /// Version of a tarball of this package, from a file name such as `postgresql-18_18.6.orig.tar.bz2`.
    fn version_in(&self, file: &str) -> Option<String> {
        let rest = file.strip_prefix(&self.package())?.strip_prefix('_')?;
        let version = rest.split_once(".orig.tar.")?.0;
        self.exact.as_deref().is_none_or(|exact| exact == version).then(|| version.to_owned())
    }
}

/// Returns the tarball of a source, from the cache or else fetched now.
///
/// # Errors
/// If the distribution does not have it, or it cannot be fetched.
pub fn obtain(
    wanted: &Wanted,
    request: &Request,
    store: &BuildStore,
    user: Option<&User>,
    progress: &mut dyn FnMut(Event),
) -> Result<PathBuf, Problem> {
    let kept = store.fetched(&wanted.package());
    if let Some(path) = newest(wanted, &kept) {
        return Ok(path);
    }
    let apt = Apt::find(request, user)?;
    let version = apt.choose(wanted)?;
    progress(Event::Fetching { source: format!("{} {}", wanted.package(), version) });
    let io = |error: io::Error| unwritable(&kept, &error);
    make_open_dir(&kept).map_err(io)?;
    // Named after this process, so that two processes do not fetch into one directory.
    let staging = kept.join(format!(".fetching-{}", std::process::id()));
    remove(&staging).map_err(io)?;
    let fetched = apt.fetch(wanted, &version, &staging).and_then(|path| {
        let to = kept.join(path.file_name().unwrap_or_default());
        fs::rename(path, &to).map_err(io)?;
        Ok(to)
    });
    let _ = remove(&staging);
    fetched
}

/// Newest matching tarball in a directory.
fn newest(wanted: &Wanted, dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let fitting = entries.filter_map(|entry| {
        let version = wanted.version_in(entry.file_name().to_str()?)?;
        Some((order(&version), entry.path()))
    });
    fitting.max().map(|(_, path)| path)
}

/// Numbers of a version, for comparison.
fn order(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or_default()).collect()
}

/// Version of a source package.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Offered {
    package: String,
    /// Debian version, such as `18.6-3`.
    full: String,
}

impl Offered {
    /// PostgreSQL's version, without epoch and Debian revision.
    fn upstream(&self) -> &str {
        let version = self.full.split_once(':').map_or(self.full.as_str(), |(_, version)| version);
        version.rsplit_once('-').map_or(version, |(version, _)| version)
    }
}

/// Parses the output of `apt-cache showsrc`: paragraphs with `Package` and `Version`.
fn offers(answer: &str) -> Vec<Offered> {
    let paragraph = |text: &str| {
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(|v| v.trim().to_owned());
        Some(Offered { package: field("Package:")?, full: field("Version:")? })
    };
    answer.split("\n\n").filter_map(paragraph).collect()
}

/// The apt programs and the user to run them as.
struct Apt<'a> {
    get: PathBuf,
    cache: PathBuf,
    user: Option<&'a User>,
    request: &'a Request,
}

impl<'a> Apt<'a> {
    fn find(request: &'a Request, user: Option<&'a User>) -> Result<Self, Problem> {
        match (request.program("apt-get"), request.program("apt-cache")) {
            (Some(get), Some(cache)) => Ok(Self { get, cache, user, request }),
            _ => Err(Problem::could_not(format!("could not fetch {}: apt is not installed", request.source))
                .hint("give a tarball or a directory with --source")),
        }
    }

    fn say(&self, program: &Path, arguments: &[&str]) -> Result<String, Failure> {
        self.run(program, arguments, Path::new("/"))
    }

    fn run(&self, program: &Path, arguments: &[&str], dir: &Path) -> Result<String, Failure> {
        let mut log = tempfile::tempfile()?;
        let network = OF_NETWORK.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let environment: Vec<(&'static str, OsString)> = network.collect();
        let step = Step { environment, ..Step::new(program, arguments, dir, self.user) };
        run(step, &mut log, &self.request.stop, &mut |_| {})
    }

    fn offers(&self, packages: &[String]) -> Result<Vec<Offered>, Problem> {
        let arguments: Vec<&str> =
            ["showsrc"].into_iter().chain(packages.iter().map(String::as_str)).collect();
        match self.say(&self.cache, &arguments) {
            // apt-cache fails if it does not know one of the packages, and still shows the others.
            Ok(answer) | Err(Failure::Ended(_, answer)) => Ok(offers(&answer)),
            Err(failure) => Err(self.problem(failure)),
        }
    }

    /// Chooses the version to fetch.
    fn choose(&self, wanted: &Wanted) -> Result<String, Problem> {
        let package = wanted.package();
        let offers = self.offers(std::slice::from_ref(&package))?;
        let of_package = || offers.iter().filter(|offered| offered.package == package);
        let fitting = of_package()
            .filter(|offered| wanted.exact.as_deref().is_none_or(|exact| exact == offered.upstream()));
        if let Some(newest) = fitting.max_by_key(|offered| order(offered.upstream())) {
            return Ok(newest.full.clone());
        }
        let there: Vec<&str> = of_package().map(Offered::upstream).collect();
        if there.is_empty() {
            return Err(self.no_such_major(wanted));
        }
        let exact = wanted.exact.as_deref().unwrap_or_default();
        Err(Problem::wrong_request(format!("the distribution has no source of PostgreSQL {exact}"))
            .hint(format!("it has {}", there.join(", "))))
    }

    fn no_such_major(&self, wanted: &Wanted) -> Problem {
        let sources =
            self.say(&self.get, &["indextargets", "--format", "$(IDENTIFIER)", "Created-By: Sources"]);
        if sources.is_ok_and(|sources| sources.trim().is_empty()) {
            return Problem::could_not(format!(
                "could not fetch {}: no source packages are configured here",
                self.request.source
            ))
            .hint("add `deb-src` to the sources of apt and run `apt-get update`, or give a tarball with --source");
        }
        let old = ["9.4", "9.5", "9.6"].map(str::to_owned);
        let packages: Vec<String> = old
            .into_iter()
            .chain(MAJORS.map(|major| major.to_string()))
            .map(|m| format!("postgresql-{m}"))
            .collect();
        let offers = self.offers(&packages).unwrap_or_default();
        let mut there: Vec<&str> = offers.iter().map(Offered::upstream).collect();
        there.sort_by_key(|version| order(version));
        there.dedup();
        let problem =
            Problem::wrong_request(format!("the distribution has no source of PostgreSQL {}", wanted.major));
        match there.is_empty() {
            true => problem.hint("`apt-get update` may make it available; else give a tarball with --source"),
            false => problem.hint(format!("it has {}", there.join(", "))),
        }
    }

    /// Fetches into a new directory.
    fn fetch(&self, wanted: &Wanted, version: &str, staging: &Path) -> Result<PathBuf, Problem> {
        let mut place = Place::planned(staging.to_owned());
        place.take("directory", self.user)?;
        let package = format!("{}={version}", wanted.package());
        self.run(&self.get, &["source", "--download-only", "--tar-only", "-q", &package], staging)
            .map_err(|failure| self.problem(failure))?;
        newest(wanted, staging).ok_or_else(|| {
            Problem::could_not(format!(
                "could not fetch {}: apt fetched no tarball of it",
                self.request.source
            ))
            .hint("give a tarball with --source")
        })
    }

    fn problem(&self, failure: Failure) -> Problem {
        let what = format!("could not fetch {}", self.request.source);
        match failure {
            Failure::Stopped => {
                Problem::could_not(format!("{what}: interrupted")).hint("nothing of it was kept")
            }
            Failure::Io(error) => Problem::could_not(format!("{what}: {error}")),
            Failure::Ended(_, said) => Problem::could_not(format!("{what}: apt failed"))
                .detail(relevant_lines(&said.replace("E: ", "error: ")))
                .hint("`apt-get update` may help; or give a tarball with --source"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(source: &str) -> Option<(String, Option<String>)> {
        Wanted::parse(source).and_then(Result::ok).map(|wanted| (wanted.major, wanted.exact))
    }

    #[test]
    fn majors_and_versions_are_distinguished() {
        assert_eq!(parse("debian:18"), Some(("18".into(), None)));
        assert_eq!(parse("debian:18.6"), Some(("18".into(), Some("18.6".into()))));
        assert_eq!(parse("debian:9.6"), Some(("9.6".into(), None)));
        assert_eq!(parse("debian:9.6.24"), Some(("9.6".into(), Some("9.6.24".into()))));
        for wrong in
            ["debian:", "debian:x", "debian:18.", "debian:9", "debian:18.6.1", "debian:-1", "debian:../x"]
        {
            assert!(Wanted::parse(wrong).is_some_and(|wanted| wanted.is_err()), "{wrong}");
        }
        assert!(Wanted::parse("/tmp/debian:18").is_none());
    }

    #[test]
    fn the_newest_tarball_of_the_package_is_taken() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        for name in [
            "postgresql-18_18.6.orig.tar.bz2",
            "postgresql-18_18.10.orig.tar.bz2",
            "postgresql-18_18.6-3.debian.tar.xz",
            "postgresql-17_17.99.orig.tar.bz2",
        ] {
            fs::write(dir.path().join(name), "x").expect("it can be written");
        }
        let of = |source: &str| {
            let wanted = Wanted::parse(source).expect("it is one").expect("it is one");
            newest(&wanted, dir.path()).map(|path| path.file_name().expect("it has one").to_owned())
        };
        assert_eq!(of("debian:18"), Some("postgresql-18_18.10.orig.tar.bz2".into()));
        assert_eq!(of("debian:18.6"), Some("postgresql-18_18.6.orig.tar.bz2".into()));
        assert_eq!(of("debian:18.7"), None);
        assert_eq!(of("debian:16"), None);
    }

    #[test]
    fn offers_are_read_from_paragraphs() {
        let first = "Package: postgresql-18\nBinary: x\nVersion: 1:18.6-3";
        let offers = offers(&format!("{first}\n\nPackage: y\nVersion: 17.11-0+deb13u1\n\nN: x"));
        assert_eq!(offers.iter().map(Offered::upstream).collect::<Vec<_>>(), ["18.6", "17.11"]);
        assert_eq!(offers[0].package, "postgresql-18");
    }
}
