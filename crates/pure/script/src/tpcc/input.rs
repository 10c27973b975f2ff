//! The input of TPC-C terminals, as variables of scripts.

use std::sync::Arc;

use pgdyno_core::tpcc::{
    Customer, DISTRICTS, Draws, Input, Line, RunConstants, Shares, Terminal, Transaction, last_name,
};

use serde::{Deserialize, Serialize};

use super::DELIVERED;
use crate::{Names, Slot, Value, Variables};

/// Variables that a terminal fills.
///
/// Numbers: warehouse and district of the transaction, the customer's, the payment (with two digits), and 1 or
/// 0 for `all_local` and `by_name`. `i_ids`, `supply_w_ids` and `quantities` are arrays as text. `attempt`
/// contains the numbers of command, run, client and attempt in base 36, unique within a database.
pub const VARIABLES: [&str; 16] = [
    "w_id",
    "d_id",
    "c_id",
    "c_last",
    "by_name",
    "ol_cnt",
    "all_local",
    "i_ids",
    "supply_w_ids",
    "quantities",
    "c_w_id",
    "c_d_id",
    "amount",
    "attempt",
    "carrier_id",
    "threshold",
];

/// Random stream of terminal input, different from those of row generation with any seed.
const STREAM: u64 = 1 << 32;

/// Parameters shared by all clients of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalParams {
    /// Number of warehouses; each has ten terminals.
    pub warehouses: u64,
    /// Constants of the non-uniform random numbers.
    pub constants: RunConstants,
    /// Seed of the run.
    pub seed: u64,
    /// Random number below 10⁹ of the command, which distinguishes commands with the same seed.
    pub command: u32,
    /// Number of the run.
    pub run: u32,
}

impl TerminalParams {
    /// Parameters for another run with this seed and number.
    #[must_use]
    pub fn in_run(self, seed: u64, run: u32) -> Self {
        Self { seed, run, ..self }
    }
}

/// Generates the input of one client's transactions.
#[derive(Debug, Clone)]
pub struct InputGenerator {
    params: TerminalParams,
    client: u32,
    draws: Draws,
    slots: Slots,
    /// Number of attempts begun.
    attempts: u64,
    /// The last input, and its terminal.
    last: Option<(Terminal, Input)>,
    text: Vec<u8>,
}

impl InputGenerator {
    /// Input of a client whose scripts have these names.
    pub fn new(params: TerminalParams, client: u32, names: &Arc<Names>) -> Self {
        let draws = Draws::new(params.seed, STREAM + u64::from(params.run), client.into());
        Self { params, client, draws, slots: Slots::new(names), attempts: 0, last: None, text: Vec::new() }
    }

    /// Generates the input of a transaction for the terminal with this number from 0, or else for a random one.
    pub fn enter(&mut self, transaction: Transaction, terminal: Option<u64>, variables: &mut Variables) {
        let number = terminal.unwrap_or_else(|| self.draws.within(0, self.params.warehouses * DISTRICTS - 1));
        let terminal = Terminal {
            warehouse: number / DISTRICTS + 1,
            district: number % DISTRICTS + 1,
            warehouses: self.params.warehouses,
        };
        self.attempts += 1;
        let input = terminal.enter(transaction, &self.params.constants, &mut self.draws);
        self.last = Some((terminal, input));
        set(variables, self.slots.w_id, terminal.warehouse);
        self.fill(&terminal, &input, variables);
    }

    fn fill(&mut self, terminal: &Terminal, input: &Input, variables: &mut Variables) {
        let slots = self.slots;
        match *input {
            Input::NewOrder { district, customer, lines, count } => {
                set(variables, slots.d_id, district);
                set(variables, slots.c_id, customer);
                self.fill_lines(terminal, &lines[..count], variables);
            }
            Input::Payment { district, customer_warehouse, customer_district, customer, amount } => {
                set(variables, slots.d_id, district);
                set(variables, slots.c_w_id, customer_warehouse);
                set(variables, slots.c_d_id, customer_district);
                self.fill_customer(customer, variables);
                self.fill_text(slots.amount, variables, |out| {
                    out.extend_from_slice(format!("{}.{:02}", amount / 100, amount % 100).as_bytes());
                });
                let TerminalParams { command, run, .. } = self.params;
                let numbers = [command.into(), run.into(), self.client.into(), self.attempts];
                self.fill_text(slots.attempt, variables, |out| write_mark(numbers, out));
            }
            Input::OrderStatus { district, customer } => {
                set(variables, slots.d_id, district);
                self.fill_customer(customer, variables);
            }
            Input::Delivery { carrier } => set(variables, slots.carrier_id, carrier),
            Input::StockLevel { threshold } => {
                set(variables, slots.d_id, terminal.district);
                set(variables, slots.threshold, threshold);
            }
        }
    }

