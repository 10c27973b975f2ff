//! Names of detached runs, which are in one space with those of servers, so that a name in `pgdyno ps` has one meaning.

use pgdyno_core::problem::Problem;
use pgdyno_provision::{Dirs, registry};

use crate::detached::{
    COMMANDS,
    entry::{Entry, Home, Status, list},
};

/// Finds the entry of a name.
///
/// # Errors
/// There is none; the hint lists those that there are, or says that the name is that of a server.
pub fn find(dirs: &Dirs, name: &str) -> Result<(Home, Entry), Problem> {
    check(name)?;
    let home = Home::of(dirs, name);
    refuse_stranger(&home, name)?;
    if let Some(entry) = home.read()? {
        return Ok((home, entry));
    }
    let problem = Problem::wrong_request(format!("there is no detached run `{name}`"));
    if is_server(dirs, name) {
        return Err(problem.hint(format!(
            "`{name}` is a server, which `pgdyno down {name}` stops; `pgdyno ps` lists both"
        )));
    }
    let known: Vec<String> = list(dirs).into_iter().flatten().map(|(_, entry)| entry.name).collect();
    Err(match known.is_empty() {
        true => problem.hint(format!("--detach of {COMMANDS} starts one")),
        false => problem.hint(format!("detached runs: {}", known.join(", "))),
    })
}

/// Finds the entry of a name, or that of the only run that is running.
///
/// # Errors
/// As [`find`]; or without a name there is no such run, or there are several.
pub fn find_or_only(dirs: &Dirs, name: Option<&str>) -> Result<(Home, Entry), Problem> {
    if let Some(name) = name {
        return find(dirs, name);
    }
    let is_running = |(_, entry): &(Home, Entry)| matches!(entry.status, Status::Running(_));
    let mut running: Vec<_> = list(dirs).into_iter().flatten().filter(is_running).collect();
    match running.len() {
        1 => Ok(running.remove(0)),
        0 => Err(Problem::wrong_request("no detached run is running")
            .hint("name one that is over; `pgdyno ps` lists them")),
        several => {
            let names: Vec<_> = running.iter().map(|(_, entry)| entry.name.as_str()).collect();
            Err(Problem::wrong_request(format!("{several} detached runs are running"))
                .hint(format!("name one of them: {}", names.join(", "))))
        }
    }
}

fn check(name: &str) -> Result<(), Problem> {
    let what = format!("`{name}` cannot be the name of a detached run");
    registry::check_name(name).map_err(|problem| Problem { what, ..problem })
}

fn refuse_stranger(home: &Home, name: &str) -> Result<(), Problem> {
    match home.stranger() {
        None => Ok(()),
        Some(user) => Err(Problem::wrong_request(format!(
            "could not use the detached run `{name}`: it belongs to the user {user}"
        ))
        .hint(format!("call pgdyno as that user: `sudo -u {user} pgdyno …`. Nothing was changed."))),
    }
}

/// Frees a name for a new run or server: the entry of a run that is over is removed and returned. What that run printed
/// stays in its run directory.
///
/// # Errors
/// The name is not usable as one, or a run of this name is running or belongs to another user.
pub fn free(dirs: &Dirs, name: &str) -> Result<Option<Entry>, Problem> {
    registry::check_name(name)?;
    let home = Home::of(dirs, name);
    refuse_stranger(&home, name)?;
    let Some(entry) = home.read()? else { return Ok(None) };
    match entry.status {
        Status::Running(process) => {
            Err(Problem::wrong_request(format!("the name `{name}` is taken: a detached run has it"))
                .detail(format!("process {}: {}", process.pid, entry.command))
                .hint(format!(
                    "choose another name, or `pgdyno attach {name}` waits for its end. Nothing was changed."
                )))
        }
        _ => home.remove().map(|()| Some(entry)),
    }
}

/// The name for a new run: the chosen one, else the first word of its sub-command with a number.
///
/// # Errors
/// The chosen name is taken, or is not usable as one.
pub fn choose(dirs: &Dirs, kind: &str, chosen: Option<&str>) -> Result<String, Problem> {
    let Some(name) = chosen else { return Ok(numbered(dirs, kind)) };
    check(name)?;
    free(dirs, name)?;
    match is_server(dirs, name) {
        false => Ok(name.to_owned()),
        true => Err(Problem::wrong_request(format!("the name `{name}` is taken: a server has it"))
            .hint("choose another one: --detach=NAME. Nothing was changed.")),
    }
}

