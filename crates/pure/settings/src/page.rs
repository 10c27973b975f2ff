//! What is to be known of a setting.

/// What `pgdyno explain` says of one name: a kernel parameter, a mount option, a setting of the server.
///
/// Texts are sentences in plain English, without line breaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Page {
    /// Its name, as one would type it: `vm.swappiness`, `noatime`, `shared_buffers`.
    pub name: &'static str,
    /// Other names by which it is found.
    pub also: &'static [&'static str],
    /// What it is, in a sentence.
    pub what: &'static str,
    /// How it is judged for current kernels and servers.
    pub today: Today,
    /// Why it is judged so, and how the recommended value is computed.
    pub why: &'static str,
    /// What a wrong value can do; empty if it can do no harm.
    pub danger: &'static str,
    /// What it is known to bring.
    pub gain: Gain,
    /// Where this can be read: a manual section, a kernel document, a commit.
    pub source: &'static str,
    /// First kernel that has it, such as `(4, 14)`, if it came after Linux 3.10.
    pub since_kernel: Option<(u32, u32)>,
    /// First kernel that no longer has it.
    pub until_kernel: Option<(u32, u32)>,
    /// First major of PostgreSQL that it concerns, such as 10, if it came after 9.5; 9 is 9.6.
    pub since_major: Option<u32>,
    /// First major of PostgreSQL that it no longer concerns.
    pub until_major: Option<u32>,
}

impl Page {
    /// A page without other names, limits of versions, dangers and measured gains: to be completed by
    /// `..Page::EMPTY`.
    pub const EMPTY: Self = Self {
        name: "",
        also: &[],
        what: "",
        today: Today::Kept,
        why: "",
        danger: "",
        gain: Gain::NotMeasured,
        source: "",
        since_kernel: None,
        until_kernel: None,
        since_major: None,
        until_major: None,
    };

    /// A major as people write it; 9 is 9.6, the only one of its numbers that rules distinguish from 9.5.
    pub fn major_words(major: u32) -> String {
        if major == 9 { "9.6".to_owned() } else { major.to_string() }
    }

    /// Whether this is the page of a name, or of a label as findings print it, such as `barrier (/data)`. Upper and
    /// lower case are the same, but in options such as `lvcreate -i` and `lvcreate -I`.
    pub fn is_of(&self, name: &str) -> bool {
        self.has_name(name) || without_object(name).is_some_and(|name| self.has_name(name))
    }

    fn has_name(&self, name: &str) -> bool {
        let is_same = |own: &str| match own.starts_with('-') || own.contains(" -") {
            true => own == name,
            false => own.eq_ignore_ascii_case(name),
        };
        std::iter::once(&self.name).chain(self.also).any(|own| is_same(own))
    }
}

/// The name in a label such as `barrier (/data)`: what follows in parentheses is the object of a finding.
fn without_object(label: &str) -> Option<&str> {
    label.trim().strip_suffix(')')?.split_once(" (").map(|(name, _)| name.trim())
}

/// How a setting is judged for current kernels and servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Today {
    /// Still worth setting, where the facts of the host ask for it.
    Kept,
    /// Depends on the purpose: no value is right everywhere.
    Depends,
    /// The default is right: setting it by hand brings nothing.
    DefaultIsRight,
    /// It no longer exists or no longer does anything on current kernels or servers.
    Obsolete,
    /// It can lose data or bring a host down.
    Dangerous,
    /// It has no effect in the combination in which it is usually published.
    NoEffect,
    /// It is shown, and no rule judges it.
    NotJudged,
    /// It is a word of the output, and nothing that could be set.
    Term,
}

impl Today {
    /// The judgement in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Kept => "worth setting where the facts ask for it",
            Self::Depends => "depends on the purpose",
            Self::DefaultIsRight => "the default is right",
            Self::Obsolete => "obsolete",
            Self::Dangerous => "dangerous",
            Self::NoEffect => "no effect as usually published",
            Self::NotJudged => "shown, and judged by no rule",
            Self::Term => "a word of the output",
        }
    }
}

/// What a setting is known to bring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gain {
    /// Nobody has measured it in a way that we would quote.
    NotMeasured,
    /// Somebody measured it.
    Measured {
        /// Who, where and with what.
        by: &'static str,
        /// What came out, with its interval if there is one.
        result: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors_are_written_as_people_write_them() {
        assert_eq!([9, 10, 18].map(Page::major_words), ["9.6", "10", "18"]);
    }

    #[test]
    fn only_options_differ_by_case() {
        let page = Page { name: "lvcreate -i", also: &["-L", "shared_buffers"], ..Page::EMPTY };
        for (name, expected) in [
            ("lvcreate -i", true),
            ("lvcreate -I", false),
            ("-L", true),
            ("-l", false),
            ("SHARED_BUFFERS", true),
            ("shared", false),
        ] {
            assert_eq!(page.is_of(name), expected, "{name}");
        }
    }

    #[test]
    fn a_label_of_a_finding_is_a_name() {
        let page = Page { name: "barrier", also: &["limits.d", "lvcreate -i"], ..Page::EMPTY };
        for (label, expected) in [
            ("barrier (/data01)", true),
            ("limits.d (/etc/security/limits.d/a (b).conf: nofile)", true),
            ("Barrier (/)", true),
            ("lvcreate -I (dm-0)", false),
            ("barrier(/data01)", false),
            ("barrier (/data01", false),
            ("nobarrier (/data01)", false),
            (" (x)", false),
        ] {
            assert_eq!(page.is_of(label), expected, "{label}");
        }
    }
}
