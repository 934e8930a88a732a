//! The JSON-RPC methods that a load calls.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use silica_protocol::{
    Address, ChainId, GasPrice, Nonce, Qa, TxHash,
    rpc::{
        account::Balance,
        envelope::{Id, Response, write_request},
        error::{RpcError, RpcErrorCode},
        text::Dec,
        transaction::PendingStatus,
    },
};
use tokio::time::sleep;

use super::{LoadError, PAUSE};
use crate::client::http::Client;

/// A JSON-RPC connection to a node.
pub(super) struct RpcClient {
    target: SocketAddr,
    client: Client,
}

/// The JSON of a signed transaction.
pub(super) type SignedRequest = Box<RawValue>;

/// The result of a batch of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submission {
    /// The node accepted all transactions of the batch.
    Accepted,
    /// The pool was full after the first `accepted` transactions of the batch.
    PoolFull { accepted: usize },
}

impl RpcClient {
    pub(super) async fn connect(target: SocketAddr) -> Result<Self, LoadError> {
        let client =
            Client::connect(&target.into()).await.map_err(|source| LoadError::Connection { target, source })?;
        Ok(Self { target, client })
    }

    /// Returns the balance and the nonce of an account. Both are zero if the account does not exist.
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
        let next: u64 = self.figure("GetCurrentMiniEpoch").await?;
        Ok(next.saturating_sub(1))
    }

    /// Returns a map entry of a contract as text, or `None` if the entry does not exist.
    pub(super) async fn map_entry(
        &mut self,
        contract: &Address,
        field: &str,
        key: &str,
    ) -> Result<Option<String>, LoadError> {
        const METHOD: &str = "GetSmartContractSubState";
        let answer = self.call::<Value>(METHOD, &json!([contract.to_string(), field, [key]])).await?;
        let state = answer.map_err(|error| LoadError::Answer { method: METHOD, got: error.to_string() })?;
        let entry = state.get(field).and_then(|map| map.get(key)).and_then(Value::as_str);
        Ok(entry.map(str::to_owned))
    }

    /// Returns whether neither the pool nor a block has a transaction.
    pub(super) async fn is_dropped(&mut self, hash: &TxHash) -> Result<bool, LoadError> {
        const METHOD: &str = "GetPendingTxn";
        let answer = self.call::<PendingStatus>(METHOD, &[hash.to_string()]).await?;
        let status = answer.map_err(|error| LoadError::Answer { method: METHOD, got: error.to_string() })?;
        Ok(!status.confirmed && status.pending != Some(true))
    }

    /// Waits until all transactions of an account with nonces up to `last` are in blocks. Fails with
    /// [`LoadError::TimeLimit`] after `deadline`.
    pub(super) async fn wait_for_nonce(
        &mut self,
        address: &Address,
        last: Nonce,
        deadline: Instant,
        limit: Duration,
    ) -> Result<(), LoadError> {
        loop {
            let (_, nonce) = self.account(address).await?;
            match last.get().saturating_sub(nonce.get()) {
                0 => return Ok(()),
                missing if Instant::now() > deadline => return Err(LoadError::TimeLimit { limit, missing }),
                _ => sleep(PAUSE).await,
            }
        }
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

    /// Submits transactions in one request. The node admits them in their order.
    pub(super) async fn submit(&mut self, transactions: &[SignedRequest]) -> Result<Submission, LoadError> {
        const METHOD: &str = "CreateTransaction";
        let unreadable = |error: serde_json::Error| LoadError::Answer { method: METHOD, got: error.to_string() };
        let mut request = Vec::new();
        let single = transactions.len() == 1;
        for (position, transaction) in transactions.iter().enumerate() {
            request.push(if position == 0 { b'[' } else { b',' });
            let id = Id::from(u64::try_from(position).unwrap_or(u64::MAX));
            write_request(&mut request, &id, METHOD, &[transaction]).map_err(unreadable)?;
        }
        request.push(b']');
        let body = if single { request.get(1..request.len() - 1).unwrap_or_default() } else { &request };
        let answer = self.post(body).await?;
        let answers: Vec<Response<'_>> = if single {
            vec![Response::parse(answer).map_err(unreadable)?]
        } else {
            serde_json::from_str(answer).map_err(unreadable)?
        };
        if answers.len() != transactions.len() {
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

    /// Submits transactions in one request. Fails unless the node accepts all of them.
    pub(super) async fn submit_all(&mut self, transactions: &[SignedRequest]) -> Result<(), LoadError> {
        match self.submit(transactions).await? {
            Submission::Accepted => Ok(()),
            Submission::PoolFull { .. } => Err(LoadError::Refused { reason: "the pool is full".to_owned() }),
        }
    }

    async fn post(&mut self, request: &[u8]) -> Result<&str, LoadError> {
        let target = self.target;
        self.client.post(request).await.map_err(|source| LoadError::Connection { target, source })
    }
}
