//! A gateway, its simulated Host and its clients, with a clock that only moves when told.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Answer, SimAgent, repaired};
use crate::gateway::ids::RunKey;
use crate::gateway::{
    Code, Config, Effect, Errand, ErrandEnd, ErrandId, EventId, FileKind, Gateway, GatewayError,
    OpenMode, Principal, ReaderId, Request, ResponseHead, Rest, StoredFile, ThreadId, Token,
    ToolSync, UploadHead,
};

pub(super) struct World {
    pub(super) gateway: Gateway,
    config: Config,
    pub(super) now: Instant,
    pub(super) agents: BTreeMap<ThreadId, SimAgent>,
    opening: Vec<(ThreadId, String, OpenMode)>,
    closing: Vec<ThreadId>,
    /// What the Host is asked to prepare.
    pub(super) preparing: Vec<(ThreadId, Option<String>)>,
    /// Presets by session.
    presets: HashMap<String, String>,
    /// What becomes of the next delivery.
    pub(super) undeliverable: bool,
    /// Errands by id: not begun, begun, or refused with this status.
    pub(super) errands: BTreeMap<ErrandId, SimErrand>,
    pub(super) disk: Disk,
    /// Flushes under way: the records that the gateway named, and how much of the log they cover.
    flushing: Vec<(ThreadId, u64, usize)>,
    /// How much of each log is on the disk.
    written: HashMap<ThreadId, usize>,
    disposed: HashSet<ThreadId>,
    /// Durable logs by session id.
    pub(super) sessions: HashMap<String, Vec<String>>,
    pub(super) session_of: HashMap<ThreadId, String>,
    pub(super) responses: BTreeMap<ReaderId, Response>,
    /// Responses of processes that died.
    pub(super) past: Vec<Response>,
    tokens: u32,
    settled: HashSet<Token>,
    /// Pairs of responses of which the first goes on where another one broke, and the second began anew beside it.
    pub(super) twins: Vec<(ReaderId, ReaderId)>,
}

/// Where an errand stands, as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SimErrand {
    Waiting,
    /// Under way, for a deliverable with its path.
    Begun(Option<String>),
    /// Refused, with the code.
    Refused(String),
    /// Over, or its client left.
    Over,
}

/// How fast the Host writes its logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    /// At once, when it is asked.
    Fast,
    /// When the test lets it.
    Slow,
}

/// What a client has received.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) text: String,
    pub(super) error: Option<GatewayError>,
    pub(super) ended: bool,
    /// The client left.
    pub(super) left: bool,
    /// Thread and run, as the client names them.
    pub(super) run: (String, String),
    /// Which run that is: ids may come again.
    pub(super) key: Option<RunKey>,
    /// The response that it goes on from.
    pub(super) continues: Option<ReaderId>,
}

impl Response {
    /// The events, without the frames around them.
    pub(super) fn events(&self) -> Vec<Value> {
        self.text
            .split("\n\n")
            .filter(|frame| !frame.is_empty() && !frame.starts_with(':'))
            .map(|frame| {
                let (id, data) = frame.split_once('\n').expect("an id line and a data line");
                assert!(id.starts_with("id: "), "{frame}");
                serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON")
            })
            .collect()
    }

