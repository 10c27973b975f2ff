//! One stream: takes tasks, one after the other, until all are done, by whomever.

use std::{
    sync::{
        atomic::{AtomicU8, AtomicU64, Ordering},
        mpsc::Sender,
    },
    thread,
    time::Duration,
};

use pgdyno_core::{
    load::{Stage, Table, Task, Work},
    problem::Problem,
    rows::Part,
};
use pgdyno_engine::Stop;

use super::{
    super::init::{foreign_keys, quoted},
    BulkProgress,
    ledger::{Job, aim, holders, literal, settle},
};
use crate::wire::{ConnectOptions, Session, WireError, connect_unless};

/// Rows that are made at a time: some tens of KiB of text, which stay in a processor's caches.
const PIECE_ROWS: u64 = 5_000;
/// Pause before a worker that finds all tasks of a stage taken looks again: the longer it waits, up to the second.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What workers share.
pub(super) struct Shared<'a> {
    pub options: &'a ConnectOptions,
    pub job: &'a Job,
    pub tasks: &'a [Task],
    /// Ends all of them.
    pub halt: &'a Stop,
    /// Statements that a session runs first.
    pub settings: &'a str,
    /// Who takes tasks, as the ledger names it.
    pub loader: &'a str,
    /// Rows of tasks under way and done here.
    pub rows: AtomicU64,
    /// Bytes of COPY data sent.
    pub bytes: AtomicU64,
    /// Tasks done here.
    pub done: AtomicU64,
    /// Tasks that are held here now.
    pub held: AtomicU64,
    /// The last stage in which it was said for whom this process waits; 0: none yet.
    pub waited: AtomicU8,
}

/// A stream.
pub(super) struct Worker<'a> {
    session: Session,
    shared: &'a Shared<'a>,
    tell: Sender<BulkProgress>,
}

impl<'a> Worker<'a> {
    /// Connects.
    pub fn new(shared: &'a Shared<'a>, tell: Sender<BulkProgress>) -> Result<Self, Problem> {
        let mut session = connect_unless(shared.halt, shared.options)?;
        session.heed(shared.halt);
        let present = format!("SELECT pg_catalog.pg_advisory_lock_shared({})", shared.job.present());
        settle(&mut session)
            .and_then(|()| aim(&mut session, &shared.job.target))
            .and_then(|()| session.execute(shared.settings))
            .and_then(|()| session.execute(&present))
            .map_err(|error| error.into_problem("could not prepare a session for loading"))?;
        Ok(Self { session, shared, tell })
    }

