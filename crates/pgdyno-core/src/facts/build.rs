//! Facts about how a server's program was compiled.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the server's program was compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildFacts {
    /// Compiler as of `version()`, for example `gcc (Debian 12.2.0-14) 12.2.0`.
    pub compiler: Option<String>,
    /// `CFLAGS` as of `pg_config()`.
    pub cflags: Option<String>,
    /// `CONFIGURE` as of `pg_config()`; empty where the program was built by Meson.
    pub configure: Option<String>,
    /// What was compiled in of that which may change what a server does, in the order of [`FEATURES`]; absent where
    /// nothing was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// What is known of a program that `pgdyno build` made; absent of every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<MadeFacts>,
}

/// A program that `pgdyno build` made from source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeFacts {
    /// Name of the build.
    pub name: String,
    /// What it was made from, as it was asked for.
    pub source: String,
    /// SHA-256 of the source in hexadecimal.
    pub source_sha256: String,
    /// Flags that the compiler was given.
    pub cflags: String,
    /// Words that configure or Meson was given.
    pub configure: Vec<String>,
    /// Patches in the order they were applied.
    pub patches: Vec<PatchFacts>,
}

/// A patch that was applied to the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchFacts {
    /// Name of its file.
    pub name: String,
    /// SHA-256 of its text in hexadecimal.
    pub sha256: String,
}

/// The features that are looked at, each with the words of `configure` that ask for it.
pub const FEATURES: [(&str, &[&str]); 11] = [
    ("cassert", &["--enable-cassert"]),
    ("coverage", &["--enable-coverage"]),
    ("debug", &["--enable-debug"]),
    ("dtrace", &["--enable-dtrace"]),
    ("icu", &["--with-icu"]),
    ("liburing", &["--with-liburing"]),
    ("llvm", &["--with-llvm"]),
    ("lz4", &["--with-lz4"]),
    ("openssl", &["--with-openssl", "--with-ssl=openssl"]),
    ("profiling", &["--enable-profiling"]),
    ("zstd", &["--with-zstd"]),
];

/// Features that cost nothing until somebody looks: symbols for a debugger, and probes that are empty instructions.
const HARMLESS_FEATURES: [&str; 2] = ["debug", "dtrace"];

/// Options of a compiler that change no instruction: warnings, debugging, and paths of the place where it was built.
const HARMLESS: [&str; 6] =
    ["-W", "-g", "-ffile-prefix-map=", "-fdebug-prefix-map=", "-fmacro-prefix-map=", "-fdiagnostics"];

impl BuildFacts {
    /// Whether the flags ask for speed: `Some(true)` where the last `-O` option is `-O2`, `-O3` or `-Ofast`,
    /// `None` where the flags are not known, or hold no such option and need not be all that the compiler was given.
    pub fn optimised_for_speed(&self) -> Option<bool> {
        match self.level() {
            Some(level) => Some(matches!(level.as_str(), "-O2" | "-O3" | "-O4" | "-Ofast")),
            None => self.tells_all_flags().then_some(false),
        }
    }

    /// Whether the flags that are known are all there were: Meson tells `pg_config` of no level, `configure` of all.
    fn tells_all_flags(&self) -> bool {
        let by_configure = self.configure.as_ref().is_some_and(|words| !words.is_empty());
        self.made.is_some() || by_configure && self.cflags.is_some()
    }

    /// The last `-O` option, which counts.
    pub fn level(&self) -> Option<String> {
        let flags = self.all_flags()?;
        flags.split_whitespace().rfind(|flag| flag.starts_with("-O")).map(str::to_owned)
    }

    /// Whether assertions were compiled in; `None` where it was not looked at.
    pub fn has_assertions(&self) -> Option<bool> {
        self.features.as_ref().map(|features| features.iter().any(|feature| feature == "cassert"))
    }

    /// What makes it slower than a build for use, in words; `None` where nothing is known to.
    pub fn slow_because(&self) -> Option<String> {
        let is_slow = self.optimised_for_speed() == Some(false);
        let level =
            || self.level().map_or("without optimisation".to_owned(), |level| format!("with {level}"));
        let level = is_slow.then(level);
        let assertions = self.has_assertions().unwrap_or(false).then(|| "with assertions".to_owned());
        let reasons: Vec<_> = level.into_iter().chain(assertions).collect();
        (!reasons.is_empty()).then(|| reasons.join(" and "))
    }

    /// The flags that may change what the program does, in no order: without warnings, debugging and paths. Meson tells
    /// `pg_config` of no level; what `pgdyno build` gave the compiler stands beside it.
    pub fn telling_flags(&self) -> Option<BTreeSet<String>> {
        let harmless = |flag: &&str| !HARMLESS.iter().any(|start| flag.starts_with(start));
        Some(self.all_flags()?.split_whitespace().filter(harmless).map(str::to_owned).collect())
    }

