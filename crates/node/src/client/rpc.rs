//! `silica rpc`: a call of any method.

use clap::Args;
use serde_json::Value;
use silica_protocol::rpc::error::RpcError;

use super::{
    Answer,
    error::ClientError,
    hide::hide_keys,
    node::{NodeArgs, reason},
};
use crate::{methods, terminal::visible};

/// Arguments of `silica rpc`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RpcArgs {
    /// Name of the method. `silica openrpc` lists the methods.
    #[arg(value_name = "METHOD")]
    pub method: String,
    /// The parameters: text as it is, other types as JSON. The OpenRPC document has the type of each parameter. If the
    /// document does not have the method, a parameter that is valid JSON is read as JSON. A parameter in double quotes
    /// is always read as JSON.
    #[arg(value_name = "PARAM", allow_negative_numbers = true)]
    pub params: Vec<String>,
    /// Options for the node and the output.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Calls the method, and returns its result as JSON.
pub(super) async fn rpc(args: &RpcArgs) -> Result<Answer, ClientError> {
    let kinds = Kinds::of(&args.method);
    let params: Vec<Value> =
        args.params.iter().enumerate().map(|(position, text)| kinds.read(position, text)).collect::<Result<_, _>>()?;
    match args.node.rpc().try_ask(&args.method, &params).await? {
        Ok(answer) => Ok(Answer::json(&answer)),
        // The error of a node can repeat a parameter. A user can type a secret key as a parameter by mistake.
        Err(error) => {
            let (method, reason) = (hide_keys(&visible(&args.method)), hide_keys(&reason(&error)));
            Err(if error.message == RpcError::METHOD_NOT_FOUND.message {
                ClientError::NoMethod { method, reason, similar: methods::table().similar(&args.method, |_| true) }
            } else {
                ClientError::Refused { method, reason }
            })
        }
    }
}

/// The types of the parameters of a method. `Known` has one flag for each position, which is `true` for text. `Unknown`
/// means that the OpenRPC document does not have the method.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kinds {
    Known(Vec<bool>),
    Unknown,
}

impl Kinds {
    /// Returns the types of the parameters of the method that has this name or alias in the OpenRPC document.
    fn of(method: &str) -> Self {
        let document: Value = serde_json::from_str(&methods::openrpc()).unwrap_or_default();
        let mut methods = document.get("methods").and_then(Value::as_array).into_iter().flatten();
        let is_it = |it: &&Value| {
            let aliases = it.get("x-aliases").and_then(Value::as_array).into_iter().flatten();
            it.get("name").into_iter().chain(aliases).any(|name| name == method)
        };
        let found = methods.find(is_it).and_then(|it| it.get("params")?.as_array());
        let is_text = |param: &Value| param.get("schema").is_some_and(|schema| is_text(schema, &document));
        found.map_or(Self::Unknown, |params| Self::Known(params.iter().map(is_text).collect()))
    }

    fn read(&self, position: usize, text: &str) -> Result<Value, ClientError> {
        let is_text = match self {
            Self::Known(texts) => texts.get(position).copied(),
            Self::Unknown => None,
        };
        let read = serde_json::from_str(text);
        match is_text {
            _ if text.starts_with(['"']) => {
                read.map_err(|error| ClientError::argument("PARAM", format!("JSON: {error}"), text))
            }
            Some(true) => Ok(text.into()),
            Some(false) => read.map_err(|error| {
                let expected = format!("JSON for parameter {} of this method: {error}", position.saturating_add(1));
                ClientError::argument("PARAM", expected, text)
            }),
            None => Ok(read.unwrap_or_else(|_| text.into())),
        }
    }
}

/// Returns whether a schema describes text.
fn is_text(schema: &Value, document: &Value) -> bool {
    const COMPONENTS: &str = "#/components/schemas/";
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(COMPONENTS));
    let schema = match name {
        Some(name) => document.pointer("/components/schemas").and_then(|all| all.get(name)),
        None => Some(schema),
    };
    schema.and_then(|schema| schema.get("type")).is_some_and(|kind| match kind.as_array() {
        Some(kinds) => kinds.iter().all(|kind| kind == "string" || kind == "null"),
        None => kind == "string",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(method: &str, texts: &[&str], expected: &Value) {
        let kinds = Kinds::of(method);
        let params: Vec<_> = texts.iter().enumerate().map(|(at, text)| kinds.read(at, text).unwrap()).collect();
        assert_eq!(&Value::from(params), expected, "{method}");
    }

    #[test]
    fn parameters_are_what_the_interface_says() {
        check("GetTxBlock", &["5"], &json!(["5"]));
        check("GetBalance", &["zil1x"], &json!(["zil1x"]));
        check("IncreaseBlocknum", &["5"], &json!([5]));
        check("GetDSBlock", &["5"], &json!(["5"]));
        check("GetSmartContractSubState", &["12", "balances", "[\"0x12\"]"], &json!(["12", "balances", ["0x12"]]));
        check("silica_mine", &["5"], &json!([5]));
        check("GetNetworkId", &["5", "x"], &json!([5, "x"]));
        check("Unknown", &["5", "x", "\"5\"", "null"], &json!([5, "x", "5", null]));
        check("GetTxBlock", &["\"5\""], &json!(["5"]));
    }

    #[test]
    fn parameter_that_is_not_json_is_rejected() {
        let error = Kinds::of("GetSmartContractSubState").read(2, "[x").unwrap_err().to_string();
        assert!(error.starts_with("PARAM: expected JSON for parameter 3 of this method"), "{error}");
    }
}
