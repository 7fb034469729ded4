//! A simulated DSH agent: the same order of reports as the real one (`host-api.md` §1.4), one step at a time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use serde_json::{Value, json};

use crate::gateway::{
    AgentStatus, AskDecision, BodyChange, CallDecision, CallHead, CallOutcome, Gateway,
    HostMessage, PersonOutcome, ThreadId, Token,
};

/// A Tool whose body asks the user a question.
pub(super) const ASK: &str = "ask";
/// A Tool that a person must approve before its body begins; calls behind it wait for that.
pub(super) const GUARDED: &str = "guarded";
/// A Tool whose body asks for an approval.
pub(super) const ESCALATE: &str = "escalate";

/// What a model attempt does, chosen by the schedule.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// Text only; the turn completes.
    Text(Vec<String>),
    /// Text, then calls of these Tools.
    Calls(Vec<String>),
    /// Text and the beginning of a browser call, then the provider fails.
    Fail,
    /// The same, then another attempt of the same step.
    Retry,
}

#[derive(Debug)]
pub(super) struct SimAgent {
    pub(super) thread: ThreadId,
    /// The durable log, as record JSON.
    pub(super) log: Vec<String>,
    pub(super) tools: Vec<String>,
    /// Results of more bytes are replaced in the log.
    pub(super) spills_over: Option<usize>,
    next_turn: VecDeque<HostMessage>,
    next_step: Vec<HostMessage>,
    turns: u64,
    turn: Option<Turn>,
    running: bool,
    cancelled: bool,
    calls_made: u32,
    /// Requests to people that no call of the agent stands for.
    loose: Vec<Token>,
}

#[derive(Debug)]
struct Turn {
    number: u64,
    step: u64,
    /// Calls of the step under way, in model order.
    calls: Vec<Call>,
    /// Calls that wait for the ones before them to get past their policies.
    behind: VecDeque<(String, String)>,
}

#[derive(Debug)]
struct Call {
    id: String,
    state: CallState,
}

#[derive(Debug)]
enum CallState {
    Running,
    Parked(Token),
    /// Waits for a person, before its body begins or inside of it.
    Asking(Token, Asker),
    /// A person approved it; its body is to begin.
    Cleared,
    /// A person's answer has come; its body is to end.
    Told(Result<(String, Option<Value>), String>),
    Over(Result<(String, Option<Value>), String>),
    Committed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Asker {
    Policy,
    Body,
}

impl SimAgent {
    pub(super) fn new(thread: ThreadId, log: Vec<String>) -> Self {
        let turns = log
            .iter()
            .filter(|record| record.contains("\"turn/start\""))
            .count() as u64;
        Self {
            thread,
            log,
            tools: Vec::new(),
            spills_over: None,
            next_turn: VecDeque::new(),
            next_step: Vec::new(),
            turns,
            turn: None,
            running: false,
            cancelled: false,
            calls_made: 0,
            loose: Vec::new(),
        }
    }

    pub(super) fn history(&self) -> String {
        format!("[{}]", self.log.join(","))
    }

    /// Whether it would do something if it were stepped.
    pub(super) fn has_work(&self) -> bool {
        let Some(turn) = &self.turn else {
            return self.running || !self.next_turn.is_empty();
        };
        let running = turn.calls.iter().any(|call| {
            matches!(
                call.state,
                CallState::Running | CallState::Cleared | CallState::Told(_)
            )
        }) || !turn.behind.is_empty() && !turn.is_held();
        let first = turn
            .calls
            .iter()
            .find(|call| !matches!(call.state, CallState::Committed));
        let commits = first.is_none_or(|call| matches!(call.state, CallState::Over(_)));
        let commits = commits && (first.is_some() || turn.behind.is_empty());
        self.cancelled || running || commits
    }

    pub(super) fn deliver(
        &mut self,
        now: Instant,
        gateway: &mut Gateway,
        messages: Vec<HostMessage>,
        wake: bool,
    ) {
        self.next_step.extend(messages);
        if wake && let Some(last) = self.next_step.pop() {
            self.next_turn.push_back(last);
            self.set_running(now, gateway, true);
        }
    }

