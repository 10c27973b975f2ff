//! Checks workloads, variables and sizes of a plan.

use pgdyno_script::valid_name;

use super::{
    measure::{client_list, times},
    tpcc,
};
use crate::{
    Plan, Scale, ScaleupPlan, ScriptPlan, Source, VariableValue, Variables, WorkloadPlan,
    fault::{Fault, fault, shown},
    work::{MAX_SCRIPTS, MAX_WORKLOADS},
};

/// Longest name of a workload or a size, in characters.
const MAX_NAME: usize = 40;

/// Variables that pgdyno sets: those of pgbench, then the clients of this run and the largest client count of any run.
pub const RESERVED: [&str; 6] =
    ["scale", "client_id", "random_seed", "default_seed", "clients", "max_clients"];

/// Appends the faults of data, variables, workloads and sizes.
pub(super) fn own_work(plan: &Plan, faults: &mut Vec<Fault>) {
    data(plan, faults);
    let given = given_names(plan);
    variables("variables", &plan.variables, &given, faults);
    workloads(plan, &given, faults);
    sizes(plan, &given, faults);
    tpcc::faults(plan, faults);
}

/// Names of the variables that are set from elsewhere than `[variables]`.
fn given_names(plan: &Plan) -> Vec<&'static str> {
    let scaleup = plan.data.scaleup.is_some() || plan.size.values().any(|size| size.scaleup.is_some());
    let loaded = scaleup.then_some(ScaleupPlan::VARIABLES);
    RESERVED.into_iter().chain(loaded.into_iter().flatten()).collect()
}

fn data(plan: &Plan, faults: &mut Vec<Fault>) {
    let data = &plan.data;
    if data.setup.as_deref().is_some_and(is_no_path) {
        faults.push(fault("data.setup", "`setup` names no file", "write its path, such as \"setup.sql\""));
    }
    if data.setup_text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        faults.push(fault("data.setup_text", "`setup_text` is empty", "write SQL, or leave it out"));
    }
    let builtin = plan.workload.iter().position(|one| one.parts().iter().any(is_builtin));
    if let (Scale::None, Some(index)) = (data.scale, builtin) {
        let what = "a built-in script needs the TPC-B tables, and the scale is \"none\"";
        let path = format!("workload[{index}]");
        faults.push(fault(path, what, "give `scale` in [data] a number, or leave it out"));
    }
    if data.scaleup.is_some() && plan.has_tpcb() {
        let what = "the plan loads both the TPC-B tables and those of `scaleup`";
        let hint = "leave `scale` out and use no built-in script, or leave `scaleup` out";
        faults.push(fault("data.scaleup", what, hint));
    }
}

fn is_no_path(path: &str) -> bool {
    path.trim().is_empty() || path.contains('\0')
}

fn is_builtin(part: &ScriptPlan) -> bool {
    part.script.as_ref().is_some_and(|source| source.builtin().is_some())
}

fn variables(path: &str, variables: &Variables, given: &[&str], faults: &mut Vec<Fault>) {
    for (name, value) in variables {
        let path = format!("{path}.{name}");
        let known = shown(name);
        if given.contains(&name.as_str()) {
            let what = format!("the variable `{known}` is set by pgdyno itself");
            faults.push(fault(path, what, "choose another name"));
        } else if !valid_name(name.as_bytes()) || name.len() > 63 {
            let what = format!("`{known}` cannot be the name of a variable");
            faults.push(fault(path, what, "use letters, digits and underscores, no digit first"));
        } else if matches!(value, VariableValue::Double(value) if !value.is_finite()) {
            faults.push(fault(
                path,
                format!("the value of `{known}` is not a finite number"),
                "write a finite number",
            ));
        } else if matches!(value, VariableValue::Text(text) if text.is_empty() || text.contains('\0')) {
            faults.push(fault(
                path,
                format!("the value of `{known}` is empty"),
                "write at least one character",
            ));
        }
    }
}

