/** Threads and the plugin itself: who owns what, what expires, what an unload leaves behind (G5, G22). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context } from '@deepseek-ai/cordis'
import type { SessionId } from '@deepseek-ai/dsh-session'
import {
  answer, body, bootGateway, browserTool, callTools, errorOf, Gate, history, hostTool, input, MODEL, PROVIDER, registerTools, said, say,
  sayThrough, transcript, user,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

/** Resolves when the Host has disposed that many agents. */
function disposed(gateway: TestGateway, count = 1): Promise<void> {
  let left = count
  return new Promise((resolve) => {
    const stop = gateway.host.ctx.on('agent/disposed', () => {
      left -= 1
      if (left > 0) return
      stop()
      resolve()
    })
  })
}

/** Listeners of the whole Host, by event. */
function listeners(ctx: Context): Record<string, number> {
  const { _hooks } = ctx.events as unknown as { _hooks: Record<string, readonly unknown[]> }
  return Object.fromEntries(Object.entries(_hooks).map(([name, hooks]) => [name, [...hooks].length] as const)
    .filter(([, count]) => count > 0))
}

/** Names of the Tools that every agent of the Host has. */
const globalTools = (ctx: Context): string[] => ctx.tools.schemas().map(({ name }) => name)

test('concurrent first requests of one thread make one agent', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('a'), say('b'), say('c'))
  const runs = ['1', '2', '3'].map(name => gateway.post(input({ messages: [user(`u-${name}`, name)] })))
  const all = await Promise.all(runs.map(run => run.end()))
  assert.equal(gateway.agents.length, 1)
  assert.deepEqual(all.map(said).sort(), ['a', 'b', 'c'])
})

test('tenant, user and thread name a thread together', async (t) => {
  const gateway = await bootGateway(t)
  const people = [['tenant-1', 'user-1'], ['tenant-1', 'user-2'], ['tenant-2', 'user-1']] as const
  for (const [tenant, person] of people) {
    gateway.adapter.queue(say(`hello ${tenant} ${person}`))
    const headers = { 'x-dsh-tenant-id': tenant, 'x-dsh-user-id': person }
    const events = await gateway.post(input({ runId: 'same', messages: [user('u-1', 'hi')] }), { headers }).end()
    assert.deepEqual(transcript(history(events)), ['user hi', `assistant hello ${tenant} ${person}`])
  }
  assert.equal(gateway.agents.length, 3)
  for (const [tenant, person] of people) {
    assert.deepEqual(gateway.host.ctx.agUi.identityFor(gateway.agentOf('thread-1', tenant, person) ?? {}),
      { principal: { tenantId: tenant, userId: person }, threadId: 'thread-1' })
  }
  // Nothing of the client's ids is a name on disk.
  assert.ok(gateway.agents.every(({ id }) => !/thread|tenant|user/u.test(id)))
})

test('a person cannot answer the calls of another, nor read the thread', async (t) => {
  const gateway = await bootGateway(t)
  const other = { headers: { 'x-dsh-user-id': 'user-2' } }
  const tools = [browserTool('pick')]
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Thanks.'))
  await gateway.run({ messages: [user('u-1', 'secret')], tools })
  const forged = input({ messages: [answer('t-1', 'c-1', 'forged')], tools })
  assert.equal((await gateway.refuse(forged, other)).code, 'UNKNOWN_TOOL_RESULT')
  assert.deepEqual(history(await gateway.post(input(), other).end()), [])
  assert.equal(said(await gateway.run({ messages: [answer('t-1', 'c-1', 'mine')], tools })), 'Thanks.')
})

test('identityFor answers for the exact live agent of a thread only', async (t) => {
  const gateway = await bootGateway(t)
  const { ctx } = gateway.host
  const seen: unknown[] = []
  await registerTools(gateway, hostTool('whoami', {
    execute: (_args, { agent }) => {
      seen.push(ctx.agUi.identityFor(agent ?? {}))
      return Promise.resolve('asked')
    },
  }))
  const foreign = await ctx.agents.create({ sessionId: 'foreign' as SessionId, agentOptions: { provider: PROVIDER, model: MODEL } })
  assert.equal(ctx.agUi.identityFor(foreign.agent), undefined)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'whoami', args: {} }]), say('ok'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.deepEqual(seen, [{ principal: { tenantId: 'tenant-1', userId: 'user-1' }, threadId: 'thread-1' }])
  const agent = gateway.agent()
  assert.equal(ctx.agUi.identityFor({ ...agent }), undefined)
  const service = ctx.agUi
  await gateway.unload()
  assert.equal(service.identityFor(agent), undefined)
  await foreign.dispose()
})

test('a full house refuses new threads until an idle one has gone; its history comes back with it', async (t) => {
  const gateway = await bootGateway(t, { maxThreads: 1, threadIdleMs: 10 })
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'one', ''), say('two'), say('three'))
  const first = gateway.post(input({ messages: [user('u-1', 'a')] }))
  await first.next('TEXT_MESSAGE_CONTENT')
  const refusal = await gateway.refuse(input({ threadId: 'thread-2', messages: [user('u-1', 'a')] }))
  assert.deepEqual([refusal.status, refusal.code], [429, 'THREAD_LIMIT_REACHED'])
  assert.equal(gateway.agents.length, 1)
  const gone = disposed(gateway)
  gate.open()
  await first.end()
  await gone
  assert.equal(gateway.agents.length, 0)
  const released = disposed(gateway)
  assert.equal(said(await gateway.run({ threadId: 'thread-2', messages: [user('u-1', 'b')] })), 'two')
  await released
  const back = await gateway.run({ messages: [user('u-1', 'a'), user('u-2', 'c')] })
  assert.deepEqual(transcript(history(back)), ['user a', 'assistant one', 'user c', 'assistant three'])
})