    /// Whether two programs come from the same compiler; `None` where that is not known of both. Meson tells
    /// `version()` of a name and a version alone (`gcc-12.2.0`), `configure` of what the compiler says of itself (`gcc
    /// (Debian 12.2.0-14) 12.2.0`): beside the former no more than both tell is compared.
    pub fn has_compiler_of(&self, other: &Self) -> Option<bool> {
        let (one, other) = (self.compiler.as_deref()?, other.compiler.as_deref()?);
        let is_short = |text: &str| !text.contains(char::is_whitespace);
        if one == other || !(is_short(one) || is_short(other)) {
            return Some(one == other);
        }
        let named = |text| name_and_version(text).ok_or(text);
        Some(named(one) == named(other))
    }

    /// Whether the flags that tell are alike; `None` where those of one are not known.
    pub fn has_flags_of(&self, other: &Self) -> Option<bool> {
        self.telling_flags().zip(other.telling_flags()).map(|(own, others)| own == others)
    }

    /// The compiler by its name and version alone, as Meson tells of it: `gcc-12.2.0`.
    pub fn compiler_in_short(&self) -> Option<String> {
        let (name, version) = name_and_version(self.compiler.as_deref()?)?;
        Some(format!("{name}-{version}"))
    }

    /// The features that may change what the program does.
    pub fn telling_features(&self) -> Option<BTreeSet<&str>> {
        let features = self.features.as_ref()?.iter().map(String::as_str);
        Some(features.filter(|feature| !HARMLESS_FEATURES.contains(feature)).collect())
    }

    fn all_flags(&self) -> Option<String> {
        match (&self.cflags, &self.made) {
            (None, None) => None,
            (Some(cflags), None) => Some(cflags.clone()),
            (cflags, Some(made)) => {
                Some([cflags.as_deref().unwrap_or_default(), made.cflags.as_str()].join(" "))
            }
        }
    }
}

/// The name and the version in what is said of a compiler: `clang` and `14.0.6` of `Debian clang version 14.0.6`. What
/// stands in brackets is the packager's.
fn name_and_version(text: &str) -> Option<(&'static str, &str)> {
    let name = ["clang", "gcc", "icc"].into_iter().find(|name| text.contains(name))?;
    // The packager's brackets may hold a version of their own, and stand before that of the compiler.
    let outside = text.split_once('(').map_or(text, |(before, rest)| match rest.split_once(')') {
        Some((_, after)) if !before.contains('.') => after,
        _ => before,
    });
    let is_of_version = |c: char| c.is_ascii_digit() || c == '.';
    let version = outside.split(|c| !is_of_version(c)).find(|part| part.trim_matches('.').contains('.'))?;
    Some((name, version))
}

/// The features that a `configure` line asks for, in the order of [`FEATURES`].
pub fn features_of_configure(configure: &str) -> Vec<&'static str> {
    let words: BTreeSet<&str> = configure_words(configure).collect();
    let asked =
        |(name, asks): &(&'static str, &[&str])| asks.iter().any(|ask| words.contains(ask)).then_some(*name);
    FEATURES.iter().filter_map(asked).collect()
}

/// The size of a block in bytes that a `configure` line asks for: 8 KiB where it does not say.
pub fn block_bytes_of_configure(configure: &str) -> u32 {
    let given = configure_words(configure).find_map(|word| word.strip_prefix("--with-blocksize="));
    given.and_then(|kb| kb.parse::<u32>().ok()).filter(|kb| (1..=32).contains(kb)).unwrap_or(8) << 10
}

/// The size of a WAL segment in MB that a `configure` line asks for (before 11, where it was fixed by it).
pub fn wal_segment_mb_of_configure(configure: &str) -> Option<u32> {
    let given = configure_words(configure).find_map(|word| word.strip_prefix("--with-wal-segsize="));
    given.and_then(|mb| mb.parse().ok()).filter(|mb: &u32| mb.is_power_of_two() && *mb <= 1024)
}

/// `pg_config` quotes every word for a shell.
fn configure_words(configure: &str) -> impl Iterator<Item = &str> {
    configure.split_whitespace().map(|word| word.trim_matches('\''))
}