fn workloads(plan: &Plan, given: &[&str], faults: &mut Vec<Fault>) {
    let workloads = &plan.workload;
    if workloads.is_empty() && plan.stage.is_empty() {
        let hint = "add a [[workload]] with a script, such as \"select-only\"";
        faults.push(fault("workload", "the plan has no workload", hint));
    }
    if workloads.len() > MAX_WORKLOADS {
        let what = format!("{} workloads are more than {MAX_WORKLOADS}", workloads.len());
        faults.push(fault("workload", what, "split the plan"));
    }
    for (index, workload) in workloads.iter().enumerate() {
        let path = format!("workload[{index}]");
        let before = faults.len();
        transactions(&path, workload, faults);
        let has_loads = workloads.iter().any(|workload| !workload.load.is_default());
        title(&path, workload, has_loads, faults);
        variables(&format!("{path}.define"), &workload.define, given, faults);
        if let Some(clients) = &workload.clients {
            client_list(&format!("{path}.clients"), clients, faults);
        }
        let same =
            |other: &WorkloadPlan| (other.title(), other.protocol) == (workload.title(), workload.protocol);
        if faults.len() == before && workloads[..index].iter().any(same) {
            let (title, protocol) = (shown(workload.title()), workload.protocol.name());
            let what = format!("the workload {title} over the {protocol} protocol is listed twice");
            let hint = match workload.as_builtin() {
                Some(_) if workload.load.is_default() => {
                    "use `blocks` in [measure] to run a workload more than once"
                }
                Some(_) => "give each a `name` of its own",
                None => "give each a `name` of its own; `blocks` in [measure] runs a workload more than once",
            };
            faults.push(fault(format!("{path}.script"), what, hint));
        }
    }
}

/// Checks that a workload is one script, one text, or a list of them.
fn transactions(path: &str, workload: &WorkloadPlan, faults: &mut Vec<Fault>) {
    let tpcc = workload.tpcc.is_some();
    let ways = [workload.script.is_some(), workload.text.is_some(), !workload.scripts.is_empty(), tpcc];
    let count = ways.into_iter().filter(|way| *way).count();
    if count != 1 || tpcc {
        if count == 1 {
            return;
        }
        let what = match count {
            0 => "the workload has no `script`",
            _ => "the workload has more than one of `script`, `text`, `scripts` and `tpcc`",
        };
        faults.push(fault(path, what, "write one of them; `scripts` is a list of several with weights"));
        return;
    }
    let several = !workload.scripts.is_empty();
    for (at, part) in workload.parts().iter().enumerate() {
        let path = if several { format!("{path}.scripts[{at}]") } else { path.to_owned() };
        transaction(&path, part, faults);
    }
    let heaviest = workload.parts().iter().map(|part| part.weight).max().unwrap_or(0);
    if workload.scripts.len() > MAX_SCRIPTS {
        let what = format!("{} scripts are more than {MAX_SCRIPTS}", workload.scripts.len());
        faults.push(fault(format!("{path}.scripts"), what, "leave some out"));
    } else if heaviest == 0 {
        let what = "the weights of the scripts are all 0";
        faults.push(fault(format!("{path}.scripts"), what, "give one of them a weight of 1 or more"));
    }
}

fn transaction(path: &str, part: &ScriptPlan, faults: &mut Vec<Fault>) {
    match (&part.script, &part.text) {
        (Some(Source::File(file)), None) if is_no_path(file) => {
            faults.push(fault(format!("{path}.script"), "`script` names no file", "write its path"));
        }
        (None, Some(text)) if text.trim().is_empty() => {
            faults.push(fault(format!("{path}.text"), "`text` is empty", "write at least one SQL statement"));
        }
        (None, None) | (Some(_), Some(_)) => {
            let what = "a script has either `script` or `text`";
            faults.push(fault(path, what, "write one of them"));
        }
        _ => {}
    }
}

