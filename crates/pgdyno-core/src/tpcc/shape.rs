//! How the transactions are sent: three shapes of the same five, in the language of pgbench's scripts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Transaction;
use crate::script::{ScriptError, Scripts};

/// How a transaction is sent. The effect is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A round trip for each statement.
    #[default]
    Statements,
    /// What needs no answer goes together: one to three round trips.
    Pipelined,
    /// A PL/pgSQL function for each transaction: one round trip.
    Functions,
}

/// What makes the functions, and removes them.
const FUNCTIONS: &str = include_str!("shapes/functions/functions.sql");
/// The variable in which a Delivery tells how many districts had an order to deliver.
pub const DELIVERED: &str = "delivered";
/// The error by which the functions say that an item is not there (clause 2.4.2.3).
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

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Statements, Self::Pipelined, Self::Functions];

    /// Its name in plans and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Statements => "statements",
            Self::Pipelined => "pipelined",
            Self::Functions => "functions",
        }
    }

    /// The script of a transaction.
    pub fn script(self, transaction: Transaction) -> &'static str {
        let scripts = match self {
            Self::Statements => scripts!("statements"),
            Self::Pipelined => scripts!("pipelined"),
            Self::Functions => scripts!("functions"),
        };
        scripts[transaction as usize]
    }

    /// The scripts of all transactions, in their order, with room for what they tell besides.
    ///
    /// # Errors
    /// Where one cannot be read, which a test rules out.
    pub fn scripts(self) -> Result<Scripts, ScriptError> {
        let mut scripts = Scripts::default();
        for transaction in Transaction::ALL {
            scripts.add(transaction.name(), self.script(transaction))?;
        }
        scripts.reserve(DELIVERED);
        Ok(scripts)
    }

    /// SQL that the server has to carry out before, if any.
    pub fn setup(self) -> Option<&'static str> {
        (self == Self::Functions).then_some(FUNCTIONS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        script::{Action, Protocol},
        tpcc::VARIABLES,
    };

    #[test]
    fn every_script_reads_what_a_terminal_enters_and_nothing_else() {
        for shape in Shape::ALL {
            let name = shape.name();
            let scripts = shape.scripts().expect(name);
            assert!(scripts.names().find(DELIVERED.as_bytes()).is_some());
            scripts.check_variables(&VARIABLES).expect(name);
            scripts.check_protocol(Protocol::Prepared).expect(name);
        }
    }

    #[test]
    fn every_shape_is_one_transaction_or_one_statement() {
        for shape in Shape::ALL {
            for transaction in Transaction::ALL {
                let scripts = Scripts::one("x", shape.script(transaction)).expect("it is a script");
                let commands = &scripts.get(0).commands;
                let is = |word: &str| commands.iter().any(|command| command.line.starts_with(word));
                let statements = commands.iter().filter(|one| matches!(one.action, Action::Sql(_))).count();
                assert!((is("BEGIN") && is("END")) || statements == 1, "{shape:?} {transaction:?}");
            }
        }
    }

    /// What the scripts do to `s_quantity` with the sum of several lines of one stock.
    fn at_once(quantity: i64, sum: i64) -> i64 {
        let less = quantity - sum;
        if less >= 10 { less } else { less + 91 * ((100 + sum - quantity) / 91) }
    }

    /// Clause 2.4.2.2, line by line.
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
