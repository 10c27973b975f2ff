//! The sockets of a ring, each with the message being sent.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use io_uring::{opcode, squeue, types};
use rustix::net::{SendFlags, Shutdown, shutdown};

use super::buffers::GROUP;

/// Initial size of a message buffer; it grows for longer messages.
const MESSAGE_BYTES: usize = 512;

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    Send,
}

/// A client's socket and its current message.
#[derive(Debug, Default)]
struct Line {
    socket: Option<OwnedFd>,
    /// Number of earlier sockets of this seat: completions that belong to those are ignored.
    generation: u16,
    /// Current message. The kernel reads it while a send waits for room in the socket.
    message: Vec<u8>,
    /// Error of a failed send.
    error: Option<io::Error>,
}

/// All sockets of a ring, by seat.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    /// Message buffers that became too small, kept because a send may still read them.
    outgrown: Vec<Vec<u8>>,
}

impl Lines {
    pub(super) fn new(sockets: usize) -> Self {
        Self { lines: (0..sockets).map(|_| Line::default()).collect(), outgrown: Vec::new() }
    }

    /// Takes a socket for a seat and returns its descriptor.
    pub(super) fn open(&mut self, seat: usize, socket: OwnedFd) -> RawFd {
        let line = &mut self.lines[seat];
        let fd = socket.as_raw_fd();
        line.message.reserve(MESSAGE_BYTES);
        line.error = None;
        line.socket = Some(socket);
        fd
    }

    /// Shuts a seat's socket down; returns whether there was one. Pending requests end by themselves and keep the file
    /// open until then, so it is the shutdown that notifies the peer now.
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

    /// Takes a seat's socket, still connected; it must have no pending requests.
    pub(super) fn release(&mut self, seat: usize) -> Option<OwnedFd> {
        let line = &mut self.lines[seat];
        line.generation = line.generation.wrapping_add(1);
        line.socket.take()
    }

    pub(super) fn close_all(&mut self) {
        (0..self.lines.len()).for_each(|seat| {
            self.close(seat);
        });
    }

    /// Request that receives repeatedly (multishot).
    pub(super) fn receive(&self, seat: usize) -> squeue::Entry {
        let tag = self.tag(seat, Kind::Receive);
        opcode::RecvMulti::new(types::Fixed(seat as u32), GROUP).build().user_data(tag)
    }

    /// Request that sends a copy of `bytes`; `None` if the seat has no socket.
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

    /// Notes why a send failed. Shuts the socket down, so that the armed receive delivers what came last and then the
    /// end.
    pub(super) fn send_failed(&mut self, seat: usize, result: i32) {
        let line = &mut self.lines[seat];
        if result < 0 {
            line.error.get_or_insert_with(|| io::Error::from_raw_os_error(-result));
        }
        if let Some(socket) = &line.socket {
            end(socket);
        }
    }

    /// Takes the error of a failed send to a closed socket, if there was one.
    pub(super) fn take_error(&mut self, seat: usize) -> Option<io::Error> {
        self.lines[seat].error.take()
    }

    #[inline]
    fn tag(&self, seat: usize, kind: Kind) -> u64 {
        let generation = u64::from(self.lines[seat].generation);
        generation << 48 | (seat as u64) << 1 | u64::from(kind == Kind::Send)
    }

    /// The seat and the kind of request that a completion belongs to; `None` if it belongs to an earlier socket.
    #[inline]
    pub(super) fn whose(&self, tag: u64) -> Option<(usize, Kind)> {
        let seat = (tag << 16 >> 17) as usize;
        let kind = if tag & 1 == 0 { Kind::Receive } else { Kind::Send };
        (u64::from(self.lines[seat].generation) == tag >> 48).then_some((seat, kind))
    }
}

/// Flag of `send(2)`: a send that fits only in part is not complete.
const MSG_WAITALL: u32 = 0x100;

fn end(socket: &OwnedFd) {
    // The peer may have closed first.
    let _ = shutdown(socket, Shutdown::Both);
}
