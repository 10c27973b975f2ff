//! Events of a running experiment, for a progress bar or the event log of the run directory.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use pgdyno_observe::Onlooker;
pub use pgdyno_record::{Bound, Event};

/// Receives events, in the order they happen.
pub trait Sink: Send {
    /// Receives one event. It must not block: the sender may be measuring.
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

    /// Adds a sink. It receives the events that follow.
    pub fn add(&self, sink: impl Sink + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(sink));
    }

    /// Sends an event to every sink.
    pub fn send(&self, event: &Event) {
        let mut sinks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sinks.iter_mut().for_each(|sink| sink.receive(event));
    }

    /// Work of unknown length begins.
    pub fn doing(&self, what: &str) {
        self.send(&Event::Doing { what: what.to_owned() });
    }

    /// Work of `total` units begins.
    pub fn counting(&self, what: &str, total: u64, unit: &str) {
        self.send(&Event::Counting { what: what.to_owned(), total, unit: unit.to_owned() });
    }

    /// Reports that `done` units are finished.
    pub fn counted(&self, done: u64) {
        self.send(&Event::Counted { done });
    }

    /// Runs that take `seconds` in total begin.
    pub fn measuring(&self, seconds: f64) {
        self.send(&Event::Measuring { seconds });
    }

    /// Reports that `seconds` of the runs have passed.
    pub fn measured(&self, seconds: f64) {
        self.send(&Event::Measured { seconds });
    }

    /// Names the current work.
    pub fn now(&self, what: String) {
        self.send(&Event::Now { what });
    }

    /// A note for a waiting user.
    pub fn note(&self, text: impl Into<String>) {
        self.send(&Event::Note { text: text.into() });
    }

    /// A warning.
    pub fn warning(&self, text: &str) {
        self.send(&Event::Warning { text: text.to_owned(), hint: None });
    }

    /// What observers see at present, as events. While another event is sent, perhaps to a terminal that is stopped,
    /// nothing is sent: observers must not wait.
    pub fn onlooker(&self) -> Onlooker {
        let sinks = Arc::clone(&self.0);
        Box::new(move |live| {
            if let Ok(mut sinks) = sinks.try_lock() {
                let event = Event::Seen { live: Box::new(live.clone()) };
                sinks.iter_mut().for_each(|sink| sink.receive(&event));
            }
        })
    }

    /// A problem that does not end the experiment, as a warning.
    pub fn problem(&self, problem: &pgdyno_core::problem::Problem) {
        self.send(&Event::Warning { text: problem.what.clone(), hint: problem.hint.clone() });
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
    fn every_sink_receives_events_after_it_was_added() {
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
