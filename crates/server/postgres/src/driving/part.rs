//! The clients of one set of tables: their share of a run, and how they are driven.

use crate::targets::{InputCounts, Sessions, Workers, run_returning_clients};
use pgdyno_core::{measure::TpccRun, problem::Problem, random::Random, stop::Stop};
use pgdyno_engine::{
    Begin, Bookkeeping, Listeners, Mark, MergedInterval, Mix, Population, Report, Settings, SocketDriver,
};
use pgdyno_plan::divided;
use serde::{Deserialize, Serialize};

/// Most scripts of a workload that get a histogram each; each takes 220 KiB per thread.
const MOST_SCRIPTS: usize = 16;

/// The clients and threads of a run that belong to one set of tables. Numbers continue from set to set, so that no two
/// clients draw the same random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of clients.
    pub clients: u32,
    /// Number of the first client.
    pub first_client: u32,
    /// Number of threads.
    pub jobs: u32,
    /// Number of the first thread.
    pub first_worker: u32,
}

impl Share {
    /// Divides clients and threads evenly among sets; each has at least one thread.
    pub fn each(clients: u32, jobs: u32, sets: u32) -> Vec<Self> {
        let (mut first_client, mut first_worker) = (0, 0);
        let each = divided(clients, sets).into_iter().zip(divided(jobs.max(sets), sets));
        each.map(|(clients, jobs)| {
            let share = Self { clients, first_client, jobs: jobs.min(clients), first_worker };
            first_client += share.clients;
            first_worker += share.jobs;
            share
        })
        .collect()
    }
}

/// What all clients of a run have in common.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Terms {
    /// How the driver waits for its connections.
    pub waiting: SocketDriver,
    /// Settings of the run with all clients.
    pub settings: Settings,
    /// Number of all clients.
    pub clients: u32,
    /// Number of scripts.
    pub scripts: usize,
    /// Weight of each script.
    pub weights: Vec<u32>,
    /// Seed of the plan.
    pub seed: u64,
    /// Number of the random streams of the clients.
    pub draws: u32,
    /// Whether each client ends after a number of attempts.
    pub by_number: bool,
    /// Whether the clients are used for another run.
    pub returns_clients: bool,
}

impl Terms {
    /// Settings for the clients of one set.
    pub fn settings(&self, share: &Share) -> Settings {
        let mut cpus = self.settings.cpus.clone();
        if !cpus.is_empty() {
            let next = share.first_worker as usize % cpus.len();
            cpus.rotate_left(next);
        }
        let part = f64::from(share.clients) / f64::from(self.clients.max(1));
        Settings {
            rate_per_s: self.settings.rate_per_s.map(|rate| rate * part),
            seed: self.settings.seed.wrapping_add(share.first_worker.into()),
            cpus,
            ..self.settings.clone()
        }
    }

    /// What the clients of one set record, with its users if it has any.
    fn bookkeeping(&self, share: &Share, users: Option<Population>, begin: Begin) -> Bookkeeping {
        Bookkeeping {
            mix: self.mix(share),
            by_script: (2..=MOST_SCRIPTS).contains(&self.scripts),
            users,
            by_number: self.by_number,
            returns_clients: self.returns_clients,
            begin,
            ..Bookkeeping::default()
        }
    }

    /// How several scripts share the attempts. Each worker draws from a stream that no client uses.
    fn mix(&self, share: &Share) -> Mix {
        if self.weights.len() <= 1 {
            return Mix::default();
        }
        let stream = |worker: u32| {
            Random::seeded(Random::stream_seed(self.seed, self.draws, u32::MAX - share.first_worker - worker))
        };
        Mix { weights: self.weights.clone(), streams: (0..share.jobs).map(stream).collect() }
    }
}