/// Checks the name of a workload, and that a built-in script has only the keys it may have. It may have a name where
/// workloads have tables of their own.
fn title(path: &str, workload: &WorkloadPlan, has_loads: bool, faults: &mut Vec<Fault>) {
    if let Some(builtin) = workload.as_builtin() {
        let given = [
            ("name", workload.name.is_some() && !has_loads),
            ("reset", workload.reset.is_some()),
            ("define", !workload.define.is_empty()),
        ];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
            let what = format!("a built-in script cannot have a `{key}`");
            let hint = format!(
                "leave it out, since the check of {} relies on its name and tables; or use a script of your own",
                builtin.name()
            );
            faults.push(fault(format!("{path}.{key}"), what, hint));
        } else if workload.name.is_some() {
            name(path, workload, faults);
        }
        return;
    }
    if workload.reset.as_deref().is_some_and(|reset| reset.trim().is_empty()) {
        faults.push(fault(format!("{path}.reset"), "`reset` is empty", "write SQL, or leave it out"));
    }
    name(path, workload, faults);
}

fn name(path: &str, workload: &WorkloadPlan, faults: &mut Vec<Fault>) {
    let hint = "use 1 to 40 letters, digits, dots, dashes and underscores, a letter or digit first";
    let name = workload.title();
    if workload.name.is_none() && workload.tpcc.is_none() && !matches!(workload.script, Some(Source::File(_)))
    {
        faults.push(fault(path, "the workload has no `name`", "add name = \"…\", the name used in reports"));
    } else if !is_name(name) {
        let what = format!("`{}` cannot name a workload", shown(name));
        faults.push(fault(format!("{path}.name"), what, format!("give it a `name`: {hint}")));
    } else if pgdyno_script::Builtin::by_name(name).is_some() {
        let what = format!("`{name}` is the name of a built-in script");
        faults.push(fault(format!("{path}.name"), what, "give the workload a `name` of its own"));
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_alphanumeric()) && name.chars().all(plain) && name.len() <= MAX_NAME
}

/// Checks that every size makes a valid plan and changes only variables that exist.
fn sizes(plan: &Plan, given: &[&str], faults: &mut Vec<Fault>) {
    for (name, size) in &plan.size {
        let path = format!("size.{name}");
        if !is_name(name) || name.contains('.') {
            let what = format!("`{}` cannot name a size", shown(name));
            faults.push(fault(path, what, "use a word, such as [size.small]"));
            continue;
        }
        variables(&format!("{path}.variables"), &size.variables, given, faults);
        if size.scaleup.is_some() && plan.data.scaleup.is_none() {
            let hint = "write scaleup = { rows = … } in [data] too: those are its rows without --size";
            faults.push(fault(format!("{path}.scaleup"), "there is no `scaleup` in [data]", hint));
        }
        if size.scale.is_some() && !plan.has_tpcb() {
            let hint = "write `scale` in [data] too: that is its scale without --size";
            faults.push(fault(format!("{path}.scale"), "the plan has no TPC-B tables", hint));
        }
        if size.tpcc.is_some() && plan.data.tpcc.is_none() {
            let hint = "write tpcc = { warehouses = … } in [data] too: those are its tables without --size";
            faults.push(fault(format!("{path}.tpcc"), "there is no `tpcc` in [data]", hint));
        }
        if let Some(tpcc) = &size.tpcc {
            tpcc::sets(&format!("{path}.tpcc"), tpcc, faults);
        }
        if let Some(missing) = size.variables.keys().find(|name| !plan.variables.contains_key(*name)) {
            let what = format!("the variable `{}` is not in [variables]", shown(missing));
            let hint = "write it there too: that is its value without --size";
            faults.push(fault(format!("{path}.variables.{missing}"), what, hint));
        }
        let mut alone = Plan::new("x", Vec::new());
        size.apply(&mut alone);
        let mut wrong = Vec::new();
        if let Some(clients) = &size.clients {
            client_list("measure.clients", clients, &mut wrong);
        }
        times(&alone, &mut wrong);
        faults.extend(
            wrong.into_iter().map(|fault| Fault { path: fault.path.replacen("measure", &path, 1), ..fault }),
        );
    }
}
