//! Samples that are summed up by call stack and by function, in bounded memory.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    fmt::Write,
};

use pgdyno_core::{
    observe::Role,
    profile::{Profile, Side, SymbolUse},
};

use crate::profile::script::{Frame, UNKNOWN};

/// Most stacks that differ: further ones are summed up as one.
const MOST_STACKS: usize = 10_000;
/// Most functions that differ: further ones count as code without a name.
const MOST_SYMBOLS: usize = 100_000;
/// Functions of the table: those with the most samples of their own, and those with the most in all.
const MOST_BY_SELF: usize = 40;
const MOST_BY_TOTAL: usize = 20;
/// The name of all stacks beyond the limit.
const OTHER_STACKS: &str = "[other stacks]";
/// What follows the functions of the kernel, as in other tools for flame graphs.
const KERNEL_SUFFIX: &str = "_[k]";

/// Samples by stack and by function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folded {
    functions: Vec<Function>,
    /// Numbers of functions by module and name.
    numbers: HashMap<String, HashMap<String, u32>>,
    stacks: HashMap<Stack, u64>,
    /// Samples of stacks beyond the most.
    other_stacks: u64,
    samples: u64,
    lost: u64,
    unknown: u64,
    /// Samples without a frame.
    empty: u64,
    event: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Function {
    name: String,
    module: String,
    side: Side,
    self_samples: u64,
    total_samples: u64,
}

/// A role of the process, and functions from the outermost to the innermost one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stack {
    role: Role,
    functions: Box<[u32]>,
}

impl Folded {
    /// Adds a sample of a process, with its functions from the innermost to the outermost one.
    pub(crate) fn add(&mut self, role: Role, innermost_first: &[u32]) {
        self.samples += 1;
        match innermost_first.first() {
            Some(own) => {
                let own = &mut self.functions[*own as usize];
                own.self_samples += 1;
                self.unknown += u64::from(own.name == UNKNOWN);
            }
            None => self.empty += 1,
        }
        // A function that calls itself counts once.
        for number in innermost_first.iter().collect::<BTreeSet<_>>() {
            self.functions[*number as usize].total_samples += 1;
        }
        self.add_stack(Stack { role, functions: innermost_first.iter().rev().copied().collect() }, 1);
    }

    fn add_stack(&mut self, stack: Stack, samples: u64) {
        let has_room = self.stacks.len() < MOST_STACKS;
        match self.stacks.get_mut(&stack) {
            Some(count) => *count += samples,
            None if has_room => drop(self.stacks.insert(stack, samples)),
            None => self.other_stacks += samples,
        }
    }

    /// The number of the function of a frame.
    pub(crate) fn function(&mut self, frame: &Frame<'_>, program: Option<&str>) -> u32 {
        let side = frame.side(program);
        self.number(frame.name, frame.module_name(side), side)
    }

    fn number(&mut self, name: &str, module: &str, side: Side) -> u32 {
        let known = self.numbers.get(module).and_then(|of| of.get(name));
        if let Some(number) = known {
            return *number;
        }
        if self.functions.len() >= MOST_SYMBOLS && name != UNKNOWN {
            return self.number(UNKNOWN, module, side);
        }
        let number = self.functions.len() as u32;
        let (name, module) = (name.to_owned(), module.to_owned());
        self.numbers.entry(module.clone()).or_default().insert(name.clone(), number);
        self.functions.push(Function { name, module, side, self_samples: 0, total_samples: 0 });
        number
    }

    /// Counts events that were lost.
    pub(crate) fn lose(&mut self, events: u64) {
        self.lost += events;
    }

    /// Names the event that was sampled.
    pub(crate) fn of_event(&mut self, event: &str) {
        if self.event.is_none() {
            self.event = Some(event.to_owned());
        }
    }

