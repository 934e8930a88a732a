//! The parameters of a deployment or a call.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value as Tree;
use silica_protocol::{ContractParam, InitData};

use crate::{
    argument::Argument,
    builtins::without_addresses,
    check::ParameterSummary,
    json::{Document, JsonError, ValueError, ValueReader, parse},
    types::{
        Primitive, Type,
        adt::{DataType, DataTypes},
    },
    value::{TextError, Value},
};

/// Parameters by name, before they are compared with the declared types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params(Result<Vec<(Arc<str>, Given)>, ParamError>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Given {
    Json(Tree),
    Value(Value),
}

/// Reason why the parameters do not match their declarations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// The value of the parameter is not JSON that Scilla can read.
    #[error("{name}: {error}")]
    Json {
        /// Name of the parameter.
        name: Arc<str>,
        /// The error of the parser.
        error: JsonError,
    },
    /// The JSON form of the value has more than 127 levels. A node rejects such a transaction.
    #[error("{name}: expected a value with at most 127 levels of JSON")]
    Levels {
        /// Name of the parameter.
        name: Arc<str>,
    },
    /// A declared parameter has no value.
    #[error("the parameter {name} : {ty} has no value")]
    Missing {
        /// Name of the parameter.
        name: Arc<str>,
        /// Declared type of the parameter.
        ty: Type,
    },
    /// The JSON value is not an object.
    #[error("expected an object of parameters, got {0}")]
    NotAnObject(String),
    /// A name occurs twice.
    #[error("the parameter {0} has two values")]
    Repeated(Arc<str>),
    /// A text in the value is not a Scilla `String`.
    #[error("{name}: {error}")]
    Text {
        /// Name of the parameter.
        name: Arc<str>,
        /// The byte that is not allowed.
        error: TextError,
    },
    /// A value has another type.
    #[error("{name}: expected a value of type {ty}, got {got}")]
    Type {
        /// Name of the parameter.
        name: Arc<str>,
        /// Declared type of the parameter.
        ty: Type,
        /// The value as text.
        got: String,
    },
    /// No parameter has this name.
    #[error("no parameter has the name {0}")]
    Unknown(Arc<str>),
    /// A JSON value is not a value of the declared type.
    #[error("{name}: {error}")]
    Value {
        /// Name of the parameter.
        name: Arc<str>,
        /// The error of the reader.
        error: ValueError,
    },
}

/// A collection of named parameters.
///
/// A JSON object has the value of each parameter in the form of messages and state. In addition, a parameter of an
/// integer type or of `BNum` may be a JSON number, and a `Bool` may be `true` or `false`. Inside a list, a map or
/// another constructor, only the form of messages and state is valid.
///
/// An address, a hash or a number of [`protocol`](crate::protocol) has this form in JSON:
///
/// ```
/// use serde_json::json;
/// use silica_scilla::{Contract, Value, protocol::Address};
///
/// let contract = Contract::compile("scilla_version 0 contract Owned (owner : ByStr20)")?;
/// let owner = Address::new([7; 20]);
/// contract.deploy(json!({ "owner": owner }))?;
/// contract.deploy([("owner", Value::from(owner))])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait IntoParams {
    /// Returns the parameters by name.
    fn into_params(self) -> Params;
}

impl IntoParams for () {
    fn into_params(self) -> Params {
        Params(Ok(Vec::new()))
    }
}

impl IntoParams for Tree {
    fn into_params(self) -> Params {
        match self {
            Self::Object(members) => {
                Params(Ok(members.into_iter().map(|(name, value)| (name.into(), Given::Json(value))).collect()))
            }
            other @ (Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_)) => {
                Params(Err(ParamError::NotAnObject(other.to_string())))
            }
        }
    }
}

impl IntoParams for &[(&str, Value)] {
    fn into_params(self) -> Params {
        Params(Ok(self.iter().map(|(name, value)| ((*name).into(), Given::Value(value.clone()))).collect()))
    }
}

impl<const N: usize> IntoParams for [(&str, Value); N] {
    fn into_params(self) -> Params {
        self.as_slice().into_params()
    }
}

impl<const N: usize> IntoParams for &[(&str, Value); N] {
    fn into_params(self) -> Params {
        self.as_slice().into_params()
    }
}

impl IntoParams for &InitData {
    /// Returns the parameters without the implicit ones. The declared types decide how the values are read.
    fn into_params(self) -> Params {
        let params = self.params().into_iter().filter(|param| !param.name.starts_with('_'));
        Params(Ok(params.map(|param| (param.name.into(), Given::Json(param.value))).collect()))
    }
}