    fn fill_lines(&mut self, terminal: &Terminal, lines: &[Line], variables: &mut Variables) {
        let slots = self.slots;
        let local = lines.iter().all(|line| u64::from(line.supply_warehouse) == terminal.warehouse);
        set(variables, slots.ol_cnt, lines.len() as u64);
        set(variables, slots.all_local, local.into());
        self.fill_array(slots.i_ids, lines.iter().map(|line| line.item), variables);
        self.fill_array(slots.supply_w_ids, lines.iter().map(|line| line.supply_warehouse), variables);
        self.fill_array(slots.quantities, lines.iter().map(|line| line.quantity), variables);
    }

    fn fill_array(
        &mut self,
        slot: Option<Slot>,
        values: impl Iterator<Item = u32>,
        variables: &mut Variables,
    ) {
        self.fill_text(slot, variables, |out| write_array(values, out));
    }

    fn fill_customer(&mut self, customer: Customer, variables: &mut Variables) {
        let slots = self.slots;
        match customer {
            Customer::Number(number) => {
                set(variables, slots.by_name, 0);
                set(variables, slots.c_id, number);
                self.fill_text(slots.c_last, variables, |_| ());
            }
            Customer::LastName(number) => {
                set(variables, slots.by_name, 1);
                set(variables, slots.c_id, 0);
                self.fill_text(slots.c_last, variables, |out| last_name(number, out));
            }
        }
    }

    fn fill_text(&mut self, slot: Option<Slot>, variables: &mut Variables, write: impl FnOnce(&mut Vec<u8>)) {
        let Some(slot) = slot else { return };
        self.text.clear();
        write(&mut self.text);
        variables.set_text(slot, &self.text);
    }

    /// Counts the last input into `shares`, for an attempt that the server executed. After a Delivery, the
    /// variable `delivered` holds the number of districts with a waiting order.
    pub fn count(&self, variables: &mut Variables, shares: &mut Shares) {
        let Some((terminal, input)) = &self.last else { return };
        let delivered = self.slots.delivered.and_then(|slot| variables.value(slot).ok());
        shares.count(
            terminal,
            input,
            delivered.and_then(|value| match value {
                Value::Int(count) => u64::try_from(count).ok(),
                _ => None,
            }),
        );
    }
}

fn set(variables: &mut Variables, slot: Option<Slot>, value: u64) {
    if let Some(slot) = slot {
        variables.set(slot, Value::Int(value.cast_signed()));
    }
}

/// Formats a PostgreSQL array as text.
fn write_array(values: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        Value::Int(value.into()).write(out);
    }
    out.push(b'}');
}

/// Formats numbers in base 36 separated by dots: the mark of an attempt, short enough to leave room for a name
/// in the 24 characters of `h_data`.
fn write_mark(numbers: [u64; 4], out: &mut Vec<u8>) {
    for (at, number) in numbers.into_iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        write_base36(number, out);
    }
}

fn write_base36(number: u64, out: &mut Vec<u8>) {
    if number >= 36 {
        write_base36(number / 36, out);
    }
    out.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]);
}

/// Slots of the variables that a script reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slots {
    w_id: Option<Slot>,
    d_id: Option<Slot>,
    c_id: Option<Slot>,
    c_last: Option<Slot>,
    by_name: Option<Slot>,
    ol_cnt: Option<Slot>,
    all_local: Option<Slot>,
    i_ids: Option<Slot>,
    supply_w_ids: Option<Slot>,
    quantities: Option<Slot>,
    c_w_id: Option<Slot>,
    c_d_id: Option<Slot>,
    amount: Option<Slot>,
    attempt: Option<Slot>,
    carrier_id: Option<Slot>,
    threshold: Option<Slot>,
    /// Output of a Delivery rather than input.
    delivered: Option<Slot>,
}

