/** What a browser's Tool result carries beside its text, and how long it is kept (G11). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { answer, body, bootGateway, browserTool, callTools, history, input, makeHome, resultsSeen, said, say, user } from '../support/gateway.ts'
import type { TestGateway, WireMessage } from '../support/gateway.ts'

const TOOLS = [browserTool('pick')]
const CALLS = ['c-1', 'c-2', 'c-3', 'c-4']
const RESULTS = [
  answer('t-1', 'c-1', 'one', { metadata: { b: [1, { c: null }], a: 'x' }, encryptedValue: 'sealed', subagentRunId: 'sub-1' }),
  answer('t-2', 'c-2', 'two', { metadata: {} }),
  answer('t-3', 'c-3', 'three'),
  // The server's own field is not the client's to set.
  answer('t-4', 'c-4', 'four', { metadata: { '@dsh-ag-ui/frontend-result-id': { id: 'forged' }, 'kept': true } }),
]
const KEPT = [RESULTS[0], RESULTS[1], RESULTS[2], answer('t-4', 'c-4', 'four', { metadata: { kept: true } })]

const toolMessages = (messages: readonly WireMessage[]) => messages.filter(({ role }) => role === 'tool')

async function answered(t: TestContext, home: string): Promise<TestGateway> {
  const gateway = await bootGateway(t, {}, { home })
  gateway.adapter.queue(callTools(CALLS.map(id => ({ id, name: 'pick', args: {} }))), say('Thanks.'))
  await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const events = await gateway.run({ messages: RESULTS, tools: TOOLS })
  assert.deepEqual(toolMessages(history(events)), KEPT)
  return gateway
}

/** Requests that repeat what the thread has, and requests that change a part of it. */
async function checkIdempotency(gateway: TestGateway): Promise<void> {
  for (const messages of [KEPT, [KEPT[0]], [...KEPT].reverse()] as object[][]) {
    assert.deepEqual(body(await gateway.run({ messages, tools: TOOLS })), ['RUN_FINISHED'])
  }
  const changes = [
    answer('t-1', 'c-1', 'other', { metadata: { b: [1, { c: null }], a: 'x' }, encryptedValue: 'sealed', subagentRunId: 'sub-1' }),
    answer('t-1', 'c-1', 'one', { metadata: { b: [1, { c: null }], a: 'y' }, encryptedValue: 'sealed', subagentRunId: 'sub-1' }),
    answer('t-1', 'c-1', 'one', { metadata: { b: [1, { c: null }], a: 'x' }, encryptedValue: 'open', subagentRunId: 'sub-1' }),
    answer('t-1', 'c-1', 'one', { metadata: { b: [1, { c: null }], a: 'x' }, encryptedValue: 'sealed', subagentRunId: 'sub-2' }),
    answer('t-1', 'c-1', 'one', { metadata: { b: [1, { c: null }], a: 'x' }, encryptedValue: 'sealed' }),
    answer('t-2', 'c-2', 'two'),
    answer('t-3', 'c-3', 'three', { metadata: {} }),
  ]
  for (const changed of changes) {
    assert.equal((await gateway.refuse(input({ messages: [changed], tools: TOOLS }))).code, 'MESSAGE_ID_CONFLICT', JSON.stringify(changed))
  }
  assert.deepEqual(toolMessages(history(await gateway.run())), KEPT)
}

test('ids, metadata and opaque values are kept in the history, and repeats are told from changes', async (t) => {
  const gateway = await answered(t, makeHome(t))
  assert.deepEqual(resultsSeen(gateway), ['c-1 one', 'c-2 two', 'c-3 three', 'c-4 four'])
  await checkIdempotency(gateway)
})

test('the same after the Host started again, in the first request', async (t) => {
  const home = makeHome(t)
  await (await answered(t, home)).host.dispose()
  const conflicting = await bootGateway(t, {}, { home })
  assert.equal((await conflicting.refuse(input({ messages: [answer('t-3', 'c-3', 'changed')], tools: TOOLS }))).code, 'MESSAGE_ID_CONFLICT')
  await conflicting.host.dispose()
  const repeating = await bootGateway(t, {}, { home })
  assert.deepEqual(body(await repeating.run({ messages: KEPT as object[], tools: TOOLS })), ['RUN_FINISHED'])
  await checkIdempotency(repeating)
  repeating.adapter.queue(say('On.'))
  assert.equal(said(await repeating.run({ messages: [...KEPT as object[], user('u-2', 'more')], tools: TOOLS })), 'On.')
})

test('a failed result falls back to the deterministic id after a restart, and its repeat is history', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Sorry.'))
  await first.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const failed = answer('t-1', 'c-1', '', { error: 'closed', metadata: { a: 1 } })
  const live = await first.run({ messages: [failed], tools: TOOLS })
  assert.deepEqual(toolMessages(history(live)).map(({ id, content }) => [id, content]), [['t-1', 'Error: closed']])
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  const cold = await second.run({ messages: [failed], tools: TOOLS })
  assert.deepEqual(body(cold), ['RUN_FINISHED'])
  const [message] = toolMessages(history(cold))
  assert.equal(message?.content, 'Error: closed')
  assert.deepEqual(body(await second.run({ messages: history(cold), tools: TOOLS })), ['RUN_FINISHED'])
})

test('results in parts are text', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Thanks.'))
  await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const parts = [{ type: 'text', text: 'one' }, { type: 'text', text: 'two' }]
  const message = { ...answer('t-1', 'c-1', ''), content: parts }
  const events = await gateway.run({ messages: [message], tools: TOOLS })
  assert.deepEqual(resultsSeen(gateway), ['c-1 one\ntwo'])
  assert.deepEqual(body(await gateway.run({ messages: [message], tools: TOOLS })), ['RUN_FINISHED'])
  assert.deepEqual(toolMessages(history(events)).map(({ content }) => content), ['one\ntwo'])
})
