//! Clients that are returned after a run continue over the same connections.

use std::{
    io::{Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    thread,
};

use pgdyno_core::{measure::Outcome, stop::Stop};
use pgdyno_engine::{
    Bookkeeping, Client, Event, Listeners, Probe, Report, Settings, SocketDriver, Step, Target, run_returning,
};

/// What the peer of a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    /// Sends back what it gets.
    Echoes,
    /// Sends back what it gets, and something unasked after the final query of a run.
    Talks,
    /// Reads, and never answers.
    Mute,
    /// Closes after a number of answers.
    Closes(u32),
}

/// Final query of a run; attempts send `x`.
const FINAL: u8 = b'?';

/// Target whose attempts and final query wait for an echo; counts what it received.
struct Echo {
    sends: [u8; 1],
    received: u64,
}

impl Target for Echo {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, _probe: &mut Probe) -> Step {
        match event {
            Event::Begin => {
                self.sends = *b"x";
                Step::Send
            }
            Event::Parting => {
                self.sends = [FINAL];
                Step::Send
            }
            Event::Received(bytes) => {
                self.received += bytes.len() as u64;
                Step::Done(Outcome::Committed)
            }
            Event::Gone(_) => Step::Last(Outcome::Failed),
            _ => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        &self.sends
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

fn connected(peer: Peer) -> OwnedFd {
    let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
    thread::spawn(move || {
        let (mut word, mut answers) = ([0], 0);
        while theirs.read_exact(&mut word).is_ok() {
            answers += 1;
            let said = match peer {
                Peer::Mute => continue,
                Peer::Closes(after) if answers > after => return,
                Peer::Talks if word[0] == FINAL => theirs.write_all(b"ab"),
                _ => theirs.write_all(&word),
            };
            if said.is_err() {
                return;
            }
        }
    });
    ours.into()
}

fn clients(peers: &[Peer]) -> Vec<Vec<Client<Echo>>> {
    let client =
        |peer: &Peer| Client { target: Echo { sends: *b"x", received: 0 }, io: Some(connected(*peer)) };
    peers.chunks(2).map(|peers| peers.iter().map(client).collect()).collect()
}

fn drive(driver: SocketDriver, workers: Vec<Vec<Client<Echo>>>) -> (Report, Vec<Vec<Client<Echo>>>) {
    let settings = Settings { drain_ns: 30_000_000, ..Settings::closed(60_000_000, 0) };
    let bookkeeping = Bookkeeping { returns_clients: true, ..Bookkeeping::default() };
    let listeners = Listeners { on_interval: &mut |_| (), on_mark: &mut |_| (), on_log: &mut |_, _| () };
    let stop = Stop::default();
    let (report, clients) =
        run_returning(driver, workers, &settings, &bookkeeping, &stop, listeners).expect("the run works");
    report.counts_whole.check().expect("nothing is lost in counting");
    (report, clients)
}

fn each(workers: &[Vec<Client<Echo>>]) -> Vec<usize> {
    workers.iter().map(Vec::len).collect()
}

#[test]
fn runs_follow_each_other_over_the_same_connections() {
    for driver in SocketDriver::usable() {
        let mut workers = clients(&[Peer::Echoes, Peer::Talks, Peer::Talks, Peer::Echoes]);
        let mut before = 0;
        for run in 0..3 {
            let (report, left) = drive(driver, workers);
            assert!(report.counts.committed > 100, "{driver}, run {run}: {:?}", report.counts);
            assert_eq!((each(&left), report.counts_whole.failed), (vec![2, 2], 0), "{driver}, run {run}");
            let received: u64 = left.iter().flatten().map(|client| client.target.received).sum();
            // One answer for each final query, and the second byte of the two that talk.
            let least = before + report.counts_whole.committed + 4;
            assert!((least..=least + 2).contains(&received), "{driver}, run {run}: {received}, {least}");
            before = received;
            workers = left;
        }
    }
}

#[test]
fn clients_without_a_connection_or_an_answer_do_not_come_back() {
    for driver in SocketDriver::usable() {
        let peers = [Peer::Echoes, Peer::Mute, Peer::Closes(5), Peer::Echoes];
        let (report, left) = drive(driver, clients(&peers));
        assert_eq!(each(&left), [1, 1], "{driver}");
        assert_eq!((report.counts_whole.timed_out, report.clients_lost), (1, 1), "{driver}");
        let (again, left) = drive(driver, left);
        assert_eq!((each(&left), again.counts_whole.timed_out), (vec![1, 1], 0), "{driver}");
        assert!(again.counts.committed > 50, "{driver}: {:?}", again.counts);
    }
}

#[test]
fn without_being_asked_for_nobody_comes_back() {
    for driver in SocketDriver::usable() {
        let listeners = Listeners { on_interval: &mut |_| (), on_mark: &mut |_| (), on_log: &mut |_, _| () };
        let (settings, stop) = (Settings::closed(20_000_000, 0), Stop::default());
        let all = clients(&[Peer::Echoes; 2]);
        let (_, left) = run_returning(driver, all, &settings, &Bookkeeping::default(), &stop, listeners)
            .expect("the run works");
        assert_eq!(each(&left), [0], "{driver}");
    }
}
