//! A rule of a setting, and the value that it judges.

use std::collections::BTreeMap;

use pgdyno_core::facts::Choice;

use super::{
    catalogue::{Kind, entry},
    inputs::Inputs,
    value,
};
use crate::{Finding, Page, Standing, Today, here};

/// A rule of a setting of `postgresql.conf`.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What is to be known of it; its majors are those of the page.
    pub page: Page,
    /// The value for a server with these facts; `None` where the default is right or nothing can be recommended.
    pub recommend: fn(&Inputs<'_>) -> Option<Choice>,
    /// Judges a value that a configuration gives to it, on a major that has the setting.
    pub judge: fn(&Given<'_>) -> Finding,
}

impl Rule {
    /// A rule that recommends nothing, and judges by the page: the default is fine, and another value is not judged
    /// where it depends.
    pub(crate) const fn of(page: Page) -> Self {
        Self { page, recommend: |_| None, judge: |given| given.by_recommendation() }
    }

    /// With a recommendation.
    pub(crate) const fn recommends(self, recommend: fn(&Inputs<'_>) -> Option<Choice>) -> Self {
        Self { recommend, ..self }
    }

    /// With a judgement of its own.
    pub(crate) const fn judges(self, judge: fn(&Given<'_>) -> Finding) -> Self {
        Self { judge, ..self }
    }

    /// The value for a server with these facts, if its major has the setting.
    pub fn choose(&self, inputs: &Inputs<'_>) -> Option<Choice> {
        entry(self.page.name, inputs.version_num).and_then(|_| (self.recommend)(inputs))
    }
}

/// A page of a setting.
pub(crate) const fn page(
    name: &'static str,
    today: Today,
    what: &'static str,
    why: &'static str,
    source: &'static str,
) -> Page {
    Page { name, what, today, why, source, ..Page::EMPTY }
}

/// A value that a rule chose.
pub(crate) fn choice(name: &str, value: impl ToString, reason: impl Into<String>) -> Option<Choice> {
    Some(Choice { name: name.to_owned(), value: value.to_string(), reason: reason.into() })
}

/// Judges a setting of which any value is as good as another: who uses the server decides.
pub(crate) fn any(given: &Given<'_>) -> Finding {
    given.fine(if given.is(given.default()) { "it is the default" } else { given.rule.page.why })
}

/// A value that a configuration gives to a setting.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Rule of the setting.
    pub rule: &'a Rule,
    /// The value as it is written.
    pub value: &'a str,
    /// The whole configuration, by names in lower case.
    pub conf: &'a BTreeMap<String, String>,
    /// What it is judged by.
    pub inputs: &'a Inputs<'a>,
}

impl Given<'_> {
    fn name(&self) -> &'static str {
        self.rule.page.name
    }

    /// A finding about this value.
    pub(crate) fn finding(&self, standing: Standing, reason: impl Into<String>) -> Finding {
        Finding {
            name: self.name().to_owned(),
            object: String::new(),
            standing,
            present: Some(self.value.to_owned()),
            recommended: None,
            reason: reason.into(),
            change: None,
        }
    }

    /// It is as it should be.
    pub(crate) fn fine(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Fine, reason)
    }

    /// The server does not start with it.
    pub(crate) fn refused(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Refused, reason)
    }

    /// It can lose data or bring the server down.
    pub(crate) fn danger(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Dangerous, reason)
    }

    /// It can lose data or bring the server down; the recommended value instead.
    pub(crate) fn dangerous(&self, recommended: &str, reason: impl Into<String>) -> Finding {
        self.danger(reason).recommend(recommended)
    }

    /// Another value would serve better.
    pub(crate) fn improve(&self, recommended: impl ToString, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Improve, reason).recommend(recommended)
    }

    /// It does nothing here.
    pub(crate) fn no_effect(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::NoEffect, reason)
    }

    /// It may be right or not: no rule says which.
    pub(crate) fn unjudged(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Unknown, reason)
    }

    /// The default of this major.
    pub(crate) fn default(&self) -> &'static str {
        self.default_of(self.name())
    }

    /// The default of a setting on this major; empty if it has none.
    fn default_of(&self, name: &str) -> &'static str {
        entry(name, self.inputs.version_num).map_or("", |entry| entry.default)
    }

    /// Whether it means the same as another value.
    pub(crate) fn is(&self, other: &str) -> bool {
        let inputs = self.inputs;
        value::is_same(self.name(), inputs.version_num, self.value, other, inputs.wal_segment_bytes)
    }

    /// Whether it turns the setting off.
    pub(crate) fn is_off(&self) -> bool {
        value::switch(self.value) == Some(false)
    }

    /// It as a number: bytes, milliseconds, or as it is.
    pub(crate) fn number(&self) -> Option<f64> {
        self.number_in(self.name(), self.value)
    }

    /// It in bytes; 0 or less is `None`, as is what is no number.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.number().filter(|bytes| *bytes > 0.0).map(|bytes| bytes as u64)
    }

    /// The value in force of another setting: that of the configuration, or the default.
    pub(crate) fn other(&self, name: &str) -> &str {
        self.conf.get(name).map_or_else(|| self.default_of(name), String::as_str)
    }

    /// The number in force of another setting.
    pub(crate) fn other_number(&self, name: &str) -> Option<f64> {
        self.number_in(name, self.other(name))
    }

    /// Whether another setting is in force as off.
    pub(crate) fn is_other_off(&self, name: &str) -> bool {
        value::switch(self.other(name)) == Some(false)
    }

    fn number_in(&self, name: &str, text: &str) -> Option<f64> {
        match entry(name, self.inputs.version_num)?.kind {
            Kind::Int(unit) | Kind::Real(unit) => value::number(text, unit, self.inputs.wal_segment_bytes),
            _ => None,
        }
    }

    /// Compares it with what the rule recommends; without a recommendation, with the default.
    pub(crate) fn by_recommendation(&self) -> Finding {
        match self.rule.choose(self.inputs) {
            Some(choice) if self.is(&choice.value) => self.fine(choice.reason),
            Some(choice) => self.improve(choice.value, choice.reason),
            None => self.by_default(),
        }
    }

    /// Compares it with the default: no rule judges another value where it depends.
    pub(crate) fn by_default(&self) -> Finding {
        let page = &self.rule.page;
        if self.is(self.default()) {
            return self.fine("it is the default");
        }
        match page.today {
            Today::Depends | Today::Kept | Today::NotJudged | Today::Term => self.unjudged(page.why),
            Today::Obsolete => self.finding(Standing::Obsolete, page.why),
            Today::NoEffect => self.no_effect(page.why),
            Today::Dangerous => self.dangerous(self.default(), page.why),
            Today::DefaultIsRight => self.improve(self.default(), page.why),
        }
    }

    /// Compares a size with what the rule recommends: from half to twice of it is close enough.
    pub(crate) fn by_size(&self) -> Finding {
        let Some(choice) = self.rule.choose(self.inputs) else { return self.by_default() };
        let of = |text: &str| self.number_in(self.name(), text).unwrap_or(f64::NAN);
        let (present, recommended) = (of(self.value), of(&choice.value));
        if self.is(&choice.value) {
            self.fine(choice.reason)
        } else if (recommended / 2.0..=recommended * 2.0).contains(&present) {
            self.fine(format!("close to {}: {}", choice.value, choice.reason))
        } else {
            self.improve(choice.value, choice.reason)
        }
    }
}

