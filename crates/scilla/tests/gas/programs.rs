//! Random contracts that pass the checker.
//!
//! Types direct the generation: if the generator needs a value, it makes an expression of the type from the names in
//! scope. All contracts have the same parameters and the transition `Go`, so that every test can call them.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a text accepts every write, and places are chosen among those there are"
)]

use std::fmt::Write as _;

/// The types of values in generated contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Block,
    Bool,
    Bytes(u32),
    Integer(&'static str),
    List(Box<Self>),
    /// `ByStr`, a byte string of any length.
    Loose,
    Map(Box<Self>, Box<Self>),
    Nat,
    Option(Box<Self>),
    Pair(Box<Self>, Box<Self>),
    /// A data type of the contract's library.
    Shape,
    Text,
}

const UINT32: Kind = Kind::Integer("Uint32");
const INTEGERS: [&str; 8] = ["Int32", "Int64", "Int128", "Int256", "Uint32", "Uint64", "Uint128", "Uint256"];

impl Kind {
    fn written(&self) -> String {
        match self {
            Self::Block => "BNum".into(),
            Self::Bool => "Bool".into(),
            Self::Bytes(width) => format!("ByStr{width}"),
            Self::Integer(name) => (*name).into(),
            Self::List(of) => format!("(List {})", of.written()),
            Self::Loose => "ByStr".into(),
            Self::Map(key, value) => format!("(Map {} {})", key.written(), value.written()),
            Self::Nat => "Nat".into(),
            Self::Option(of) => format!("(Option {})", of.written()),
            Self::Pair(one, other) => format!("(Pair {} {})", one.written(), other.written()),
            Self::Shape => "Shape".into(),
            Self::Text => "String".into(),
        }
    }

    fn has_map(&self) -> bool {
        match self {
            Self::Map(..) => true,
            Self::List(of) | Self::Option(of) => of.has_map(),
            Self::Pair(one, other) => one.has_map() || other.has_map(),
            Self::Block | Self::Bool | Self::Bytes(_) | Self::Integer(_) | Self::Loose | Self::Nat | Self::Shape => {
                false
            }
            Self::Text => false,
        }
    }
}

/// The names in scope, with their types.
type Scope = Vec<(String, Kind)>;

#[derive(Clone)]
struct Procedure {
    name: String,
    parameters: Vec<Kind>,
    result: Option<Kind>,
}

struct Writer {
    /// State of a generator of pseudo-random numbers.
    state: u64,
    names: u32,
    fields: Vec<(String, Kind)>,
    procedures: Vec<Procedure>,
    /// Number of enclosing clauses. Inside a clause, the result of a procedure cannot be bound to a name.
    clauses: u32,
}

/// Returns the random contract that a seed determines.
pub(crate) fn contract(seed: u64) -> String {
    let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut writer = Writer { state, names: 0, fields: Vec::new(), procedures: Vec::new(), clauses: 0 };
    writer.contract()
}

impl Writer {
    fn pick(&mut self, choices: usize) -> usize {
        // The xorshift generator of Marsaglia.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from((self.state >> 11) % choices as u64).unwrap()
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.pick(choices.len())].clone()
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn primitive(&mut self) -> Kind {
        match self.pick(6) {
            0 => Kind::Block,
            1 => {
                let width = self.one_of(&[1, 4, 8, 20, 32]);
                Kind::Bytes(width)
            }
            2 => Kind::Text,
            3 => UINT32,
            _ => {
                let name = self.one_of(&INTEGERS);
                Kind::Integer(name)
            }
        }
    }

    fn ty(&mut self) -> Kind {
        match self.pick(14) {
            0 => Kind::Bool,
            1 => Kind::Nat,
            2 => Kind::Shape,
            3 => Kind::Loose,
            4 | 5 => Kind::List(Box::new(self.ty())),
            6 => Kind::Option(Box::new(self.ty())),
            7 => Kind::Pair(Box::new(self.ty()), Box::new(self.ty())),
            8 => Kind::Map(Box::new(self.primitive()), Box::new(self.ty())),
            _ => self.primitive(),
        }
    }

