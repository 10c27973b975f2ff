//! What a plan brings of its own, read: the SQL that sets its tables up, and its scripts.

use std::sync::Arc;

use pgdyno_core::{problem::Problem, tpcc::Transaction};
use pgdyno_script::{
    AUTOMATIC, Action, Builtin, Definition, Risk, Script, ScriptError, Scripts, risks,
    tpcc::{DELIVERED, VARIABLES},
};

use super::{Plan, RESERVED, ScriptPlan, Source, TpccWork, WorkloadPlan, work::definitions};

/// A text with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlText {
    /// The file as the plan names it, or the key of the plan that holds the text.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// SQL that runs once from its start to its end, a statement after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// The texts in order.
    pub texts: Vec<SqlText>,
    /// The same, read.
    pub scripts: Arc<Scripts>,
    /// Its variables.
    pub definitions: Vec<Definition>,
}

/// What a workload runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What reports call it.
    pub name: String,
    /// The built-in transaction, where it is one alone.
    pub builtin: Option<Builtin>,
    /// How TPC-C is driven, where it is that.
    pub tpcc: Option<TpccWork>,
    /// The scripts.
    pub scripts: Arc<Scripts>,
    /// The weight of each.
    pub weights: Vec<u32>,
    /// The text of each.
    pub texts: Vec<SqlText>,
    /// What its variables start with, beside those that pgdyno gives.
    pub definitions: Vec<Definition>,
    /// What puts the data back into its first state before every run.
    pub reset: Option<Steps>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// What sets tables up, once.
    pub setup: Option<Steps>,
    /// One for each workload of the plan.
    pub work: Vec<Work>,
}

/// Reads a file that a plan names.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<String, Problem>;

impl Material {
    /// Reads what a plan brings; `plan_file` is its name for messages.
    ///
    /// # Errors
    /// What `read` answers, and a wrong request for SQL that cannot be run as it is, with its line.
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
        let setup = (!texts.is_empty()).then(|| Steps::of(texts, shared.clone())).transpose()?;
        let work = plan.workload.iter().map(|one| Work::of(one, &shared, plan_file, read));
        Ok(Self { setup, work: work.collect::<Result<_, _>>()? })
    }

    /// The material of a plan that names no file.
    ///
    /// # Errors
    /// As [`Material::of`]; a file is one.
    pub fn without_files(plan: &Plan) -> Result<Self, Problem> {
        Self::of(plan, &plan.name, &mut |path| {
            Err(Problem::wrong_request(format!("could not read {path}: this plan has no place of its own")))
        })
    }

    /// Whether there is anything that is not built in.
    pub fn is_own(&self) -> bool {
        self.setup.is_some() || self.work.iter().any(Work::is_own)
    }

    /// Everything in it that reaches beyond tables.
    pub fn risks(&self) -> Vec<Risk> {
        let resets = self.work.iter().filter_map(|work| work.reset.as_ref());
        let once = self.setup.iter().chain(resets).flat_map(|steps| steps.scripts.iter());
        let driven = self.work.iter().flat_map(|work| work.scripts.iter());
        once.chain(driven).flat_map(risks).collect()
    }
}

/// What messages call a text that stands in the plan.
fn inline_name(plan_file: &str, key: &str) -> String {
    format!("{plan_file} ({key})")
}

/// What all of a plan's SQL knows beside its own variables.
fn known(definitions: &[Definition]) -> Vec<&str> {
    let own = definitions.iter().map(|definition| definition.name.as_str());
    RESERVED.into_iter().chain(AUTOMATIC).chain(own).collect()
}

fn wrong(error: ScriptError) -> Problem {
    let problem = Problem::from(error);
    if problem.hint.is_some() { problem } else { problem.hint("mend the SQL there") }
}

impl Steps {
    fn of(texts: Vec<SqlText>, definitions: Vec<Definition>) -> Result<Self, Problem> {
        let mut scripts = Scripts::default();
        for SqlText { name, text } in &texts {
            let script = scripts.add(name, text).map_err(wrong)?;
            plain_sql(script)?;
        }
        scripts.check_variables(&known(&definitions)).map_err(wrong)?;
        Ok(Self { texts, scripts: Arc::new(scripts), definitions })
    }

    /// Its statements, over all texts.
    pub fn statements(&self) -> usize {
        self.scripts.statements().count()
    }
}

/// Nothing but SQL: what has no client to run for has no backslash commands.
fn plain_sql(script: &Script) -> Result<(), Problem> {
    let is_sql = |action: &Action| matches!(action, Action::Sql(sql) if sql.store.is_none());
    match script.commands.iter().find(|command| !is_sql(&command.action)) {
        None => Ok(()),
        Some(command) => {
            let what =
                format!("{}:{}: backslash commands belong in scripts", script.name, command.line_number);
            let hint = "write plain SQL here; loops can stand in DO $$ … $$";
            Err(Problem::wrong_request(what).detail(command.line.clone()).hint(hint))
        }
    }
}

impl Work {
    /// A built-in transaction alone.
    pub fn builtin(builtin: Builtin) -> Self {
        Self { builtin: Some(builtin), ..Self::script(builtin.name(), builtin.scripts()) }
    }

    /// Scripts of somebody's own, by what reports call them.
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
        }
    }

    /// Whether its scripts are the plan's own.
    pub fn is_own(&self) -> bool {
        self.builtin.is_none() && self.tpcc.is_none()
    }

    fn of(
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
            scripts.reserve(DELIVERED);
        }
        let terminals = plan.tpcc.iter().flat_map(|_| VARIABLES);
        let known: Vec<_> = known(&definitions).into_iter().chain(terminals).collect();
        scripts.check_variables(&known).map_err(wrong)?;
        scripts.check_protocol(plan.protocol).map_err(wrong)?;
        let reset = plan.reset.as_ref().map(|text| {
            let name = inline_name(plan_file, &format!("{}: reset", plan.title()));
            Steps::of(vec![SqlText { name, text: text.clone() }], definitions.clone())
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

    fn material(plan: &str) -> Result<Material, Problem> {
        let plan = Plan::from_toml(&format!("name = \"x\"\n{plan}"), "x.toml")?;
        Material::of(&plan, "x.toml", &mut |path| match path {
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
    fn wrong_sql_is_told_with_its_file_and_line() {
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
