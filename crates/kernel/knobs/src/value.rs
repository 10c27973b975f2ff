//! Values as the kernel prints them.

/// A value as it is compared and written back: white space between words is one space, and of choices such as
/// `always [madvise] never` it is the active one. Only sysfs marks choices with brackets.
pub fn normal(path: &str, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let active = |word: &&str| word.len() > 2 && word.starts_with('[') && word.ends_with(']');
    let mut marked = words.iter().copied().filter(active);
    match (path.starts_with("sys/"), marked.next(), marked.next()) {
        (true, Some(word), None) => word[1..word.len() - 1].to_owned(),
        _ => words.join(" "),
    }
}

/// Whether two values are the same. Switches of modules take 0 and 1, and say N and Y.
pub fn same(path: &str, one: &str, other: &str) -> bool {
    let plain = |value: &str| match (path.starts_with("sys/module/"), value) {
        (true, "Y" | "y") => "1".to_owned(),
        (true, "N" | "n") => "0".to_owned(),
        _ => normal(path, value),
    };
    plain(one) == plain(other)
}

/// What is wrong with a new value, which is written into scripts and files of several formats.
pub fn fault(value: &str) -> Option<String> {
    if value.trim().is_empty() {
        return Some("the value is empty".to_owned());
    }
    let strange = |c: &char| !(c.is_ascii_graphic() || matches!(c, ' ' | '\t')) || *c == '\'';
    value.chars().find(strange).map(|c| format!("the value has the character {c:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_choice_is_the_value() {
        for (path, text, value) in [
            ("sys/x", "always [madvise] never\n", "madvise"),
            ("sys/x", "[none]\n", "none"),
            ("sys/x", "[none] mq-deadline kyber bfq\n", "none"),
            ("sys/x", "write back\n", "write back"),
            ("sys/x", "[a] [b]\n", "[a] [b]"),
            ("sys/x", "[]", "[]"),
            ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n", "4096 131072 6291456"),
            ("proc/sys/kernel/core_pattern", "|/bin/x [p]\n", "|/bin/x [p]"),
            ("sys/x", "\n", ""),
        ] {
            assert_eq!(normal(path, text), value, "{text:?}");
        }
    }

    #[test]
    fn a_switch_of_a_module_says_y_for_1() {
        assert!(same("sys/module/x/parameters/y", "Y", "1") && same("sys/module/x/parameters/y", "0", "N"));
        assert!(!same("sys/block/x", "Y", "1") && same("proc/sys/x", "1\t2", "1 2"));
    }

    #[test]
    fn a_value_is_one_line_of_plain_text() {
        for value in ["", " ", "1\n2", "it's", "\u{e9}", "1\0"] {
            assert!(fault(value).is_some(), "{value:?}");
        }
        assert_eq!(fault("4096 87380\t6291456"), None);
    }
}
