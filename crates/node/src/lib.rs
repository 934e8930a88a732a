//! Node.
mod http;
