//! Executes the commands of scripts.

use pgdyno_core::measure::Outcome;
use pgdyno_engine::{Clock, Level, Step};
use pgdyno_script::{Action, Command, Expr, Place, Protocol, Shell, Sleep, Value};

use super::{
    shell,
    target::{ClientState, State, StepContext},
};

impl ClientState {
    /// Executes a command. `None` if it is complete, else the next step of the client.
    pub fn act(&mut self, command: &Command, context: &mut StepContext<'_>) -> Option<Step> {
        if !matches!(command.action, Action::Sql(_)) && context.probe.hears(Level::Debug) {
            context.probe.say(Level::Debug, &self.position().executing(command));
        }
        let done = match &command.action {
            Action::Sql(sql) => return self.sql(sql, context),
            Action::StartPipeline => return self.start_pipeline(context),
            Action::SyncPipeline => return self.sync_pipeline("syncpipeline", context),
            Action::EndPipeline => return self.end_pipeline(context),
            Action::Sleep(sleep) => return self.sleep(sleep, command, context),
            Action::Else => {
                self.branches.otherwise();
                Ok(())
            }
            Action::Endif => {
                self.branches.close();
                Ok(())
            }
            Action::Set { variable, value } => self.set(variable, value, command, context),
            Action::If(condition) => {
                self.value(condition, command, context).map(|value| self.branches.open(value.truth()))
            }
            Action::Elif(_) if self.branches.ends_taken() => Ok(()),
            Action::Elif(condition) => {
                self.value(condition, command, context).map(|value| self.branches.turn(value.truth()))
            }
            Action::Shell(program) => self.shell(program, context),
            Action::SetShell { variable, shell } => self.set_shell(variable, shell, context),
        };
        done.err()
    }

    /// Evaluates an expression, and prints the arguments of `debug()`.
    fn value(
        &mut self,
        expr: &Expr,
        command: &Command,
        context: &mut StepContext<'_>,
    ) -> Result<Value, Step> {
        let value = expr.eval(&mut self.variables, &mut self.random, &mut self.scratch);
        if !self.scratch.debug.is_empty() {
            for value in std::mem::take(&mut self.scratch.debug) {
                context.probe.say(Level::Plain, &self.position().debug(value));
            }
        }
        const WHAT: &str = "evaluation of meta-command failed";
        value.map_err(|error| {
            if context.shared.is_pgbench() && error.is_of_empty_text() {
                return self.abort(&self.position().aborted(&command.word, WHAT), context);
            }
            self.cannot(&command.word, &error.to_string(), WHAT, context)
        })
    }

    fn set(
        &mut self,
        variable: &Place,
        value: &Expr,
        command: &Command,
        context: &mut StepContext<'_>,
    ) -> Result<(), Step> {
        let value = self.value(value, command, context)?;
        let place = variable.slot(&command.word);
        let slot =
            place.map_err(|why| self.cannot("set", &why, "assignment of meta-command failed", context))?;
        self.variables.set(slot, value);
        Ok(())
    }

    fn sleep(&mut self, sleep: &Sleep, command: &Command, context: &mut StepContext<'_>) -> Option<Step> {
        match sleep.microseconds(&self.variables, &command.word) {
            Ok(us) if us <= 0 => None,
            Ok(us) => {
                let until_ns = context.now_ns.saturating_add((us as u64).saturating_mul(1_000));
                self.state = State::Sleeping { until_ns };
                Some(Step::WaitUntil(until_ns))
            }
            Err(why) => Some(self.cannot("sleep", &why, "execution of meta-command failed", context)),
        }
    }

    fn shell(&mut self, program: &Shell, context: &mut StepContext<'_>) -> Result<(), Step> {
        let line = self.line(program, "shell", context)?;
        let ended = matches!(shell::run(&line), Ok(true));
        context.now_ns = Clock::now_ns();
        if ended {
            return Ok(());
        }
        let why = format!("{}: could not launch shell command", program.name(&self.variables));
        Err(self.cannot("shell", &why, "execution of meta-command failed", context))
    }

