//! A driver process: drives some of the sets of tables of a run, and reports to pgdyno what it measured.

use std::{
    io::{BufRead, Write},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use crate::targets::{InputCounts, Sessions, SqlClients};
use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_engine::{Begin, StartLine};
use pgdyno_plan::{Plan, TpccWork, Work, WorkloadFiles, WorkloadPlan};
use pgdyno_wire::ConnectOptions;

use crate::driving::population::population;
use crate::driving::{
    messages::{DriverEvent, Order, SetEnd, SetTask, Task, send},
    part::{Part, Terms},
};

/// Argument by which the program becomes a driver process.
pub const COMMAND: &str = "driver";

/// Executes `orders`, and writes events to `output`, until the run is over or the other end is closed.
///
/// # Errors
/// What could not be done; it was written to `output` as well, unless that is closed.
pub fn drive(
    orders: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Problem> {
    let (stop, line) = (Stop::default(), Arc::new(StartLine::new(usize::MAX, Duration::ZERO)));
    let output = Arc::new(Mutex::new(output));
    let (pass_on, received) = mpsc::channel();
    let obey = Obey { stop: stop.clone(), line: Arc::clone(&line), pass_on };
    thread::spawn(move || obey.all(orders));
    let done = Driver { stop, line, output: Arc::clone(&output) }.work(&received);
    if let Err(problem) = &done {
        let _ = send(&mut *lock(&output), &DriverEvent::Failed(problem.clone().into())); // nobody may listen any more
    }
    done
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Executes orders as they come.
struct Obey {
    stop: Stop,
    line: Arc<StartLine>,
    pass_on: Sender<Order>,
}

impl Obey {
    fn all(self, orders: impl BufRead) {
        for order in orders.lines() {
            let order = order.ok().and_then(|line| serde_json::from_slice(line.as_bytes()).ok());
            match order {
                Some(Order::Begin { at_ns }) => self.line.set(at_ns),
                Some(Order::Stop { reason }) => self.stop.request(&reason),
                Some(order) => drop(self.pass_on.send(order)),
                None => break,
            }
        }
        self.stop.request("pgdyno has ended");
    }
}

struct Driver<W> {
    stop: Stop,
    line: Arc<StartLine>,
    output: Arc<Mutex<W>>,
}

impl<W: Write + Send + 'static> Driver<W> {
    fn work(&self, orders: &Receiver<Order>) -> Result<(), Problem> {
        let Ok(Order::Connect(task)) = orders.recv() else { return Err(nothing_ordered()) };
        let (mut parts, connect) = self.connect(&task)?;
        self.emit(&DriverEvent::Connected { connect_ns: connect.as_nanos() as u64 });
        // Without a further order pgdyno needs no run, or is gone.
        let Ok(Order::Run(terms)) = orders.recv() else { return Ok(()) };
        self.run(&mut parts, &terms)
    }

    fn emit(&self, event: &DriverEvent) {
        if send(&mut *lock(&self.output), event).is_err() {
            self.stop.request("pgdyno has ended");
        }
    }

    fn connect(&self, task: &Task) -> Result<(Vec<Part>, Duration), Problem> {
        let work = work_of(task.work)?;
        let (mut parts, mut took) = (Vec::new(), Duration::ZERO);
        for set in &task.sets {
            let connected = self.connect_set(task, &work, set);
            let (part, connect) = connected
                .map_err(|problem| Problem { what: format!("{}: {}", set.name, problem.what), ..problem })?;
            parts.push(part);
            took += connect;
        }
        Ok((parts, took))
    }

    fn connect_set(&self, task: &Task, work: &Work, set: &SetTask) -> Result<(Part, Duration), Problem> {
        let (counted, sessions) = (InputCounts::default(), Sessions::default());
        let share = set.share;
        let sql = SqlClients {
            seed: task.seed,
            run: task.draws,
            max_tries: task.work.max_tries,
            first_client: share.first_client,
            attempts: task.work.transactions,
            tpcc: Some((set.terminals, counted.clone())),
            sessions: Some(sessions.clone()),
            ..SqlClients::new(Arc::clone(&work.scripts), task.protocol)
        };
        let options = ConnectOptions::from(set.connection.clone());
        let (workers, connect) = sql.connect(&options, share.clients, share.jobs, &self.stop)?;
        let part = Part {
            name: Some(set.name.clone()),
            warehouses: set.terminals.warehouses,
            share,
            driver: None,
            workers,
            sessions,
            counted,
            users: population(&task.work, set.terminals.warehouses),
            tpcc: None,
        };
        Ok((part, connect))
    }

    /// Drives all sets at one time, each on threads of its own.
    fn run(&self, parts: &mut [Part], terms: &Terms) -> Result<(), Problem> {
        thread::scope(|scope| {
            let each = parts.iter_mut().enumerate();
            let each: Vec<_> =
                each.map(|(set, part)| scope.spawn(move || self.run_set(set, part, terms))).collect();
            let ended = each.into_iter().map(|one| {
                one.join()
                    .unwrap_or_else(|_| Err(Problem::could_not("a thread of the driver process panicked")))
            });
            ended.fold(Ok(()), Result::and)
        })
    }

    fn run_set(&self, set: usize, part: &mut Part, terms: &Terms) -> Result<(), Problem> {
        let (line, stop, output) = (Arc::clone(&self.line), self.stop.clone(), Arc::clone(&self.output));
        let begin = Begin::when(move || {
            let _ = send(&mut *lock(&output), &DriverEvent::Ready); // the end of the other process stops the wait
            line.wait(&stop)
        });
        let on_interval = &mut |interval: &_| {
            self.emit(&DriverEvent::Interval { set, interval: Box::new(Clone::clone(interval)) });
        };
        let report = part.drive(terms, begin, &self.stop, on_interval, &mut |_| ())?;
        let end = SetEnd::new(report, part.counted.take(), part.sessions.take());
        self.emit(&DriverEvent::Ended { set, end: Box::new(end) });
        Ok(())
    }
}

/// The workload of TPC-C as a plan would have it.
fn work_of(work: TpccWork) -> Result<Work, Problem> {
    let files = WorkloadFiles::without_files(&Plan::new(COMMAND, vec![WorkloadPlan::tpcc(work)]))?;
    files.work.into_iter().next().ok_or_else(nothing_ordered)
}

fn nothing_ordered() -> Problem {
    Problem::wrong_request("could not drive anything: nothing was ordered")
        .hint("`pgdyno driver` is what --drivers of tpcc run starts")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Collects what is written.
    #[derive(Clone, Default)]
    struct Said(Arc<Mutex<Vec<u8>>>);

    impl Write for Said {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Said {
        fn lines(&self) -> Vec<DriverEvent> {
            let text = String::from_utf8(lock(&self.0).clone()).expect("it is text");
            text.lines().map(|line| serde_json::from_str(line).expect("it is a message")).collect()
        }
    }

    fn output(orders: &[Order]) -> (Result<(), Problem>, Vec<DriverEvent>) {
        let (said, mut text) = (Said::default(), Vec::new());
        orders.iter().for_each(|order| send(&mut text, order).expect("memory takes all"));
        (drive(io::Cursor::new(text), said.clone()), said.lines())
    }

    #[test]
    fn a_process_that_nobody_orders_says_so_and_ends() {
        let (done, output) = output(&[]);
        let problem = done.expect_err("it has nothing to do");
        assert!(problem.hint.is_some_and(|hint| hint.contains("--drivers of tpcc run")));
        assert!(matches!(&output[..], [DriverEvent::Failed(_)]), "{output:?}");
    }

    #[test]
    fn a_process_without_sets_connects_and_ends_with_its_orders() {
        let task = Task {
            work: TpccWork::default(),
            protocol: pgdyno_script::Protocol::Prepared,
            seed: 1,
            draws: 0,
            sets: Vec::new(),
        };
        let (done, output) = output(&[Order::Connect(Box::new(task))]);
        assert_eq!(done, Ok(()));
        assert!(matches!(&output[..], [DriverEvent::Connected { connect_ns: 0 }]), "{output:?}");
    }
}