    /// The id of the last frame.
    pub(super) fn last_id(&self) -> Option<&str> {
        let mut ids = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("id: "));
        ids.next_back()
    }

    /// The types of the events, in order.
    pub(super) fn types(&self) -> Vec<String> {
        self.events()
            .iter()
            .map(|event| event["type"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The calls whose starts it has, in order.
    pub(super) fn calls(&self) -> Vec<String> {
        self.events()
            .iter()
            .filter(|event| event["type"] == "TOOL_CALL_START")
            .map(|event| event["toolCallId"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The code of the `RUN_ERROR` that ended the stream.
    pub(super) fn run_error(&self) -> Option<String> {
        let last = self.events().pop()?;
        (last["type"] == "RUN_ERROR").then(|| last["code"].as_str().unwrap().to_owned())
    }
}

impl World {
    pub(super) fn new(config: Value) -> Self {
        let mut config = config;
        config["sharedSecret"] = "0123456789abcdef".into();
        let (config, _) = Config::parse(&config.to_string()).unwrap();
        Self {
            gateway: Gateway::new(config.clone()),
            config,
            now: Instant::now(),
            agents: BTreeMap::new(),
            opening: Vec::new(),
            closing: Vec::new(),
            preparing: Vec::new(),
            presets: HashMap::new(),
            undeliverable: false,
            errands: BTreeMap::new(),
            disk: Disk::Fast,
            flushing: Vec::new(),
            written: HashMap::new(),
            disposed: HashSet::new(),
            sessions: HashMap::new(),
            session_of: HashMap::new(),
            responses: BTreeMap::new(),
            past: Vec::new(),
            tokens: 0,
            settled: HashSet::new(),
            twins: Vec::new(),
        }
    }

    /// Sends a request body and lets the gateway react, without letting agents work.
    pub(super) fn send(&mut self, body: &Value) -> Result<ReaderId, GatewayError> {
        self.send_after(body, None)
    }

    /// As [`World::send`], by a client that has a part of the answer.
    pub(super) fn send_after(
        &mut self,
        body: &Value,
        last_event_id: Option<&str>,
    ) -> Result<ReaderId, GatewayError> {
        let bytes = body.to_string();
        let principal = principal();
        let request = Request::read(&self.config, bytes.as_bytes(), |id| {
            self.gateway.registered_tools(&principal, id)
        })?
        .after(EventId::read(last_event_id)?);
        let reader = self
            .gateway
            .handle_request(self.now, principal, bytes.as_bytes(), &request);
        let name = |id: &str| body[id].as_str().unwrap_or_default().to_owned();
        self.begun(reader, name("threadId"), name("runId"))
    }

    /// A client goes on reading a run.
    pub(super) fn reconnect(
        &mut self,
        thread: &str,
        run: &str,
        last_event_id: Option<&str>,
    ) -> Result<ReaderId, GatewayError> {
        let after = EventId::read(last_event_id)?;
        let reader = self
            .gateway
            .handle_reconnect(self.now, principal(), thread, run, after);
        self.begun(reader, thread.into(), run.into())
    }

    fn begun(
        &mut self,
        reader: Result<ReaderId, GatewayError>,
        thread: String,
        run: String,
    ) -> Result<ReaderId, GatewayError> {
        if let Ok(reader) = reader {
            let response = self.responses.entry(reader).or_default();
            response.run = (thread, run);
            response.key = self.gateway.run_of(reader);
        }
        self.drain();
        reader
    }

    /// A client that left goes on where it was.
    pub(super) fn come_back(&mut self, left: ReaderId) -> Result<ReaderId, GatewayError> {
        let response = &self.responses[&left];
        let (thread, run) = response.run.clone();
        let last = self.last_id(left).map(ToOwned::to_owned);
        let reader = self.reconnect(&thread, &run, last.as_deref())?;
        let response = self.responses.get_mut(&reader).unwrap();
        response.continues = Some(left);
        Ok(reader)
    }

    /// The events that a client has received.
    pub(super) fn events(&self, reader: ReaderId) -> Vec<Value> {
        self.responses[&reader].events()
    }

    /// Their types.
    pub(super) fn types(&self, reader: ReaderId) -> Vec<String> {
        self.responses[&reader].types()
    }

    /// The last event of a response, or `null` where there is none.
    pub(super) fn last(&self, reader: ReaderId) -> Value {
        self.events(reader).pop().unwrap_or_default()
    }

    /// The messages of the last history in a response.
    pub(super) fn last_history(&self, reader: ReaderId) -> Value {
        let events = self.events(reader);
        let snapshot = events
            .iter()
            .rfind(|event| event["type"] == "MESSAGES_SNAPSHOT");
        snapshot.unwrap()["messages"].clone()
    }

    /// The log of the only agent.
    pub(super) fn log(&self) -> String {
        self.agents.values().next().unwrap().log.join("\n")
    }

    /// The id of the last frame that the client of a response has.
    pub(super) fn last_id(&self, reader: ReaderId) -> Option<&str> {
        let response = &self.responses[&reader];
        response
            .last_id()
            .or_else(|| self.last_id(response.continues?))
    }

    /// Everything that the client of a response has, over all of its connections.
    pub(super) fn received(&self, reader: ReaderId) -> String {
        let response = &self.responses[&reader];
        let before = response.continues.map(|before| self.received(before));
        before.unwrap_or_default() + &response.text
    }

    /// A client leaves.
    pub(super) fn leave(&mut self, reader: ReaderId) {
        let response = self.responses.get_mut(&reader).unwrap();
        if !response.ended {
            response.left = true;
            self.gateway.handle_disconnect(self.now, reader);
            self.drain();
        }
    }

    /// Carries out effects and delivers output until nothing is left to do at this instant.
    pub(super) fn drain(&mut self) {
        loop {
            while let Some(effect) = self.gateway.poll_effect() {
                self.carry_out(effect);
            }
            let Some(ready) = self.gateway.poll_reader() else {
                if self.gateway.has_effects() {
                    continue;
                }
                return;
            };
            let response = self.responses.entry(ready.reader).or_default();
            assert!(!response.ended, "a response is written after its end");
            assert!(
                !response.left,
                "a response is written after its client left"
            );
            if let Some(ResponseHead::Error(error)) = ready.head {
                response.error = Some(error);
            }
            let mut out = String::new();
            let rest = self.gateway.read(self.now, ready.reader, &mut out);
            if response.error.is_none() {
                response.text.push_str(&out);
            }
            response.ended = rest == Rest::Over;
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Open {
                thread,
                session_id,
                mode,
                ..
            } => {
                self.session_of.insert(thread, session_id.clone());
                self.opening.push((thread, session_id, mode));
            }
            Effect::Close { thread } => {
                assert!(self.disposed.insert(thread), "a thread is disposed once");
                self.closing.push(thread);
            }
            Effect::SyncTools {
                thread,
                unregister,
                register,
            } => {
                let agent = self.live(thread);
                agent.tools.retain(|name| !unregister.contains(name));
                for tool in register {
                    assert!(!agent.tools.contains(&tool.name), "registered twice");
                    agent.tools.push(tool.name);
                }
                self.gateway
                    .handle_tools_synced(self.now, thread, ToolSync::Done);
            }
            Effect::Deliver {
                thread,
                messages,
                wake,
            } => {
                let now = self.now;
                let in_log = |id: &str| {
                    let id = format!("\"id\":\"{id}\"");
                    move |record: &String| {
                        record.contains("\"user/message\"") && record.contains(&id)
                    }
                };
                self.live(thread);
                let carries = messages.iter().any(|message| !message.receipts.is_empty());
                if carries && std::mem::take(&mut self.undeliverable) {
                    let error = GatewayError::new(Code::FileNotStaged, "no");
                    self.gateway.handle_undelivered(now, thread, &error);
                    return;
                }
                let agent = self.agents.get_mut(&thread).unwrap();
                for id in messages.iter().filter_map(|message| message.id.as_deref()) {
                    assert!(!agent.log.iter().any(in_log(id)), "{id} is admitted twice");
                }
                agent.deliver(now, &mut self.gateway, messages, wake);
            }
            Effect::Cancel { thread } => self.live(thread).cancel(),
            Effect::Prepare { thread, preset, .. } => {
                assert!(
                    self.live(thread).turn_is_over() || preset.is_none(),
                    "no preset is selected in a turn"
                );
                assert!(
                    !self.preparing.iter().any(|(other, _)| *other == thread),
                    "one run of a thread is prepared at a time"
                );
                self.preparing.push((thread, preset));
            }
            Effect::Upload { errand, thread } => {
                self.live(thread);
                self.begin_errand(errand, None);
            }
            Effect::ReadDeliverable {
                errand,
                thread,
                path,
                ..
            } => {
                self.live(thread);
                self.begin_errand(errand, Some(path));
            }
            Effect::RefuseErrand { errand, body, .. } => {
                let body: Value = serde_json::from_str(&body).unwrap();
                let code = body["code"].as_str().unwrap().to_owned();
                let before = self.errands.insert(errand, SimErrand::Refused(code));
                assert!(
                    matches!(
                        before,
                        None | Some(SimErrand::Waiting | SimErrand::Begun(_))
                    ),
                    "an errand ends once"
                );
            }
            Effect::Flush { thread, records } => {
                let covered = self.live(thread).log.len();
                self.flushing.push((thread, records, covered));
                if self.disk == Disk::Fast {
                    self.flush_next();
                }
            }
            Effect::NoteInterruption { thread } => {
                self.live(thread);
                let agent = self.agents.get_mut(&thread).unwrap();
                agent.note_interruption(self.now, &mut self.gateway);
            }
            Effect::Settle { token, outcome } => {
                assert!(self.settled.insert(token), "a call is settled once");
                let agent = self
                    .agents
                    .values_mut()
                    .find(|agent| agent.waits_for(token))
                    .expect("a settled call waits");
                agent.settle(token, outcome);
            }
            Effect::Answer { token, outcome } => {
                assert!(self.settled.insert(token), "a request is answered once");
                let agent = self
                    .agents
                    .values_mut()
                    .find(|agent| agent.asks(token))
                    .expect("an answered request waits");
                assert!(
                    !self.disposed.contains(&agent.thread),
                    "an answer for a disposed thread"
                );
                agent.answered(token, &outcome);
            }
            Effect::UnknownInterrupts { thread, count } => {
                self.live(thread);
                assert!(count > 0);
            }
        }
    }

    /// The agent of a thread that effects may name: open, and not disposed.
    fn live(&mut self, thread: ThreadId) -> &mut SimAgent {
        assert!(
            !self.disposed.contains(&thread),
            "an effect for a disposed thread"
        );
        self.agents
            .get_mut(&thread)
            .expect("an effect for an agent that is not open")
    }

    /// The Host answers the oldest question of what a run needs.
    pub(super) fn prepare_next(&mut self, outcome: Result<(), Code>) -> bool {
        if self.preparing.is_empty() {
            return false;
        }
        let (thread, preset) = self.preparing.remove(0);
        let session = self.session_of[&thread].clone();
        if let (Some(preset), Ok(())) = (preset, outcome) {
            self.presets.insert(session.clone(), preset);
        }
        let outcome = outcome.map_err(|code| GatewayError::new(code, "no"));
        let (inherited, preset) = self.composition(&session);
        self.gateway
            .handle_prepared(self.now, thread, preset, inherited, outcome);
        self.drain();
        true
    }

    /// Tools and preset of a session: a preset brings a Tool of its own.
    fn composition(&self, session: &str) -> (Vec<String>, Option<String>) {
        let preset = self.presets.get(session).cloned();
        let own = preset.iter().map(|preset| format!("of_{preset}"));
        (own.chain(["backend".into()]).collect(), preset)
    }

    /// A part for a message, as an upload answers it.
    pub(super) fn file_part(&self, thread: &str, kind: FileKind, receipt: Option<&str>) -> Value {
        let head = UploadHead {
            thread_id: thread.into(),
            name: "a.png".into(),
            media_type: "image/png".into(),
            length: 3,
        };
        let stored = StoredFile {
            kind,
            reference: serde_json::value::to_raw_value(&json!({"attachmentId":"sha256:ab"}))
                .unwrap(),
            receipt: receipt.map(Into::into),
            sha256: "ab".into(),
        };
        let principal = Principal {
            tenant: "t".into(),
            user: "u".into(),
        };
        let answer = head.answer(&self.config, principal, stored);
        serde_json::from_str(&answer).unwrap()
    }

    fn begin_errand(&mut self, errand: ErrandId, path: Option<String>) {
        let before = self.errands.insert(errand, SimErrand::Begun(path));
        assert!(
            matches!(before, None | Some(SimErrand::Waiting)),
            "an errand begins once"
        );
    }

    /// A client wants something of a thread's agent.
    pub(super) fn errand(
        &mut self,
        thread: &str,
        errand: Errand,
    ) -> Result<ErrandId, GatewayError> {
        let principal = Principal {
            tenant: "t".into(),
            user: "u".into(),
        };
        let id = self
            .gateway
            .handle_errand(self.now, principal, thread.into(), errand)?;
        self.drain();
        self.errands.entry(id).or_insert(SimErrand::Waiting);
        Ok(id)
    }

    /// An errand is over, or its client leaves.
    pub(super) fn end_errand(&mut self, id: ErrandId, end: ErrandEnd) {
        if matches!(self.errands[&id], SimErrand::Waiting | SimErrand::Begun(_)) {
            self.errands.insert(id, SimErrand::Over);
            self.gateway.handle_errand_over(self.now, id, end);
            self.drain();
        }
    }

    /// The Host answers the oldest request to open an agent.
    pub(super) fn open_next(&mut self) -> bool {
        if self.opening.is_empty() {
            return false;
        }
        let (thread, session, mode) = self.opening.remove(0);
        let stored = self.sessions.remove(&session).filter(|log| !log.is_empty());
        if mode == OpenMode::Resume && stored.is_none() {
            self.gateway.handle_unknown(self.now, thread);
            self.drain();
            return true;
        }
        let log = stored.unwrap_or_default();
        let (inherited, preset) = self.composition(&session);
        self.written.insert(thread, log.len());
        let agent = SimAgent::new(thread, log);
        let history = agent.history();
        self.agents.insert(thread, agent);
        self.gateway
            .handle_opened(self.now, thread, &history, inherited, preset);
        self.drain();
        true
    }

    /// The Host fails the oldest request to open an agent.
    pub(super) fn fail_open(&mut self) -> bool {
        if self.opening.is_empty() {
            return false;
        }
        let (thread, ..) = self.opening.remove(0);
        let error = GatewayError::new(Code::AgentExecutionError, "no");
        self.gateway.handle_open_failed(self.now, thread, &error);
        self.drain();
        true
    }

    /// The Host finishes disposing the oldest agent that is going.
    pub(super) fn close_next(&mut self) -> bool {
        if self.closing.is_empty() {
            return false;
        }
        let thread = self.closing.remove(0);
        if let Some(mut agent) = self.agents.remove(&thread) {
            agent.release(self.now, &mut self.gateway);
            let session = self.session_of[&thread].clone();
            self.sessions.insert(session, repaired(agent.log));
        }
        self.gateway.handle_closed(self.now, thread);
        self.drain();
        true
    }

    /// The Host finishes the oldest flush.
    pub(super) fn flush_next(&mut self) -> bool {
        if self.flushing.is_empty() {
            return false;
        }
        let (thread, records, covered) = self.flushing.remove(0);
        let written = self.written.entry(thread).or_default();
        *written = covered.max(*written);
        self.gateway.handle_flushed(self.now, thread, records);
        self.drain();
        true
    }

    /// The process dies, and another one starts on what it had written.
    pub(super) fn crash(&mut self) {
        for (thread, mut agent) in std::mem::take(&mut self.agents) {
            agent.log.truncate(self.written[&thread]);
            self.sessions
                .insert(self.session_of[&thread].clone(), repaired(agent.log));
        }
        let whole: Vec<String> = self
            .responses
            .keys()
            .map(|reader| self.received(*reader))
            .collect();
        for ((_, mut response), whole) in std::mem::take(&mut self.responses).into_iter().zip(whole)
        {
            if response.error.is_none() {
                response.text = whole;
            }
            response.continues = None;
            response.left |= !response.ended;
            self.past.push(response);
        }
        self.gateway = Gateway::new(self.config.clone());
        self.opening.clear();
        self.closing.clear();
        self.preparing.clear();
        self.errands.clear();
        self.twins.clear();
        self.undeliverable = false;
        self.flushing.clear();
        self.written.clear();
        self.disposed.clear();
    }

    /// The driver's next turn of the loop.
    pub(super) fn drive(&mut self) -> bool {
        let driven = self.gateway.poll_drive(self.now).is_some();
        self.drain();
        driven
    }

    /// The Tools that every open agent has by itself are these now.
    pub(super) fn set_inherited(&mut self, names: &[&str]) {
        let threads: Vec<ThreadId> = self.agents.keys().copied().collect();
        for thread in threads {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            self.gateway.handle_inherited(self.now, thread, names);
            self.drain();
        }
    }

    /// Somebody else disposes one of the open agents.
    pub(super) fn lose_agent(&mut self, index: usize) {
        let open: Vec<ThreadId> = self
            .agents
            .keys()
            .filter(|thread| !self.disposed.contains(thread))
            .copied()
            .collect();
        if let Some(thread) = open.get(index % open.len().max(1)) {
            self.gateway.handle_gone(self.now, *thread);
            self.drain();
        }
    }

    /// One step of the agent at `index` among those that are alive.
    pub(super) fn step_agent(&mut self, index: usize, answer: Answer) -> bool {
        let disposed = &self.disposed;
        let working: Vec<ThreadId> = self
            .agents
            .iter()
            .filter(|(thread, agent)| !disposed.contains(thread) && agent.has_work())
            .map(|(thread, _)| *thread)
            .collect();
        let Some(thread) = working.get(index % working.len().max(1)).copied() else {
            return false;
        };
        let agent = self.agents.get_mut(&thread).unwrap();
        agent.step(self.now, &mut self.gateway, answer, &mut self.tokens);
        self.drain();
        true
    }

    /// Steps the first agent until its model has made these calls.
    pub(super) fn make_calls(&mut self, names: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        while !self.agents.values().any(SimAgent::is_calling) {
            self.step_agent(0, Answer::Calls(names.clone()));
        }
    }

    /// Some part of the Host asks a person on behalf of an agent.
    pub(super) fn ask_loosely(&mut self, index: usize) {
        let open: Vec<ThreadId> = self.agents.keys().copied().collect();
        if let Some(thread) = open.get(index % open.len().max(1)) {
            let agent = self.agents.get_mut(thread).unwrap();
            agent.ask_loosely(self.now, &mut self.gateway, &mut self.tokens);
            self.drain();
        }
    }

    /// What clients of a thread were told last to ask people, and under which run.
    pub(super) fn interrupts(&self, thread: &str) -> Option<(String, Vec<Value>)> {
        self.responses.values().rev().find_map(|response| {
            let last = response.events().pop()?;
            let told = last["outcome"]["interrupts"].as_array()?;
            (last["threadId"] == thread)
                .then(|| (last["runId"].as_str().unwrap().to_owned(), told.clone()))
        })
    }

    /// Time passes.
    pub(super) fn advance(&mut self, by: Duration) {
        let until = self.now + by;
        while let Some(at) = self.gateway.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.gateway.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    /// Lets everything run until nothing changes at this instant, every agent answering with text.
    pub(super) fn settle(&mut self) {
        self.settle_with(&Answer::Text(vec!["Hello ".into(), "there".into()]));
    }

    pub(super) fn settle_with(&mut self, answer: &Answer) {
        let mut answer = answer.clone();
        for _ in 0..10_000 {
            let busy = self.open_next()
                | self.prepare_next(Ok(()))
                | self.close_next()
                | self.drive()
                | self.flush_next()
                | self.step_agent(0, answer.clone())
                | (self.gateway.poll_timeout().is_some_and(|at| at <= self.now) && {
                    self.advance(Duration::ZERO);
                    true
                });
            if !busy {
                return;
            }
            if matches!(answer, Answer::Calls(_)) && self.agents.values().any(SimAgent::is_calling)
            {
                answer = Answer::Text(vec!["after".into()]);
            }
        }
        panic!("the world does not come to rest");
    }
}

fn principal() -> Principal {
    Principal {
        tenant: "t".into(),
        user: "u".into(),
    }
}

/// Events of frames with adjacent deltas of one message or call merged: what two readings of a run share (X10).
pub(super) fn merged(frames: &str) -> Vec<Value> {
    let response = Response {
        text: frames.into(),
        ..Response::default()
    };
    let mut merged: Vec<Value> = Vec::new();
    for event in response.events() {
        let same = |last: &&mut Value| {
            let alike = |name| last[name] == event[name];
            event["delta"].is_string() && ["type", "messageId", "toolCallId"].into_iter().all(alike)
        };
        match merged.last_mut().filter(same) {
            Some(last) => {
                let delta = [&last["delta"], &event["delta"]].map(|delta| delta.as_str().unwrap());
                last["delta"] = delta.concat().into();
            }
            None => merged.push(event),
        }
    }
    merged
}

/// A request body with a person's messages.
pub(super) fn ask(thread: &str, run: &str, messages: &[(&str, &str)]) -> Value {
    let messages: Vec<Value> = messages
        .iter()
        .map(|(id, text)| json!({"id":id,"role":"user","content":text}))
        .collect();
    json!({"threadId":thread,"runId":run,"messages":messages,"tools":[],"context":[]})
}

/// A valid answer to an interrupt.
pub(super) fn resolve(interrupt: &Value, yes: bool) -> Value {
    let payload = if interrupt["reason"] == "approval" {
        json!({"approved": yes})
    } else {
        json!({"answers": [{"id": "q", "selected": [if yes { "x" } else { "y" }]}]})
    };
    json!({"interruptId": interrupt["id"], "status": "resolved", "payload": payload})
}

/// A request that answers interrupts.
pub(super) fn resume(thread: &str, run: &str, entries: Vec<Value>) -> Value {
    json!({"threadId":thread,"runId":run,"messages":[],"tools":[pick()],"context":[],"resume":entries})
}

/// A request body with these messages, by a client that offers a Tool.
pub(super) fn with_tool(run: &str, messages: &[Value]) -> Value {
    json!({"threadId":"t","runId":run,"messages":messages,"tools":[pick()],"context":[]})
}

/// A message with a person's words.
pub(super) fn user(id: &str, text: &str) -> Value {
    json!({"id":id,"role":"user","content":text})
}

/// A message with the result of a call.
pub(super) fn result(id: &str, call: &str, content: &str) -> Value {
    json!({"id":id,"role":"tool","toolCallId":call,"content":content})
}

/// The browser Tool that the simulated clients offer.
pub(super) fn pick() -> Value {
    json!({"name":"pick","description":"Pick.","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}})
}
