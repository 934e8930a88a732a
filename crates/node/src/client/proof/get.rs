//! `silica proof get`: a state proof from a node, as input for `silica proof verify`.

use clap::Args;
use silica_chain::variable_key;
use silica_protocol::Address;

use super::request::proof_request;
use crate::client::{Answer, block::tx_block, error::ClientError, node::NodeArgs};
use crate::{
    client::values::{WhichBlock, variable_name},
    terminal::visible,
};

/// Arguments of `silica proof get`.
#[derive(Clone, Debug, Args)]
pub(crate) struct GetProofArgs {
    /// The address of the account, in hexadecimal or as bech32.
    #[arg(value_name = "ADDRESS", value_parser = Address::parse)]
    pub address: Address,
    /// Name of the contract's variable. Without a name, the proof is of the account.
    #[arg(value_name = "VARIABLE", value_parser = variable_name)]
    pub variable: Option<String>,
    /// Key of the variable's map, without quotes. Nested maps have one key for each map, from the outermost.
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    pub keys: Vec<String>,
    /// Number of the Tx block whose state the proof is for, or `latest`.
    #[arg(long, value_name = "NUMBER", default_value = "latest")]
    pub block: WhichBlock,
    /// Options for the node and the output.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Gets a proof. The note for standard error has the state root of the block, so that the user can compare it with a
/// trusted root.
pub(in crate::client) async fn get(args: &GetProofArgs) -> Result<Answer, ClientError> {
    let rpc = args.node.rpc();
    let (block, _) = tx_block(&rpc, args.block).await?;
    let hash = |name: &String| variable_key(&args.address, name, &args.keys).variable_hash();
    let variable = args.variable.as_ref().map(hash);
    let (method, params) = proof_request(&args.address, variable.as_ref(), block.header.number.clone());
    let proof = rpc.ask(method, &params).await?;
    let (number, root) = (visible(&block.header.number), visible(&block.header.state_root));
    Ok(Answer::json(&proof).with_note(format!("Tx block {number}, state root {root}, reported by the node")))
}
