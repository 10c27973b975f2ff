//! What happens while an experiment is carried out, told to whoever listens: a progress bar, the event log of the run
//! directory.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

pub use pgdyno_record::Event;

/// Receives events, in the order they happen.
pub trait Sink: Send {
    /// Takes one event. It must not wait: whoever tells it is measuring.
    fn receive(&mut self, event: &Event);
}

/// The sinks of an experiment. Clones share them.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<Box<dyn Sink>>>>);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

impl Events {
    /// Events with one sink.
    pub fn new(sink: impl Sink + 'static) -> Self {
        let events = Self::default();
        events.add(sink);
        events
    }

    /// Adds a sink, which receives what happens from now on.
    pub fn add(&self, sink: impl Sink + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(sink));
    }

    /// Tells every sink.
    pub fn tell(&self, event: &Event) {
        let mut sinks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sinks.iter_mut().for_each(|sink| sink.receive(event));
    }

    /// Work of unknown length begins.
    pub fn doing(&self, what: &str) {
        self.tell(&Event::Doing { what: what.to_owned() });
    }

    /// Work of `total` units begins.
    pub fn counting(&self, what: &str, total: u64, unit: &str) {
        self.tell(&Event::Counting { what: what.to_owned(), total, unit: unit.to_owned() });
    }

    /// So many units of it are done.
    pub fn counted(&self, done: u64) {
        self.tell(&Event::Counted { done });
    }

    /// Runs begin that take `seconds`.
    pub fn measuring(&self, seconds: f64) {
        self.tell(&Event::Measuring { seconds });
    }

    /// So much of that time has passed.
    pub fn measured(&self, seconds: f64) {
        self.tell(&Event::Measured { seconds });
    }

    /// What is being done now.
    pub fn now(&self, what: String) {
        self.tell(&Event::Now { what });
    }

    /// Something that a person who waits wants to know.
    pub fn note(&self, text: impl Into<String>) {
        self.tell(&Event::Note { text: text.into() });
    }

    /// Something that may be wrong.
    pub fn warning(&self, text: &str) {
        self.tell(&Event::Warning { text: text.to_owned(), hint: None });
    }

    /// A problem that does not end the experiment.
    pub fn problem(&self, problem: &pgdyno_core::problem::Problem) {
        self.tell(&Event::Warning { text: problem.what.clone(), hint: problem.hint.clone() });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    impl Sink for Sender<Event> {
        fn receive(&mut self, event: &Event) {
            self.send(event.clone()).expect("the test listens");
        }
    }

    #[test]
    fn every_sink_receives_what_happens_while_it_is_there() {
        let ((first, of_first), (second, of_second)) = (channel(), channel());
        let events = Events::new(first);
        events.doing("loading");
        let clone = events.clone();
        clone.add(second);
        clone.counting("loading", 10, "rows");
        events.counted(3);
        assert_eq!(of_first.try_iter().count(), 3);
        let seen: Vec<Event> = of_second.try_iter().collect();
        assert_eq!(seen.last(), Some(&Event::Counted { done: 3 }));
        assert_eq!((seen.len(), seen.iter().filter(|event| event.is_progress()).count()), (2, 1));
    }
}
