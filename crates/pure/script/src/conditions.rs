//! Checks the nesting of `\if`, `\elif`, `\else` and `\endif`.

use super::{Action, Command, error::Fault};

/// Checks the commands of a script, each given with its first byte; messages are pgbench's.
pub(super) fn check(script: &str, commands: &[(Command, usize)], text: &[u8]) -> Result<(), Fault> {
    // For every open \if: its index, and whether its \else was seen.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (index, (command, at)) in commands.iter().enumerate() {
        let wrong = |what: &str| Err(fault(script, index, what).show_line(text, *at));
        match &command.action {
            Action::If(_) => open.push((*at, false)),
            Action::Elif(_) => match open.last() {
                None => return wrong("\\elif without matching \\if"),
                Some((_, true)) => return wrong("\\elif after \\else"),
                Some((_, false)) => {}
            },
            Action::Else => match open.last_mut() {
                None => return wrong("\\else without matching \\if"),
                Some((_, true)) => return wrong("\\else after \\else"),
                Some((_, had_else)) => *had_else = true,
            },
            Action::Endif if open.pop().is_none() => return wrong("\\endif without matching \\if"),
            _ => {}
        }
    }
    match open.last() {
        Some((at, _)) => {
            Err(fault(script, commands.len(), "\\if without matching \\endif").show_line(text, *at))
        }
        None => Ok(()),
    }
}

fn fault(script: &str, index: usize, what: &str) -> Fault {
    Fault::of_script(format!("condition error in script \"{script}\" command {}: {what}", index + 1))
}
