//! Applies patches with `patch` and no fuzz: a patch that only nearly fits is probably meant for another source.

use std::{ffi::OsStr, fs::File, io, path::Path};

use pgdyno_core::problem::Problem;
use pgdyno_host::users::User;
use pgdyno_provision::safe::write_file;

use crate::{
    Request,
    recipe::Content,
    run::{Failure, Step, run},
};

/// Applies a patch to a source. `aside` is a private directory for the file that `patch` reads.
///
/// # Errors
/// If the patch does not apply; the file and the hunk are named.
pub fn apply(
    content: &Content,
    request: &Request,
    source: &Path,
    aside: &Path,
    user: Option<&User>,
    log: &mut File,
) -> Result<(), Problem> {
    let name = &content.patch.name;
    let could_not = |why: String| Problem::could_not(format!("could not apply the patch {name}: {why}"));
    let path = aside.join("patch");
    write_file(&path, &content.bytes, 0o644, None)
        .map_err(|error: io::Error| could_not(error.to_string()))?;
    let program = request.program("patch").unwrap_or_else(|| "patch".into());
    let arguments =
        ["-p1", "--fuzz=0", "--forward", "--batch", "--no-backup-if-mismatch", "--reject-file=-", "-i"];
    let arguments = arguments.map(OsStr::new).into_iter().chain([path.as_os_str()]);
    let step = Step::new(&program, arguments, source, user);
    match run(step, log, &request.stop, &mut |_| {}) {
        Ok(_) => Ok(()),
        Err(Failure::Stopped) => Err(could_not("interrupted".into())),
        Err(Failure::Io(error)) => Err(could_not(error.to_string())),
        Err(Failure::Ended(_, said)) => Err(Problem::wrong_request(could_not(reason(&said)).what)
            .hint("it must apply with `patch -p1`, without fuzz, to this very source")),
    }
}

/// Extracts from the output which hunk does not fit which file.
fn reason(said: &str) -> String {
    let mut file = "a file";
    let mut lines = said.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("patching file ") {
            file = name.trim_matches('\'');
        } else if let Some((hunk, at)) =
            line.strip_prefix("Hunk #").and_then(|rest| rest.split_once(" FAILED at "))
        {
            let at = at.trim_end_matches('.');
            return format!("hunk {hunk} does not fit {file} at line {at}");
        } else if line.contains("previously applied") {
            return format!("{file} already has this change, or the patch is reversed");
        } else if line.starts_with("can't find file to patch") {
            let missing = lines.find_map(|line| line.trim_start_matches('|').strip_prefix("+++ "));
            let missing = missing.and_then(|name| name.split_whitespace().next());
            return format!("there is no file {}", missing.unwrap_or("that it changes"));
        }
    }
    let complaint = said.lines().find(|line| line.contains("****")).or_else(|| said.lines().last());
    complaint.unwrap_or("it gives no reason").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hunk_that_does_not_fit_is_named() {
        let said = "patching file src/a.c\nHunk #1 succeeded at 3.\npatching file src/b.c\nHunk #2 FAILED at 17.\n\
            1 out of 2 hunks FAILED";
        assert_eq!(reason(said), "hunk 2 does not fit src/b.c at line 17");
        let said = "patching file x\nReversed (or previously applied) patch detected!  Skipping patch.";
        assert_eq!(reason(said), "x already has this change, or the patch is reversed");
        let said =
            "can't find file to patch at input line 3\nPerhaps\n|--- a/no.c\n|+++ b/no.c\t2024-01-01\n";
        assert_eq!(reason(said), "there is no file b/no.c");
        let said = "patch: **** malformed patch at line 4: x\n";
        assert_eq!(reason(said), "patch: **** malformed patch at line 4: x");
        assert_eq!(reason(""), "it gives no reason");
    }
}
