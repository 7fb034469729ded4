/** Peers that say which protocol they speak: what 1.0 gets beyond 0.0.59, and what nobody gets (X7). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect } from '../support/client.ts'
import type { TestClient } from '../support/client.ts'
import {
  answer, body, bootGateway, browserTool, callTools, hostTool, input, registerTools, resultsSeen, say, transcript, user,
} from '../support/gateway.ts'
import type { TestGateway, WireEvent } from '../support/gateway.ts'

const TOOLS = [browserTool('pick')]
const BOTH = callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }, { id: 'c-2', name: 'pick', args: { label: 'y' } }])
const V1 = { protocolVersion: '1.0' }

/** Everything that the process is warned of while a test runs. */
function warnings(t: TestContext): string[] {
  const said: string[] = []
  t.mock.method(console, 'warn', (...args: unknown[]) => { said.push(args.map(String).join(' ')) })
  return said
}

/** Calls that the client's application was told to answer, run by run. */
function pendingOf(client: TestClient): (readonly string[])[] {
  const told: (readonly string[])[] = []
  client.agent.subscribe({
    onRunFinishedEvent: (params) => { told.push((params as unknown as { pendingToolCallIds: readonly string[] }).pendingToolCallIds) },
  })
  return told
}

const outcomeOf = (events: readonly WireEvent[]): WireEvent['outcome'] => events.at(-1)?.outcome

test('a client of 1.0 learns which calls it owes, whoever made them and whenever', async (t) => {
  const warned = warnings(t)
  const gateway = await bootGateway(t)
  gateway.adapter.queue(BOTH, say('Thanks.'))
  const client = connect(gateway, '1.0.0')
  const told = pendingOf(client)
  await client.say('go', { tools: TOOLS })
  await client.answer({ 'c-2': 'second' }, { tools: TOOLS })
  // One that reads the history later learns it too.
  const reloaded = connect(gateway, '1.0.0')
  const toldAgain = pendingOf(reloaded)
  await reloaded.run({ tools: TOOLS })
  await client.answer({ 'c-1': 'first' }, { tools: TOOLS })
  assert.deepEqual(told, [['c-1', 'c-2'], ['c-1'], []])
  assert.deepEqual(toldAgain, [['c-1']])
  assert.deepEqual(resultsSeen(gateway), ['c-1 first', 'c-2 second'])
  assert.deepEqual(warned, [])
})

test('the wire of a peer that says its version, and of one that does not', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(BOTH, BOTH.map(chunk => chunk))
  const late = await gateway.run({ threadId: 'late', messages: [user('u-1', 'go')], tools: TOOLS, ...V1 })
  assert.deepEqual(late[0], { type: 'RUN_STARTED', threadId: 'late', runId: late[0]?.runId, protocolVersion: '1.0' })
  assert.deepEqual(outcomeOf(late), { type: 'success', pendingToolCallIds: ['c-1', 'c-2'] })
  const early = await gateway.run({ threadId: 'early', messages: [user('u-1', 'go')], tools: TOOLS })
  assert.deepEqual(early[0], { type: 'RUN_STARTED', threadId: 'early', runId: early[0]?.runId })
  assert.deepEqual(early.at(-1), { type: 'RUN_FINISHED', threadId: 'early', runId: early[0]?.runId })
})

test('a turn that a person cancels elsewhere ends with its code for every peer', async (t) => {
  for (const fields of [{}, V1]) {
    const gateway = await bootGateway(t)
    gateway.adapter.queue('hang')
    const active = gateway.post(input({ messages: [user('u-1', 'a')], ...fields }))
    await active.next('TEXT_MESSAGE_CONTENT')
    gateway.agent().cancel({ kind: 'user' })
    const events = await active.end()
    assert.equal(events.at(-1)?.code, 'AGENT_ABORTED')
    // Thread and run are no members of an error in 1.0, and help multiplexers of 0.0.59.
    assert.equal('threadId' in (events.at(-1) ?? {}), !('protocolVersion' in fields))
  }
})

/** One of everything that a run may hold. */
async function everything(gateway: TestGateway, client: TestClient): Promise<void> {
  await registerTools(gateway, hostTool('look', { presentCall: () => ({ card: 'generic', title: 'Looking', kind: 'read' }) }))
  gateway.adapter.queue(
    callTools([
      { id: 's-1', name: 'ag_ui_update_state', args: { state_updates: { n: 2 } } }, { id: 'l-1', name: 'look', args: { path: 'a' } },
    ], 'Looking.'),
    callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }]), say('Done.'), 'hang',
  )
  await client.say('go', { tools: TOOLS, context: [{ description: 'Page', value: '1' }] })
  await client.answer({ 'c-1': 'red' }, { tools: TOOLS })
}

for (const version of ['0.0.59', '1.0.0'] as const) {
  test(`client ${version} finds nothing to warn of in any event`, async (t) => {
    const warned = warnings(t)
    const gateway = await bootGateway(t)
    const client = connect(gateway, version, { state: { n: 1 } })
    await everything(gateway, client)
    assert.deepEqual(client.state, { n: 2 })
    assert.deepEqual(transcript(client.messages).slice(-2), ['tool c-1 red', 'assistant Done.'])
    // An error, too.
    client.agent.subscribe({ onTextMessageContentEvent: () => { gateway.agent().cancel({ kind: 'user' }) } })
    const failed = await client.say('again', { tools: TOOLS })
    assert.equal(failed.at(-1)?.code, 'AGENT_ABORTED')
    assert.deepEqual(warned, [])
  })
}

test('content as 1.0 sends it: parts with ids and metadata, results in parts', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Both.'))
  const words = user('u-1', [{ type: 'text', text: 'one', id: 'p-1', metadata: { lang: 'en' } }, { type: 'text', text: 'two', id: 'p-2' }])
  const first = await gateway.run({ messages: [words], tools: TOOLS, ...V1 })
  assert.deepEqual(first.find(({ type }) => type === 'MESSAGES_SNAPSHOT')?.messages, [words])
  const parts = answer('t-1', 'c-1', 'x', { content: [{ type: 'text', text: 'red', id: 'p-1' }, { type: 'text', text: 'or blue' }] })
  const second = await gateway.run({ messages: [words, parts], tools: TOOLS, ...V1 })
  assert.deepEqual(resultsSeen(gateway), ['c-1 red\nor blue'])
  // Sent again as they were, and as the history has them, they are the same messages.
  const kept = second.filter(({ type }) => type === 'MESSAGES_SNAPSHOT').at(-1)?.messages ?? []
  for (const messages of [[words, parts], kept]) {
    assert.deepEqual(body(await gateway.run({ messages, tools: TOOLS, ...V1 })), ['RUN_FINISHED'])
  }
  const file = { type: 'image', source: { type: 'file', value: 'file-1', provider: 'elsewhere' } }
  const refused = await gateway.refuse(input({ messages: [user('u-2', [file])], ...V1 }))
  assert.equal(refused.code, 'UNSUPPORTED_MESSAGE_CONTENT')
})
