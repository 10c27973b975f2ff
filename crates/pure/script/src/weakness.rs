//! Finds SQL that weakens durability: the many ways to turn `synchronous_commit` off, and tables that do not
//! survive a crash.
//!
//! Plain text is found, also in bodies of functions and blocks. SQL assembled at run time cannot be judged, and
//! counts as possible.

use std::collections::BTreeSet;

use pgdyno_core::facts::{DurabilityTier, Weakness};

use super::{
    Action, Definition, Piece, Scripts, Sql,
    quotes::is_word,
    tokens::{Token, tokens},
};

/// The only such setting: sessions cannot change `fsync` and `full_page_writes`.
const SETTING: &str = "synchronous_commit";
/// Values that do not wait for the flush.
const OFF: [&str; 4] = ["off", "false", "no", "0"];
/// Values that do wait, and `default`, which restores the session's initial value.
const ON: [&str; 8] = ["on", "true", "yes", "1", "local", "remote_write", "remote_apply", "default"];
/// Languages whose bodies are parsed as SQL.
const READ_AS_SQL: [&str; 2] = ["sql", "plpgsql"];

const SET_OFF: &str = "SET synchronous_commit = off";
const ITS_OWN_SETTING: &str =
    "SET synchronous_commit = off for the duration of a call, which ends before the commit";
const SET_UNKNOWN: &str = "a value of synchronous_commit known only at run time";
const NAME_UNKNOWN: &str = "a setting whose name is known only at run time (set_config)";
const IN_A_TEXT: &str = "the name synchronous_commit in a literal, which may be run as SQL";
const DYNAMIC: &str = "dynamic SQL, assembled at run time";
const UNLOGGED: &str = "an unlogged table";
const TEMPORARY: &str = "a temporary table, which survives no crash";

impl Scripts {
    /// Everything in these scripts that weakens a commit, or may, each with its place. Variables defined
    /// before are replaced by their values.
    pub fn weaknesses(&self, definitions: &[Definition]) -> Vec<Weakness> {
        let mut found = Vec::new();
        for script in self.iter() {
            for command in &script.commands {
                let Action::Sql(sql) = &command.action else { continue };
                let name = script.name.rsplit('/').next().unwrap_or_default();
                let place = format!("line {} of {name}", command.line_number);
                let weak = weaknesses(&sql.defined(definitions), false);
                found.extend(weak.into_iter().map(|weakness| at(&place, weakness)));
            }
        }
        found
    }

    /// All words of these scripts in lower case, including those in literals and comments, and so all tables
    /// and functions that they name.
    pub fn words(&self, definitions: &[Definition]) -> BTreeSet<String> {
        self.statements().flat_map(|sql| words(&sql.defined(definitions))).collect()
    }
}

impl Sql {
    /// The text with the values of variables defined before.
    fn defined(&self, definitions: &[Definition]) -> Vec<u8> {
        let value = |name: &[u8]| {
            let is = |one: &&Definition| name.strip_prefix(b":") == Some(one.name.as_bytes());
            definitions.iter().rev().find(is).map(|one| one.value.as_bytes())
        };
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.to_vec(),
            Piece::Variable { name, .. } => value(name).unwrap_or(name).to_vec(),
        };
        self.pieces.iter().flat_map(piece).collect()
    }
}

/// A function or procedure of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routine {
    /// Name without its schema.
    pub name: String,
    /// Schema.
    pub schema: String,
    /// Language, for example `plpgsql`.
    pub language: String,
    /// Source text.
    pub body: String,
    /// Settings attached to the routine (`pg_proc.proconfig`), one per line.
    pub config: String,
}

impl Routine {
    /// Everything in the routine that weakens a commit, or may.
    pub fn weaknesses(&self) -> Vec<Weakness> {
        let mut found = in_body(self.body.as_bytes(), &self.language);
        let is_own = |line: &str| {
            let pair = line.split_once('=').map(|(name, value)| (name.to_lowercase(), value.to_lowercase()));
            pair.is_some_and(|(name, value)| name == SETTING && OFF.contains(&value.trim()))
        };
        if self.config.lines().any(is_own) {
            found.push(uncertain(ITS_OWN_SETTING));
        }
        let place = format!("function {}.{}", self.schema, self.name);
        found.into_iter().map(|weakness| at(&place, weakness)).collect()
    }
}