/// A name that neither a run nor a server has.
fn numbered(dirs: &Dirs, kind: &str) -> String {
    let word = kind.split(' ').next().unwrap_or(kind);
    let names = (1_u64..).map(|number| format!("{word}-{number}"));
    let is_taken = |name: &String| Home::of(dirs, name).path().exists() || is_server(dirs, name);
    names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

fn is_server(dirs: &Dirs, name: &str) -> bool {
    dirs.servers().join(name).join("server.json").exists()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::detached::entry::End;

    fn dirs(root: &Path) -> Dirs {
        let [state, cache, runtime] = ["state", "cache", "run"].map(|name| root.join(name));
        Dirs { state, cache, runtime, templates: None }
    }

    fn entry(dirs: &Dirs, name: &str, change: impl FnOnce(&mut Entry)) {
        let home = Home::of(dirs, name);
        home.create().expect("it can be made");
        let mut entry = Entry::new(name, "load tpcb", "pgdyno load tpcb --scale 1".into());
        change(&mut entry);
        home.write(&entry).expect("it can be written");
    }

    fn ended(entry: &mut Entry) {
        entry.end = Some(End { status: 3, at: "2026-11-26T05:00:00Z".into() });
    }

    #[test]
    fn runs_and_servers_share_their_names() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let server = dirs.servers().join("load-1");
        fs::create_dir_all(&server).expect("it can be made");
        fs::write(server.join("server.json"), "{}").expect("it can be written");
        assert_eq!(choose(&dirs, "load tpcb", None).as_deref(), Ok("load-2"));
        entry(&dirs, "load-2", |_| {});
        assert_eq!(choose(&dirs, "load tpcb", None).as_deref(), Ok("load-3"));
        assert_eq!(choose(&dirs, "bench", Some("night")).as_deref(), Ok("night"));
        let taken = |name| choose(&dirs, "bench", Some(name)).expect_err("it is taken").what;
        assert_eq!(taken("load-1"), "the name `load-1` is taken: a server has it");
        assert_eq!(taken("load-2"), "the name `load-2` is taken: a detached run has it");
        assert!(taken("../x").contains("cannot be the name"));
    }

    #[test]
    fn the_name_of_a_run_that_is_over_can_be_used_again() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        entry(&dirs, "night", ended);
        assert_eq!(choose(&dirs, "bench", Some("night")).as_deref(), Ok("night"));
        assert!(!Home::of(&dirs, "night").path().exists());
        entry(&dirs, "night", ended);
        let freed = free(&dirs, "night").expect("it is over");
        assert_eq!(freed.map(|entry| entry.name).as_deref(), Some("night"), "what was removed is returned");
        assert!(free(&dirs, "night").expect("it is free").is_none());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let hint = |name| find(&dirs, name).expect_err("it is unknown").hint.expect("there is one");
        assert!(hint("x").starts_with("--detach of load"));
        entry(&dirs, "load-1", |_| {});
        entry(&dirs, "night", ended);
        assert_eq!(hint("x"), "detached runs: load-1, night");
        let server = dirs.servers().join("main");
        fs::create_dir_all(&server).expect("it can be made");
        fs::write(server.join("server.json"), "{}").expect("it can be written");
        assert!(hint("main").contains("`pgdyno down main`"));
    }

    #[test]
    fn the_only_run_that_is_running_needs_no_name() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let only = || find_or_only(&dirs, None).map(|(_, entry)| entry.name);
        entry(&dirs, "old", ended);
        assert_eq!(only().map_err(|problem| problem.what), Err("no detached run is running".to_owned()));
        entry(&dirs, "night", |_| {});
        assert_eq!(only().as_deref(), Ok("night"));
        assert_eq!(find_or_only(&dirs, Some("old")).expect("it is there").1.name, "old");
        entry(&dirs, "noon", |_| {});
        let hint = only().expect_err("it could be either").hint.expect("there is one");
        assert_eq!(hint, "name one of them: night, noon");
    }

    /// A process with the PID of an earlier one, and one from before the machine was restarted.
    #[test]
    fn the_state_of_a_run_is_that_of_its_very_process() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let status = |name| find(&dirs, name).expect("it is there").1.status;
        entry(&dirs, "a", |_| {});
        entry(&dirs, "b", |entry| entry.process.start_ticks += 1);
        entry(&dirs, "c", |entry| entry.process.boot_id = "of another boot".into());
        entry(&dirs, "d", ended);
        assert!(matches!(status("a"), Status::Running(process) if process.pid == std::process::id()));
        assert_eq!(["b", "c", "d"].map(status), [Status::Killed, Status::Restarted, Status::Ended(3)]);
    }
}