    /// Takes tasks until all are done.
    pub fn run(mut self) -> Result<(), Problem> {
        let mut pause = PAUSE;
        loop {
            let stage = self.stage().map_err(|error| error.into_problem("could not look for tasks"))?;
            let Some(stage) = stage else { return Ok(()) };
            let _ = self.tell.send(BulkProgress::Stage(stage)); // whoever listens may have gone
            if self.step(stage)? {
                pause = PAUSE;
            } else {
                if pause == LONGEST_PAUSE {
                    self.say_who_is_waited_for(stage)
                        .map_err(|error| error.into_problem("could not look for tasks"))?;
                }
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if self.shared.halt.requested() {
                return Err(Problem::could_not("could not finish: stopped"));
            }
        }
    }

    /// Says once for each stage that nothing is left to do here but to wait for others.
    fn say_who_is_waited_for(&mut self, stage: Stage) -> Result<(), WireError> {
        let (held, waited) = (&self.shared.held, &self.shared.waited);
        if held.load(Ordering::Relaxed) > 0 || waited.load(Ordering::Relaxed) == stage as u8 {
            return Ok(());
        }
        let pids = holders(&mut self.session, self.shared.job, stage)?;
        if !pids.is_empty() && waited.swap(stage as u8, Ordering::Relaxed) != stage as u8 {
            let _ = self.tell.send(BulkProgress::Waits { stage, pids });
        }
        Ok(())
    }

    /// The first stage that has a task left, taken or not.
    fn stage(&mut self) -> Result<Option<Stage>, WireError> {
        let sql = format!("SELECT min(stage) FROM {} WHERE NOT done", self.shared.job.tasks_table());
        let number: Option<u8> = self.session.value(&sql)?.and_then(|text| text.parse().ok());
        Ok(Stage::ALL.into_iter().find(|stage| Some(*stage as u8) == number))
    }

    /// Does one task of a stage; false where all that are left are taken.
    fn step(&mut self, stage: Stage) -> Result<bool, Problem> {
        let mut doing = None;
        let done = match stage {
            Stage::Vacuum => self.step_outside(stage, &mut doing),
            _ => self.step_inside(stage, &mut doing),
        };
        if done.is_err() {
            let _ = self.session.execute("ROLLBACK"); // the session stays usable, if it is alive
        }
        done.map_err(|error| {
            let what = doing.map_or_else(|| "could not take a task".to_owned(), failed);
            error.into_problem(&what)
        })
    }

    /// A task whose work and mark are one transaction.
    fn step_inside(&mut self, stage: Stage, doing: &mut Option<Work>) -> Result<bool, WireError> {
        self.session.execute("BEGIN")?;
        let sql = format!(
            "SELECT number FROM {} WHERE stage = {} AND NOT done ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED",
            self.shared.job.tasks_table(),
            stage as u8
        );
        let number: Option<usize> = self.session.value(&sql)?.and_then(|text| text.parse().ok());
        let Some(number) = number else {
            self.session.execute("COMMIT")?;
            return Ok(false);
        };
        let work = self.work(number)?;
        *doing = Some(work);
        self.carry_out(work)?;
        self.mark(number)?;
        self.session.execute("COMMIT")?;
        Ok(true)
    }

    /// A task that cannot be in a transaction, and may be done twice. A lock of the session holds it.
    fn step_outside(&mut self, stage: Stage, doing: &mut Option<Work>) -> Result<bool, WireError> {
        let table = self.shared.job.tasks_table();
        let left =
            format!("SELECT number FROM {table} WHERE stage = {} AND NOT done ORDER BY number", stage as u8);
        for row in self.session.query(&left)? {
            let Some(number) = row.parse::<usize>(0) else { continue };
            let lock = self.shared.job.task_lock(number);
            let take = format!("SELECT pg_catalog.pg_try_advisory_lock({lock})");
            if self.session.value(&take)?.as_deref() != Some("t") {
                continue;
            }
            let done = self.session.value(&format!("SELECT done FROM {table} WHERE number = {number}"))?;
            if done.as_deref() == Some("f") {
                let work = self.work(number)?;
                *doing = Some(work);
                self.carry_out(work)?;
                self.mark(number)?;
            }
            self.session.execute(&format!("SELECT pg_catalog.pg_advisory_unlock({lock})"))?;
            return Ok(true);
        }
        Ok(false)
    }

    fn work(&self, number: usize) -> Result<Work, WireError> {
        let task = self.shared.tasks.get(number).map(|task| task.work);
        task.ok_or_else(|| WireError::Protocol(format!("task {number} is none of this load's")))
    }

    fn mark(&mut self, number: usize) -> Result<(), WireError> {
        self.session.execute(&format!(
            "UPDATE {} SET done = true, loader = {} WHERE number = {number}",
            self.shared.job.tasks_table(),
            literal(self.shared.loader)
        ))?;
        self.shared.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn carry_out(&mut self, work: Work) -> Result<(), WireError> {
        self.shared.held.fetch_add(1, Ordering::Relaxed);
        let done = self.execute(work);
        self.shared.held.fetch_sub(1, Ordering::Relaxed);
        done
    }

    fn execute(&mut self, work: Work) -> Result<(), WireError> {
        match work {
            Work::Copy { table, partition, part, whole } => self.copy(table, partition, part, whole),
            Work::Vacuum { table, partition } => {
                // ANALYZE of the whole does that of its partitions.
                let analyze = if partition.is_some() { "" } else { ", ANALYZE" };
                self.session.execute(&format!("VACUUM (FREEZE{analyze}) {}", relation(table, partition)))
            }
            Work::Analyze => self.session.execute("ANALYZE pgbench_accounts"),
            Work::Key { table, partition } => {
                let space = self.shared.job.plan.index_tablespace.as_ref();
                let space = space.map(|name| format!(" USING INDEX TABLESPACE {}", quoted(name)));
                self.session.execute(&format!(
                    "ALTER TABLE {} ADD PRIMARY KEY ({}){}",
                    relation(table, partition),
                    table.maker().columns()[0].name,
                    space.unwrap_or_default()
                ))
            }
            Work::ForeignKey(number) => self.session.execute(&foreign_keys()[number]),
        }
    }

    fn copy(
        &mut self,
        table: Table,
        partition: Option<u64>,
        part: Part,
        whole: bool,
    ) -> Result<(), WireError> {
        let (name, maker) = (relation(table, partition), table.maker());
        let freeze = if whole { " WITH (FREEZE)" } else { "" };
        if whole {
            self.session.execute(&format!("TRUNCATE {name}"))?;
        }
        let mut copy = self.session.copy_in(&format!("COPY {name} ({}) FROM STDIN{freeze}", maker.sent()))?;
        for first in (part.first..part.end).step_by(PIECE_ROWS as usize) {
            if self.shared.halt.requested() {
                return Err(WireError::Stopped);
            }
            let piece = Part { first, end: part.end.min(first + PIECE_ROWS) };
            copy.row(|out| maker.write(piece, out))?;
            self.shared.rows.fetch_add(piece.rows(), Ordering::Relaxed);
        }
        let bytes = copy.finish()?;
        self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// The table or partition that a task is about.
fn relation(table: Table, partition: Option<u64>) -> String {
    let table = table.maker().table();
    partition.map_or_else(|| table.to_owned(), |number| format!("{table}_{number}"))
}

fn failed(work: Work) -> String {
    match work {
        Work::Copy { table, partition, part, .. } => {
            format!(
                "could not load rows {} to {} of {}",
                part.first + 1,
                part.end,
                relation(table, partition)
            )
        }
        Work::Vacuum { table, partition } => format!("could not vacuum {}", relation(table, partition)),
        Work::Analyze => "could not analyze pgbench_accounts".to_owned(),
        Work::Key { table, partition } => {
            format!("could not add the primary key of {}", relation(table, partition))
        }
        Work::ForeignKey(_) => "could not add a foreign key".to_owned(),
    }
}
