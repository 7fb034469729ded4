/**
 * What tells generation B of DSH from C, and the message shapes that follow from it (host-api §4.1).
 */

import { randomUUID } from 'node:crypto'
import { createAssistantMessage, createToolResultMessage, deepFreeze, freezeMessage } from '@deepseek-ai/dsh-llm'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'

/** B: 0.1.2 to 0.1.6. C: 0.1.7 and later. */
export type Generation = 'B' | 'C'

/** The version in a session's header. */
export const FORMAT_VERSION: Readonly<Record<Generation, number>> = { B: 3, C: 4 }

/** A message of any generation. */
export interface AnyMessage {
  readonly id: string
  readonly role: string
  readonly content: readonly ContentBlock[]
  readonly source: { readonly kind: string, readonly [key: string]: unknown }
}

/** A durable event. */
export interface LogEvent {
  readonly type: string
  readonly seq: number
  readonly time: number
  readonly data: unknown
  readonly surfaceOp?: 'append' | { readonly op: 'replace', readonly startSeq: number, readonly endSeq: number }
  readonly sourceEventSeqs?: readonly number[]
}

/** A Tool's result in the log: a block nested in a user message in B, a message with a role of its own in C. */
export function toolResultMessage(
  generation: Generation, callId: string, content: readonly ContentBlock[], isError: boolean,
): AnyMessage {
  if (generation === 'B') {
    return createToolResultMessage({ callId: callId as never, content: [...content], isError }) as unknown as AnyMessage
  }
  return deepFreeze({
    id: randomUUID(), role: 'tool', toolCallId: callId, content: [...content], source: { kind: 'tool', callId },
    ...isError ? { isError } : {},
  })
}

/** The model's own message. */
export function assistantMessage(content: readonly ContentBlock[], { provider, model }: { provider: string, model: string }): AnyMessage {
  return createAssistantMessage({ content: [...content], source: { provider, model } }) as unknown as AnyMessage
}

/** A message in a role and of a producer that only C has. */
export function producedMessage(role: 'system' | 'developer', kind: string, content: readonly object[]): AnyMessage {
  return deepFreeze({ id: randomUUID(), role, content: [...content] as never, source: { kind } })
}

/** Context that the Host adds beside what people say. C has no kind that producers share. */
export function contextMessage(generation: Generation, text: string, sections: readonly object[]): AnyMessage {
  const source = generation === 'B'
    ? { kind: 'plugin', plugin: '@deepseek-ai/dsh-system-prompt', form: 'snapshot', sections }
    : { kind: 'system-prompt', form: 'snapshot', sections }
  return freezeMessage({
    id: randomUUID() as never, role: 'user', content: [{ type: 'text', text }], source: source as never,
  }) as unknown as AnyMessage
}

/** The tool-result shape that a log of this generation must have, from the shape that a log of B has. */
export function convertResult(generation: Generation, event: LogEvent): LogEvent {
  if (generation === 'B' || event.type !== 'tool/result') return event
  const data = event.data as { message: AnyMessage & { content: [{ toolCallId: string, content: ContentBlock[], isError?: boolean }] } }
  const { id, content: [block] } = data.message
  const message = { ...toolResultMessage('C', block.toolCallId, block.content, block.isError ?? false), id }
  return { ...event, data: { ...data, message } }
}
