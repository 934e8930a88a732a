//! The host actor, which takes the requests of the engine, and does not wait for a reply.

use std::sync::Arc;

use arc_malachitebft_app::{
    engine::host::HostMsg,
    streaming::{StreamContent, StreamMessage},
    types::{PeerId, core::Round},
};
use async_trait::async_trait;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use silica_council::EntryKind;
use tokio::task::spawn_blocking;

use crate::{
    answer::Open,
    context::Ctx,
    part::{EntryPart, Part},
    shared::{Shared, Turn, is_body},
    types::{EngineHeight, MemberIndex},
};

/// The host actor.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) shared: Arc<Shared>,
}

#[async_trait]
impl Actor for Host {
    type Msg = HostMsg<Ctx>;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, _: ActorRef<Self::Msg>, message: Self::Msg, (): &mut ()) -> Result<(), ActorProcessingErr> {
        let shared = &self.shared;
        match message {
            HostMsg::ConsensusReady { reply_to } => {
                let shared = Arc::clone(shared);
                tokio::spawn(async move {
                    shared.can_begin().await;
                    shared.begin(reply_to);
                });
            }
            HostMsg::StartedRound { height, round, proposer: _, role: _, reply_to } => {
                self.start_round(height, round, reply_to);
            }
            HostMsg::GetValue { height, round, timeout: _, reply_to } => {
                let round = round.as_u32().unwrap_or_default();
                shared.propose(Turn { height, round, reply: reply_to });
            }
            HostMsg::RestreamValue { height, round, valid_round, address, value_id } => {
                if let (Some(round), true) = (round.as_u32(), address == shared.index) {
                    shared.send_again(height, round, valid_round.as_u32(), value_id);
                }
            }
            HostMsg::GetHistoryMinHeight { reply_to } => {
                drop(reply_to.send(shared.certificates.from(shared.tip())));
            }
            HostMsg::ReceivedProposalPart { from, published_by, part, reply_to } => {
                self.receive(&published_by.unwrap_or(from), part, reply_to);
            }
            HostMsg::Decided { certificate, extensions: _, reply_to } => shared.decide(certificate, reply_to),
            HostMsg::Finalized { certificate, extensions: _, evidence, reply_to } => {
                shared.note_evidence(&evidence);
                shared.go_on(certificate.height, reply_to);
            }
            HostMsg::GetDecidedValues { range, reply_to } => {
                let shared = Arc::clone(shared);
                spawn_blocking(move || drop(reply_to.send(shared.decided_values(range))));
            }
            HostMsg::ProcessSyncedValue { height, round, proposer, value_bytes, reply_to } => {
                shared.judge_synced((height, round, proposer), &value_bytes, reply_to);
            }
            // The parameters of each height disable extensions, so the engine does not request them.
            HostMsg::ExtendVote { reply_to, .. } => drop(reply_to.send(None)),
            HostMsg::VerifyVoteExtensions { reply_to, .. } => drop(reply_to.send(Vec::new())),
        }
        Ok(())
    }
}

impl Host {
    /// Begins a round. The engine waits for the reply, so the reply has only the verdicts in the table.
    fn start_round(
        &self,
        height: EngineHeight,
        round: Round,
        reply: RpcReplyPort<Vec<arc_malachitebft_app::consensus::ProposedValue<Ctx>>>,
    ) {
        let (shared, round) = (&self.shared, round.as_u32().unwrap_or_default());
        let (values, due) = shared.table.lock().start_round(height, round);
        shared.assembler.lock().forget_below(height.0);
        {
            let mut status = shared.status.lock();
            (status.height, status.round) = (height.0, round);
        }
        // This member makes no proposal for an earlier round.
        drop(shared.turn.lock().take());
        drop(reply.send(values));
        for complete in due {
            shared.judge(Open { complete, place: None, reply: None });
        }
        if round > 0 {
            tracing::info!(%height, round, "the agreement needs another round");
        }
        if !is_body(height) {
            shared.start_session(height, round);
        }
    }

    /// Handles a message of another member.
    fn receive(
        &self,
        publisher: &PeerId,
        part: StreamMessage<Part>,
        reply: RpcReplyPort<arc_malachitebft_app::consensus::ProposedValue<Ctx>>,
    ) {
        let shared = &self.shared;
        let StreamContent::Data(part) = part.content else { return };
        let Some(publisher) = shared.member_of(publisher) else { return shared.count_dropped() };
        match part {
            Part::Entry(part) => self.receive_entry(publisher, part, reply),
            Part::CoSign { to, message } if to.is_none_or(|to: MemberIndex| to == shared.index) => {
                shared.co_sign(publisher, &message);
            }
            Part::CoSign { .. } => {}
            Part::Transactions(batch) => shared.driver.received(publisher, batch),
            Part::Confirmed { batch, except } => shared.driver.confirmed(publisher, batch, &except),
        }
    }

    fn receive_entry(
        &self,
        publisher: usize,
        part: EntryPart,
        reply: RpcReplyPort<arc_malachitebft_app::consensus::ProposedValue<Ctx>>,
    ) {
        let shared = &self.shared;
        let next = shared.table.lock().at.0.0.max(1);
        let height = part.header.height;
        if height < next {
            // A late part is not a fault.
            return;
        }
        let added = shared.assembler.lock().add(part, publisher, next);
        match added {
            Ok(complete) => {
                let is_body = silica_council::Height::new(height).is_some_and(|it| it.kind() == EntryKind::Body);
                if is_body {
                    let mut table = shared.table.lock();
                    table.seen = table.seen.max(height);
                    drop(table);
                    shared.wake.send_replace(());
                }
                let Some(complete) = complete else { return };
                let place = shared.entries.take(publisher);
                if place.is_some() {
                    shared.judge(Open { complete, place, reply: Some(reply) });
                } else {
                    let member = shared.name_of(publisher);
                    tracing::debug!(member, "dropped an entry: too many wait for a verdict");
                    shared.count_dropped();
                }
            }
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "dropped a part of an entry");
                shared.count_dropped();
            }
        }
    }
}
