//! Messages on stderr, in the form of PostgreSQL's client programs (`src/common/logging.c`).

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use pgdyno_core::units::printable_lines;
use pgdyno_engine::Level;
use pgdyno_host::terminal::obeys_escapes;

/// Name under which the program behaves as pgbench.
pub const NAME: &str = "pgbench";

/// `Err` has the exit status with which the program ends; the error is already printed.
pub type ExitResult<T> = Result<T, u8>;

/// Prints messages. Clones share the output.
#[derive(Clone)]
pub struct Say {
    /// Name of the program in its help.
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
    /// Colours of `PG_COLOR` and `PG_COLORS`.
    fn from_environment(terminal: bool) -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let enabled = match variable("PG_COLOR").as_str() {
            "always" => true,
            "auto" => terminal,
            _ => false,
        };
        if enabled { Self::read(std::env::var("PG_COLORS").ok().as_deref()) } else { Self::default() }
    }

    /// Colours of `PG_COLORS`; PostgreSQL's defaults without it.
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
    /// Messages on stderr, which begin with `pgbench` whatever the program is called. A closed stderr is no failure.
    pub fn on_stderr(called: &'static str) -> Self {
        let colours = Colours::from_environment(obeys_escapes(io::stderr().is_terminal()));
        let sink = Arc::new(|text: &str| {
            let _ = io::stderr().lock().write_all(text.as_bytes());
        });
        Self { called, from: Level::Info, colours, sink }
    }

    /// Also prints debug messages (`--debug`).
    pub fn show_debug(&mut self) {
        self.from = Level::Debug;
    }

    /// The lowest level that is printed.
    pub fn from(&self) -> Level {
        self.from
    }

    /// Prints a message. A plain one, from a script or the server, has no prefix. Escape sequences are made visible.
    pub fn message(&self, level: Level, text: &str) {
        match level {
            Level::Debug | Level::Info => self.put(level, "", "", text),
            Level::Warning => self.put(level, &self.colours.warning, "warning: ", text),
            Level::Error => self.put(level, &self.colours.error, "error: ", text),
            Level::Plain => (self.sink)(&printable_lines(text)),
        }
    }

    /// Prints an error.
    pub fn error(&self, text: impl AsRef<str>) {
        self.message(Level::Error, text.as_ref());
    }

    /// Prints a warning.
    pub fn warning(&self, text: impl AsRef<str>) {
        self.message(Level::Warning, text.as_ref());
    }

    /// Prints information.
    pub fn info(&self, text: impl AsRef<str>) {
        self.message(Level::Info, text.as_ref());
    }

    /// Prints a detail of the previous error.
    pub fn detail(&self, text: impl AsRef<str>) {
        self.put(Level::Error, &self.colours.note, "detail: ", text.as_ref());
    }

    /// Prints a hint about the previous error.
    pub fn hint(&self, text: impl AsRef<str>) {
        self.put(Level::Error, &self.colours.note, "hint: ", text.as_ref());
    }

    /// Prints text unchanged, without adding a newline.
    pub fn raw(&self, text: impl AsRef<str>) {
        (self.sink)(text.as_ref());
    }

    /// Prints an error that ends the program with status 1.
    pub fn fatal<T>(&self, text: impl AsRef<str>) -> ExitResult<T> {
        self.error(text);
        Err(1)
    }

    /// Refers to the help after an error, and ends the program with status 1.
    pub fn see_help<T>(&self) -> ExitResult<T> {
        self.hint(format!("Try \"{} --help\" for more information.", self.called));
        Err(1)
    }

    /// Prints a line with one write, so that lines of several threads do not mix.
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

/// Writes a result to stdout. A closed pipe is no failure.
pub fn print(say: &Say, text: &str) -> ExitResult<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say.fatal(format!("could not write to standard output: {}", strerror(&error)))
        }
        _ => Ok(()),
    }
}

/// The system's message for an error, without its number.
pub fn strerror(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
pub mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Prints into a string.
    pub fn capturing() -> (Say, Arc<Mutex<String>>) {
        let output = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&output);
        let sink = Arc::new(move |text: &str| into.lock().expect("nobody panics").push_str(text));
        let say = Say { called: "pgbench", from: Level::Info, colours: Colours::default(), sink };
        (say, output)
    }

    #[test]
    fn messages_have_postgresqls_form() {
        let (mut say, output) = capturing();
        say.message(Level::Debug, "hidden");
        say.show_debug();
        say.message(Level::Debug, "shown");
        say.error("wrong\n");
        say.detail("more");
        say.warning("beware");
        say.message(Level::Plain, "as it is\n");
        say.message(Level::Plain, "NOTICE:  \u{1b}[31mred\n");
        say.error("\u{1b}]0;title\u{7}");
        assert_eq!(say.see_help::<()>(), Err(1));
        assert_eq!(
            *output.lock().expect("nobody panics"),
            "pgbench: shown\npgbench: error: wrong\npgbench: detail: more\npgbench: warning: beware\nas it is\n\
             NOTICE:  \\u{1b}[31mred\npgbench: error: \\u{1b}]0;title\\u{7}\n\
             pgbench: hint: Try \"pgbench --help\" for more information.\n"
        );
    }

    #[test]
    fn colours_are_those_of_the_environment() {
        let (mut say, output) = capturing();
        say.colours = Colours::read(None);
        say.error("x");
        say.colours = Colours::read(Some("error=7:nothing:locus="));
        say.error("y");
        let expected =
            "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0mx\npgbench: \x1b[7merror: \x1b[0my\n";
        assert_eq!(*output.lock().expect("nobody panics"), expected);
    }
}
