//! `silica proof get`: a proof of state from a node, in the form that `silica proof verify` takes.

use clap::Args;
use silica_chain::variable_key;
use silica_protocol::Address;

use crate::client::{Answer, block::tx_block, error::ClientError, node::NodeArgs};
use crate::{
    client::values::{WhichBlock, any_address, variable_name},
    terminal::visible,
};

/// Which proof, of what.
#[derive(Clone, Debug, Args)]
pub struct GetProofArgs {
    /// The contract, in hexadecimal or as bech32.
    #[arg(value_name = "ADDRESS", value_parser = any_address)]
    pub address: Address,
    /// Name of its variable.
    #[arg(value_name = "VARIABLE", value_parser = variable_name)]
    pub variable: String,
    /// Key of the variable's map, without quotes; one for each map, from the outermost.
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    pub keys: Vec<String>,
    /// Number of the Tx block whose state is proved, or latest.
    #[arg(long, value_name = "NUMBER", default_value = "latest")]
    pub block: WhichBlock,
    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Asks for a proof. It is said which root it belongs to, so that it can be compared with one that is trusted.
pub(in crate::client) async fn get(args: &GetProofArgs) -> Result<Answer, ClientError> {
    let rpc = args.node.rpc();
    let (block, _) = tx_block(&rpc, args.block).await?;
    let hash = variable_key(&args.address, &args.variable, &args.keys).variable_hash();
    let params = [args.address.to_string(), hash.to_string(), block.header.number.clone()];
    let proof = rpc.ask("GetStateProof", &params).await?;
    let (number, root) = (visible(&block.header.number), visible(&block.header.state_root));
    Ok(Answer::json(&proof).with_note(format!("Tx block {number}, state root {root}, as the node says")))
}
