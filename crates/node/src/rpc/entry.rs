//! The entry of a method in the table: how the service calls the method, and its weight in the rate limit.

use std::num::NonZeroU32;

use hyper::body::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use silica_protocol::rpc::error::RpcError;

use super::{
    dispatch::{self, Beginning, Call, Running},
    method::{Command, Method, SessionMethod, Streamed, TransactionQuery},
    params,
};
use crate::{driver::NodeHandle, head::Context, log_filter::EthSubscriptions};

/// One method of the table: its names, how it is called, and its description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Name on the wire.
    pub(crate) name: &'static str,
    /// Other names of the method that clients use.
    pub(crate) aliases: &'static [&'static str],
    /// How the service calls the method.
    pub(crate) action: Action,
    /// Types of the parameters and of the result, for the OpenRPC document.
    pub(crate) shape: Shape,
    /// Whether the method is for developers. Its effects are not possible for clients of a real network. An operator
    /// can switch such methods off.
    pub(crate) for_developers: bool,
    /// Units of the rate limit that one call takes. A short response from memory takes 1.
    pub(crate) weight: NonZeroU32,
}

/// How a method is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// The method writes its response at once.
    Query(fn(Call<'_>, &Context, &mut Vec<u8>) -> Result<(), RpcError>),
    /// The method writes its response at once. For a large transaction, it returns a future with the result.
    SizeDependent(AnswerOrRun),
    /// The method has no parameters. The service caches its result until the next head.
    CachedPerHead(fn(&Context) -> Result<Bytes, RpcError>),
    /// The method reads its parameters at once, and returns a future with the result.
    Async(fn(Call<'_>, NodeHandle) -> Result<Running, RpcError>),
    /// The method has no parameters. It returns the OpenRPC document of the methods that the client may call.
    Discover,
    /// The method writes its response at once. It needs the subscriptions of a WebSocket session.
    InSession(InSession),
    /// The method reads its parameters at once, and returns a future with the first chunk of the result.
    Streamed(fn(Call<'_>, NodeHandle) -> Result<Beginning, RpcError>),
}

/// Writes a response, or returns a future that computes the result.
type AnswerOrRun = fn(Call<'_>, &NodeHandle, &mut Vec<u8>) -> Result<Option<Running>, RpcError>;

/// Writes a response. The subscriptions are `None` outside of a WebSocket session.
type InSession = fn(Call<'_>, Option<&EthSubscriptions>, &NodeHandle, &mut Vec<u8>) -> Result<(), RpcError>;

/// The types of a method, for the OpenRPC document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Names of the parameters, in order.
    pub(crate) fields: fn() -> &'static [&'static str],
    /// Description and types of the parameters.
    pub(crate) params: fn(&mut SchemaGenerator) -> Schema,
    /// Type of the result.
    pub(crate) result: fn(&mut SchemaGenerator) -> Schema,
}

impl Shape {
    /// Returns the shape of a method with parameters of type `P` and a result of type `R`.
    pub(crate) const fn of<P: DeserializeOwned + JsonSchema, R: JsonSchema>() -> Self {
        Self { fields: params::fields::<P>, params: P::json_schema, result: SchemaGenerator::subschema_for::<R> }
    }
}

impl Entry {
    /// Returns the entry of a method with this action.
    pub(crate) const fn new(name: &'static str, action: Action, shape: Shape) -> Self {
        Self { name, aliases: &[], action, shape, for_developers: false, weight: NonZeroU32::MIN }
    }

    /// Returns the entry of a query that writes its response at once.
    pub(crate) const fn of<M: Method>() -> Self {
        let entry = Self::new(M::NAME, Action::Query(dispatch::query::<M>), Shape::of::<M, M::Output>());
        Self { aliases: M::ALIASES, ..entry }
    }

    /// Returns the entry of a query without parameters, whose result is cached for each head.
    pub(crate) const fn per_head<M: Method>() -> Self {
        Self { action: Action::CachedPerHead(dispatch::render::<M>), ..Self::of::<M>() }
    }

    /// Returns the entry of a slow query, which runs on a blocking thread.
    pub(crate) const fn slow<M: Method + Send + 'static>() -> Self {
        Self { action: Action::Async(dispatch::ask::<M>), ..Self::of::<M>() }
    }

    /// Returns the entry of a query about one transaction. The query runs on a blocking thread if the transaction is
    /// large.
    pub(crate) const fn about<M: TransactionQuery>() -> Self {
        Self::new(M::NAME, Action::SizeDependent(dispatch::weigh::<M>), Shape::of::<M, M::Output>())
    }

    /// Returns the entry of a query whose result is written in chunks.
    pub(crate) const fn streamed<M: Streamed>() -> Self {
        Self::new(M::NAME, Action::Streamed(dispatch::begin::<M>), Shape::of::<M, M::Output>())
    }

    /// Returns the entry of a method for WebSocket sessions.
    pub(crate) const fn in_session<M: SessionMethod>() -> Self {
        Self::new(M::NAME, Action::InSession(dispatch::in_session::<M>), Shape::of::<M, M::Output>())
    }

    /// Returns the entry of a command that every client may call.
    pub(crate) const fn command<C: Command>() -> Self {
        Self::new(C::NAME, Action::Async(dispatch::run::<C>), Shape::of::<C, C::Output>())
    }

    /// Returns the entry of a command for developers.
    pub(crate) const fn for_developers<C: Command>() -> Self {
        Self { for_developers: true, ..Self::command::<C>() }
    }

    /// Returns the same entry with this weight. Panics if the weight is 0.
    pub(crate) const fn of_weight(self, weight: u32) -> Self {
        Self { weight: NonZeroU32::new(weight).expect("a call costs something"), ..self }
    }

    /// Returns the name of the method on the wire, and then its aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}
