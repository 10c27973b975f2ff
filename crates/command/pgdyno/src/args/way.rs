//! The flag for the load method.

use clap::{
    Arg, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use pgdyno_rows::load::Way;

/// A flag that takes a load method, for tables whose rows the server cannot generate.
pub fn without_server(flag: Arg) -> Arg {
    let all = Way::value_variants().iter().filter(|way| **way != Way::Server);
    let values = PossibleValuesParser::new(all.filter_map(ValueEnum::to_possible_value));
    flag.value_parser(values.try_map(|name| Way::from_str(&name, false)))
}
