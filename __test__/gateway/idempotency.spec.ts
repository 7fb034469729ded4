/** The same request again: one result, never two turns (G8). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answer, bootGateway, browserTool, callTools, compact, Gate, history, input, outline, say, sayThrough, turnsOf, user,
} from '../support/gateway.ts'

test('a finished request is replayed and drives nothing', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('Hello there, friend'))
  const request = input({ messages: [user('u-1', 'hi')] })
  const first = gateway.post(request)
  const live = await first.end()
  const again = gateway.post(request)
  assert.deepEqual(compact(await again.end()), compact(live))
  const third = gateway.post(request)
  assert.equal(await third.text(), await again.text())
  assert.equal(gateway.adapter.requests.length, 1)
})

test('a live request is joined: both get the same events', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'Hello ', 'there'))
  const request = input({ messages: [user('u-1', 'hi')] })
  const first = gateway.post(request)
  await first.next('TEXT_MESSAGE_CONTENT')
  const second = gateway.post(request)
  await second.next('TEXT_MESSAGE_CONTENT')
  gate.open()
  assert.deepEqual(compact(await second.end()), compact(await first.end()))
  assert.equal(gateway.adapter.requests.length, 1)
})

test('one of two readers leaves and the run goes on; when both have left it is cancelled', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'Hello ', 'there'), 'hang')
  const request = input({ messages: [user('u-1', 'hi')] })
  const first = gateway.post(request)
  await first.next('TEXT_MESSAGE_CONTENT')
  const second = gateway.post(request)
  await second.next('TEXT_MESSAGE_CONTENT')
  first.leave()
  await gateway.run()
  gate.open()
  assert.equal(outline(await second.end()).at(-1), 'RUN_FINISHED')
})

test('concurrent first requests make one thread and one agent', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('Hello'))
  const request = input({ messages: [user('u-1', 'hi')] })
  const both = [gateway.post(request), gateway.post(request)]
  const [first, second] = await Promise.all(both.map(one => one.end()))
  assert.deepEqual(compact(first ?? []), compact(second ?? []))
  assert.equal(gateway.agents.length, 1)
  assert.equal(gateway.adapter.requests.length, 1)
})

test('another body under a used run id conflicts, live and finished', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'Hello ', 'there'))
  const request = input({ messages: [user('u-1', 'hi')] })
  const changed = { ...request, messages: [user('u-1', 'hi!')] }
  const first = gateway.post(request)
  await first.next('TEXT_MESSAGE_CONTENT')
  const refusal = await gateway.refuse(changed)
  assert.deepEqual([refusal.status, refusal.code], [409, 'RUN_ID_CONFLICT'])
  gate.open()
  await first.end()
  assert.equal((await gateway.refuse(changed)).code, 'RUN_ID_CONFLICT')
  // The digest is that of the exact bytes.
  assert.equal((await gateway.refuse(JSON.stringify(request, null, 1))).code, 'RUN_ID_CONFLICT')
  assert.deepEqual(turnsOf(gateway.agent()), ['turn/start', 'assistant/message', 'turn/end'])
})

test('a run id is free again in another thread', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('a'), say('b'))
  await gateway.run({ runId: 'same', messages: [user('u-1', 'hi')] })
  const other = await gateway.run({ runId: 'same', threadId: 'thread-2', messages: [user('u-1', 'ho')] })
  assert.equal(other[0]?.threadId, 'thread-2')
  assert.equal(gateway.adapter.requests.length, 2)
})

test('a history read and a refused turn are replayed too', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('a'), say('b'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  const read = input()
  const first = await gateway.post(read).end()
  await gateway.run({ messages: [user('u-2', 'more')] })
  assert.deepEqual(await gateway.post(read).end(), first)
  const failing = input({ messages: [user('u-3', 'fail')] })
  const failed = await gateway.post(failing).end()
  assert.equal(failed.at(-1)?.type, 'RUN_ERROR')
  assert.deepEqual(compact(await gateway.post(failing).end()), compact(failed))
  assert.equal(gateway.adapter.requests.length, 3)
})

test('a continuation that is repeated answers once', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Done.'))
  const tools = [browserTool('pick')]
  await gateway.run({ messages: [user('u-1', 'go')], tools })
  const request = input({ messages: [answer('t-1', 'c-1', 'red')], tools })
  const live = await gateway.post(request).end()
  assert.deepEqual(compact(await gateway.post(request).end()), compact(live))
  // The same answer under another run id is history.
  const read = await gateway.run({ messages: [answer('t-1', 'c-1', 'red')], tools })
  assert.deepEqual(history(read), history(live))
  assert.equal(turnsOf(gateway.agent()).filter(type => type === 'tool/result').length, 1)
})

test('the ledger forgets the oldest finished run first', async (t) => {
  const gateway = await bootGateway(t, { maxRunsPerThread: 2 })
  gateway.adapter.queue(say('a'))
  const first = input({ messages: [user('u-1', 'hi')] })
  await gateway.post(first).end()
  await gateway.run()
  assert.ok(outline(await gateway.post(first).end()).includes('TEXT_MESSAGE_START'))
  await gateway.run()
  // Forgotten: its message is known, so the same request is a history read now.
  assert.deepEqual(outline(await gateway.post(first).end()), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  assert.equal(gateway.adapter.requests.length, 1)
})

test('a message id with other content conflicts, and the thread goes on', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('a'), say('b'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  const refusal = await gateway.refuse(input({ messages: [user('u-1', 'other'), user('u-2', 'more')] }))
  assert.deepEqual([refusal.status, refusal.code], [409, 'MESSAGE_ID_CONFLICT'])
  assert.equal((await gateway.refuse(input({ messages: [user('u-2', 'x'), user('u-2', 'y')] }))).code, 'MESSAGE_ID_CONFLICT')
  const events = await gateway.run({ messages: [user('u-1', 'hi'), user('u-2', 'more'), user('u-2', 'more')] })
  assert.deepEqual(history(events).filter(({ role }) => role === 'user').map(({ id }) => id), ['u-1', 'u-2'])
})
