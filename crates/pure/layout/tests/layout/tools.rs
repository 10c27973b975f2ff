//! Running the tools.

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

/// What a program said, and whether it succeeded.
pub struct Said {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { ok: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn path_of_tools() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

/// Runs a program; `None` if it is not installed.
pub fn run(program: &str, arguments: &[&str]) -> Option<Said> {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path_of_tools()).env("LC_ALL", "C").stdin(Stdio::null());
    command.env("LVM_SUPPRESS_FD_WARNINGS", "1");
    command.output().ok().map(Said::from)
}

/// Runs a program that must succeed.
pub fn must(program: &str, arguments: &[&str]) -> String {
    let said = run(program, arguments).unwrap_or_else(|| panic!("{program} is not installed"));
    assert!(said.ok, "{program} {arguments:?}: {}{}", said.out, said.err);
    said.out
}

/// Whether all these programs are there; reports the test as left out otherwise.
pub fn installed(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| run("which", &[program]).is_none_or(|said| !said.ok));
    if let Some(program) = missing {
        testkit::left_out(&format!("{program} is not installed"));
    }
    missing.is_none()
}

/// A file of this size without content.
pub fn image(path: &Path, bytes: u64) {
    let file = File::create(path).expect("the directory is ours");
    file.set_len(bytes).expect("files may have holes");
}

/// A shell that reads this script, with these arguments.
pub fn shell(options: &[&str], script: &str, arguments: &[&str]) -> Said {
    let mut file = tempfile::NamedTempFile::new().expect("there is a directory for temporary files");
    file.write_all(script.as_bytes()).expect("it takes a script");
    let path = file.path().to_str().expect("its name is plain");
    let mut words = options.to_vec();
    words.push(path);
    words.extend(arguments);
    run("sh", &words).expect("there is a shell")
}
