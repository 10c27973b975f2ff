//! Text of a POSIX shell.

use crate::layout::{Layout, Partition};

/// Widest line of a comment.
const WIDEST: usize = 100;
/// Functions that both scripts use.
const FUNCTIONS: &str = include_str!("functions.sh");

/// A word of a command.
#[derive(Debug, Clone)]
pub enum Word {
    /// A text, which is quoted.
    Text(String),
    /// The value of a variable of the script.
    Variable(String),
}

/// A text as a word.
pub fn text(text: impl Into<String>) -> Word {
    Word::Text(text.into())
}

/// The variable that holds the kernel's path of a disk.
pub fn disk(index: usize) -> Word {
    Word::Variable(format!("disk_{}", index + 1))
}

/// The variable that holds the kernel's path of a partition.
pub fn part(partition: &Partition) -> Word {
    Word::Variable(format!("part_{}_{}", partition.disk + 1, partition.number))
}

/// One word of a shell, whatever the text is.
pub fn quote(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=,@%+-".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl Word {
    fn code(&self) -> String {
        match self {
            Self::Text(text) => quote(text),
            Self::Variable(name) => format!("\"${name}\""),
        }
    }

    /// The name of a variable; empty for a text.
    fn name(&self) -> &str {
        match self {
            Self::Text(_) => "",
            Self::Variable(name) => name,
        }
    }
}

/// A script in the making.
#[derive(Debug, Default)]
pub struct Script(String);

impl Script {
    /// Begins a script with its purpose: comments, one for each line, and the functions.
    pub fn new(purpose: &[String]) -> Self {
        let mut script = Self::default();
        script.raw("#!/bin/sh");
        for line in purpose {
            script.comment(line);
        }
        script.raw("set -eu\n");
        script.raw(FUNCTIONS.trim_end());
        script.raw("\nconfirm \"$@\"");
        script
    }

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }

    /// A line of code that has no text of others.
    pub fn raw(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A comment, wrapped, without control characters.
    pub fn comment(&mut self, text: &str) {
        let clean: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let mut line = "#".to_owned();
        for word in clean.split(' ').filter(|word| !word.is_empty()) {
            if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > WIDEST {
                self.raw(&line);
                "#  ".clone_into(&mut line);
            }
            line.push(' ');
            line.push_str(word);
        }
        self.raw(&line);
    }

    /// A heading: an empty line and a comment.
    pub fn heading(&mut self, text: &str) {
        self.raw("");
        self.comment(text);
    }

    /// A command of the script itself.
    pub fn call(&mut self, function: &str, words: impl IntoIterator<Item = Word>) {
        let words: String = words.into_iter().map(|word| format!(" {}", word.code())).collect();
        self.raw(&format!("{function}{words}"));
    }

    /// A command that changes something, which is printed first.
    pub fn step(&mut self, command: &str, words: impl IntoIterator<Item = Word>) {
        self.call(&format!("step {command}"), words);
    }

    /// Names the tools that must be there.
    pub fn need(&mut self, tools: &[&str]) {
        self.call("need", tools.iter().map(|&tool| text(tool)));
    }

    /// Checks that the disks are the ones that were planned with, and names them.
    pub fn identify(&mut self, layout: &Layout) {
        for (index, facts) in layout.request.disks.iter().enumerate() {
            let words = [
                text(&facts.path),
                text(facts.size_bytes.to_string()),
                text(facts.logical_block_bytes.to_string()),
                text(facts.serial.clone().unwrap_or_default()),
            ];
            self.identify_disk(index, words);
        }
    }

    /// Checks one disk: path, bytes, bytes of a logical block, serial number or nothing; and names it.
    pub fn identify_disk(&mut self, index: usize, words: [Word; 4]) {
        self.call("identify", words);
        self.raw(&format!("{}=$disk", disk(index).name()));
    }

    /// Names the partitions of the disks.
    pub fn name_partitions(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            let code = format!(
                "{}=$(part {} {})",
                part(partition).name(),
                disk(partition.disk).code(),
                partition.number
            );
            self.raw(&code);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_words_stay_plain() {
        for text in ["/dev/sdb", "su=65536,sw=8", "-b"] {
            assert_eq!(quote(text), text);
        }
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a'b"), r"'a'\''b'");
    }

    #[test]
    fn comments_are_wrapped() {
        let mut script = Script::default();
        script.comment(&"word ".repeat(40));
        assert!(script.finish().lines().all(|line| line.len() <= WIDEST && line.starts_with("# ")));
    }

    proptest! {
        #[test]
        fn every_text_is_one_word(text in "(\\PC|[\n\t'\"\\\\$`;&|<> ])*") {
            prop_assert_eq!(shlex::split(&quote(&text)), Some(vec![text]));
        }

        #[test]
        fn no_comment_ends_early(text in "(\\PC|[\n\r\t$`'])*") {
            let mut script = Script::default();
            script.comment(&text);
            prop_assert!(script.finish().lines().all(|line| line.starts_with('#')));
        }
    }
}
