//! Transfers: all changes of balances, in pages.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};
use silica_chain::{BlockPart, Transfer, TransferAmount, TransferKind, TransferPlace, TransferRequest};
use silica_protocol::{
    Address, BlockNumber,
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
        params::{
            Text,
            options::{Limit, Member, Options, Order},
        },
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[Entry::slow::<GetTransfers>().of_weight(10)];

/// Maximum number of addresses in a request.
const MOST_ADDRESSES: usize = 10_000;

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

/// Addresses, at least one and at most [`MOST_ADDRESSES`].
#[derive(Clone, Debug)]
struct Addresses(BTreeSet<Address>);

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Addresses;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an array of 1 to {MOST_ADDRESSES} addresses")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Addresses, A::Error> {
                let (mut addresses, mut count) = (BTreeSet::new(), 0_usize);
                let invalid = || de::Error::custom(format_args!("expected {}", &Self as &dyn de::Expected));
                while let Some(Member(address)) = list.next_element().map_err(|_: A::Error| invalid())? {
                    count = count.saturating_add(1);
                    if count > MOST_ADDRESSES {
                        return Err(invalid());
                    }
                    addresses.insert(address);
                }
                if addresses.is_empty() { Err(invalid()) } else { Ok(Addresses(addresses)) }
            }
        }

        deserializer.deserialize_any(List)
    }
}

impl JsonSchema for Addresses {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let address = generator.subschema_for::<Text<Address>>();
        json_schema!({ "type": "array", "items": address, "minItems": 1, "maxItems": MOST_ADDRESSES })
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

    #[test]
    fn addresses_are_an_array_of_addresses() {
        let address = "381f4008505e940ad7681ec3468a719060caf796";
        let read =
            |value: serde_json::Value| serde_json::from_value::<Addresses>(value).map_err(|error| error.to_string());
        assert_eq!(read(serde_json::json!([address, format!("0x{address}")])).unwrap().0.len(), 1);
        let expected = "expected an array of 1 to 10000 addresses";
        for wrong in [
            serde_json::json!([]),
            serde_json::json!(["x"]),
            serde_json::json!([7]),
            serde_json::json!(vec![address; 10_001]),
        ] {
            assert_eq!(read(wrong).unwrap_err(), expected);
        }
        for wrong in [serde_json::json!(7), serde_json::json!("x"), serde_json::json!({"a": address})] {
            assert!(read(wrong).unwrap_err().ends_with(expected));
        }
    }
}
