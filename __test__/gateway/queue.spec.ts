/** One driving run a thread; the others wait in order (G7). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  body, bootGateway, compact, errorOf, Gate, history, input, nextEvent, said, say, sayThrough, transcript, turnsOf, user,
} from '../support/gateway.ts'
import type { Exchange, InputFields, TestGateway } from '../support/gateway.ts'

/** Sends a request, and waits until the gateway has it. */
async function send(gateway: TestGateway, fields: InputFields): Promise<Exchange> {
  const exchange = gateway.post(input(fields))
  await exchange.received
  return exchange
}

/** A run that drives the thread until the gate opens. */
async function occupy(gateway: TestGateway, gate: Gate): Promise<Exchange> {
  gateway.adapter.queue(sayThrough(gate, 'first', '!'))
  const exchange = gateway.post(input({ messages: [user('u-0', 'first')] }))
  await exchange.next('TEXT_MESSAGE_CONTENT')
  return exchange
}

test('five runs at once are five turns in arrival order', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  const runs = [await occupy(gateway, gate)]
  for (const name of ['1', '2', '3', '4']) {
    gateway.adapter.queue(say(`answer ${name}`))
    runs.push(await send(gateway, { messages: [user(`u-${name}`, `question ${name}`)] }))
  }
  const order: number[] = []
  const ends = runs.map(async (run, index) => {
    const events = await run.end()
    order.push(index)
    return events
  })
  gate.open()
  const all = await Promise.all(ends)
  assert.deepEqual(all.map(said), ['first!', 'answer 1', 'answer 2', 'answer 3', 'answer 4'])
  assert.deepEqual(order, [0, 1, 2, 3, 4])
  assert.deepEqual(transcript(history(all[4] ?? [])), [
    'user first', 'assistant first!', ...['1', '2', '3', '4'].flatMap(name => [`user question ${name}`, `assistant answer ${name}`]),
  ])
  // Each opening holds what was said before it.
  assert.deepEqual(transcript(history(all[1] ?? [], 0)), ['user first', 'assistant first!', 'user question 1'])
  assert.equal(turnsOf(gateway.agent()).filter(type => type === 'turn/start').length, 5)
})

test('threads do not wait for each other', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  const first = await occupy(gateway, gate)
  gateway.adapter.queue(say('other'))
  assert.equal(said(await gateway.run({ threadId: 'thread-2', messages: [user('u-1', 'hi')] })), 'other')
  gate.open()
  await first.end()
})

test('a waiting client that leaves is never admitted and frees its place', async (t) => {
  const gateway = await bootGateway(t, { maxRunsPerThread: 2 })
  const gate = new Gate()
  const first = await occupy(gateway, gate)
  const leaving = await send(gateway, { messages: [user('u-1', 'never mind')] })
  const staying = await send(gateway, { messages: [user('u-2', 'stay')] })
  assert.equal((await gateway.refuse(input({ messages: [user('u-3', 'too many')] }))).code, 'RUN_QUEUE_FULL')
  leaving.leave()
  gateway.adapter.queue(say('stayed'), say('third'))
  // The place is free once the gateway has noticed; whoever comes too early is refused, and may try again.
  const again = input({ messages: [user('u-3', 'now?')] })
  let third = gateway.post(again)
  for (;;) {
    await third.received
    const early = await Promise.race([third.refused().then(() => true, () => false), gateway.run({ threadId: 'thread-2' }).then(() => false)])
    if (!early) break
    third = gateway.post(again)
  }
  gate.open()
  await first.end()
  assert.equal(said(await staying.end()), 'stayed')
  assert.deepEqual(transcript(history(await third.end())).filter(line => line.startsWith('user')), ['user first', 'user stay', 'user now?'])
})

