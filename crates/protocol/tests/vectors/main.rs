//! Every case of the vector files that is about bytes, hashes and addresses.
//!
//! A case must be used up: an unknown kind fails, and so does a member that no test looked at. What needs a curve, such
//! as signatures and secret keys, is passed over by name; `silica-crypto` reads the same files for it.

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
