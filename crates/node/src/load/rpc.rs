//! The few methods that a load calls.

use std::net::SocketAddr;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use silica_protocol::{
    Address, ChainId, GasPrice, Nonce, Qa,
    rpc::{
        account::Balance,
        envelope::{Id, Response, write_request},
        error::{RpcError, RpcErrorCode},
        text::Dec,
    },
};

use super::LoadError;
use crate::client::Client;

/// A connection to a node, spoken to in JSON-RPC.
#[derive(Debug)]
pub(super) struct RpcClient {
    target: SocketAddr,
    client: Client,
}

/// A signed payment, as the text of a request.
pub(super) type SignedPayment = Box<RawValue>;

/// What became of a batch of payments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submission {
    /// All were accepted.
    Accepted,
    /// The pool was full after some.
    PoolFull { accepted: usize },
}

impl RpcClient {
    pub(super) async fn connect(target: SocketAddr) -> Result<Self, LoadError> {
        let client =
            Client::connect(target, "silica", "/").await.map_err(|source| LoadError::Connection { target, source })?;
        Ok(Self { target, client })
    }

    /// Returns balance and nonce, of nothing where there is no account yet.
    pub(super) async fn account(&mut self, address: &Address) -> Result<(Qa, Nonce), LoadError> {
        match self.call::<Balance>("GetBalance", &[address.to_string()]).await? {
            Ok(Balance { balance: Dec(balance), nonce }) => Ok((balance, Nonce::new(nonce))),
            Err(error) if error.code == RpcErrorCode::INVALID_ADDRESS_OR_KEY => Ok((Qa::ZERO, Nonce::new(0))),
            Err(error) => Err(LoadError::Answer { method: "GetBalance", got: error.to_string() }),
        }
    }

    pub(super) async fn chain_id(&mut self) -> Result<ChainId, LoadError> {
        self.figure("GetNetworkId").await
    }

    pub(super) async fn minimum_gas_price(&mut self) -> Result<GasPrice, LoadError> {
        self.figure("GetMinimumGasPrice").await
    }

    /// Returns the number of the latest Tx block.
    pub(super) async fn latest_block(&mut self) -> Result<u64, LoadError> {
        let count: u64 = self.figure("GetNumTxBlocks").await?;
        Ok(count.saturating_sub(1))
    }

    async fn figure<T>(&mut self, method: &'static str) -> Result<T, LoadError>
    where
        Dec<T>: DeserializeOwned,
    {
        let answer = self.call::<Dec<T>>(method, &[""]).await?;
        answer.map(|Dec(figure)| figure).map_err(|error| LoadError::Answer { method, got: error.to_string() })
    }

    async fn call<T: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Result<T, RpcError>, LoadError> {
        let mut request = Vec::new();
        let unreadable = |error: serde_json::Error| LoadError::Answer { method, got: error.to_string() };
        write_request(&mut request, &Id::from(1), method, params).map_err(unreadable)?;
        let answer = self.post(&request).await?;
        match Response::parse(answer).map_err(unreadable)?.outcome {
            Ok(result) => serde_json::from_str(result.get()).map(Ok).map_err(unreadable),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Submits payments in one request, in their order.
    pub(super) async fn submit(&mut self, payments: &[SignedPayment]) -> Result<Submission, LoadError> {
        const METHOD: &str = "CreateTransaction";
        let unreadable = |error: serde_json::Error| LoadError::Answer { method: METHOD, got: error.to_string() };
        let mut request = Vec::new();
        let single = payments.len() == 1;
        for (position, payment) in payments.iter().enumerate() {
            request.push(if position == 0 { b'[' } else { b',' });
            let id = Id::from(u64::try_from(position).unwrap_or(u64::MAX));
            write_request(&mut request, &id, METHOD, &[payment]).map_err(unreadable)?;
        }
        request.push(b']');
        let body = if single { request.get(1..request.len() - 1).unwrap_or_default() } else { &request };
        let answer = self.post(body).await?;
        let answers: Vec<Response<'_>> = if single {
            vec![Response::parse(answer).map_err(unreadable)?]
        } else {
            serde_json::from_str(answer).map_err(unreadable)?
        };
        if answers.len() != payments.len() {
            return Err(LoadError::Answer { method: METHOD, got: format!("{} answers", answers.len()) });
        }
        for (accepted, answer) in answers.into_iter().enumerate() {
            match answer.outcome {
                Ok(_) => {}
                Err(error) if error.code == RpcErrorCode::DATABASE_ERROR => {
                    return Ok(Submission::PoolFull { accepted });
                }
                Err(error) => return Err(LoadError::Refused { reason: error.to_string() }),
            }
        }
        Ok(Submission::Accepted)
    }

    async fn post(&mut self, request: &[u8]) -> Result<&str, LoadError> {
        let target = self.target;
        self.client.post(request).await.map_err(|source| LoadError::Connection { target, source })
    }
}
