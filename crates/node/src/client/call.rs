//! `silica call`: a transition of a contract.

use clap::Args;
use serde_json::json;
use silica_protocol::{Address, Qa};

use super::{
    Answer,
    amount::parse_amount,
    error::ClientError,
    order::{Order, OrderArgs, Terms, carry_out},
    params::{ParamArgs, Params},
    program::Interface,
};

/// Arguments of `silica call`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CallArgs {
    /// The address of the contract, in hexadecimal or as bech32.
    #[arg(value_name = "ADDRESS", value_parser = Address::parse)]
    pub address: Address,
    /// Name of the transition.
    #[arg(value_name = "TRANSITION")]
    pub transition: String,
    /// Parameters of the transition.
    #[command(flatten)]
    pub params: ParamArgs,
    /// Amount for the contract, in ZIL or with its unit.
    #[arg(long, value_name = "AMOUNT", default_value = "0", value_parser = parse_amount)]
    pub amount: Qa,
    /// Options of the transaction.
    #[command(flatten)]
    pub order: OrderArgs,
}

/// Sends a transaction that calls a transition, and returns the result of the transaction.
pub(super) async fn call(args: &CallArgs) -> Result<Answer, ClientError> {
    let key = args.order.key.read()?;
    let params = match args.params.read()? {
        Params::Ready(params) => params,
        named @ Params::Named(_) => {
            let interface = Interface::of_address(&args.order.node.rpc(), &args.address).await?;
            named.typed(interface.transition(&args.transition)?, &interface.data_types)?
        }
    };
    let terms = Terms::find(&args.order, &key).await?;
    let data = json!({ "_tag": args.transition, "params": params }).to_string();
    let order = Order { to: args.address, amount: args.amount, code: String::new(), data };
    carry_out(&args.order, &key, terms, order).await
}
