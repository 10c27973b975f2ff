//! The SQL that a plan brings along, read and parsed: the setup of its tables, and its scripts.

use std::sync::Arc;

use pgdyno_core::{problem::Problem, tpcc::Transaction};
use pgdyno_script::{
    AUTOMATIC, Action, Builtin, Definition, Risk, Script, ScriptError, Scripts, risks,
    tpcc::{VARIABLES, reserve_outputs},
};

use super::{Plan, RESERVED, ScriptPlan, Source, TpccWork, WorkloadPlan, work::definitions};

/// A named text of SQL or a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlText {
    /// File as named in the plan, or the key of the plan that holds the text.
    pub name: String,
    /// Contents of the file or key.
    pub text: String,
}

/// SQL that runs once, one statement after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// Texts in the order they run.
    pub texts: Vec<SqlText>,
    /// Parsed form of the texts.
    pub scripts: Arc<Scripts>,
    /// Variables of the SQL.
    pub definitions: Vec<Definition>,
}

/// A workload with its scripts parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Name in reports.
    pub name: String,
    /// The built-in transaction, if it is the only script.
    pub builtin: Option<Builtin>,
    /// How TPC-C runs, if this workload is TPC-C.
    pub tpcc: Option<TpccWork>,
    /// Parsed scripts.
    pub scripts: Arc<Scripts>,
    /// Weight of each script.
    pub weights: Vec<u32>,
    /// Source text of each script.
    pub texts: Vec<SqlText>,
    /// Initial values of variables, in addition to those that pgdyno sets.
    pub definitions: Vec<Definition>,
    /// SQL that restores the initial data before every run.
    pub reset: Option<Steps>,
    /// Tries of a transaction after serialization failures and deadlocks; 0 is any number.
    pub max_tries: u32,
}

/// All SQL of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadFiles {
    /// SQL that sets up tables, once.
    pub setup: Option<Steps>,
    /// The workloads of the plan, in its order.
    pub work: Vec<Work>,
}

/// Reads the file with this name in the plan.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<String, Problem>;

impl WorkloadFiles {
    /// Reads and parses all SQL of a plan; `plan_file` is the plan's name in messages.
    ///
    /// # Errors
    /// Errors of `read`, and a wrong request for SQL that cannot run, with its line.
    pub fn of(plan: &Plan, plan_file: &str, read: ReadFile<'_>) -> Result<Self, Problem> {
        let shared = plan.definitions();
        let mut texts = Vec::new();
        if let Some(path) = &plan.data.setup {
            texts.push(SqlText { name: path.clone(), text: read(path)? });
        }
        let inline = plan.data.setup_text.iter();
        texts.extend(
            inline.map(|text| SqlText { name: inline_name(plan_file, "setup_text"), text: text.clone() }),
        );
        let setup = (!texts.is_empty()).then(|| Steps::parse(texts, shared.clone())).transpose()?;
        let work = plan.workload.iter().map(|one| Work::parse(one, &shared, plan_file, read));
        Ok(Self { setup, work: work.collect::<Result<_, _>>()? })
    }

    /// Parses the SQL of a plan that names no files.
    ///
    /// # Errors
    /// As [`WorkloadFiles::of`]; also if the plan names a file.
    pub fn without_files(plan: &Plan) -> Result<Self, Problem> {
        Self::of(plan, &plan.name, &mut |path| {
            Err(Problem::wrong_request(format!(
                "could not read {path}: the plan has no directory for relative paths"
            )))
        })
    }

    /// Whether any SQL is the plan's own rather than built in.
    pub fn is_own(&self) -> bool {
        self.setup.is_some() || self.work.iter().any(Work::is_own)
    }

    /// Whether the SQL sets tables up, or resets them, and so must not meet tables of others.
    pub fn makes_tables(&self) -> bool {
        self.setup.is_some() || self.work.iter().any(|work| work.reset.is_some())
    }

    /// Whether any SQL names one of TPC-B's tables, or is a built-in script.
    pub fn names_tpcb(&self) -> bool {
        let in_steps = |steps: &Steps| names_tpcb(&steps.scripts, &steps.definitions);
        self.setup.iter().any(in_steps) || self.work.iter().any(Work::names_tpcb)
    }

    /// Everything in the SQL that affects more than tables.
    pub fn risks(&self) -> Vec<Risk> {
        let resets = self.work.iter().filter_map(|work| work.reset.as_ref());
        let once = self.setup.iter().chain(resets).flat_map(|steps| steps.scripts.iter());
        let driven = self.work.iter().flat_map(|work| work.scripts.iter());
        once.chain(driven).flat_map(risks).collect()
    }
}

fn names_tpcb(scripts: &Scripts, definitions: &[Definition]) -> bool {
    scripts.words(definitions).iter().any(|word| word.starts_with("pgbench_"))
}

