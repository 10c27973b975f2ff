//! Builds messages for SQL, the same as libpq sends for pgbench.

use pgdyno_engine::{Level, Step};
use pgdyno_script::{Action, Protocol, Sql, SqlKind, Variables};
use pgdyno_wire::encode;

use super::target::{ClientState, State, StepContext, sql_of};

impl ClientState {
    /// Sends a statement, or adds it to the open pipeline.
    pub fn sql(&mut self, sql: &Sql, context: &mut StepContext<'_>) -> Option<Step> {
        if self.pipeline.is_some() {
            return self.add_to_pipeline(sql, context);
        }
        let shared = context.shared;
        let name = &shared.names[sql.number];
        let parse = !self.prepared[sql.number];
        if shared.protocol == Protocol::Prepared && parse && shared.is_pgbench() {
            return Some(self.prepare(vec![sql.number], context));
        }
        self.say_sending(sql, context);
        // A function that is a whole transaction is not read-only, though its statement begins with SELECT.
        let whole = shared.own_rollback.is_some() && self.reply.status == b'I';
        self.may_commit = whole || may_commit(sql, self.reply.status);
        let out = &mut self.outgoing;
        out.clear();
        match shared.protocol {
            Protocol::Simple => encode::query_with(out, |out| sql.substitute(&self.variables, out)),
            Protocol::Extended => run_bound(out, sql, "", true, &self.variables),
            Protocol::Prepared => run_bound(out, sql, name, parse, &self.variables),
        }
        if shared.protocol != Protocol::Simple {
            encode::sync(out);
        }
        self.results.begin();
        self.splitter.keep_rows(sql.store.is_some());
        Some(self.send(State::Statement, 1, context))
    }

    fn add_to_pipeline(&mut self, sql: &Sql, context: &mut StepContext<'_>) -> Option<Step> {
        if let Some(store) = &sql.store {
            let word = store.word();
            let why = format!("\\{word} is not allowed in pipeline mode");
            return Some(self.abort(&self.position().aborted(word, &why), context));
        }
        self.say_sending(sql, context);
        // A pipeline outside a block is one transaction up to its Sync, which commits it; within a block
        // nothing is committed before its end.
        self.may_commit |= may_commit(sql, if self.in_block { b'T' } else { b'I' });
        for part in &sql.parts {
            match part.kind {
                SqlKind::Begin => self.in_block = true,
                SqlKind::Commit | SqlKind::Rollback => self.in_block = false,
                SqlKind::Statement => {}
            }
        }
        let named = context.shared.protocol == Protocol::Prepared;
        let name = if named { context.shared.names[sql.number].as_str() } else { "" };
        run_bound(&mut self.outgoing, sql, name, !named, &self.variables);
        None
    }

    fn say_sending(&self, sql: &Sql, context: &mut StepContext<'_>) {
        if context.probe.hears(Level::Debug) {
            let mut text = Vec::new();
            match context.shared.protocol {
                Protocol::Simple => sql.substitute(&self.variables, &mut text),
                Protocol::Extended => text.extend_from_slice(&sql.text),
                Protocol::Prepared => text.extend_from_slice(context.shared.names[sql.number].as_bytes()),
            }
            let text = String::from_utf8_lossy(&text);
            context.probe.say(Level::Debug, &format!("client {} sending {text}", self.client));
        }
    }

    /// Sends the buffer, whose reply has this many ReadyForQuery.
    pub fn send(&mut self, state: State, answers: u32, context: &mut StepContext<'_>) -> Step {
        if context.probe.hears(Level::Debug) {
            context.probe.say(Level::Debug, &format!("client {} receiving", self.client));
        }
        self.reply.expect(answers);
        self.state = state;
        Step::Send
    }

    /// Prepares the statements of the pipeline about to begin, since within it a statement that begins a
    /// serializable transaction would come too late. `None` if all are prepared.
    pub fn prepare_pipeline(&mut self, context: &mut StepContext<'_>) -> Option<Step> {
        if context.shared.protocol != Protocol::Prepared {
            return None;
        }
        let commands = &context.shared.scripts.get(self.script).commands[self.at + 1..];
        let inside = commands.iter().take_while(|command| !matches!(command.action, Action::EndPipeline));
        let wanting = |number: &usize| !self.prepared[*number];
        let numbers: Vec<_> = inside.filter_map(sql_of).map(|sql| sql.number).filter(wanting).collect();
        (!numbers.is_empty()).then(|| self.prepare(numbers, context))
    }

    /// Prepares statements, each with its own Sync; the command is repeated afterwards.
    fn prepare(&mut self, numbers: Vec<usize>, context: &mut StepContext<'_>) -> Step {
        self.outgoing.clear();
        for sql in context.shared.scripts.statements().filter(|sql| numbers.contains(&sql.number)) {
            let name = &context.shared.names[sql.number];
            if context.probe.hears(Level::Debug) {
                context.probe.say(Level::Debug, &format!("client {} preparing {name}", self.client));
            }
            encode::parse(&mut self.outgoing, name, &sql.text);
            encode::sync(&mut self.outgoing);
        }
        let count = numbers.len() as u32;
        self.preparing = numbers;
        self.send(State::Preparing, count, context)
    }
}

/// Parse if requested, Bind, Describe and Execute, like `PQsendQueryPrepared` and `PQsendQueryParams`. Describe
/// could be omitted if the columns are known, but pgbench does not, and the server should have the same work.
fn run_bound(out: &mut Vec<u8>, sql: &Sql, name: &str, parse: bool, variables: &Variables) {
    if parse {
        encode::parse(out, name, &sql.text);
    }
    encode::bind(out, name, sql.parameters.len(), |number, out| variables.write(sql.parameters[number], out));
    encode::describe_portal(out);
    encode::execute(out);
}

/// Whether a statement may commit anything: a COMMIT, or a statement outside a transaction block that is not
/// read-only.
fn may_commit(sql: &Sql, status: u8) -> bool {
    sql.parts.iter().any(|part| match part.kind {
        SqlKind::Commit => true,
        SqlKind::Statement => status == b'I' && !part.reads,
        SqlKind::Begin | SqlKind::Rollback => false,
    })
}
