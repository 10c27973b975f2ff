//! From a request to a complete build: found by its recipe, or made in a work tree that survives a kill.

use std::{fs::File, thread, time::Duration};

use pgdyno_core::problem::Problem;

use pgdyno_provision::{
    Dirs,
    builds::{
        Build,
        build_store::{BuildStore, unwritable},
        find,
    },
    run_as,
};

use crate::{
    Event, Request, dependencies,
    digest_cache::DigestCache,
    recipe::{Compiler, Recipe, read_patches},
    source,
    work::Work,
};

/// Interval in which the lock of another process is polled.
const POLL: Duration = Duration::from_millis(100);

/// Returns the build of a request: from the cache if this recipe was built before, under any name, else built now. An
/// interrupted build continues in its work tree.
///
/// # Errors
/// If the request is invalid, a dependency is missing, the source does not compile, or a stop was requested.
pub fn make(request: &Request, dirs: &Dirs, progress: &mut dyn FnMut(Event)) -> Result<Build, Problem> {
    request.check()?;
    let (user, doubtful) = run_as::choose(request.run_as.as_deref())?;
    if let (Some(user), Some(_)) = (&user, doubtful) {
        progress(Event::BuildingAsShared { user: user.name.clone() });
    }
    let store = BuildStore::new(dirs);
    let compiler = &Compiler::find(request, &DigestCache::new(store.remembered()))?;
    let patches = &read_patches(&request.patches)?[..];
    if !patches.is_empty() && request.program("patch").is_none() {
        return Err(Problem::could_not("could not apply patches: `patch` is not installed")
            .hint("`apt-get install patch` installs it"));
    }
    let located = source::locate(request, &store, user.as_ref(), progress)?;
    let libraries = &dependencies::libraries(request)[..];
    let recipe = Recipe { request, source_sha256: &located.sha256, patches, compiler, libraries };
    let digest = recipe.digest();
    if let Some(build) = cached(request, dirs, &digest, progress)? {
        return Ok(build);
    }
    let _lock = lock(request, &store, &digest, progress)?;
    // Another process may have built it while this one waited.
    if let Some(build) = cached(request, dirs, &digest, progress)? {
        return Ok(build);
    }
    Work::begin(&recipe, &store, &digest, user.as_ref())?.build(&located, progress)?;
    point(request, &store, &digest, progress)?;
    find(dirs, &request.name)
}

/// Looks up the complete build of a digest and points the request's name at it.
fn cached(
    request: &Request,
    dirs: &Dirs,
    digest: &str,
    progress: &mut dyn FnMut(Event),
) -> Result<Option<Build>, Problem> {
    let store = BuildStore::new(dirs);
    if !store.is_complete(digest) {
        return Ok(None);
    }
    point(request, &store, digest, progress)?;
    progress(Event::Cached);
    find(dirs, &request.name).map(Some)
}

fn point(
    request: &Request,
    store: &BuildStore,
    digest: &str,
    progress: &mut dyn FnMut(Event),
) -> Result<(), Problem> {
    let name = &request.name;
    match store.names().get(name) {
        Some(before) if before == digest => return Ok(()),
        Some(before) if store.is_complete(before) => progress(Event::Repointed { name: name.clone() }),
        _ => {}
    }
    store.point(name, digest).map_err(|error| unwritable(store.root(), &error))
}

fn lock(
    request: &Request,
    store: &BuildStore,
    digest: &str,
    progress: &mut dyn FnMut(Event),
) -> Result<File, Problem> {
    let mut said = false;
    loop {
        if let Some(lock) = store.try_lock(digest).map_err(|error| unwritable(store.root(), &error))? {
            return Ok(lock);
        }
        if !std::mem::replace(&mut said, true) {
            progress(Event::Waiting);
        }
        if request.stop.requested() {
            return Err(Problem::could_not("interrupted while another pgdyno made the same build"));
        }
        thread::sleep(POLL);
    }
}