    fn contract(&mut self) -> String {
        let mut text = String::from("scilla_version 0\n\nimport BoolUtils ListUtils PairUtils");
        if self.pick(8) == 0 {
            text.push_str(" IntUtils");
        }
        text.push_str("\n\nlibrary Random\n\ntype Shape =\n  | Dot\n  | Box of Uint32 String\n\n");
        let mut scope = Scope::new();
        for _ in 0..self.pick(4) {
            let (name, ty) = (self.fresh(), self.ty());
            let value = self.value(&ty, &scope, 4);
            writeln!(text, "let {name} = {value}").unwrap();
            scope.push((name, ty));
        }
        text.push_str("\ncontract Random ()\n\n");
        for _ in 0..2 + self.pick(4) {
            let (name, ty) = (self.fresh(), self.ty());
            writeln!(text, "field {name} : {} = {}", ty.written(), self.plain(&ty)).unwrap();
            self.fields.push((name, ty));
        }
        for _ in 0..self.pick(4) {
            text.push_str(&self.procedure(&scope));
        }
        for (name, ty) in [("number", UINT32), ("text", Kind::Text), ("who", Kind::Bytes(20))] {
            scope.push((name.into(), ty));
        }
        scope.push(("numbers".into(), Kind::List(Box::new(UINT32))));
        let body = self.statements(scope, 8);
        let other = "ByStr20 with contract field n : Uint32, field m : Map Uint32 String end";
        let parameters =
            format!("number : Uint32, text : String, who : ByStr20, numbers : List Uint32, other : {other}");
        write!(text, "\ntransition Go ({parameters})\n{body}\nend\n").unwrap();
        text
    }

    fn procedure(&mut self, globals: &Scope) -> String {
        let (name, mut scope) = (format!("p{}", self.procedures.len()), globals.clone());
        let parameters: Vec<_> = (0..self.pick(3)).map(|_| (self.fresh(), self.payload())).collect();
        scope.extend(parameters.iter().cloned());
        let result = if self.pick(2) == 0 { Some(self.payload()) } else { None };
        // The checker does not count returns after a match that does not return.
        let mut body = self.statements(scope.clone(), if result.is_some() { 1 } else { 4 });
        let returns = result.as_ref().map(Kind::written);
        if let Some(ty) = &result {
            let (value, name) = (self.value(ty, &scope, 3), self.fresh());
            write!(body, "{}  {name} = {value};\n  _return := {name}", if body.is_empty() { "" } else { ";\n" })
                .unwrap();
        }
        let kinds = parameters.iter().map(|(_, ty)| ty.clone()).collect();
        let written: Vec<_> = parameters.iter().map(|(name, ty)| format!("{name} : {}", ty.written())).collect();
        let text = format!(
            "\nprocedure {name} ({}){}\n{body}\nend\n",
            written.join(", "),
            returns.map(|ty| format!(" : {ty}")).unwrap_or_default()
        );
        self.procedures.push(Procedure { name, parameters: kinds, result });
        text
    }

    fn statements(&mut self, mut scope: Scope, most: usize) -> String {
        let mut lines = Vec::new();
        for _ in 0..=self.pick(most) {
            self.statement(&mut scope, &mut lines, most / 2);
        }
        lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join(";\n")
    }

    /// Returns the name of a value of this type. Binds a new name if there is none.
    fn named(&mut self, ty: &Kind, scope: &mut Scope, lines: &mut Vec<String>) -> String {
        if let Some(known) = self.known(ty, scope) {
            return known;
        }
        let (name, value) = (self.fresh(), self.value(ty, scope, 3));
        lines.push(format!("{name} = {value}"));
        scope.push((name.clone(), ty.clone()));
        name
    }

    fn statement(&mut self, scope: &mut Scope, lines: &mut Vec<String>, most: usize) {
        match self.pick(16) {
            0 | 1 => {
                let (name, ty) = (self.fresh(), self.ty());
                let value = self.value(&ty, scope, 6);
                lines.push(format!("{name} = {value}"));
                scope.push((name, ty));
            }
            2 => {
                let ((field, ty), name) = (self.one_of(&self.fields.clone()), self.fresh());
                lines.push(format!("{name} <- {field}"));
                scope.push((name, ty));
            }
            3 => {
                let (field, ty) = self.one_of(&self.fields.clone());
                let value = self.named(&ty, scope, lines);
                lines.push(format!("{field} := {value}"));
            }
            4..=7 => self.map_statement(scope, lines),
            8 if most > 0 => self.match_statement(scope, lines, most),
            9 => self.call(scope, lines),
            10 => self.for_each(scope, lines),
            11 => self.message(scope, lines),
            12 => self.read_chain(scope, lines),
            13 => self.read_remote(scope, lines),
            14 => lines.push("accept".into()),
            _ if self.pick(8) == 0 => self.throw(scope, lines),
            _ => {}
        }
    }

