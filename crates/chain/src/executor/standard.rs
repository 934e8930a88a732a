//! The standards of tokens, and the parts of a contract by which the node recognises them.

use silica_scilla::{
    check::{ComponentSummary, FieldSummary, ParameterSummary},
    types::Type,
};

/// A standard of tokens. Each standard requires fields and transitions.
///
/// The node compares names and types only. It does not verify that a contract behaves as its standard requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenStandard {
    /// ZRC-1: non-fungible tokens, with the number of tokens of each owner in `owned_token_count`.
    Zrc1,
    /// ZRC-2: fungible tokens, with the amount of each holder in `balances`.
    Zrc2,
    /// ZRC-6: non-fungible tokens, with the number of tokens of each owner in `balances`.
    Zrc6,
}

/// A name with a type in the form of metadata.
type Typed = (&'static str, &'static str);

const TO: Typed = ("to", "ByStr20");
const AMOUNT: Typed = ("amount", "Uint128");
const SPENDER: Typed = ("spender", "ByStr20");
const TOKEN_ID: Typed = ("token_id", "Uint256");

impl TokenStandard {
    /// All standards.
    pub const ALL: [Self; 3] = [Self::Zrc1, Self::Zrc2, Self::Zrc6];

    /// Name and type of the field with the owners of non-fungible tokens, by the ids of the tokens.
    pub(crate) const OWNERS: Typed = ("token_owners", "Map (Uint256) (ByStr20)");

    /// Returns name and type of the field with the balance of each holder: an amount, or a number of tokens.
    pub(crate) const fn balances(self) -> Typed {
        match self {
            Self::Zrc1 => ("owned_token_count", "Map (ByStr20) (Uint256)"),
            Self::Zrc2 => ("balances", "Map (ByStr20) (Uint128)"),
            Self::Zrc6 => ("balances", "Map (ByStr20) (Uint256)"),
        }
    }

    /// Returns name and type of the field with the owners of tokens; `None` for fungible tokens.
    pub(crate) const fn owners(self) -> Option<Typed> {
        match self {
            Self::Zrc1 | Self::Zrc6 => Some(Self::OWNERS),
            Self::Zrc2 => None,
        }
    }

    /// Returns the transitions that change owners and permissions, with their parameters.
    const fn transitions(self) -> &'static [(&'static str, &'static [Typed])] {
        match self {
            Self::Zrc1 => &[
                ("SetApprovalForAll", &[TO]),
                ("SetApprove", &[TO, TOKEN_ID]),
                ("Transfer", &[TO, TOKEN_ID]),
                ("TransferFrom", &[TO, TOKEN_ID]),
            ],
            Self::Zrc2 => &[
                ("DecreaseAllowance", &[SPENDER, AMOUNT]),
                ("IncreaseAllowance", &[SPENDER, AMOUNT]),
                ("Transfer", &[TO, AMOUNT]),
                ("TransferFrom", &[("from", "ByStr20"), TO, AMOUNT]),
            ],
            Self::Zrc6 => &[
                ("AddOperator", &[("operator", "ByStr20")]),
                ("RemoveOperator", &[("operator", "ByStr20")]),
                ("SetSpender", &[SPENDER, TOKEN_ID]),
                ("TransferFrom", &[TO, TOKEN_ID]),
            ],
        }
    }

    /// Returns whether a contract with these fields and transitions has the parts that the standard requires.
    pub(super) fn fits(self, fields: &[FieldSummary], transitions: &[ComponentSummary]) -> bool {
        let has_field =
            |(name, ty): Typed| fields.iter().any(|field| *field.name == *name && field.ty.global().to_string() == ty);
        let has_transition = |(name, parameters): &(&str, &[Typed])| {
            let found = transitions.iter().find(|transition| *transition.name == **name);
            found.is_some_and(|found| {
                let is_same = |(actual, (name, ty)): (&ParameterSummary, &Typed)| {
                    *actual.name == **name && type_text(&actual.ty) == *ty
                };
                found.parameters.len() == parameters.len() && found.parameters.iter().zip(*parameters).all(is_same)
            })
        };
        has_field(self.balances())
            && self.owners().is_none_or(has_field)
            && self.transitions().iter().all(has_transition)
    }
}

/// Returns the text of a type. An address type counts as `ByStr20`, because it restricts only the accounts.
fn type_text(ty: &Type) -> String {
    if matches!(ty, Type::Address(_)) { "ByStr20".to_owned() } else { ty.global().to_string() }
}

#[cfg(test)]
mod tests {
    use silica_scilla::Contract;

    use super::*;

    fn standards(source: &str) -> Vec<TokenStandard> {
        let contract = Contract::compile(source).unwrap();
        let summary = contract.interface();
        TokenStandard::ALL.into_iter().filter(|it| it.fits(&summary.fields, &summary.transitions)).collect()
    }

    const FUNGIBLE: &str = include_str!("../../tests/data/contracts/fungible_token/fungible_token.scilla");
    const NON_FUNGIBLE: &str = include_str!("../../tests/data/contracts/non_fungible_token/non_fungible_token.scilla");

    #[test]
    fn example_contracts_have_their_standards() {
        assert_eq!(standards(FUNGIBLE), [TokenStandard::Zrc2]);
        assert_eq!(standards(NON_FUNGIBLE), [TokenStandard::Zrc6]);
        let older = "scilla_version 0 contract C ()
            field token_owners : Map Uint256 ByStr20 = Emp Uint256 ByStr20
            field owned_token_count : Map ByStr20 Uint256 = Emp ByStr20 Uint256
            transition SetApprove (to : ByStr20, token_id : Uint256) end
            transition SetApprovalForAll (to : ByStr20 with end) end
            transition Transfer (to : ByStr20, token_id : Uint256) end
            transition TransferFrom (to : ByStr20, token_id : Uint256) end";
        assert_eq!(standards(older), [TokenStandard::Zrc1]);
    }

    #[test]
    fn a_contract_without_a_required_part_has_no_standard() {
        let token = |transfer: &str, allowance: &str| {
            format!(
                "scilla_version 0 contract C ()
                field balances : Map ByStr20 Uint128 = Emp ByStr20 Uint128
                transition IncreaseAllowance ({allowance} : ByStr20, amount : Uint128) end
                transition DecreaseAllowance (spender : ByStr20, amount : Uint128) end
                transition {transfer} end
                transition TransferFrom (from : ByStr20, to : ByStr20, amount : Uint128) end"
            )
        };
        let transfer = "Transfer (to : ByStr20, amount : Uint128)";
        assert_eq!(standards(&token(transfer, "spender")), [TokenStandard::Zrc2]);
        assert_eq!(standards(&token(transfer, "operator")), []);
        for other in [
            "Move (to : ByStr20, amount : Uint128)",
            "Transfer (to : ByStr20)",
            "Transfer (to : ByStr20, amount : Uint256)",
            "Transfer (amount : Uint128, to : ByStr20)",
            "Transfer (to : ByStr20, amount : Uint128, more : Uint128)",
        ] {
            assert_eq!(standards(&token(other, "spender")), [], "{other}");
        }
        let other_key =
            token(transfer, "spender").replace("Map ByStr20 Uint128 = Emp ByStr20", "Map String Uint128 = Emp String");
        assert_eq!(standards(&other_key), []);
    }
}
