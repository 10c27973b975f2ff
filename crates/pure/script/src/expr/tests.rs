//! Tests evaluation and precedence against a second implementation that recurses over a tree and computes in 128 bits.

use pgdyno_core::random::Random;
use proptest::prelude::*;

use super::Scratch;
use crate::{Action, Automatic, Scripts, Value, Variables};

#[derive(Debug, Clone)]
enum Tree {
    Leaf(Value),
    /// `-`, `~` or `not`, with its precedence.
    Prefix(&'static str, Box<Tree>),
    Infix(&'static str, Box<Tree>, Box<Tree>),
    Is(Box<Tree>, bool, Value),
    Case(Vec<(Tree, Tree)>, Option<Box<Tree>>),
    Call(&'static str, Vec<Tree>),
}

const INFIX: [(&str, u8); 18] = [
    ("or", 1),
    ("and", 2),
    ("=", 5),
    ("<>", 5),
    ("<", 5),
    ("<=", 5),
    (">", 5),
    (">=", 5),
    ("|", 6),
    ("#", 6),
    ("&", 6),
    ("<<", 6),
    (">>", 6),
    ("+", 7),
    ("-", 7),
    ("*", 8),
    ("/", 8),
    ("%", 8),
];

fn leaf() -> impl Strategy<Value = Tree> {
    let int = prop_oneof![-4i64..10, any::<i64>(), Just(i64::MIN), Just(i64::MAX)];
    let double = prop_oneof![(-40i32..40).prop_map(|n| f64::from(n) / 4.0), Just(1e19), Just(-2.5e300)];
    prop_oneof![
        4 => int.prop_map(Value::Int),
        2 => double.prop_map(Value::Double),
        2 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ]
    .prop_map(Tree::Leaf)
}

fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(5, 40, 3, |inner| {
        let what = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::Bool)];
        let branch = (inner.clone(), inner.clone());
        prop_oneof![
            2 => (prop::sample::select(vec!["-", "~", "not "]), inner.clone())
                .prop_map(|(op, tree)| Tree::Prefix(op, tree.into())),
            6 => (prop::sample::select(INFIX.to_vec()), inner.clone(), inner.clone())
                .prop_map(|((op, _), left, right)| Tree::Infix(op, left.into(), right.into())),
            1 => (inner.clone(), any::<bool>(), what)
                .prop_map(|(tree, not, what)| Tree::Is(tree.into(), not, what)),
            1 => (prop::collection::vec(branch, 1..3), prop::option::of(inner.clone()))
                .prop_map(|(branches, other)| Tree::Case(branches, other.map(Box::new))),
            1 => (prop::sample::select(vec!["least", "greatest"]), prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(name, args)| Tree::Call(name, args)),
            1 => (prop::sample::select(vec!["abs", "int", "double"]), inner)
                .prop_map(|(name, arg)| Tree::Call(name, vec![arg])),
        ]
    })
}

/// The value; `None` for an error.
fn naive(tree: &Tree) -> Option<Value> {
    match tree {
        Tree::Leaf(value) => Some(*value),
        Tree::Prefix("-", inner) => binary("-", Value::Int(0), naive(inner)?),
        Tree::Prefix("~", inner) => binary("#", Value::Int(-1), naive(inner)?),
        Tree::Prefix(_, inner) => match naive(inner)? {
            Value::Null => Some(Value::Null),
            value => Some(Value::Bool(!boolean(value)?)),
        },
        Tree::Infix(op @ ("and" | "or"), left, right) => match naive(left)? {
            Value::Null => Some(Value::Null),
            left if boolean(left)? == (*op == "or") => Some(left),
            _ => match naive(right)? {
                Value::Null => Some(Value::Null),
                right => boolean(right).map(Value::Bool),
            },
        },
        Tree::Infix(op, left, right) => {
            let (left, right) = (naive(left)?, naive(right)?);
            binary(op, left, right)
        }
        Tree::Is(inner, not, what) => Some(Value::Bool((naive(inner)? == *what) != *not)),
        Tree::Case(branches, other) => {
            for (when, then) in branches {
                let taken = match naive(when)? {
                    Value::Null => false,
                    Value::Bool(value) => value,
                    value => real(value)? != 0.0,
                };
                if taken {
                    return naive(then);
                }
            }
            other.as_ref().map_or(Some(Value::Null), |other| naive(other))
        }
        Tree::Call(name, args) => call(name, &args.iter().map(naive).collect::<Option<Vec<_>>>()?),
    }
}