    fn map_statement(&mut self, scope: &mut Scope, lines: &mut Vec<String>) {
        let is_map = |(_, ty): &&(String, Kind)| matches!(ty, Kind::Map(..));
        let maps: Vec<_> = self.fields.iter().filter(is_map).cloned().collect();
        if maps.is_empty() {
            return;
        }
        let (field, mut ty) = self.one_of(&maps);
        let mut place = field;
        while let Kind::Map(key, value) = ty {
            let key = self.named(&key, scope, lines);
            write!(place, "[{key}]").unwrap();
            ty = *value;
            if self.pick(3) == 0 {
                break;
            }
        }
        match self.pick(5) {
            0 | 1 => {
                let value = self.named(&ty, scope, lines);
                lines.push(format!("{place} := {value}"));
            }
            2 => lines.push(format!("delete {place}")),
            3 => {
                let name = self.fresh();
                lines.push(format!("{name} <- exists {place}"));
                scope.push((name, Kind::Bool));
            }
            _ => {
                let name = self.fresh();
                lines.push(format!("{name} <- {place}"));
                scope.push((name, Kind::Option(Box::new(ty))));
            }
        }
    }

    fn match_statement(&mut self, scope: &mut Scope, lines: &mut Vec<String>, most: usize) {
        let ty = self.matched();
        let value = self.named(&ty, scope, lines);
        self.clauses += 1;
        let clauses = self.patterns(&ty).into_iter().map(|(pattern, bound)| {
            let scope = scope.iter().cloned().chain(bound).collect();
            format!("  | {pattern} =>\n{}", self.statements(scope, most))
        });
        let clauses: Vec<_> = clauses.collect();
        self.clauses -= 1;
        lines.push(format!("match {value} with\n{}\n  end", clauses.join("\n")));
    }

    fn call(&mut self, scope: &mut Scope, lines: &mut Vec<String>) {
        let callable = |it: &&Procedure| self.clauses == 0 || it.result.is_none();
        let callable: Vec<_> = self.procedures.iter().filter(callable).cloned().collect();
        if callable.is_empty() {
            return;
        }
        let Procedure { name, parameters, result } = self.one_of(&callable);
        let mut call = name;
        for ty in parameters {
            let argument = self.named(&ty, scope, lines);
            write!(call, " {argument}").unwrap();
        }
        if let Some(ty) = result {
            let name = self.fresh();
            call = format!("{name} = {call}");
            scope.push((name, ty));
        }
        lines.push(call);
    }

    fn for_each(&mut self, scope: &mut Scope, lines: &mut Vec<String>) {
        let fitting = self.procedures.iter().filter(|it| it.parameters.len() == 1 && it.result.is_none());
        let fitting: Vec<_> = fitting.map(|it| (it.name.clone(), it.parameters[0].clone())).collect();
        if !fitting.is_empty() {
            let (procedure, ty) = self.one_of(&fitting);
            let list = self.named(&Kind::List(Box::new(ty)), scope, lines);
            lines.push(format!("forall {list} {procedure}"));
        }
    }

    /// Returns a type that is legal in messages and for parameters of procedures.
    fn payload(&mut self) -> Kind {
        loop {
            let ty = self.ty();
            if !ty.has_map() {
                return ty;
            }
        }
    }

    fn message(&mut self, scope: &mut Scope, lines: &mut Vec<String>) {
        let (ty, name) = (self.payload(), self.fresh());
        let payload = self.named(&ty, scope, lines);
        if self.pick(2) == 0 {
            lines.push(format!("{name} = {{ _eventname : \"{name} has happened\"; payload : {payload} }}"));
            lines.push(format!("event {name}"));
            return;
        }
        let amount = self.named(&Kind::Integer("Uint128"), scope, lines);
        lines.push(format!(
            "{name} = {{ _tag : \"T\"; _recipient : _sender; _amount : {amount}; a_label_of_twenty_one : {payload} }}"
        ));
        lines.push(format!("{name}_none = Nil {{Message}}"));
        lines.push(format!("{name}_all = Cons {{Message}} {name} {name}_none"));
        lines.push(format!("send {name}_all"));
    }

