//! Messages on stderr, in the form of PostgreSQL's client programs (`src/common/logging.c`).

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use pgdyno_core::units::printable_lines;
use pgdyno_engine::Level;
use pgdyno_host::terminal::obeys_escapes;

/// The name under which the program is pgbench.
pub const NAME: &str = "pgbench";

/// Whether to go on: `Err` holds the exit status of a program that has said why it ends.
pub type ExitResult<T> = Result<T, u8>;

/// Says things to the person at the terminal. Copies share where it goes.
#[derive(Clone)]
pub struct Say {
    /// How help calls the program.
    called: &'static str,
    from: Level,
    colours: Colours,
    sink: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Colours of the parts of a message; empty is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Colours {
    error: String,
    warning: String,
    note: String,
    locus: String,
}

impl Colours {
    /// As `PG_COLOR` and `PG_COLORS` say.
    fn from_environment(terminal: bool) -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let wanted = match variable("PG_COLOR").as_str() {
            "always" => true,
            "auto" => terminal,
            _ => false,
        };
        if wanted { Self::read(std::env::var("PG_COLORS").ok().as_deref()) } else { Self::default() }
    }

    /// Without `PG_COLORS` those that PostgreSQL has by itself; with it those that it names.
    fn read(colours: Option<&str>) -> Self {
        let Some(colours) = colours.filter(|colours| !colours.is_empty()) else {
            let [error, warning, note, locus] = ["01;31", "01;35", "01;36", "01"].map(str::to_owned);
            return Self { error, warning, note, locus };
        };
        let mut read = Self::default();
        for (name, value) in colours.split(':').filter_map(|pair| pair.split_once('=')) {
            match name {
                "error" => value.clone_into(&mut read.error),
                "warning" => value.clone_into(&mut read.warning),
                "note" => value.clone_into(&mut read.note),
                "locus" => value.clone_into(&mut read.locus),
                _ => {}
            }
        }
        read
    }
}

fn painted(colour: &str, text: &str) -> String {
    if colour.is_empty() { text.to_owned() } else { format!("\x1b[{colour}m{text}\x1b[0m") }
}

impl Say {
    /// Messages on stderr, all in pgbench's name, whatever the program is called. What nobody reads any more is no
    /// failure.
    pub fn on_stderr(called: &'static str) -> Self {
        let colours = Colours::from_environment(obeys_escapes(io::stderr().is_terminal()));
        let sink = Arc::new(|text: &str| {
            let _ = io::stderr().lock().write_all(text.as_bytes());
        });
        Self { called, from: Level::Info, colours, sink }
    }

    /// Shows what belongs to this level too (`--debug`).
    pub fn show_debug(&mut self) {
        self.from = Level::Debug;
    }

    /// The level from which messages are shown.
    pub fn from(&self) -> Level {
        self.from
    }

    /// A message of a level; what a script or the server asked to have shown goes out as it is, but for what a terminal
    /// would obey.
    pub fn message(&self, level: Level, text: &str) {
        match level {
            Level::Debug | Level::Info => self.put(level, "", "", text),
            Level::Warning => self.put(level, &self.colours.warning, "warning: ", text),
            Level::Error => self.put(level, &self.colours.error, "error: ", text),
            Level::Plain => (self.sink)(&printable_lines(text)),
        }
    }

    /// Something that went wrong.
    pub fn error(&self, text: impl AsRef<str>) {
        self.message(Level::Error, text.as_ref());
    }

    /// Something that a user should know of.
    pub fn warning(&self, text: impl AsRef<str>) {
        self.message(Level::Warning, text.as_ref());
    }

    /// Something that happened.
    pub fn info(&self, text: impl AsRef<str>) {
        self.message(Level::Info, text.as_ref());
    }

    /// More about the error before.
    pub fn detail(&self, text: impl AsRef<str>) {
        self.put(Level::Error, &self.colours.note, "detail: ", text.as_ref());
    }

    /// What to do about the error before.
    pub fn hint(&self, text: impl AsRef<str>) {
        self.put(Level::Error, &self.colours.note, "hint: ", text.as_ref());
    }

    /// Text as it is, without a line's end of its own.
    pub fn raw(&self, text: impl AsRef<str>) {
        (self.sink)(text.as_ref());
    }

    /// An error that ends the program with status 1.
    pub fn fatal<T>(&self, text: impl AsRef<str>) -> ExitResult<T> {
        self.error(text);
        Err(1)
    }

    /// Points at the help after an error, and ends the program.
    pub fn see_help<T>(&self) -> ExitResult<T> {
        self.hint(format!("Try \"{} --help\" for more information.", self.called));
        Err(1)
    }

    /// One line in one write, so that lines of several threads do not mix.
    fn put(&self, level: Level, colour: &str, part: &str, text: &str) {
        if level < self.from {
            return;
        }
        let locus = painted(&self.colours.locus, &format!("{NAME}: "));
        let part = if part.is_empty() { String::new() } else { painted(colour, part) };
        let text = printable_lines(text.strip_suffix('\n').unwrap_or(text));
        (self.sink)(&format!("{locus}{part}{text}\n"));
    }
}

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Say").field("called", &self.called).field("from", &self.from).finish()
    }
}

/// Writes a result to stdout. A reader that went away has seen enough.
pub fn print(say: &Say, text: &str) -> ExitResult<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say.fatal(format!("could not write to standard output: {}", strerror(&error)))
        }
        _ => Ok(()),
    }
}

/// The system's words for an error, without its number.
pub fn strerror(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
pub mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Messages into a text that a test can look at.
    pub fn listening() -> (Say, Arc<Mutex<String>>) {
        let heard = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&heard);
        let sink = Arc::new(move |text: &str| into.lock().expect("nobody panics").push_str(text));
        let say = Say { called: "pgbench", from: Level::Info, colours: Colours::default(), sink };
        (say, heard)
    }

    #[test]
    fn messages_have_postgresqls_form() {
        let (mut say, heard) = listening();
        say.message(Level::Debug, "unheard");
        say.show_debug();
        say.message(Level::Debug, "heard");
        say.error("wrong\n");
        say.detail("more");
        say.warning("beware");
        say.message(Level::Plain, "as it is\n");
        say.message(Level::Plain, "NOTICE:  \u{1b}[31mred\n");
        say.error("\u{1b}]0;title\u{7}");
        assert_eq!(say.see_help::<()>(), Err(1));
        assert_eq!(
            *heard.lock().expect("nobody panics"),
            "pgbench: heard\npgbench: error: wrong\npgbench: detail: more\npgbench: warning: beware\nas it is\n\
             NOTICE:  \\u{1b}[31mred\npgbench: error: \\u{1b}]0;title\\u{7}\n\
             pgbench: hint: Try \"pgbench --help\" for more information.\n"
        );
    }

    #[test]
    fn colours_are_those_of_the_environment() {
        let (mut say, heard) = listening();
        say.colours = Colours::read(None);
        say.error("x");
        say.colours = Colours::read(Some("error=7:nothing:locus="));
        say.error("y");
        let expected =
            "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0mx\npgbench: \x1b[7merror: \x1b[0my\n";
        assert_eq!(*heard.lock().expect("nobody panics"), expected);
    }
}
