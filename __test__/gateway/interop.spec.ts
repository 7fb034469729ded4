/** Surfaces and the habits of chat clients: what is rendered, what a person does on it, and calls that nobody answers (G19, X7). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, bootGateway, browserTool, callTools, history, input, logOf, say, said, user } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

const RENDER = browserTool('render_a2ui', { parameters: { type: 'object', properties: { surfaceId: { type: 'string' } } } })
const ACTION = { name: 'book', surfaceId: 's1', sourceComponentId: 'btn', context: { id: 7 }, timestamp: '2026-01-01T00:00:00Z' }
const SENTENCE = 'User performed action "book" on surface "s1" (component: btn). Context: {"id":7}'

/** What the A2UI middleware makes of an action. */
function act(id: string, action: object = ACTION, sentence = SENTENCE): { messages: object[], forwardedProps: object } {
  return {
    forwardedProps: { a2uiAction: { userAction: action } },
    messages: [
      {
        id: `${id}-call`, role: 'assistant', content: '',
        toolCalls: [{ id: `${id}-c`, type: 'function', function: { name: 'log_a2ui_event', arguments: JSON.stringify(action) } }],
      },
      { id, role: 'tool', toolCallId: `${id}-c`, content: sentence },
    ],
  }
}

/** Texts that the model was sent last, of messages that are not the model's. */
function seen(gateway: TestGateway): string {
  return JSON.stringify(gateway.adapter.requests.at(-1)?.messages)
}

test('the render Tool that the middleware names settles inside its run, and the turn goes on', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c1', name: 'render_a2ui', args: { surfaceId: 's1' } }]), say('there it is'))
  const events = await gateway.run({
    messages: [user('u-1', 'show it')], tools: [RENDER], forwardedProps: { injectA2UITool: true },
  })
  assert.equal(said(events), 'there it is')
  const results = events.filter(event => event.type === 'TOOL_CALL_RESULT')
  assert.deepEqual(results.map(({ toolCallId, content }) => [toolCallId, content]), [['c1', '{"status":"rendered"}']])
  assert.deepEqual(events.filter(event => event.type === 'CUSTOM'), [])
  // The middleware's own result for the call, under an id of its own, is history.
  gateway.adapter.queue(say('more'))
  const next = await gateway.run({
    messages: [user('u-1', 'show it'), answer('synthetic', 'c1', '{"status":"rendered"}'), user('u-2', 'and now?')],
    tools: [RENDER], forwardedProps: { injectA2UITool: true },
  })
  assert.equal(said(next), 'more')
})

test('a render Tool that the client registers by itself waits for its answer', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c1', name: 'render_a2ui', args: {} }]), say('answered'))
  const parked = await gateway.run({ messages: [user('u-1', 'show it')], tools: [RENDER] })
  assert.equal(parked.some(event => event.type === 'TOOL_CALL_RESULT'), false)
  assert.equal(said(await gateway.run({ messages: [answer('t-1', 'c1', 'drawn')], tools: [RENDER] })), 'answered')
})

