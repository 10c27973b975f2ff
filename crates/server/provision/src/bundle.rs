//! Bundles of PostgreSQL programs for machines without an installed server: fetched once, cached.
//!
//! A bundle appears in the cache by one rename after its SHA-256 was verified, so that a kill at any instant leaves
//! none or a complete one; a lock file lets one process fetch while others wait. At every use the files are checked
//! against their manifest; a damaged bundle is fetched again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use pgdyno_core::{
    facts::{BuildFacts, major_of},
    problem::Problem,
};
use semver::Version;
use sha2::{Digest, Sha256};

use super::{
    Event, bundle_archive, installation,
    lock::lock,
    manifest::Manifest,
    safe::make_traversable,
    version::{Wanted, version_words},
};

const LOCK_FILE: &str = include_str!("../../../../bundles.lock");
/// File in a bundle with the SHA-256 of its archive.
const DIGEST_FILE: &str = "archive.sha256";
/// Longest wait for another process that fetches and unpacks the same bundle.
const LOCK_LIMIT: Duration = Duration::from_secs(720);
/// Programs that every bundle must have.
const PROGRAMS: [&str; 2] = ["bin/postgres", "bin/initdb"];

/// Bundle version that was tested with this version of pgdyno.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Version of the bundle; its third part counts repackagings from PostgreSQL 10 on.
    pub version: Version,
    /// SHA-256 of the archive in hexadecimal.
    pub sha256: String,
    /// SHA-256 over names and contents of the files; `None` if they are not pinned.
    pub files_sha256: Option<String>,
    /// Compiler of the programs, by name and version such as `gcc-7.5.0`, and those of its flags that affect the code,
    /// as found in the programs of the archive.
    pub build: BuildFacts,
}

/// What is known of a bundle before it is fetched.
#[derive(Debug, Clone)]
pub struct BundleToCome {
    /// `server_version_num`; for a bundle that is not pinned the requested version, else the first of its major.
    pub version_num: u32,
    /// Version in the usual notation; for a bundle that is not pinned the requested version, else its major.
    pub version: String,
    /// The bundle, if it is in the cache already.
    pub cached: Option<Bundle>,
    /// How the programs were compiled; `None` if the bundle is not pinned.
    pub build: Option<BuildFacts>,
}

/// A bundle in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Version of the bundle.
    pub version: Version,
    /// `server_version_num`.
    pub version_num: u32,
    /// Directory of the bundle, with `bin`, `lib` and `share`.
    pub dir: PathBuf,
    /// Whether this version was tested with this version of pgdyno.
    pub pinned: bool,
}

