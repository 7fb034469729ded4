/** The retained record of a run: what fits, what overflows, and whom that stops (G21, X9, X10, X12). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { StreamChunk } from '@deepseek-ai/dsh-llm'
import {
  body, bootGateway, callTools, compact, errorOf, Gate, history, hostTool, input, nextEvent, outline, registerTools, said, say, sayThrough, user,
} from '../support/gateway.ts'

/** A text answer in deltas of their own. */
function deltas(pieces: readonly string[]): StreamChunk[] {
  return [
    { type: 'block-start', index: 0, blockType: 'text' },
    ...pieces.map((text): StreamChunk => ({ type: 'text-delta', index: 0, text })),
    { type: 'block-end', index: 0, block: { type: 'text', text: pieces.join('') } },
    { type: 'finish', reason: { kind: 'stop' } },
  ]
}

test('a reply of 50,000 deltas succeeds at default limits', { timeout: 60_000 }, async (t) => {
  const gateway = await bootGateway(t)
  const pieces = Array.from({ length: 50_000 }, (_, index) => String(index).padStart(8, '0'))
  gateway.adapter.queue(deltas(pieces))
  const request = input({ messages: [user('u-1', 'count')] })
  const events = await gateway.post(request).end()
  assert.equal(events.at(-1)?.type, 'RUN_FINISHED')
  assert.ok(said(events) === pieces.join(''))
  assert.ok(said(await gateway.post(request).end()) === pieces.join(''))
})

test('too many bytes end the run and cancel its turn', async (t) => {
  const gateway = await bootGateway(t, { maxRunEventBytes: 8192, maxIdentityBytes: 64 })
  gateway.adapter.queue(async function* ({ signal }) {
    for (const chunk of deltas(Array.from({ length: 4000 }, () => '0123456789'))) {
      signal?.throwIfAborted()
      yield chunk
      await new Promise(setImmediate)
    }
  })
  const run = gateway.post(input({ messages: [user('u-1', 'count')] }))
  await run.next('TEXT_MESSAGE_START')
  const ended = nextEvent(gateway.agent(), 'turn/end')
  const events = await run.end()
  assert.equal(errorOf(events).code, 'AG_UI_EVENT_BUFFER_OVERFLOW')
  const retained = events.reduce((bytes, event) => bytes + Buffer.byteLength(JSON.stringify(event)), 0)
  // Every frame repeats the head of its event, which the record holds once.
  assert.ok(said(events).length < 8192 && said(events).length > 6000, `${said(events).length} of ${retained}`)
  assert.equal(((await ended).data as { reason: { kind: string } }).reason.kind, 'aborted')
  gateway.adapter.queue(say('small'))
  assert.equal(said(await gateway.run({ threadId: 'thread-2', messages: [user('u-1', 'hi')] })), 'small')
})

test('too many events end the run and cancel its turn, and the next run works', async (t) => {
  const gateway = await bootGateway(t, { maxRunEvents: 12 })
  const calls = Array.from({ length: 4 }, (_, index) => ({ id: `c-${index}`, name: 'nobody', args: { index } }))
  gateway.adapter.queue(callTools(calls), say('never said'))
  const request = input({ messages: [user('u-1', 'go')] })
  const events = await gateway.post(request).end()
  assert.equal(errorOf(events).code, 'AG_UI_EVENT_BUFFER_OVERFLOW')
  assert.ok(compact(events).length <= 12, String(compact(events).length))
  assert.equal(errorOf(await gateway.post(request).end()).code, 'AG_UI_EVENT_BUFFER_OVERFLOW')
  gateway.adapter.queue(say('next'))
  assert.deepEqual(body(await gateway.run({ messages: [user('u-2', 'again')] })).slice(-1), ['RUN_FINISHED'])
})

test('a history that is too large fails its read and cancels nothing', async (t) => {
  const gateway = await bootGateway(t, { maxRunEventBytes: 8192, maxIdentityBytes: 64 })
  const look = new Gate()
  const speak = new Gate()
  await registerTools(gateway, hostTool('look', { execute: async (args, { signal }) => { await look.pass(signal); return args } }))
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'look', args: {} }]), sayThrough(speak, 'still ', 'here'))
  const active = gateway.post(input({ messages: [user('u-1', 'go')] }))
  await look.reached
  // Somebody at the Host adds more than a record of the gateway can hold.
  gateway.agent().steer(createUserMessage({ content: [{ type: 'text', text: 'x'.repeat(9000) }], source: { kind: 'user' } }))
  look.open()
  await active.next('TEXT_MESSAGE_CONTENT')
  const read = await gateway.run()
  assert.equal(errorOf(read).code, 'AG_UI_EVENT_BUFFER_OVERFLOW')
  assert.equal(gateway.agent().status, 'running')
  const ended = nextEvent(gateway.agent(), 'turn/end')
  speak.open()
  assert.deepEqual(((await ended).data as { reason: unknown }).reason, { kind: 'completed' })
  // The closing history of the active run does not fit either; the turn was over by then.
  const events = await active.end()
  assert.equal(said(events), 'still here')
  assert.equal(errorOf(events).code, 'AG_UI_EVENT_BUFFER_OVERFLOW')
})

test('silence is filled with comment frames, before and between events', async (t) => {
  const gateway = await bootGateway(t, { keepAliveMs: 5 })
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'so', '.'), say('ok'))
  const active = gateway.post(input({ messages: [user('u-1', 'hi')] }))
  await active.next('TEXT_MESSAGE_CONTENT')
  const waiting = gateway.post(input({ messages: [user('u-2', 'hi')] }))
  await active.comment()
  await active.comment(active.frames.comments)
  await waiting.comment(2)
  gate.open()
  assert.equal(said(await active.end()), 'so.')
  assert.deepEqual(outline(await waiting.end()).slice(0, 2), ['RUN_STARTED', 'MESSAGES_SNAPSHOT'])
})

test('a response has begun before its model is driven, however many threads there are', async (t) => {
  const gateway = await bootGateway(t)
  const begun: number[] = []
  const runs = Array.from({ length: 8 }, (_, index) => {
    gateway.adapter.queue(() => {
      begun.push(gateway.responses.filter(({ headersSent }) => headersSent).length)
      return deltas(Array.from({ length: 2000 }, () => 'x'))
    })
    return gateway.post(input({ threadId: `thread-${index}`, messages: [user('u-1', 'hi')] }))
  })
  const ends = await Promise.all(runs.map(run => run.end()))
  ends.forEach((events) => { assert.equal(said(events).length, 2000) })
  begun.forEach((responses, driven) => { assert.ok(responses > driven, `${responses} responses, ${driven} models`) })
})

test('with no flush interval every delta is a frame of its own', async (t) => {
  const gateway = await bootGateway(t, { flushIntervalMs: 0 })
  gateway.adapter.queue(async function* () {
    for (const chunk of deltas(['a', 'b', 'c'])) {
      yield chunk
      await new Promise(setImmediate)
    }
  })
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.deepEqual(events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta), ['a', 'b', 'c'])
  assert.deepEqual(history(events).length, 2)
})
