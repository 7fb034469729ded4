/** The Host starts again: sessions resume, what was accepted stays accepted, a broken turn is told once (G8, G20). */

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect, VERSIONS } from '../support/client.ts'
import {
  answer, body, bootGateway, browserTool, callTools, errorOf, history, hostTool, input, makeHome, outline, registerTools, said, say, transcript, user,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

let crashes = 0

/** A Host that finds the sessions as the process of `gateway` would leave them if it died now. */
async function crash(t: TestContext, gateway: TestGateway, threadId?: string): Promise<TestGateway> {
  const { ctx, home } = gateway.host
  await ctx.sessions.flush(gateway.agent(threadId).session)
  crashes += 1
  const sessions = join(home, `crashed-${crashes}`)
  cpSync(join(home, 'sessions'), sessions, { recursive: true })
  return await bootGateway(t, {}, { home, sessions })
}

const TOOLS = [browserTool('pick')]
const LOOK = hostTool('look', {
  presentCall: () => ({ card: 'generic', title: 'Looking', kind: 'read' }),
  presentResult: () => ({ card: 'terminal', output: 'seen', exitCode: 0 }),
})

test('a session resumes with its history, its cards and what it accepted', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  await registerTools(first, LOOK)
  first.adapter.queue(callTools([{ id: 'c-1', name: 'look', args: { path: 'a' } }], 'Let me.'), say('Seen.'))
  const live = await first.run({ messages: [user('u-1', 'look')] })
  const before = await first.run()
  await first.host.dispose()

  const second = await bootGateway(t, {}, { home })
  await registerTools(second, LOOK)
  const cold = await second.run()
  assert.deepEqual(cold.slice(1, -1), before.slice(1, -1))
  assert.deepEqual(history(cold), history(live))
  // A known message is no new work, a changed one is a conflict: in the very first request, too.
  assert.deepEqual(body(await second.run({ messages: history(live) })).at(-1), 'RUN_FINISHED')
  assert.equal(second.adapter.requests.length, 0)
  assert.equal((await second.refuse(input({ messages: [user('u-1', 'changed')] }))).code, 'MESSAGE_ID_CONFLICT')
  second.adapter.queue(say('On we go.'))
  const next = await second.run({ messages: [user('u-1', 'look'), user('u-2', 'more')] })
  assert.deepEqual(transcript(history(next)).slice(-2), ['user more', 'assistant On we go.'])
  assert.ok(JSON.stringify(second.adapter.requests[0]?.messages).includes('Seen.'))
})

test('a conflict is seen in the first request after a restart', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue(say('ok'))
  await first.run({ messages: [user('u-1', 'hi')] })
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  assert.equal((await second.refuse(input({ messages: [user('u-1', 'changed')] }))).code, 'MESSAGE_ID_CONFLICT')
})

test('cards are derived again only of Tools that the Host still has', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  await registerTools(first, LOOK)
  first.adapter.queue(callTools([{ id: 'c-1', name: 'look', args: {} }]), say('Seen.'))
  await first.run({ messages: [user('u-1', 'look')] })
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  assert.deepEqual(outline(await second.run()), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
})

test('shared state needs a new baseline', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue(say('ok'))
  await first.run({ messages: [user('u-1', 'hi')], state: { a: 1 } })
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  assert.deepEqual(outline(await second.run({ state: {} })), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  second.adapter.queue(say('ok'))
  assert.equal(outline(await second.run({ messages: [user('u-2', 'hi')], state: { a: 2 } }))[1], 'state {"a":2}')
})

for (const version of VERSIONS) {
  test(`client ${version} is told once that a restart broke its turn, and goes on`, async (t) => {
    const home = makeHome(t)
    const first = await bootGateway(t, {}, { home })
    first.adapter.queue(say('one'), callTools([{ id: 'c-1', name: 'pick', args: {} }], 'Let me ask.'))
    const client = connect(first, version)
    await client.say('hello')
    await client.say('pick one', { tools: TOOLS })
    const second = await crash(t, first)
    await first.host.dispose()
    const moved = connect(second, version)
    moved.agent.setMessages(client.agent.messages)
    const told = await moved.say('still there?', { tools: TOOLS })
    assert.equal(errorOf(told).code, 'THREAD_INTERRUPTED')
    assert.equal(outline(told).at(-2), 'MESSAGES_SNAPSHOT')
    assert.equal(second.adapter.requests.length, 0)
    second.adapter.queue(say('Yes.'))
    const next = await moved.run({ tools: TOOLS })
    assert.equal(said(next), 'Yes.')
    assert.deepEqual(transcript(moved.messages).filter(line => !line.startsWith('tool')), [
      'user hello', 'assistant one', 'user pick one', 'assistant Let me ask. c-1=pick({})', 'user still there?', 'assistant Yes.',
    ])
    assert.equal(moved.messages.filter(({ role }) => role === 'tool').length, 1)
  })
}

test('a history read is told of the broken turn too, behind the history; a parked call has a result and no card', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]))
  await first.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const second = await crash(t, first)
  await first.host.dispose()
  const read = input()
  const told = await second.post(read).end()
  assert.deepEqual(outline(told), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'error THREAD_INTERRUPTED'])
  assert.equal(errorOf(await second.post(read).end()).code, 'THREAD_INTERRUPTED')
  const calm = await second.run()
  assert.deepEqual(outline(calm), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  // The answer of a browser that slept through it is history.
  assert.deepEqual(body(await second.run({ messages: [answer('t-1', 'c-1', 'red')], tools: TOOLS })), ['RUN_FINISHED'])
})

test('a crash in the middle of a text', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue('hang')
  const run = first.post(input({ messages: [user('u-1', 'go')] }))
  await run.next('TEXT_MESSAGE_CONTENT')
  const second = await crash(t, first)
  // A Host that stops ends its responses before it closes their sockets.
  await first.host.dispose()
  assert.equal(errorOf(await run.end()).code, 'AGENT_NOT_AVAILABLE')
  const told = await second.run({ messages: [user('u-1', 'go')] })
  assert.equal(errorOf(told).code, 'THREAD_INTERRUPTED')
  second.adapter.queue(say('again'))
  const next = await second.run({ messages: [user('u-1', 'go'), user('u-2', 'try again')] })
  assert.equal(said(next), 'again')
})

test('a plugin that was unloaded in the middle of a turn left no interruption', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue('hang')
  const run = first.post(input({ messages: [user('u-1', 'go')] }))
  await run.next('TEXT_MESSAGE_CONTENT')
  await first.unload()
  await first.host.dispose()
  assert.equal(errorOf(await run.end()).code, 'AGENT_NOT_AVAILABLE')
  const second = await bootGateway(t, {}, { home })
  assert.deepEqual(outline(await second.run()), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
})

test('a Host without persistence starts anew, and says so by serving an empty history', async (t) => {
  const gateway = await bootGateway(t, {}, { persistence: 'none' })
  gateway.adapter.queue(say('ok'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  await gateway.unload()
  await gateway.mount()
  assert.deepEqual(history(await gateway.run()), [])
  gateway.adapter.queue(say('new'))
  const events = await gateway.run({ messages: [user('u-1', 'hi'), user('u-2', 'there')] })
  assert.deepEqual(transcript(history(events)), ['user hi', 'user there', 'assistant new'])
})