/// Completes the pages of settings.
impl Page {
    /// First major that has it: 9 is 9.6.
    pub(crate) const fn since(self, major: u32) -> Self {
        Self { since_major: Some(major), ..self }
    }

    /// First major that no longer has it.
    pub(crate) const fn until(self, major: u32) -> Self {
        Self { until_major: Some(major), ..self }
    }

    /// What it was measured to bring, on one machine.
    pub(crate) const fn brings(self, result: &'static str) -> Self {
        Self { gain: here(result), ..self }
    }

    /// What a wrong value can do.
    pub(crate) const fn can(self, danger: &'static str) -> Self {
        Self { danger, ..self }
    }

    /// The majors of PostgreSQL that it concerns: `13 and later`, `9.6 to 16`; empty for all from 9.5 on.
    pub fn majors(&self) -> String {
        let name = Self::major_words;
        match (self.since_major, self.until_major) {
            (None, None) => String::new(),
            (Some(since), None) => format!("{} and later", name(since)),
            (since, Some(until)) => {
                let first = since.map_or_else(|| "9.5".to_owned(), name);
                let last = if until == 10 { "9.6".to_owned() } else { (until - 1).to_string() };
                if first == last { first } else { format!("{first} to {last}") }
            }
        }
    }
}

/// Sections of the manual that pages refer to.
pub(crate) mod manual {
    /// Write-ahead log.
    pub const WAL: &str = "PostgreSQL manual, Server Configuration, \"Write Ahead Log\"";
    /// Resources.
    pub const RESOURCES: &str = "PostgreSQL manual, Server Configuration, \"Resource Consumption\"";
    /// Planner.
    pub const PLANNER: &str = "PostgreSQL manual, Server Configuration, \"Query Planning\"";
    /// Connections.
    pub const CONNECTIONS: &str =
        "PostgreSQL manual, Server Configuration, \"Connections and Authentication\"";
    /// Logging.
    pub const LOGGING: &str = "PostgreSQL manual, Server Configuration, \"Error Reporting and Logging\"";
    /// Statistics.
    pub const STATISTICS: &str = "PostgreSQL manual, Server Configuration, \"Run-time Statistics\"";
    /// Vacuum, in its sections up to 17 and in that of 18.
    pub const VACUUM: &str = "PostgreSQL manual, Server Configuration, \"Vacuuming\" (up to 17 \
     \"Automatic Vacuuming\")";
    /// Client defaults.
    pub const CLIENT: &str = "PostgreSQL manual, Server Configuration, \"Client Connection Defaults\"";
    /// Locks.
    pub const LOCKS: &str = "PostgreSQL manual, Server Configuration, \"Lock Management\"";
    /// Replication.
    pub const REPLICATION: &str = "PostgreSQL manual, Server Configuration, \"Replication\"";
    /// Freezing.
    pub const WRAPAROUND: &str =
        "PostgreSQL manual, Routine Vacuuming, \"Preventing Transaction ID Wraparound Failures\"";
}
