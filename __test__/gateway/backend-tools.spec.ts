/** Tools of the Host: calls, results, and the cards beside them (G10, G14). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, VERSIONS } from '../support/client.ts'
import {
  body, bootGateway, callTools, GENERATION, history, hostTool, outline, registerTools, say, transcript, user,
} from '../support/gateway.ts'
import type { WireEvent } from '../support/gateway.ts'

const cardsOf = (events: readonly WireEvent[]) => events.filter(({ type }) => type === 'CUSTOM')

/** A Tool with presenters of its own. */
const READ = hostTool('read_file', {
  output: {
    schema: {},
    render: () => [{ type: 'text', text: 'line one' }],
    presentationMeta: () => ({ lines: 1 }),
  },
  presentCall: args => ({ card: 'generic', title: `Reading ${(args as { path: string }).path}`, kind: 'read' }),
  presentResult: (_args, { meta }) => ({ card: 'terminal', output: JSON.stringify(meta), exitCode: 0 }),
})

test('a call streams its arguments, then its cards and its result in order', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, READ)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'read_file', args: { path: 'a.ts' } }], 'Let me look.'), say('Done.'))
  const events = await gateway.run({ messages: [user('u-1', 'read it')] })
  assert.deepEqual(body(events), [
    'TEXT_MESSAGE_START', 'text Let me look.', 'TEXT_MESSAGE_END',
    'call c-1 read_file', 'args c-1 {"path":"a.ts"}', 'end c-1', 'card call c-1 generic',
    'result c-1 line one', 'card result c-1 terminal',
    'TEXT_MESSAGE_START', 'text Done.', 'TEXT_MESSAGE_END',
    'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  assert.deepEqual(cardsOf(events), [
    {
      type: 'CUSTOM', name: 'dsh:tool:view',
      value: {
        version: 1, callId: 'c-1', toolName: 'read_file', phase: 'call',
        card: { card: 'generic', title: 'Reading a.ts', kind: 'read' },
      },
    },
    {
      type: 'CUSTOM', name: 'dsh:tool:view',
      value: {
        version: 1, callId: 'c-1', toolName: 'read_file', phase: 'result',
        card: { card: 'terminal', output: '{"lines":1}', exitCode: 0 },
      },
    },
  ])
  assert.deepEqual(transcript(history(events)), [
    'user read it', 'assistant Let me look. c-1=read_file({"path":"a.ts"})', 'tool c-1 line one', 'assistant Done.',
  ])
  const result = events.find(({ type }) => type === 'TOOL_CALL_RESULT')
  assert.equal(history(events)[2]?.id, result?.messageId)
  const parent = events.find(({ type }) => type === 'TOOL_CALL_START')?.parentMessageId
  assert.equal(history(events)[1]?.id, parent)
})

test('arguments are streamed as the model produces them', async (t) => {
  const gateway = await bootGateway(t, { flushIntervalMs: 0 })
  await registerTools(gateway, READ)
  gateway.adapter.queue(async function* () {
    for (const chunk of callTools([{ id: 'c-1', name: 'read_file', args: { path: 'a.ts' } }])) {
      yield chunk
      await new Promise(setImmediate)
    }
  }, say('ok'))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  assert.deepEqual(events.filter(({ type }) => type === 'TOOL_CALL_ARGS').map(({ delta }) => delta), ['{"path":', '"a.ts"}'])
})

test('cards of settled calls come with every later opening, equal to those that were live', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, READ, hostTool('plain'))
  gateway.adapter.queue(
    callTools([{ id: 'c-1', name: 'read_file', args: { path: 'a.ts' } }, { id: 'c-2', name: 'plain', args: {} }]), say('Done.'), say('Yes.'))
  const live = await gateway.run({ messages: [user('u-1', 'read it')] })
  assert.equal(cardsOf(live).length, 4)
  const cold = await gateway.run()
  const settled = ['card call c-1 generic', 'card result c-1 terminal', 'card call c-2 generic', 'card result c-2 generic']
  assert.deepEqual(outline(cold), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', ...settled, 'RUN_FINISHED'])
  const byCall = (events: readonly WireEvent[]) => cardsOf(events).sort((a, b) =>
    `${a.value?.callId} ${a.value?.phase}` < `${b.value?.callId} ${b.value?.phase}` ? -1 : 1)
  assert.deepEqual(byCall(cold), byCall(live))
  const next = await gateway.run({ messages: [user('u-2', 'sure?')] })
  assert.deepEqual(outline(next), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', ...settled,
    'TEXT_MESSAGE_START', 'text Yes.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
})

