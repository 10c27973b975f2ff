//! Mounts and unmounts a FUSE file system: by system calls as root, by `fusermount3` otherwise.

use std::{
    ffi::CString,
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    process::{Command, Output, Stdio},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    mount::{MountFlags, UnmountFlags, mount, unmount},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
        recvmsg, socketpair,
    },
};

/// The device through which the kernel asks.
pub(crate) const DEVICE: &str = "/dev/fuse";
/// The program that mounts for users.
pub(crate) const HELPER: &str = "fusermount3";
/// Type of the file system, as it is listed among the mounts.
const TYPE: &str = "pgdyno";
/// Octal mode of a directory: the root of the file system.
const ROOT_MODE: &str = "40000";

/// Mounts a file system for all users, with the kernel checking permissions.
///
/// # Errors
/// Those of opening the device and of `mount`.
pub(crate) fn mount_as_root(source: &Path, at: &Path) -> io::Result<OwnedFd> {
    let device = rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let options = format!(
        "fd={},rootmode={ROOT_MODE},user_id=0,group_id=0,default_permissions,allow_other",
        device.as_raw_fd()
    );
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    mount(source, at, format!("fuse.{TYPE}"), flags, Some(&*CString::new(options)?))?;
    Ok(device)
}

/// Mounts a file system for this user, with the kernel checking permissions.
///
/// # Errors
/// That of starting `fusermount3`, or what it says.
pub(crate) fn mount_as_user(source: &Path, at: &Path) -> io::Result<OwnedFd> {
    let name = escaped(source);
    let options = format!("fsname={name},subtype={TYPE},default_permissions,nodev,nosuid");
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Its standard input is the one descriptor that it inherits without unsafe code.
    let child = Command::new(HELPER)
        .args(["-o", &options, "--"])
        .arg(at)
        .env("_FUSE_COMMFD", "0")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let device = receive(&ours);
    let output = child.wait_with_output()?;
    said(&output)?;
    device?.ok_or_else(|| io::Error::other(format!("{HELPER} sent no descriptor")))
}

/// A name in the options of `fusermount3`, where a comma ends it.
fn escaped(source: &Path) -> String {
    source.display().to_string().replace('\\', "\\\\").replace(',', "\\,")
}

/// The descriptor that a message brings; `None` at the end of the stream.
fn receive(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok({ descriptors }.next())
}

/// What `fusermount3` says, as an error if it failed.
fn said(output: &Output) -> io::Result<()> {
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(io::Error::other(text.trim().to_owned())) }
}

/// Unmounts; if `lazily`, also what is in use. What somebody else has unmounted is fine.
///
/// # Errors
/// `EBUSY` or what `fusermount3` says, if it is in use.
pub(crate) fn unmount_at(at: &Path, lazily: bool) -> io::Result<()> {
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match unmount(at, flags) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(Errno::PERM) => {
            let flags = if lazily { "-uz" } else { "-u" };
            said(&Command::new(HELPER).arg(flags).arg("--").arg(at).stdin(Stdio::null()).output()?)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_whole_in_options() {
        assert_eq!(escaped(Path::new("/a,b\\c")), "/a\\,b\\\\c");
    }
}
