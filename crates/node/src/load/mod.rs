//! Load.
mod client;
mod latency;
