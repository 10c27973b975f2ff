//! From text to a script.

use std::ops::Range;

use super::{
    AUTOMATIC, BinaryOp, Command, Expr, Script, ScriptError, Slot,
    error::Fault,
    lexer::{Spanned, Token, tokens, variable_len},
    sql,
};

/// Deepest nesting of an expression; pgbench has no limit but its stack.
pub const MAX_DEPTH: usize = 200;
/// Most uses of variables in one statement, as in pgbench.
pub const MAX_PARAMETERS: usize = 255;
/// Most variables of a script.
const MAX_VARIABLES: usize = 10_000;

/// Commands of pgbench that this language does not have yet.
const LATER: [&str; 13] = [
    "gset",
    "aset",
    "if",
    "elif",
    "else",
    "endif",
    "sleep",
    "setshell",
    "shell",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
    "gexec",
];

impl Script {
    /// Reads a script; `name` is its name for messages and reports.
    ///
    /// # Errors
    /// The first fault with its line, column and a caret. A variable that is used before it is set is one.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let variables = AUTOMATIC.map(str::to_owned).to_vec();
        let mut reader =
            Reader { text, script: Self { name: name.to_owned(), commands: Vec::new(), variables } };
        match reader.read() {
            Ok(()) => Ok(reader.script),
            Err(fault) => Err(fault.locate(name, text)),
        }
    }
}

/// A script while it is read.
struct Reader<'a> {
    text: &'a str,
    script: Script,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Fault> {
        if let Some(at) = self.text.find('\0') {
            return Err(Fault::new(at..at + 1, "the script holds a NUL byte"));
        }
        let mut at = 0;
        loop {
            at += sql::blank_len(self.text, at)?;
            match self.text[at..].chars().next() {
                None => break,
                Some('\\') => at = self.meta_command(at)?,
                // An empty statement is nothing, as in psql.
                Some(';') => at += 1,
                Some(_) => at = self.statement(at)?,
            }
        }
        if self.script.commands.is_empty() {
            return Err(
                Fault::new(0..0, "the script holds no command").hint("write at least one SQL statement")
            );
        }
        Ok(())
    }

    fn statement(&mut self, start: usize) -> Result<usize, Fault> {
        let extent = sql::extent(self.text, start)?;
        let statement = sql::statement(self.text, start, &extent, |name| self.slot(name))?;
        self.script.commands.push(Command::Sql(statement));
        Ok(extent.next)
    }

    /// Reads the backslash command that begins at `start` and gives the start of the next line.
    fn meta_command(&mut self, start: usize) -> Result<usize, Fault> {
        let end = line_end(self.text, start);
        let line = &self.text[start + 1..end];
        let word = &line[..line.find(char::is_whitespace).unwrap_or(line.len())];
        let place = start..start + 1 + word.len();
        match word.to_ascii_lowercase().as_str() {
            "set" => self.set(place.end, end)?,
            word if LATER.contains(&word) => {
                return Err(Fault::new(place, format!("\\{word} is not part of this language yet")));
            }
            _ => {
                let fault = Fault::new(place, format!("invalid command \"\\{word}\""));
                return Err(fault.hint("known: \\set"));
            }
        }
        Ok(end)
    }

    /// `\set name expression`, from the first byte after `\set` to the end of the line.
    fn set(&mut self, start: usize, end: usize) -> Result<(), Fault> {
        let rest = self.text[start..end].trim_start();
        let at = end - rest.len();
        let name = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        if name.is_empty() {
            return Err(Fault::new(at..at, "missing argument").hint("write \\set name expression"));
        }
        if variable_len(name) != name.len() {
            let hint = "use letters, digits and underscores, no digit first";
            return Err(
                Fault::new(at..at + name.len(), format!("invalid variable name: \"{name}\"")).hint(hint)
            );
        }
        let from = at + name.len();
        let tokens = tokens(&self.text[from..end], from)?;
        let mut parser = ExprParser { tokens: &tokens, at: 0, end, reader: self };
        let value = parser.whole()?;
        let variable = self.slot(name).map_or_else(|| self.new_slot(name, at), Ok)?;
        self.script.commands.push(Command::Set { variable, value });
        Ok(())
    }

    fn slot(&self, name: &str) -> Option<Slot> {
        self.script.variables.iter().position(|known| known == name).map(|index| Slot(index as u16))
    }

    fn new_slot(&mut self, name: &str, at: usize) -> Result<Slot, Fault> {
        let index = self.script.variables.len();
        if index == MAX_VARIABLES {
            let what = format!("the script has more than {MAX_VARIABLES} variables");
            return Err(Fault::new(at..at + name.len(), what));
        }
        self.script.variables.push(name.to_owned());
        Ok(Slot(index as u16))
    }
}

/// The end of the line that holds `start`; a backslash before a line's end joins the next line to it.
fn line_end(text: &str, start: usize) -> usize {
    let mut at = start;
    while let Some(found) = text[at..].find('\n') {
        let end = at + found;
        if !text[start..end].trim_end_matches('\r').ends_with('\\') {
            return end;
        }
        at = end + 1;
    }
    text.len()
}