    fn read_chain(&mut self, scope: &mut Scope, lines: &mut Vec<String>) {
        let name = self.fresh();
        let ty = match self.pick(3) {
            0 => {
                lines.push(format!("{name} <- & BLOCKNUMBER"));
                Kind::Block
            }
            1 => {
                lines.push(format!("{name} <- & CHAINID"));
                UINT32
            }
            _ => {
                let block = self.named(&Kind::Block, scope, lines);
                lines.push(format!("{name} <- & TIMESTAMP({block})"));
                Kind::Option(Box::new(Kind::Integer("Uint64")))
            }
        };
        scope.push((name, ty));
    }

    /// Reads a field of another account. Only the transition reads such fields, because the addresses in a procedure
    /// have no listed fields.
    fn read_remote(&mut self, scope: &mut Scope, lines: &mut Vec<String>) {
        if !scope.iter().any(|(name, _)| name == "number") {
            return;
        }
        let (name, text) = (self.fresh(), || Box::new(Kind::Text));
        let ty = match self.pick(6) {
            0 => {
                lines.push(format!("{name} <- & other.n"));
                UINT32
            }
            1 => {
                lines.push(format!("{name} <- & other.m"));
                Kind::Map(Box::new(UINT32), text())
            }
            2 => {
                let key = self.named(&UINT32, scope, lines);
                lines.push(format!("{name} <- & other.m[{key}]"));
                Kind::Option(text())
            }
            3 => {
                let key = self.named(&UINT32, scope, lines);
                lines.push(format!("{name} <- & exists other.m[{key}]"));
                Kind::Bool
            }
            4 => {
                lines.push(format!("{name} <- & _sender._balance"));
                Kind::Integer("Uint128")
            }
            _ => {
                let ty = self.one_of(&["end", "library end", "contract end", "contract field n : Uint32 end"]);
                lines.push(format!("{name} <- & who as ByStr20 with {ty}"));
                lines.push(format!(
                    "{name}_is = let yes = True in let no = False in match {name} with | Some _ => yes | None => no end"
                ));
                scope.push((format!("{name}_is"), Kind::Bool));
                return;
            }
        };
        scope.push((name, ty));
    }

    fn throw(&mut self, scope: &mut Scope, lines: &mut Vec<String>) {
        let (ty, name) = (self.payload(), self.fresh());
        let payload = self.named(&ty, scope, lines);
        lines.push(format!("{name} = {{ _exception : \"Enough\"; payload : {payload} }}"));
        lines.push(format!("throw {name}"));
    }

    /// Returns a name in scope with this type. Returns `None` if there is no such name. If there is one, also returns
    /// `None` with probability 1/4.
    fn known(&mut self, ty: &Kind, scope: &Scope) -> Option<String> {
        let names: Vec<_> = scope.iter().filter(|(_, of)| of == ty).map(|(name, _)| name.clone()).collect();
        if names.is_empty() || self.pick(4) == 0 { None } else { Some(self.one_of(&names)) }
    }

    /// Returns an expression of this type that uses no names.
    fn plain(&mut self, ty: &Kind) -> String {
        self.value(ty, &Scope::new(), 0)
    }

    fn literal(&mut self, ty: &Kind) -> String {
        match ty {
            Kind::Block => format!("BNum {}", self.pick(200)),
            Kind::Bool => self.one_of(&["True", "False"]).into(),
            Kind::Bytes(width) => {
                let digits: String = (0..*width).map(|_| self.one_of(&["00", "01", "7f", "ff"])).collect();
                format!("0x{digits}")
            }
            Kind::Integer(name) => {
                let sign = if name.starts_with('I') && self.pick(4) == 0 { "-" } else { "" };
                let most = self.one_of(&[2, 10, 100_000]);
                format!("{name} {sign}{}", self.pick(most))
            }
            Kind::List(of) => format!("Nil {{{}}}", of.written()),
            Kind::Loose => "let bytes = 0x0a0b0c in builtin to_bystr bytes".into(),
            Kind::Map(key, value) => format!("Emp {} {}", key.written(), value.written()),
            Kind::Nat => "Zero".into(),
            Kind::Option(of) => format!("None {{{}}}", of.written()),
            Kind::Pair(..) => self.construct(ty, &Scope::new(), 0),
            Kind::Shape => "Dot".into(),
            Kind::Text => {
                let length = self.one_of(&[0, 3, 25]);
                format!("\"{}\"", (0..length).map(|_| self.one_of(&["a", "b", "7"])).collect::<String>())
            }
        }
    }