test('a full queue refuses, and what waits is served', async (t) => {
  const gateway = await bootGateway(t, { maxRunsPerThread: 1 })
  const gate = new Gate()
  const first = await occupy(gateway, gate)
  const second = await send(gateway, { messages: [user('u-1', 'second')] })
  const refusal = await gateway.refuse(input({ messages: [user('u-2', 'third')] }))
  assert.deepEqual([refusal.status, refusal.code], [429, 'RUN_QUEUE_FULL'])
  gateway.adapter.queue(say('served'))
  gate.open()
  await first.end()
  assert.equal(said(await second.end()), 'served')
})

test('a ledger full of active runs refuses even a history read', async (t) => {
  const gateway = await bootGateway(t, { maxRunsPerThread: 1 })
  const gate = new Gate()
  const first = await occupy(gateway, gate)
  const refusal = await gateway.refuse(input())
  assert.deepEqual([refusal.status, refusal.code], [429, 'RUN_LEDGER_FULL'])
  gate.open()
  assert.equal(said(await first.end()), 'first!')
  assert.deepEqual(transcript(history(await gateway.run())), ['user first', 'assistant first!'])
})

test('identical requests that wait share one result', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  const first = await occupy(gateway, gate)
  const request = input({ messages: [user('u-1', 'twice')] })
  const twins = [gateway.post(request), gateway.post(request)]
  await Promise.all(twins.map(({ received }) => received))
  assert.equal((await gateway.refuse({ ...request, state: { other: true } })).code, 'RUN_ID_CONFLICT')
  gateway.adapter.queue(say('once'))
  gate.open()
  await first.end()
  const [a, b] = await Promise.all(twins.map(twin => twin.end()))
  assert.equal(said(a ?? []), 'once')
  assert.deepEqual(compact(a ?? []), compact(b ?? []))
  assert.equal(gateway.adapter.requests.length, 2)
})

test('what no longer fits the thread when its turn comes is refused then, by status', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  const first = await occupy(gateway, gate)
  const one = await send(gateway, { messages: [user('u-1', 'this')] })
  const other = await send(gateway, { messages: [user('u-1', 'that')] })
  gateway.adapter.queue(say('ok'))
  gate.open()
  await first.end()
  assert.equal(said(await one.end()), 'ok')
  const refusal = await other.refused()
  assert.deepEqual([refusal.status, refusal.code], [409, 'MESSAGE_ID_CONFLICT'])
})

test('a waiting response that has begun to comment gets its refusal in the stream', async (t) => {
  const gateway = await bootGateway(t, { keepAliveMs: 5 })
  const gate = new Gate()
  const first = await occupy(gateway, gate)
  const one = await send(gateway, { messages: [user('u-1', 'this')] })
  const other = await send(gateway, { messages: [user('u-1', 'that')] })
  await other.comment()
  gateway.adapter.queue(say('ok'))
  gate.open()
  await first.end()
  await one.end()
  const events = await other.end()
  assert.equal(events.length, 1)
  assert.equal(errorOf(events).code, 'MESSAGE_ID_CONFLICT')
})

test('a run that waits for a cancelled turn to settle is served after it', async (t) => {
  const gateway = await bootGateway(t, { threadIdleMs: 1 })
  const gate = new Gate()
  gateway.adapter.queue(async function* ({ signal }) {
    yield { type: 'block-start', index: 0, blockType: 'text' }
    yield { type: 'text-delta', index: 0, text: 'slow' }
    await new Promise<void>((resolve) => { signal?.addEventListener('abort', () => { resolve() }, { once: true }) })
    // The provider takes its time to let go.
    await gate.pass()
    throw new Error('aborted')
  })
  const first = gateway.post(input({ messages: [user('u-0', 'first')] }))
  await first.next('TEXT_MESSAGE_CONTENT')
  const agent = gateway.agent()
  first.leave()
  await gate.reached
  const second = await send(gateway, { messages: [user('u-1', 'second')] })
  gateway.adapter.queue(say('served'))
  const ended = nextEvent(agent, 'turn/end')
  gate.open()
  await ended
  assert.ok(body(await second.end()).includes('text served'))
})
