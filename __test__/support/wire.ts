/**
 * The wire as a client sees it: SSE frames and their rules, and events in a form that tests can compare.
 */

import assert from 'node:assert/strict'
import { EventSchemas } from '@ag-ui/core'
import { EventSchema } from 'ag-ui-core-1/schemas'
import { checkEventStream } from 'dsh-ag-ui/native'

/** An AG-UI message, of any role. */
export interface WireMessage {
  readonly id: string
  readonly role: string
  readonly content?: unknown
  readonly toolCalls?: readonly { readonly id: string, readonly function: { readonly name: string, readonly arguments: string } }[]
  readonly toolCallId?: string
  readonly encryptedValue?: string
  readonly subagentRunId?: string
  readonly metadata?: Record<string, unknown>
}

/** A `dsh:tool:view` card. */
export interface WireCard {
  readonly version: number
  readonly callId: string
  readonly toolName: string
  readonly phase: string
  readonly card: Record<string, unknown>
}

/** An AG-UI event, of any type. */
export interface WireEvent {
  readonly type: string
  readonly threadId?: string
  readonly runId?: string
  readonly parentRunId?: string
  readonly protocolVersion?: string
  readonly messageId?: string
  readonly toolCallId?: string
  readonly toolCallName?: string
  readonly parentMessageId?: string
  readonly delta?: string
  readonly content?: string
  readonly activityType?: string
  readonly messages?: readonly WireMessage[]
  readonly snapshot?: unknown
  readonly name?: string
  readonly value?: WireCard
  readonly code?: string
  readonly message?: string
  readonly outcome?: { readonly type: string, readonly interrupts?: readonly WireInterrupt[], readonly pendingToolCallIds?: readonly string[] }
}

/** What a run leaves for a person to answer. */
export interface WireInterrupt {
  readonly id: string
  readonly reason: string
  readonly message?: string
  readonly toolCallId?: string
  readonly responseSchema?: Record<string, unknown>
  readonly expiresAt?: string
  readonly metadata?: { readonly dsh: Record<string, unknown> }
}

const TERMINALS = ['RUN_FINISHED', 'RUN_ERROR']

/** Reads frames from text as it comes, and holds each against the framing that the gateway promises. */
export class FrameReader {
  readonly events: WireEvent[] = []
  /** The frames of {@link events}, as they came. */
  readonly frames: string[] = []
  /** Comment frames so far. */
  comments = 0
  #rest = ''
  /** What the client of the stream takes: 1.0 where it says so. */
  #schema: { parse(event: unknown): unknown } = EventSchemas
  #record: string | undefined
  #lastId: readonly [entry: number, offset: number] = [-1, 0]

  /** Takes more of the body. Returns whether there was a whole frame. */
  push(text: string): boolean {
    assert.ok(!text.includes('\r'), 'lines end with LF alone')
    const frames = (this.#rest + text).split('\n\n')
    this.#rest = frames.pop() ?? ''
    frames.forEach((frame) => { this.#frame(frame) })
    return frames.length > 0
  }

  /** The body is over: nothing may be left, and the events must make one whole run. */
  end(): void {
    assert.equal(this.#rest, '', 'the body ends with a whole frame')
    assert.equal(this.events.filter(({ type }) => TERMINALS.includes(type)).length, 1, 'one terminal event')
    assert.ok(TERMINALS.includes(this.events.at(-1)?.type ?? ''), 'the terminal event is the last')
    assert.equal(checkEventStream(JSON.stringify(this.events)), null)
  }

  #frame(frame: string): void {
    if (frame.startsWith(':')) {
      assert.ok(!frame.includes('\n'), 'a comment frame is one line')
      this.comments += 1
      return
    }
    const match = /^id: ([0-9a-f]{8})-(\d+)(?:\.(\d+))?\ndata: ([^\n]*)$/u.exec(frame)
    assert.ok(match !== null, `an event frame is an id and one data line: ${JSON.stringify(frame)}`)
    const id = [Number(match[2]), Number(match[3] ?? 0)] as const
    this.#record ??= match[1]
    assert.equal(match[1], this.#record, 'ids name one record')
    const [entry, offset] = this.#lastId
    assert.ok(id[0] > entry || (id[0] === entry && id[1] > offset), 'ids grow')
    this.#lastId = id
    const event = JSON.parse(match[4] ?? '') as WireEvent
    if (event.protocolVersion !== undefined) this.#schema = EventSchema
    this.#schema.parse(event)
    this.events.push(event)
    this.frames.push(`${frame}\n\n`)
  }
}

/** Merges adjacent deltas of one message or call: what a live response and a replay have in common (X10). */
export function compact(events: readonly WireEvent[]): WireEvent[] {
  const merged: WireEvent[] = []
  for (const event of events) {
    const last = merged.at(-1)
    const joins = typeof event.delta === 'string' && last?.delta !== undefined && last.type === event.type
      && last.messageId === event.messageId && last.toolCallId === event.toolCallId
    if (joins) merged[merged.length - 1] = { ...event, delta: `${last.delta}${event.delta}` }
    else merged.push(event)
  }
  return merged
}

/** What happened, one short line an event; deltas merged. Histories and states only by name. */
export function outline(events: readonly WireEvent[]): string[] {
  return compact(events).map((event) => {
    switch (event.type) {
      case 'TEXT_MESSAGE_CONTENT': return `text ${event.delta}`
      case 'TOOL_CALL_START': return `call ${event.toolCallId} ${event.toolCallName}`
      case 'TOOL_CALL_ARGS': return `args ${event.toolCallId} ${event.delta}`
      case 'TOOL_CALL_END': return `end ${event.toolCallId}`
      case 'TOOL_CALL_RESULT': return `result ${event.toolCallId} ${event.content}`
      case 'STATE_SNAPSHOT': return `state ${JSON.stringify(event.snapshot)}`
      case 'CUSTOM': return `card ${event.value?.phase} ${event.value?.callId} ${String(event.value?.card['card'])}`
      case 'RUN_ERROR': return `error ${event.code}`
      default: return event.type
    }
  })
}

/** The lines of {@link outline} behind the opening, whatever the opening is. */
export function body(events: readonly WireEvent[]): string[] {
  const opening = events.findIndex(({ type }) => type === 'MESSAGES_SNAPSHOT')
  return outline(events.slice(opening + 1))
}

/** All text that the model said in a run. */
export function said(events: readonly WireEvent[]): string {
  return events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join('')
}

/** The `at`th history in the run; the last one by default. */
export function history(events: readonly WireEvent[], at = -1): readonly WireMessage[] {
  const snapshot = events.filter(({ type }) => type === 'MESSAGES_SNAPSHOT').at(at)
  assert.ok(snapshot?.messages !== undefined, 'the run has a history')
  return snapshot.messages
}

/** Who said what: role and content of each message, with calls and results named. */
export function transcript(messages: readonly WireMessage[]): string[] {
  return messages.map(({ role, content, toolCalls, toolCallId }) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    const calls = toolCalls?.map(call => `${call.id}=${call.function.name}(${call.function.arguments})`) ?? []
    return [role, ...toolCallId === undefined ? [] : [toolCallId], ...text === undefined ? [] : [text], ...calls].join(' ')
  })
}

/** The code and message of the error that ended a run. */
export function errorOf(events: readonly WireEvent[]): { code: string | undefined, message: string | undefined } {
  const last = events.at(-1)
  assert.equal(last?.type, 'RUN_ERROR')
  return { code: last.code, message: last.message }
}
