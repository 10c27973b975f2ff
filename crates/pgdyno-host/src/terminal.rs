//! What a terminal takes.

use std::ffi::OsStr;

/// Whether something is a terminal that obeys escape sequences: `TERM=dumb` says that it does not.
pub fn obeys_escapes(is_terminal: bool) -> bool {
    obeys_as(is_terminal, std::env::var_os("TERM").as_deref())
}

fn obeys_as(is_terminal: bool, term: Option<&OsStr>) -> bool {
    is_terminal && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_gets_no_escapes() {
        let cases = [
            (true, None, true),
            (true, Some("xterm"), true),
            (true, Some("dumb"), false),
            (false, Some("xterm"), false),
        ];
        for (is_terminal, term, obeys) in cases {
            assert_eq!(obeys_as(is_terminal, term.map(OsStr::new)), obeys, "{term:?}");
        }
    }
}
