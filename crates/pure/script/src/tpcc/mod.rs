//! TPC-C in pgbench's script language: three shapes of the same five transactions, and the terminal input as
//! variables.

mod input;

use pgdyno_core::tpcc::{Shape, Transaction};

pub use input::{InputGenerator, TerminalParams, VARIABLES};

use crate::{ScriptError, Scripts};

/// SQL that creates the functions.
const FUNCTIONS: &str = include_str!("shapes/functions/functions.sql");
/// Variable in which a Delivery returns the number of districts that had an order to deliver.
pub const DELIVERED: &str = "delivered";
/// Variable with the number of the order that the last New-Order of a client entered; with `w_id` and `d_id` of its
/// input it is the key of that row. A New-Order that was rolled back entered none.
pub const ORDER: &str = "o_id";
/// SQLSTATE by which the functions report an item that does not exist (clause 2.4.2.3).
pub const ROLLED_BACK: &str = "TPC01";

/// The five scripts of a shape, in the order of [`Transaction::ALL`].
macro_rules! scripts {
    ($shape:literal) => {
        [
            include_str!(concat!("shapes/", $shape, "/new-order.sql")),
            include_str!(concat!("shapes/", $shape, "/payment.sql")),
            include_str!(concat!("shapes/", $shape, "/order-status.sql")),
            include_str!(concat!("shapes/", $shape, "/delivery.sql")),
            include_str!(concat!("shapes/", $shape, "/stock-level.sql")),
        ]
    };
}

/// Script of a transaction in a shape.
pub fn script(shape: Shape, transaction: Transaction) -> &'static str {
    let scripts = match shape {
        Shape::Statements => scripts!("statements"),
        Shape::Pipelined => scripts!("pipelined"),
        Shape::Functions => scripts!("functions"),
    };
    scripts[transaction as usize]
}

/// Parsed scripts of all transactions in a shape, in their order, with slots for their output variables.
///
/// # Errors
/// A script cannot be parsed, which a test rules out.
pub fn scripts(shape: Shape) -> Result<Scripts, ScriptError> {
    let mut scripts = Scripts::default();
    for transaction in Transaction::ALL {
        scripts.add(transaction.name(), script(shape, transaction))?;
    }
    reserve_outputs(&mut scripts);
    Ok(scripts)
}

/// Keeps what the five scripts return about their transactions: [`DELIVERED`] and [`ORDER`].
pub fn reserve_outputs(scripts: &mut Scripts) {
    [DELIVERED, ORDER].into_iter().for_each(|name| scripts.reserve(name));
}

/// SQL that must run before transactions are sent in this shape, if any.
pub fn setup(shape: Shape) -> Option<&'static str> {
    (shape == Shape::Functions).then_some(FUNCTIONS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Action, Protocol};

    #[test]
    fn every_script_reads_what_a_terminal_enters_and_nothing_else() {
        for shape in Shape::ALL {
            let name = shape.name();
            let scripts = scripts(shape).expect(name);
            assert!(
                [DELIVERED, ORDER].iter().all(|output| scripts.names().find(output.as_bytes()).is_some())
            );
            scripts.check_variables(&VARIABLES).expect(name);
            scripts.check_protocol(Protocol::Prepared).expect(name);
        }
    }

    #[test]
    fn every_shape_is_one_transaction_or_one_statement() {
        for shape in Shape::ALL {
            for transaction in Transaction::ALL {
                let scripts = Scripts::one("x", script(shape, transaction)).expect("it is a script");
                let commands = &scripts.get(0).commands;
                let is = |word: &str| commands.iter().any(|command| command.line.starts_with(word));
                let statements = commands.iter().filter(|one| matches!(one.action, Action::Sql(_))).count();
                assert!((is("BEGIN") && is("END")) || statements == 1, "{shape:?} {transaction:?}");
            }
        }
    }

    /// New `s_quantity` when the scripts subtract the sum of several lines of one item.
    fn at_once(quantity: i64, sum: i64) -> i64 {
        let less = quantity - sum;
        if less >= 10 { less } else { less + 91 * ((100 + sum - quantity) / 91) }
    }

    /// New `s_quantity` by clause 2.4.2.2, line by line.
    fn line_by_line(quantity: i64, lines: &[i64]) -> i64 {
        lines
            .iter()
            .fold(quantity, |left, line| if left >= line + 10 { left - line } else { left - line + 91 })
    }

    proptest! {
        #[test]
        fn an_item_that_is_named_often_leaves_what_it_would_leave_line_by_line(
            quantity in 10_i64..=100, lines in prop::collection::vec(1_i64..=10, 1..=15)
        ) {
            let left = line_by_line(quantity, &lines);
            prop_assert_eq!(at_once(quantity, lines.iter().sum()), left);
            prop_assert!((10..=100).contains(&left));
        }
    }
}
