/** Steps that call Tools of the browser and of the Host together (G11). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, VERSIONS } from '../support/client.ts'
import {
  answer, body, bootGateway, browserTool, callTools, Gate, history, hostTool, input, mountPlugin, registerTools, resultsSeen, say,
  transcript, user,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

const TOOLS = [browserTool('pick')]
const BROWSER = { id: 'c-b', name: 'pick', args: {} }
const HOST = { id: 'c-h', name: 'look', args: { path: 'a' } }
const concurrent = hostTool('look', { isConcurrencySafe: () => true })

for (const version of VERSIONS) {
  test(`the Host's call first, then the browser's, with client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    await registerTools(gateway, concurrent)
    gateway.adapter.queue(callTools([HOST, BROWSER]), say('Done.'))
    const client = connect(gateway, version)
    const first = await client.say('go', { tools: TOOLS })
    const shown = body(first).filter(line => line.includes('c-h'))
    assert.deepEqual(shown, ['call c-h look', 'args c-h {"path":"a"}', 'end c-h', 'card call c-h generic', 'result c-h {"path":"a"}', 'card result c-h generic'])
    assert.ok(!body(first).some(line => line.startsWith('result c-b') || line.includes('card call c-b')))
    await client.answer({ 'c-b': 'red' }, { tools: TOOLS })
    assert.deepEqual(resultsSeen(gateway), ['c-h {"path":"a"}', 'c-b red'])
    assert.deepEqual(transcript(client.messages), [
      'user go', 'assistant c-h=look({"path":"a"}) c-b=pick({})', 'tool c-h {"path":"a"}', 'tool c-b red', 'assistant Done.',
    ])
  })
}

test('the browser\'s call first: the Host\'s result waits for it, and arrives in the answering run', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, concurrent)
  gateway.adapter.queue(callTools([BROWSER, HOST]), say('Done.'))
  const first = await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  assert.deepEqual(body(first), [
    'call c-b pick', 'args c-b {}', 'end c-b', 'call c-h look', 'args c-h {"path":"a"}', 'end c-h', 'card call c-h generic',
    'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  const second = await gateway.run({ messages: [answer('t-1', 'c-b', 'red')], tools: TOOLS })
  assert.deepEqual(body(second), [
    'result c-h {"path":"a"}', 'card result c-h generic', 'TEXT_MESSAGE_START', 'text Done.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  assert.deepEqual(transcript(history(second)), [
    'user go', 'assistant c-b=pick({}) c-h=look({"path":"a"})', 'tool c-b red', 'tool c-h {"path":"a"}', 'assistant Done.',
  ])
})

test('a run ends only when the Host\'s body is over too', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  await registerTools(gateway, hostTool('look', {
    isConcurrencySafe: () => true, execute: async (args, { signal }) => { await gate.pass(signal); return args },
  }))
  gateway.adapter.queue(callTools([HOST, BROWSER]), say('Done.'))
  const run = gateway.post(input({ messages: [user('u-1', 'go')], tools: TOOLS }))
  await gate.reached
  // A whole round trip later the run is still open.
  await gateway.run()
  assert.ok(!run.events.some(({ type }) => type === 'RUN_FINISHED'))
  gate.open()
  assert.ok(body(await run.end()).includes('result c-h {"path":"a"}'))
})

test('an exclusive Tool of the Host before the browser\'s', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('look', { isConcurrencySafe: () => false }))
  gateway.adapter.queue(callTools([HOST, BROWSER]), say('Done.'))
  const first = await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  assert.ok(body(first).includes('result c-h {"path":"a"}'))
  assert.equal(body(first).at(-1), 'RUN_FINISHED')
  await gateway.run({ messages: [answer('t-1', 'c-b', 'red')], tools: TOOLS })
  assert.deepEqual(resultsSeen(gateway), ['c-h {"path":"a"}', 'c-b red'])
})

test('an exclusive Tool of the Host behind the browser\'s runs once the browser has answered', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('look', { isConcurrencySafe: () => false }))
  gateway.adapter.queue(callTools([BROWSER, HOST]), say('Done.'))
  const first = await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  assert.ok(!body(first).some(line => line.startsWith('result')))
  const second = await gateway.run({ messages: [answer('t-1', 'c-b', 'red')], tools: TOOLS })
  assert.deepEqual(body(second), [
    'card call c-h generic', 'result c-h {"path":"a"}', 'card result c-h generic',
    'TEXT_MESSAGE_START', 'text Done.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
})

test('a call that a policy of the Host refuses does not hold the run', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, concurrent)
  await mountPlugin(gateway.host.ctx, ['tools'], (plugin) => {
    plugin.on('tools/pre-execute', (exec, next) => exec.name === 'look' ? Promise.resolve({ kind: 'deny' as const, reason: 'not today' }) : next())
  })
  gateway.adapter.queue(callTools([BROWSER, HOST]), say('Done.'))
  const first = await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  assert.equal(body(first).at(-1), 'RUN_FINISHED')
  const second = await gateway.run({ messages: [answer('t-1', 'c-b', 'red')], tools: TOOLS })
  assert.match(body(second)[0] ?? '', /^result c-h .*not today/u)
  assert.equal(body(second).at(-1), 'RUN_FINISHED')
})

/** A Tool of the Host that calls another one. */
function relay(gateway: TestGateway, name: string, args: object): ReturnType<typeof hostTool> {
  return hostTool('relay', {
    execute: async (_args, exec) => {
      const { agent, token, signal } = exec
      const result = await gateway.host.ctx.tools.execute({
        callId: 'nested-1' as never, name, arguments: args, signal, parent: token, ...agent === undefined ? {} : { agent },
      } as never)
      return result.isError ? result.error.message : 'it worked'
    },
  })
}

test('browser Tools cannot be called through a Tool of the Host', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, relay(gateway, 'pick', {}))
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'relay', args: {} }]), say('Done.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  assert.ok(body(events).includes('result c-1 "browser Tools can only be called by the model itself"'), body(events).join('\n'))
})

test('the shared state cannot be updated through a Tool of the Host, and does not seem to be', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, relay(gateway, 'ag_ui_update_state', { state_updates: { a: 2 } }))
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'relay', args: {} }]), say('Done.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], state: { a: 1 } })
  assert.ok(body(events).includes('result c-1 "the shared state can only be updated by the model itself"'), body(events).join('\n'))
  assert.deepEqual(events.filter(({ type }) => type === 'STATE_SNAPSHOT').map(({ snapshot }) => snapshot), [{ a: 1 }])
})
