/** Shared state, both ways (G12). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, VERSIONS } from '../support/client.ts'
import {
  body, bootGateway, callTools, history, hostTool, input, outline, registerTools, resultsSeen, say, toolsSeen, transcript, user,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

const STATE_TOOL = 'ag_ui_update_state'
const update = (id: string, updates: unknown) => callTools([{ id, name: STATE_TOOL, args: { state_updates: updates } }])

/** Every text that the model saw in its last request. */
function promptOf(gateway: TestGateway): string {
  return (gateway.adapter.requests.at(-1)?.messages ?? []).flatMap(({ content }) => content)
    .map(block => block.type === 'text' ? block.text : '').join('\n')
}

for (const version of VERSIONS) {
  test(`the state goes to the model and comes back changed, with client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    const client = connect(gateway, version, { state: { recipe: { title: 'Draft', steps: [1] }, theme: 'dark' } })
    gateway.adapter.queue(update('s-1', { recipe: { title: 'Pasta' } }), say('Changed it.'))
    const events = await client.say('change the title')
    assert.deepEqual(outline(events), [
      'RUN_STARTED', 'state {"recipe":{"title":"Draft","steps":[1]},"theme":"dark"}', 'MESSAGES_SNAPSHOT',
      'state {"recipe":{"title":"Pasta"},"theme":"dark"}',
      'TEXT_MESSAGE_START', 'text Changed it.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
    ])
    // Merged at the top level: a nested value is replaced.
    assert.deepEqual(client.state, { recipe: { title: 'Pasta' }, theme: 'dark' })
    assert.deepEqual(transcript(client.messages), ['user change the title', 'assistant Changed it.'])
    assert.deepEqual(resultsSeen(gateway), ['s-1 {"recipe":{"title":"Pasta"},"theme":"dark"}'])
    assert.ok(promptOf(gateway).includes('## Current Shared State\n{"recipe":{"title":"Draft","steps":[1]},"theme":"dark"}'))
    client.agent.setState({ recipe: { title: 'Mine' } })
    gateway.adapter.queue(say('I see.'))
    await client.say('look')
    assert.ok(promptOf(gateway).includes('## Current Shared State\n{"recipe":{"title":"Mine"}}'))
    const reloaded = connect(gateway, version)
    await reloaded.run()
    assert.deepEqual(reloaded.state, { recipe: { title: 'Mine' } })
  })
}

test('an empty first state does not activate: no Tool, no snapshot', async (t) => {
  const gateway = await bootGateway(t)
  for (const [index, state] of [{}, [], null, '', undefined].entries()) {
    gateway.adapter.queue(say('ok'))
    const events = await gateway.run({ messages: [user(`u-${index}`, 'hi')], state })
    assert.ok(!outline(events).some(line => line.startsWith('state')), JSON.stringify(state))
    assert.deepEqual(toolsSeen(gateway), [])
  }
})

test('once active, every present state is the baseline, and an absent one keeps what is', async (t) => {
  const gateway = await bootGateway(t)
  const state = async (state: unknown): Promise<string | undefined> => {
    gateway.adapter.queue(say('ok'))
    const { state: _, ...rest } = input({ messages: [user(crypto.randomUUID(), 'hi')] })
    const events = await gateway.post(state === undefined ? rest : { ...rest, state }).end()
    assert.deepEqual(toolsSeen(gateway), [STATE_TOOL])
    return outline(events).find(line => line.startsWith('state'))
  }
  assert.equal(await state({ a: 1 }), 'state {"a":1}')
  assert.equal(await state(undefined), 'state {"a":1}')
  assert.equal(await state([]), 'state []')
  assert.equal(await state({}), 'state {}')
  assert.equal(await state(null), 'state null')
  assert.equal(await state([1, 'two']), 'state [1,"two"]')
  assert.equal(await state('text'), 'state "text"')
})

test('equal updates give a result and no snapshot', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(update('s-1', { a: 1 }), update('s-2', { b: 2 }), update('s-3', { b: 2 }), say('Done.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], state: { a: 1 } })
  assert.deepEqual(outline(events).filter(line => line.startsWith('state')), ['state {"a":1}', 'state {"a":1,"b":2}'])
  assert.deepEqual(resultsSeen(gateway), ['s-1 {"a":1}', 's-2 {"a":1,"b":2}', 's-3 {"a":1,"b":2}'])
})

test('two updates of one step build on each other', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([
    { id: 's-1', name: STATE_TOOL, args: { state_updates: { b: 2 } } }, { id: 's-2', name: STATE_TOOL, args: { state_updates: { c: 3 } } },
  ]), say('Done.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], state: { a: 1 } })
  assert.deepEqual(outline(events).filter(line => line.startsWith('state')), ['state {"a":1}', 'state {"a":1,"b":2}', 'state {"a":1,"b":2,"c":3}'])
})

test('updates that cannot be made are refused and change nothing', async (t) => {
  const gateway = await bootGateway(t, { maxStateBytes: 64 })
  gateway.adapter.queue(callTools([
    { id: 's-1', name: STATE_TOOL, args: {} }, { id: 's-2', name: STATE_TOOL, args: { state_updates: [] } },
    { id: 's-3', name: STATE_TOOL, args: '{' }, { id: 's-4', name: STATE_TOOL, args: { state_updates: { big: 'x'.repeat(64) } } },
  ]), say('Sorry.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], state: { a: 1 } })
  assert.deepEqual(outline(events).filter(line => line.startsWith('state')), ['state {"a":1}'])
  assert.equal(resultsSeen(gateway).filter(line => /^s-\d Error: /u.test(line)).length, 4)
  assert.match(resultsSeen(gateway)[3] ?? '', /limit of 64 bytes/u)
  assert.deepEqual(transcript(history(events)), ['user go', 'assistant Sorry.'])
})

test('state calls beside others: hidden, the others shown', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('look'))
  gateway.adapter.queue(callTools([
    { id: 'c-1', name: 'look', args: { path: 'a' } }, { id: 's-1', name: STATE_TOOL, args: { state_updates: { a: 2 } } },
  ], 'Let me.'), say('Done.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], state: { a: 1 } })
  assert.ok(!JSON.stringify(events).includes(STATE_TOOL))
  assert.deepEqual(body(events), [
    'TEXT_MESSAGE_START', 'text Let me.', 'TEXT_MESSAGE_END', 'call c-1 look', 'args c-1 {"path":"a"}', 'end c-1',
    'card call c-1 generic', 'result c-1 {"path":"a"}', 'card result c-1 generic', 'state {"a":2}',
    'TEXT_MESSAGE_START', 'text Done.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  assert.deepEqual(transcript(history(events)), ['user go', 'assistant Let me. c-1=look({"path":"a"})', 'tool c-1 {"path":"a"}', 'assistant Done.'])
})

test('a Tool of the Host under the reserved name is a collision once state is active', async (t) => {
  const gateway = await bootGateway(t)
  const taken = await registerTools(gateway, hostTool(STATE_TOOL))
  gateway.adapter.queue(say('ok'))
  assert.equal(body(await gateway.run({ messages: [user('u-1', 'hi')] })).at(-1), 'RUN_FINISHED')
  assert.equal((await gateway.refuse(input({ messages: [user('u-2', 'hi')], state: { a: 1 } }))).code, 'SHARED_STATE_TOOL_COLLISION')
  await taken.dispose()
  gateway.adapter.queue('hang')
  const active = gateway.post(input({ messages: [user('u-2', 'hi')], state: { a: 1 } }))
  await active.next('TEXT_MESSAGE_CONTENT')
  await registerTools(gateway, hostTool(STATE_TOOL))
  assert.equal((await active.end()).at(-1)?.code, 'SHARED_STATE_TOOL_COLLISION')
})