impl Bundle {
    /// Directory of the programs.
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
            let files_sha256 = fields.next().filter(|digest| *digest != "-").map(str::to_owned);
            let compiler = fields.next().map(str::to_owned);
            let cflags = compiler.is_some().then(|| fields.collect::<Vec<_>>().join(" "));
            let cflags = cflags.filter(|flags| flags != "-");
            let build = BuildFacts { compiler, cflags, ..BuildFacts::default() };
            (of_arch == arch).then(|| Pin { version, sha256: sha256.to_owned(), files_sha256, build })
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

/// Lists the bundles in the cache, the newest first, without checking their files.
pub fn cached(cache: &Path) -> Vec<Bundle> {
    let pins = pins();
    let bundle = |(version, dir): (Version, PathBuf)| {
        let digest = fs::read_to_string(dir.join(DIGEST_FILE)).unwrap_or_default();
        let pinned = pins.iter().any(|pin| pin.version == version && pin.sha256 == digest.trim());
        Bundle { version_num: version_num_of(&version), version, dir, pinned }
    };
    let programs_are_there =
        |bundle: &Bundle| PROGRAMS.iter().all(|program| bundle.dir.join(program).is_file());
    directories(cache).into_iter().map(bundle).filter(programs_are_there).collect()
}

/// Resolves a request: a major to its pinned version, an exact version to itself, none to the newest pinned version.
fn target(wanted: Option<Wanted>, pins: &[Pin]) -> (Wanted, Option<&Pin>) {
    let pin = pins
        .iter()
        .filter(|pin| wanted.is_none_or(|wanted| wanted.matches(version_num_of(&pin.version))))
        .max_by(|a, b| a.version.cmp(&b.version));
    let exact = pin.map(|pin| Wanted::Exact(version_num_of(&pin.version)));
    (exact.or(wanted).unwrap_or(Wanted::Major(180_000)), pin)
}

/// Predicts the bundle that [`obtain`] would return, without fetching.
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

/// Returns a bundle of the wanted version, from the cache or fetched into it; a damaged one is fetched again. A version
/// that is not pinned is fetched too, and marked as such.
///
/// # Errors
/// If the bundle does not exist, is neither intact in the cache nor can be fetched, has another SHA-256 than pinned, or
/// the cache cannot be written.
pub fn obtain(
    wanted: Option<Wanted>,
    cache: &Path,
    progress: &mut dyn FnMut(Event),
) -> Result<Bundle, Problem> {
    let fetch =
        |target: Wanted, pin: Option<&Pin>| bundle_archive::fetch(target, pin.map(|pin| &pin.version));
    let source = Source { pins: &pins(), fetch: &fetch, extract: &bundle_archive::extract };
    source.obtain(wanted, cache, progress)
}

type Fetch<'a> = dyn Fn(Wanted, Option<&Pin>) -> Result<(Version, Vec<u8>), Problem> + 'a;
type Extract<'a> = dyn Fn(Wanted, &[u8], &Path) -> Result<(), String> + 'a;

/// Source of bundles.
struct Source<'a> {
    pins: &'a [Pin],
    /// Downloads the archive of a version, or of a pin.
    fetch: &'a Fetch<'a>,
    /// Unpacks the archive of a version into a directory that does not exist yet.
    extract: &'a Extract<'a>,
}

/// State of a version in the cache.
enum Found {
    Whole(Bundle),
    Damaged { version: Version, why: String },
    Nothing,
}

