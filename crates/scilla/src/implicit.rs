//! The implicit parameters of contracts, transitions and procedures.

use crate::types::{AddressType, Primitive, Type, Width};

/// Returns the implicit parameters of every contract, in the order of their checks.
pub(crate) fn contract_parameters() -> [(&'static str, Type); 3] {
    [
        ("_creation_block", Primitive::BNum.into()),
        ("_scilla_version", Primitive::Uint(Width::W32).into()),
        ("_this_address", Type::bystr(20)),
    ]
}

/// Returns the implicit parameters of every transition, in the order of their checks. Procedures can read them too.
pub(crate) fn message_parameters() -> [(&'static str, Type); 3] {
    [
        ("_amount", Primitive::Uint(Width::W128).into()),
        ("_origin", Type::Address(AddressType::Any)),
        ("_sender", Type::Address(AddressType::Any)),
    ]
}
