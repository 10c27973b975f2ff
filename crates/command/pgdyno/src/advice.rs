//! Advice in the words of the command that was used. Libraries know no command line: their hints name the flag that
//! most commands have, and here it becomes what the command at hand has instead, such as the key of a plan.

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
};

use pgdyno_analysis::doubts::{Key, Measuring};

/// A command that was used.
#[derive(Debug, Clone, Default)]
pub struct Used {
    /// Names of its sub-commands, such as `tpcc run`.
    pub name: String,
    /// The long names of its flags, without dashes.
    pub flags: Vec<String>,
}

/// Flags of loads and servers, and the keys of plans that are the same.
const OF_PLANS: [(&str, &str); 4] = [
    ("--listen", "listen in [server]"),
    ("--rows", "scaleup = { rows = … } in [data]"),
    ("--log-rows", "scaleup = { log_rows = … } in [data]"),
    ("--warehouses", "tpcc = { warehouses = … } in [data]"),
];

static USED: Mutex<Option<Used>> = Mutex::new(None);

/// From now on, advice is for this command.
pub fn is_for(used: Used) {
    *USED.lock().unwrap_or_else(PoisonError::into_inner) = Some(used);
}

/// Whether the command that was used has a flag.
pub fn has(flag: &str) -> bool {
    USED.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|used| used.has(flag))
}

/// Advice for the command that was used.
pub fn fitted(text: &str) -> Cow<'_, str> {
    let used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    used.as_ref().map_or(Cow::Borrowed(text), |used| used.fitted(text))
}

impl Used {
    /// Advice for this command.
    pub fn fitted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (mut fitted, mut rest) = (String::new(), 0);
        for (at, flag) in flags(text) {
            if let Some(instead) = self.instead(flag).filter(|_| !is_of_named_command(&text[..at])) {
                fitted.push_str(&text[rest..at]);
                fitted.push_str(&instead);
                rest = at + flag.len();
            }
        }
        if rest == 0 { Cow::Borrowed(text) } else { Cow::Owned(fitted + &text[rest..]) }
    }

    /// What it has in place of a flag; `None` if it has the flag, or nothing.
    fn instead(&self, flag: &str) -> Option<String> {
        const OF_ARMS: [&str; 3] = ["--data", "--waldir", "--listen"];
        let by = Measuring::of_command(&format!("pgdyno {}", self.name));
        if self.has(flag) || by.names().join(" ") != self.name {
            return None;
        }
        if by == Measuring::Ab && OF_ARMS.contains(&flag) {
            return Some(format!("{}= of an arm", flag.trim_start_matches('-')));
        }
        let of_plan = OF_PLANS.iter().find(|(of, _)| *of == flag).map(|(_, key)| (*key).to_owned());
        if by != Measuring::Bench && of_plan.is_some() {
            return of_plan;
        }
        let key = Key::ALL.into_iter().find(|key| Measuring::ALL.iter().any(|by| key.named(*by) == flag))?;
        Some(key.named(by).to_owned())
    }

    /// Whether it has a flag.
    pub fn has(&self, flag: &str) -> bool {
        let name = flag.trim_start_matches('-');
        self.flags.iter().any(|of| of == name)
    }
}

/// The flags in a text with their places.
pub fn flags(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("--").filter_map(|(at, _)| {
        let is_inside = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
        let name = &text[at + 2..];
        let end = name.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(name.len());
        (!is_inside && end > 1).then(|| (at, text[at..at + 2 + end].trim_end_matches('-')))
    })
}

/// Whether a command is named before a flag, which then is that command's.
fn is_of_named_command(before: &str) -> bool {
    let in_code = before.matches('`').count() % 2 == 1;
    let of_code = before.rsplit('`').next().unwrap_or(before);
    in_code && of_code.starts_with("pgdyno ")
}
