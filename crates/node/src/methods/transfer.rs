//! Transfers: all changes of balances, in pages.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{BlockPart, Transfer, TransferAmount, TransferKind, TransferPlace, TransferRequest};
use silica_protocol::{
    BlockNumber,
    rpc::{
        cursor::{TransferCursor, TransferPart},
        list::{TransferJson, TransferKindJson, TransferPageJson},
    },
};

use super::transaction::EFFORT;
use crate::{
    head::Context,
    rpc::{
        CallError, Entry, Method,
        params::options::{Addresses, Limit, Member, Options, Order},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[Entry::slow::<GetTransfers>().of_weight(10)];

/// All changes of balances in pages: payments, fees, amounts of calls, messages and deployments, rewards, edits and the
/// balances at genesis. An extension of this node.
///
/// The transfers of an account from block 0 on add up to its balance. A page ends early when it has read about 5 MB of
/// the record, so a page can be empty although it has a `next`. The last page has no `next`. New blocks do not change a
/// page.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransfers {
    /// Addresses, blocks, start, order and size of the page; optional.
    #[serde(default)]
    options: Options<TransferOptions>,
}

/// Options for the list of transfers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct TransferOptions {
    /// Addresses of which at least one pays or gets the money; all transfers if absent.
    addresses: Option<Addresses>,
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<TransferCursor>>,
    /// Number of the first Tx block; block 0 if absent.
    from_block: Option<Member<BlockNumber>>,
    /// Maximum number of transfers on the page.
    limit: Limit,
    /// Order of the transfers.
    order: Order,
    /// Number of the last Tx block; the latest block if absent. Blocks after the latest block have no transfers.
    to_block: Option<Member<BlockNumber>>,
}

impl Method for GetTransfers {
    const NAME: &'static str = "silica_getTransfers";
    type Output = TransferPageJson;

    fn call(self, at: &Context) -> Result<TransferPageJson, CallError> {
        let TransferOptions { addresses, cursor, from_block, limit, order, to_block } = self.options.get()?;
        let first = from_block.map_or(BlockNumber::new(0), |Member(block)| block);
        let last = to_block.map_or(BlockNumber::MISSING, |Member(block)| block);
        if last < first {
            let problem = format!("toBlock: expected at least fromBlock, {first}, got {last}");
            return Err(CallError::parameter("options", &problem));
        }
        let page = at.snapshot.transfers(&TransferRequest {
            addresses: addresses.as_ref().map(|Addresses(addresses)| addresses),
            first,
            last,
            order: order.into(),
            from: cursor.map(|Member(cursor)| place_of(cursor)),
            limit: limit.get(),
            effort: EFFORT,
        })?;
        Ok(TransferPageJson {
            next: page.next.map(|next| cursor_of(next).to_string()),
            transfers: page.transfers.iter().map(transfer_json).collect(),
        })
    }
}

/// Returns a transfer in the form that clients get.
pub(crate) fn transfer_json(transfer: &Transfer) -> TransferJson {
    let Transfer { place, hash, timestamp, kind, from, to, amount } = *transfer;
    let (amount, balance) = match amount {
        TransferAmount::Moved(amount) => (Some(amount.into()), None),
        TransferAmount::SetTo(balance) => (None, Some(balance.into())),
    };
    TransferJson {
        amount,
        balance,
        block: place.block.into(),
        from: from.map(Into::into),
        hash: hash.map(Into::into),
        kind: kind_json(kind),
        position: match place.part {
            BlockPart::Transaction(position) => Some(position),
            BlockPart::Start | BlockPart::End => None,
        },
        timestamp: timestamp.into(),
        to: to.map(Into::into),
    }
}

const fn kind_json(kind: TransferKind) -> TransferKindJson {
    match kind {
        TransferKind::Genesis => TransferKindJson::Genesis,
        TransferKind::Edit => TransferKindJson::Edit,
        TransferKind::Fee => TransferKindJson::Fee,
        TransferKind::Payment => TransferKindJson::Payment,
        TransferKind::Deployment => TransferKindJson::Deployment,
        TransferKind::Call => TransferKindJson::Call,
        TransferKind::Transition => TransferKindJson::Transition,
        TransferKind::Fees => TransferKindJson::Fees,
        TransferKind::Reward => TransferKindJson::Reward,
    }
}

/// Returns the place of a cursor.
const fn place_of(TransferCursor { block, part, index }: TransferCursor) -> TransferPlace {
    let part = match part {
        TransferPart::Start => BlockPart::Start,
        TransferPart::Transaction(position) => BlockPart::Transaction(position),
        TransferPart::End => BlockPart::End,
    };
    TransferPlace { block, part, index }
}

/// Returns the cursor of a place.
const fn cursor_of(TransferPlace { block, part, index }: TransferPlace) -> TransferCursor {
    let part = match part {
        BlockPart::Start => TransferPart::Start,
        BlockPart::Transaction(position) => TransferPart::Transaction(position),
        BlockPart::End => TransferPart::End,
    };
    TransferCursor { block, part, index }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_names_its_place() {
        for part in [BlockPart::Start, BlockPart::Transaction(0), BlockPart::Transaction(u32::MAX), BlockPart::End] {
            let place = TransferPlace { block: BlockNumber::new(7), part, index: u32::MAX };
            assert_eq!(place_of(cursor_of(place)), place);
        }
    }
}