    /// Returns an expression of a type with about `parts` parts.
    fn value(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        if parts == 0 {
            return self.known(ty, scope).unwrap_or_else(|| self.literal(ty));
        }
        match self.pick(12) {
            0 => self.known(ty, scope).unwrap_or_else(|| self.literal(ty)),
            1 | 2 => {
                let (name, bound) = (self.fresh(), self.ty());
                let value = self.value(&bound, scope, parts / 2);
                let scope = scope.iter().cloned().chain([(name.clone(), bound)]).collect();
                format!("let {name} = {value} in {}", self.value(ty, &scope, parts / 2))
            }
            3 | 4 => self.match_value(ty, scope, parts),
            5 | 6 => self.builtin(ty, scope, parts),
            7 => self.function(ty, scope, parts),
            8 => self.fold(ty, scope, parts),
            9 => self.type_function(ty, scope, parts),
            10 => self.library_function(ty, scope, parts),
            _ => self.construct(ty, scope, parts),
        }
    }

    /// Returns the name of a value for an expression. Adds the code before the expression to `front`.
    fn argument(&mut self, ty: &Kind, scope: &Scope, parts: u32, front: &mut String) -> String {
        if let Some(known) = self.known(ty, scope) {
            return known;
        }
        let (name, value) = (self.fresh(), self.value(ty, scope, parts / 2));
        write!(front, "let {name} = {value} in ").unwrap();
        name
    }

    /// Returns the code before an expression, and a word applied to arguments of these types.
    fn applied(&mut self, word: &str, kinds: &[Kind], scope: &Scope, parts: u32) -> String {
        let (mut front, mut call) = (String::new(), word.to_owned());
        for ty in kinds {
            let argument = self.argument(ty, scope, parts, &mut front);
            write!(call, " {argument}").unwrap();
        }
        front + &call
    }

    fn construct(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        match ty {
            Kind::List(of) => {
                self.applied(&format!("Cons {{{}}}", of.written()), &[(**of).clone(), ty.clone()], scope, parts)
            }
            Kind::Nat => self.applied("Succ", &[Kind::Nat], scope, parts),
            Kind::Option(of) => self.applied(&format!("Some {{{}}}", of.written()), &[(**of).clone()], scope, parts),
            Kind::Pair(one, other) => {
                let types = format!("Pair {{{} {}}}", one.written(), other.written());
                self.applied(&types, &[(**one).clone(), (**other).clone()], scope, parts)
            }
            Kind::Shape => self.applied("Box", &[UINT32, Kind::Text], scope, parts),
            Kind::Block | Kind::Bool | Kind::Bytes(_) | Kind::Integer(_) | Kind::Loose | Kind::Map(..) | Kind::Text => {
                self.literal(ty)
            }
        }
    }

    /// Returns a random type that has constructors.
    fn matched(&mut self) -> Kind {
        match self.pick(6) {
            0 => Kind::Bool,
            1 => Kind::Nat,
            2 => Kind::Shape,
            3 => Kind::List(Box::new(self.ty())),
            4 => Kind::Option(Box::new(self.ty())),
            _ => Kind::Pair(Box::new(self.ty()), Box::new(Kind::Option(Box::new(self.ty())))),
        }
    }

