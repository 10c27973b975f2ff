//! Facts about how a server's program was compiled.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the server's program was compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildFacts {
    /// Compiler according to `version()`, for example `gcc (Debian 12.2.0-14) 12.2.0`.
    pub compiler: Option<String>,
    /// `CFLAGS` according to `pg_config()`.
    pub cflags: Option<String>,
    /// `CONFIGURE` according to `pg_config()`; empty for Meson builds.
    pub configure: Option<String>,
    /// Compiled-in features that may affect performance, in the order of [`FEATURES`]; absent if they were not
    /// inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Facts about a build by `pgdyno build`; absent for all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<MadeFacts>,
}

/// A program that `pgdyno build` made from source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeFacts {
    /// Name of the build.
    pub name: String,
    /// The requested source.
    pub source: String,
    /// SHA-256 of the source in hexadecimal.
    pub source_sha256: String,
    /// Compiler flags.
    pub cflags: String,
    /// Arguments of configure or Meson.
    pub configure: Vec<String>,
    /// Patches in the order in which they were applied.
    pub patches: Vec<PatchFacts>,
}

/// A patch that was applied to the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchFacts {
    /// File name.
    pub name: String,
    /// SHA-256 of the patch in hexadecimal.
    pub sha256: String,
}

/// The inspected features, each with its options of `configure`.
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

/// Features without cost while unused: debug symbols, and probes that are no-ops until enabled.
const HARMLESS_FEATURES: [&str; 2] = ["debug", "dtrace"];

/// Compiler options that do not affect the generated code: warnings, debugging, and build paths.
const HARMLESS: [&str; 6] =
    ["-W", "-g", "-ffile-prefix-map=", "-fdebug-prefix-map=", "-fmacro-prefix-map=", "-fdiagnostics"];

impl BuildFacts {
    /// Whether the flags optimise for speed: `Some(true)` if the last `-O` option is `-O2`, `-O3` or `-Ofast`; `None`
    /// if the flags are unknown, or incomplete and without such an option.
    pub fn optimised_for_speed(&self) -> Option<bool> {
        match self.level() {
            Some(level) => Some(matches!(level.as_str(), "-O2" | "-O3" | "-O4" | "-Ofast")),
            None => self.has_all_flags().then_some(false),
        }
    }

    /// Whether the known flags are complete: Meson does not pass its optimisation level to `pg_config`, `configure`
    /// does.
    fn has_all_flags(&self) -> bool {
        let by_configure = self.configure.as_ref().is_some_and(|words| !words.is_empty());
        self.made.is_some() || by_configure && self.cflags.is_some()
    }

    /// The last `-O` option, which is the effective one.
    pub fn level(&self) -> Option<String> {
        let flags = self.all_flags()?;
        flags.split_whitespace().rfind(|flag| flag.starts_with("-O")).map(str::to_owned)
    }

    /// Whether assertions were compiled in; `None` if unknown.
    pub fn has_assertions(&self) -> Option<bool> {
        self.features.as_ref().map(|features| features.iter().any(|feature| feature == "cassert"))
    }

    /// Why it is slower than a production build, in words; `None` if there is no known reason.
    pub fn slow_because(&self) -> Option<String> {
        let is_slow = self.optimised_for_speed() == Some(false);
        let level =
            || self.level().map_or("without optimisation".to_owned(), |level| format!("with {level}"));
        let level = is_slow.then(level);
        let assertions = self.has_assertions().unwrap_or(false).then(|| "with assertions".to_owned());
        let reasons: Vec<_> = level.into_iter().chain(assertions).collect();
        (!reasons.is_empty()).then(|| reasons.join(" and "))
    }

    /// The flags that may affect the program, as a set: without warnings, debugging and paths. For Meson builds by
    /// `pgdyno build`, the flags given to the compiler are included.
    pub fn telling_flags(&self) -> Option<BTreeSet<String>> {
        let harmless = |flag: &&str| !HARMLESS.iter().any(|start| flag.starts_with(start));
        Some(self.all_flags()?.split_whitespace().filter(harmless).map(str::to_owned).collect())
    }