/// All names reachable from these words, for example from a function to the words of its body, or from a table
/// to its triggers.
pub fn reached(words: BTreeSet<String>, leads: &[(String, BTreeSet<String>)]) -> BTreeSet<String> {
    let mut reached = words.clone();
    let mut new = words;
    while !new.is_empty() {
        let from = leads.iter().filter(|(name, _)| new.contains(name));
        let next: BTreeSet<String> = from.flat_map(|(_, to)| to.iter().cloned()).collect();
        new = next.into_iter().filter(|word| !reached.contains(word)).collect();
        reached.extend(new.iter().cloned());
    }
    reached
}

/// All words of a text in lower case.
pub fn words(text: &[u8]) -> BTreeSet<String> {
    let words = text.split(|byte| !is_word(*byte)).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).to_lowercase()).collect()
}

fn at(place: &str, weakness: Weakness) -> Weakness {
    Weakness { what: format!("{place}: {}", weakness.what), ..weakness }
}

fn uncertain(what: &str) -> Weakness {
    Weakness { tier: DurabilityTier::Uncertain, what: what.to_owned() }
}

fn certain(tier: DurabilityTier, what: &str) -> Weakness {
    Weakness { tier, what: what.to_owned() }
}

/// Everything in an SQL text that weakens a commit, or may; `body` says whether it is the body of a function or
/// a block, where EXECUTE runs a text.
fn weaknesses(text: &[u8], body: bool) -> Vec<Weakness> {
    let all = tokens(text);
    all.split(|token| token.is_sign(b';')).flat_map(|one| Statement { tokens: one, body }.judge()).collect()
}

/// Weaknesses of a function's or block's body. A body that is not parsed as SQL is only searched for the
/// setting's name.
fn in_body(text: &[u8], language: &str) -> Vec<Weakness> {
    let found = weaknesses(text, true);
    let missed = found.is_empty() && !READ_AS_SQL.contains(&language) && mentions(text);
    if missed { vec![uncertain(IN_A_TEXT)] } else { found }
}

fn mentions(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).to_lowercase().contains(SETTING)
}

/// One statement.
#[derive(Debug, Clone, Copy)]
struct Statement<'a> {
    tokens: &'a [Token],
    body: bool,
}

impl Statement<'_> {
    fn judge(self) -> Vec<Weakness> {
        let mut found: Vec<_> = (0..self.tokens.len()).flat_map(|at| self.judge_at(at)).collect();
        if let [Token::Sign(b':'), Token::Word(_), ..] = self.tokens {
            found.push(uncertain(DYNAMIC)); // the statement itself is a variable
        }
        found
    }

    fn judge_at(self, at: usize) -> Vec<Weakness> {
        let (before, rest) = (&self.tokens[..at], &self.tokens[at + 1..]);
        let one = match &self.tokens[at] {
            Token::Word(word) => match word.as_str() {
                SETTING if is_set(before) => value(rest),
                "set_config" => configured(rest),
                "unlogged" if ends_with(before, &["create", "set", "into"]) => {
                    Some(certain(DurabilityTier::Unlogged, UNLOGGED))
                }
                "temp" | "temporary" if makes_table(before, rest) => Some(uncertain(TEMPORARY)),
                "execute" if self.body => executed(rest),
                _ => None,
            },
            Token::Name(name) if name == SETTING && is_set(before) => value(rest),
            Token::Name(name) if name != SETTING && mentions(name.as_bytes()) => Some(uncertain(IN_A_TEXT)),
            Token::Text(text) => return self.in_text(text, before),
            _ => None,
        };
        one.into_iter().collect()
    }

    /// Judges a literal: the body of a routine, SQL to execute, the name of a setting, or anything else.
    fn in_text(self, text: &str, before: &[Token]) -> Vec<Weakness> {
        if self.defines() {
            return in_body(text.as_bytes(), self.language());
        }
        if self.body && before.iter().any(|token| token.is("execute")) {
            return weaknesses(text.as_bytes(), true);
        }
        let is_read = match before {
            [.., Token::Word(call), Token::Sign(b'(')] => call == "set_config" || call == "current_setting",
            [first, .., Token::Sign(b'=')] => !first.is("update"),
            _ => false,
        };
        if is_read || !mentions(text.as_bytes()) { Vec::new() } else { vec![uncertain(IN_A_TEXT)] }
    }

    /// Whether literals of this statement are bodies: `DO`, `CREATE [OR REPLACE] FUNCTION` or `PROCEDURE`.
    fn defines(self) -> bool {
        let words: Vec<_> = self.tokens.iter().map_while(Token::word).take(4).collect();
        matches!(
            words.as_slice(),
            ["do", ..]
                | ["create", "function" | "procedure", ..]
                | ["create", "or", "replace", "function" | "procedure", ..]
        )
    }

    fn language(self) -> &'static str {
        let named = self.tokens.windows(2).find(|pair| pair[0].is("language"));
        let is_read = |token: &Token| match token {
            Token::Word(name) | Token::Name(name) | Token::Text(name) => READ_AS_SQL.contains(&&**name),
            Token::Escaped | Token::Sign(_) => false,
        };
        if named.is_none_or(|pair| is_read(&pair[1])) { "plpgsql" } else { "another" }
    }
}

