use std::{fs, os::unix::fs::PermissionsExt};

use testkit::left_out;

use super::*;

const WANTED: Wanted = Wanted { stacks: Profiling::Fp, seconds: Some(1.0) };

/// Whether this user may sample at all, which is checked before perf is begun; says so if not.
fn may_sample() -> bool {
    let allowed = Permission::read(std::process::id()).kernel();
    allowed.map_err(|why| left_out(&why)).is_ok()
}

/// A program in place of perf that says its version, and else does what the script says.
fn fake(place: &Path, does: &str) -> String {
    let path = place.join("perf");
    let version = "[ \"$1\" = --version ] && { echo perf version 6.1.187; exit; }";
    fs::write(&path, format!("#!/bin/sh\n{version}\n{does}\n")).expect("it can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path.display().to_string()
}

/// A shell that calls itself as long as it runs, and a process that it starts later.
fn busy() -> Child {
    let script = "read go; while :; do :; done & while :; do :; done";
    Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().expect("a shell can be run")
}

fn end(mut child: Child) {
    let group: Vec<u32> = process_roles(child.id()).into_keys().collect();
    for pid in group.into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
        let _ = kill_process(pid, Signal::KILL);
    }
    let _ = child.wait();
}

fn begun(perf: &str, place: &Path) -> Result<Recorder, String> {
    let target = Target { postmaster: std::process::id(), left_out: BTreeSet::new() };
    Recorder::begin_with(perf, target, WANTED, place)
}

fn refused(does: &str) -> String {
    let place = tempfile::tempdir().expect("there is room");
    let why = begun(&fake(place.path(), does), place.path()).expect_err("it does not sample");
    let left: Vec<_> = fs::read_dir(place.path()).expect("it is there").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    why
}

#[test]
fn what_perf_says_when_it_fails_is_quoted() {
    if !may_sample() {
        return;
    }
    let why = refused("echo 'Error:' >&2; echo 'No permission to enable cycles event.' >&2; exit 255");
    assert_eq!(why, "perf failed (exit status: 255): No permission to enable cycles event.");
    assert_eq!(refused("kill -9 $$"), "perf failed (signal: 9 (SIGKILL)): it said nothing");
}

#[test]
fn a_perf_that_is_missing_or_too_old_is_reported() {
    let place = tempfile::tempdir().expect("there is room");
    let missing = begun(&place.path().join("perf").display().to_string(), place.path());
    assert!(missing.expect_err("it is not there").contains("install it"));
    let old = fake(place.path(), "").replace("/perf", "/old");
    fs::write(&old, "#!/bin/sh\necho perf version 5.4.0-42-generic\n").expect("it can be written");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let why = begun(&old, place.path()).expect_err("it is too old");
    assert_eq!(why, "perf 5.4.0-42-generic is too old; 5.10 or newer is needed");
    // As Ubuntu's wrapper without the package for the running kernel.
    fs::write(&old, "#!/bin/sh\necho WARNING: perf not found for kernel 6.8 >&2\nexit 2\n")
        .expect("it can be written");
    let why = begun(&old, place.path()).expect_err("there is none");
    assert_eq!(why, "perf failed (exit status: 2): WARNING: perf not found for kernel 6.8");
}

/// Answers like perf, and does something when sampling begins; its samples are those of the script.
fn answering(place: &Path, on_enable: &str, samples: &str) -> String {
    let does = format!(
        "if [ \"$1\" = script ]; then cat >/dev/null; {samples}; exit; fi\n\
         for word; do case $word in --control=*) fifos=${{word#*fifo:}};; esac; done\n\
         (while read -r line; do echo ack >&4; [ $line = enable ] && {{ {on_enable}; }}; done <&3 &) \
         3<${{fifos%,*}} 4<>${{fifos#*,}}\n\
         cat"
    );
    fake(place, &does)
}

#[test]
fn a_perf_that_dies_meanwhile_leaves_what_it_had() {
    if !may_sample() {
        return;
    }
    let place = tempfile::tempdir().expect("there is room");
    let sample = format!("echo '{} 0.0: cycles: '; echo", std::process::id());
    let perf = answering(place.path(), "sleep 0.2; echo disk full >&2; kill -9 $$", &sample);
    let mut recorder = begun(&perf, place.path()).expect("it answers");
    recorder.begun_s.push(0.0);
    while recorder.child.try_wait().expect("it is ours").is_none() {
        thread::sleep(POLL);
    }
    let all = recorder.finish().expect("it has samples");
    assert_eq!(all[0].cut.as_deref(), Some("perf ended early: disk full"));
    assert_eq!((all[0].profile.samples, all[0].profile.over_s), (1, 0.0));
}

