//! Programs that scripts run.

use std::{
    ffi::OsStr,
    io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    process::{Command, Stdio},
};

/// Runs a command with the shell; whether it ended with 0. Everybody on this thread waits for it, as in pgbench.
///
/// # Errors
/// There is no shell.
pub(super) fn run(command: &[u8]) -> io::Result<bool> {
    Ok(shell(command).status()?.success())
}

/// Runs a command with the shell and gives what it printed.
///
/// # Errors
/// There is no shell.
pub(super) fn output_of(command: &[u8]) -> io::Result<Vec<u8>> {
    Ok(shell(command).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output()?.stdout)
}

fn shell(command: &[u8]) -> Command {
    let mut shell = Command::new("/bin/sh");
    // As the C library calls it, and as its messages call it then.
    shell.arg0("sh").arg("-c").arg(OsStr::from_bytes(command));
    shell
}