    fn set_shell(
        &mut self,
        variable: &Place,
        program: &Shell,
        context: &mut StepContext<'_>,
    ) -> Result<(), Step> {
        let line = self.line(program, "setshell", context)?;
        let output = shell::output_of(&line);
        context.now_ns = Clock::now_ns();
        let name = program.name(&self.variables);
        let value = output
            .map_err(|_| format!("{name}: could not launch shell command"))
            .and_then(|output| program.result(&output, &self.variables))
            .and_then(|value| variable.slot("setshell").map(|slot| (slot, value)));
        let (slot, value) = value
            .map_err(|why| self.cannot("setshell", &why, "execution of meta-command failed", context))?;
        self.variables.set(slot, Value::Int(value));
        Ok(())
    }

    /// The shell command of a program, if scripts may run programs.
    fn line(&mut self, program: &Shell, word: &str, context: &mut StepContext<'_>) -> Result<Vec<u8>, Step> {
        const WHY: &str = "execution of meta-command failed";
        if !context.shared.behavior.trust {
            let what = format!("\\{word} runs a program, and this script is not trusted to");
            return Err(self.cannot(word, &what, WHY, context));
        }
        program.command(&self.variables).map_err(|why| self.cannot(word, &why, WHY, context))
    }

    /// Ends the client after a failed backslash command, with its reason.
    pub fn cannot(&mut self, word: &str, reason: &str, what: &str, context: &mut StepContext<'_>) -> Step {
        if context.shared.is_pgbench() {
            context.probe.say(Level::Error, reason);
            return self.abort(&self.position().aborted(word, what), context);
        }
        self.abort(reason, context)
    }

    /// Ends the client because its script cannot continue.
    pub fn abort(&mut self, why: &str, context: &mut StepContext<'_>) -> Step {
        if context.shared.is_pgbench() {
            context.probe.say(Level::Error, why);
        } else {
            let name = &context.shared.scripts.get(self.script).name;
            context.probe.stop_run(&format!("script {name}: {why}"));
        }
        self.end(Step::Last(Outcome::Failed))
    }

    fn start_pipeline(&mut self, context: &mut StepContext<'_>) -> Option<Step> {
        let refused = if context.shared.protocol == Protocol::Simple {
            "cannot use pipeline mode with the simple query protocol"
        } else if self.pipeline.is_some() {
            "already in pipeline mode"
        } else {
            if let Some(step) = self.prepare_pipeline(context) {
                return Some(step);
            }
            self.outgoing.clear();
            self.splitter.keep_rows(false);
            (self.pipeline, self.may_commit) = (Some(0), false);
            self.in_block = self.reply.status != b'I';
            return None;
        };
        Some(self.abort(&self.position().aborted("startpipeline", refused), context))
    }

    /// Sends a Sync, within a pipeline or at its end.
    fn sync_pipeline(&mut self, word: &str, context: &mut StepContext<'_>) -> Option<Step> {
        let Some(syncs) = &mut self.pipeline else {
            return Some(self.abort(&self.position().aborted(word, "not in pipeline mode"), context));
        };
        *syncs += 1;
        pgdyno_wire::encode::sync(&mut self.outgoing);
        None
    }

    fn end_pipeline(&mut self, context: &mut StepContext<'_>) -> Option<Step> {
        if let Some(step) = self.sync_pipeline("endpipeline", context) {
            return Some(step);
        }
        let syncs = self.pipeline.unwrap_or(1);
        Some(self.send(State::Statement, syncs, context))
    }

    /// Ends the attempt at the end of the script.
    pub fn end_of_script(&mut self, context: &mut StepContext<'_>) -> Step {
        let client = self.client;
        if self.pipeline.is_some() {
            let why = format!("client {client} aborted: end of script reached with pipeline open");
            return self.abort(&why, context);
        }
        context.probe.tries(self.tries);
        context.probe.rows(self.reply.rows);
        context.probe.worked(self.work);
        if self.reply.status == b'I' {
            if self.rolled_back {
                context.probe.rolled_back();
            }
            if let Some(terminal_input) =
                self.terminal_input.as_ref().filter(|_| context.probe.is_measured(context.now_ns))
            {
                terminal_input.count(&mut self.variables);
            }
            return self.end(Step::Done(Outcome::Committed));
        }
        if !context.shared.is_pgbench() {
            return self.abort("it ends inside a transaction block", context);
        }
        // pgbench counts the transaction before it checks.
        let why = "end of script reached without completing the last transaction";
        context.probe.say(Level::Error, &format!("client {client} aborted: {why}"));
        self.end(Step::Last(Outcome::Committed))
    }

    /// Ends the attempt.
    pub fn end(&mut self, step: Step) -> Step {
        self.state = State::Idle;
        step
    }
}