    /// Whether no turn is open.
    pub(super) fn turn_is_over(&self) -> bool {
        self.turn.is_none()
    }

    /// Whether a body of the agent waits under this token.
    pub(super) fn waits_for(&self, token: Token) -> bool {
        self.turn
            .iter()
            .flat_map(|turn| &turn.calls)
            .any(|call| matches!(call.state, CallState::Parked(parked) if parked == token))
    }

    /// Whether its turn was told to end.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Whether calls of a step are under way.
    pub(super) fn is_calling(&self) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| !turn.calls.is_empty())
    }

    pub(super) fn cancel(&mut self) {
        self.next_turn.clear();
        self.next_step.clear();
        self.cancelled = self.turn.is_some();
    }

    pub(super) fn settle(&mut self, token: Token, outcome: CallOutcome) {
        let turn = self.turn.as_mut().expect("a parked call lives in a turn");
        let call = turn
            .calls
            .iter_mut()
            .find(|call| matches!(call.state, CallState::Parked(parked) if parked == token))
            .expect("a token is settled once, while it waits");
        call.state = CallState::Over(result_of(outcome));
    }

    /// Takes one step of the agent loop.
    pub(super) fn step(
        &mut self,
        now: Instant,
        gateway: &mut Gateway,
        answer: Answer,
        tokens: &mut u32,
    ) {
        if std::mem::take(&mut self.cancelled) {
            self.abort(now, gateway);
            return;
        }
        match &self.turn {
            None => self.begin_turn(now, gateway),
            Some(turn) if turn.calls.is_empty() => self.attempt(now, gateway, answer, tokens),
            Some(_) => self.advance_calls(now, gateway, tokens),
        }
    }

    /// The attempt breaks off within the arguments of a call.
    fn abandon(&mut self, now: Instant, gateway: &mut Gateway) {
        self.calls_made += 1;
        let id = format!("lost-{}", self.calls_made);
        gateway.handle_tool_call(now, self.thread, &id, Some("pick"), "{\"a\":");
        gateway.handle_attempt_abandoned(now, self.thread);
    }

    fn begin_turn(&mut self, now: Instant, gateway: &mut Gateway) {
        let Some(own) = self.next_turn.pop_front() else {
            self.set_running(now, gateway, false);
            return;
        };
        self.set_running(now, gateway, true);
        self.turns += 1;
        self.turn = Some(Turn {
            number: self.turns,
            step: 1,
            calls: Vec::new(),
            behind: VecDeque::new(),
        });
        self.record(now, gateway, "turn/start", json!({"turn": self.turns}));
        let joined: Vec<_> = self.next_step.drain(..).chain([own]).collect();
        self.admit(now, gateway, joined);
    }

    fn admit(&mut self, now: Instant, gateway: &mut Gateway, messages: Vec<HostMessage>) {
        for message in messages {
            let mut data = serde_json::to_value(&message).unwrap();
            data["role"] = "user".into();
            if data.get("id").is_none() {
                data["id"] = format!("minted-{}", self.log.len()).into();
            }
            self.record(now, gateway, "user/message", data);
        }
    }

    fn attempt(&mut self, now: Instant, gateway: &mut Gateway, answer: Answer, tokens: &mut u32) {
        let turn = self.turn.as_ref().unwrap();
        let (number, step) = (turn.number, turn.step);
        gateway.handle_attempt_start(now, self.thread, number, step);
        let texts = match &answer {
            Answer::Text(texts) => texts.clone(),
            Answer::Calls(_) | Answer::Fail | Answer::Retry => vec!["partial ".into()],
        };
        gateway.handle_reasoning(now, self.thread, "hm\n");
        gateway.handle_reasoning(now, self.thread, "so");
        gateway.handle_block_end(now, self.thread);
        for text in &texts {
            gateway.handle_text(now, self.thread, text);
        }
        match answer {
            Answer::Text(_) => {
                gateway.handle_block_end(now, self.thread);
                self.commit(now, gateway, &texts.concat(), &[]);
                self.end_turn(now, gateway, json!({"kind":"completed"}));
            }
            Answer::Retry => self.abandon(now, gateway),
            Answer::Fail => {
                self.abandon(now, gateway);
                let error =
                    json!({"kind":"error","error":{"code":"SIM","message":"provider says no"}});
                self.end_turn(now, gateway, error);
            }
            Answer::Calls(names) => {
                gateway.handle_block_end(now, self.thread);
                let calls: Vec<(String, String)> = names
                    .into_iter()
                    .map(|name| {
                        self.calls_made += 1;
                        (format!("call-{}-{}", number, self.calls_made), name)
                    })
                    .collect();
                // Some models go on reasoning between their calls, and end no block of it.
                for (id, name) in &calls {
                    gateway.handle_reasoning(now, self.thread, "then");
                    gateway.handle_tool_call(now, self.thread, id, Some(name), "{\"");
                    gateway.handle_tool_call(now, self.thread, id, None, "a\":1}");
                    gateway.handle_block_end(now, self.thread);
                }
                self.commit(now, gateway, &texts.concat(), &calls);
                self.turn.as_mut().unwrap().behind = calls.into();
                self.dispatch(now, gateway, tokens);
            }
        }
    }

    /// Asks a person, on behalf of a call or of nobody in particular.
    fn ask(
        &mut self,
        now: Instant,
        gateway: &mut Gateway,
        mut request: Value,
        call: Option<&str>,
        tokens: &mut u32,
    ) -> Result<Token, PersonOutcome> {
        *tokens += 1;
        if let Some(call) = call {
            request["callId"] = call.into();
        }
        match gateway.handle_ask(now, self.thread, Token(*tokens), &request.to_string()) {
            AskDecision::Wait => Ok(Token(*tokens)),
            AskDecision::Settle(outcome) => Err(outcome),
        }
    }

    /// Some part of the Host asks on the agent's behalf.
    pub(super) fn ask_loosely(&mut self, now: Instant, gateway: &mut Gateway, tokens: &mut u32) {
        match self.ask(now, gateway, question(), None, tokens) {
            Ok(token) => {
                assert!(self.turn.is_some(), "a request waits outside a turn");
                self.loose.push(token);
            }
            Err(outcome) => assert!(matches!(outcome, PersonOutcome::Cancelled { .. })),
        }
    }

    /// Whether a request to a person waits under this token.
    pub(super) fn asks(&self, token: Token) -> bool {
        let calls = self.turn.iter().flat_map(|turn| &turn.calls);
        self.loose.contains(&token)
            || calls
                .into_iter()
                .any(|call| matches!(call.state, CallState::Asking(asked, _) if asked == token))
    }

    /// Whether anything waits for a person.
    pub(super) fn is_asking(&self) -> bool {
        let mut calls = self.turn.iter().flat_map(|turn| &turn.calls);
        !self.loose.is_empty() || calls.any(|call| matches!(call.state, CallState::Asking(..)))
    }

    /// A person's answer, or the end of the waiting for one.
    pub(super) fn answered(&mut self, token: Token, outcome: &PersonOutcome) {
        let before = self.loose.len();
        self.loose.retain(|asked| *asked != token);
        if self.loose.len() < before {
            return;
        }
        let mut calls = self.turn.iter_mut().flat_map(|turn| &mut turn.calls);
        let call = calls
            .find(|call| matches!(call.state, CallState::Asking(asked, _) if asked == token))
            .expect("a request is answered once, while it waits");
        let CallState::Asking(_, asker) = call.state else {
            unreachable!()
        };
        call.state = asked(asker, outcome);
    }

    fn commit(
        &mut self,
        now: Instant,
        gateway: &mut Gateway,
        text: &str,
        calls: &[(String, String)],
    ) {
        let turn = self.turn.as_ref().unwrap();
        let mut content = vec![json!({"type":"text","text":text})];
        content.extend(calls.iter().map(
            |(id, name)| json!({"type":"tool-call","id":id,"name":name,"arguments":"{\"a\":1}"}),
        ));
        let data = json!({"turn":turn.number,"step":turn.step,"message":{"id":"x","role":"assistant","source":{"kind":"model"},"content":content}});
        self.record(now, gateway, "assistant/message", data);
    }

    fn dispatch(&mut self, now: Instant, gateway: &mut Gateway, tokens: &mut u32) {
        while let Some((id, name)) = self.turn.as_mut().unwrap().behind.pop_front() {
            let turn = self.turn.as_ref().unwrap();
            let data = json!({"turn":turn.number,"step":turn.step,"callId":id,"name":name,"arguments":"{\"a\":1}"});
            self.record(now, gateway, "tool/call", data);
            if name == GUARDED {
                let request = json!({"kind":"approval","toolName":name});
                let state = match self.ask(now, gateway, request, Some(&id), tokens) {
                    Ok(token) => CallState::Asking(token, Asker::Policy),
                    Err(outcome) => asked(Asker::Policy, &outcome),
                };
                let turn = self.turn.as_mut().unwrap();
                turn.calls.push(Call { id, state });
                if turn.is_held() {
                    return;
                }
                continue;
            }
            gateway.handle_body(now, self.thread, &id, BodyChange::Started);
            let state = if name == ASK || name == ESCALATE {
                let request = if name == ASK {
                    question()
                } else {
                    json!({"kind":"approval","toolName":name,"reason":"why"})
                };
                match self.ask(now, gateway, request, Some(&id), tokens) {
                    Ok(token) => CallState::Asking(token, Asker::Body),
                    Err(outcome) => asked(Asker::Body, &outcome),
                }
            } else if self.tools.contains(&name) {
                *tokens += 1;
                let call = CallHead {
                    call_id: &id,
                    name: &name,
                    arguments: r#"{"a":1}"#,
                };
                match gateway.handle_call(now, self.thread, Token(*tokens), &call) {
                    CallDecision::Park => CallState::Parked(Token(*tokens)),
                    CallDecision::Settle(outcome) => {
                        gateway.handle_body(now, self.thread, &id, BodyChange::Ended);
                        CallState::Over(result_of(outcome))
                    }
                }
            } else {
                CallState::Running
            };
            self.turn.as_mut().unwrap().calls.push(Call { id, state });
        }
    }

    /// Ends one running body, and commits the results that are ready, in model order.
    fn advance_calls(&mut self, now: Instant, gateway: &mut Gateway, tokens: &mut u32) {
        let thread = self.thread;
        let turn = self.turn.as_mut().unwrap();
        for call in &mut turn.calls {
            match std::mem::replace(&mut call.state, CallState::Committed) {
                CallState::Cleared => {
                    call.state = CallState::Running;
                    gateway.handle_body(now, thread, &call.id, BodyChange::Started);
                }
                CallState::Told(result) => {
                    call.state = CallState::Over(result);
                    gateway.handle_body(now, thread, &call.id, BodyChange::Ended);
                }
                other => call.state = other,
            }
        }
        if !turn.is_held() {
            self.dispatch(now, gateway, tokens);
        }
        let turn = self.turn.as_mut().unwrap();
        if let Some(call) = turn
            .calls
            .iter_mut()
            .find(|call| matches!(call.state, CallState::Running))
        {
            call.state = CallState::Over(Ok(("done".into(), None)));
            let id = call.id.clone();
            gateway.handle_body(now, self.thread, &id, BodyChange::Ended);
        }
        let mut ready = Vec::new();
        let (number, step) = (turn.number, turn.step);
        for call in &mut turn.calls {
            match std::mem::replace(&mut call.state, CallState::Committed) {
                CallState::Committed => {}
                CallState::Over(result) => ready.push((call.id.clone(), result)),
                waiting => {
                    call.state = waiting;
                    break;
                }
            }
        }
        for (id, result) in ready {
            self.record_result(now, gateway, number, step, &id, result);
        }
        let turn = self.turn.as_mut().unwrap();
        if turn
            .calls
            .iter()
            .all(|call| matches!(call.state, CallState::Committed))
            && turn.behind.is_empty()
        {
            turn.calls.clear();
            turn.step += 1;
            let joined = std::mem::take(&mut self.next_step);
            self.admit(now, gateway, joined);
        }
    }

    fn record_result(
        &mut self,
        now: Instant,
        gateway: &mut Gateway,
        turn: u64,
        step: u64,
        id: &str,
        result: Result<(String, Option<Value>), String>,
    ) {
        let (text, meta, is_error) = match result {
            Ok((text, meta)) => (text, meta, false),
            Err(message) => (format!("Error: {message}"), None, true),
        };
        let text = match self.spills_over {
            Some(limit) if text.len() > limit => "(spilled)".into(),
            _ => text,
        };
        let mut data = json!({"turn":turn,"step":step,"message":{"id":"y","role":"user","source":{"kind":"tool","callId":id},"content":[{"type":"tool-result","toolCallId":id,"content":[{"type":"text","text":text}],"isError":is_error}]}});
        if let Some(meta) = meta {
            data["meta"] = meta;
        }
        self.record(now, gateway, "tool/result", data);
    }

    fn abort(&mut self, now: Instant, gateway: &mut Gateway) {
        self.release(now, gateway);
        let Some(turn) = self.turn.as_mut() else {
            self.set_running(now, gateway, false);
            return;
        };
        let (number, step) = (turn.number, turn.step);
        let open: Vec<String> = turn
            .calls
            .drain(..)
            .filter(|call| !matches!(call.state, CallState::Committed))
            .map(|call| call.id)
            .collect();
        let behind = std::mem::take(&mut turn.behind);
        for (id, name) in behind {
            let data =
                json!({"turn":number,"step":step,"callId":id,"name":name,"arguments":"{\"a\":1}"});
            self.record(now, gateway, "tool/call", data);
            self.record_result(now, gateway, number, step, &id, Err("skipped".into()));
        }
        for id in open {
            self.record_result(now, gateway, number, step, &id, Err("aborted".into()));
        }
        self.end_turn(
            now,
            gateway,
            json!({"kind":"aborted","reason":{"kind":"user"}}),
        );
    }

    /// Every body that waits settles by the Host's own abort.
    pub(super) fn release(&mut self, now: Instant, gateway: &mut Gateway) {
        let parked: Vec<Token> = self
            .turn
            .iter_mut()
            .flat_map(|turn| &mut turn.calls)
            .filter_map(|call| match call.state {
                CallState::Parked(token) => {
                    call.state = CallState::Over(Err("aborted".into()));
                    Some(token)
                }
                _ => None,
            })
            .collect();
        for token in parked {
            gateway.handle_call_aborted(now, self.thread, token);
        }
        let mut asking = std::mem::take(&mut self.loose);
        for call in self.turn.iter_mut().flat_map(|turn| &mut turn.calls) {
            if let CallState::Asking(token, _) = call.state {
                call.state = CallState::Over(Err("aborted".into()));
                asking.push(token);
            }
        }
        for token in asking {
            gateway.handle_ask_aborted(now, self.thread, token);
        }
    }

    fn end_turn(&mut self, now: Instant, gateway: &mut Gateway, reason: Value) {
        let number = self.turn.take().map_or(self.turns, |turn| turn.number);
        self.record(
            now,
            gateway,
            "turn/end",
            json!({"turn":number,"reason":reason}),
        );
        if self.next_turn.is_empty() {
            self.set_running(now, gateway, false);
        }
    }

    fn set_running(&mut self, now: Instant, gateway: &mut Gateway, running: bool) {
        if self.running != running {
            self.running = running;
            let status = if running {
                AgentStatus::Running
            } else {
                AgentStatus::Idle
            };
            gateway.handle_status(now, self.thread, status);
        }
    }

    fn record(&mut self, now: Instant, gateway: &mut Gateway, kind: &str, data: Value) {
        let mut record = BTreeMap::from([
            ("type", Value::from(kind)),
            ("seq", Value::from(self.log.len())),
            ("data", data),
        ]);
        if kind.starts_with("tool/") {
            record.insert("card", Value::Null);
        }
        let json = serde_json::to_string(&record).unwrap();
        self.log.push(json.clone());
        gateway.handle_record(now, self.thread, &json);
    }

    /// A note that the client is told of an interruption, as the adapter leaves it.
    pub(super) fn note_interruption(&mut self, now: Instant, gateway: &mut Gateway) {
        let note = json!({"id":"note","role":"user","content":[],"source":{"kind":"ag-ui","form":"interruption-told"}});
        let splice = json!({"target":"next-step","start":0,"inserted":[note]});
        self.record(now, gateway, "agent/inbox/spliced", splice);
    }
}

