//! Disk space taken by builds, and how to free it.

use std::{io, path::PathBuf};

use super::{
    build_store::{BuildStore, State},
    open,
};
use crate::{Dirs, safe::remove};

/// Item of the cache that takes disk space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Description of the item.
    pub what: String,
    /// Path of the item.
    pub path: PathBuf,
    part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Made(String),
    Work(String),
    Fetched,
}

/// Lists everything builds keep in the cache: complete builds, unfinished ones, fetched sources.
pub fn kept(dirs: &Dirs) -> Vec<Kept> {
    let store = BuildStore::new(dirs);
    let made = store.all_made().into_iter().map(|digest| made(&store, digest));
    let work = store.all_work().into_iter().map(|digest| {
        let path = store.work(&digest);
        let name = State::read(&path).map(|state| state.name);
        let what = name.map_or("leftover".to_owned(), |name| format!("unfinished build `{name}`"));
        Kept { what, path, part: Part::Work(digest) }
    });
    let fetched = store.all_fetched().into_iter().map(|package| Kept {
        path: store.fetched(&package),
        what: format!("source of {package}"),
        part: Part::Fetched,
    });
    made.chain(work).chain(fetched).collect()
}

fn made(store: &BuildStore, digest: String) -> Kept {
    let path = store.made(&digest);
    let names: Vec<String> =
        store.names().into_iter().filter(|(_, to)| *to == digest).map(|(name, _)| name).collect();
    let what = match open("", &path) {
        Ok(build) if names.is_empty() => format!("build {}, no name", build.manifest.version),
        Ok(_) => format!("build `{}`", names.join("`, `")),
        Err(_) => "leftover of a build".to_owned(),
    };
    Kept { what, path, part: Part::Made(digest) }
}

impl Kept {
    /// Whether a pgdyno is working on the item now.
    pub fn is_worked_on(&self, dirs: &Dirs) -> bool {
        match &self.part {
            Part::Made(digest) | Part::Work(digest) => {
                matches!(BuildStore::new(dirs).try_lock(digest), Ok(None))
            }
            Part::Fetched => false,
        }
    }

    /// Removes the item and the names that point to it.
    ///
    /// # Errors
    /// If something cannot be removed, or a pgdyno is working on it.
    pub fn free(&self, dirs: &Dirs) -> io::Result<()> {
        let store = BuildStore::new(dirs);
        let (Part::Made(digest) | Part::Work(digest)) = &self.part else { return remove(&self.path) };
        let Some(_lock) = store.try_lock(digest)? else {
            return Err(io::Error::other("another pgdyno works on it"));
        };
        match self.part {
            Part::Made(_) => store.remove_made(digest),
            _ => store.remove_work(digest),
        }
    }
}

/// Removes the cached digests of sources; the next request reads the sources again.
///
/// # Errors
/// If they cannot be removed.
pub fn forget(dirs: &Dirs) -> io::Result<()> {
    remove(&BuildStore::new(dirs).remembered())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::builds::{
        Phase, all,
        build_store::MANIFEST,
        tests::{dirs, manifest},
    };

    #[test]
    fn what_takes_room_is_listed_and_freed() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let store = BuildStore::new(&dirs);
        assert_eq!(kept(&dirs), []);
        for digest in ["aa", "bb", "cc"] {
            fs::create_dir_all(store.made(digest)).expect("it can be made");
        }
        let text = serde_json::to_vec(&manifest()).expect("it can be written");
        fs::write(store.made("aa").join(MANIFEST), &text).expect("it can be written");
        fs::write(store.made("bb").join(MANIFEST), &text).expect("it can be written");
        store.point("fast", "aa").and_then(|()| store.point("quick", "aa")).expect("it can be written");
        fs::create_dir_all(store.work("dd")).expect("it can be made");
        let state = State { name: "x".into(), source: "s".into(), uid: 0, phase: Phase::Compile };
        state.write(&store.work("dd")).expect("it can be written");
        fs::create_dir_all(store.fetched("postgresql-18")).expect("it can be made");
        let list = kept(&dirs);
        let words: Vec<&str> = list.iter().map(|kept| kept.what.as_str()).collect();
        let expected = [
            "build `fast`, `quick`",
            "build 18.6, no name",
            "leftover of a build",
            "unfinished build `x`",
            "source of postgresql-18",
        ];
        assert_eq!(words, expected);
        let held = store.try_lock("aa").expect("it can be made").expect("nobody has it");
        assert!(list[0].is_worked_on(&dirs) && list[0].free(&dirs).is_err());
        drop(held);
        for kept in list {
            assert!(!kept.is_worked_on(&dirs), "{kept:?}");
            kept.free(&dirs).expect("it can be removed");
        }
        assert_eq!((kept(&dirs), all(&dirs), store.names().len()), (vec![], vec![], 0));
    }
}