fn call(name: &str, args: &[Value]) -> Option<Value> {
    if args.contains(&Value::Null) {
        return Some(Value::Null);
    }
    match (name, args[0]) {
        ("abs", Value::Int(value)) => Some(Value::Int(value.wrapping_abs())),
        ("abs", value) => real(value).map(f64::abs).map(Value::Double),
        ("int", value) => whole(value).map(|value| Value::Int(value as i64)),
        ("double", value) => real(value).map(Value::Double),
        _ if args.iter().any(|arg| matches!(arg, Value::Double(_))) => {
            let values = args.iter().map(|&arg| real(arg)).collect::<Option<Vec<_>>>()?;
            let pick = |a: f64, b: f64| if (a < b) == (name == "least") { a } else { b };
            values.into_iter().reduce(pick).map(Value::Double)
        }
        _ => {
            let values = args.iter().map(|&arg| whole(arg)).collect::<Option<Vec<_>>>()?;
            let value = if name == "least" { values.iter().min() } else { values.iter().max() };
            value.map(|&value| Value::Int(value as i64))
        }
    }
}

fn boolean(value: Value) -> Option<bool> {
    if let Value::Bool(value) = value { Some(value) } else { None }
}

fn real(value: Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(value as f64),
        Value::Double(value) => Some(value),
        _ => None,
    }
}

fn whole(value: Value) -> Option<i128> {
    match value {
        Value::Int(value) => Some(i128::from(value)),
        Value::Double(value) if value.abs() < 1e30 => {
            let near = value.floor();
            let up = value - near > 0.5 || (value - near == 0.5 && near % 2.0 != 0.0);
            fits(near as i128 + i128::from(up))
        }
        _ => None,
    }
}

fn fits(value: i128) -> Option<i128> {
    (i128::from(i64::MIN)..=i128::from(i64::MAX)).contains(&value).then_some(value)
}

fn binary(op: &str, left: Value, right: Value) -> Option<Value> {
    if left == Value::Null || right == Value::Null {
        return Some(Value::Null);
    }
    let doubles = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
    if doubles && matches!(op, "+" | "-" | "*" | "/" | "=" | "<>" | "<" | "<=" | ">" | ">=") {
        let (l, r) = (real(left)?, real(right)?);
        return Some(match op {
            "+" => Value::Double(l + r),
            "-" => Value::Double(l - r),
            "*" => Value::Double(l * r),
            "/" => Value::Double(l / r),
            "=" => Value::Bool(l == r),
            "<>" => Value::Bool(l != r),
            "<" => Value::Bool(l < r),
            "<=" => Value::Bool(l <= r),
            ">" => Value::Bool(l > r),
            _ => Value::Bool(l >= r),
        });
    }
    let (l, r) = (whole(left)?, whole(right)?);
    let distance = (r & 63) as u32;
    let value = match op {
        "=" => return Some(Value::Bool(l == r)),
        "<>" => return Some(Value::Bool(l != r)),
        "<" => return Some(Value::Bool(l < r)),
        "<=" => return Some(Value::Bool(l <= r)),
        ">" => return Some(Value::Bool(l > r)),
        ">=" => return Some(Value::Bool(l >= r)),
        "|" => l | r,
        "#" => l ^ r,
        "&" => l & r,
        // Only the lower 64 bits remain.
        "<<" => i128::from((l << distance) as i64),
        ">>" => l >> distance,
        "+" => l + r,
        "-" => l - r,
        "*" => l.checked_mul(r)?,
        _ if r == 0 => return None,
        "/" => l / r,
        _ => l % r,
    };
    fits(value).map(|value| Value::Int(value as i64))
}

