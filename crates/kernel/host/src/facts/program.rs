//! Commands of the system, for what the kernel reports in no file.

use std::{
    io,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

/// Where the commands are, whatever the search path is: facts are also read as root.
const DIRECTORIES: [&str; 4] = ["usr/sbin", "sbin", "usr/local/sbin", "usr/bin"];
/// Longest wait for an answer: a suspended pool of ZFS gives none.
const LONGEST: Duration = Duration::from_secs(2);

/// What a command below this root writes; `None` if it is not there, cannot be run or takes too long. It then ends when
/// the kernel lets it.
pub(super) fn answer<'a>(
    root: &Path,
    name: &str,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let program =
        DIRECTORIES.iter().map(|directory| root.join(directory).join(name)).find(|path| path.is_file())?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("LC_ALL", "C");
    let child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let pid = Pid::from_child(&child);
    let (sender, output) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match output.recv_timeout(LONGEST) {
        Ok(output) => Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned()),
        Err(_) => {
            let _ = kill_process(pid, Signal::KILL); // it may have ended meanwhile
            None
        }
    }
}

/// Starts a command. One that is just being written cannot be run until its writer is done.
fn spawn(command: &mut Command) -> Option<Child> {
    const TRIES: u32 = 20;
    const PAUSE: Duration = Duration::from_millis(5);
    for _ in 1..TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(PAUSE),
            started => return started.ok(),
        }
    }
    command.spawn().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    /// A directory with programs of these names and texts.
    pub(crate) fn with_programs(programs: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory can be made");
        for (name, script) in programs {
            let program = root.path().join("usr/sbin").join(name);
            fs::create_dir_all(root.path().join("usr/sbin")).expect("it can be made");
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        root
    }
}