/// A log that a process left, with the repairs of a resume: calls without a result get one, an open turn ends.
pub(super) fn repaired(mut log: Vec<String>) -> Vec<String> {
    let mut turn = None;
    let mut calls: Vec<Value> = Vec::new();
    for record in &log {
        let record: Value = serde_json::from_str(record).unwrap();
        let data = &record["data"];
        match record["type"].as_str().unwrap() {
            "turn/start" => turn = Some(data["turn"].clone()),
            "turn/end" => turn = None,
            "assistant/message" => {
                let blocks = data["message"]["content"].as_array().unwrap();
                let made = blocks.iter().filter(|block| block["type"] == "tool-call");
                calls.extend(made.map(|block| block["id"].clone()));
            }
            "tool/result" => calls.retain(|id| *id != data["message"]["source"]["callId"]),
            _ => {}
        }
    }
    let Some(turn) = turn else { return log };
    for id in calls {
        let data = json!({"turn":turn,"step":1,"message":{"id":"y","role":"user","source":{"kind":"tool","callId":id},"content":[{"type":"tool-result","toolCallId":id,"content":[{"type":"text","text":"Error: lost"}],"isError":true}]}});
        log.push(json!({"type":"tool/result","seq":log.len(),"data":data}).to_string());
    }
    let data = json!({"turn":turn,"reason":{"kind":"interrupted"}});
    log.push(json!({"type":"turn/end","seq":log.len(),"data":data}).to_string());
    log
}

