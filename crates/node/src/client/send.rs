//! `silica send`: a payment from one account to another.

use clap::Args;
use silica_protocol::{Address, Qa};

use super::{
    Answer,
    amount::parse_amount,
    error::ClientError,
    order::{Order, OrderArgs, Terms, carry_out},
};

/// Arguments of `silica send`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SendArgs {
    /// The address of the recipient, in hexadecimal or as bech32.
    #[arg(value_name = "TO", value_parser = Address::parse)]
    pub to: Address,
    /// Amount in ZIL, such as 1.5, or with its unit, such as 1.5zil, 500li or 7qa.
    #[arg(value_name = "AMOUNT", value_parser = parse_amount)]
    pub amount: Qa,
    /// Options of the transaction.
    #[command(flatten)]
    pub order: OrderArgs,
}

/// Sends a payment. Rejects the null address as recipient.
pub(super) async fn send(args: &SendArgs) -> Result<Answer, ClientError> {
    let key = args.order.key.read()?;
    // A transaction to the null address is a deployment.
    if args.to == Address::ZERO {
        return Err(ClientError::argument("TO", "an address other than the null address", args.to.to_string()));
    }
    let terms = Terms::find(&args.order, &key).await?;
    let order = Order { to: args.to, amount: args.amount, code: String::new(), data: String::new() };
    carry_out(&args.order, &key, terms, order).await
}
