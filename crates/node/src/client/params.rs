//! Parameters of contracts: `name=value`, or JSON from the command line or a file.

use std::{fs::File, io::Read, path::Path};

use clap::Args;
use serde_json::Value;
use silica_scilla::{check::ParameterSummary, types::adt::DataTypes};

use super::{
    argument::{Assignment, Given},
    error::ClientError,
};

/// Maximum size of a parameter file or contract source, in bytes. No network accepts a transaction of this size.
const LONGEST: u64 = 1 << 20;

/// Options for the parameters of a contract.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ParamArgs {
    /// Parameters. The contract declares their types. Write numbers, texts, addresses and names of constructors as they
    /// are, for example 1, true, None or "Some VALUE". Write lists and maps as JSON.
    #[arg(value_name = "NAME=VALUE")]
    pub assignments: Vec<Assignment>,
    /// All parameters as JSON, or a file of JSON, or - for standard input. The form is {"NAME": VALUE, …}, or the form
    /// of a message, [{"vname": …, "type": …, "value": …}, …], which the command sends unchanged.
    #[arg(long, value_name = "FILE|JSON", conflicts_with = "assignments")]
    pub params: Option<String>,
}

/// The given parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Params {
    /// Values by name. Their types are in the contract.
    Named(Given),
    /// Parameters in the form of a message, with their types.
    Ready(Vec<Value>),
}

impl ParamArgs {
    /// Reads the parameters from the command line, from a file, or from standard input.
    pub(super) fn read(&self) -> Result<Params, ClientError> {
        let Some(params) = &self.params else {
            return Given::of_assignments(&self.assignments).map(Params::Named);
        };
        let text = if params.trim_start().starts_with(['[', '{']) {
            params.clone()
        } else {
            read_text("--params", Path::new(params))?
        };
        let json = serde_json::from_str(&text)
            .map_err(|error| ClientError::argument("--params", format!("JSON: {error}"), &text))?;
        match json {
            Value::Object(object) => Ok(Params::Named(Given::of_object(object))),
            Value::Array(params) if params.iter().all(is_param) => Ok(Params::Ready(params)),
            Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let expected = "an object {\"NAME\": VALUE, …}, or a list of {\"vname\", \"type\", \"value\"}";
                Err(ClientError::argument("--params", expected, &text))
            }
        }
    }
}

fn is_param(param: &Value) -> bool {
    let is_text = |member| param.get(member).is_some_and(Value::is_string);
    is_text("vname") && is_text("type") && param.get("value").is_some()
}

impl Params {
    /// Returns the parameters in the form of a message.
    pub(super) fn typed(self, parameters: &[ParameterSummary], known: &DataTypes) -> Result<Vec<Value>, ClientError> {
        match self {
            Self::Named(given) => given.read(parameters, known),
            Self::Ready(params) => Ok(params),
        }
    }
}

/// Reads a text from a file, or from standard input if the path is `-`.
pub(super) fn read_text(what: &str, path: &Path) -> Result<String, ClientError> {
    let failed = |source| ClientError::File { action: "read", path: path.to_owned(), source };
    let most = LONGEST.saturating_add(1);
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(most).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_string(&mut text))
    };
    read.map_err(failed)?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= LONGEST) {
        return Ok(text);
    }
    Err(ClientError::TooLong { what: what.to_owned(), most: LONGEST })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(params: &str) -> Result<Params, String> {
        let args = ParamArgs { assignments: Vec::new(), params: Some(params.to_owned()) };
        args.read().map_err(|error| error.to_string())
    }

    #[test]
    fn json_is_an_object_or_a_list_of_parameters() {
        let param = json!({"vname": "a", "type": "Uint32", "value": "1"});
        assert_eq!(read(&json!([param]).to_string()), Ok(Params::Ready(vec![param])));
        let Ok(Params::Named(given)) = read("{\"a\": 1}") else { panic!("it is an object") };
        let assignments = ["a=1".parse().unwrap()];
        let parameters =
            [ParameterSummary { name: "a".into(), ty: silica_scilla::json::parse_type("Uint32").unwrap() }];
        let known = DataTypes::built_in();
        let expected = Given::of_assignments(&assignments).unwrap().read(&parameters, &known).unwrap();
        assert_eq!(given.read(&parameters, &known).unwrap(), expected);
    }

    #[test]
    fn files_are_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[]").unwrap();
        assert_eq!(read(file.path().to_str().unwrap()), Ok(Params::Ready(Vec::new())));
        std::fs::write(file.path(), " ".repeat(1 << 20) + "[]").unwrap();
        assert!(read(file.path().to_str().unwrap()).unwrap_err().contains("at most 1048576 bytes"));
    }

    #[test]
    fn other_json_is_refused() {
        for (text, words) in [
            ("[1]", "\\\"vname\\\""),
            ("[{\"vname\": \"a\", \"type\": 1, \"value\": 1}]", "\\\"vname\\\""),
            ("{\"a\"", "JSON: EOF"),
            ("[1,]", "JSON: trailing comma"),
            ("/no/such/file", "cannot read /no/such/file"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.replace('\\', "").contains(&words.replace('\\', "")), "{words} is missing in {error}");
        }
    }
}