/// Whether a setting to assign comes next: after `SET`, `SET LOCAL` or `SET SESSION`.
fn is_set(before: &[Token]) -> bool {
    let before = match before {
        [rest @ .., scope] if scope.is("local") || scope.is("session") => rest,
        all => all,
    };
    ends_with(before, &["set"])
}

fn ends_with(tokens: &[Token], words: &[&str]) -> bool {
    tokens.last().and_then(Token::word).is_some_and(|last| words.contains(&last))
}

/// Judges the value after `SET synchronous_commit`.
fn value(rest: &[Token]) -> Option<Weakness> {
    let rest = match rest {
        [sign, rest @ ..] if sign.is_sign(b'=') || sign.is("to") => rest,
        all => all,
    };
    judged(rest.first(), SET_OFF)
}

fn judged(value: Option<&Token>, off: &str) -> Option<Weakness> {
    let text = match value {
        Some(Token::Word(text) | Token::Name(text) | Token::Text(text)) => text.to_lowercase(),
        _ => return Some(uncertain(SET_UNKNOWN)),
    };
    match text.trim() {
        value if OFF.contains(&value) => Some(certain(DurabilityTier::AsyncCommit, off)),
        value if ON.contains(&value) => None,
        _ => Some(uncertain(SET_UNKNOWN)),
    }
}

/// Judges a call of `set_config`.
fn configured(rest: &[Token]) -> Option<Weakness> {
    let [Token::Sign(b'('), rest @ ..] = rest else { return None };
    let Some((Token::Text(name), rest)) = rest.split_first() else { return Some(uncertain(NAME_UNKNOWN)) };
    let is_whole = matches!(rest.first(), Some(Token::Sign(b',' | b':')));
    match (is_whole, name.trim().eq_ignore_ascii_case(SETTING)) {
        (false, _) => Some(uncertain(NAME_UNKNOWN)),
        (true, false) => None,
        (true, true) => {
            let comma = rest.iter().position(|token| token.is_sign(b','));
            let value = comma.and_then(|comma| rest.get(comma + 1..)).unwrap_or_default();
            let is_whole = matches!(value.get(1), Some(Token::Sign(b',' | b':' | b')')));
            let literal = value.first().filter(|token| is_whole && matches!(token, Token::Text(_)));
            judged(literal, SET_OFF)
        }
    }
}

/// Whether a temporary table is created: `CREATE TEMP TABLE` or `SELECT … INTO TEMP`; sequences and views hold
/// no rows.
fn makes_table(before: &[Token], rest: &[Token]) -> bool {
    let created = ends_with(before, &["create", "global", "local"])
        && rest.first().is_some_and(|token| token.is("table"));
    created || ends_with(before, &["into"])
}

/// Judges `EXECUTE` in a body. Literals are judged separately; this only checks whether the beginning of the
/// statement reveals its kind.
fn executed(rest: &[Token]) -> Option<Weakness> {
    let rest = match rest {
        [Token::Sign(b'('), rest @ ..] => rest,
        all => all,
    };
    let text = match rest {
        // A trigger's function, or a privilege.
        [Token::Word(word), ..] if ["function", "procedure", "on"].contains(&word.as_str()) => return None,
        [Token::Text(text), ..] => text,
        [Token::Word(call), Token::Sign(b'('), Token::Text(text), ..] if call == "format" => text,
        _ => return Some(uncertain(DYNAMIC)),
    };
    (!is_harmless(text)).then(|| uncertain(DYNAMIC))
}

