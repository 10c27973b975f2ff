//! Blocking sessions with a server that answers correctly, wrongly or not at all.

use std::time::Duration;

use pgdyno_core::stop::Stop;
use pgdyno_wire::{
    Session, WireError, connect,
    fake::{Answer, FakeServer, Request, message, usual},
};

/// A server and a session with it.
fn session(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> (FakeServer, Session) {
    let server = FakeServer::start(script).expect("it listens");
    let session = connect(&server.options(None)).expect("everybody is trusted");
    (server, session)
}

/// A session whose every answer is these bytes.
fn answering(bytes: Vec<u8>) -> (FakeServer, Session) {
    session(move |_| Answer::bytes(bytes.clone()))
}

fn is_protocol<T: std::fmt::Debug>(result: Result<T, WireError>) -> bool {
    matches!(result, Err(WireError::Protocol(_)))
}

#[test]
fn rows_come_with_their_nulls() {
    let (_server, mut session) =
        session(|_| Answer::rows(&[&[Some("a"), None, Some("")], &[Some("b"), Some("17"), None]]));
    let rows = session.query("SELECT 1").expect("two rows");
    assert_eq!((rows[0].get(0), rows[0].get(1), rows[0].get(2)), (Some("a"), None, Some("")));
    assert_eq!((rows[1].parse::<u8>(1), rows[1].parse::<u8>(0), rows[1].get(3)), (Some(17), None, None));
}

#[test]
fn an_error_leaves_the_session_usable() {
    let (_server, mut session) = session(|request| match request.number {
        0 => Answer::error("42P01", "no such table"),
        1 => Answer::rows(&[&[Some("1")]]).then_error("ERROR", "22012", "division by zero"),
        _ => usual(request),
    });
    for code in ["42P01", "22012"] {
        assert_eq!(session.query("SELECT 1").expect_err("it is refused").code(), Some(code));
    }
    assert_eq!(session.value("SELECT 1").expect("a row").as_deref(), Some("0"));
}

#[test]
fn the_last_words_of_a_server_are_heard() {
    let (_server, mut first) = session(|_| Answer::fatal("57P01", "terminated"));
    assert_eq!(first.query("SELECT 1").expect_err("it is closed").code(), Some("57P01"));
    let (_server, mut second) = session(|_| Answer::fatal("57P01", "terminated"));
    assert_eq!(second.copy_in("COPY t FROM STDIN").expect_err("it is closed").code(), Some("57P01"));
    let (_server, mut third) = session(|_| Answer::rows(&[&[Some("1")]]).close());
    assert!(matches!(third.query("SELECT 1"), Err(WireError::Closed)));
    let (_server, mut fourth) = answering(message::announced(b'D', 400, &[0; 10]));
    _server.cut_connections();
    assert!(matches!(fourth.query("SELECT 1"), Err(WireError::Closed | WireError::Io(_))));
}

#[test]
fn rows_that_are_cut_are_errors() {
    for body in [
        &[][..],
        &[0],
        &[0, 2, 0, 0, 0, 1, b'a'],
        &[0, 1, 0, 0, 0, 1, b'a', b'b'],
        &[0, 1, 255, 255, 255, 254],
        &[0, 1, 127, 255, 255, 255],
        &[255, 255, 255, 255, 255, 255],
    ] {
        let row = [message::row_description(1), message::message(b'D', body), message::ready(b'I')].concat();
        let (_server, mut session) = answering(row);
        assert!(is_protocol(session.query("SELECT 1")), "{body:?}");
        // The rest of that answer must not be taken for the next one.
        assert!(matches!(session.query("SELECT 2"), Err(WireError::Closed)), "{body:?}");
    }
}

#[test]
fn a_row_with_another_number_of_fields_than_was_described_is_an_error() {
    for fields in [&[][..], &[Some("a")], &[Some("a"), Some("b"), Some("c")]] {
        let row = [message::row_description(2), message::row(fields), message::ready(b'I')].concat();
        let (_server, mut session) = answering(row.clone());
        assert!(is_protocol(session.query("SELECT 1")), "{fields:?}");
        // Also if the rows are discarded.
        let (_server, mut session) = answering(row);
        let error =
            session.execute_hearing("SELECT 1", &mut |_| ()).expect_err("it is no answer").to_string();
        assert!(error.ends_with("unexpected field count in \"D\" message"), "{error}");
    }
    // The description of one result does not apply to the next.
    let one =
        [message::row_description(1), message::row(&[Some("a")]), message::complete("SELECT 1")].concat();
    let (_server, mut session) = answering([one, message::row(&[Some("b")]), message::ready(b'I')].concat());
    assert!(is_protocol(session.query("SELECT 1; SELECT 2")));
}

#[test]
fn impossible_lengths_are_refused_at_once() {
    for length in [0, 1, 2, 3, -1, i32::MIN, i32::MAX] {
        let (_server, mut session) = answering(message::announced(b'D', length, &[]));
        assert!(is_protocol(session.query("SELECT 1")), "{length}");
    }
}

#[test]
fn rows_without_end_are_refused() {
    let row = message::row(&[Some(&"x".repeat(1 << 20))]);
    let flood = move |_: &Request| {
        Answer::bytes(message::row_description(1)).then_repeat(row.clone(), 10_000).close()
    };
    let (_server, mut session) = session(flood);
    let error = session.query("SELECT 1").expect_err("10 GiB are no answer").to_string();
    assert!(error.contains("more than 268435456 bytes of rows"), "{error}");
    assert!(matches!(session.query("SELECT 2"), Err(WireError::Closed)));
}

#[test]
fn copies_that_nobody_asked_for_are_refused() {
    let (_server, mut session) = session(|request| match request.number {
        0 => Answer::copy_in(u64::MAX).then_error("ERROR", "57014", "COPY failed"),
        1 => {
            let out =
                [message::copy_response(b'H'), message::message(b'd', b"row\n"), message::message(b'c', b"")];
            Answer::default().then_bytes(out.concat()).then_complete("COPY 1")
        }
        2 => usual(request),
        _ => Answer::bytes(message::copy_response(b'W')),
    });
    assert_eq!(session.query("COPY t FROM STDIN").expect_err("it is refused").code(), Some("57014"));
    session.query("COPY t TO STDOUT").expect("its rows are passed over");
    session.query("SELECT 1").expect("the session is usable");
    assert!(is_protocol(session.query("START_REPLICATION")));
}

#[test]
fn a_copy_takes_its_rows() {
    let (server, mut session) = session(usual);
    let mut copy = session.copy_in("COPY t FROM STDIN").expect("it begins");
    for _ in 0..1_000 {
        copy.row(|out| out.extend_from_slice(&[b'x'; 999])).expect("it is taken");
    }
    assert_eq!(copy.finish().expect("it is taken"), 999_000);
    let copy = session.copy_in("COPY t FROM STDIN").expect("it begins");
    drop(copy);
    session.query("SELECT 1").expect("the session is usable");
    let tags: Vec<u8> = server.received().iter().map(|(_, message)| message.tag).collect();
    assert_eq!(tags, b"QcQfQ");
}

/// Sends rows until the server's refusal shows, at most 64 MB; returns the error and the number of bytes.
fn fill(session: &mut Session) -> (WireError, u64) {
    let mut copy = session.copy_in("COPY t FROM STDIN").expect("it begins");
    for sent in 0..64 {
        for _ in 0..1_000 {
            if let Err(error) = copy.row(|out| out.extend_from_slice(&[b'x'; 1_000])) {
                return (error, sent * 1_000_000);
            }
        }
    }
    (copy.finish().expect_err("it is refused"), 64_000_000)
}

#[test]
fn a_copy_that_is_refused_half_way_says_why_and_stops() {
    let full = || Answer::copy_in(1_000_000).then_error("ERROR", "53100", "disk full");
    let (_server, mut session) = session(move |request| match request.number {
        0 => full(),
        _ => usual(request),
    });
    let (error, sent) = fill(&mut session);
    assert_eq!(error.code(), Some("53100"), "{error}");
    assert!(sent < 60_000_000, "it continued for {sent} bytes");
    session.query("SELECT 1").expect("the session is usable");
}

#[test]
fn a_copy_whose_server_dies_says_why() {
    let (_server, mut session) =
        session(|_| Answer::copy_in(1_000_000).then_error("FATAL", "57P01", "terminated").close());
    let (error, _) = fill(&mut session);
    // A connection that is closed while data is in flight may lose the server's last error.
    assert!(matches!(error.code(), Some("57P01") | None), "{error}");
    let (_server, mut session) = self::session(|_| {
        let dying = Answer::copy_in(1_000_000).then_error("FATAL", "57P01", "terminated");
        dying.without_ready().then_wait(Duration::from_millis(300)).close()
    });
    let (error, _) = fill(&mut session);
    assert_eq!(error.code(), Some("57P01"), "{error}");
}

/// Also for a caller who ignored the first error: a stop is not reported as a lost server.
#[test]
fn a_stop_stays_a_stop() {
    let (_server, mut session) = session(|_| Answer::default().after(Duration::from_millis(300)));
    let stop = Stop::default();
    session.heed(&stop);
    stop.request("interrupted");
    for _ in 0..2 {
        assert!(matches!(session.query("SELECT 1"), Err(WireError::Stopped)));
    }
}

#[test]
fn a_copy_of_something_else_is_an_error() {
    let (_server, mut session) = session(|_| Answer::rows(&[&[Some("1")]]));
    assert!(is_protocol(session.copy_in("SELECT 1").map(drop)));
    assert!(matches!(session.query("SELECT 1"), Err(WireError::Closed)));
}

#[test]
fn what_came_with_the_greeting_is_not_left_behind() {
    // A notice in the same write as ReadyForQuery must not shift what the hot path reads.
    let (_server, mut session) =
        session(|request| usual(request).bytes_after_ready(&message::notice("later")));
    session.query("SELECT 1").expect("a row");
    let (socket, _) = session.into_parts().expect("a descriptor");
    rustix::net::recv(&socket, &mut [0u8; 8][..], rustix::net::RecvFlags::DONTWAIT)
        .expect_err("nothing is left to be read");
}
