//! A plan as a shell script, for who would rather do it by hand.

use std::fmt::Write;

use crate::{
    contents,
    plan::{Plan, name},
};

const HEAD: &str = r#"
# Changes of a host, planned by pgdyno. Each comment has the value that was there.
# Refuses to change anything if a value or a file is not as it was when this was planned.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin

fail() {
    printf '%s: nothing was changed\n' "$1" >&2
    exit 1
}

# The present value: of choices such as "always [madvise] never" the active one.
present() {
    case $1 in
    "$root"/sys/*) sed 's/.*\[\([^]]*\)\].*/\1/' "$1" ;;
    *) cat "$1" ;;
    esac | tr -s '[:space:]' ' ' | sed 's/^ //; s/ $//'
}

expect() {
    [ -r "$1" ] || fail "$1 cannot be read"
    now=$(present "$1")
    [ "$now" = "$2" ] || fail "$1 is '$now' and was '$2' when this was planned"
}
"#;

impl Plan {
    /// A script for sh(1) that applies the changes, for root to read and run. It checks all present values before it
    /// changes the first, and keeps no journal.
    pub fn script(&self) -> String {
        let root = self.root.to_string_lossy();
        let mut script = format!("#!/bin/sh\nroot={}{HEAD}", quoted(root.trim_end_matches('/')));
        if self.root == std::path::Path::new("/") {
            script.push_str("\n[ \"$(id -u)\" = 0 ] || fail 'only root may do this'\n");
        }
        let files = self.files_below();
        script.push('\n');
        for (path, _) in &files {
            script.push_str(&expected_file(path, self.present(path)));
        }
        self.values().for_each(|(path, _, present, _)| {
            let _ = writeln!(script, "expect \"$root\"/{} {}", quoted(path), quoted(present));
        });
        for (path, text) in &files {
            script.push_str(&written_file(path, text));
        }
        for (path, name, present, value) in self.values() {
            let _ = write!(
                script,
                "\n# {name}: was {present}\nprintf '%s\\n' {} > \"$root\"/{}\n",
                quoted(value),
                quoted(path)
            );
        }
        script
    }

    /// Path, name, present and new value of what is written to the kernel.
    fn values(&self) -> impl Iterator<Item = (&str, String, &str, &str)> {
        self.changes().filter_map(|item| {
            let path = item.path.as_deref().filter(|path| *path != contents::LIMITS)?;
            Some((path, name(&item.change.knob), item.present.as_deref()?, item.change.value.as_str()))
        })
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn expected_file(path: &str, present: Option<&str>) -> String {
    let at = format!("\"$root\"/{}", quoted(path));
    match present {
        None => format!("[ ! -e {at} ] || fail /{path}' was not there when this was planned'\n"),
        Some(text) => format!(
            "cmp -s - {at} <<'{end}' || fail /{path}' was changed since this was planned'\n{}{end}\n",
            whole_lines(text),
            end = end_of(text)
        ),
    }
}

fn written_file(path: &str, text: &str) -> String {
    let at = format!("\"$root\"/{}", quoted(path));
    format!(
        "\n# /{path}\nmkdir -p \"$(dirname {at})\"\ncat > {at}.new <<'{end}'\n{}{end}\nmv {at}.new {at}\n",
        whole_lines(text),
        end = end_of(text)
    )
}

/// A document in a script ends with a line feed.
fn whole_lines(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// A line that the text does not have.
fn end_of(text: &str) -> String {
    let mut end = "END".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    end
}
