//! `silica state`: the state of a contract.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{json, value::RawValue};
use silica_protocol::Address;

use super::{Answer, error::ClientError, hide::hide_keys, node::NodeArgs, node::read, receipt::plain, rows::Rows};
use crate::terminal::visible;

/// Arguments of `silica state`.
#[derive(Clone, Debug, Args)]
pub(crate) struct StateArgs {
    /// The address of the contract, in hexadecimal or as bech32.
    #[arg(value_name = "ADDRESS", value_parser = Address::parse)]
    pub address: Address,
    /// Name of a field of the contract [default: all fields].
    #[arg(value_name = "FIELD")]
    pub field: Option<String>,
    /// Key of the field's map, without quotes. Nested maps have one key for each map, from the outermost.
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    pub keys: Vec<String>,
    /// Options for the node and the output.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// The members of a JSON object, with unparsed values.
type Members = BTreeMap<String, Box<RawValue>>;

/// Gets the state of a contract, a field, or an entry of the field's map.
pub(super) async fn state(args: &StateArgs) -> Result<Answer, ClientError> {
    const METHOD: &str = "GetSmartContractState";
    let Some(field) = &args.field else {
        let state = args.node.rpc().ask(METHOD, &[args.address.to_string()]).await?;
        if args.node.json {
            return Ok(Answer::json(&state));
        }
        return Ok(Answer::done(rows(read(METHOD, &state)?)));
    };
    // Address keys of a map are in hexadecimal. A map with text keys can have a bech32 address as text.
    let keys: Vec<String> = args.keys.iter().map(|key| hexadecimal(key)).collect();
    let mut found = find(args, field, &keys).await?;
    if found.is_none() && keys != args.keys {
        found = find(args, field, &args.keys).await?;
    }
    let place = || args.keys.iter().fold(field.clone(), |place, key| format!("{place}[{key:?}]"));
    let value = found.ok_or_else(|| ClientError::Absent(hide_keys(&visible(&place()))))?;
    if args.node.json {
        return Ok(Answer::json(&value));
    }
    Ok(match serde_json::from_str::<Members>(value.get()) {
        Ok(members) if !is_data(&members) => Answer::done(rows(members)),
        Ok(_) | Err(_) => Answer::done(visible(&plain(&value))),
    })
}

/// Gets a field, or an entry of the field's map. Returns `None` if the state does not have this field or entry.
async fn find(args: &StateArgs, field: &str, keys: &[String]) -> Result<Option<Box<RawValue>>, ClientError> {
    const METHOD: &str = "GetSmartContractSubState";
    let mut value = args.node.rpc().ask(METHOD, &json!([args.address.to_string(), field, keys])).await?;
    for name in std::iter::once(field).chain(keys.iter().map(String::as_str)) {
        let Some(mut members) = read::<Option<Members>>(METHOD, &value)? else { return Ok(None) };
        match members.remove(name) {
            Some(member) => value = member,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn hexadecimal(key: &str) -> String {
    Address::from_bech32(key).map_or_else(|_| key.to_owned(), |address| format!("0x{address}"))
}

/// Returns one line for each member, and one indented line for each entry of a map.
fn rows(members: Members) -> Rows {
    let mut rows = Rows::default();
    for (name, value) in members {
        match serde_json::from_str::<Members>(value.get()) {
            Ok(entries) if !is_data(&entries) => {
                let count = entries.len();
                rows.row(&name, format!("{count} {}", if count == 1 { "entry" } else { "entries" }));
                for (key, value) in entries {
                    rows.detail(&key, plain(&value));
                }
            }
            Ok(_) | Err(_) => {
                rows.row(&name, plain(&value));
            }
        }
    }
    rows
}

/// Returns whether a JSON object is a value of an algebraic data type. Otherwise the object is a map.
fn is_data(members: &Members) -> bool {
    members.len() == 3 && ["constructor", "argtypes", "arguments"].iter().all(|name| members.contains_key(*name))
}