impl Turn {
    /// Whether a policy waits for a person, and the calls behind it with it.
    fn is_held(&self) -> bool {
        let held = |call: &Call| matches!(call.state, CallState::Asking(_, Asker::Policy));
        self.calls.iter().any(held)
    }
}

fn question() -> Value {
    json!({"kind":"questions","questions":[{"id":"q","question":"?","options":[{"label":"x"},{"label":"y"}]}]})
}

/// What an answer makes of the call that asked.
fn asked(asker: Asker, outcome: &PersonOutcome) -> CallState {
    let result = match outcome {
        PersonOutcome::Allowed if asker == Asker::Policy => return CallState::Cleared,
        PersonOutcome::Allowed => Ok(("allowed".into(), None)),
        PersonOutcome::Answered { answers } => Ok((answers[0].selected.concat(), None)),
        PersonOutcome::Rejected => Err("rejected".into()),
        PersonOutcome::Cancelled { message } => Err(message.clone()),
    };
    match asker {
        Asker::Policy => CallState::Over(result),
        Asker::Body => CallState::Told(result),
    }
}

fn result_of(outcome: CallOutcome) -> Result<(String, Option<Value>), String> {
    match outcome {
        CallOutcome::Resolved { text, meta } => Ok((text, meta.map(Value::Object))),
        CallOutcome::Rejected { message } => Err(message),
    }
}
