//! Directories of servers and bundles.

use std::path::{Path, PathBuf};

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

/// Environment variables that set the directories. The `XDG` variables and `HOME` count only if they are absolute
/// paths.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `PGDYNO_STATE`
    pub state: Option<PathBuf>,
    /// `PGDYNO_CACHE`
    pub cache: Option<PathBuf>,
    /// `XDG_DATA_HOME`
    pub xdg_data_home: Option<PathBuf>,
    /// `XDG_CACHE_HOME`
    pub xdg_cache_home: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `HOME`
    pub home: Option<PathBuf>,
    /// `PGDYNO_TEST_TEMPLATES`, for pgdyno's own tests
    pub test_templates: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process. An empty variable counts as absent.
    pub fn of_process() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            state: path("PGDYNO_STATE"),
            cache: path("PGDYNO_CACHE"),
            xdg_data_home: path("XDG_DATA_HOME"),
            xdg_cache_home: path("XDG_CACHE_HOME"),
            xdg_runtime_dir: path("XDG_RUNTIME_DIR"),
            home: path("HOME"),
            test_templates: path("PGDYNO_TEST_TEMPLATES"),
        }
    }
}

impl Dirs {
    /// Chooses the directories for the user of this process.
    ///
    /// # Errors
    /// If an ordinary user has no home and sets no directories.
    pub fn of(environment: &Environment) -> Result<Self, Problem> {
        Self::for_user(environment, rustix::process::geteuid().as_raw())
    }

    fn for_user(environment: &Environment, uid: u32) -> Result<Self, Problem> {
        let absolute = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
        let home = absolute(&environment.home);
        let place = |given: &Option<PathBuf>, root: &str, xdg: &Option<PathBuf>, under_home: &str| {
            let given = given.as_ref().filter(|path| !path.as_os_str().is_empty());
            let given = given.and_then(|path| std::path::absolute(path).ok());
            let of_user = || absolute(xdg).or_else(|| Some(home.as_ref()?.join(under_home)));
            let default = || {
                if uid == 0 { Some(PathBuf::from(root)) } else { of_user().map(|dir| dir.join("pgdyno")) }
            };
            given.or_else(default)
        };
        let state = place(&environment.state, "/var/lib/pgdyno", &environment.xdg_data_home, ".local/share");
        let cache = place(&environment.cache, "/var/cache/pgdyno", &environment.xdg_cache_home, ".cache");
        match (state, cache) {
            (Some(state), Some(cache)) => {
                let runtime = runtime(uid, absolute(&environment.xdg_runtime_dir));
                let templates = environment.test_templates.clone().filter(|_| cfg!(debug_assertions));
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

    fn with(home: &str) -> Environment {
        Environment { home: Some(home.into()), ..Environment::default() }
    }

    #[test]
    fn root_and_users_have_their_places() {
        let root = Dirs::for_user(&with("/root"), 0).expect("root needs nothing");
        assert_eq!(root.state, Path::new("/var/lib/pgdyno"));
        assert_eq!(root.runtime, Path::new("/run/pgdyno"));
        let user = Dirs::for_user(&with("/home/a"), 1000).expect("there is a home");
        assert_eq!(user.state, Path::new("/home/a/.local/share/pgdyno"));
        assert_eq!(user.cache, Path::new("/home/a/.cache/pgdyno"));
        assert_eq!(user.runtime, Path::new("/tmp/pgdyno-1000"));
    }

    #[test]
    fn what_is_given_wins_and_relative_xdg_paths_do_not_count() {
        let environment = Environment {
            state: Some("/s".into()),
            cache: Some("".into()),
            xdg_cache_home: Some("relative".into()),
            xdg_runtime_dir: Some("/run/user/1000".into()),
            ..with("/home/a")
        };
        let dirs = Dirs::for_user(&environment, 1000).expect("there is a home");
        assert_eq!(dirs.state, Path::new("/s"));
        assert_eq!(dirs.cache, Path::new("/home/a/.cache/pgdyno"));
        assert_eq!(dirs.runtime, Path::new("/run/user/1000/pgdyno"));
        assert!(Dirs::for_user(&Environment::default(), 1000).is_err());
        assert!(Dirs::for_user(&Environment::default(), 0).is_ok());
    }
}
