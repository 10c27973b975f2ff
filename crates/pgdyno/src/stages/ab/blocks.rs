//! Blocks of two runs each, until there is an answer or there are as many as were asked for.

use std::{sync::Arc, time::Instant};

use pgdyno_analysis::compare::first_of;
use pgdyno_core::{
    measure::{Arm, Workload},
    problem::Problem,
};
use pgdyno_record::{BlockKind, BlockRecord};
use pgdyno_script::{Protocol, Scripts};

use super::{ArmJob, Compare, Server, Work, comparing};
use crate::stages::{
    cell::{Bench, Cell, Driving},
    watch::Watch,
};

/// Makes the blocks. Those of A against A are spread over the blocks before the first look, so that they meet the
/// machine in the same states.
///
/// # Errors
/// What ended them early; blocks that were whole are in the record.
pub fn run(compare: &Compare, driving: Driving<'_>, servers: &mut [Server]) -> Result<(), Problem> {
    let watches = servers.iter().map(|server| driving.watch(&server.subject)).collect();
    let scripts = [scripts_of(compare.arm(Arm::A), servers)?, scripts_of(compare.arm(Arm::B), servers)?];
    let began = Instant::now();
    let mut blocks = Blocks { compare, driving, servers, watches, scripts, made: 0, aa_made: 0, began };
    for block in 0..compare.blocks() {
        for _ in 0..aa_before(compare, block) {
            let first = first_of(blocks.aa_made);
            blocks.aa_made += 1;
            blocks.block(BlockKind::Aa, first)?;
        }
        blocks.block(BlockKind::Ab, first_of(block))?;
        let at_look = compare.looks.iter().any(|look| look.blocks == block + 1);
        if at_look && comparing::is_settled(blocks.driving.recording) {
            break;
        }
    }
    Ok(())
}

/// The scripts of an arm as its clients' sessions can run them; `None` for a command.
fn scripts_of(arm: &ArmJob, servers: &[Server]) -> Result<Option<Arc<Scripts>>, Problem> {
    let Work::Script { script, .. } = &arm.work else { return Ok(None) };
    match (arm.builtin(), arm.server) {
        (Some(builtin), Some(at)) => {
            servers[at].subject.scripts(builtin).map(|scripts| Some(Arc::new(scripts)))
        }
        _ => Ok(Some(Arc::clone(script))),
    }
}

/// How many blocks of A against A come before a block of A and B.
fn aa_before(compare: &Compare, block: u32) -> u32 {
    let over = compare.looks.first().map_or(1, |look| look.blocks);
    (0..compare.aa_blocks).filter(|nth| nth * over / compare.aa_blocks == block).count() as u32
}

struct Blocks<'a, 'b> {
    compare: &'a Compare,
    driving: Driving<'a>,
    servers: &'b mut [Server],
    watches: Vec<Watch>,
    /// What A and B run, as it is sent.
    scripts: [Option<Arc<Scripts>>; 2],
    made: u32,
    aa_made: u32,
    began: Instant,
}

impl Blocks<'_, '_> {
    /// Two runs, the one in the place of `first` before the other.
    fn block(&mut self, kind: BlockKind, first: Arm) -> Result<(), Problem> {
        let start_s = self.driving.recording.seconds();
        let mut rates = [0.0; 2];
        for place in [first, first.other()] {
            let arm = if kind == BlockKind::Aa { Arm::A } else { place };
            rates[place.index()] = self.one(arm)?;
        }
        self.made += 1;
        let block = BlockRecord::of(self.made, kind, first, start_s, rates);
        let block_s = self.began.elapsed().as_secs_f64() / f64::from(self.made);
        comparing::add_block(self.driving.recording, block, block_s)
    }

