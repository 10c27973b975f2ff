//! `--steps`: a sequence of rates or client counts.

use pgdyno_core::span::Span;
use pgdyno_engine::{Load, LoadStep};

use super::say::{ExitResult, Say};

/// Maximum number of steps: each has a histogram in every thread.
const MAX_STEPS: usize = 100;
const NS_PER_S: u64 = 1_000_000_000;

/// Steps of a run, all of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps(Vec<LoadStep>);

impl Steps {
    /// Parses `rate:1000@30s,2000@1min` or `clients:8@30s,16@30s`.
    ///
    /// # Errors
    /// The text is invalid; already printed.
    pub fn read(say: &Say, text: &str) -> ExitResult<Self> {
        let (kind, list) = text.split_once(':').unwrap_or((text, ""));
        let load: fn(&str) -> Option<Load> = match kind {
            "rate" => |number| number.parse().ok().filter(|r| (1e-3..=1e12).contains(r)).map(Load::Rate),
            "clients" => {
                |number| number.parse().ok().filter(|c| (1..=100_000).contains(c)).map(Load::Clients)
            }
            _ => return wrong(say, text, "expecting rate:… or clients:…"),
        };
        let mut steps = Vec::new();
        for part in list.split(',') {
            match step(part.trim(), load) {
                Ok(step) => steps.push(step),
                Err(why) => return wrong(say, text, &why),
            }
        }
        if steps.len() > MAX_STEPS {
            return wrong(say, text, &format!("{} steps are more than {MAX_STEPS}", steps.len()));
        }
        Ok(Self(steps))
    }

    /// The steps, for the driver.
    pub fn loads(&self) -> Vec<LoadStep> {
        self.0.clone()
    }

    /// Total length in seconds.
    pub fn seconds(&self) -> u64 {
        self.0.iter().map(|step| step.duration_ns).sum::<u64>() / NS_PER_S
    }

    /// The largest client count, if the steps are client counts.
    pub fn most_clients(&self) -> Option<u32> {
        let clients = |step: &LoadStep| match step.load {
            Load::Clients(clients) => Some(clients),
            Load::Rate(_) => None,
        };
        self.0.iter().filter_map(clients).max()
    }

    /// The mean rate in transactions per second, if the steps are rates.
    pub fn mean_rate_per_s(&self) -> Option<f64> {
        let due = |step: &LoadStep| match step.load {
            Load::Rate(rate_per_s) => Some(rate_per_s * step.duration_ns as f64),
            Load::Clients(_) => None,
        };
        let total: Option<f64> = self.0.iter().map(due).sum();
        total.map(|total| total / (self.seconds() * NS_PER_S) as f64)
    }
}

fn step(part: &str, load: fn(&str) -> Option<Load>) -> Result<LoadStep, String> {
    let (number, length) =
        part.split_once('@').ok_or_else(|| format!("`{part}` has no length, such as 1000@30s"))?;
    let load = load(number.trim()).ok_or_else(|| format!("`{number}` is no valid rate or client count"))?;
    let span: Span = length.trim().parse().map_err(|error: pgdyno_core::span::NotASpan| error.to_string())?;
    if !span.as_nanos().is_multiple_of(NS_PER_S) {
        return Err(format!("`{length}` is not a number of whole seconds"));
    }
    Ok(LoadStep { duration_ns: span.as_nanos(), load })
}

fn wrong<T>(say: &Say, text: &str, why: &str) -> ExitResult<T> {
    say.error(format!("invalid steps: \"{text}\": {why}"));
    say.hint("Write them as rate:1000@30s,2000@30s or as clients:8@30s,16@1min.");
    Err(1)
}

#[cfg(test)]
mod tests {
    use super::{super::say::tests::capturing, *};

    #[test]
    fn steps_read_as_people_write_them() {
        let (say, _) = capturing();
        let steps = Steps::read(&say, "rate:1000@30s, 2.5@1min").expect("it is right");
        let expected = [(30, Load::Rate(1000.0)), (60, Load::Rate(2.5))];
        let expected = expected.map(|(s, load)| LoadStep { duration_ns: s * NS_PER_S, load });
        assert_eq!((steps.loads(), steps.seconds()), (expected.to_vec(), 90));
        assert_eq!((steps.most_clients(), steps.mean_rate_per_s()), (None, Some(30_150.0 / 90.0)));
        let steps = Steps::read(&say, "clients:8@1,16@2s,4@3s").expect("it is right");
        assert_eq!((steps.most_clients(), steps.mean_rate_per_s(), steps.seconds()), (Some(16), None, 6));
        let many = format!("clients:1@1s{}", ",1@1s".repeat(MAX_STEPS));
        for wrong in [
            "",
            "rate",
            "rate:",
            "speed:1@1s",
            "1000@30s",
            "rate:0@1s",
            "rate:-1@1s",
            "rate:nan@1s",
            "rate:inf@1s",
            "rate:1",
            "rate:1@",
            "rate:1@0s",
            "rate:1@1500ms",
            "rate:1@1s,",
            "rate:1@1s,clients:1@1s",
            "clients:0@1s",
            "clients:1.5@1s",
            "clients:100001@1s",
            &many,
        ] {
            assert_eq!(Steps::read(&say, wrong), Err(1), "{wrong}");
        }
    }
}
