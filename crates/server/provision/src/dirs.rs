//! Directories of servers and bundles.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;

/// Root directories of everything that pgdyno keeps outside the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Servers: `/var/lib/pgdyno` for root, else `~/.local/share/pgdyno`.
    pub state: PathBuf,
    /// Bundles: `/var/cache/pgdyno` for root, else `~/.cache/pgdyno`.
    pub cache: PathBuf,
    /// Sockets of servers whose own directory has too long a path: `/run/pgdyno` for root, else
    /// `$XDG_RUNTIME_DIR/pgdyno` or `/tmp/pgdyno-UID`.
    pub runtime: PathBuf,
    /// Templates of clusters, which only pgdyno's own tests have: with one, a cluster is a copy of an earlier one of
    /// its kind. Never set in a build without debug assertions.
    pub templates: Option<PathBuf>,
}

impl Dirs {
    /// Chooses the directories for the user of this process by its environment.
    ///
    /// # Errors
    /// See [`Dirs::from_env`].
    pub fn of_process() -> Result<Self, Problem> {
        Self::from_env(&|name| std::env::var_os(name))
    }

    /// Chooses the directories for the user of this process by these environment variables: `PGDYNO_STATE` and
    /// `PGDYNO_CACHE`, else those of XDG and `HOME`, which count only if they are absolute paths. An empty variable
    /// counts as absent.
    ///
    /// # Errors
    /// If an ordinary user has no home and sets no directories.
    pub fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, Problem> {
        Self::for_user(env, rustix::process::geteuid().as_raw())
    }

    fn for_user(env: &dyn Fn(&str) -> Option<OsString>, uid: u32) -> Result<Self, Problem> {
        let path = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
        let place = |own: &str, root: &str, xdg: &str, under_home: &str| {
            let given = path(own).and_then(|path| std::path::absolute(path).ok());
            let of_user = || absolute(xdg).or_else(|| Some(absolute("HOME")?.join(under_home)));
            let default = || {
                if uid == 0 { Some(PathBuf::from(root)) } else { of_user().map(|dir| dir.join("pgdyno")) }
            };
            given.or_else(default)
        };
        let state = place("PGDYNO_STATE", "/var/lib/pgdyno", "XDG_DATA_HOME", ".local/share");
        let cache = place("PGDYNO_CACHE", "/var/cache/pgdyno", "XDG_CACHE_HOME", ".cache");
        match (state, cache) {
            (Some(state), Some(cache)) => {
                let runtime = runtime(uid, absolute("XDG_RUNTIME_DIR"));
                let templates = path("PGDYNO_TEST_TEMPLATES").filter(|_| cfg!(debug_assertions));
                Ok(Self { state, cache, runtime, templates })
            }
            _ => Err(Problem::wrong_request("there is no home directory to keep servers in")
                .hint("set HOME, or PGDYNO_STATE and PGDYNO_CACHE")),
        }
    }

    /// Directory with one subdirectory for each server.
    pub fn servers(&self) -> PathBuf {
        self.state.join("servers")
    }
}

fn runtime(uid: u32, xdg: Option<PathBuf>) -> PathBuf {
    match xdg {
        _ if uid == 0 => PathBuf::from("/run/pgdyno"),
        Some(dir) => dir.join("pgdyno"),
        None => Path::new("/tmp").join(format!("pgdyno-{uid}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(variables: &[(&str, &str)], uid: u32) -> Result<Dirs, Problem> {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        Dirs::for_user(&|name| value(name).map(OsString::from), uid)
    }

    #[test]
    fn root_and_users_have_their_places() {
        let root = choose(&[("HOME", "/root")], 0).expect("root needs nothing");
        assert_eq!(root.state, Path::new("/var/lib/pgdyno"));
        assert_eq!(root.runtime, Path::new("/run/pgdyno"));
        let user = choose(&[("HOME", "/home/a")], 1000).expect("there is a home");
        assert_eq!(user.state, Path::new("/home/a/.local/share/pgdyno"));
        assert_eq!(user.cache, Path::new("/home/a/.cache/pgdyno"));
        assert_eq!(user.runtime, Path::new("/tmp/pgdyno-1000"));
    }

    #[test]
    fn what_is_given_wins_and_relative_xdg_paths_do_not_count() {
        let variables = [
            ("PGDYNO_STATE", "/s"),
            ("PGDYNO_CACHE", ""),
            ("XDG_CACHE_HOME", "relative"),
            ("XDG_RUNTIME_DIR", "/run/user/1000"),
            ("HOME", "/home/a"),
        ];
        let dirs = choose(&variables, 1000).expect("there is a home");
        assert_eq!(dirs.state, Path::new("/s"));
        assert_eq!(dirs.cache, Path::new("/home/a/.cache/pgdyno"));
        assert_eq!(dirs.runtime, Path::new("/run/user/1000/pgdyno"));
        assert!(choose(&[], 1000).is_err());
        assert!(choose(&[], 0).is_ok());
    }
}
