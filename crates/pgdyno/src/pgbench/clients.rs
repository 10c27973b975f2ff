//! The clients of a run, connected and dealt out to threads as pgbench deals them.

use std::{sync::Arc, time::Instant};

use pgdyno_core::script::Scripts;
use pgdyno_engine::{Client, Regime, Ruled, Stop};
use pgdyno_postgres::{
    targets::{Link, SqlClients, SqlTarget},
    wire::ConnectOptions,
};

use super::{
    options::Options,
    say::{Go, Say},
};

/// The clients of every thread.
pub type Workers = Vec<Vec<Client<Ruled<Link<SqlTarget>>>>>;

/// What clients are made of.
#[derive(Debug)]
pub struct Making<'a> {
    pub say: &'a Say,
    pub options: &'a Options,
    pub connect: &'a ConnectOptions,
    pub scripts: &'a Arc<Scripts>,
    /// Scale factor as scripts see it.
    pub scale: i64,
    pub stop: &'a Stop,
}

impl Making<'_> {
    /// Connects the clients; gives them with the nanoseconds that it took.
    ///
    /// # Errors
    /// The first connection that could not be made; said already.
    pub fn connect(&self) -> Go<(Workers, u64)> {
        let (options, start) = (self.options, Instant::now());
        let clients = SqlClients {
            scripts: Arc::clone(self.scripts),
            protocol: options.protocol,
            scale: self.scale as u64,
            seed: options.seed,
            run: 0,
        };
        let made = clients.connect(self.connect, options.clients, 1, self.stop);
        let (made, _) = made.or_else(|problem| self.say.fatal(problem.to_string()))?;
        let regime = regime(options);
        let mut made = made.into_iter().flatten().zip(0..).map(|(Client { target, io }, number)| Client {
            target: Ruled::new(target, number, true, regime),
            io,
        });
        let workers = shares(options.clients, options.jobs)
            .into_iter()
            .map(|share| made.by_ref().take(share as usize).collect())
            .collect();
        Ok((workers, start.elapsed().as_nanos() as u64))
    }
}

fn regime(options: &Options) -> Regime {
    let limit_ns = (options.latency_limit_us > 0).then(|| options.latency_limit_us as u64 * 1_000);
    Regime {
        attempts: (options.time_s == 0).then_some(options.transactions as u64),
        skip_after_ns: limit_ns.filter(|_| options.rate_per_s.is_some()),
        think_ns: options.extras.think_ns,
        reconnect_after: if options.connect_each { Some(1) } else { options.extras.reconnect_after },
    }
}

/// How many clients each thread has: the first ones one more, as in pgbench.
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
    fn clients_are_dealt_out_as_pgbench_deals_them() {
        for (clients, threads, expected) in
            [(7, 3, vec![3, 2, 2]), (8, 3, vec![3, 3, 2]), (2, 2, vec![1, 1]), (5, 1, vec![5])]
        {
            assert_eq!(shares(clients, threads), expected);
        }
    }
}