/// Recursive descent over the tokens of one expression. Precedence from low to high: `+ -`, `* / %`, unary
/// `+ -`.
struct ExprParser<'a, 'b> {
    tokens: &'a [Spanned<'a>],
    at: usize,
    /// Where the expression's text ends.
    end: usize,
    reader: &'b Reader<'a>,
}

/// An expression and how deep it is.
type Deep = (Expr, usize);

impl<'a> ExprParser<'a, '_> {
    fn whole(&mut self) -> Result<Expr, Fault> {
        let (expr, _) = self.sum(0)?;
        match self.tokens.get(self.at) {
            None => Ok(expr),
            Some(_) => Err(self.syntax()),
        }
    }

    fn sum(&mut self, depth: usize) -> Result<Deep, Fault> {
        self.chain(depth, &[('+', BinaryOp::Add), ('-', BinaryOp::Sub)], Self::product)
    }

    fn product(&mut self, depth: usize) -> Result<Deep, Fault> {
        let ops = [('*', BinaryOp::Mul), ('/', BinaryOp::Div), ('%', BinaryOp::Mod)];
        self.chain(depth, &ops, Self::unary)
    }

    /// Operands of one precedence, joined from the left.
    fn chain(
        &mut self,
        depth: usize,
        ops: &[(char, BinaryOp)],
        operand: fn(&mut Self, usize) -> Result<Deep, Fault>,
    ) -> Result<Deep, Fault> {
        let mut left = operand(self, depth)?;
        while let Some(&(_, op)) = ops.iter().find(|(symbol, _)| self.take(*symbol)) {
            let right = operand(self, depth)?;
            left = self.join(op, left, right)?;
        }
        Ok(left)
    }

    fn join(&self, op: BinaryOp, left: Deep, right: Deep) -> Result<Deep, Fault> {
        let depth = self.deeper(left.1.max(right.1))?;
        Ok((Expr::Binary(op, left.0.into(), right.0.into()), depth))
    }

    fn unary(&mut self, depth: usize) -> Result<Deep, Fault> {
        let depth = self.deeper(depth)?;
        if self.take('+') {
            return self.unary(depth);
        }
        if !self.take('-') {
            return self.primary(depth);
        }
        if let Some((Token::Integer(value), _)) = self.tokens.get(self.at)
            && *value == i64::MIN.unsigned_abs()
        {
            self.at += 1;
            return Ok((Expr::Integer(i64::MIN), 1));
        }
        let operand = self.unary(depth)?;
        self.join(BinaryOp::Sub, (Expr::Integer(0), 1), operand)
    }

    fn primary(&mut self, depth: usize) -> Result<Deep, Fault> {
        let Some((token, place)) = self.tokens.get(self.at) else { return Err(self.syntax()) };
        self.at += 1;
        match token {
            Token::Integer(value) => match i64::try_from(*value) {
                Ok(value) => Ok((Expr::Integer(value), 1)),
                Err(_) => Err(Fault::new(place.clone(), "bigint constant overflow")),
            },
            Token::Variable(name) => match self.reader.slot(name) {
                Some(slot) => Ok((Expr::Variable(slot), 1)),
                None => Err(sql::undefined(name, place.clone())),
            },
            Token::Name(name) => self.call(name, place.clone(), depth),
            Token::Symbol('(') => {
                let inner = self.sum(depth)?;
                self.expect(')').map(|()| inner)
            }
            Token::Symbol(_) => {
                self.at -= 1;
                Err(self.syntax())
            }
        }
    }

    /// A function with its arguments.
    fn call(&mut self, name: &str, place: Range<usize>, depth: usize) -> Result<Deep, Fault> {
        if !name.eq_ignore_ascii_case("random") {
            return Err(
                Fault::new(place, format!("unexpected function name \"{name}\"")).hint("known: random")
            );
        }
        self.expect('(')?;
        let mut arguments = Vec::new();
        if !self.take(')') {
            arguments.push(self.sum(depth)?);
            while self.take(',') {
                arguments.push(self.sum(depth)?);
            }
            self.expect(')')?;
        }
        let [lowest, highest] = <[Deep; 2]>::try_from(arguments).map_err(|_| {
            Fault::new(place, "unexpected number of arguments (random)").hint("random(lowest, highest)")
        })?;
        let depth = self.deeper(lowest.1.max(highest.1))?;
        Ok((Expr::Random(lowest.0.into(), highest.0.into()), depth))
    }

    fn deeper(&self, depth: usize) -> Result<usize, Fault> {
        if depth < MAX_DEPTH {
            return Ok(depth + 1);
        }
        let at = self.tokens.get(self.at).map_or(self.end..self.end, |(_, place)| place.clone());
        Err(Fault::new(at, format!("the expression is nested more than {MAX_DEPTH} deep")))
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = matches!(self.tokens.get(self.at), Some((Token::Symbol(c), _)) if *c == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: char) -> Result<(), Fault> {
        if self.take(symbol) { Ok(()) } else { Err(self.syntax()) }
    }

    /// A syntax error at the token that was not expected, or at the end.
    fn syntax(&self) -> Fault {
        match self.tokens.get(self.at) {
            Some((_, place)) => Fault::new(place.clone(), "syntax error"),
            None => Fault::new(self.end..self.end, "syntax error, unexpected end of line"),
        }
    }
}
