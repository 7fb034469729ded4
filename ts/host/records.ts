/**
 * Durable session events on their way into the gateway.
 *
 * @module
 */

import type { CardReader } from './cards.ts'
import type { LoggedEvent } from './compat.ts'
import { INTERRUPTION_TOLD } from './port.ts'

/**
 * The event types that cross. The projection knows these; the others (requests, inbox, titles, policies, and the
 * chunks of generation A, whose text crosses as deltas) would only cost a parse.
 */
const CROSSING: ReadonlySet<string> = new Set([
  'user/message',
  'assistant/message',
  'assistant/attempt',
  'tool/call',
  'tool/result',
  'turn/start',
  'turn/end',
  'step/start',
  'step/end',
  'deliverables/presented',
  'approval/asked',
  'approval/decided',
  'agent-preset/selected',
  'session/end-seed',
])

/**
 * Encodes an event as the JSON text of a `SessionRecord`.
 *
 * @param event - A durable event. Events of one session must pass in order, as the cards of results need their calls.
 * @param cards - The presenters of the session's agent.
 * @returns The text, or `undefined` for a type that does not cross.
 */
export function encodeRecord(event: LoggedEvent, cards: CardReader): string | undefined {
  const { type, seq } = event
  if (!CROSSING.has(type) && !tellsInterruption(event)) return undefined
  const card = type === 'tool/call' ? cards.ofCall(event.data) : type === 'tool/result' ? cards.ofResult(event.data) : undefined
  const data = JSON.stringify(slim(type, event.data))
  return `{"type":"${type}","seq":${seq},"data":${data}${card === undefined ? '' : `,"card":${card}`}}`
}

/**
 * Encodes a log as the JSON text of an array of records.
 *
 * @param events - Durable events, oldest first.
 * @param cards - The presenters of the session's agent.
 */
export function encodeHistory(events: readonly LoggedEvent[], cards: CardReader): string {
  const records: string[] = []
  for (const event of events) {
    const record = encodeRecord(event, cards)
    if (record !== undefined) records.push(record)
  }
  return `[${records.join(',')}]`
}

/** Of what happens in the inbox only the note that a client was told of an interruption matters. */
function tellsInterruption({ type, data }: LoggedEvent): boolean {
  if (type !== 'agent/inbox/spliced') return false
  const { inserted } = data as { inserted: readonly { source?: { kind: string, form?: unknown } }[] }
  const { kind, form } = INTERRUPTION_TOLD
  return inserted.some(({ source }) => source?.kind === kind && source.form === form)
}

/** Leaves out what no rule of the projection reads. */
function slim(type: string, data: unknown): unknown {
  if ((type === 'assistant/message' || type === 'assistant/attempt') && Object.hasOwn(data as object, 'stream')) {
    // B and C keep an attempt's deltas: beside the message that they made the same text twice, without one nobody's text.
    const { stream: _, ...rest } = data as { stream: unknown }
    return rest
  }
  if (type === 'tool/result' && (data as { meta?: unknown }).meta === null) {
    // A Tool of ours without metadata: the Host has no way to say "none" once a definition may have some.
    const { meta: _, ...rest } = data as { meta: null }
    return rest
  }
  return data
}
