//! Location of a source: a directory, a tarball, or the distribution.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use pgdyno_host::users::User;
use pgdyno_provision::{builds::build_store::BuildStore, manifest::sha256_of, safe::remove};

use crate::{
    Event, Request, archive, debian,
    digest_cache::DigestCache,
    tree::{self, Entry},
};

/// A source that is present, with its digest.
#[derive(Debug)]
pub struct Located {
    place: Place,
    /// SHA-256 of the tarball, or of names and contents of the directory.
    pub sha256: String,
}

#[derive(Debug)]
enum Place {
    Dir(PathBuf, Vec<Entry>),
    Tarball(PathBuf),
}

/// Locates the source of a request, fetching it from the distribution if requested, and computes its digest.
///
/// # Errors
/// If the source does not exist, or cannot be fetched or read.
pub fn locate(
    request: &Request,
    store: &BuildStore,
    user: Option<&User>,
    progress: &mut dyn FnMut(Event),
) -> Result<Located, Problem> {
    let cache = DigestCache::new(store.remembered());
    if let Some(wanted) = debian::Wanted::parse(&request.source) {
        let path = debian::obtain(&wanted?, request, store, user, progress)?;
        return tarball(path, &cache);
    }
    let path = Path::new(&request.source);
    let path = fs::canonicalize(path).map_err(|error| archive::unreadable(path, &error))?;
    if !path.is_dir() {
        return tarball(path, &cache);
    }
    if store.root().starts_with(&path) {
        return Err(Problem::wrong_request(format!("the source {} contains the cache", path.display()))
            .hint("move the cache with the environment variable PGDYNO_CACHE"));
    }
    let entries = tree::walk(&path)?;
    let sha256 = tree::digest(&path, &entries, &cache)?;
    Ok(Located { place: Place::Dir(path, entries), sha256 })
}

fn tarball(path: PathBuf, cache: &DigestCache) -> Result<Located, Problem> {
    let digest = || {
        let bytes = sha256_of(&path).map_err(|error| archive::unreadable(&path, &error))?;
        Ok(hex::encode(bytes))
    };
    let sha256 = cache.for_file(&path, "sha256", digest)?;
    Ok(Located { place: Place::Tarball(path), sha256 })
}

impl Located {
    /// Copies or unpacks the source into a new directory, which becomes its root.
    ///
    /// # Errors
    /// If the source cannot be copied or unpacked.
    pub fn put(&self, to: &Path, request: &Request) -> Result<(), Problem> {
        let io = |error: std::io::Error| {
            Problem::could_not(format!("could not write {}: {error}", to.display()))
                .hint("PGDYNO_CACHE moves the cache to a disk with more room")
        };
        remove(to).map_err(io)?;
        match &self.place {
            Place::Dir(root, entries) => {
                fs::create_dir(to).map_err(io)?;
                tree::copy(root, entries, to)
            }
            Place::Tarball(path) => {
                let all = to.with_extension("unpacked");
                remove(&all).and_then(|()| fs::create_dir(&all)).map_err(io)?;
                archive::unpack(path, &all, &request.stop)?;
                fs::rename(root_of(&all), to).and_then(|()| remove(&all)).map_err(io)
            }
        }
    }
}

/// The only directory among the unpacked files, else their directory.
fn root_of(unpacked: &Path) -> PathBuf {
    let mut entries = fs::read_dir(unpacked).into_iter().flatten().flatten();
    match (entries.next(), entries.next()) {
        (Some(only), None) if only.file_type().is_ok_and(|kind| kind.is_dir()) => only.path(),
        _ => unpacked.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_provision::Dirs;

    use super::*;

    fn dirs(root: &Path) -> Dirs {
        let [state, cache, runtime] = ["state", "cache", "run"].map(|name| root.join(name));
        Dirs { state, cache, runtime, templates: None }
    }

    #[test]
    fn a_tarball_is_known_by_its_bytes_and_its_only_directory_is_the_root() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.set_size(1);
        header.set_mode(0o644);
        builder.append_data(&mut header, "postgresql-18.6/configure", &b"x"[..]).expect("it can be written");
        let path = root.path().join("source.tar");
        fs::write(&path, builder.into_inner().expect("it can be written")).expect("it can be written");
        let request = Request::named("a", path.display().to_string());
        let located =
            locate(&request, &BuildStore::new(&dirs(root.path())), None, &mut |_| {}).expect("it is there");
        assert_eq!(located.sha256, hex::encode(sha256_of(&path).expect("it is there")));
        let to = root.path().join("source");
        located.put(&to, &request).expect("it can be unpacked");
        assert!(to.join("configure").is_file() && !root.path().join("source.unpacked").exists());
    }

    #[test]
    fn a_source_that_is_not_there_is_named() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let store = BuildStore::new(&dirs(root.path()));
        let problem = |source: &str| {
            let request = Request::named("a", source);
            locate(&request, &store, None, &mut |_| {}).expect_err("there is none").what
        };
        assert!(problem("/not/there").contains("/not/there"));
        assert!(problem("debian:x").contains("debian:x"));
        assert!(problem(&root.path().display().to_string()).contains("cache"));
    }
}
