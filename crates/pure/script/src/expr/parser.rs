//! Compiles tokens to code with the precedences of pgbench's grammar.

use super::{
    Expr, Op,
    functions::{Arity, Function},
    lexer::{Lexer, Token, Word},
};
use crate::{MAX_ARGUMENTS, Names, Slot, Value, error::Fault};

/// Deepest nesting of parentheses, calls, CASE and signs within an expression. Chains of operators have no limit.
pub const MAX_DEPTH: usize = 200;

/// Precedence of an operator; higher binds more tightly.
type Level = u8;
const ANY: Level = 0;
const OR: Level = 1;
const AND: Level = 2;
const NOT: Level = 3;
const IS: Level = 4;
const COMPARE: Level = 5;
const BITS: Level = 6;
const SUM: Level = 7;
const PRODUCT: Level = 8;
const SIGN: Level = 9;

/// Effect of an infix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Infix {
    Call(Function),
    /// Function with swapped operands, which are also evaluated in this order.
    Swapped(Function),
    And,
    Or,
}

/// Location of an expression, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    /// Text of the script.
    pub text: &'a [u8],
    /// Byte of the command's backslash.
    pub start: usize,
    /// Name of the command as written.
    pub command: &'a str,
}

/// Compiles the expression from `at` to the end of the line; returns it with the start of the next line.
pub(crate) fn parse(site: Site<'_>, at: usize, names: &mut Names) -> Result<(Expr, usize), Fault> {
    let (tokens, end) = tokens(site, at)?;
    let mut parser = Parser { site, end, tokens: &tokens, at: 0, names, code: Vec::new(), depth: 0 };
    parser.expr(ANY)?;
    match parser.peek() {
        Token::End => Ok((Expr::new(parser.code), end)),
        _ => Err(parser.syntax()),
    }
}

/// All tokens of the line with their ends, and the start of the next line. Of several errors the last one is
/// reported, since pgbench reads to the end of the line before it reports one.
fn tokens(site: Site<'_>, at: usize) -> Result<(Vec<(Token<'_>, usize)>, usize), Fault> {
    let mut lexer = Lexer::new(site.text, at);
    let (mut tokens, mut fault) = (Vec::new(), None);
    loop {
        match lexer.next() {
            Ok(token) => {
                tokens.push((token, lexer.at));
                if token == Token::End {
                    break;
                }
            }
            Err(found) => {
                lexer.at = found.at.expect("a token has its place");
                fault = Some((found.what, lexer.at));
            }
        }
    }
    match fault {
        None => Ok((tokens, lexer.at)),
        Some((what, end)) => Err(wrong(site, &what, end, lexer.at)),
    }
}

/// An error at the token that ends at `token_end`; the caret marks its last byte.
fn wrong(site: Site<'_>, what: &str, token_end: usize, line_end: usize) -> Fault {
    let what = format!("{what} in command \"{}\"", site.command);
    let caret = (token_end - 1).max(site.start);
    Fault::at(site.start, what).show(site.start, line_end, Some(caret))
}

struct Parser<'a, 'n> {
    site: Site<'a>,
    /// Start of the next line.
    end: usize,
    tokens: &'n [(Token<'a>, usize)],
    at: usize,
    names: &'n mut Names,
    code: Vec<Op>,
    depth: usize,
}

