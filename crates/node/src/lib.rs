//! Node.
mod clock;
mod config;
mod http;
mod telemetry;