test('a turn that waits for the browser is not idle', async (t) => {
  const gateway = await bootGateway(t, { threadIdleMs: 5, frontendToolTimeoutMs: 60 })
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Too late.'))
  await gateway.run({ messages: [user('u-1', 'go')], tools: [browserTool('pick')] })
  await disposed(gateway)
  // It went only after its call had timed out and its turn had ended.
  assert.deepEqual(transcript(history(await gateway.run())).slice(-1), ['assistant Too late.'])
})

test('unloading ends runs with an error event, refuses what waits, and disposes every agent', async (t) => {
  const gateway = await bootGateway(t)
  const { ctx } = gateway.host
  gateway.adapter.queue('hang', callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('idle'))
  const active = gateway.post(input({ messages: [user('u-1', 'a')] }))
  await active.next('TEXT_MESSAGE_CONTENT')
  const waiting = gateway.post(input({ messages: [user('u-2', 'b')] }))
  await waiting.received
  await gateway.run({ threadId: 'parked', messages: [user('u-1', 'a')], tools: [browserTool('pick')] })
  await gateway.run({ threadId: 'idle', messages: [user('u-1', 'a')] })
  assert.equal(gateway.agents.length, 3)
  await gateway.unload()
  assert.deepEqual(gateway.agents, [])
  assert.equal(ctx.get('agUi'), undefined)
  assert.deepEqual(body(await active.end()), ['TEXT_MESSAGE_START', 'text partial', 'error AGENT_NOT_AVAILABLE'])
  const refusal = await waiting.refused()
  assert.deepEqual([refusal.status, refusal.code], [410, 'AGENT_NOT_AVAILABLE'])
  // The route is gone: the Host itself answers.
  const response = await fetch(gateway.url, { method: 'POST', body: '{}' })
  assert.equal(response.status, 404)
  await gateway.mount()
  gateway.adapter.queue(say('back'))
  const back = await gateway.run({ messages: [user('u-1', 'a'), user('u-3', 'c')] })
  assert.deepEqual(transcript(history(back)), ['user a', 'assistant partial', 'user c', 'assistant back'])
})

test('a web server that goes first lets the runs end, too', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue('hang')
  const active = gateway.post(input({ messages: [user('u-1', 'a')] }))
  await active.next('TEXT_MESSAGE_CONTENT')
  // A profile that stops unloads its rows side by side, and this one may close the sockets before the gateway's turn.
  await gateway.host.webServer.dispose()
  assert.equal(errorOf(await active.end()).code, 'AGENT_NOT_AVAILABLE')
  assert.deepEqual(gateway.agents, [])
})

test('unloading while an agent is being opened waits for it and disposes it', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  const release = gateway.holdOpening(gate)
  const run = gateway.post(input({ messages: [user('u-1', 'a')] }))
  await gate.reached
  const unloaded = gateway.unload()
  gate.open()
  await unloaded
  release()
  assert.deepEqual(gateway.agents, [])
  assert.equal((await run.refused()).code, 'AGENT_NOT_AVAILABLE')
})

test('a client that leaves while its agent is being opened leaves nothing behind', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  const release = gateway.holdOpening(gate)
  const run = gateway.post(input({ messages: [user('u-1', 'a')] }))
  await gate.reached
  const left = gateway.left(run)
  run.leave()
  await left
  const gone = disposed(gateway)
  gate.open()
  await gone
  release()
  assert.deepEqual(gateway.agents, [])
  assert.equal(gateway.adapter.requests.length, 0)
  gateway.adapter.queue(say('fresh'))
  assert.equal(said(await gateway.run({ messages: [user('u-1', 'b')] })), 'fresh')
})

test('a live Host reloads the plugin again and again without a leak', async (t) => {
  const gateway = await bootGateway(t)
  const { ctx } = gateway.host
  await gateway.unload()
  const before = { listeners: listeners(ctx), tools: globalTools(ctx) }
  for (let round = 0; round < 5; round += 1) {
    await gateway.mount()
    gateway.adapter.queue(callTools([{ id: `c-${round}`, name: 'pick', args: {} }]), 'hang')
    const tools = [browserTool('pick')]
    await gateway.run({ threadId: `parked-${round}`, messages: [user('u-1', 'a')], tools, state: { a: 1 } })
    const active = gateway.post(input({ threadId: `active-${round}`, messages: [user('u-1', 'a')], tools }))
    await active.next('TEXT_MESSAGE_CONTENT')
    await gateway.unload()
    assert.equal(errorOf(await active.end()).code, 'AGENT_NOT_AVAILABLE')
    assert.deepEqual(gateway.agents, [])
    assert.deepEqual({ listeners: listeners(ctx), tools: globalTools(ctx) }, before)
  }
  assert.deepEqual(ctx.sessions.list(), [])
})

test('a reloaded gateway does not know the calls of its former life', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('on'))
  const tools = [browserTool('pick')]
  await gateway.run({ messages: [user('u-1', 'a')], tools })
  await gateway.unload()
  await gateway.mount()
  // The call was settled by the disposal: the answer is history now.
  const events = await gateway.run({ messages: [answer('t-1', 'c-1', 'red')], tools })
  assert.deepEqual(body(events), ['RUN_FINISHED'])
  assert.equal(history(events).filter(({ role }) => role === 'tool').length, 1)
  assert.equal(said(await gateway.run({ messages: [user('u-2', 'b')], tools })), 'on')
})
