//! Tests of this crate with the vector files about bytes, hashes and addresses.
//!
//! Each test checks all cases of a file and all members of a case. A test fails for an unknown kind and for an unread
//! member. Cases that need the curve, such as signatures and secret keys, are skipped by name. `silica-crypto` checks
//! these cases with the same files.

#[cfg(test)]
mod accounts;
#[cfg(test)]
mod addresses;
#[cfg(test)]
mod blocks;
#[cfg(test)]
mod case;
#[cfg(test)]
mod multisig;
#[cfg(test)]
mod transactions;