impl Slots {
    fn new(names: &Names) -> Self {
        let mut slots = VARIABLES.map(|name| names.find(name.as_bytes())).into_iter();
        let mut next = || slots.next().flatten();
        Self {
            w_id: next(),
            d_id: next(),
            c_id: next(),
            c_last: next(),
            by_name: next(),
            ol_cnt: next(),
            all_local: next(),
            i_ids: next(),
            supply_w_ids: next(),
            quantities: next(),
            c_w_id: next(),
            c_d_id: next(),
            amount: next(),
            attempt: next(),
            carrier_id: next(),
            threshold: next(),
            delivered: names.find(DELIVERED.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::tpcc::Shape;

    use super::*;
    use crate::Automatic;

    /// Input and variables of a client whose scripts read all variables.
    fn client(number: u32) -> (InputGenerator, Variables, Arc<Names>) {
        let scripts = super::super::scripts(Shape::Statements).expect("they are scripts");
        let names = Arc::clone(scripts.names());
        let automatic = Automatic { scale: 1, client_id: 0, random_seed: 1, default_seed: 1 };
        let constants = RunConstants::draw(1, None);
        let params = TerminalParams { warehouses: 7, constants, seed: 3, command: 36 * 36 + 35, run: 2 };
        (InputGenerator::new(params, number, &names), Variables::new(&names, &[], automatic), names)
    }

    fn shown(variables: &Variables, names: &Names, name: &str) -> String {
        let mut text = Vec::new();
        let slot = names.find(name.as_bytes()).expect(name);
        assert!(variables.write(slot, &mut text), "{name} has no value");
        String::from_utf8(text).expect("text")
    }

    fn list(text: &str) -> Vec<u64> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).expect("an array");
        inner.split(',').map(|one| one.parse().expect("a number")).collect()
    }

    #[test]
    fn variables_say_what_is_counted() {
        let (mut entry, mut variables, names) = client(0);
        let (mut shares, mut expected) = (Shares::default(), Shares::default());
        for _ in 0..2_000 {
            entry.enter(Transaction::NewOrder, None, &mut variables);
            entry.count(&mut variables, &mut shares);
            let text = |name| shown(&variables, &names, name);
            let (items, supply, quantities) =
                (list(&text("i_ids")), list(&text("supply_w_ids")), list(&text("quantities")));
            let home: u64 = text("w_id").parse().expect("a number");
            let remote = supply.iter().filter(|warehouse| **warehouse != home).count() as u64;
            assert_eq!(text("ol_cnt"), items.len().to_string());
            assert_eq!((supply.len(), quantities.len()), (items.len(), items.len()));
            assert_eq!(text("all_local"), u64::from(remote == 0).to_string());
            expected.orders += 1;
            expected.lines += items.len() as u64;
            expected.remote_lines += remote;
            expected.unused_items += u64::from(items.last() == Some(&pgdyno_core::tpcc::UNUSED_ITEM));
        }
        assert_eq!(shares, expected);
        assert!(shares.unused_items > 0 && shares.remote_lines > 0);
    }

    #[test]
    fn a_customer_has_a_name_or_a_number_and_an_attempt_a_name_of_its_own() {
        let (mut entry, mut variables, names) = client(4);
        let (mut attempts, mut named) = (std::collections::BTreeSet::new(), 0);
        for _ in 0..500 {
            entry.enter(Transaction::Payment, Some(13), &mut variables);
            let text = |name| shown(&variables, &names, name);
            assert_eq!(text("w_id"), "2");
            assert_eq!(text("by_name") == "1", !text("c_last").is_empty());
            assert_eq!(text("by_name") == "1", text("c_id") == "0");
            named += u32::from(text("by_name") == "1");
            let (units, cents) =
                text("amount").split_once('.').map(|(a, b)| (a.len(), b.len())).expect("cents");
            assert!((1..=4).contains(&units) && cents == 2);
            assert!(text("attempt").starts_with("10z.2.4.") && attempts.insert(text("attempt")));
        }
        assert!((200..400).contains(&named), "{named}");
    }

    /// The longest mark: last attempt of a day at 20,000 per second, last client, last run, any command.
    #[test]
    fn the_longest_mark_leaves_room_for_a_name() {
        let mut mark = Vec::new();
        write_mark([999_999_999, 46_655, 99_999, 20_000 * 86_400], &mut mark);
        assert_eq!(String::from_utf8(mark).expect("it is ASCII"), "gjdgxr.zzz.255r.skt1c0");
    }

    /// Without a fixed terminal a client uses all of them; otherwise few clients would touch few warehouses.
    #[test]
    fn clients_without_terminals_go_to_all_warehouses() {
        let (mut entry, mut variables, names) = client(0);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            entry.enter(Transaction::Delivery, None, &mut variables);
            seen.insert(shown(&variables, &names, "w_id"));
        }
        assert_eq!(seen.len(), 7);
    }

    /// Counts what a Delivery found; its absence is no error.
    #[test]
    fn deliveries_that_pass_over_a_district_are_counted() {
        let (mut entry, mut variables, _) = client(0);
        let mut shares = Shares::default();
        entry.enter(Transaction::Delivery, Some(0), &mut variables);
        entry.count(&mut variables, &mut shares);
        set(&mut variables, entry.slots.delivered, 7);
        entry.count(&mut variables, &mut shares);
        assert_eq!((shares.deliveries, shares.skipped_deliveries), (2, 1));
    }
}
