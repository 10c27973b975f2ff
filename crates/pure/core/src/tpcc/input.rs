//! Input data of the five transactions (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1).

use serde::{Deserialize, Serialize};

use super::{DISTRICTS, Draws, ITEMS, NuRand, Transaction};

/// Per cent of New-Orders that name an unused item (clause 2.4.1.4).
const UNUSED_PERCENT: u64 = 1;
/// Per cent of order lines supplied by another warehouse (clause 2.4.1.5).
const REMOTE_LINE_PERCENT: u64 = 1;
/// Per cent of payments by customers of another warehouse (clause 2.5.1.2).
const REMOTE_PAYMENT_PERCENT: u64 = 15;
/// Per cent of customers selected by last name, the others by number (clauses 2.5.1.2 and 2.6.1.2).
const BY_NAME_PERCENT: u64 = 60;
/// An item number that no table has.
pub const UNUSED_ITEM: u64 = ITEMS + 1;
/// Most lines in an order.
pub const MOST_LINES: usize = 15;

/// NURand constants of a run (clause 2.1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunConstants {
    last_names: NuRand,
    customers: NuRand,
    items: NuRand,
}

impl RunConstants {
    /// The constant for last names in rows loaded with a seed: the loader draws it first.
    pub fn loaded(seed: u64) -> u64 {
        Draws::new(seed, 0, 0).within(0, 255)
    }

    /// The constants of a seed, for customers whose names were loaded with the constant `loaded`. If that is unknown,
    /// as for tables of another tool, the two may differ by less than required (clause 2.1.6.1).
    pub fn draw(seed: u64, loaded: Option<u64>) -> Self {
        let mut draws = Draws::new(seed, u64::MAX, 0);
        let allowed = |c: &u64| loaded.is_none_or(|loaded| is_apart(loaded.abs_diff(*c)));
        let allowed: Vec<u64> = (0..=255).filter(allowed).collect();
        let last_name = allowed[draws.within(0, allowed.len() as u64 - 1) as usize];
        Self {
            last_names: NuRand::last_names(last_name),
            customers: NuRand::customers(draws.within(0, 1_023)),
            items: NuRand::items(draws.within(0, 8_191)),
        }
    }
}

/// Whether the constants of load and run may differ by this much (clause 2.1.6.1).
fn is_apart(delta: u64) -> bool {
    (65..=119).contains(&delta) && ![96, 112].contains(&delta)
}

/// A terminal with its fixed warehouse and district (clause 2.8.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Warehouse, from 1.
    pub warehouse: u64,
    /// District, from 1 to 10.
    pub district: u64,
    /// Number of warehouses.
    pub warehouses: u64,
}

/// How a customer is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Customer {
    /// By number.
    Number(u64),
    /// By last name, given as its number (clause 4.3.2.3).
    LastName(u64),
}

/// An order line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    /// Item number.
    pub item: u32,
    /// Warehouse that supplies it.
    pub supply_warehouse: u32,
    /// Quantity, from 1 to 10.
    pub quantity: u32,
}

/// Input of a transaction. The warehouse is the terminal's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// New-Order.
    NewOrder {
        /// The district.
        district: u64,
        /// The customer.
        customer: u64,
        /// The lines, of which the first `count` are used.
        lines: [Line; MOST_LINES],
        /// Number of lines, from 5 to 15.
        count: usize,
    },
    /// Payment.
    Payment {
        /// The district that receives it.
        district: u64,
        /// The warehouse of the customer.
        customer_warehouse: u64,
        /// The district of the customer.
        customer_district: u64,
        /// The customer.
        customer: Customer,
        /// Amount in cents, from 1.00 to 5,000.00.
        amount: u64,
    },
    /// Order-Status.
    OrderStatus {
        /// The district.
        district: u64,
        /// The customer.
        customer: Customer,
    },
    /// Delivery.
    Delivery {
        /// The carrier, from 1 to 10.
        carrier: u64,
    },
    /// Stock-Level, for the terminal's own district.
    StockLevel {
        /// Threshold of the quantity, from 10 to 20.
        threshold: u64,
    },
}