    /// Returns patterns that cover all values, with their variables.
    fn patterns(&mut self, ty: &Kind) -> Vec<(String, Scope)> {
        let (one, other) = (self.fresh(), self.fresh());
        match ty {
            Kind::Bool => vec![("True".into(), vec![]), ("False".into(), vec![])],
            Kind::Nat => vec![
                (format!("Succ (Succ {one})"), vec![(one, Kind::Nat)]),
                (format!("Succ {other}"), vec![(other, Kind::Nat)]),
                ("_".into(), vec![]),
            ],
            Kind::Shape => {
                vec![("Dot".into(), vec![]), (format!("Box {one} {other}"), vec![(one, UINT32), (other, Kind::Text)])]
            }
            Kind::List(of) => vec![
                ("Nil".into(), vec![]),
                (format!("Cons {one} {other}"), vec![(one, (**of).clone()), (other, ty.clone())]),
            ],
            Kind::Option(of) => vec![(format!("Some {one}"), vec![(one, (**of).clone())]), ("None".into(), vec![])],
            Kind::Pair(first, second) => {
                let Kind::Option(inner) = &**second else { unreachable!("only such pairs are taken apart") };
                let (first, inner) = ((**first).clone(), (**inner).clone());
                vec![
                    (format!("Pair {one} (Some {other})"), vec![(one.clone(), first.clone()), (other, inner)]),
                    (format!("Pair {one} None"), vec![(one, first)]),
                ]
            }
            Kind::Block | Kind::Bytes(_) | Kind::Integer(_) | Kind::Loose | Kind::Map(..) | Kind::Text => {
                vec![(one.clone(), vec![(one, ty.clone())])]
            }
        }
    }

    fn match_value(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        let (matched, mut front) = (self.matched(), String::new());
        let value = self.argument(&matched, scope, parts, &mut front);
        let patterns = self.patterns(&matched);
        let clauses = patterns.into_iter().map(|(pattern, bound)| {
            let scope = scope.iter().cloned().chain(bound).collect();
            format!("| {pattern} => {}", self.value(ty, &scope, parts / 2))
        });
        let clauses: Vec<_> = clauses.collect();
        format!("{front}match {value} with {} end", clauses.join(" "))
    }

    fn builtin(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        let any = self.payload();
        let choices: Vec<(&str, Vec<Kind>)> = match ty {
            Kind::Block => {
                let unsigned = self.one_of(&INTEGERS[4..]);
                vec![("badd", vec![Kind::Block, Kind::Integer(unsigned)])]
            }
            Kind::Bool => {
                let primitive = self.primitive();
                let number = Kind::Integer(self.one_of(&INTEGERS));
                let map = Kind::Map(Box::new(primitive.clone()), Box::new(any));
                vec![
                    ("eq", vec![primitive.clone(), primitive.clone()]),
                    ("eq", vec![Kind::Loose, Kind::Loose]),
                    ("lt", vec![number.clone(), number]),
                    ("blt", vec![Kind::Block, Kind::Block]),
                    ("contains", vec![map, primitive]),
                ]
            }
            Kind::Bytes(width) => {
                let mut choices = vec![("strrev", vec![ty.clone()])];
                match width {
                    4 => choices.push(("to_bystr4", vec![UINT32])),
                    8 => {
                        choices.push(("to_bystr8", vec![Kind::Integer("Uint64")]));
                        choices.push(("concat", vec![Kind::Bytes(4), Kind::Bytes(4)]));
                    }
                    20 => choices.push(("ripemd160hash", vec![any])),
                    32 => {
                        choices.push(("to_bystr32", vec![Kind::Integer("Uint256")]));
                        choices.extend([("sha256hash", vec![any.clone()]), ("keccak256hash", vec![any])]);
                    }
                    _ => {}
                }
                choices
            }
            Kind::Integer(name) => {
                let two = vec![ty.clone(), ty.clone()];
                let mut choices: Vec<_> = ["add", "sub", "mul", "div", "rem"].map(|name| (name, two.clone())).into();
                choices.push(("pow", vec![ty.clone(), UINT32]));
                if name.starts_with('U') {
                    choices.push(("isqrt", vec![ty.clone()]));
                }
                match *name {
                    "Int256" => choices.push(("bsub", vec![Kind::Block, Kind::Block])),
                    "Uint32" => {
                        choices.extend([("strlen", vec![Kind::Text]), ("strlen", vec![Kind::Loose])]);
                        let map = Kind::Map(Box::new(self.primitive()), Box::new(self.ty()));
                        choices.extend([("size", vec![map]), ("to_uint32", vec![Kind::Bytes(4)])]);
                    }
                    "Uint64" => choices.push(("to_uint64", vec![Kind::Bytes(4)])),
                    "Uint256" => choices.push(("to_uint256", vec![Kind::Bytes(8)])),
                    _ => {}
                }
                choices
            }
            Kind::List(of) => {
                let Kind::Pair(key, value) = &**of else { return self.construct(ty, scope, parts) };
                if !matches!(**key, Kind::Integer(_) | Kind::Text | Kind::Bytes(_)) {
                    return self.construct(ty, scope, parts);
                }
                vec![("to_list", vec![Kind::Map(key.clone(), value.clone())])]
            }
            Kind::Loose => vec![
                ("to_bystr", vec![Kind::Bytes(8)]),
                ("concat", vec![Kind::Loose, Kind::Loose]),
                ("substr", vec![Kind::Loose, UINT32, UINT32]),
                ("strrev", vec![Kind::Loose]),
            ],
            Kind::Map(key, value) => vec![
                ("put", vec![ty.clone(), (**key).clone(), (**value).clone()]),
                ("put", vec![ty.clone(), (**key).clone(), (**value).clone()]),
                ("remove", vec![ty.clone(), (**key).clone()]),
            ],
            Kind::Nat => {
                let (name, count) = (self.fresh(), self.pick(7));
                return format!("let {name} = Uint32 {count} in builtin to_nat {name}");
            }
            Kind::Option(of) => {
                let key = self.primitive();
                let mut choices = vec![("get", vec![Kind::Map(Box::new(key.clone()), of.clone()), key])];
                if let Kind::Integer(name) = **of {
                    let word =
                        INTEGERS.iter().position(|known| *known == name).map(|index| TO_INTEGERS[index]).unwrap();
                    let from = Kind::Integer(self.one_of(&INTEGERS));
                    choices.extend([(word, vec![Kind::Text]), (word, vec![from])]);
                }
                if **of == Kind::Bytes(4) {
                    choices.push(("to_bystr4", vec![Kind::Loose]));
                }
                choices
            }
            Kind::Pair(..) | Kind::Shape => return self.construct(ty, scope, parts),
            Kind::Text => {
                let number = Kind::Integer(self.one_of(&INTEGERS));
                vec![
                    ("concat", vec![Kind::Text, Kind::Text]),
                    ("substr", vec![Kind::Text, UINT32, UINT32]),
                    ("strrev", vec![Kind::Text]),
                    ("to_string", vec![number]),
                    ("to_string", vec![Kind::Bytes(8)]),
                    ("to_string", vec![Kind::Loose]),
                ]
            }
        };
        let (name, kinds) = self.one_of(&choices);
        self.applied(&format!("builtin {name}"), &kinds, scope, parts)
    }

