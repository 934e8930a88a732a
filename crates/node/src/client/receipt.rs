//! The output of an executed transaction as text.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use silica_protocol::{
    Address, Gas, GasPrice, Nonce, PublicKey, Qa, ReceiptError, TxHash,
    rpc::text::{Dec, PrefixedUpperHex},
};

use super::{rows::Rows, values::both_forms};
use crate::terminal::InLine;

/// The parts of an executed transaction that the output has. Unknown members are ignored.
#[derive(Deserialize)]
pub(super) struct Executed {
    amount: Dec<Qa>,
    #[serde(default)]
    code: String,
    #[serde(default)]
    data: String,
    #[serde(rename = "gasPrice")]
    gas_price: Dec<GasPrice>,
    nonce: Dec<Nonce>,
    receipt: Receipt,
    #[serde(rename = "senderPubKey")]
    sender_key: PrefixedUpperHex<PublicKey>,
    #[serde(rename = "toAddr")]
    to: String,
}

#[derive(Deserialize)]
struct Receipt {
    cumulative_gas: Dec<Gas>,
    #[serde(rename = "epoch_num")]
    block: String,
    #[serde(default)]
    errors: Option<BTreeMap<String, Vec<u8>>>,
    #[serde(default)]
    event_logs: Vec<Event>,
    #[serde(default)]
    exceptions: Option<Vec<Exception>>,
    success: bool,
    #[serde(default)]
    transitions: Vec<Transition>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "_eventname")]
    name: String,
    address: String,
    #[serde(default)]
    params: Vec<Param>,
}

#[derive(Deserialize)]
struct Exception {
    line: u64,
    message: String,
}

#[derive(Deserialize)]
struct Transition {
    addr: String,
    msg: Message,
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "_amount")]
    amount: Dec<Qa>,
    #[serde(rename = "_recipient")]
    recipient: String,
    #[serde(rename = "_tag")]
    tag: String,
    #[serde(default)]
    params: Vec<Param>,
}

#[derive(Deserialize)]
struct Param {
    vname: String,
    value: Box<RawValue>,
}

impl Executed {
    pub(super) const fn is_success(&self) -> bool {
        self.receipt.success
    }

    /// Returns the transaction and its receipt as lines of text.
    pub(super) fn rows(&self, hash: &TxHash) -> Rows {
        let Self { amount: Dec(amount), gas_price: Dec(price), nonce: Dec(nonce), receipt, .. } = self;
        let sender = self.sender_key.0.impersonated().unwrap_or_else(|| Address::from_public_key(&self.sender_key.0));
        let gas = receipt.cumulative_gas.0;
        let fee = gas.checked_cost(*price).map_or_else(|| "more than 128 bits".to_owned(), in_zil);
        let mut rows = Rows::default();
        let status = if receipt.success { "done" } else { "failed: only the fee was charged" };
        rows.row("transaction", hash).row("status", status).row("block", &receipt.block);
        rows.row("from", both_forms(sender)).row("nonce", nonce);
        if self.code.is_empty() {
            rows.row("to", self.to.parse().map_or_else(|_| self.to.clone(), both_forms));
            rows.maybe("transition", self.transition());
        } else {
            let address = |before: Nonce| both_forms(Address::of_contract(&sender, before));
            rows.maybe("contract", nonce.previous().map(address));
        }
        rows.row("amount", in_zil(*amount));
        rows.row("fee", format!("{fee} ({gas} units of gas at {})", in_zil(price.get())));
        receipt.add_to(&mut rows);
        rows
    }

    /// Returns the name of the called transition; `None` if the transaction is not a call.
    fn transition(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Call {
            #[serde(rename = "_tag")]
            tag: String,
        }
        serde_json::from_str::<Call>(&self.data).ok().map(|call| call.tag)
    }
}

impl Receipt {
    fn add_to(&self, rows: &mut Rows) {
        for code in self.errors.iter().flat_map(BTreeMap::values).flatten() {
            let meaning = ReceiptError::from_code(*code).map(|error| error.to_string()).unwrap_or_default();
            rows.row("error", format!("{code} {meaning}"));
        }
        for Exception { line, message } in self.exceptions.iter().flatten() {
            rows.row("exception", format!("line {line}: {message}"));
        }
        for Event { name, address, params } in &self.event_logs {
            rows.row("event", format!("{name} of {address}"));
            add_params(rows, params);
        }
        for Transition { addr, msg: Message { amount, recipient, tag, params } } in &self.transitions {
            let tag = if tag.is_empty() { "nothing" } else { tag };
            let money = if amount.0.is_zero() { String::new() } else { format!(" with {}", in_zil(amount.0)) };
            rows.row("message", format!("{tag} from {addr} to {recipient}{money}"));
            add_params(rows, params);
        }
    }
}

fn add_params(rows: &mut Rows, params: &[Param]) {
    for Param { vname, value } in params {
        rows.detail(vname, plain(value));
    }
}

/// Returns a JSON value as text: a string without quotes and with its escapes decoded, any other value on one line.
/// A string can contain line feeds and control characters, so the caller escapes the text.
pub(super) fn plain(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| InLine(value).to_string())
}

pub(super) fn in_zil(amount: Qa) -> String {
    format!("{} ZIL", amount.display_zil())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = r#"{"ID":"00","amount":"1500000000000","data":"{\"_tag\":\"Pay\",\"params\":[]}","gasLimit":"100",
        "gasPrice":"2000000000","nonce":"7","senderPubKey":"0x03D8E6450E260F80983BCD4FADB6CBC132AE7FEB552DDA45F94B48C80B86C6C3BE",
        "signature":"0x","toAddr":"d90f2e538ce0df89c8273cad3b63ec44a3c4ed82","version":"14548993","receipt":"#;

    fn rows(receipt: &str) -> String {
        let executed: Executed = serde_json::from_str(&format!("{SENT}{receipt}}}")).unwrap();
        executed.rows(&TxHash::new([7; 32])).to_string()
    }

    #[test]
    fn receipts_show_events_and_transfers() {
        let output = rows(
            r#"{"cumulative_gas":"50","epoch_num":"12","success":true,
                "event_logs":[{"_eventname":"Paid","address":"0x12","params":[{"vname":"n","type":"Uint32","value":"5"},
                  {"vname":"l","type":"List (Uint32)","value":["1","2"]}]}],
                "transitions":[{"accepted":true,"addr":"0x12","depth":0,
                  "msg":{"_amount":"7","_recipient":"0x34","_tag":"","params":[]}}]}"#,
        );
        for line in [
            "status         done",
            "block          12",
            "transition     Pay",
            "amount         1.5 ZIL",
            "fee            0.1 ZIL (50 units of gas at 0.002 ZIL)",
            "event          Paid of 0x12",
            "                 n = 5",
            "                 l = [\"1\", \"2\"]",
            "message        nothing from 0x12 to 0x34 with 0.000000000007 ZIL",
        ] {
            assert!(output.lines().any(|it| it == line), "{line:?} is missing in\n{output}");
        }
    }

    #[test]
    fn failed_receipts_show_the_lines_of_the_contract() {
        let output = rows(
            r#"{"cumulative_gas":"50","epoch_num":"12","success":false,"errors":{"0":[7,99]},
                "exceptions":[{"line":41,"message":"Exception \u001b[2J thrown"}]}"#,
        );
        for line in [
            "error          7 the transition failed",
            "error          99 ",
            "exception      line 41: Exception \\u{1b}[2J thrown",
        ] {
            assert!(output.lines().any(|it| it == line), "{line:?} is missing in\n{output}");
        }
        assert!(output.contains("failed"), "{output}");
    }
}