    /// Adds the samples of another recording.
    pub fn merge(&mut self, other: &Self) {
        let translated: Vec<u32> =
            other.functions.iter().map(|of| self.number(&of.name, &of.module, of.side)).collect();
        let new = |number: &u32| translated[*number as usize];
        // Functions have the samples of all stacks, also of those that are kept as a sum only.
        for (number, of) in translated.iter().zip(&other.functions) {
            let own = &mut self.functions[*number as usize];
            own.self_samples += of.self_samples;
            own.total_samples += of.total_samples;
        }
        for (stack, samples) in &other.stacks {
            let functions = stack.functions.iter().map(new).collect();
            self.add_stack(Stack { role: stack.role, functions }, *samples);
        }
        self.other_stacks += other.other_stacks;
        self.samples += other.samples;
        self.lost += other.lost;
        self.unknown += other.unknown;
        self.empty += other.empty;
        self.event = self.event.take().or_else(|| other.event.clone());
    }

    /// Samples in all.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// A profile with the counts of these samples, and with everything else as in `known`.
    pub fn profile(&self, known: &Profile) -> Profile {
        let on = |side: Side| {
            self.functions.iter().filter(|of| of.side == side).map(|of| of.self_samples).sum::<u64>()
        };
        Profile {
            event: self.event.clone().unwrap_or_else(|| known.event.clone()),
            samples: self.samples,
            cpus: cpu_s(known).map(|cpu_s| self.samples as f64 / cpu_s),
            lost: self.lost,
            server_samples: on(Side::Server),
            kernel_samples: on(Side::Kernel),
            library_samples: on(Side::Library),
            unknown_samples: self.unknown + self.empty,
            other_stack_samples: self.other_stacks,
            symbols: self.symbols(),
            ..known.clone()
        }
    }

    /// The functions of the table, by their own samples.
    fn symbols(&self) -> Vec<SymbolUse> {
        let by = |samples: fn(&Function) -> u64, most: usize| {
            let mut all: Vec<&Function> = self.functions.iter().filter(|of| samples(of) > 0).collect();
            all.sort_by_key(|of| (Reverse(samples(of)), &of.name, &of.module));
            all.truncate(most);
            all
        };
        let mut both = by(|of| of.self_samples, MOST_BY_SELF);
        for of in by(|of| of.total_samples, MOST_BY_TOTAL) {
            if !both.iter().any(|known| (&known.name, &known.module) == (&of.name, &of.module)) {
                both.push(of);
            }
        }
        both.sort_by_key(|of| (Reverse(of.self_samples), Reverse(of.total_samples)));
        both.into_iter().map(Function::used).collect()
    }

    /// All stacks as text, in the format of tools for flame graphs: role and functions from the outermost inwards with
    /// semicolons between them, a blank, and the samples.
    pub fn text(&self) -> String {
        let mut lines: Vec<String> =
            self.stacks.iter().map(|(stack, count)| self.line(stack, *count)).collect();
        lines.sort_unstable();
        let mut text = lines.concat();
        if self.other_stacks > 0 {
            let _ = writeln!(text, "{OTHER_STACKS} {}", self.other_stacks);
        }
        text
    }

    fn line(&self, stack: &Stack, samples: u64) -> String {
        let mut line = role_name(stack.role).to_owned();
        let mut last = None;
        for number in &stack.functions {
            let of = &self.functions[*number as usize];
            // Several frames without a name say no more than one.
            if of.name == UNKNOWN && last == Some(UNKNOWN) {
                continue;
            }
            line.push(';');
            line.extend(of.name.chars().map(|c| if c == ';' || c.is_control() { ':' } else { c }));
            if of.side == Side::Kernel {
                line.push_str(KERNEL_SUFFIX);
            }
            last = Some(of.name.as_str());
        }
        let _ = writeln!(line, " {samples}");
        line
    }
}

impl Function {
    fn used(&self) -> SymbolUse {
        SymbolUse {
            symbol: self.name.clone(),
            module: self.module.clone(),
            side: self.side,
            self_samples: self.self_samples,
            total_samples: self.total_samples,
        }
    }
}

