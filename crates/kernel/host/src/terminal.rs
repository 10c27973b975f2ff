//! What a terminal takes, secrets that are typed there, and how to leave it.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr},
};

/// Whether something is a terminal that obeys escape sequences: `TERM=dumb` says that it does not.
pub fn obeys_escapes(is_terminal: bool) -> bool {
    obeys_as(is_terminal, std::env::var_os("TERM").as_deref())
}

fn obeys_as(is_terminal: bool, term: Option<&OsStr>) -> bool {
    is_terminal && term.is_none_or(|term| term != "dumb")
}

/// Leaves the terminal: this process gets a session of its own, which neither Ctrl-C nor the end of the terminal
/// reaches. A process that leads its group stays where it is.
pub fn leave() {
    // The only error is that of a group's leader.
    let _ = rustix::process::setsid();
}

/// How long a wait for typed text lasts before `cancelled` is called again.
const POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Asks on the terminal of this process for a secret, which is not echoed. `None` if there is no terminal, or if
/// `cancelled` returned true, or at the end of input.
///
/// # Errors
/// The terminal cannot be read, or its echo cannot be switched off.
pub fn ask_secret(prompt: &str, cancelled: &dyn Fn() -> bool) -> io::Result<Option<String>> {
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return Ok(None);
    };
    let modes = tcgetattr(&terminal)?;
    let mut silent = modes.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    // What was typed before was echoed: it is dropped.
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let typed = write!(terminal, "{prompt}").and_then(|()| typed_line(&terminal, cancelled));
    tcsetattr(&terminal, OptionalActions::Now, &modes)?;
    let _ = writeln!(terminal);
    typed
}

fn typed_line(terminal: &File, cancelled: &dyn Fn() -> bool) -> io::Result<Option<String>> {
    loop {
        // A signal ends the wait as well.
        let ready =
            poll(&mut [PollFd::new(terminal, PollFlags::IN)], Some(&POLL)).is_ok_and(|ready| ready > 0);
        if cancelled() {
            return Ok(None);
        }
        if ready {
            let mut line = String::new();
            let length = BufReader::new(terminal).read_line(&mut line)?;
            return Ok((length > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_gets_no_escapes() {
        let cases = [
            (true, None, true),
            (true, Some("xterm"), true),
            (true, Some("dumb"), false),
            (false, Some("xterm"), false),
        ];
        for (is_terminal, term, obeys) in cases {
            assert_eq!(obeys_as(is_terminal, term.map(OsStr::new)), obeys, "{term:?}");
        }
    }
}
