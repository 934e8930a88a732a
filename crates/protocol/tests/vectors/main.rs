//! All cases of the vector files about bytes, hashes and addresses.
//!
//! A test has to read each member of a case: an unknown kind fails the test, and so does an unread member. Cases that
//! need a curve, such as signatures and secret keys, are skipped by name; `silica-crypto` tests them from the same
//! files.

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
