//! What the sub-commands about servers share: where servers are kept, and what is said while one is made.

use std::{env, path::PathBuf};

use pgdyno_core::{problem::Problem, units::printable};
use pgdyno_provision::{Dirs, Environment, Event};

/// The roots of servers and bundles, as of the environment.
///
/// # Errors
/// Where an ordinary user has no home and says nothing else.
pub fn dirs() -> Result<Dirs, Problem> {
    let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Dirs::of(&Environment {
        state: path("PGDYNO_STATE"),
        cache: path("PGDYNO_CACHE"),
        xdg_data_home: path("XDG_DATA_HOME"),
        xdg_cache_home: path("XDG_CACHE_HOME"),
        xdg_runtime_dir: path("XDG_RUNTIME_DIR"),
        home: path("HOME"),
    })
}

/// Says on stderr what is going on, where it takes long enough to be asked about.
pub fn say(event: Event) {
    match event {
        Event::WaitingForServer { name } => eprintln!("waiting: another pgdyno works on server `{name}`"),
        Event::WaitingForBundle { version } => {
            eprintln!("waiting: another pgdyno fetches PostgreSQL {version}");
        }
        Event::FetchingBundle { version } => {
            eprintln!("fetching PostgreSQL {version} (about 15 MB, kept for the next time)");
        }
        Event::BundleDamaged { version, why } => {
            eprintln!(
                "warning: the bundle of PostgreSQL {version} in the cache is damaged ({}): fetching it anew",
                printable(&why)
            );
        }
        Event::CleaningUp { name } => eprintln!("removing what an unfinished server `{name}` left"),
        Event::MakingCluster { data_dir } => eprintln!("making a cluster in {}", data_dir.display()),
        Event::Starting { .. } => {}
        Event::StillStarting { seconds, log_line } => {
            let line = log_line.map(|line| format!(": {}", printable(&line))).unwrap_or_default();
            eprintln!("the server is still starting after {seconds} s{line}");
        }
        Event::StoppingAtOnce { seconds } => {
            eprintln!("no end after {seconds} s: stopping it at once; the next start will recover");
        }
    }
}