    /// Whether two programs come from the same compiler; `None` if one is unknown. For Meson builds, `version()` has
    /// only name and version (`gcc-12.2.0`); for `configure`, the compiler's own description (`gcc (Debian 12.2.0-14)
    /// 12.2.0`). If one is short, only name and version are compared.
    pub fn has_compiler_of(&self, other: &Self) -> Option<bool> {
        let (one, other) = (self.compiler.as_deref()?, other.compiler.as_deref()?);
        let is_short = |text: &str| !text.contains(char::is_whitespace);
        if one == other || !(is_short(one) || is_short(other)) {
            return Some(one == other);
        }
        let named = |text| name_and_version(text).ok_or(text);
        Some(named(one) == named(other))
    }

    /// Whether the relevant flags match; `None` if those of one are unknown.
    pub fn has_flags_of(&self, other: &Self) -> Option<bool> {
        self.telling_flags().zip(other.telling_flags()).map(|(own, others)| own == others)
    }

    /// The compiler's name and version in Meson's form: `gcc-12.2.0`.
    pub fn compiler_in_short(&self) -> Option<String> {
        let (name, version) = name_and_version(self.compiler.as_deref()?)?;
        Some(format!("{name}-{version}"))
    }

    /// The features that may affect the program.
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

/// Name and version of a compiler: `clang` and `14.0.6` of `Debian clang version 14.0.6`. Parentheses hold the
/// packager's version.
fn name_and_version(text: &str) -> Option<(&'static str, &str)> {
    let name = ["clang", "gcc", "icc"].into_iter().find(|name| text.contains(name))?;
    // The packager's parentheses may precede the compiler's version and contain another one.
    let outside = text.split_once('(').map_or(text, |(before, rest)| match rest.split_once(')') {
        Some((_, after)) if !before.contains('.') => after,
        _ => before,
    });
    let is_of_version = |c: char| c.is_ascii_digit() || c == '.';
    let version = outside.split(|c| !is_of_version(c)).find(|part| part.trim_matches('.').contains('.'))?;
    Some((name, version))
}

/// The features enabled by a `configure` line, in the order of [`FEATURES`].
pub fn features_of_configure(configure: &str) -> Vec<&'static str> {
    let words: BTreeSet<&str> = configure_words(configure).collect();
    let asked =
        |(name, asks): &(&'static str, &[&str])| asks.iter().any(|ask| words.contains(ask)).then_some(*name);
    FEATURES.iter().filter_map(asked).collect()
}

/// The block size in bytes of a `configure` line; 8 KiB by default.
pub fn block_bytes_of_configure(configure: &str) -> u32 {
    let given = configure_words(configure).find_map(|word| word.strip_prefix("--with-blocksize="));
    given.and_then(|kb| kb.parse::<u32>().ok()).filter(|kb| (1..=32).contains(kb)).unwrap_or(8) << 10
}

/// The WAL segment size in MB of a `configure` line (before 11, which made it an option of initdb).
pub fn wal_segment_mb_of_configure(configure: &str) -> Option<u32> {
    let given = configure_words(configure).find_map(|word| word.strip_prefix("--with-wal-segsize="));
    given.and_then(|mb| mb.parse().ok()).filter(|mb: &u32| mb.is_power_of_two() && *mb <= 1024)
}

/// Words of a `configure` line; `pg_config` quotes each for a shell.
fn configure_words(configure: &str) -> impl Iterator<Item = &str> {
    configure.split_whitespace().map(|word| word.trim_matches('\''))
}

/// Whether two programs come from the same compiler with the same flags; `None` if that is unknown.
pub fn same_build(a: &BuildFacts, b: &BuildFacts) -> Option<bool> {
    // One known difference is enough; to match, both must be known.
    match (a.has_compiler_of(b), a.has_flags_of(b)) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Text before the compiler's name in `version()`; it is embedded in the program.
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
    fn flags_given_by_pgdyno_count_if_pg_config_lacks_them() {
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
    fn meson_and_configure_name_the_same_compiler_differently() {
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
    fn debug_symbols_are_no_difference() {
        assert_eq!(
            with_features(&["debug", "dtrace", "lz4"]).telling_features(),
            with_features(&["lz4"]).telling_features()
        );
        assert_eq!(build("-O2").telling_features(), None);
    }

    #[test]
    fn features_and_sizes_are_read_from_a_configure_line() {
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
