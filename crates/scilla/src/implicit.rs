//! What contracts and their components are given without saying so.

use crate::types::{AddressType, Primitive, Type, Width};

/// The parameters of every contract, in the order in which they are matched with those that are given.
pub(crate) fn contract_parameters() -> [(&'static str, Type); 3] {
    [
        ("_creation_block", Primitive::BNum.into()),
        ("_scilla_version", Primitive::Uint(Width::W32).into()),
        ("_this_address", Type::bystr(20)),
    ]
}

/// The parameters of every transition, in the order in which they are matched with those of a message. Procedures see
/// them too.
pub(crate) fn message_parameters() -> [(&'static str, Type); 3] {
    [
        ("_amount", Primitive::Uint(Width::W128).into()),
        ("_origin", Type::Address(AddressType::Any)),
        ("_sender", Type::Address(AddressType::Any)),
    ]
}