impl Terminal {
    /// Generates the input of a transaction.
    pub fn enter(&self, transaction: Transaction, constants: &RunConstants, draws: &mut Draws) -> Input {
        match transaction {
            Transaction::NewOrder => self.order(constants, draws),
            Transaction::Payment => self.payment(constants, draws),
            Transaction::OrderStatus => Input::OrderStatus {
                district: draws.within(1, DISTRICTS),
                customer: customer(constants, draws),
            },
            Transaction::Delivery => Input::Delivery { carrier: draws.within(1, 10) },
            Transaction::StockLevel => Input::StockLevel { threshold: draws.within(10, 20) },
        }
    }

    fn order(&self, constants: &RunConstants, draws: &mut Draws) -> Input {
        let (district, customer) = (draws.within(1, DISTRICTS), constants.customers.draw(draws));
        let count = draws.within(5, MOST_LINES as u64) as usize;
        let unused = draws.happens(UNUSED_PERCENT);
        let mut lines = [Line::default(); MOST_LINES];
        for line in &mut lines[..count] {
            let item = constants.items.draw(draws) as u32;
            let remote = draws.happens(REMOTE_LINE_PERCENT);
            let supply_warehouse = if remote { self.another(draws) } else { self.warehouse };
            let quantity = draws.within(1, 10) as u32;
            *line = Line { item, supply_warehouse: supply_warehouse as u32, quantity };
        }
        if unused {
            lines[count - 1].item = UNUSED_ITEM as u32;
        }
        Input::NewOrder { district, customer, lines, count }
    }

    fn payment(&self, constants: &RunConstants, draws: &mut Draws) -> Input {
        let district = draws.within(1, DISTRICTS);
        let remote = draws.happens(REMOTE_PAYMENT_PERCENT) && self.warehouses > 1;
        let (customer_warehouse, customer_district) = if remote {
            (self.another(draws), draws.within(1, DISTRICTS))
        } else {
            (self.warehouse, district)
        };
        let (customer, amount) = (customer(constants, draws), draws.within(100, 500_000));
        Input::Payment { district, customer_warehouse, customer_district, customer, amount }
    }

    /// One of the other warehouses, or the terminal's own if there is no other.
    fn another(&self, draws: &mut Draws) -> u64 {
        if self.warehouses == 1 {
            return self.warehouse;
        }
        let other = draws.within(1, self.warehouses - 1);
        if other < self.warehouse { other } else { other + 1 }
    }
}