    /// Returns an application of a new function, to all arguments at once or to one after the other.
    fn function(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        let (name, mut inner, mut head) = (self.fresh(), scope.clone(), String::new());
        let kinds: Vec<_> = (0..=self.pick(3)).map(|_| self.ty()).collect();
        for ty in &kinds {
            let parameter = self.fresh();
            write!(head, "fun ({parameter} : {}) => ", ty.written()).unwrap();
            inner.push((parameter, ty.clone()));
        }
        let body = self.value(ty, &inner, parts / 2);
        let mut front = format!("let {name} = {head}{body} in ");
        let arguments: Vec<_> = kinds.iter().map(|ty| self.argument(ty, scope, parts / 2, &mut front)).collect();
        let (mut function, mut rest) = (name, arguments.as_slice());
        while rest.len() > 1 && self.pick(2) == 0 {
            let (now, later) = rest.split_at(1 + self.pick(rest.len() - 1));
            let partial = self.fresh();
            write!(front, "let {partial} = {function} {} in ", now.join(" ")).unwrap();
            (function, rest) = (partial, later);
        }
        format!("{front}{function} {}", rest.join(" "))
    }

    fn fold(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        let (fold, step) = (self.fresh(), self.fresh());
        let (so_far, element) = ((self.fresh(), ty.clone()), self.fresh());
        let principle = self.one_of(&["nat_fold", "nat_foldk", "list_foldl", "list_foldr", "list_foldk"]);
        let of = if principle.starts_with("nat") { Kind::Nat } else { self.ty() };
        let inner: Scope = scope.iter().cloned().chain([so_far.clone(), (element.clone(), of.clone())]).collect();
        let body = self.value(ty, &inner, parts / 2);
        let written = ty.written();
        let (first, second) =
            (format!("fun ({} : {written})", so_far.0), format!("fun ({element} : {})", of.written()));
        let step_text = match principle {
            "list_foldr" => format!("{second} => {first} => {body}"),
            "nat_foldk" | "list_foldk" if self.pick(3) == 0 => {
                format!("{first} => {second} => fun (go_on : {written} -> {written}) => {body}")
            }
            "nat_foldk" | "list_foldk" => {
                let next = self.fresh();
                format!(
                    "{first} => {second} => fun (go_on : {written} -> {written}) => let {next} = {body} in go_on {next}"
                )
            }
            _ => format!("{first} => {second} => {body}"),
        };
        let types =
            if of == Kind::Nat && principle.starts_with("nat") { String::new() } else { format!("{} ", of.written()) };
        let mut front = format!("let {fold} = @{principle} {types}{written} in let {step} = {step_text} in ");
        let all = if principle.starts_with("nat") { Kind::Nat } else { Kind::List(Box::new(of)) };
        let begin = self.argument(ty, scope, parts, &mut front);
        let all = self.argument(&all, scope, parts, &mut front);
        format!("{front}{fold} {step} {begin} {all}")
    }