impl<'a> Parser<'a, '_> {
    /// Compiles an expression of operators with at least this precedence.
    fn expr(&mut self, least: Level) -> Result<(), Fault> {
        let left = self.code.len();
        self.prefix()?;
        let mut compared = false;
        loop {
            if let Token::Word(word @ (Word::Is | Word::IsNull | Word::NotNull)) = self.peek() {
                if IS < least {
                    return Ok(());
                }
                self.at += 1;
                self.is(word)?;
                compared = false;
                continue;
            }
            let Some((level, infix)) = infix(self.peek()).filter(|(level, _)| *level >= least) else {
                return Ok(());
            };
            if level == COMPARE && compared {
                return Err(self.syntax());
            }
            self.at += 1;
            self.infix(infix, level, left)?;
            compared = level == COMPARE;
        }
    }

    /// Compiles the right operand of an operator whose left operand is the code from `left` on.
    fn infix(&mut self, infix: Infix, level: Level, left: usize) -> Result<(), Fault> {
        let middle = self.code.len();
        match infix {
            Infix::Call(function) => {
                self.expr(level + 1)?;
                self.code.push(Op::Call(function, 2));
            }
            Infix::Swapped(function) => {
                self.expr(level + 1)?;
                self.code[left..].rotate_left(middle - left);
                self.code.push(Op::Call(function, 2));
            }
            Infix::And | Infix::Or => {
                self.code.push(Op::Truth);
                self.expr(level + 1)?;
                self.code.push(Op::Truth);
                let over = self.over(middle);
                self.code[middle] = if infix == Infix::And { Op::And(over) } else { Op::Or(over) };
            }
        }
        Ok(())
    }

    /// Compiles the test after `IS`, `ISNULL` or `NOTNULL`.
    fn is(&mut self, word: Word) -> Result<(), Fault> {
        let not = word == Word::NotNull || (word == Word::Is && self.take_word(Word::Not));
        let value = match (word, self.peek()) {
            (Word::IsNull | Word::NotNull, _) => Value::Null,
            (_, Token::Word(Word::Null)) => self.constant(Value::Null),
            (_, Token::Word(Word::True)) => self.constant(Value::Bool(true)),
            (_, Token::Word(Word::False)) => self.constant(Value::Bool(false)),
            _ => return Err(self.syntax()),
        };
        self.code.extend([Op::Push(value), Op::Call(Function::Is, 2)]);
        if not {
            self.code.push(Op::Call(Function::Not, 1));
        }
        Ok(())
    }

    fn constant(&mut self, value: Value) -> Value {
        self.at += 1;
        value
    }

    /// Compiles an operand with its prefix operators.
    fn prefix(&mut self) -> Result<(), Fault> {
        let token = self.peek();
        let op = match token {
            Token::Integer(value) => Op::Push(Value::Int(value)),
            Token::Double(value) => Op::Push(Value::Double(value)),
            Token::Word(Word::Null) => Op::Push(Value::Null),
            Token::Word(Word::True) => Op::Push(Value::Bool(true)),
            Token::Word(Word::False) => Op::Push(Value::Bool(false)),
            Token::Variable(name) => Op::Load(self.names.slot(name)),
            _ => return self.nested(token),
        };
        self.code.push(op);
        self.at += 1;
        Ok(())
    }

    /// Compiles a parenthesized expression, a CASE or a call.
    fn nested(&mut self, token: Token<'a>) -> Result<(), Fault> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault(&format!("expression is nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        match token {
            Token::Sign("(") => {
                self.at += 1;
                self.expr(ANY)?;
                self.expect(Token::Sign(")"))?;
            }
            Token::Sign("+") => {
                self.at += 1;
                self.expr(SIGN)?;
            }
            Token::Sign("-") => self.minus()?,
            // `~` is -1 # x, with the low precedence of `#`.
            Token::Sign("~") => self.unary(Some(-1), BITS + 1, Op::Call(Function::BitXor, 2))?,
            Token::Word(Word::Not) => self.unary(None, NOT, Op::Call(Function::Not, 1))?,
            Token::Word(Word::Case) => self.case()?,
            Token::Name(name) => self.call(name)?,
            _ => return Err(self.syntax()),
        }
        self.depth -= 1;
        Ok(())
    }

    fn minus(&mut self) -> Result<(), Fault> {
        if let Some((Token::BeyondIntegers, _)) = self.tokens.get(self.at + 1) {
            self.at += 2;
            self.code.push(Op::Push(Value::Int(i64::MIN)));
            return Ok(());
        }
        self.unary(Some(0), SIGN, Op::Call(Function::Sub, 2))
    }

    fn unary(&mut self, left: Option<i64>, least: Level, op: Op) -> Result<(), Fault> {
        self.at += 1;
        self.code.extend(left.map(|value| Op::Push(Value::Int(value))));
        self.expr(least)?;
        self.code.push(op);
        Ok(())
    }

    fn case(&mut self) -> Result<(), Fault> {
        self.at += 1;
        let mut ends = Vec::new();
        self.expect(Token::Word(Word::When))?;
        loop {
            self.expr(ANY)?;
            let when = self.code.len();
            self.code.push(Op::Truth);
            self.expect(Token::Word(Word::Then))?;
            self.expr(ANY)?;
            ends.push(self.code.len());
            self.code.push(Op::Truth);
            self.code[when] = Op::When(self.over(when));
            if !self.take_word(Word::When) {
                break;
            }
        }
        if self.take_word(Word::Else) {
            self.expr(ANY)?;
        } else {
            self.code.push(Op::Push(Value::Null));
        }
        self.expect(Token::Word(Word::End))?;
        for end in ends {
            self.code[end] = Op::Jump(self.over(end));
        }
        Ok(())
    }

    /// Distance from the jump at `at` to the next instruction.
    fn over(&self, at: usize) -> u32 {
        (self.code.len() - at - 1) as u32
    }

    fn call(&mut self, name: &[u8]) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(name);
        let Some((function, name, arity)) = Function::by_name(&text) else {
            return Err(self.fault(&format!("unexpected function name ({text})")));
        };
        self.at += 1;
        self.expect(Token::Sign("("))?;
        let count = self.arguments()?;
        let wrong = match arity {
            Arity::Some if count == 0 => Some("at least one argument expected"),
            Arity::Exactly(n) if count != n => Some("unexpected number of arguments"),
            Arity::Seeded(n) if count != n && count != n - 1 => Some("unexpected number of arguments"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.at -= 1;
            return Err(self.fault(&format!("{wrong} ({name})")));
        }
        let seed = matches!(arity, Arity::Seeded(n) if count < n);
        if seed {
            self.code.push(Op::Load(Slot::DEFAULT_SEED));
        }
        self.code.push(if count > MAX_ARGUMENTS {
            Op::TooManyArguments
        } else {
            Op::Call(function, (count + usize::from(seed)) as u8)
        });
        Ok(())
    }

    /// Compiles arguments up to the closing parenthesis; returns their number. Of too many, only those are kept
    /// that pgbench evaluates before it complains. As in its grammar, a comma may precede the first.
    fn arguments(&mut self) -> Result<usize, Fault> {
        let mut count = 0;
        let mut kept = self.code.len();
        let first_left_out = self.peek() == Token::Sign(",");
        if first_left_out || self.peek() != Token::Sign(")") {
            self.at += usize::from(first_left_out);
            loop {
                self.expr(ANY)?;
                count += 1;
                if count <= MAX_ARGUMENTS {
                    kept = self.code.len();
                }
                if self.peek() != Token::Sign(",") {
                    break;
                }
                self.at += 1;
            }
        }
        self.code.truncate(kept);
        self.expect(Token::Sign(")"))?;
        Ok(count)
    }

    fn peek(&self) -> Token<'a> {
        self.tokens[self.at].0
    }

    fn take_word(&mut self, word: Word) -> bool {
        let found = self.peek() == Token::Word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: Token<'_>) -> Result<(), Fault> {
        if self.peek() != token {
            return Err(self.syntax());
        }
        self.at += 1;
        Ok(())
    }

    fn syntax(&self) -> Fault {
        self.fault("syntax error")
    }

    /// An error at the next token.
    fn fault(&self, what: &str) -> Fault {
        wrong(self.site, what, self.tokens[self.at].1, self.end)
    }
}

fn infix(token: Token<'_>) -> Option<(Level, Infix)> {
    let call = |level, function| (level, Infix::Call(function));
    Some(match token {
        Token::Word(Word::Or) => (OR, Infix::Or),
        Token::Word(Word::And) => (AND, Infix::And),
        Token::Sign(sign) => match sign {
            "=" => call(COMPARE, Function::Equal),
            "<>" => call(COMPARE, Function::NotEqual),
            "<" => call(COMPARE, Function::Less),
            "<=" => call(COMPARE, Function::AtMost),
            ">" => (COMPARE, Infix::Swapped(Function::Less)),
            ">=" => (COMPARE, Infix::Swapped(Function::AtMost)),
            "|" => call(BITS, Function::BitOr),
            "#" => call(BITS, Function::BitXor),
            "&" => call(BITS, Function::BitAnd),
            "<<" => call(BITS, Function::ShiftLeft),
            ">>" => call(BITS, Function::ShiftRight),
            "+" => call(SUM, Function::Add),
            "-" => call(SUM, Function::Sub),
            "*" => call(PRODUCT, Function::Mul),
            "/" => call(PRODUCT, Function::Div),
            "%" => call(PRODUCT, Function::Mod),
            _ => return None,
        },
        _ => return None,
    })
}
