//! What builds take room, and how it is freed.

use std::{io, path::PathBuf};

use super::{
    open,
    shelf::{Shelf, State, remove},
};
use crate::provision::Dirs;

/// Something that takes room in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What it is, in words.
    pub what: String,
    /// Where.
    pub path: PathBuf,
    part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Made(String),
    Work(String),
    Fetched,
}

/// All that builds take room with: complete ones, unfinished ones, sources that were fetched.
pub fn kept(dirs: &Dirs) -> Vec<Kept> {
    let shelf = Shelf::of(dirs);
    let made = shelf.all_made().into_iter().map(|digest| made(&shelf, digest));
    let work = shelf.all_work().into_iter().map(|digest| {
        let path = shelf.work(&digest);
        let name = State::read(&path).map(|state| state.name);
        let what = name.map_or("leftover".to_owned(), |name| format!("unfinished build `{name}`"));
        Kept { what, path, part: Part::Work(digest) }
    });
    let fetched = shelf.all_fetched().into_iter().map(|package| Kept {
        path: shelf.fetched(&package),
        what: format!("source of {package}"),
        part: Part::Fetched,
    });
    made.chain(work).chain(fetched).collect()
}

fn made(shelf: &Shelf, digest: String) -> Kept {
    let path = shelf.made(&digest);
    let names: Vec<String> =
        shelf.names().into_iter().filter(|(_, to)| *to == digest).map(|(name, _)| name).collect();
    let what = match open("", &path) {
        Ok(build) if names.is_empty() => format!("build {}, no name", build.manifest.version),
        Ok(_) => format!("build `{}`", names.join("`, `")),
        Err(_) => "leftover of a build".to_owned(),
    };
    Kept { what, path, part: Part::Made(digest) }
}

impl Kept {
    /// Whether a pgdyno works on it now.
    pub fn is_worked_on(&self, dirs: &Dirs) -> bool {
        match &self.part {
            Part::Made(digest) | Part::Work(digest) => matches!(Shelf::of(dirs).try_lock(digest), Ok(None)),
            Part::Fetched => false,
        }
    }

    /// Removes it, with the names that point to it.
    ///
    /// # Errors
    /// Where something cannot be removed, or a pgdyno works on it.
    pub fn free(&self, dirs: &Dirs) -> io::Result<()> {
        let shelf = Shelf::of(dirs);
        let (Part::Made(digest) | Part::Work(digest)) = &self.part else { return remove(&self.path) };
        let Some(_lock) = shelf.try_lock(digest)? else {
            return Err(io::Error::other("another pgdyno works on it"));
        };
        match self.part {
            Part::Made(_) => shelf.remove_made(digest),
            _ => shelf.remove_work(digest),
        }
    }
}

/// Forgets the digests of sources; what is asked for again is read again.
///
/// # Errors
/// Where they cannot be removed.
pub fn forget(dirs: &Dirs) -> io::Result<()> {
    remove(&Shelf::of(dirs).remembered())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::provision::builds::{
        Phase, all,
        shelf::MANIFEST,
        tests::{dirs, manifest},
    };

    #[test]
    fn what_takes_room_is_listed_and_freed() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let shelf = Shelf::of(&dirs);
        assert_eq!(kept(&dirs), []);
        for digest in ["aa", "bb", "cc"] {
            fs::create_dir_all(shelf.made(digest)).expect("it can be made");
        }
        let text = serde_json::to_vec(&manifest()).expect("it can be written");
        fs::write(shelf.made("aa").join(MANIFEST), &text).expect("it can be written");
        fs::write(shelf.made("bb").join(MANIFEST), &text).expect("it can be written");
        shelf.point("fast", "aa").and_then(|()| shelf.point("quick", "aa")).expect("it can be written");
        fs::create_dir_all(shelf.work("dd")).expect("it can be made");
        let state = State { name: "x".into(), source: "s".into(), uid: 0, phase: Phase::Compile };
        state.write(&shelf.work("dd")).expect("it can be written");
        fs::create_dir_all(shelf.fetched("postgresql-18")).expect("it can be made");
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
        let held = shelf.try_lock("aa").expect("it can be made").expect("nobody has it");
        assert!(list[0].is_worked_on(&dirs) && list[0].free(&dirs).is_err());
        drop(held);
        for kept in list {
            assert!(!kept.is_worked_on(&dirs), "{kept:?}");
            kept.free(&dirs).expect("it can be removed");
        }
        assert_eq!((kept(&dirs), all(&dirs), shelf.names().len()), (vec![], vec![], 0));
    }
}
