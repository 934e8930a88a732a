//! The files of Silica Studio, the web page of a Silica node.
//!
//! The build of the page writes the compressed files and their table to the directory `dist`. This crate is data only.
//! A server sends the bytes of a file without a change, or inflates them for a client that does not accept gzip.
//!
//! # Examples
//!
//! ```
//! use silica_studio::ASSETS;
//!
//! let index = ASSETS.iter().find(|asset| asset.path == "index.html").ok_or("the crate has no page")?;
//! assert_eq!(index.content_type, "text/html; charset=utf-8");
//! assert!(!index.immutable && index.gzip.len() <= index.length);
//! # Ok::<(), &str>(())
//! ```
//!
//! # Features
//!
//! - `assets` (on by default): the files. Without this feature, the table is empty, so that a program without the page
//!   does not have the bytes.
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `asset`: a file of the page, and the table of all files.
#![no_std]

#[cfg(test)]
extern crate std;

mod asset;

pub use crate::asset::{ASSETS, Asset};

#[cfg(all(doctest, feature = "assets"))]
#[doc = include_str!("../README.md")]
struct Readme;