    /// One run of an arm; gives its rate per second.
    fn one(&mut self, arm: Arm) -> Result<f64, Problem> {
        self.reset(arm)?;
        let rate = match &self.compare.arm(arm).work {
            Work::Script { name, protocol, .. } => self.script(arm, name, *protocol)?,
            Work::Command(command) => {
                let subject = self.compare.arm(arm).server.map(|at| &self.servers[at].subject);
                self.driving.progress.say(format!("{}: command, block {}", arm.letter(), self.made + 1));
                command.run(&self.driving, subject)?
            }
        };
        if rate > 0.0 && rate.is_finite() {
            return Ok(rate);
        }
        Err(Problem::could_not(format!("{} did nothing in block {}", arm.letter(), self.made + 1))
            .detail(self.first_error())
            .hint("a comparison needs a result above 0: lengthen --duration, or mend what fails"))
    }

    fn first_error(&self) -> String {
        let last = self.driving.recording.record.runs.last();
        let error = last.and_then(|run| run.errors.first());
        error.map_or("nothing was committed".to_owned(), |error| format!("{}: {}", error.code, error.message))
    }

    fn script(&mut self, arm: Arm, name: &str, protocol: Protocol) -> Result<f64, Problem> {
        let prepared = self.driving.prepared;
        // What a pooler cannot keep apart is prepared at neither of the two.
        let possible = prepared.plan.workload.first().map_or(protocol, |workload| workload.protocol);
        let protocol = if protocol == Protocol::Prepared { possible } else { protocol };
        let workload = Workload {
            script: name.to_owned(),
            protocol: protocol.name().to_owned(),
            clients: prepared.bench.clients.first().copied().unwrap_or(1),
            rate_per_s: prepared.plan.measure.rate,
            arm: Some(arm),
            subject: None,
        };
        let (Some(at), Some(script)) = (self.compare.arm(arm).server, &self.scripts[arm.index()]) else {
            return Err(Problem::wrong_request(format!("{} has a script and no server", arm.letter())));
        };
        let bench = Bench { subject: &mut self.servers[at].subject, watch: &mut self.watches[at] };
        let cell = Cell { workload, protocol, script, own: None, block: self.made, draws: None };
        let index = self.driving.run(bench, cell)?;
        Ok(self.driving.recording.record.runs.get(index as usize).map_or(0.0, |run| run.tps))
    }

    /// The same state of the data before each run of what may write.
    fn reset(&mut self, arm: Arm) -> Result<(), Problem> {
        let arm = self.compare.arm(arm);
        let Some(at) = arm.server.filter(|_| arm.writes()) else { return Ok(()) };
        let Server { subject, ledger } = &mut self.servers[at];
        subject.revive(self.driving.stop)?;
        ledger.reset(&mut subject.admin).map_err(|error| {
            error.into_problem("could not put the tables back into their state before a run")
        })?;
        subject.wait_for_replication(self.driving.stop, self.driving.progress)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pgdyno_analysis::compare::{Asked, looks};
    use pgdyno_script::Builtin;

    use super::{super::ArmJob, *};

    fn compare(blocks: u32, aa_blocks: u32) -> Compare {
        let arm = || ArmJob {
            said: "default".into(),
            server: Some(0),
            work: Work::Script {
                name: "select-only".into(),
                script: Arc::new(Builtin::SelectOnly.scripts()),
                protocol: Protocol::Prepared,
            },
        };
        let looks = looks(blocks);
        let asked = Asked::default();
        Compare { arms: [arm(), arm()], asked, looks, aa_blocks, margin: 0.02, fail_if_slower: false }
    }

    #[test]
    fn blocks_of_a_against_a_are_spread_before_the_first_look() {
        let spread = |blocks, aa| {
            let compare = compare(blocks, aa);
            (0..blocks).map(|block| aa_before(&compare, block)).collect::<Vec<_>>()
        };
        assert_eq!(spread(16, 4), [1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(spread(3, 4), [2, 1, 1]);
        assert_eq!(spread(4, 0), [0, 0, 0, 0]);
        for (blocks, aa) in [(8, 3), (16, 7), (5, 50)] {
            assert_eq!(spread(blocks, aa).iter().sum::<u32>(), aa);
        }
    }
}
