//! The clients of a run, connected and assigned to threads as in pgbench.

use std::{sync::Arc, time::Instant};

use pgdyno_core::stop::Stop;
use pgdyno_engine::{Client, Paced, Pacing};
use pgdyno_postgres::targets::{
    ClientBehavior, ErrorHandling, Link, Sessions, SharedScripts, SqlClient, SqlTarget, Start, Workers,
};
use pgdyno_script::{Automatic, Scripts, Streams, Variables};
use pgdyno_wire::{ConnectOptions, libpq};

use super::{
    options::Options,
    say::{ExitResult, Say, strerror},
};

/// Makes clients with these properties.
#[derive(Debug)]
pub struct ClientFactory<'a> {
    pub say: &'a Say,
    pub options: &'a Options,
    pub connect: &'a Arc<ConnectOptions>,
    pub scripts: &'a Arc<Scripts>,
    pub streams: &'a Streams,
    /// Scale factor as scripts see it.
    pub scale: i64,
    pub stop: &'a Stop,
    /// Collects the settings of their sessions at the end, if the run is recorded.
    pub sessions: Option<Sessions>,
}

impl ClientFactory<'_> {
    /// Connects the clients, unless each transaction opens its own connection. Returns them with the elapsed time in
    /// nanoseconds.
    ///
    /// # Errors
    /// A connection failed; already printed.
    pub fn connect(&self) -> ExitResult<(Workers, u64)> {
        let start = Instant::now();
        let scripts = Arc::new(self.shared_scripts());
        let mut workers = Workers::new();
        let mut next = 0;
        for count in shares(self.options.clients, self.options.jobs) {
            let worker = (next..next + count).map(|number| self.client(&scripts, number));
            workers.push(worker.collect::<ExitResult<_>>()?);
            next += count;
        }
        Ok((workers, start.elapsed().as_nanos() as u64))
    }

    fn shared_scripts(&self) -> SharedScripts {
        let options = self.options;
        let behavior = ClientBehavior {
            errors: ErrorHandling::Pgbench,
            max_tries: options.max_tries,
            latency_limit_ns: limit_ns(options),
            continue_on_error: options.continue_on_error,
            verbose_errors: options.verbose_errors,
            trust: true,
        };
        SharedScripts::new(Arc::clone(self.scripts), options.protocol, behavior)
    }

    fn client(&self, scripts: &Arc<SharedScripts>, number: u32) -> ExitResult<SqlClient> {
        let target = SqlTarget::new(Arc::clone(scripts), self.start(number));
        let target = match &self.sessions {
            Some(sessions) => target.asked_at_the_end(sessions.clone()),
            None => target,
        };
        let pacing = pacing(self.options);
        if self.options.connect_each {
            let target = Paced::new(Link::new(target, None), number, false, pacing);
            return Ok(Client { target, io: None });
        }
        let failed = |error: String| {
            self.say.error(error);
            self.say.error(format!("could not create connection for client {number}"));
            1
        };
        if self.stop.requested() {
            return Err(failed("interrupted".to_owned()));
        }
        let session = libpq::connect(self.connect).map_err(failed)?;
        let target = target.by_backend(session.backend_pid());
        let (io, records) = session.into_parts().map_err(|error| failed(strerror(&error)))?;
        let target = Paced::new(Link::new(target, records), number, true, pacing);
        Ok(Client { target, io: Some(io) })
    }

    fn start(&self, client: u32) -> Start {
        let automatic = Automatic {
            scale: self.scale,
            client_id: i64::from(client),
            random_seed: self.options.seed.cast_signed(),
            default_seed: self.streams.default_seed.unwrap_or(0),
        };
        let variables = Variables::new(self.scripts.names(), &self.options.define, automatic);
        let random = self.streams.clients[client as usize].clone();
        Start { client, variables, random, options: Some(Arc::clone(self.connect)), terminal_input: None }
    }
}

fn limit_ns(options: &Options) -> Option<u64> {
    (options.latency_limit_us > 0).then(|| options.latency_limit_us as u64 * 1_000)
}

fn pacing(options: &Options) -> Pacing {
    Pacing {
        attempts: (options.time_s == 0).then_some(options.transactions as u64),
        skip_after_ns: limit_ns(options).filter(|_| options.rate_per_s.is_some()),
        think_ns: options.extras.think_ns,
        reconnect_after: if options.connect_each { Some(1) } else { options.extras.reconnect_after },
    }
}

/// Number of clients of each thread; the first threads have one more, as in pgbench.
fn shares(clients: u32, threads: u32) -> Vec<u32> {
    let mut left = clients;
    (0..threads)
        .map(|thread| {
            let share = left.div_ceil(threads - thread);
            left -= share;
            share
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_assigned_to_threads_as_in_pgbench() {
        for (clients, threads, expected) in
            [(7, 3, vec![3, 2, 2]), (8, 3, vec![3, 3, 2]), (2, 2, vec![1, 1]), (5, 1, vec![5])]
        {
            assert_eq!(shares(clients, threads), expected);
        }
    }
}
