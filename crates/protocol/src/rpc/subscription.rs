//! Notifications to subscribed clients after each Tx block and each revert (Reference: subscriptions#notifications).
//!
//! The types borrow their contents where possible, because the node serialises one block for many sessions.

use alloc::{borrow::Cow, boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{
    block::{TransactionsByShard, TxBlockJson},
    contract::ContractParamJson,
    list::TransferJson,
    text::{Dec, Hex},
};
use crate::{address::Address, amount::Qa, hash::TxHash, number::BlockNumber, receipt::EventLog};

/// A topic to which clients subscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Topic {
    /// All Tx blocks.
    NewBlock,
    /// Events of chosen contracts.
    EventLog,
    /// Transactions of chosen accounts.
    TxnLog,
    /// Transfers of chosen accounts: all changes of their balances. An extension of this node.
    Transfers,
    /// Reverts of the chain. An extension of this node.
    Reverts,
}

/// The notification of a session about a Tx block, or about a revert, with the data of each topic that the session
/// subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub struct Notification<'a> {
    /// One entry for each topic, in the order of [`TopicNews`].
    pub values: Vec<TopicNews<'a>>,
}

/// An entry of a notification: the data of one topic, or the topics that end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "query")]
pub enum TopicNews<'a> {
    /// Data of the topic [`Topic::NewBlock`].
    NewBlock {
        /// The block and the hashes of its transactions.
        value: Box<Cow<'a, NewBlock>>,
    },
    /// Data of the topic [`Topic::EventLog`].
    EventLog {
        /// The chosen contracts with events in the block. The member is absent if there is no such contract.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        value: Vec<ContractEvents<'a>>,
    },
    /// Data of the topic [`Topic::TxnLog`].
    TxnLog {
        /// The chosen accounts that sent or received transactions in the block. The member is absent if there is no
        /// such account.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        value: Vec<AccountTransactions<'a>>,
    },
    /// Data of the topic [`Topic::Transfers`].
    Transfers {
        /// The chosen accounts that paid or got money in the block. The member is absent if there is no such account.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        value: Vec<AccountTransfers<'a>>,
    },
    /// Data of the topic [`Topic::Reverts`]. The notification has no other topic.
    Reverts {
        /// The revert.
        value: RevertNews,
    },
    /// The topics that end with this notification.
    Unsubscribe {
        /// The topics without a further notification.
        value: Vec<Topic>,
    },
}

/// A Tx block with the hashes of its transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewBlock {
    /// The block, in its plain form.
    #[serde(rename = "TxBlock")]
    pub block: TxBlockJson,
    /// Hashes of the transactions of the block, by shard; empty if the block has no transactions.
    #[serde(rename = "TxHashes")]
    pub transactions: TransactionsByShard,
}

/// A revert of the chain, or several reverts since the previous notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertNews {
    /// Number of the highest Tx block that remained. The chain removed all blocks above it.
    pub block: Dec<BlockNumber>,
}

/// The events of one contract in a Tx block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractEvents<'a> {
    /// Address of the contract.
    pub address: Hex<Address>,
    /// The events of the contract, in the order of the transactions and of their receipts.
    pub event_logs: Vec<Cow<'a, EventNews>>,
}

/// An event, without the address of its contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventNews {
    /// Name of the event.
    #[serde(rename = "_eventname")]
    pub name: String,
    /// Parameters of the event.
    pub params: Vec<ContractParamJson>,
}

impl From<EventLog> for EventNews {
    fn from(EventLog { address: _, name, params }: EventLog) -> Self {
        Self { name, params: params.into_iter().map(Into::into).collect() }
    }
}

/// The transactions of a Tx block that an account sent or received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountTransactions<'a> {
    /// Address of the account.
    pub address: Hex<Address>,
    /// The transactions of the account, in the order of the block.
    pub log: Vec<Cow<'a, TransactionNews>>,
}

/// The transfers of an account in a Tx block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountTransfers<'a> {
    /// Address of the account.
    pub address: Hex<Address>,
    /// The transfers from or to the account, in the order of execution.
    pub transfers: Vec<Cow<'a, TransferJson>>,
}

/// A transaction in a notification to the subscribers of its sender or recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionNews {
    /// Hash of the transaction.
    #[serde(rename = "ID")]
    pub id: Hex<TxHash>,
    /// Amount of the transaction, in Qa.
    pub amount: Dec<Qa>,
    /// Address of the sender.
    #[serde(rename = "fromAddr")]
    pub from: Hex<Address>,
    /// Whether the transaction took effect.
    pub success: bool,
    /// Address of the recipient; the null address for a deployment.
    #[serde(rename = "toAddr")]
    pub to: Hex<Address>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the messages of the documentation, by topic.
    fn documented() -> Vec<(String, Value)> {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rpc-examples/_websocket.json"));
        let document: Value = serde_json::from_str(text).unwrap();
        let example =
            |example: &Value| (example["topic"].as_str().unwrap().to_owned(), example["notification"].clone());
        document["examples"].as_array().unwrap().iter().map(example).collect()
    }

    #[test]
    fn documented_notifications_are_written_as_they_were_read() {
        let mut read = 0;
        for (topic, mut document) in documented() {
            if !document.is_object() {
                continue;
            }
            for entry in document["values"].as_array_mut().unwrap() {
                // The samples are older than these two members, and lack them.
                if let Some(header) = entry["value"].pointer_mut("/TxBlock/header") {
                    header["NumPages"] = json!(1);
                    header["TxnFees"] = json!("0");
                }
            }
            let notification: Notification<'_> = serde_json::from_value(document.clone()).expect(&topic);
            assert_eq!(serde_json::to_value(&notification).unwrap(), document, "{topic}");
            read += 1;
        }
        assert!(read >= 4, "{read} notifications are documented");
    }

    #[test]
    fn topic_without_news_has_no_value() {
        let values = vec![TopicNews::EventLog { value: Vec::new() }, TopicNews::TxnLog { value: Vec::new() }];
        let text = serde_json::to_string(&Notification { values }).unwrap();
        assert_eq!(text, r#"{"type":"Notification","values":[{"query":"EventLog"},{"query":"TxnLog"}]}"#);
    }

    #[test]
    fn revert_has_the_number_of_the_block_that_remained() {
        let values = vec![TopicNews::Reverts { value: RevertNews { block: Dec(BlockNumber::new(7)) } }];
        let text = serde_json::to_string(&Notification { values }).unwrap();
        assert_eq!(text, r#"{"type":"Notification","values":[{"query":"Reverts","value":{"block":"7"}}]}"#);
    }
}