/// Name in messages of a text written into the plan.
fn inline_name(plan_file: &str, key: &str) -> String {
    format!("{plan_file} ({key})")
}

/// Names of all variables that the SQL may use.
fn known(definitions: &[Definition]) -> Vec<&str> {
    let own = definitions.iter().map(|definition| definition.name.as_str());
    RESERVED.into_iter().chain(AUTOMATIC).chain(own).collect()
}

fn wrong(error: ScriptError) -> Problem {
    let problem = Problem::from(error);
    if problem.hint.is_some() { problem } else { problem.hint("fix the SQL there") }
}

impl Steps {
    fn parse(texts: Vec<SqlText>, definitions: Vec<Definition>) -> Result<Self, Problem> {
        let mut scripts = Scripts::default();
        for SqlText { name, text } in &texts {
            let script = scripts.add(name, text).map_err(wrong)?;
            plain_sql(script)?;
        }
        scripts.check_variables(&known(&definitions)).map_err(wrong)?;
        Ok(Self { texts, scripts: Arc::new(scripts), definitions })
    }

    /// Number of statements in all texts.
    pub fn statements(&self) -> usize {
        self.scripts.statements().count()
    }
}

/// Refuses backslash commands, since setup and reset have no client to run them.
fn plain_sql(script: &Script) -> Result<(), Problem> {
    let is_sql = |action: &Action| matches!(action, Action::Sql(sql) if sql.store.is_none());
    match script.commands.iter().find(|command| !is_sql(&command.action)) {
        None => Ok(()),
        Some(command) => {
            let what =
                format!("{}:{}: backslash commands belong in scripts", script.name, command.line_number);
            let hint = "write plain SQL here; loops can be written in DO $$ … $$";
            Err(Problem::wrong_request(what).detail(command.line.clone()).hint(hint))
        }
    }
}

impl Work {
    /// Workload of a single built-in transaction.
    pub fn builtin(builtin: Builtin) -> Self {
        Self { builtin: Some(builtin), ..Self::script(builtin.name(), builtin.scripts()) }
    }

    /// Workload of own scripts with equal weights, under this name in reports.
    pub fn script(name: &str, scripts: Scripts) -> Self {
        Self {
            name: name.to_owned(),
            builtin: None,
            tpcc: None,
            weights: vec![1; scripts.len()],
            scripts: Arc::new(scripts),
            texts: Vec::new(),
            definitions: Vec::new(),
            reset: None,
            max_tries: 1,
        }
    }

    /// Whether its SQL names one of TPC-B's tables, or is a built-in script.
    pub fn names_tpcb(&self) -> bool {
        let in_reset =
            self.reset.as_ref().is_some_and(|reset| names_tpcb(&reset.scripts, &reset.definitions));
        self.builtin.is_some() || in_reset || names_tpcb(&self.scripts, &self.definitions)
    }

    /// Whether the scripts are the plan's own.
    pub fn is_own(&self) -> bool {
        self.builtin.is_none() && self.tpcc.is_none()
    }

    fn parse(
        plan: &WorkloadPlan,
        shared: &[Definition],
        plan_file: &str,
        read: ReadFile<'_>,
    ) -> Result<Self, Problem> {
        let own: Vec<_> = definitions(&plan.define).collect();
        let inherited = shared.iter().filter(|one| !plan.define.contains_key(&one.name)).cloned();
        let definitions: Vec<_> = inherited.chain(own).collect();
        let (mut scripts, mut texts, mut weights) = (Scripts::default(), Vec::new(), Vec::new());
        let parts = plan.parts();
        for (at, part) in parts.iter().enumerate() {
            let inline = match (&plan.tpcc, Transaction::ALL.get(at)) {
                (Some(_), Some(transaction)) => transaction.name().to_owned(),
                _ if plan.scripts.is_empty() => inline_name(plan_file, &format!("{}: text", plan.title())),
                _ => inline_name(plan_file, &format!("{}: scripts[{at}]", plan.title())),
            };
            let text = text_of(part, inline, read)?;
            scripts.add(&text.name, &text.text).map_err(wrong)?;
            texts.push(text);
            weights.push(part.weight);
        }
        if plan.tpcc.is_some() {
            reserve_outputs(&mut scripts);
        }
        let terminals = plan.tpcc.iter().flat_map(|_| VARIABLES);
        let known: Vec<_> = known(&definitions).into_iter().chain(terminals).collect();
        scripts.check_variables(&known).map_err(wrong)?;
        scripts.check_protocol(plan.protocol).map_err(wrong)?;
        let reset = plan.reset.as_ref().map(|text| {
            let name = inline_name(plan_file, &format!("{}: reset", plan.title()));
            Steps::parse(vec![SqlText { name, text: text.clone() }], definitions.clone())
        });
        Ok(Self {
            name: plan.title().to_owned(),
            builtin: plan.as_builtin(),
            tpcc: plan.tpcc,
            scripts: Arc::new(scripts),
            weights,
            texts,
            definitions,
            reset: reset.transpose()?,
            max_tries: plan.max_tries,
        })
    }
}

