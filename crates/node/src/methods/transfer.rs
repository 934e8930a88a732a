//! Transfers: all changes of balances, in pages.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{BlockPart, Transfer, TransferAmount, TransferKind, TransferPlace, TransferRequest};
use silica_protocol::{
    BlockNumber,
    rpc::list::{TransferJson, TransferKindJson, TransferPageJson},
};

use super::transaction::EFFORT;
use crate::{
    head::Context,
    rpc::{
        CallError, Entry, Method,
        params::{
            FromParam,
            options::{self, Addresses, CURSOR, CursorFault, Limit, Member, Options, Order},
        },
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
            from: cursor.map(|Member(TransferCursor(place))| place),
            limit: limit.get(),
            effort: EFFORT,
        })?;
        Ok(TransferPageJson {
            next: page.next.map(|next| TransferCursor(next).to_string()),
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

/// The cursor of the list of transfers: the first place of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TransferCursor(TransferPlace);

impl fmt::Display for TransferCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TransferPlace { block, part, index } = self.0;
        match part {
            BlockPart::Start => write!(f, "{block}-start-{index}"),
            BlockPart::Transaction(position) => write!(f, "{block}-{position}-{index}"),
            BlockPart::End => write!(f, "{block}-end-{index}"),
        }
    }
}

impl FromParam for TransferCursor {
    type Fault = CursorFault;
    const NAME: &'static str = "TransferCursor";
    const DESCRIPTION: &'static str = CURSOR;
    const EXAMPLE: &'static str = "113-0-1";

    fn from_param(text: &str) -> Result<Self, CursorFault> {
        let mut members = text.split('-');
        let (Some(block), Some(part), Some(index), None) =
            (members.next(), members.next(), members.next(), members.next())
        else {
            return Err(CursorFault);
        };
        let part = match part {
            "start" => BlockPart::Start,
            "end" => BlockPart::End,
            position => BlockPart::Transaction(options::position(position)?),
        };
        let block: BlockNumber = block.parse().map_err(|_| CursorFault)?;
        Ok(Self(TransferPlace { block, part, index: options::position(index)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_read_as_it_is_written() {
        for part in [BlockPart::Start, BlockPart::Transaction(0), BlockPart::Transaction(u32::MAX), BlockPart::End] {
            for (block, index) in [(0, 0), (u64::MAX - 1, u32::MAX)] {
                let cursor = TransferCursor(TransferPlace { block: BlockNumber::new(block), part, index });
                assert_eq!(TransferCursor::from_param(&cursor.to_string()), Ok(cursor));
            }
        }
        for text in
            ["", "1", "1-2", "1-2-3-4", "1--2", "-1-2", "1-+2-3", "1-2-+3", "1-2-4294967296", "1-End-0", "1:2:3"]
        {
            assert_eq!(TransferCursor::from_param(text), Err(CursorFault), "{text}");
        }
    }
}