/// The clients of one set of tables.
pub struct Part {
    /// Schema or database of the set; `None` for the only one.
    pub name: Option<String>,
    /// Number of warehouses of the set, if it is one of TPC-C.
    pub warehouses: u64,
    /// Its share of the run.
    pub share: Share,
    /// Number of the driver process that drives it, from 1; `None` if this process does.
    pub driver: Option<u32>,
    /// The connected clients of every thread; none if another process has them.
    pub workers: Workers,
    /// The commit settings of their sessions.
    pub sessions: Sessions,
    /// Counts of TPC-C's inputs.
    pub counted: InputCounts,
    /// The terminals of a paced workload.
    pub users: Option<Population>,
    /// The record of how TPC-C is executed.
    pub tpcc: Option<TpccRun>,
}

impl Part {
    /// Drives the clients in this process. Those that can begin another run are kept, if the terms require it.
    ///
    /// # Errors
    /// The driver failed.
    pub fn drive(
        &mut self,
        terms: &Terms,
        begin: Begin,
        stop: &Stop,
        on_interval: &mut dyn FnMut(&MergedInterval),
        on_mark: &mut dyn FnMut(Mark),
    ) -> Result<Report, Problem> {
        let (settings, workers) = (terms.settings(&self.share), std::mem::take(&mut self.workers));
        let bookkeeping = terms.bookkeeping(&self.share, self.users.clone(), begin);
        let listeners = Listeners { on_interval, on_mark, on_log: &mut |_, _| () };
        let (report, left) =
            run_returning_clients(terms.waiting, workers, &settings, &bookkeeping, stop, listeners)
                .map_err(|error| Problem::could_not(format!("the driver failed: {error}")))?;
        self.workers = left;
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(rate_per_s: Option<f64>) -> Terms {
        let settings = Settings { rate_per_s, cpus: vec![4, 5, 6], seed: 10, ..Settings::closed(1, 1) };
        Terms {
            waiting: SocketDriver::Epoll,
            settings,
            clients: 10,
            scripts: 5,
            weights: vec![1; 5],
            seed: 7,
            draws: 0,
            by_number: false,
            returns_clients: false,
        }
    }

    #[test]
    fn clients_and_threads_are_divided_among_the_sets() {
        let each = Share::each(96, 8, 4);
        let numbers =
            each.iter().map(|share| (share.clients, share.first_client, share.jobs, share.first_worker));
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            [(24, 0, 2, 0), (24, 24, 2, 2), (24, 48, 2, 4), (24, 72, 2, 6)]
        );
        let each = Share::each(5, 1, 3);
        let numbers =
            each.iter().map(|share| (share.clients, share.first_client, share.jobs, share.first_worker));
        assert_eq!(numbers.collect::<Vec<_>>(), [(2, 0, 1, 0), (2, 2, 1, 1), (1, 4, 1, 2)]);
        assert_eq!(Share::each(3, 8, 1)[0].jobs, 3, "no thread without a client");
    }

    #[test]
    fn a_rate_is_that_of_all_sets_together() {
        let (each, terms) = (Share::each(10, 4, 4), terms(Some(100.0)));
        let rates: Vec<_> =
            each.iter().map(|share| terms.settings(share).rate_per_s.unwrap_or(0.0)).collect();
        assert_eq!(rates, [30.0, 30.0, 20.0, 20.0]);
    }

    #[test]
    fn threads_of_different_sets_have_their_own_cpus_and_random_numbers() {
        let (each, terms) = (Share::each(10, 4, 4), terms(None));
        let settings: Vec<_> = each.iter().map(|share| terms.settings(share)).collect();
        assert_eq!(settings.iter().map(|of| of.cpus[0]).collect::<Vec<_>>(), [4, 5, 6, 4]);
        assert_eq!(settings.iter().map(|of| of.seed).collect::<Vec<_>>(), [10, 11, 12, 13]);
        let draws = |share: &Share| format!("{:?}", terms.mix(share).streams);
        assert_ne!(draws(&each[0]), draws(&each[1]));
    }
}