/// Samples of a CPU that is used all the time.
fn cpu_s(of: &Profile) -> Option<f64> {
    Some(of.over_s * f64::from(of.frequency_hz)).filter(|samples| *samples > 0.0)
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Client => "client backend",
        Role::Observer => "pgdyno",
        Role::ParallelWorker => "parallel worker",
        Role::Checkpointer => "checkpointer",
        Role::BackgroundWriter => "background writer",
        Role::WalWriter => "WAL writer",
        Role::Autovacuum => "autovacuum",
        Role::IoWorker => "I/O worker",
        Role::WalSender => "WAL sender",
        Role::Recovery => "recovery",
        Role::Archiver => "archiver",
        Role::Other => "other process",
        Role::Ended => "ended process",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame<'a>(name: &'a str, module: &'a str) -> Frame<'a> {
        let address = if module.starts_with("[k") { u64::MAX } else { 16 };
        Frame { address, name, module }
    }

    /// Adds a stack that is named from the outermost function inwards.
    fn add(folded: &mut Folded, role: Role, stack: &[(&str, &str)]) {
        let mut numbers: Vec<u32> = Vec::new();
        for (name, module) in stack.iter().rev() {
            numbers.push(folded.function(&frame(name, module), Some("/bin/postgres")));
        }
        folded.add(role, &numbers);
    }

    const SERVER: &str = "/bin/postgres";
    const LIBC: &str = "/lib/libc.so.6";
    const LINUX: &str = "[kernel.kallsyms]";

    fn sample() -> Folded {
        let mut folded = Folded::default();
        for _ in 0..2 {
            add(&mut folded, Role::Client, &[("main", SERVER), ("ExecScan", SERVER), ("ExecScan", SERVER)]);
        }
        add(&mut folded, Role::Client, &[("main", SERVER), ("write", LIBC), ("vfs_write", LINUX)]);
        add(&mut folded, Role::Checkpointer, &[(UNKNOWN, UNKNOWN), (UNKNOWN, LIBC), ("a; b", LIBC)]);
        add(&mut folded, Role::Ended, &[]);
        folded
    }

    #[test]
    fn stacks_are_written_for_flame_graphs() {
        let expected = "checkpointer;[unknown];a: b 1\n\
                        client backend;main;ExecScan;ExecScan 2\n\
                        client backend;main;write;vfs_write_[k] 1\n\
                        ended process 1\n";
        assert_eq!(sample().text(), expected);
    }

    #[test]
    fn shares_count_each_function_once_a_sample() {
        let profile = sample().profile(&Profile::default());
        let use_of = |name: &str| {
            let of = profile.symbols.iter().find(|of| of.symbol == name).expect("it was sampled");
            (of.self_samples, of.total_samples, of.side)
        };
        assert_eq!(use_of("ExecScan"), (2, 2, Side::Server));
        assert_eq!(use_of("main"), (0, 3, Side::Server));
        assert_eq!(use_of("vfs_write"), (1, 1, Side::Kernel));
        let sides = [profile.server_samples, profile.kernel_samples, profile.library_samples];
        assert_eq!((sides, profile.unknown_samples, profile.samples), ([2, 1, 1], 1, 5));
    }

    #[test]
    fn recordings_add_up() {
        let (one, mut both) = (sample(), sample());
        both.merge(&one);
        let doubled: String = one
            .text()
            .lines()
            .map(|line| {
                let (stack, count) = line.rsplit_once(' ').expect("a count");
                format!("{stack} {}\n", 2 * count.parse::<u64>().expect("a number"))
            })
            .collect();
        assert_eq!(both.text(), doubled);
        let mut empty = Folded::default();
        empty.merge(&one);
        assert_eq!(empty.profile(&Profile::default()), one.profile(&Profile::default()));
    }

    #[test]
    fn more_stacks_than_are_kept_lose_no_sample() {
        let mut folded = Folded::default();
        let many = MOST_STACKS + 500;
        for n in 0..many {
            add(&mut folded, Role::Client, &[("main", SERVER), (&format!("f{n}"), SERVER)]);
        }
        let samples: u64 = folded
            .text()
            .lines()
            .map(|line| {
                line.rsplit_once(' ').and_then(|(_, count)| count.parse::<u64>().ok()).expect("a count")
            })
            .sum();
        assert_eq!((samples, folded.other_stacks), (many as u64, 500));
        let profile = folded.profile(&Profile::default());
        assert_eq!(profile.symbols[0].self_samples, 1);
        assert!(
            profile.symbols.iter().any(|of| (of.symbol.as_str(), of.total_samples) == ("main", many as u64))
        );
        assert!(profile.symbols.len() <= MOST_BY_SELF + MOST_BY_TOTAL);
    }
}