/// Whether two programs come from the same compiler with the same flags; `None` where that is not known.
pub fn same_build(a: &BuildFacts, b: &BuildFacts) -> Option<bool> {
    // One difference is enough; to be alike, both must be known.
    match (a.has_compiler_of(b), a.has_flags_of(b)) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// What stands before the compiler's name in `version()`, whose text is in the program.
pub const COMPILED_BY: &str = ", compiled by ";

/// The compiler in the text of `version()`.
pub fn compiler(version_text: &str) -> Option<&str> {
    let (_, after) = version_text.split_once(COMPILED_BY)?;
    Some(after.rsplit_once(", ").map_or(after, |(compiler, _)| compiler))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(cflags: &str) -> BuildFacts {
        BuildFacts { cflags: Some(cflags.into()), ..BuildFacts::default() }
    }

    fn with_features(features: &[&str]) -> BuildFacts {
        let features = features.iter().map(|feature| (*feature).to_owned()).collect();
        BuildFacts { features: Some(features), ..build("-O2") }
    }

    #[test]
    fn the_last_optimisation_flag_counts() {
        assert_eq!(build("-Wall -O2 -g").optimised_for_speed(), Some(true));
        assert_eq!(build("-O2 -Wall -Os").optimised_for_speed(), Some(false));
        assert_eq!(build("-Wall").optimised_for_speed(), None);
        assert_eq!(BuildFacts::default().optimised_for_speed(), None);
    }

    #[test]
    fn what_pgdyno_gave_the_compiler_counts_where_pg_config_is_silent() {
        let made = MadeFacts { cflags: "-O3 -march=native".into(), ..MadeFacts::default() };
        let meson = BuildFacts { made: Some(made), ..build("-fwrapv -Wall") };
        assert_eq!(meson.optimised_for_speed(), Some(true));
        let flags = meson.telling_flags().expect("they are known");
        assert_eq!(flags.iter().map(String::as_str).collect::<Vec<_>>(), ["-O3", "-fwrapv", "-march=native"]);
    }

    #[test]
    fn a_build_for_size_or_for_tests_is_slow() {
        assert_eq!(build("-O2").slow_because(), None);
        assert_eq!(build("-Os").slow_because().as_deref(), Some("with -Os"));
        assert_eq!(build("-Wall").slow_because(), None, "Meson has a level of its own");
        let by_configure = BuildFacts { configure: Some("'--with-lz4'".into()), ..build("-Wall") };
        assert_eq!(by_configure.slow_because().as_deref(), Some("without optimisation"));
        let own = MadeFacts { cflags: "-march=native".into(), ..MadeFacts::default() };
        let own = BuildFacts { made: Some(own), ..build("-Wall") };
        assert_eq!(own.optimised_for_speed(), Some(false));
        let assertions = with_features(&["cassert", "lz4"]);
        assert_eq!(assertions.slow_because().as_deref(), Some("with assertions"));
        let both = BuildFacts { cflags: Some("-O0".into()), ..assertions };
        assert_eq!(both.slow_because().as_deref(), Some("with -O0 and with assertions"));
        assert_eq!(with_features(&["lz4"]).slow_because(), None);
    }

    #[test]
    fn meson_and_configure_name_one_compiler_otherwise() {
        let of = |compiler: &str| BuildFacts { compiler: Some(compiler.into()), ..BuildFacts::default() };
        let same = |one: &str, other: &str| {
            let found = of(one).has_compiler_of(&of(other));
            assert_eq!(of(other).has_compiler_of(&of(one)), found, "{one} {other}");
            found.expect("both are known")
        };
        for (configure, meson) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc-12.2.0"),
            ("gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc-12.2.0"),
            ("x86_64-linux-gnu-gcc (Debian 14.2.0-19) 14.2.0", "gcc-14.2.0"),
            ("gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)", "gcc-8.5.0"),
            ("Debian clang version 14.0.6", "clang-14.0.6"),
            ("Ubuntu clang version 14.0.0-1ubuntu1.1", "clang-14.0.0"),
        ] {
            assert!(same(configure, meson) && same(meson, meson), "{configure}");
            assert!(!same(configure, "gcc-13.2.0") && !same(configure, "clang-12.2.0"), "{configure}");
        }
        assert!(!same("gcc (Debian 12.2.0-14) 12.2.0", "gcc (Ubuntu 12.2.0-3) 12.2.0"), "both say more");
        assert!(!same("tcc-0.9.27", "gcc-12.2.0") && same("tcc-0.9.27", "tcc-0.9.27"));
        assert_eq!(of("gcc-12.2.0").has_compiler_of(&BuildFacts::default()), None);
        let short = |compiler| of(compiler).compiler_in_short();
        assert_eq!(short("gcc (GCC) 4.4.7 20120313 (Red Hat 4.4.7-23)").as_deref(), Some("gcc-4.4.7"));
        assert_eq!(short("gcc-12.2.0").as_deref(), Some("gcc-12.2.0"));
        assert_eq!(short("tcc-0.9.27"), None);
    }

    #[test]
    fn symbols_for_a_debugger_tell_nothing() {
        assert_eq!(
            with_features(&["debug", "dtrace", "lz4"]).telling_features(),
            with_features(&["lz4"]).telling_features()
        );
        assert_eq!(build("-O2").telling_features(), None);
    }

    #[test]
    fn a_configure_line_tells_features_and_sizes() {
        let debian =
            " '--build=x86_64-linux-gnu' '--with-icu' '--with-lz4' '--with-openssl' '--enable-debug'";
        assert_eq!(features_of_configure(debian), ["debug", "icu", "lz4", "openssl"]);
        assert_eq!(features_of_configure("'--with-ssl=openssl' '--enable-cassert'"), ["cassert", "openssl"]);
        assert_eq!(features_of_configure(""), [""; 0]);
        assert_eq!(block_bytes_of_configure(debian), 8_192);
        assert_eq!(block_bytes_of_configure("'--with-blocksize=32'"), 32_768);
        assert_eq!(block_bytes_of_configure("'--with-blocksize=many'"), 8_192);
        assert_eq!(wal_segment_mb_of_configure("'--with-wal-segsize=64'"), Some(64));
        assert_eq!(wal_segment_mb_of_configure(debian), None);
    }
}