    fn type_function(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        let (name, made) = (self.fresh(), self.fresh());
        let (number, variable) = (self.value(&UINT32, scope, parts / 2), format!("'T{}", self.names));
        self.names += 1;
        let types = [format!("@{name} {}", ty.written()), format!("@{name} Bool {}", ty.written())];
        let [one, two] = types.map(|made_of| format!("in let {made} = {made_of} in "));
        let inner = format!(
            "tfun {variable} => fun (it : {variable}) => let number = {number} in \
             let both = Pair {{{variable} Uint32}} it number in it"
        );
        let mut front = match self.pick(2) {
            0 => format!("let {name} = {inner} {one}"),
            _ => format!("let {name} = tfun {variable}x => {inner} {two}"),
        };
        let argument = self.argument(ty, scope, parts, &mut front);
        format!("{front}{made} {argument}")
    }

    /// Returns an application of a function of an imported library.
    fn library_function(&mut self, ty: &Kind, scope: &Scope, parts: u32) -> String {
        let made = self.fresh();
        let of = self.ty();
        let list = |of: &Kind| Kind::List(Box::new(of.clone()));
        let (mut front, kinds) = match ty {
            Kind::Bool => {
                let word = self.one_of(&["andb", "orb"]);
                return self.applied(word, &[Kind::Bool, Kind::Bool], scope, parts);
            }
            Kind::Integer("Uint32") => (format!("let {made} = @list_length {} in ", of.written()), vec![list(&of)]),
            Kind::List(element) => {
                let written = element.written();
                match self.pick(3) {
                    0 => (format!("let {made} = @list_append {written} in "), vec![ty.clone(), ty.clone()]),
                    1 => (format!("let {made} = @list_reverse {written} in "), vec![ty.clone()]),
                    _ => {
                        let (map, parameter) = (self.fresh(), self.fresh());
                        let inner = scope.iter().cloned().chain([(parameter.clone(), of.clone())]).collect();
                        let body = self.value(element, &inner, parts / 2);
                        let from = of.written();
                        let each = format!("fun ({parameter} : {from}) => {body}");
                        let front = format!(
                            "let {map} = @list_map {from} {written} in let {made}_each = {each} in \
                             let {made} = {map} {made}_each in "
                        );
                        (front, vec![list(&of)])
                    }
                }
            }
            Kind::Option(element) => {
                (format!("let {made} = @list_head {} in ", element.written()), vec![list(element)])
            }
            Kind::Block
            | Kind::Bytes(_)
            | Kind::Integer(_)
            | Kind::Loose
            | Kind::Map(..)
            | Kind::Nat
            | Kind::Pair(..)
            | Kind::Shape
            | Kind::Text => {
                let types = format!("{} {}", ty.written(), of.written());
                (format!("let {made} = @fst {types} in "), vec![Kind::Pair(Box::new(ty.clone()), Box::new(of))])
            }
        };
        let mut call = made;
        for ty in &kinds {
            let argument = self.argument(ty, scope, parts, &mut front);
            write!(call, " {argument}").unwrap();
        }
        front + &call
    }
}

/// The functions that convert to integers, in the order of their types.
const TO_INTEGERS: [&str; 8] =
    ["to_int32", "to_int64", "to_int128", "to_int256", "to_uint32", "to_uint64", "to_uint128", "to_uint256"];
