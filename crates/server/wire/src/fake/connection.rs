//! One connection: greeting, requests, answers.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader, Write},
    thread,
    time::Instant,
};

use super::{
    Message, Request,
    answer::{Action, Answer},
    message,
    shared::Shared,
};

/// Bytes read at once: thousands of connections must fit into memory.
const BUFFER_BYTES: usize = 4 << 10;

/// Serves a connection to its end.
pub(super) fn converse(link: &File, number: usize, shared: &Shared) -> io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, link);
    let mut output = link;
    let note = |startup: &Message| shared.note_startup(startup);
    if !(shared.greeting)(&mut input, &mut output, &note)? {
        return Ok(());
    }
    let backend = Backend { input, output, number, shared, requests: 0, status: b'I', out: Vec::new() };
    backend.serve()
}

/// A connection after its greeting.
struct Backend<'a> {
    input: BufReader<&'a File>,
    output: &'a File,
    number: usize,
    shared: &'a Shared,
    requests: usize,
    /// Transaction status for ReadyForQuery.
    status: u8,
    /// Output gathered for one write.
    out: Vec<u8>,
}

impl Backend<'_> {
    fn serve(mut self) -> io::Result<()> {
        let mut prepared = HashMap::new();
        let mut request = self.next_request();
        loop {
            let message = self.receive()?;
            match message.tag {
                b'Q' => {
                    request.sql = message.text(0);
                    if !self.answer(&request)? {
                        return Ok(());
                    }
                    request = self.next_request();
                }
                b'P' => {
                    prepared.insert(message.text(0), message.text(1));
                    self.out.extend(message::message(b'1', &[]));
                }
                b'B' => {
                    let name = message.text(1);
                    request.sql = prepared.get(&name).cloned().unwrap_or_default();
                    request.statement = Some(name);
                    request.parameters = parameters(&message.body);
                    self.out.extend(message::message(b'2', &[]));
                }
                b'S' => {
                    if !self.answer(&request)? {
                        return Ok(());
                    }
                    request = self.next_request();
                }
                b'X' => return Ok(()),
                _ => {} // Describe and Execute add nothing; stray COPY data is ignored
            }
        }
    }

    fn next_request(&mut self) -> Request {
        let number = self.requests;
        self.requests += 1;
        Request {
            connection: self.number,
            number,
            sql: String::new(),
            statement: None,
            parameters: Vec::new(),
        }
    }

    fn receive(&mut self) -> io::Result<Message> {
        let message = message::read(&mut self.input, false)?;
        if message.tag != b'd' {
            self.shared.note(self.number, &message);
        }
        Ok(message)
    }

    /// Executes the script's answer; returns whether the connection stays open.
    fn answer(&mut self, request: &Request) -> io::Result<bool> {
        let asked = Instant::now();
        let Answer { actions, no_ready, after } = self.shared.answer(request);
        let described = actions.iter().any(|action| matches!(action, Action::Columns(_)));
        if request.statement.is_some() && !described {
            self.out.extend(message::message(b'n', &[]));
        }
        for action in actions {
            if !self.act(action)? {
                return Ok(false);
            }
        }
        if !no_ready {
            self.out.extend(message::ready(self.status));
        }
        self.out.extend(after);
        self.flush()?;
        self.shared.note_served(asked.elapsed());
        Ok(true)
    }

    fn act(&mut self, action: Action) -> io::Result<bool> {
        match action {
            Action::Send(bytes) => self.out.extend(bytes),
            Action::Columns(columns) => self.out.extend(message::row_description(columns)),
            Action::Repeat(bytes, times) => {
                self.flush()?;
                (0..times).try_for_each(|_| self.output.write_all(&bytes))?;
            }
            Action::Wait(delay) => {
                self.flush()?;
                thread::sleep(delay);
            }
            Action::Complete(tag) => {
                self.status = match tag.as_str() {
                    "BEGIN" => b'T',
                    "COMMIT" | "ROLLBACK" => b'I',
                    _ => self.status,
                };
                self.out.extend(message::complete(&tag));
            }
            Action::Error(severity, code, text) => {
                self.status = if self.status == b'I' { b'I' } else { b'E' };
                self.out.extend(message::error(&severity, &code, &text));
            }
            Action::CopyIn(bytes) => {
                self.out.extend(message::copy_response(b'G'));
                self.flush()?;
                self.take_copy(bytes)?;
            }
            Action::Close => {
                self.flush()?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads COPY data up to its end or to this many bytes.
    fn take_copy(&mut self, bytes: u64) -> io::Result<()> {
        let mut taken = 0;
        while taken < bytes {
            let message = self.receive()?;
            match message.tag {
                b'd' => taken += message.body.len() as u64,
                b'c' | b'f' => break,
                _ => {}
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

/// Parameters of a Bind in text format, which follow two names and the count of formats (0).
fn parameters(body: &[u8]) -> Vec<Option<String>> {
    let names = body.iter().enumerate().filter(|(_, byte)| **byte == 0).nth(1).map_or(0, |(at, _)| at + 1);
    let mut rest = body.get(names + 4..).unwrap_or_default();
    let mut found = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = i32::from_be_bytes(*length);
        let Some((text, after)) = after.split_at_checked(usize::try_from(length).unwrap_or(0)) else { break };
        found.push((length >= 0).then(|| String::from_utf8_lossy(text).into_owned()));
        rest = after;
    }
    found
}