#[test]
fn samples_that_cannot_be_printed_have_a_reason() {
    if !may_sample() {
        return;
    }
    let place = tempfile::tempdir().expect("there is room");
    let perf = answering(place.path(), ":", "echo incompatible file format >&2; exit 1");
    let mut recorder = begun(&perf, place.path()).expect("it answers");
    recorder.start();
    let why = recorder.finish().expect_err("there are none");
    assert_eq!(why, "perf failed (exit status: 1): incompatible file format");
    assert_eq!(fs::read_dir(place.path()).expect("it is there").count(), 1, "only the program is left");
}

#[test]
fn a_recorder_that_is_dropped_ends_perf() {
    if !may_sample() {
        return;
    }
    let place = tempfile::tempdir().expect("there is room");
    let recorder = begun(&answering(place.path(), ":", ":"), place.path()).expect("it answers");
    let pid = recorder.child.id();
    drop(recorder);
    assert!(!pgdyno_host::procs::is_taken(pid));
}

#[test]
fn frequencies_keep_the_samples_within_bounds() {
    let hz = |stacks, seconds, cpus| frequency_hz(stacks, seconds, cpus);
    assert_eq!(hz(StackKind::Dwarf, Some(5.0), 2), 99);
    assert_eq!(hz(StackKind::Dwarf, Some(60.0), 64), 26);
    assert_eq!(hz(StackKind::Fp, Some(3_600.0), 64), 4);
    assert_eq!(hz(StackKind::Dwarf, Some(1e9), 512), 1);
    assert_eq!(hz(StackKind::Dwarf, None, 2), 83);
    assert!(check_number(&[1; 200], 64).is_ok());
    assert!(check_number(&[1; 2_000], 64).is_err_and(|why| why.contains("128000 events")));
    assert!(check_number(&[], 1).is_err());
}

#[test]
fn stacks_are_found_by_what_the_program_keeps() {
    let program = |keeps_frame_pointers| ProfiledProgram {
        path: String::new(),
        build_id: None,
        symbols: pgdyno_core::profile::Symbols::All,
        debug_info: false,
        keeps_frame_pointers,
    };
    let auto = |keeps| stack_kind(Profiling::Auto, Some(&program(keeps)));
    assert_eq!(
        [auto(Some(true)), auto(Some(false)), auto(None)],
        [StackKind::Fp, StackKind::Dwarf, StackKind::Dwarf]
    );
    assert_eq!(stack_kind(Profiling::Auto, None), StackKind::Dwarf);
    assert_eq!(stack_kind(Profiling::Fp, Some(&program(Some(false)))), StackKind::Fp);
}

/// With the perf of this machine: a process that began after perf did is sampled, in both of the times that are begun.
#[test]
fn processes_are_sampled_with_those_that_they_start() {
    let place = tempfile::tempdir().expect("there is room");
    let mut shell = busy();
    let target = Target { postmaster: shell.id(), left_out: BTreeSet::new() };
    let mut recorder = match Recorder::begin(target, WANTED, place.path()) {
        Ok(recorder) => recorder,
        Err(why) => {
            end(shell);
            return left_out(&why);
        }
    };
    shell.stdin.take().expect("it is piped").write_all(b"go\n").expect("it reads");
    recorder.start();
    thread::sleep(Duration::from_millis(700));
    recorder.start();
    thread::sleep(Duration::from_millis(700));
    recorder.stop();
    let all = recorder.finish();
    end(shell);
    let all = all.expect("there are samples");
    assert_eq!(all.len(), 2);
    for one in &all {
        let profile = &one.profile;
        assert_eq!(one.cut, None);
        assert!((0.6..3.0).contains(&profile.over_s), "{profile:?}");
        assert!(profile.samples > 3, "{profile:?}");
        // A process that ended, or was started later, is one of them.
        let text = one.folded.text();
        let samples: u64 = text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
        assert_eq!(samples, profile.samples, "{text}");
    }
    assert_eq!(fs::read_dir(place.path()).expect("it is there").count(), 0, "nothing is left");
}
