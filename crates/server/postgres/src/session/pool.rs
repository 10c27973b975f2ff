//! Distributes tasks over several sessions.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_wire::{ConnectOptions, Session};

use super::open;

/// Interval between two checks for completion.
const TICK: Duration = Duration::from_millis(20);

/// A pool of sessions that execute tasks.
pub struct SessionPool<'a> {
    /// Connection options of the sessions.
    pub options: &'a ConnectOptions,
    /// Most sessions at the same time.
    pub sessions: u64,
    /// Statements that a session runs first.
    pub settings: &'a str,
    /// Stops all sessions.
    pub stop: &'a Stop,
}

impl SessionPool<'_> {
    /// Executes this many tasks, given by their numbers from 0. `tick` is called regularly meanwhile.
    ///
    /// # Errors
    /// The first error of a task, after which no other task begins.
    pub fn work(
        &self,
        tasks: usize,
        work: &(dyn Fn(&mut Session, usize) -> Result<(), Problem> + Sync),
        tick: &mut dyn FnMut(),
    ) -> Result<(), Problem> {
        let (halt, next) = (Stop::default(), AtomicUsize::new(0));
        let one = || {
            let done = self.one(tasks, &next, &halt, work);
            if done.is_err() {
                halt.request("another session failed");
            }
            done
        };
        let sessions = self.sessions.clamp(1, tasks.max(1) as u64);
        let problems: Vec<Problem> = thread::scope(|scope| {
            let sessions: Vec<_> = (0..sessions).map(|_| scope.spawn(one)).collect();
            while !sessions.iter().all(ScopedJoinHandle::is_finished) {
                thread::sleep(TICK);
                tick();
                if self.stop.requested() {
                    halt.request("interrupted");
                }
            }
            sessions.into_iter().filter_map(|session| ended(session).err()).collect()
        });
        // Sessions stopped because of another's failure do not report its cause.
        let own = problems.iter().find(|problem| !problem.what.ends_with("stopped"));
        own.or(problems.first()).cloned().map_or(Ok(()), Err)
    }

    fn one(
        &self,
        tasks: usize,
        next: &AtomicUsize,
        halt: &Stop,
        work: &dyn Fn(&mut Session, usize) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut session = open(self.options, halt)?;
        session.execute(self.settings).map_err(|error| error.into_problem("could not prepare a session"))?;
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                return Ok(());
            }
            work(&mut session, task)?;
        }
    }
}

fn ended(session: ScopedJoinHandle<'_, Result<(), Problem>>) -> Result<(), Problem> {
    session.join().unwrap_or_else(|_| Err(Problem::could_not("could not continue: a thread panicked")))
}