test('a Tool without a usable presenter gets generic cards, an unknown Tool gets none', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('plain'), hostTool('silent', { presentCall: () => undefined, presentResult: () => undefined }),
    hostTool('broken', {
      presentCall: () => { throw new Error('no call view') },
      presentResult: () => { throw new Error('no result view') },
    }))
  const names = ['plain', 'silent', 'broken', 'nobody']
  gateway.adapter.queue(callTools(names.map(name => ({ id: `c-${name}`, name, args: { path: name } }))), say('ok'))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  const expected = names.slice(0, 3).flatMap(name => [
    { version: 1, callId: `c-${name}`, toolName: name, phase: 'call', card: { card: 'generic', title: name, rawInput: { path: name } } },
    { version: 1, callId: `c-${name}`, toolName: name, phase: 'result', card: { card: 'generic' } },
  ])
  assert.deepEqual(cardsOf(events).map(({ value }) => value).sort((a, b) =>
    names.indexOf(a?.toolName ?? '') - names.indexOf(b?.toolName ?? '')), expected)
})

test('results of every kind become text', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('mixed', {
    output: {
      schema: {},
      render: () => [
        { type: 'text', text: 'one' },
        { type: 'reasoning', text: 'two' },
        { type: 'image', attachment: { kind: 'ref', id: 'x', mediaType: 'image/png' } },
        { type: 'file', attachment: { id: 'y' } },
        { type: 'tool-call', id: 'n-1', name: 'inner', arguments: '{}' },
        // The newest DSH knows no such block; in a log of it one is refused.
        GENERATION === 'C' ? { type: 'text', text: 'three' }
          : { type: 'tool-result', toolCallId: 'n-1', content: [{ type: 'text', text: 'three' }] },
        { type: 'text', text: 'four' },
      ] as never,
    },
  }), hostTool('failing', { execute: () => Promise.reject(new Error('no luck')) }))
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'mixed', args: {} }, { id: 'c-2', name: 'failing', args: {} }]), say('ok'))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ toolCallId, content }) => [toolCallId, content])
  assert.deepEqual(results, [['c-1', 'one\ntwo\n[image result]\n[file result]\n[nested tool call: inner]\nthree\nfour'], ['c-2', 'Error: no luck']])
})

test('broken arguments of the model are shown as they are, and fail the call', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('plain', { execute: args => typeof args === 'string' ? Promise.reject(new Error('bad')) : Promise.resolve(args) }))
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'plain', args: '{"path":' }]), say('ok'))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  assert.deepEqual(cardsOf(events).map(({ value }) => value?.card),
    [{ card: 'generic', title: 'plain', rawInput: '{"path":' }, { card: 'generic' }])
  assert.ok(body(events).includes('args c-1 {"path":'))
})

test('a provider that repeats a call id in another turn gets another id on the wire', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('plain'))
  const call = () => callTools([{ id: 'c-1', name: 'plain', args: { path: 'x' } }])
  gateway.adapter.queue(call(), say('a'), call(), say('b'))
  await gateway.run({ messages: [user('u-1', 'go')] })
  const events = await gateway.run({ messages: [user('u-2', 'again')] })
  const ids = history(events).flatMap(({ toolCalls }) => toolCalls ?? []).map(({ id }) => id)
  assert.equal(new Set(ids).size, 2)
  assert.equal(events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.toolCallId, ids[1])
  assert.deepEqual(new Set(history(events).map(({ id }) => id)).size, history(events).length)
})

for (const version of VERSIONS) {
  test(`client ${version} holds calls and results as the history has them, and may send them back`, async (t) => {
    const gateway = await bootGateway(t)
    await registerTools(gateway, READ)
    gateway.adapter.queue(callTools([{ id: 'c-1', name: 'read_file', args: { path: 'a.ts' } }], 'Let me look.'), say('Done.'), say('Yes.'))
    const client = connect(gateway, version)
    const events = await client.say('read it')
    assert.deepEqual(JSON.parse(JSON.stringify(client.messages)), history(events))
    await client.say('sure?')
    assert.deepEqual(transcript(client.messages).slice(-2), ['user sure?', 'assistant Yes.'])
    assert.equal(gateway.adapter.requests.length, 3)
  })
}
