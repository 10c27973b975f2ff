//! Runs programs for scripts.

use std::{
    ffi::OsStr,
    io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    process::{Command, Stdio},
};

/// Runs a command in the shell; returns whether it exited with 0. It blocks all clients of this thread, as in pgbench.
///
/// # Errors
/// The shell cannot be started.
pub(super) fn run(command: &[u8]) -> io::Result<bool> {
    Ok(shell(command).status()?.success())
}

/// Runs a command in the shell; returns its output.
///
/// # Errors
/// The shell cannot be started.
pub(super) fn output_of(command: &[u8]) -> io::Result<Vec<u8>> {
    Ok(shell(command).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output()?.stdout)
}

fn shell(command: &[u8]) -> Command {
    let mut shell = Command::new("/bin/sh");
    // Called `sh` as by the C library, so that its messages begin alike.
    shell.arg0("sh").arg("-c").arg(OsStr::from_bytes(command));
    shell
}