/// Whether the beginning of a statement reveals that it changes no setting.
fn is_harmless(text: &str) -> bool {
    let begins = &tokens(text.as_bytes());
    let words: Vec<_> = begins.iter().map_while(Token::word).collect();
    match words.as_slice() {
        [] => false,
        ["set" | "reset", rest @ ..] => {
            let rest = match rest {
                ["local" | "session", rest @ ..] => rest,
                all => all,
            };
            // The name is complete if anything follows it.
            rest.len() > 1
                || begins.get(words.len()).is_some_and(|token| token.is_sign(b'=') && !rest.is_empty())
        }
        ["alter", "system" | "role" | "user" | "database", ..] => {
            begins.iter().any(|token| token.is(SETTING))
        }
        // An unterminated word may be the beginning of a longer one.
        [_] if begins.len() == 1 => text.ends_with(char::is_whitespace),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DurabilityTier::{AsyncCommit, Full, Uncertain, Unlogged};

    fn tier(script: &str) -> DurabilityTier {
        let scripts = Scripts::one("mine", script).expect("a script");
        scripts.weaknesses(&[]).into_iter().map(|weakness| weakness.tier).fold(Full, Ord::max)
    }

    fn all_are(expected: DurabilityTier, scripts: &[&str]) {
        for script in scripts {
            assert_eq!(tier(script), expected, "{script}");
        }
    }

    #[test]
    fn every_way_to_turn_it_off_is_found() {
        all_are(
            AsyncCommit,
            &[
                "SET synchronous_commit = off;",
                "set Synchronous_Commit to 'OFF';",
                "SET SESSION synchronous_commit TO false;",
                "SET/* now */LOCAL -- really\n \"synchronous_commit\" = 0;",
                "BEGIN;\nSET LOCAL synchronous_commit=no;\nEND;",
                "BEGIN\\; SET LOCAL synchronous_commit = off\\; END;",
                "SELECT set_config('synchronous_commit', 'off', true);",
                "SELECT 1, pg_catalog.set_config ( 'Synchronous_Commit'::text , 'off'::text, false );",
                "ALTER ROLE me SET synchronous_commit = off;",
                "ALTER DATABASE mine IN DATABASE x SET synchronous_commit TO off;",
                "ALTER SYSTEM SET synchronous_commit = off;",
                "DO $$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); END $$;",
                "DO 'BEGIN SET LOCAL synchronous_commit = ''off''; END';",
                "DO $$ BEGIN EXECUTE 'SET synchronous_commit = off'; END $$;",
                "DO $$ BEGIN EXECUTE format('SET LOCAL synchronous_commit = %s', 'x') \
                 ; SET synchronous_commit = off; END $$;",
                "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN \
                 SET synchronous_commit = off; END $f$;",
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET synchronous_commit = off AS 'SELECT 1';",
                "\\if 0\nSET synchronous_commit = off;\n\\endif\nSELECT 1;",
            ],
        );
        all_are(
            Unlogged,
            &["CREATE UNLOGGED TABLE t (i int);", "ALTER TABLE t SET UNLOGGED;", "SELECT 1 INTO UNLOGGED t;"],
        );
    }

    #[test]
    fn what_cannot_be_judged_is_a_possibility() {
        all_are(
            Uncertain,
            &[
                "SET synchronous_commit = :level;",
                "SET synchronous_commit FROM CURRENT;",
                "SELECT set_config('synchronous_commit', :'level', true);",
                "SELECT set_config('synchronous_commit', lower('OFF'), true);",
                "SELECT set_config('synchronous' || '_commit', 'off', true);",
                "SELECT set_config(E'synchronous\\x5fcommit', 'off', true);",
                "SELECT set_config(name, 'off', true) FROM names;",
                "UPDATE pg_settings SET setting = 'off' WHERE name = 'synchronous_commit';",
                "SELECT run('SET synchronous_commit = off');",
                ":statement;",
                "DO $$ BEGIN EXECUTE what; END $$;",
                "DO $$ BEGIN EXECUTE 'SET ' || name || ' = off'; END $$;",
                "DO $$ BEGIN EXECUTE 'S' || rest; END $$;",
                "DO $$ BEGIN EXECUTE format('%s synchronous', 'SET'); END $$;",
                "DO $$ BEGIN EXECUTE format('ALTER ROLE %I SET %s = off', me, name); END $$;",
                "DO $$ plpy.execute(\"SET synchronous_commit = off\") $$ LANGUAGE plpython3u;",
                "DO $$ do_it(synchronous_commit=False) $$ LANGUAGE plpython3u;",
                "CREATE TEMP TABLE t (i int);",
                "SELECT 1 INTO TEMPORARY t;",
            ],
        );
    }

    #[test]
    fn what_weakens_nothing_is_left_alone() {
        all_are(
            Full,
            &[
                "-- SET synchronous_commit = off\nSELECT 1;",
                "/* SET synchronous_commit = off; */ SELECT 1;",
                "SET synchronous_commit = on;",
                "SET LOCAL synchronous_commit TO remote_write;",
                "SET synchronous_commit = DEFAULT;",
                "RESET synchronous_commit;",
                "SHOW synchronous_commit;",
                "SELECT current_setting('synchronous_commit');",
                "SELECT setting FROM pg_settings WHERE name = 'synchronous_commit';",
                "SELECT set_config('search_path', 'mine', false);",
                "SET search_path = mine;",
                "INSERT INTO words VALUES ('off', 'asynchronous', 'set');",
                "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;",
                "EXECUTE prepared(1);",
                "CREATE TEMP VIEW v AS SELECT 1;",
                "DO $$ BEGIN EXECUTE format('INSERT INTO %I VALUES (1)', name); END $$;",
                "DO $$ BEGIN EXECUTE 'SET LOCAL work_mem = ' || mb; END $$;",
                "DO $$ BEGIN EXECUTE 'TRUNCATE ' || name; END $$;",
                "DO $$ BEGIN PERFORM set_config('synchronous_commit', 'on', true); END $$;",
                "CREATE TRIGGER t AFTER INSERT ON x FOR EACH ROW EXECUTE FUNCTION f();",
            ],
        );
    }

    #[test]
    fn the_built_in_scripts_weaken_nothing() {
        for builtin in crate::Builtin::ALL {
            assert_eq!(builtin.scripts().weaknesses(&[]), []);
        }
        for shape in pgdyno_core::tpcc::Shape::ALL {
            for transaction in pgdyno_core::tpcc::Transaction::ALL {
                assert_eq!(tier(crate::tpcc::script(shape, transaction)), Full);
            }
            let body = crate::tpcc::setup(shape).unwrap_or_default();
            assert_eq!(weaknesses(body.as_bytes(), false), []);
        }
    }

    #[test]
    fn the_place_is_named_and_defined_variables_are_known() {
        let scripts = Scripts::one("/somewhere/off.sql", "SELECT 1;\nSET synchronous_commit = :level;\n")
            .expect("a script");
        let level = |value: &str| {
            let level = Definition { name: "level".into(), value: value.into() };
            scripts.weaknesses(&[level])
        };
        let found = level("off");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "line 2 of off.sql: SET synchronous_commit = off");
        assert_eq!((found[0].tier, level("on")), (AsyncCommit, vec![]));
        assert_eq!(level("sometimes")[0].tier, Uncertain);
    }

    #[test]
    fn functions_are_judged_by_body_and_by_their_own_settings() {
        let routine = |language: &str, body: &str, config: &str| {
            let (schema, name) = ("public".to_owned(), "f".to_owned());
            let (language, body, config) = (language.to_owned(), body.to_owned(), config.to_owned());
            Routine { name, schema, language, body, config }.weaknesses()
        };
        let off = routine("plpgsql", "BEGIN SET LOCAL synchronous_commit = off; END", "");
        assert_eq!(
            (off[0].tier, &*off[0].what),
            (AsyncCommit, "function public.f: SET synchronous_commit = off")
        );
        assert_eq!(
            routine("sql", "SELECT set_config('synchronous_commit', 'off', true)", "")[0].tier,
            AsyncCommit
        );
        assert_eq!(
            routine("plperl", "spi_exec_query(\"SET synchronous_commit=off\")", "")[0].tier,
            Uncertain
        );
        assert_eq!(routine("sql", "SELECT 1", "work_mem=4MB\nsynchronous_commit=off")[0].tier, Uncertain);
        assert_eq!(routine("sql", "SELECT 1", "synchronous_commit=on"), []);
    }

    #[test]
    fn words_lead_from_a_table_to_its_trigger_and_on() {
        let lead = |name: &str, text: &str| (name.to_owned(), words(text.as_bytes()));
        let leads = [lead("t", "audit"), lead("audit", "BEGIN PERFORM Deep(1); END"), lead("other", "lost")];
        let found = reached(words(b"INSERT INTO s.T VALUES (1)"), &leads);
        assert!(["t", "audit", "deep"].iter().all(|name| found.contains(*name)), "{found:?}");
        assert!(!found.contains("lost"));
    }
}
