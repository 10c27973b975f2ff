//! Random numbers equal pgbench's, recorded from version 15, which draws like 18.

use pgdyno_core::random::Draw;
use pgdyno_script::{Action, Automatic, Place, Scratch, Scripts, Streams, Value, Variables};

/// A client that runs `\set` commands.
struct Client {
    scripts: Scripts,
    variables: Variables,
    random: pgdyno_core::random::Random,
}

impl Client {
    fn new(text: &str, seed: u64) -> Self {
        let scripts = Scripts::one("x.sql", text).expect("it is a script");
        let mut streams = Streams::derive(seed, 1, 1, false);
        let default_seed = streams.default_seed.expect("it is not defined");
        let automatic = Automatic { scale: 1, client_id: 0, random_seed: seed.cast_signed(), default_seed };
        let variables = Variables::new(scripts.names(), &[], automatic);
        Self { scripts, variables, random: streams.clients.remove(0) }
    }

    /// Values drawn by another transaction.
    fn run(&mut self) -> Vec<i64> {
        let (mut drawn, mut scratch) = (Vec::new(), Scratch::default());
        for command in &self.scripts.get(0).commands {
            let Action::Set { variable: Place::Slot(slot), value } = &command.action else {
                panic!("all are \\set")
            };
            let value = value.eval(&mut self.variables, &mut self.random, &mut scratch);
            let value = value.expect("it has a value");
            self.variables.set(*slot, value);
            let Value::Int(number) = value else { panic!("all are integers") };
            drawn.push(number);
        }
        drawn
    }
}

/// Recorded from `pgbench --random-seed=42 -t 5`.
#[test]
fn uniform_draws_are_those_of_pgbench() {
    let text =
        "\\set a random(1, 1000000)\n\\set b random(-5000, 5000)\n\\set c random(1, 9000000000000000000)\n";
    let mut client = Client::new(text, 42);
    for drawn in [
        [668_251, -4_040, 2_719_338_880_657_079_981],
        [691_120, -416, 2_672_692_745_842_761_249],
        [3_615, -3_381, 5_503_632_866_538_962_919],
        [720_668, 10, 3_811_367_614_520_521_755],
        [748_003, -1_696, 4_544_614_925_540_259_215],
    ] {
        assert_eq!(client.run(), drawn);
    }
}

/// Every random function, and the hash functions of random numbers.
const FUNCTIONS: &str = "\\set u random(-1000, 1000000)\n\
        \\set big random(1, 9000000000000000000)\n\
        \\set e random_exponential(1, 1000000, 3.5)\n\
        \\set e2 random_exponential(-50, 50, 0.1)\n\
        \\set g random_gaussian(1, 1000000, 2.5)\n\
        \\set g2 random_gaussian(-500, 500, 20)\n\
        \\set z random_zipfian(1, 1000000, 1.07)\n\
        \\set z2 random_zipfian(1, 100, 3.0)\n\
        \\set z3 random_zipfian(0, 9, 1.001)\n\
        \\set z4 random_zipfian(1, 5000000000, 1.5)\n\
        \\set h hash(:u)\n\
        \\set h2 hash_fnv1a(:big)\n\
        \\set p permute(:u, 1000003)\n\
        \\set r :random_seed\n\
        \\set d :default_seed\n";

/// Recorded from `pgbench --random-seed=987654321 -t 3`.
#[test]
fn all_random_functions_draw_as_pgbench_does() {
    const SEED: i64 = 987_654_321;
    const DEFAULT: i64 = 4_458_318_058_716_718_433;
    let mut client = Client::new(FUNCTIONS, SEED as u64);
    for drawn in [
        [
            423_141,
            4_806_714_292_883_381_311,
            167_487,
            13,
            509_157,
            -18,
            1,
            1,
            3,
            3_541,
            -610_571_289_925_651_723,
            -8_095_653_699_763_304_161,
            525_464,
            SEED,
            DEFAULT,
        ],
        [
            333_067,
            3_093_934_559_448_840_457,
            16_099,
            -37,
            253_990,
            26,
            3_245,
            1,
            1,
            20,
            1_514_435_451_503_478_306,
            5_848_545_790_170_190_268,
            605_454,
            SEED,
            DEFAULT,
        ],
        [
            443_527,
            8_806_332_306_023_407_806,
            247_977,
            -47,
            494_113,
            -22,
            34_247,
            1,
            6,
            179,
            -6_643_998_147_959_258_537,
            4_135_707_615_858_525_105,
            148_031,
            SEED,
            DEFAULT,
        ],
    ] {
        assert_eq!(client.run(), drawn);
    }
}

/// Script and number of twelve transactions of three clients on three threads, with script weights 1, 2 and 5
/// and `random(1, 1000)`: `pgbench -c 3 -j 3 --random-seed=77`.
#[test]
fn threads_choose_scripts_and_clients_draw_as_pgbench_does() {
    let expected: [[(usize, i64); 12]; 3] = [
        [
            (0, 438),
            (2, 998),
            (2, 886),
            (2, 936),
            (0, 440),
            (0, 113),
            (2, 999),
            (2, 215),
            (2, 682),
            (2, 462),
            (2, 285),
            (2, 94),
        ],
        [
            (0, 135),
            (0, 662),
            (2, 110),
            (2, 488),
            (0, 232),
            (2, 734),
            (2, 153),
            (2, 147),
            (2, 656),
            (1, 679),
            (0, 809),
            (0, 296),
        ],
        [
            (1, 44),
            (1, 263),
            (2, 798),
            (2, 197),
            (0, 419),
            (2, 836),
            (1, 669),
            (2, 691),
            (2, 138),
            (2, 930),
            (2, 243),
            (2, 701),
        ],
    ];
    let streams = Streams::derive(77, 3, 3, false);
    // The engine chooses like this, as a test of it holds.
    let choose = |random: &mut pgdyno_core::random::Random| match random.between(0, 7) {
        0 => 0,
        1..3 => 1,
        _ => 2,
    };
    for ((mut client, mut thread), expected) in streams.clients.into_iter().zip(streams.threads).zip(expected)
    {
        let drawn = expected.map(|_| (choose(&mut thread.choose), client.between(1, 1000)));
        assert_eq!(drawn, expected);
    }
}