impl Source<'_> {
    fn obtain(
        &self,
        wanted: Option<Wanted>,
        cache: &Path,
        progress: &mut dyn FnMut(Event),
    ) -> Result<Bundle, Problem> {
        let (target, pin) = target(wanted, self.pins);
        if let Found::Whole(bundle) = self.look(cache, target) {
            return Ok(bundle);
        }
        let dir = bundles_dir(cache);
        fs::create_dir_all(&dir).map_err(|error| cache_problem(cache, &error))?;
        let mut waiting = || progress(Event::WaitingForBundle { version: target.to_string() });
        let _lock = lock(&dir.join(format!("{target}.lock")), LOCK_LIMIT, &mut waiting)
            .map_err(|error| lock_problem(target, cache, &error))?;
        // Another process may have fetched it while this one waited.
        let damage = match self.look(cache, target) {
            Found::Whole(bundle) => return Ok(bundle),
            Found::Damaged { version, why } => Some((version, why)),
            Found::Nothing => None,
        };
        match &damage {
            Some((version, why)) => {
                progress(Event::BundleDamaged { version: version.to_string(), why: why.clone() });
            }
            None => progress(Event::FetchingBundle {
                version: target.to_string(),
                about_mb: bundle_archive::about_mb(target.least()),
            }),
        }
        let fetched = self.fetch_into(&dir, target, pin);
        fetched.map_err(|problem| match &damage {
            Some((version, why)) => could_not_refetch(version, why, &problem),
            None => problem,
        })?;
        match self.look(cache, target) {
            Found::Whole(bundle) => Ok(bundle),
            Found::Damaged { version, why } => Err(Problem::could_not(format!(
                "the bundle of PostgreSQL {version} is damaged again just after it was fetched: {why}"
            ))
            .hint("check what changes files in the cache, and whether its disk is healthy")),
            Found::Nothing => {
                Err(Problem::could_not(format!("the bundle of PostgreSQL {target} holds another version")))
            }
        }
    }

    /// Checks the cached bundles of a version, the newest first.
    fn look(&self, cache: &Path, target: Wanted) -> Found {
        let mut damaged = Found::Nothing;
        for (version, dir) in directories(cache) {
            if !target.matches(version_num_of(&version)) {
                continue;
            }
            let pin = self.pins.iter().find(|pin| pin.version == version);
            match verify(&dir, pin) {
                Ok(archive) => {
                    let pinned = pin.is_some_and(|pin| pin.sha256 == archive);
                    let version_num = version_num_of(&version);
                    return Found::Whole(Bundle { version, version_num, dir, pinned });
                }
                Err(why) if matches!(damaged, Found::Nothing) => damaged = Found::Damaged { version, why },
                Err(_) => {}
            }
        }
        damaged
    }

    /// Downloads, verifies, extracts and renames a bundle. The caller holds the lock of the target.
    fn fetch_into(&self, dir: &Path, target: Wanted, pin: Option<&Pin>) -> Result<(), Problem> {
        let (version, bytes) = (self.fetch)(target, pin)?;
        let digest = hex::encode(Sha256::digest(&bytes));
        if let Some(pin) = pin.filter(|pin| pin.sha256 != digest) {
            return Err(Problem::could_not(format!(
                "the archive of PostgreSQL {target} is not the one pinned"
            ))
            .detail(format!("its SHA-256 is {digest}, expected {}", pin.sha256))
            .hint("nothing was extracted. Try again; if it happens again, do not use it, and report it"));
        }
        let staging = dir.join(format!(".staging-{target}"));
        let unpacked = self.unpack(&staging, target, &bytes, &digest).and_then(|files| {
            put(&files, &dir.join(version.to_string()), &staging).map_err(|e| e.to_string())
        });
        let _ = fs::remove_dir_all(&staging);
        unpacked.map_err(|error| {
            Problem::could_not(format!("could not unpack the bundle of PostgreSQL {target}: {error}")).hint(
                format!(
                    "check that the cache {} has room and is writable; PGDYNO_CACHE moves it",
                    dir.display()
                ),
            )
        })
    }

    /// Extracts into a staging directory, after removing what a killed process left there.
    fn unpack(&self, staging: &Path, target: Wanted, bytes: &[u8], digest: &str) -> Result<PathBuf, String> {
        let files = staging.join("files");
        let io = |error: io::Error| error.to_string();
        if staging.exists() {
            fs::remove_dir_all(staging).map_err(io)?;
        }
        fs::create_dir_all(staging).map_err(io)?;
        (self.extract)(target, bytes, &files)?;
        if let Some(missing) = PROGRAMS.iter().find(|program| !files.join(program).is_file()) {
            return Err(format!("the archive has no {missing}"));
        }
        fs::write(files.join(DIGEST_FILE), digest).map_err(io)?;
        make_traversable(&files).map_err(io)?;
        Manifest::from_files(&files, digest, &[DIGEST_FILE])
            .and_then(|manifest| manifest.write(&files))
            .map_err(io)?;
        Ok(files)
    }
}

/// Moves a bundle to its final place. A damaged one that is there is removed first: servers that run from it keep their
/// open files.
fn put(files: &Path, place: &Path, staging: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_ok() {
        fs::rename(place, staging.join("damaged"))?;
    }
    fs::rename(files, place)
}

/// Directories in the cache that are named after a version, the newest first.
fn directories(cache: &Path) -> Vec<(Version, PathBuf)> {
    let entries = fs::read_dir(bundles_dir(cache)).into_iter().flatten().flatten();
    let version = |path: &Path| Version::parse(path.file_name()?.to_str()?).ok();
    let mut found: Vec<(Version, PathBuf)> =
        entries.filter_map(|entry| Some((version(&entry.path())?, entry.path()))).collect();
    found.sort_by(|a, b| b.0.cmp(&a.0));
    found
}

