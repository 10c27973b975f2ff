//! The sockets of a ring, with what is being sent to each.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use io_uring::{opcode, squeue, types};
use rustix::net::{SendFlags, Shutdown, shutdown};

use super::buffers::GROUP;

/// Room for a message; longer ones get more.
const MESSAGE_BYTES: usize = 512;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    Send,
}

/// One socket.
#[derive(Debug, Default)]
struct Line {
    socket: Option<OwnedFd>,
    /// How many sockets this seat has had before: completions of an earlier one are nobody's.
    generation: u16,
    /// The message under way. The kernel reads it while a send waits for room in the socket.
    message: Vec<u8>,
    /// Why a send failed.
    error: Option<io::Error>,
}

/// All sockets of a ring, by seat.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    /// Message buffers that became too small, kept because a send may not be through with them.
    outgrown: Vec<Vec<u8>>,
}

impl Lines {
    pub(super) fn new(sockets: usize) -> Self {
        Self { lines: (0..sockets).map(|_| Line::default()).collect(), outgrown: Vec::new() }
    }

    /// Takes a socket for a seat and gives its descriptor.
    pub(super) fn open(&mut self, seat: usize, socket: OwnedFd) -> RawFd {
        let line = &mut self.lines[seat];
        let fd = socket.as_raw_fd();
        line.message.reserve(MESSAGE_BYTES);
        line.error = None;
        line.socket = Some(socket);
        fd
    }

    /// Ends a seat's socket; whether there was one. The requests on it end by themselves, and keep the file until
    /// then: the peer is told now.
    pub(super) fn close(&mut self, seat: usize) -> bool {
        let line = &mut self.lines[seat];
        line.generation = line.generation.wrapping_add(1);
        match line.socket.take() {
            Some(socket) => {
                end(&socket);
                true
            }
            None => false,
        }
    }

    pub(super) fn close_all(&mut self) {
        (0..self.lines.len()).for_each(|seat| {
            self.close(seat);
        });
    }

    /// The request to receive whatever comes, again and again.
    pub(super) fn receive(&self, seat: usize) -> squeue::Entry {
        let tag = self.tag(seat, Kind::Receive);
        opcode::RecvMulti::new(types::Fixed(seat as u32), GROUP).build().user_data(tag)
    }

    /// The request to send a copy of `bytes`; `None` where the socket is gone.
    #[inline]
    pub(super) fn send(&mut self, seat: usize, bytes: &[u8]) -> Option<squeue::Entry> {
        let tag = self.tag(seat, Kind::Send);
        let line = &mut self.lines[seat];
        line.socket.as_ref()?;
        if line.message.capacity() < bytes.len() {
            let more = Vec::with_capacity(bytes.len().next_power_of_two());
            self.outgrown.push(std::mem::replace(&mut line.message, more));
        }
        line.message.clear();
        line.message.extend_from_slice(bytes);
        let flags = (SendFlags::NOSIGNAL.bits() | MSG_WAITALL).cast_signed();
        let send = opcode::Send::new(types::Fixed(seat as u32), line.message.as_ptr(), bytes.len() as u32);
        Some(send.flags(flags).build().flags(squeue::Flags::SKIP_SUCCESS).user_data(tag))
    }

    /// Notes why a send failed. The socket is ended, so that the receive that is armed tells what came last, and then
    /// the end.
    pub(super) fn send_failed(&mut self, seat: usize, result: i32) {
        let line = &mut self.lines[seat];
        if result < 0 {
            line.error.get_or_insert_with(|| io::Error::from_raw_os_error(-result));
        }
        if let Some(socket) = &line.socket {
            end(socket);
        }
    }

    /// Why a send to a socket that is gone failed, if one did.
    pub(super) fn take_error(&mut self, seat: usize) -> Option<io::Error> {
        self.lines[seat].error.take()
    }

    #[inline]
    fn tag(&self, seat: usize, kind: Kind) -> u64 {
        let generation = u64::from(self.lines[seat].generation);
        generation << 48 | (seat as u64) << 1 | u64::from(kind == Kind::Send)
    }

    /// The seat and the request that a completion belongs to; `None` where it is of a socket before.
    #[inline]
    pub(super) fn whose(&self, tag: u64) -> Option<(usize, Kind)> {
        let seat = (tag << 16 >> 17) as usize;
        let kind = if tag & 1 == 0 { Kind::Receive } else { Kind::Send };
        (u64::from(self.lines[seat].generation) == tag >> 48).then_some((seat, kind))
    }
}

/// `send(2)`: with it a send that fits only in part is not done.
const MSG_WAITALL: u32 = 0x100;

fn end(socket: &OwnedFd) {
    // A peer that is gone already needs no telling.
    let _ = shutdown(socket, Shutdown::Both);
}
