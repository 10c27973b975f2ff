//! Parses command lines like GNU `getopt_long`: clusters of short options, long options by any unambiguous prefix,
//! operands anywhere, `--` before operands that look like options.
//!
//! No other parser does exactly the same, and existing scripts rely on it.

use std::collections::VecDeque;

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Flag<O> {
    /// The option that it sets.
    pub option: O,
    /// Letter, if there is one.
    pub short: Option<u8>,
    /// Long name without dashes; empty if there is only a letter.
    pub long: &'static str,
    /// Whether it takes a value.
    pub takes_value: bool,
}

/// A command line being parsed.
#[derive(Debug)]
pub struct Getopt<'a, O> {
    program: &'a str,
    /// Options of pgbench, then those that it lacks: the latter never make a prefix of the former ambiguous.
    flags: [&'a [Flag<O>]; 2],
    words: VecDeque<Vec<u8>>,
    /// Rest of a cluster of short options.
    cluster: Vec<u8>,
    operands: Vec<Vec<u8>>,
}

/// An option with its value, which is empty if it takes none.
pub type Found<O> = (O, Vec<u8>);

impl<'a, O: Copy> Getopt<'a, O> {
    /// Parses `words`, the arguments after the program's name.
    pub fn new(
        program: &'a str,
        flags: [&'a [Flag<O>]; 2],
        words: impl IntoIterator<Item = Vec<u8>>,
    ) -> Self {
        let words = words.into_iter().collect();
        Self { program, flags, words, cluster: Vec::new(), operands: Vec::new() }
    }

    /// The next option; `None` after the last.
    ///
    /// # Errors
    /// The line that `getopt_long` would print.
    pub fn next(&mut self) -> Option<Result<Found<O>, String>> {
        if !self.cluster.is_empty() {
            return Some(self.short());
        }
        loop {
            let word = self.words.pop_front()?;
            match word.as_slice() {
                b"--" => {
                    self.operands.extend(self.words.drain(..));
                    return None;
                }
                [b'-', b'-', name @ ..] => return Some(self.long(name)),
                [b'-', letters @ ..] if !letters.is_empty() => {
                    self.cluster = letters.to_vec();
                    return Some(self.short());
                }
                _ => self.operands.push(word),
            }
        }
    }

    /// The operands, in order.
    pub fn operands(self) -> Vec<Vec<u8>> {
        self.operands
    }

    fn short(&mut self) -> Result<Found<O>, String> {
        let letter = self.cluster.remove(0);
        let found = self.all().find(|flag| flag.short == Some(letter)).copied();
        let Some(flag) = found else {
            return Err(format!("{}: invalid option -- '{}'", self.program, shown(&[letter])));
        };
        if !flag.takes_value {
            return Ok((flag.option, Vec::new()));
        }
        if !self.cluster.is_empty() {
            return Ok((flag.option, std::mem::take(&mut self.cluster)));
        }
        match self.words.pop_front() {
            Some(value) => Ok((flag.option, value)),
            None => Err(format!("{}: option requires an argument -- '{}'", self.program, shown(&[letter]))),
        }
    }

    fn long(&mut self, text: &[u8]) -> Result<Found<O>, String> {
        let (name, value) = match text.iter().position(|&byte| byte == b'=') {
            Some(at) => (&text[..at], Some(text[at + 1..].to_vec())),
            None => (text, None),
        };
        let flag = self.by_name(name, text)?;
        let program = self.program;
        match (flag.takes_value, value) {
            (false, None) => Ok((flag.option, Vec::new())),
            (false, Some(_)) => Err(format!("{program}: option '--{}' doesn't allow an argument", flag.long)),
            (true, Some(value)) => Ok((flag.option, value)),
            (true, None) => match self.words.pop_front() {
                Some(value) => Ok((flag.option, value)),
                None => Err(format!("{program}: option '--{}' requires an argument", flag.long)),
            },
        }
    }

    /// Finds an option by its name or by an unambiguous prefix of it.
    fn by_name(&self, name: &[u8], text: &[u8]) -> Result<Flag<O>, String> {
        if let Some(exact) = self.all().find(|flag| !flag.long.is_empty() && flag.long.as_bytes() == name) {
            return Ok(*exact);
        }
        for flags in self.flags {
            let mut fitting =
                flags.iter().filter(|flag| !flag.long.is_empty() && flag.long.as_bytes().starts_with(name));
            match (fitting.next(), fitting.next()) {
                (Some(only), None) => return Ok(*only),
                (Some(first), Some(second)) => {
                    let all = [first, second].into_iter().chain(fitting);
                    let names: String = all.map(|flag| format!(" '--{}'", flag.long)).collect();
                    let name = shown(name);
                    return Err(format!(
                        "{}: option '--{name}' is ambiguous; possibilities:{names}",
                        self.program
                    ));
                }
                _ => {}
            }
        }
        Err(format!("{}: unrecognized option '--{}'", self.program, shown(text)))
    }

    fn all(&self) -> impl Iterator<Item = &Flag<O>> {
        self.flags.into_iter().flatten()
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag<char>] = &[
        Flag { option: 'a', short: Some(b'a'), long: "all", takes_value: false },
        Flag { option: 'b', short: Some(b'b'), long: "bare", takes_value: true },
        Flag { option: 'c', short: None, long: "barest", takes_value: false },
        Flag { option: 'd', short: Some(b'd'), long: "", takes_value: false },
    ];
    const OTHERS: &[Flag<char>] = &[
        Flag { option: 'x', short: None, long: "align", takes_value: false },
        Flag { option: 'y', short: None, long: "extra", takes_value: true },
    ];

    /// Options with values, and operands; or the first complaint.
    fn read(line: &str) -> Result<String, String> {
        let words = line.split_whitespace().map(|word| word.as_bytes().to_vec());
        let mut getopt = Getopt::new("prog", [FLAGS, OTHERS], words);
        let mut said = Vec::new();
        while let Some(found) = getopt.next() {
            let (option, value) = found?;
            said.push(if value.is_empty() {
                option.to_string()
            } else {
                format!("{option}={}", shown(&value))
            });
        }
        said.extend(getopt.operands().iter().map(|operand| format!("<{}>", shown(operand))));
        Ok(said.join(" "))
    }

    /// What glibc's getopt_long does with the same words.
    #[test]
    fn command_lines_are_read_as_glibc_reads_them() {
        for (line, result) in [
            ("-a -b 1", "a b=1"),
            ("-ab1", "a b=1"),
            ("-adb 1 -a", "a d b=1 a"),
            ("-b -a", "b=-a"),
            ("-b=1", "b==1"),
            ("--bare=1 --bare 2 --bare=", "b=1 b=2 b"),
            ("--bare -- x", "b=-- <x>"),
            ("--al", "a"),
            ("--ali", "x"),
            ("--bares", "c"),
            ("--e 3", "y=3"),
            ("x -a y -- -a", "a <x> <y> <-a>"),
            ("- -a", "a <->"),
            ("", ""),
        ] {
            assert_eq!(read(line).as_deref(), Ok(result), "{line}");
        }
        for (line, complaint) in [
            ("-z", "prog: invalid option -- 'z'"),
            ("-ab", "prog: option requires an argument -- 'b'"),
            ("--bad=1", "prog: unrecognized option '--bad=1'"),
            ("---all", "prog: unrecognized option '---all'"),
            ("--ba", "prog: option '--ba' is ambiguous; possibilities: '--bare' '--barest'"),
            ("--all=1", "prog: option '--all' doesn't allow an argument"),
            ("--extra", "prog: option '--extra' requires an argument"),
        ] {
            assert_eq!(read(line), Err(complaint.to_owned()), "{line}");
        }
    }
}