/// Checks a bundle against its manifest, and that against the pin; returns the SHA-256 of the archive. Without a
/// manifest (older versions wrote none) the files are checked against the pin, and without a pin of the files the
/// programs must run; then a manifest is written. The error describes the damage.
fn verify(dir: &Path, pin: Option<&Pin>) -> Result<String, String> {
    let expected = pin.and_then(|pin| pin.files_sha256.as_ref());
    if let Some(manifest) =
        Manifest::read(dir).filter(|has| expected.is_none_or(|digest| has.digest() == *digest))
    {
        return manifest.difference(dir).map_or_else(|| Ok(kept(dir, &manifest.archive)), Err);
    }
    if let Some(missing) = PROGRAMS.iter().find(|program| !dir.join(program).is_file()) {
        return Err(format!("{missing} is missing"));
    }
    let archive = fs::read_to_string(dir.join(DIGEST_FILE)).map(|digest| digest.trim().to_owned());
    let archive = match (expected, pin) {
        (Some(_), Some(pin)) => pin.sha256.clone(),
        _ => archive.map_err(|_| format!("{DIGEST_FILE} is missing"))?,
    };
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    let manifest = Manifest::from_files(dir, &archive, &[DIGEST_FILE]).map_err(unreadable)?;
    match expected {
        Some(digest) if manifest.digest() != *digest => {
            return Err("its files are not those of its archive".to_owned());
        }
        Some(_) => {}
        None => runs(dir)?,
    }
    // If this user may not write the cache, the check is repeated the next time.
    let _ = manifest.write(dir);
    Ok(kept(dir, &archive))
}

fn runs(dir: &Path) -> Result<(), String> {
    let inspected = installation::inspect(&dir.join("bin"));
    inspected.map(drop).map_err(|problem| problem.detail.unwrap_or(problem.what))
}

/// Stores the SHA-256 of the archive next to the files.
fn kept(dir: &Path, archive: &str) -> String {
    let file = dir.join(DIGEST_FILE);
    if fs::read_to_string(&file).is_ok_and(|kept| kept.trim() == archive) {
        return archive.to_owned();
    }
    // Read by versions from before the manifest.
    let _ = fs::write(file, archive);
    archive.to_owned()
}

fn cache_problem(cache: &Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not write the cache in {}: {error}", cache.display()))
        .hint("choose another directory with the environment variable PGDYNO_CACHE")
}

fn lock_problem(target: Wanted, cache: &Path, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::TimedOut => Problem::could_not(format!(
            "could not get PostgreSQL {target}: another pgdyno is still fetching it"
        ))
        .detail(error.to_string())
        .hint("try again when that one is done, or end it if it hangs"),
        _ => cache_problem(cache, error),
    }
}

