//! A client that trusts only the public key of a committee: it verifies a block of a node, and a value of a contract.

#![expect(clippy::print_stdout, clippy::indexing_slicing, reason = "an example prints what it reads")]

use silica_crypto::{KeyPair, verify_tx_block};
use silica_node::Node;
use silica_proof::StateProof;
use silica_protocol::{InitData, StorageKey, Transaction, TransitionCall, TxBlock, hex};

const CODE: &str = "scilla_version 0
contract Counter ()
field count : Uint32 = Uint32 0
transition Set (value : Uint32)
  count := value
end";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The node, with a contract whose field `count` is 5.
    let node = Node::builder().start().await?;
    let key: KeyPair = node.accounts()[0].key().ok_or("the account has no key")?;
    let chain_id = node.banner().version.chain_id();
    let init = InitData::builder().build();
    let deploy = Transaction::deploy(CODE, &init).chain_id(chain_id).nonce(1).sign(&key)?;
    let contract = deploy.contract_address().ok_or("the transaction deploys no contract")?;
    let set = TransitionCall::new("Set").param("value", "Uint32", "5");
    let call = Transaction::call(contract, &set).chain_id(chain_id).nonce(2).sign(&key)?;
    for transaction in [deploy, call] {
        let _: serde_json::Value = node.request("CreateTransaction", [transaction]).await?;
    }

    // The client. It takes the key of the committee from the operator, and all other data from the node.
    let committee = [node.banner().node_key];
    let raw: serde_json::Value = node.request("GetRawTxBlock", ["2"]).await?;
    let block = TxBlock::decode(&hex::decode(raw["data"].as_str().ok_or("the response has no block")?)?)?;
    let root = verify_tx_block(&block, &committee)?;
    let count = StorageKey::field(&contract, "count");
    let params = [contract.to_string(), count.variable_hash().to_string(), "2".to_owned()];
    let proof: StateProof = node.request("GetStateProof", params).await?;
    let value = proof.verify(&root, &count)?.value.ok_or("the field has no value")?;
    println!("block {} of {root} proves count = {}", block.header.number, value.to_json());
    node.stop().await?;
    Ok(())
}
