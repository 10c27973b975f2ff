//! A flame graph: where call stacks spent their samples. The width of a frame is its share of all samples; what it
//! called is above it, in alphabetical order.

use std::collections::BTreeMap;

/// Width of the drawing in pixels.
pub const WIDTH: f64 = 1_020.0;
/// Narrowest frame that is drawn, in pixels.
const NARROWEST: f64 = 0.3;
/// Most frames of all flame graphs of a report: each takes some 150 bytes.
const MOST_FRAMES: usize = 24_000;
/// Most frames of one.
const MOST_OF_ONE: usize = 4_000;
/// Most frames on top of each other.
const DEEPEST: usize = 140;
/// What follows the functions of the kernel.
const KERNEL_SUFFIX: &str = "_[k]";

/// A laid out flame graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flame {
    /// Number of its profile in the record, from 0.
    pub profile: usize,
    /// Samples of all stacks.
    pub samples: u64,
    /// The frames that are drawn.
    pub frames: Vec<Frame>,
    /// Levels of frames.
    pub levels: usize,
    /// Frames that are not drawn, because they are too narrow.
    pub left_out: usize,
}

/// A frame of a flame graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Function, or role of the process.
    pub name: String,
    /// Whether it is code of the kernel.
    pub is_kernel: bool,
    /// Frames below it.
    pub level: usize,
    /// Samples to the left of it.
    pub begin: u64,
    /// Samples in it.
    pub samples: u64,
}

/// A function with all that it called.
#[derive(Debug, Default)]
struct Node {
    samples: u64,
    calls: BTreeMap<String, Node>,
}

impl Flame {
    /// Lays out the stacks of profile `profile`, one of `all`: lines of names with semicolons between them, a blank,
    /// and samples. Other lines are ignored.
    pub fn parse(profile: usize, text: &str, all: usize) -> Self {
        let mut root = Node::default();
        for line in text.lines() {
            let Some((stack, samples)) = line.rsplit_once(' ') else { continue };
            let Ok(samples) = samples.parse::<u64>() else { continue };
            root.add(stack.split(';').take(DEEPEST), samples);
        }
        let mut flame = Self { profile, samples: root.samples, ..Self::default() };
        flame.lay_out(&root, 0, 0);
        flame.cut(MOST_OF_ONE.min(MOST_FRAMES / all.max(1)).max(1));
        flame
    }

    fn lay_out(&mut self, node: &Node, level: usize, mut begin: u64) {
        for (name, of) in &node.calls {
            if of.samples as f64 * WIDTH < NARROWEST * self.samples as f64 {
                self.left_out += of.count();
            } else {
                let (shown, is_kernel) = match name.strip_suffix(KERNEL_SUFFIX) {
                    Some(shown) => (shown, true),
                    None => (name.as_str(), false),
                };
                let name = shown.to_owned();
                self.frames.push(Frame { name, is_kernel, level, begin, samples: of.samples });
                self.lay_out(of, level + 1, begin);
            }
            begin += of.samples;
        }
    }

    /// Leaves out the narrowest frames of too many. What is above a frame is no wider, so no frame hangs in the air.
    fn cut(&mut self, most: usize) {
        if self.frames.len() > most {
            let mut widths: Vec<u64> = self.frames.iter().map(|frame| frame.samples).collect();
            widths.sort_unstable_by(|a, b| b.cmp(a));
            let narrowest = widths[most];
            let before = self.frames.len();
            self.frames.retain(|frame| frame.samples > narrowest);
            self.left_out += before - self.frames.len();
        }
        self.levels = self.frames.iter().map(|frame| frame.level + 1).max().unwrap_or(0);
    }
}

impl Node {
    fn add<'a>(&mut self, mut stack: impl Iterator<Item = &'a str>, samples: u64) {
        self.samples = self.samples.saturating_add(samples);
        let Some(name) = stack.next() else { return };
        if !self.calls.contains_key(name) {
            self.calls.insert(name.to_owned(), Self::default());
        }
        if let Some(called) = self.calls.get_mut(name) {
            called.add(stack, samples);
        }
    }

    /// The node and all below it.
    fn count(&self) -> usize {
        1 + self.calls.values().map(Self::count).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_wide_as_their_samples() {
        let flame = Flame::parse(3, "a;b 2\na;c_[k] 1\na 1\nd;b 4\nno count\nx y\n", 1);
        let frames: Vec<_> =
            flame.frames.iter().map(|of| (of.name.as_str(), of.level, of.begin, of.samples)).collect();
        assert_eq!(frames, [("a", 0, 0, 4), ("b", 1, 0, 2), ("c", 1, 2, 1), ("d", 0, 4, 4), ("b", 1, 4, 4)]);
        assert!(flame.frames[2].is_kernel && !flame.frames[1].is_kernel);
        assert_eq!((flame.samples, flame.levels, flame.left_out), (8, 2, 0));
    }

    #[test]
    fn the_drawing_is_bounded() {
        // One frame in 5,000 is narrower than 0.3 pixels.
        let narrow = Flame::parse(0, "a;b 4999\na;c;d 1\n", 1);
        assert_eq!((narrow.frames.len(), narrow.left_out), (2, 2));
        let wide: String = (0..1_000).map(|n| format!("a;f{n:05} {}\n", 1 + n % 2)).collect();
        assert_eq!(Flame::parse(0, &wide, 1).frames.len(), 1_001);
        let shared = Flame::parse(0, &wide, 30);
        assert!(shared.frames.len() <= 800, "{}", shared.frames.len());
        assert_eq!(shared.frames.len() + shared.left_out, 1_001);
        let deep = vec!["f"; 10_000].join(";") + " 1";
        assert_eq!(Flame::parse(0, &deep, 1).levels, DEEPEST);
        assert_eq!(Flame::parse(0, "", 1), Flame::default());
    }
}