test('an action opens a turn once, whatever the run is called, also after a restart', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('hello'), say('booked'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.equal(said(await gateway.run(act('a-1'))), 'booked')
  assert.match(seen(gateway), /User performed action \\"book\\" on surface \\"s1\\" \(component: btn\)/u)
  assert.match(seen(gateway), /\{\\"context\\":\{\\"id\\":7\},\\"name\\":\\"book\\",\\"sourceComponentId\\":\\"btn\\",\\"surfaceId\\":\\"s1\\",\\"timestamp\\"/u)
  const requests = gateway.adapter.requests.length
  const again = await gateway.run(act('a-1'))
  assert.equal(said(again), '')
  assert.deepEqual(history(again).map(({ role }) => role), ['user', 'assistant', 'assistant'])
  await gateway.unload()
  await gateway.mount()
  assert.equal(said(await gateway.run(act('a-1'))), '')
  assert.equal(gateway.adapter.requests.length, requests)
  const other = await gateway.refuse(input(act('a-1', { ...ACTION, context: { id: 8 } }, SENTENCE.replace('7', '8'))))
  assert.deepEqual([other.status, other.code], [409, 'MESSAGE_ID_CONFLICT'])
})

test('an action without its envelope or its pair is refused, and changes nothing', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('hello'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  const before = logOf(gateway.agent()).length
  const good = act('a-1')
  for (const bad of [
    { ...good, messages: [] },
    { ...good, messages: good.messages.slice(0, 1) },
    { ...good, forwardedProps: { a2uiAction: { userAction: { ...ACTION, name: 'other' } } } },
    { ...good, forwardedProps: { a2uiAction: { userAction: ACTION, more: 1 } } },
    act('a-1', { ...ACTION, more: 1 }),
    act('a-1', ACTION, 'User performed nothing'),
  ]) {
    const refusal = await gateway.refuse(input(bad))
    assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_A2UI_ACTION'])
  }
  const mixed = act('a-1')
  const refusal = await gateway.refuse(input({ ...mixed, messages: [user('u-2', 'new'), ...mixed.messages] }))
  assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_MESSAGE_BATCH'])
  assert.equal(logOf(gateway.agent()).length, before)
})

/** An assistant message as a client holds it. */
function called(...ids: string[]): object {
  return {
    id: `held-${ids.join('-')}`, role: 'assistant', content: '',
    toolCalls: ids.map(id => ({ id, type: 'function', function: { name: 'pick', arguments: '{}' } })),
  }
}

test('a person who writes on behind open calls passes them over, and the same turn goes on', async (t) => {
  const gateway = await bootGateway(t)
  const tools = [browserTool('pick')]
  gateway.adapter.queue(callTools([{ id: 'c1', name: 'pick', args: {} }, { id: 'c2', name: 'pick', args: {} }]), say('never mind'))
  await gateway.run({ messages: [user('u-1', 'choose')], tools })
  // Without the calls in its history the client does not know of them.
  const unaware = await gateway.refuse(input({ messages: [user('u-1', 'choose'), user('u-2', 'skip it')], tools }))
  assert.deepEqual([unaware.status, unaware.code], [409, 'AGENT_BUSY'])
  const events = await gateway.run({
    messages: [user('u-1', 'choose'), called('c1', 'c2'), answer('t-1', 'c1', 'Error: the handler failed'), user('u-2', 'skip it')], tools,
  })
  assert.equal(said(events), 'never mind')
  assert.equal(logOf(gateway.agent()).filter(({ type }) => type === 'turn/start').length, 1)
  assert.match(seen(gateway), /Error: the handler failed/u)
  assert.match(seen(gateway), /the browser gave no result/u)
  assert.deepEqual(
    history(events).filter(({ role }) => role === 'user').map(({ id }) => id), ['u-1', 'u-2'])
})

test('what a runtime in between invents is nobody\'s answer', async (t) => {
  const gateway = await bootGateway(t)
  const tools = [browserTool('pick')]
  gateway.adapter.queue(callTools([{ id: 'c1', name: 'pick', args: {} }]), say('red it is'))
  await gateway.run({ messages: [user('u-1', 'choose')], tools })
  const invented = '{"status":"stopped","reason":"stop_requested","message":"Run stopped by user"}'
  const read = await gateway.run({ messages: [user('u-1', 'choose'), answer('c1-result', 'c1', invented)], tools })
  assert.equal(read.at(-1)?.type, 'RUN_FINISHED')
  assert.equal(said(await gateway.run({ messages: [answer('t-1', 'c1', 'red')], tools })), 'red it is')
})

test('a history that a client has shortened to regenerate is only read, and comes back whole', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('first'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.equal(said(events), '')
  assert.deepEqual(history(events).map(({ role }) => role), ['user', 'assistant'])
})

test('a Tool with an empty description is called by its name, and a strict gateway refuses it', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('hello'))
  await gateway.run({ messages: [user('u-1', 'hi')], tools: [browserTool('pick', { description: '' })] })
  assert.equal(gateway.adapter.requests.at(-1)?.tools?.find(({ name }) => name === 'pick')?.description, 'pick')
  const strict = await bootGateway(t, { toolSchemas: 'strict' })
  const refusal = await strict.refuse(input({ messages: [user('u-1', 'hi')], tools: [browserTool('pick', { description: '' })] }))
  assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_FRONTEND_TOOL'])
})