/// The tree as text, fully parenthesized or only where the grammar requires it.
fn text(tree: &Tree, bare: bool) -> String {
    let part = |inner: &Tree, least: u8| {
        let text = text(inner, bare);
        if bare && level(inner) >= least { text } else { format!("({text})") }
    };
    match tree {
        Tree::Leaf(Value::Int(value)) => value.to_string(),
        Tree::Leaf(Value::Double(value)) => format!("{value:?}"),
        Tree::Leaf(Value::Bool(value)) => value.to_string(),
        Tree::Leaf(Value::Null) => "NULL".to_owned(),
        Tree::Prefix(op, inner) => {
            format!("{op} {}", part(inner, if *op == "-" { 10 } else { prefix_level(op) }))
        }
        Tree::Infix(op, left, right) => {
            let own = level(tree);
            // Comparisons are not associative.
            let left = part(left, if own == 5 { 6 } else { own });
            format!("{left} {op} {}", part(right, own + 1))
        }
        Tree::Is(inner, not, what) => {
            let not = if *not { "NOT " } else { "" };
            format!("{} IS {not}{}", part(inner, 4), text(&Tree::Leaf(*what), true))
        }
        Tree::Case(branches, other) => {
            let branches: String = branches
                .iter()
                .map(|(when, then)| format!(" WHEN {} THEN {}", text(when, bare), text(then, bare)))
                .collect();
            let other = other.as_ref().map(|other| format!(" ELSE {}", text(other, bare)));
            format!("CASE{branches}{} END", other.unwrap_or_default())
        }
        Tree::Call(name, args) => {
            let args: Vec<_> = args.iter().map(|arg| text(arg, bare)).collect();
            format!("{name}({})", args.join(", "))
        }
    }
}

fn prefix_level(op: &str) -> u8 {
    match op {
        "-" => 9,
        "~" => 7,
        _ => 3,
    }
}

/// Precedence of the outermost operator. `~` has that of `#`; as an operand it needs parentheses to keep what follows.
fn level(tree: &Tree) -> u8 {
    match tree {
        Tree::Leaf(Value::Int(value)) if *value < 0 => 9,
        Tree::Leaf(Value::Double(value)) if value.is_sign_negative() => 9,
        Tree::Leaf(_) | Tree::Case(..) | Tree::Call(..) => 10,
        Tree::Prefix("-", _) => 9,
        Tree::Prefix("~", _) => 6,
        Tree::Prefix(..) => 3,
        Tree::Infix(op, ..) => INFIX.iter().find(|(known, _)| known == op).expect("it is known").1,
        Tree::Is(..) => 4,
    }
}

fn eval(expression: &str) -> Option<Value> {
    let scripts = Scripts::one("test", format!("\\set x {expression}\n")).expect(expression);
    let Action::Set { value, .. } = &scripts.get(0).commands[0].action else { panic!("it is a \\set") };
    let automatic = Automatic { scale: 1, client_id: 0, random_seed: 0, default_seed: 0 };
    let mut variables = Variables::new(scripts.names(), &[], automatic);
    value.eval(&mut variables, &mut Random::seeded(1), &mut Scratch::default()).ok()
}

/// Equality in which NaN equals NaN.
fn same(left: Option<Value>, right: Option<Value>) -> bool {
    match (left, right) {
        (Some(Value::Double(left)), Some(Value::Double(right))) => {
            left == right || (left.is_nan() && right.is_nan())
        }
        _ => left == right,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn values_agree_with_a_second_implementation(tree in tree(), bare: bool) {
        let text = text(&tree, bare);
        let (ours, theirs) = (eval(&text), naive(&tree));
        prop_assert!(same(ours, theirs), "{}: {:?} {:?}", text, ours, theirs);
    }

    /// Omitting redundant parentheses gives the same code.
    #[test]
    fn parentheses_that_are_not_needed_change_nothing(tree in tree()) {
        let code = |text: String| {
            let scripts = Scripts::one("test", format!("\\set x {text}\n")).expect(&text);
            format!("{:?}", scripts.get(0).commands[0].action)
        };
        prop_assert_eq!(code(text(&tree, true)), code(text(&tree, false)));
    }
}
