//! The encodings of the engine's messages, of its log, and of value sync.
//!
//! The engine has encodings for all its types except two, which have their own form here.

use std::io;

use arc_malachitebft_app::{
    consensus::{LivenessMsg, ProposedValue, SignedConsensusMsg},
    streaming::StreamMessage,
    types::{
        codec::{Codec, HasEncodedLen},
        core::{CommitCertificate, ExtendedCommitCertificate, PolkaCertificate, ValidatorProof, VoteExtensions},
    },
};
use arc_malachitebft_sync::{RawDecidedValue, Request, Response, Status, ValueResponse};
use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;

use crate::{
    context::Ctx,
    part::Part,
    types::{EngineHeight, EngineSignature},
};

/// Largest size of several entries in one answer to a member that is behind, in bytes. An answer with one entry can be
/// larger.
pub(crate) const MAX_VALUES: usize = 8 * 1024 * 1024;
/// Space in an answer for lengths and certificates. The engine requests 5 entries at a time. Each has two certificates
/// of at most 64 votes, so all of them have less than 50 KiB.
const FRAMING: usize = 1024 * 1024;

/// Returns the largest size of an answer to a member that is behind, in bytes, if a body has at most `max_body` bytes.
pub(crate) fn max_response(max_body: usize) -> usize {
    max_body.max(MAX_VALUES).saturating_add(FRAMING)
}

/// The encodings of this network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineCodec;

macro_rules! codecs {
    ($($type:ty),* $(,)?) => {$(
        impl Codec<$type> for EngineCodec {
            type Error = io::Error;

            fn decode(&self, bytes: Bytes) -> io::Result<$type> {
                borsh::from_slice(&bytes)
            }

            fn encode(&self, message: &$type) -> io::Result<Bytes> {
                borsh::to_vec(message).map(Bytes::from)
            }
        }
    )*};
}

codecs!(
    Part,
    StreamMessage<Part>,
    SignedConsensusMsg<Ctx>,
    LivenessMsg<Ctx>,
    ProposedValue<Ctx>,
    PolkaCertificate<Ctx>,
    CommitCertificate<Ctx>,
    Status<Ctx>,
    Request<Ctx>,
);

#[derive(BorshSerialize, BorshDeserialize)]
struct RawProof {
    key: Vec<u8>,
    peer: Vec<u8>,
    signature: EngineSignature,
}

impl Codec<ValidatorProof<Ctx>> for EngineCodec {
    type Error = io::Error;

    fn decode(&self, bytes: Bytes) -> io::Result<ValidatorProof<Ctx>> {
        let RawProof { key, peer, signature } = borsh::from_slice(&bytes)?;
        Ok(ValidatorProof::new(key, peer, signature))
    }

    fn encode(&self, proof: &ValidatorProof<Ctx>) -> io::Result<Bytes> {
        let ValidatorProof { public_key, peer_id, signature } = proof.clone();
        borsh::to_vec(&RawProof { key: public_key, peer: peer_id, signature }).map(Bytes::from)
    }
}

/// Decided entries from a height on, each with its certificate. No vote has an extension.
#[derive(BorshSerialize, BorshDeserialize)]
struct RawResponse {
    first: EngineHeight,
    values: Vec<(Vec<u8>, CommitCertificate<Ctx>)>,
}

impl Codec<Response<Ctx>> for EngineCodec {
    type Error = io::Error;

    fn decode(&self, bytes: Bytes) -> io::Result<Response<Ctx>> {
        let RawResponse { first, values } = borsh::from_slice(&bytes)?;
        let value = |(bytes, certificate): (Vec<u8>, _)| RawDecidedValue::new(bytes.into(), extended(certificate));
        Ok(Response::ValueResponse(ValueResponse::new(first, values.into_iter().map(value).collect())))
    }

    fn encode(&self, response: &Response<Ctx>) -> io::Result<Bytes> {
        let Response::ValueResponse(ValueResponse { start_height, values }) = response;
        let value =
            |value: &RawDecidedValue<Ctx>| (value.value_bytes.to_vec(), value.certificate.trim_vote_extensions());
        let raw = RawResponse { first: *start_height, values: values.iter().map(value).collect() };
        borsh::to_vec(&raw).map(Bytes::from)
    }
}

impl HasEncodedLen<Response<Ctx>> for EngineCodec {
    fn encoded_len(&self, response: &Response<Ctx>) -> io::Result<usize> {
        self.encode(response).map(|bytes| bytes.len())
    }
}

/// Returns a certificate in the form with vote extensions. Its list of extensions is empty.
pub(crate) fn extended(certificate: CommitCertificate<Ctx>) -> ExtendedCommitCertificate<Ctx> {
    ExtendedCommitCertificate::from_commit_certificate_and_extensions(certificate, VoteExtensions::default())
}