fn customer(constants: &RunConstants, draws: &mut Draws) -> Customer {
    match draws.happens(BY_NAME_PERCENT) {
        true => Customer::LastName(constants.last_names.draw(draws)),
        false => Customer::Number(constants.customers.draw(draws)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::{CUSTOMERS, Mix};

    const MANY: u64 = 1_000_000;

    /// Asserts that a share is within three standard deviations of the expected one.
    fn share(what: &str, of: u64, among: u64, share: f64) {
        let (of, among) = (of as f64, among as f64);
        let deviations = (of - among * share) / (among * share * (1.0 - share)).sqrt();
        assert!(deviations.abs() <= 3.0, "{what}: {of} of {among}, {deviations} deviations");
    }

    #[derive(Default)]
    struct Seen {
        orders: u64,
        unused: u64,
        lines: u64,
        remote_lines: u64,
        payments: u64,
        remote_payments: u64,
        customers: u64,
        named: u64,
    }

    impl Seen {
        fn customer(&mut self, customer: Customer) {
            self.customers += 1;
            match customer {
                Customer::LastName(name) => {
                    self.named += 1;
                    assert!(name < 1_000);
                }
                Customer::Number(number) => assert!((1..=CUSTOMERS).contains(&number)),
            }
        }

        fn order(&mut self, terminal: &Terminal, lines: &[Line]) {
            self.orders += 1;
            let (last, others) = lines.split_last().expect("there are five at least");
            self.unused += u64::from(u64::from(last.item) == UNUSED_ITEM);
            assert!(others.iter().all(|line| (1..=ITEMS).contains(&line.item.into())));
            self.lines += lines.len() as u64;
            let remote = lines.iter().filter(|line| u64::from(line.supply_warehouse) != terminal.warehouse);
            self.remote_lines += remote.count() as u64;
            assert!(lines.iter().all(|line| (1..=10).contains(&line.quantity)));
            assert!(
                lines.iter().all(|line| (1..=terminal.warehouses).contains(&line.supply_warehouse.into()))
            );
        }

        fn input(&mut self, terminal: &Terminal, input: &Input) {
            match *input {
                Input::NewOrder { lines, count, .. } => self.order(terminal, &lines[..count]),
                Input::Payment { district, customer_warehouse, customer_district, customer, amount } => {
                    self.payments += 1;
                    self.remote_payments += u64::from(customer_warehouse != terminal.warehouse);
                    assert!(customer_warehouse != terminal.warehouse || customer_district == district);
                    assert!((100..=500_000).contains(&amount));
                    self.customer(customer);
                }
                Input::OrderStatus { customer, .. } => self.customer(customer),
                Input::Delivery { carrier } => assert!((1..=10).contains(&carrier)),
                Input::StockLevel { threshold } => assert!((10..=20).contains(&threshold)),
            }
        }
    }

    /// Checks the shares of clauses 2.4.1.4, 2.5.1.2, 2.6.1.2 and 2.4.1.5 in a million transactions.
    #[test]
    fn shares_match_the_specification() {
        let constants = RunConstants::draw(5, Some(100));
        let terminal = Terminal { warehouse: 3, district: 4, warehouses: 10 };
        let (mut seen, mut draws) = (Seen::default(), Draws::new(1, 2, 3));
        for _ in 0..MANY {
            let transaction = Mix::SPECIFICATION.draw(&mut draws);
            seen.input(&terminal, &terminal.enter(transaction, &constants, &mut draws));
        }
        share("orders", seen.orders, MANY, 0.45);
        share("rolled back", seen.unused, seen.orders, 0.01);
        share("remote lines", seen.remote_lines, seen.lines, 0.01);
        share("remote payments", seen.remote_payments, seen.payments, 0.15);
        share("by name", seen.named, seen.customers, 0.6);
        let mean = seen.lines as f64 / seen.orders as f64;
        assert!((mean - 10.0).abs() < 0.02, "{mean} lines an order");
    }

    #[test]
    fn one_warehouse_has_no_other() {
        let terminal = Terminal { warehouse: 1, district: 1, warehouses: 1 };
        let (constants, mut seen, mut draws) =
            (RunConstants::draw(1, None), Seen::default(), Draws::new(9, 0, 0));
        for _ in 0..20_000 {
            for transaction in Transaction::ALL {
                seen.input(&terminal, &terminal.enter(transaction, &constants, &mut draws));
            }
        }
        assert_eq!((seen.remote_lines, seen.remote_payments), (0, 0));
    }

    #[test]
    fn other_warehouses_are_equally_likely() {
        let terminal = Terminal { warehouse: 3, district: 1, warehouses: 5 };
        let (mut seen, mut draws) = ([0; 6], Draws::new(2, 0, 0));
        for _ in 0..100_000 {
            seen[terminal.another(&mut draws) as usize] += 1;
        }
        assert_eq!((seen[0], seen[3]), (0, 0));
        for other in [1, 2, 4, 5] {
            share("another", seen[other], 100_000, 0.25);
        }
    }

    /// Checks clause 2.1.6.1 for every constant of the load.
    #[test]
    fn constants_of_load_and_run_differ_enough() {
        for loaded in 0..=255 {
            for seed in 0..20 {
                let NuRand { c, .. } = RunConstants::draw(seed, Some(loaded)).last_names;
                let delta = c.abs_diff(loaded);
                assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{loaded} {c}");
            }
        }
    }
}