/// Error for a damaged bundle that cannot be fetched again.
fn could_not_refetch(version: &Version, why: &str, problem: &Problem) -> Problem {
    let cause =
        problem.detail.as_ref().map_or(problem.what.clone(), |detail| format!("{}: {detail}", problem.what));
    Problem::could_not(format!(
        "the bundle of PostgreSQL {version} in the cache is damaged, and could not be fetched again"
    ))
    .detail(format!("{why}; {cause}"))
    .hint("run once with a network, or install PostgreSQL, or name its programs with --bindir")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_major_is_pinned_once_with_a_whole_digest() {
        let pins = parse_pins(LOCK_FILE, "x86_64");
        let majors: Vec<String> = pins.iter().map(|pin| major_of(version_num_of(&pin.version))).collect();
        assert_eq!(majors, ["9.5", "9.6", "10", "11", "12", "13", "14", "15", "16", "17", "18"]);
        assert!(pins.iter().all(|pin| pin.sha256.len() == 64));
        assert_eq!(pins[0].build.telling_flags(), None, "programs of 9.5 do not report their flags");
        // Compiler flags by pin: 9.6 and 10 were compiled differently from the later ones.
        let flags = pins[1..].iter().map(|pin| (pin.build.compiler.clone(), pin.build.telling_flags()));
        let flags: Vec<_> = flags.collect();
        assert!(flags.iter().all(|(compiler, flags)| compiler.is_some() && flags.is_some()), "{flags:?}");
        assert!(
            flags[0] == flags[1] && flags[1] != flags[2] && flags[2..].windows(2).all(|two| two[0] == two[1])
        );
        assert!(pins.iter().all(|pin| pin.files_sha256.as_ref().is_none_or(|digest| digest.len() == 64)));
    }

    #[test]
    fn a_major_means_its_pinned_version() {
        let pins = parse_pins(
            "# note\n11.22.1 x86_64 aa\n18.6.0 x86_64 bb\n18.6.0 aarch64 cc\nnonsense\n",
            "x86_64",
        );
        assert_eq!(pins.len(), 2);
        let found = |wanted: &str| {
            let (target, pin) = target(Some(wanted.parse().expect("a version")), &pins);
            (target.to_string(), pin.map(|pin| pin.version.to_string()))
        };
        assert_eq!(found("11"), ("11.22".into(), Some("11.22.1".into())));
        assert_eq!(found("11.22"), ("11.22".into(), Some("11.22.1".into())));
        assert_eq!(found("11.20"), ("11.20".into(), None));
        assert_eq!(found("16"), ("16".into(), None));
        assert_eq!(target(None, &pins).0, Wanted::Exact(180_006));
    }

    #[test]
    fn half_a_bundle_is_none() {
        let cache = tempfile::tempdir().expect("a temporary directory can be made");
        let bin = cache.path().join("bundles/18.6.0/bin");
        fs::create_dir_all(&bin).expect("it can be made");
        fs::create_dir_all(cache.path().join("bundles/.staging-18.6/files")).expect("it can be made");
        assert_eq!(cached(cache.path()), []);
        for program in ["postgres", "initdb"] {
            fs::write(bin.join(program), "").expect("it can be written");
        }
        let found = cached(cache.path());
        assert_eq!((found.len(), found[0].version_num, found[0].pinned), (1, 180_006, false));
    }

    /// Unpacks a fake bundle whose programs print a version.
    fn unpacked(files: &Path) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        fs::create_dir_all(files.join("bin"))?;
        for program in ["postgres", "initdb"] {
            let path = files.join("bin").join(program);
            fs::write(&path, format!("#!/bin/sh\necho '{program} (PostgreSQL) 18.6'\n"))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(files.join("postgres.bki"), "bootstrap")
    }

    const ARCHIVE: &[u8] = b"an archive";

    /// A cache, pins, and a count of the fetches.
    struct Cache {
        dir: tempfile::TempDir,
        pins: Vec<Pin>,
        fetched: std::cell::Cell<u32>,
        reachable: bool,
    }

    impl Cache {
        fn new(files_pinned: bool) -> Self {
            let dir = tempfile::tempdir().expect("a temporary directory can be made");
            let sample = dir.path().join("sample");
            unpacked(&sample).and_then(|()| make_traversable(&sample)).expect("it can be written");
            let files = Manifest::from_files(&sample, "", &[]).expect("it can be read").digest();
            let pin = Pin {
                version: Version::new(18, 6, 0),
                sha256: hex::encode(Sha256::digest(ARCHIVE)),
                files_sha256: files_pinned.then_some(files),
                build: BuildFacts::default(),
            };
            Self { dir, pins: vec![pin], fetched: 0.into(), reachable: true }
        }

        fn place(&self) -> PathBuf {
            self.dir.path().join("cache/bundles/18.6.0")
        }

        /// Returns the bundle and the reported damage.
        fn obtain(&self) -> (Result<Bundle, Problem>, Option<String>) {
            let fetch = |_: Wanted, _: Option<&Pin>| {
                self.fetched.set(self.fetched.get() + 1);
                match self.reachable {
                    true => Ok((Version::new(18, 6, 0), ARCHIVE.to_vec())),
                    false => Err(Problem::could_not("there is no network")),
                }
            };
            let extract =
                |_: Wanted, _: &[u8], files: &Path| unpacked(files).map_err(|error| error.to_string());
            let source = Source { pins: &self.pins, fetch: &fetch, extract: &extract };
            let mut damage = None;
            let bundle = source.obtain(None, &self.dir.path().join("cache"), &mut |event| {
                if let Event::BundleDamaged { why, .. } = event {
                    damage = Some(why);
                }
            });
            (bundle, damage)
        }

        fn is_whole(&self, fetched: u32) {
            let (bundle, damage) = self.obtain();
            assert!(bundle.expect("it is whole").pinned);
            assert_eq!((damage, self.fetched.get()), (None, fetched));
        }
    }

    type Damage = fn(&Path) -> io::Result<()>;
    const DAMAGES: [(Damage, &str); 5] = [
        (|dir| fs::write(dir.join("bin/postgres"), "x"), "bin/postgres has 1 bytes"),
        (|dir| fs::write(dir.join("postgres.bki"), "BOOTSTRAP"), "the content of postgres.bki"),
        (|dir| fs::remove_file(dir.join("bin/postgres")), "bin/postgres is missing"),
        (|dir| fs::remove_dir_all(dir.join("bin")), "is missing"),
        (|dir| fs::remove_file(dir.join("postgres.bki")), "postgres.bki is missing"),
    ];

    #[test]
    fn a_damaged_bundle_is_fetched_again() {
        for (damage, words) in DAMAGES {
            let cache = Cache::new(false);
            cache.is_whole(1);
            cache.is_whole(1);
            damage(&cache.place()).expect("it can be damaged");
            let (bundle, message) = cache.obtain();
            assert!(bundle.expect("it heals").pinned);
            assert!(message.as_ref().is_some_and(|message| message.contains(words)), "{message:?} {words}");
            cache.is_whole(2);
        }
    }

    #[test]
    fn a_damaged_bundle_without_a_network_says_both() {
        let mut cache = Cache::new(true);
        cache.is_whole(1);
        fs::write(cache.place().join("bin/postgres"), "").expect("it can be damaged");
        cache.reachable = false;
        let problem = cache.obtain().0.expect_err("it cannot be fetched");
        let message = format!("{} {}", problem.what, problem.detail.unwrap_or_default());
        for words in ["18.6.0 in the cache is damaged", "bin/postgres has 0 bytes", "there is no network"] {
            assert!(message.contains(words), "{message}");
        }
        assert!(cache.place().exists(), "what there is stays");
    }

    #[test]
    fn a_bundle_without_its_checksum_or_manifest_heals() {
        for (files_pinned, gone, fetched) in [
            (true, vec![DIGEST_FILE], 1),
            (true, vec!["files.json"], 1),
            (true, vec![DIGEST_FILE, "files.json"], 1),
            (false, vec![DIGEST_FILE], 1),
            (false, vec!["files.json"], 1),
            (false, vec![DIGEST_FILE, "files.json"], 2),
        ] {
            let cache = Cache::new(files_pinned);
            cache.is_whole(1);
            for name in &gone {
                fs::remove_file(cache.place().join(name)).expect("it can be removed");
            }
            assert!(cache.obtain().0.expect("it heals").pinned, "{gone:?}");
            cache.is_whole(fetched);
            assert!(gone.iter().all(|name| cache.place().join(name).is_file()), "{gone:?}");
        }
    }

    #[test]
    fn damage_from_before_the_manifest_is_seen_by_the_pin() {
        let cache = Cache::new(true);
        cache.is_whole(1);
        fs::remove_file(cache.place().join("files.json")).expect("it can be removed");
        fs::write(cache.place().join("postgres.bki"), "").expect("it can be damaged");
        let (bundle, message) = cache.obtain();
        assert!(
            bundle.is_ok() && message.is_some_and(|message| message.contains("not those of its archive"))
        );
        cache.is_whole(2);
    }
}
