//! A time of which a digest is wanted: a measured interval, or a stage.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    time::Duration,
};

use pgdyno_core::observe::{Digest, ServerDigest};

use crate::command::{Command, Mark};

/// Longest wait for a digest. The thread that makes it only reads files of the kernel; one with a session may wait for
/// its server.
const PATIENCE: Duration = Duration::from_secs(2);

/// A time that has begun. Dropping it ends it.
#[derive(Debug)]
pub struct Span {
    pub(crate) id: u64,
    pub(crate) commands: Sender<Command>,
    pub(crate) digest: Receiver<Digest>,
    pub(crate) ended: AtomicBool,
    pub(crate) servers: Vec<ServerSpan>,
}

/// The same time at a server.
#[derive(Debug)]
pub(crate) struct ServerSpan {
    subject: Option<String>,
    /// Of each thread: the sender of marks, and the channel of its digest.
    threads: Vec<(Sender<Mark>, Sender<ServerDigest>, Receiver<ServerDigest>)>,
}

impl ServerSpan {
    /// Notifies threads that the time of this number begins.
    pub(crate) fn begin(
        id: u64,
        subject: Option<String>,
        threads: impl Iterator<Item = Sender<Mark>>,
    ) -> Self {
        let begun = |marks: Sender<Mark>| {
            let _ = marks.send(Mark::Begin(id)); // it may have ended before
            let (sender, digest) = mpsc::channel();
            (marks, sender, digest)
        };
        Self { subject, threads: threads.map(begun).collect() }
    }

    fn end(&self, id: u64) {
        for (marks, sender, _) in &self.threads {
            let _ = marks.send(Mark::End(id, sender.clone()));
        }
    }

    /// What is known of the server; `None` if nothing is.
    fn digest(self, is_named: bool) -> Option<ServerDigest> {
        let received = |(_, sender, digest): (_, Sender<ServerDigest>, Receiver<ServerDigest>)| {
            // Without another sender a thread that ended is not waited for.
            drop(sender);
            digest.recv_timeout(PATIENCE).ok()
        };
        let all = self.threads.into_iter().filter_map(received).reduce(ServerDigest::or)?;
        let nothing = ServerDigest::default();
        (all != nothing).then(|| ServerDigest { subject: self.subject.filter(|_| is_named), ..all })
    }
}

impl Span {
    /// Ends the time now, without waiting.
    pub fn end(&self) {
        if !self.ended.swap(true, Ordering::Relaxed) {
            let _ = self.commands.send(Command::End(self.id)); // the observers may have ended before
            self.servers.iter().for_each(|server| server.end(self.id));
        }
    }

    /// Ends the time if it has not ended, and returns what was observed; `None` if the observers ended before.
    pub fn digest(mut self) -> Option<Digest> {
        self.end();
        let digest = self.digest.recv_timeout(PATIENCE).ok().filter(|digest| digest.over_s > 0.0)?;
        let several = self.servers.len() > 1;
        let servers = std::mem::take(&mut self.servers).into_iter();
        Some(Digest { servers: servers.filter_map(|server| server.digest(several)).collect(), ..digest })
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.end();
    }
}
