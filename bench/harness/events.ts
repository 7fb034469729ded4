/** Readers of parsed replies. */
import type { Reply } from './client.ts'
import type { BenchMessage } from './turn.ts'

/** The streamed text of a reply. */
export function collectText({ events = [] }: Reply): string {
  return events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => String(delta)).join('')
}

/** The user and assistant messages of the last snapshot of a reply. */
export function lastSnapshot({ events = [] }: Reply): BenchMessage[] {
  const snapshot = events.findLast(({ type }) => type === 'MESSAGES_SNAPSHOT')
  if (snapshot === undefined) throw new Error('the reply has no MESSAGES_SNAPSHOT')
  return snapshot['messages'] as BenchMessage[]
}
