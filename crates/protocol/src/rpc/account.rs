//! Accounts: their balances, and state proofs.

use alloc::{borrow::Cow, vec::Vec};
use core::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::text::Dec;
use crate::{account::Account, amount::Qa, bytes::fmt_upper, number::BlockNumber};

/// Balance and nonce of an account (`GetBalance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Balance {
    /// Balance of the account, in Qa.
    pub balance: Dec<Qa>,
    /// Nonce of the account. Its next transaction has this number plus 1.
    pub nonce: u64,
}

impl From<&Account> for Balance {
    fn from(account: &Account) -> Self {
        Self { balance: account.balance.into(), nonce: account.nonce.get() }
    }
}

/// Balance of an account after a Tx block (`silica_getBalanceAt`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BalanceAt {
    /// Balance of the account after the block, in Qa; 0 if the account did not exist.
    pub balance: Dec<Qa>,
    /// Number of the Tx block.
    pub block: Dec<BlockNumber>,
}

/// State proof: the nodes of two tries that prove the value of a variable of a contract (`GetStateProof`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StateProof {
    /// Nodes of the account trie from the root to the account of the contract, in the order of their bytes.
    #[serde(rename = "accountProof", default, skip_serializing_if = "Vec::is_empty")]
    pub account: Vec<ProofNode>,
    /// Nodes of the contract's storage trie from the root to the variable, in the order of their bytes.
    #[serde(rename = "stateProof", default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<ProofNode>,
}

impl StateProof {
    /// Returns the proof with the nodes of both tries. The given nodes can be in any order.
    ///
    /// The proof has each node once, in the order of the bytes, because the C++ node collects nodes in an ordered set
    /// (Reference: formats#state-proof).
    pub fn new(account: Vec<Vec<u8>>, state: Vec<Vec<u8>>) -> Self {
        let sorted = |mut nodes: Vec<Vec<u8>>| {
            nodes.sort_unstable();
            nodes.dedup();
            nodes.into_iter().map(ProofNode).collect()
        };
        Self { account: sorted(account), state: sorted(state) }
    }
}

/// A trie node in its RLP form. JSON has it as upper-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProofNode(pub Vec<u8>);

impl AsRef<[u8]> for ProofNode {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for ProofNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_upper(&self.0, f)
    }
}

impl Serialize for ProofNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProofNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::hex::decode(&Cow::<str>::deserialize(deserializer)?).map(Self).map_err(de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for ProofNode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ProofNode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9A-F]{2})+$" })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::number::Nonce;

    #[test]
    fn balance_is_text_and_nonce_a_number() {
        let account = Account { balance: Qa::MAX, nonce: Nonce::new(16), contract: None };
        let expected = json!({"balance": "340282366920938463463374607431768211455", "nonce": 16});
        assert_eq!(serde_json::to_value(Balance::from(&account)).unwrap(), expected);
    }

    #[test]
    fn proof_is_a_sorted_set_of_upper_case_nodes() {
        let long = vec![0xab; 200];
        let proof = StateProof::new(vec![vec![0xff], long.clone(), vec![1, 2], vec![0xff]], vec![]);
        let expected = json!({"accountProof": ["0102", "AB".repeat(200), "FF"]});
        assert_eq!(serde_json::to_value(&proof).unwrap(), expected);
        assert_eq!(proof.account[1].0, long);
    }
}
