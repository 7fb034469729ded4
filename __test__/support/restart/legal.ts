/**
 * What a conversation may look like whose Host was killed at some point (G8, G20): one judgement for every point.
 *
 * The witnesses are the client (every event that it received, and what it holds in the end), the disk right after
 * the kill, and the disk at the end. The judgement:
 *
 * 1. *What ended is durable.* Where the client was told that a run ended, the disk holds the history that it was told,
 *    and the turn's end, unless that waits for the browser.
 * 2. *An interruption is told when there was one.* The disk ends inside a turn, or right behind one that an earlier death
 *    broke off and that nobody was told of, exactly if the first run of the next life answers `THREAD_INTERRUPTED`, behind
 *    the history. It is told once: whoever was told left a note on the disk.
 * 3. *Nothing is lost, nothing is admitted twice.* Everything that was said is in the log and in the client's history
 *    once each, in the order in which it was said. So is every answer of the browser at most once, and every call has one
 *    result.
 * 4. *What clients have seen stays.* Ids are unique, and whatever a client was told by the end of a run is still there, at
 *    its id, unchanged and in order.
 * 5. *All agree.* The client that lived through it, a client that reads the history afresh, and the disk tell the same
 *    conversation, in which every part of the script has its answer.
 */

import assert from 'node:assert/strict'
import { history } from '../wire.ts'
import type { WireEvent, WireMessage } from '../wire.ts'
import type { DiskLog, Said } from './log.ts'
import type { Exchange } from './person.ts'

/** What is known of one conversation. */
export interface Evidence {
  readonly exchanges: readonly Exchange[]
  /** What was said, in order. */
  readonly said: readonly { readonly id: string, readonly text: string }[]
  /** The disk right after each kill. */
  readonly kills: readonly DiskLog[]
  /** The disk at the end. */
  readonly disk: DiskLog
  /** What the client holds at the end. */
  readonly held: readonly WireMessage[]
  /** What a fresh client reads at the end. */
  readonly read: readonly WireMessage[]
}

/** Fails where a conversation is not what it may be. */
export function judge(evidence: Evidence): void {
  for (const [life, disk] of evidence.kills.entries()) {
    endedIsDurable(evidence.exchanges.filter(exchange => exchange.life === life), disk)
    interruptionIsTold(evidence.exchanges.filter(exchange => exchange.life === life + 1), disk, evidence.kills[life + 1])
  }
  assert.deepEqual(codes(evidence.exchanges.filter(({ life }) => life === 0)), [], 'nobody was interrupted before')
  onceEach(evidence)
  seenStays(evidence)
  allAgree(evidence)
}

/** The last run of a life that the client saw end. */
function endedIsDurable(exchanges: readonly Exchange[], disk: DiskLog): void {
  const ended = exchanges.filter(({ events }) => isTerminal(events.at(-1))).at(-1)
  if (ended === undefined || ended.events.at(-1)?.code === 'THREAD_INTERRUPTED') return
  const told = history(ended.events).map(asSaid)
  assert.deepEqual(disk.conversation.slice(0, told.length), told, 'what ended is on the disk')
  const isLast = ended === exchanges.at(-1)
  const waits = told.at(-1)?.calls?.includes('pick') === true
  if (isLast) assert.equal(disk.open.length, waits ? 1 : 0, 'so is the end of its turn')
}

/** @param next - The disk after the next kill, where that life was killed as well. */
function interruptionIsTold(exchanges: readonly Exchange[], disk: DiskLog, next: DiskLog | undefined): void {
  const told = codes(exchanges)
  const expected = disk.untold ? ['THREAD_INTERRUPTED'] : []
  if (next === undefined || told.length > 0) assert.deepEqual(told, expected, 'an interruption is told, once, when there was one')
  if (told.length === 0) return
  const [first] = exchanges
  assert.equal(first?.events.at(-1)?.code, 'THREAD_INTERRUPTED', 'the first run tells it')
  const shown = history(first.events).map(asSaid)
  assert.deepEqual(shown.slice(0, disk.conversation.length), disk.conversation, 'behind the history')
  // Whoever was told and said nothing since is not told again.
  if (next !== undefined && next.conversation.length === disk.conversation.length) assert.ok(!next.untold, 'the disk knows')
}

function onceEach({ said, disk, held, exchanges }: Evidence): void {
  const people = (messages: readonly Said[]) => messages.filter(({ role }) => role === 'user').map(({ id, text }) => ({ id, text }))
  assert.deepEqual(people(disk.conversation), said, 'the log holds what was said, once each')
  assert.deepEqual(people(held.map(asSaid)), said, 'so does the client')
  const results = held.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId)
  const calls = held.flatMap(({ toolCalls }) => toolCalls ?? []).map(({ id }) => id)
  assert.deepEqual(results.toSorted(), calls.toSorted(), 'every call has one result')
  assert.deepEqual(disk.open, [], 'every turn has an end')
  for (const { events } of exchanges) {
    for (const { messages = [] } of events) assertUnique(messages.map(({ id }) => id))
  }
}

function seenStays({ exchanges, held }: Evidence): void {
  assertUnique(held.map(({ id }) => id))
  for (const { events } of exchanges.filter(exchange => exchange.events.at(-1)?.type === 'RUN_FINISHED')) {
    const seen = history(events)
    const ids = new Set(seen.map(({ id }) => id))
    assert.deepEqual(held.filter(({ id }) => ids.has(id)), seen, 'what was seen stays')
  }
}

function allAgree({ disk, held, read }: Evidence): void {
  assert.deepEqual(held, read, 'a fresh client reads what the old one holds')
  assert.deepEqual(read.map(asSaid), disk.conversation, 'and what the disk holds')
}

function codes(exchanges: readonly Exchange[]): string[] {
  return exchanges.flatMap(({ events }) => events.at(-1)?.code ?? []).filter(code => code === 'THREAD_INTERRUPTED')
}

function assertUnique(ids: readonly string[]): void {
  assert.equal(new Set(ids).size, ids.length, `ids are unique: ${ids.join()}`)
}

function isTerminal(event: WireEvent | undefined): boolean {
  return event?.type === 'RUN_FINISHED' || event?.type === 'RUN_ERROR'
}

/** A message as the disk tells it. */
function asSaid({ id, role, content, toolCalls }: WireMessage): Said {
  const text = typeof content === 'string' ? content : ''
  switch (role) {
    case 'user': return { role, id, text }
    case 'assistant': return { role, text, calls: toolCalls?.map(call => call.function.name) ?? [] }
    default: return { role, text }
  }
}