impl Params {
    /// Returns the parameters with their declared types, as init data and messages have them: with `ByStr20` in place
    /// of address types. `data_types` has the data types of the program, for example those of its
    /// [interface](super::Contract::interface).
    ///
    /// # Errors
    ///
    /// [`ParamError`] if the parameters do not match the declarations.
    pub fn typed(
        self,
        declared: &[ParameterSummary],
        data_types: &[Arc<DataType>],
    ) -> Result<Vec<ContractParam>, ParamError> {
        let typed = |(ParameterSummary { name, ty }, Argument { value, .. }): (&ParameterSummary, Argument)| {
            let value = serde_json::to_value(&value).map_err(|_| ParamError::Levels { name: Arc::clone(name) })?;
            Ok(ContractParam::new(&**name, without_addresses(ty).global().to_string(), value))
        };
        let values = self.read(declared, &data_types.iter().cloned().collect())?;
        declared.iter().zip(values).map(typed).collect()
    }

    /// Returns the values in the order of the declarations.
    pub(super) fn read(self, declared: &[ParameterSummary], known: &DataTypes) -> Result<Vec<Argument>, ParamError> {
        let mut given = self.0?;
        let read = |parameter: &ParameterSummary| {
            let ParameterSummary { name, ty } = parameter;
            let at = given.iter().position(|(given, _)| given == name);
            let at = at.ok_or_else(|| ParamError::Missing { name: Arc::clone(name), ty: ty.clone() })?;
            let value = given.swap_remove(at).1.read(name, ty, known)?;
            Ok(Argument { name: Arc::clone(name), value })
        };
        let values = declared.iter().map(read).collect::<Result<_, ParamError>>()?;
        match given.into_iter().next() {
            None => Ok(values),
            Some((name, _)) if declared.iter().any(|it| it.name == name) => Err(ParamError::Repeated(name)),
            Some((name, _)) => Err(ParamError::Unknown(name)),
        }
    }
}

impl Given {
    fn read(self, name: &Arc<str>, ty: &Type, known: &DataTypes) -> Result<Value, ParamError> {
        let declared = ty;
        // A value of an address type is a byte string, so values have `ByStr20` in place of these types.
        let ty = &without_addresses(ty);
        let tree = match self {
            Self::Json(tree) => tree,
            Self::Value(value) => {
                check_texts(&value).map_err(|error| ParamError::Text { name: Arc::clone(name), error })?;
                return match value.ty() {
                    Ok(of) if of == *ty => Ok(value),
                    _ => Err(ParamError::Type { name: Arc::clone(name), ty: declared.clone(), got: value.to_string() }),
                };
            }
        };
        let document = match (tree, ty) {
            (Tree::Bool(truth), ty) if *ty == Type::bool() => return Ok(Value::bool(truth)),
            (Tree::Number(number), Type::Primitive(Primitive::BNum | Primitive::Int(_) | Primitive::Uint(_))) => {
                Document::of_text(&number.to_string())
            }
            (tree, _) => parse(tree.to_string().as_bytes())
                .map_err(|error| ParamError::Json { name: Arc::clone(name), error })?,
        };
        let read = ValueReader::exact(known).read(document.root(), ty);
        read.map_err(|error| ParamError::Value { name: Arc::clone(name), error })
    }
}

/// Checks that each text inside a value is a Scilla `String`. The variant [`Value::String`] can hold any text.
fn check_texts(value: &Value) -> Result<(), TextError> {
    // A list of 100,000 elements has that many levels, so this is a stack instead of recursion.
    let (mut pending, mut seen) = (vec![value], BTreeSet::new());
    while let Some(value) = pending.pop() {
        if value.shared_address().is_some_and(|address| !seen.insert(address)) {
            continue;
        }
        match value {
            Value::Adt(adt) => pending.extend(adt.arguments()),
            Value::Map(map) => pending.extend(map.iter().flat_map(|(key, value)| [key.value(), value])),
            Value::Message(message) => pending.extend(message.entries().iter().map(|entry| &entry.value)),
            Value::String(text) => drop(Value::string(Arc::clone(text))?),
            Value::BNum(_)
            | Value::ByStr(_)
            | Value::ByStrX(_)
            | Value::Closure(_)
            | Value::Integer(_)
            | Value::TypeClosure(_) => {}
        }
    }
    Ok(())
}
