//! The token contract of a load of token transfers.

use serde_json::json;
use silica_crypto::KeyPair;
use silica_protocol::{Address, Gas, Nonce, Qa};

use super::{LoadError, order::Order, rpc::RpcClient};

/// Source code of the contract.
const CODE: &str = include_str!("fungible_token.scilla");

/// Gas limit of the deployment, in gas units.
const DEPLOYMENT_GAS: Gas = Gas::new(40_000);

/// Gas limit of a transfer, in gas units. A transaction fits into a micro block if its gas limit and the gas of all
/// earlier transactions are within the limit of the micro block. Therefore a lower limit lets more transfers into a
/// block.
const TRANSFER_GAS: Gas = Gas::new(1_000);

/// Total supply of tokens.
const SUPPLY: u128 = 1 << 100;

/// A deployed token. At first, the deployer has all tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    address: Address,
}

impl Token {
    /// Returns the token that `deployer` deploys, and the transaction of the deployment. `nonce` is the nonce of the
    /// deployer's account before the deployment.
    pub(super) fn of(deployer: &KeyPair, nonce: Nonce) -> (Self, Order) {
        let owner = deployer.address();
        let param = |name: &str, kind: &str, value: &str| json!({ "vname": name, "type": kind, "value": value });
        let init = json!([
            param("_scilla_version", "Uint32", "0"),
            param("contract_owner", "ByStr20", &format!("0x{owner}")),
            param("name", "String", "Load"),
            param("symbol", "String", "LOAD"),
            param("decimals", "Uint32", "12"),
            param("init_supply", "Uint128", &SUPPLY.to_string()),
            json!({ "vname": "default_operators", "type": "List ByStr20", "value": [] }),
        ]);
        let order = Order {
            gas_limit: DEPLOYMENT_GAS,
            code: CODE.to_owned(),
            data: init.to_string(),
            ..Order::payment(Address::ZERO, Qa::ZERO)
        };
        (Self { address: Address::of_contract(&owner, nonce) }, order)
    }

    /// Creates a transfer of `tokens` tokens to `to`.
    pub(super) fn transfer(&self, to: &Address, tokens: u64) -> Order {
        let data = json!({
            "_tag": "Transfer",
            "params": [
                { "vname": "to", "type": "ByStr20", "value": format!("0x{to}") },
                { "vname": "amount", "type": "Uint128", "value": tokens.to_string() },
            ],
        });
        Order { gas_limit: TRANSFER_GAS, data: data.to_string(), ..Order::payment(self.address, Qa::ZERO) }
    }

    /// Checks that `holder` has `expected` tokens.
    pub(super) async fn check(
        &self,
        client: &mut RpcClient,
        holder: &Address,
        expected: u128,
    ) -> Result<(), LoadError> {
        let tokens = client.map_entry(&self.address, "balances", &format!("0x{holder}")).await?;
        if tokens == Some(expected.to_string()) {
            return Ok(());
        }
        let got = format!("{holder} has {tokens:?} tokens, and should have {expected}");
        Err(LoadError::Answer { method: "GetSmartContractSubState", got })
    }
}
