/**
 * What an agent reports, as calls of the native gateway.
 *
 * @module
 */

import type { NativeGateway } from '../native.ts'
import type { AgentEvents, PersonOutcome, PersonRequest } from '../host/port.ts'

/** A bit of `attemptStart`: some client wants the reasoning. */
const REASONING = 16

/** Where reports of one thread's agent go. */
export interface ReportSink {
  readonly native: NativeGateway
  readonly hot: ReturnType<NativeGateway['hotPath']>
  after(todo: number): void
  /** The Tools that the agent has by itself; none before it is there. */
  inherited(): string[] | undefined
  ask(request: PersonRequest, signal: AbortSignal): Promise<PersonOutcome>
}

/** The reports of one thread's agent. */
export function reportsOf(id: number, { native, hot, after, inherited, ask }: ReportSink): AgentEvents {
  const { text, reasoning, toolCall } = hot
  // Reasoning that nobody asked for does not cross, and neither does the end of its block.
  let reasons = false
  let kept = false
  return {
    record: json => { after(native.record(id, json)) },
    attemptStart: (turn, step) => {
      const todo = native.attemptStart(id, turn, step)
      reasons = (todo & REASONING) !== 0
      kept = false
      after(todo & ~REASONING)
    },
    text: (delta) => {
      kept = false
      after(text(id, delta))
    },
    reasoning: (delta) => {
      if (reasons) after(reasoning(id, delta))
      else kept = true
    },
    toolCall: (callId, name, delta) => {
      kept = false
      after(toolCall(id, callId, name, delta))
    },
    blockEnd: () => {
      if (!kept) after(native.blockEnd(id))
      kept = false
    },
    attemptEnd: (committed) => { if (!committed) after(native.attemptAbandoned(id)) },
    body: (callId, running) => { after(native.body(id, callId, running)) },
    toolsChanged: () => {
      const names = inherited()
      if (names !== undefined) after(native.inherited(id, names))
    },
    status: status => { after(native.status(id, status)) },
    ask,
    gone: () => { after(native.gone(id)) },
  }
}
