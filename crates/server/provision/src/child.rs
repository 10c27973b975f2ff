//! Starts the programs of a server, with only the rights, groups, environment and descriptors that they need.

use std::{
    fs, io,
    os::{
        fd::{BorrowedFd, RawFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::Command,
};

use rustix::{
    io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd},
    process::{Signal, getpid, getppid, set_parent_process_death_signal, setsid},
    thread::{CpuSet, sched_setaffinity},
};

use pgdyno_host::users::User;

/// Execution context of a child.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChildOptions<'a> {
    /// User to run as; `None` is the user of pgdyno.
    pub user: Option<&'a User>,
    /// CPUs the child may run on; empty is all that are allowed.
    pub cpus: &'a [u32],
    /// Signal sent to the child when the thread that started it ends.
    pub on_parent_death: Option<Signal>,
    /// Whether the child gets a session of its own, which the terminal's Ctrl-C does not reach.
    pub own_session: bool,
}

impl<'a> ChildOptions<'a> {
    /// For a program that ends with the thread that starts it.
    pub fn bound(user: Option<&'a User>) -> Self {
        Self { user, own_session: true, on_parent_death: Some(Signal::TERM), ..Self::default() }
    }
}

/// Builds the command for a program, in a directory that its user can enter.
///
/// User and groups change first (the standard library does this before everything else in the child), then the working
/// directory, then the rest.
pub fn command(program: &Path, directory: &Path, options: ChildOptions<'_>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env_clear().env("LANG", "C").env("LC_ALL", "C");
    for name in ["PATH", "TZ"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    if let Some(user) = options.user {
        // With a user and no groups given, the standard library drops root's supplementary groups.
        command.uid(user.uid).gid(user.gid).env("HOME", &user.home);
    } else {
        command.envs(std::env::var_os("HOME").map(|value| ("HOME", value)));
    }
    prepare(&mut command, options);
    command
}

#[allow(unsafe_code)]
fn prepare(command: &mut Command, options: ChildOptions<'_>) {
    let cpus = cpu_set(options.cpus);
    let parent = getpid();
    let inherited = inherited_descriptors();
    let (signal, own_session) = (options.on_parent_death, options.own_session);
    // SAFETY: between fork and exec the closure makes only system calls on values made before the fork; it
    // allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            for fd in &inherited {
                // The descriptor may have been closed meanwhile.
                let _ = fcntl_setfd(BorrowedFd::borrow_raw(*fd), FdFlags::CLOEXEC);
            }
            if own_session {
                setsid()?;
                reset_signals()?;
            }
            if let Some(cpus) = &cpus {
                sched_setaffinity(None, cpus)?;
            }
            // Set after the change of user, which would clear it; the parent may have ended even before, so check.
            if signal.is_some() {
                set_parent_process_death_signal(signal)?;
                if getppid() != Some(parent) {
                    return Err(Errno::CANCELED.into());
                }
            }
            Ok(())
        });
    }
}

/// Resets the signals that end a server to their defaults. If a script runs pgdyno in the background, INT and QUIT are
/// ignored, and every child inherits that, also through `exec` (POSIX, 2.11 Signals and Error Handling): a server that
/// has not installed its own handlers yet would outlive pgdyno. With a session of its own the child gets none of these
/// signals from a terminal.
#[allow(unsafe_code)]
fn reset_signals() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: it only sets a disposition, and may be called between fork and exec (signal-safety(7)).
        if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    (!cpus.is_empty()).then_some(set)
}

/// Descriptors above stderr that pgdyno itself inherited without close-on-exec.
#[allow(unsafe_code)]
fn inherited_descriptors() -> Vec<RawFd> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    open.filter(|fd| *fd > 2)
        .filter(|fd| {
            // SAFETY: only the flags of the descriptor are read; where it is closed by now, the answer is an error.
            let flags = fcntl_getfd(unsafe { BorrowedFd::borrow_raw(*fd) });
            flags.is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn output(script: &str, options: ChildOptions<'_>) -> String {
        let mut command = command(Path::new("/bin/sh"), Path::new("/"), options);
        let output = command.args(["-c", script]).stdin(Stdio::null()).output().expect("a shell can be run");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[test]
    fn the_environment_is_clean_and_the_session_its_own() {
        let names = output("env | cut -d= -f1 | sort | tr '\\n' ' '", ChildOptions::default());
        for name in names.split(' ') {
            assert!(
                ["HOME", "LANG", "LC_ALL", "PATH", "PWD", "TZ", "_", "SHLVL", "OLDPWD"].contains(&name),
                "{name}"
            );
        }
        let session = "[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo own";
        assert_eq!(output(session, ChildOptions { own_session: true, ..ChildOptions::default() }), "own");
        assert_eq!(output(session, ChildOptions::default()), "");
    }

    #[test]
    fn a_descriptor_left_open_is_not_handed_on() {
        use std::os::fd::AsRawFd;
        let file = fs::File::open("/dev/null").expect("it is there");
        fcntl_setfd(&file, FdFlags::empty()).expect("the flag can be cleared");
        let script = format!("[ -e /proc/self/fd/{} ] && echo open", file.as_raw_fd());
        assert_eq!(output(&script, ChildOptions::default()), "");
    }

    #[test]
    fn a_signal_that_is_ignored_here_ends_a_child_all_the_same() {
        #[allow(unsafe_code)]
        // SAFETY: no other test of this process handles SIGQUIT, and no handler is replaced.
        unsafe {
            libc::signal(libc::SIGQUIT, libc::SIG_IGN);
        }
        let script = "kill -QUIT $$; echo alive";
        assert_eq!(output(script, ChildOptions::default()), "alive");
        assert_eq!(output(script, ChildOptions { own_session: true, ..ChildOptions::default() }), "");
    }

    #[test]
    fn processors_can_be_named() {
        let script = "grep Cpus_allowed_list /proc/self/status | cut -f2";
        assert_eq!(output(script, ChildOptions { cpus: &[0], ..ChildOptions::default() }), "0");
    }

    #[test]
    fn root_gives_its_rights_away() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let user = User { name: "x".into(), uid: 12_345, gid: 23_456, home: "/nowhere".into() };
        let options = ChildOptions { user: Some(&user), ..ChildOptions::default() };
        assert_eq!(output("id -u; id -G; echo $HOME", options), "12345\n23456\n/nowhere");
    }
}