fn text_of(part: &ScriptPlan, inline: String, read: ReadFile<'_>) -> Result<SqlText, Problem> {
    Ok(match (&part.script, &part.text) {
        (Some(Source::Builtin(builtin)), _) => {
            SqlText { name: builtin.name().to_owned(), text: builtin.script_text().to_owned() }
        }
        (Some(Source::File(path)), _) => SqlText { name: path.clone(), text: read(path)? },
        (None, text) => SqlText { name: inline, text: text.clone().unwrap_or_default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material(plan: &str) -> Result<WorkloadFiles, Problem> {
        let plan = Plan::from_toml(&format!("name = \"x\"\n{plan}"), "x.toml")?;
        WorkloadFiles::of(&plan, "x.toml", &mut |path| match path {
            "setup.sql" => {
                Ok("CREATE TABLE t(id int);\nINSERT INTO t SELECT generate_series(1, :rows);".into())
            }
            "a.sql" => Ok("\\set id random(1, :rows)\nSELECT * FROM t WHERE id = :id;".into()),
            "broken.sql" => Ok("SELECT 1;\n\\set id random(1,\nSELECT 2;".into()),
            "empty.sql" => Ok(" -- nothing\n".into()),
            "slip.sql" => Ok("SELECT 1;\nSELECT :row;".into()),
            _ => Err(Problem::wrong_request(format!("no {path}"))),
        })
    }

    #[test]
    fn texts_weights_and_variables_come_together() {
        let material = material(
            "[variables]\nrows = 1000\nn = 1\n[data]\nsetup = \"setup.sql\"\nsetup_text = \"ANALYZE t\"\n\
             [[workload]]\nscript = \"a.sql\"\n\
             [[workload]]\nname = \"mix\"\ndefine = { n = 400 }\nreset = \"TRUNCATE t\"\n\
             scripts = [{ script = \"a.sql\", weight = 3 }, { text = \"SELECT :n\" }]\n",
        )
        .expect("it is right");
        let setup = material.setup.as_ref().expect("it sets up");
        assert_eq!((setup.texts.len(), setup.statements()), (2, 3));
        let names: Vec<_> = material.work.iter().map(|work| work.name.as_str()).collect();
        assert_eq!(names, ["a.sql", "mix"]);
        let mix = &material.work[1];
        assert_eq!((mix.weights.as_slice(), mix.texts.len()), (&[3, 1][..], 2));
        let defined: Vec<_> =
            mix.definitions.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
        assert_eq!(defined, [("rows", "1000"), ("n", "400")]);
        assert!(mix.reset.is_some() && mix.builtin.is_none() && material.risks().is_empty());
    }

    #[test]
    fn wrong_sql_is_reported_with_its_file_and_line() {
        for (plan, said) in [
            ("[[workload]]\nscript = \"missing.sql\"", "no missing.sql"),
            ("[[workload]]\nscript = \"broken.sql\"", "broken.sql:2: "),
            ("[[workload]]\nscript = \"empty.sql\"", "empty command list for script \"empty.sql\""),
            ("[[workload]]\nscript = \"slip.sql\"", "slip.sql:2: the variable :row has no value"),
            ("[data]\nsetup = \"a.sql\"\n[[workload]]\nscript = \"slip.sql\"", "a.sql:1: backslash commands"),
            (
                "[data]\nsetup_text = \"SELECT :x\"\n[[workload]]\nscript = \"./a.sql\"",
                "x.toml (setup_text):1: ",
            ),
            ("[[workload]]\nname = \"w\"\ntext = \"SELECT 1\"\nreset = \"\\\\x\"", "x.toml (w: reset):1: "),
        ] {
            let problem = material(plan).expect_err(plan);
            assert!(problem.what.starts_with(said), "{plan}: {}", problem.what);
        }
    }

    #[test]
    fn what_reaches_beyond_tables_is_found_everywhere() {
        let material = material(
            "[data]\nsetup_text = \"COPY t FROM '/x'\"\n[[workload]]\nname = \"w\"\nreset = \"LOAD 'x'\"\n\
             text = \"\\\\shell ls\\nSELECT 1\"\n",
        );
        let risks = material.expect("it is right").risks();
        let places: Vec<_> = risks.iter().map(|risk| risk.place.as_str()).collect();
        assert_eq!(places, ["x.toml (setup_text):1", "x.toml (w: reset):1", "x.toml (w: text):1"]);
    }
}
