/** The port to DSH against a real Host: opening, resuming, reporting, delivering, disposing. */

import assert from 'node:assert/strict'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { HostError } from 'dsh-ag-ui/host'
import type { SessionRecord } from 'dsh-ag-ui/host'
import { bootHost, callTools, cut, fail, mountPlugin, nextEvent, say, think } from './support/host.ts'
import type { BootOptions, TestHost } from './support/host.ts'
import { dataOf, mountPort, openThread, ParkedTool, Recorder, run, user } from './support/port.ts'
import type { MountedPort, Thread } from './support/port.ts'

/** Types that cross, of those that these tests cause. */
const CROSSING = [
  'user/message', 'assistant/message', 'tool/call', 'tool/result', 'turn/start', 'turn/end', 'step/start', 'step/end',
  'session/end-seed', 'agent-preset/selected',
]

async function boot(t: TestContext, options: BootOptions = {}): Promise<{ host: TestHost, port: MountedPort }> {
  const host = await bootHost(options)
  t.after(() => host.dispose())
  return { host, port: await mountPort(host) }
}

/** What the gateway was told must be what the log holds, in order. */
function assertExactlyOnce({ dsh, log, history }: Thread): void {
  const told = [...history, ...log.records()].map(({ seq, type, data }) => ({ seq, type, data }))
  const logged = dsh.session.events.filter(({ type }) => CROSSING.includes(type))
  assert.deepEqual(told, logged.map(({ seq, type, data }) => ({ seq, type, data: JSON.parse(JSON.stringify(data)) })))
}

const reasonOf = (record: SessionRecord | undefined) => dataOf<{ reason: { kind: string } }>(record).reason.kind

test('a session that nobody knows is created in its workspace', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'fresh')
  assert.deepEqual(thread.history, [])
  assert.equal(thread.dsh.id, 'fresh')
  assert.equal(thread.dsh.session.header.cwd, join(port.workspaces, 'fresh'))
  assert.ok(existsSync(join(port.workspaces, 'fresh')))
  assert.deepEqual(host.ctx.agents.roots(), [thread.dsh])
})

test('a turn is reported in order, a record after the deltas that it settles', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'order')
  host.adapter.queue(say('Hello there'))
  await run(thread, 'hi')
  assert.deepEqual(thread.log.outline(), [
    'status running', 'turn/start', 'step/start', 'user/message', 'user/message',
    'attemptStart', 'text', 'text', 'blockEnd', 'assistant/message', 'attemptEnd', 'step/end', 'turn/end', 'status idle',
  ])
  assert.deepEqual(thread.log.of('attemptStart', 'text', 'attemptEnd'),
    [['attemptStart', 1, 1], ['text', 'Hello '], ['text', 'there'], ['attemptEnd', true]])
  assertExactlyOnce(thread)
})

test('reasoning and Tool arguments are reported as the model produces them, empty deltas are not', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'deltas')
  host.adapter.queue(think('because', 'So.'), callTools([{ id: 'c1', name: 'nothing', args: { a: 1 } }]), [
    { type: 'text-delta', index: 0, text: '' },
    ...say('x'),
  ])
  await run(thread, 'one')
  await run(thread, 'two')
  assert.deepEqual(thread.log.of('reasoning', 'text', 'toolCall', 'blockEnd'), [
    ['reasoning', 'because'], ['blockEnd'], ['text', 'So.'], ['blockEnd'],
    ['toolCall', 'c1', 'nothing', '{"a"'], ['toolCall', 'c1', undefined, ':1}'], ['blockEnd'],
    ['text', 'x'], ['blockEnd'],
  ])
})

test('several messages join one turn in order, under the ids that they came with', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'batch')
  host.adapter.queue(say('ok'))
  await run(thread, user('first', 'm-1'), user('second', 'm-2'), { ...user('third', 'm-3'), source: { kind: 'ag-ui' } })
  const messages = thread.log.records('user/message').slice(0, 3).map(({ data }) => data as { id: string, source: unknown })
  assert.deepEqual(messages.map(({ id }) => id), ['m-1', 'm-2', 'm-3'])
  assert.deepEqual(messages[2]?.source, { kind: 'ag-ui' })
  assert.equal(thread.log.records('turn/start').length, 1)
  assert.equal(host.adapter.requests.length, 1)
})

test('a batch that wakes a busy agent waits for a turn of its own', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'busy')
  const parked = new ParkedTool('pick')
  thread.agent.registerTool(parked.tool)
  host.adapter.queue(callTools([{ id: 'c1', name: 'pick', args: {} }]), say('picked'), say('next'), say('last'))
  thread.agent.deliver([user('pick', 'a')], true)
  const call = await parked.next()
  thread.agent.deliver([user('context', 'b'), user('question', 'c')], true)
  thread.agent.deliver([user('later', 'd')], true)
  call.resolve({ text: 'blue' })
  await thread.log.until(([name, record]) => name === 'record' && (record as SessionRecord).type === 'turn/end'
    && (record as SessionRecord & { data: { turn: number } }).data.turn === 3)
  const turns = thread.log.records('turn/start', 'user/message')
    .filter(({ data }) => (data as { source?: { kind: string } }).source?.kind !== 'plugin')
    .map(({ type, data }) => type === 'turn/start' ? 'turn' : (data as { id: string }).id)
  assert.deepEqual(turns, ['turn', 'a', 'turn', 'b', 'c', 'turn', 'd'])
})

test('a message without a wake is read at the next step of the running turn', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'steer')
  const parked = new ParkedTool('pick')
  thread.agent.registerTool(parked.tool)
  host.adapter.queue(callTools([{ id: 'c1', name: 'pick', args: {} }]), say('seen'))
  thread.agent.deliver([user('pick', 'a')], true)
  const call = await parked.next()
  thread.agent.deliver([user('by the way', 'b')], false)
  call.resolve({ text: 'blue' })
  await thread.log.untilIdle()
  assert.deepEqual(thread.log.records('turn/start', 'step/start', 'user/message', 'tool/result')
    .filter(({ data }) => (data as { source?: { kind: string } }).source?.kind !== 'plugin')
    .map(({ type }) => type), ['turn/start', 'step/start', 'user/message', 'tool/result', 'step/start', 'user/message'])
})

test('a failed attempt is abandoned, and a retry in the same step begins another', async (t) => {
  const { host, port } = await boot(t)
  const retry = await mountPlugin(host.ctx, [], (plugin) => {
    plugin.on('agent/request-error', () => Promise.resolve({ kind: 'retry' }))
  })
  const thread = await openThread(port, 'retry')
  host.adapter.queue(fail('half'), say('whole'))
  await run(thread, 'hi')
  assert.deepEqual(thread.log.of('attemptStart', 'text', 'attemptEnd'), [
    ['attemptStart', 1, 1], ['text', 'half'], ['attemptEnd', false],
    ['attemptStart', 1, 1], ['text', 'whole'], ['attemptEnd', true],
  ])
  await retry.dispose()
  host.adapter.queue(fail('half'))
  await run(thread, 'again')
  assert.deepEqual(thread.log.outline().slice(-7),
    ['attemptStart', 'text', 'attemptEnd', 'step/end', 'turn/end', 'status idle'].toSpliced(0, 0, 'user/message'))
  assert.equal(reasonOf(thread.log.records('turn/end').at(-1)), 'error')
})

test('text that the output limit cut is committed', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'limit')
  host.adapter.queue(cut('as far as'))
  await run(thread, 'hi')
  assert.deepEqual(thread.log.of('attemptEnd'), [['attemptEnd', true]])
  assert.equal(reasonOf(thread.log.records('turn/end')[0]), 'max-tokens')
})

test('cancel keeps the text that was there, and drops what is queued', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'cancel')
  host.adapter.queue('hang')
  thread.agent.deliver([user('go')], true)
  await thread.log.until(([name]) => name === 'text')
  thread.agent.deliver([user('one'), user('two')], true)
  thread.agent.deliver([user('three')], false)
  thread.agent.cancel()
  await thread.log.untilIdle()
  const [message] = thread.log.records('assistant/message')
  assert.equal(dataOf<{ interrupted?: boolean }>(message).interrupted, true)
  assert.deepEqual(thread.log.of('attemptEnd'), [['attemptEnd', true]])
  assert.equal(reasonOf(thread.log.records('turn/end')[0]), 'aborted')
  assert.equal(thread.dsh.inbox.hasPending, false)
  assert.equal(thread.dsh.status, 'idle')
  thread.agent.deliver([user('four')], false)
  thread.agent.cancel()
  assert.equal(thread.dsh.inbox.hasPending, false)
})

test('a resumed session has its history, and nothing is missing or doubled', async (t) => {
  const { host, port } = await boot(t)
  const first = await openThread(port, 'again')
  host.adapter.queue(say('one'), say('two'))
  await run(first, user('first', 'm-1'))
  await first.agent.dispose()
  const second = await openThread(port, 'again')
  assert.deepEqual(second.history.at(-1), { type: 'session/end-seed', seq: second.dsh.session.seq - 1, data: {} })
  await run(second, user('second', 'm-2'))
  assertExactlyOnce(second)
  const before = [...first.history, ...first.log.records()]
  assert.deepEqual(second.history.slice(0, before.length), before)
  assert.deepEqual(JSON.parse(second.agent.history), second.history)
})

test('a turn that a crash interrupted is closed in the history', async (t) => {
  const { host, port } = await boot(t)
  const first = await openThread(port, 'crash')
  const parked = new ParkedTool('pick')
  first.agent.registerTool(parked.tool)
  host.adapter.queue(callTools([{ id: 'c1', name: 'pick', args: {} }], 'Let me ask.'))
  first.agent.deliver([user('pick', 'm-1')], true)
  await parked.next()
  await host.ctx.sessions.flush(first.dsh.session)
  const sessions = join(host.home, 'crashed')
  cpSync(join(host.home, 'sessions'), sessions, { recursive: true })

  const other = await boot(t, { home: host.home, sessions })
  const second = await openThread(other.port, 'crash')
  assert.deepEqual(second.history.slice(-4).map(({ type }) => type), ['tool/result', 'step/end', 'turn/end', 'session/end-seed'])
  assert.equal(dataOf<{ error: { code: string } }>(second.history.at(-4)).error.code, 'TOOL_OUTCOME_UNKNOWN')
  assert.equal(reasonOf(second.history.at(-2)), 'interrupted')
  other.host.adapter.queue(say('back'))
  await run(second, user('still there?', 'm-2'))
  assertExactlyOnce(second)
})

test('a message that a crash left in the inbox may be delivered again', async (t) => {
  const { host, port } = await boot(t)
  const first = await openThread(port, 'inbox')
  host.adapter.queue(say('one'))
  await run(first, 'hi')
  first.agent.deliver([user('unclaimed', 'm-2')], false)
  await first.agent.dispose()
  const second = await openThread(port, 'inbox')
  assert.deepEqual(second.dsh.inbox.nextStep.map(({ id }) => id), [])
  second.dsh.inject({ id: 'm-2', role: 'user', content: [{ type: 'text', text: 'unclaimed' }], source: { kind: 'user' } } as never)
  host.adapter.queue(say('two'))
  await run(second, user('unclaimed', 'm-2'))
  assert.equal(second.log.records('user/message').filter(({ data }) => (data as { id: string }).id === 'm-2').length, 1)
})

test('what others begin before the history is read is not lost', async (t) => {
  const { host, port } = await boot(t)
  const parked = Promise.withResolvers<void>()
  await mountPlugin(host.ctx, ['tools'], (plugin) => {
    plugin.on('agent/session-start', ({ agent }) => agent.followup(
      { id: 'early', role: 'user', content: [{ type: 'text', text: 'go' }], source: { kind: 'plugin', plugin: 'test' } } as never))
    plugin.on('agent/request', async (_payload, next) => {
      parked.resolve()
      return await next()
    })
  })
  host.adapter.queue('hang')
  const log = new Recorder()
  const agent = await port.host.open({ sessionId: 'early', workspace: join(port.workspaces, 'early') }, log.events)
  const dsh = host.ctx.agents.list()[0]
  assert.ok(dsh)
  if (!dsh.session.events.some(({ type, data }) => type === 'assistant/chunk' && data.chunk.type === 'text-delta')) {
    await nextEvent(dsh, event => event.type === 'assistant/chunk' && event.data.chunk.type === 'text-delta')
  }
  assert.deepEqual(log.reports, [])
  const history = JSON.parse(agent.history) as SessionRecord[]
  assert.deepEqual(log.reports, [])
  agent.cancel()
  await log.untilIdle()
  assert.deepEqual(log.of('status', 'attemptStart', 'text', 'attemptEnd'),
    [['status', 'running'], ['attemptStart', 1, 1], ['text', 'partial'], ['attemptEnd', true], ['status', 'idle']])
  assertExactlyOnce({ agent, dsh, log, history })
})

test('a child agent reports nothing to its parent', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'parent')
  host.adapter.queue(say('child text'))
  const child = await thread.dsh.ctx.agents.create({
    sessionId: 'child' as never, agentOptions: { provider: 'scripted', model: 'demo-1' },
  })
  child.agent.followup({ id: 'x', role: 'user', content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } } as never)
  await child.agent.whenIdle()
  await child.dispose()
  assert.deepEqual(thread.log.reports, [])
})

test('one id has one live agent', async (t) => {
  const { port } = await boot(t)
  const opening = openThread(port, 'single')
  await assert.rejects(openThread(port, 'single'), { name: 'HostError', code: 'SESSION_LIVE' })
  const thread = await opening
  await assert.rejects(openThread(port, 'single'), { code: 'SESSION_LIVE' })
  await thread.agent.dispose()
  await (await openThread(port, 'single')).agent.dispose()
})

test('a preset composes a new session, and a resumed one keeps its own', async (t) => {
  const { host, port } = await boot(t)
  const first = await openThread(port, 'preset', 'demo')
  assert.deepEqual(first.agent.inheritedTools(), ['ask_user_question'])
  host.adapter.queue(say('one'))
  await run(first, 'hi')
  await first.agent.dispose()
  const second = await openThread(port, 'preset', 'bare')
  assert.equal(host.ctx.agentPresets.composedPreset(second.dsh.ctx), 'demo')
  assert.deepEqual((await openThread(port, 'plain')).agent.inheritedTools(), [])
})

test('a preset that cannot be mounted fails the opening, and nothing of it remains', async (t) => {
  const { host, port } = await boot(t, { presets: { demo: '[]\n', broken: `- id: x\n  name: ./missing.mjs\n` } })
  await assert.rejects(openThread(port, 'p', 'nope'), { name: 'HostError', code: 'AGENT_PRESET_UNKNOWN' })
  await assert.rejects(openThread(port, 'p', 'broken'), { name: 'HostError', code: 'AGENT_PRESET_INVALID' })
  assert.deepEqual(host.ctx.agents.list(), [])
  assert.deepEqual(host.ctx.sessions.list(), [])
  const without = await boot(t, { presets: 'none' })
  await assert.rejects(openThread(without.port, 'p', 'demo'), { code: 'AGENT_PRESETS_UNAVAILABLE' })
  assert.deepEqual((await openThread(without.port, 'p')).history, [])
})

test('a Host without persistence creates every time', async (t) => {
  const { host, port } = await boot(t, { persistence: 'none' })
  const first = await openThread(port, 'volatile')
  host.adapter.queue(say('one'))
  await run(first, 'hi')
  await first.agent.dispose()
  assert.deepEqual((await openThread(port, 'volatile')).history, [])
})

test('dispose ends the turn, is reported to its end, and is silent and final afterwards', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'dispose')
  host.adapter.queue('hang')
  thread.agent.deliver([user('go')], true)
  await thread.log.until(([name]) => name === 'text')
  const disposing = thread.agent.dispose()
  assert.equal(thread.agent.dispose(), disposing)
  await disposing
  assert.deepEqual(thread.log.outline().slice(-5), ['assistant/message', 'attemptEnd', 'step/end', 'turn/end', 'status idle'])
  assert.equal(reasonOf(thread.log.records('turn/end')[0]), 'aborted')
  assert.equal(thread.log.of('gone').length, 0)
  assert.equal(host.ctx.agents.get('dispose' as never), undefined)
  assert.throws(() => thread.agent.deliver([user('x')], true), { code: 'AGENT_GONE' })
  assert.throws(() => thread.agent.registerTool(new ParkedTool('late').tool), { code: 'AGENT_GONE' })
  thread.agent.cancel()
})

test('an agent that others dispose is gone', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'gone')
  const unread = new Recorder()
  const silent = await port.host.open({ sessionId: 'unread', workspace: join(port.workspaces, 'unread') }, unread.events)
  await host.loop.dispose()
  assert.deepEqual(thread.log.outline(), ['gone'])
  assert.throws(() => thread.agent.deliver([user('x')], true), HostError)
  await thread.agent.dispose()
  assert.deepEqual(thread.log.outline(), ['gone'])
  assert.deepEqual(unread.reports, [])
  assert.equal(silent.history, '[]')
  await unread.until(([name]) => name === 'gone')
})

test('unloading the plugin disposes its agents, again and again', async (t) => {
  const host = await bootHost()
  t.after(() => host.dispose())
  for (const round of [1, 2, 3]) {
    const port = await mountPort(host)
    const thread = await openThread(port, 'reload')
    assert.equal(thread.history.filter(({ type }) => type === 'turn/start').length, round - 1)
    host.adapter.queue(say('ok'))
    await run(thread, 'hi')
    await port.unload()
    assert.deepEqual(host.ctx.agents.list(), [])
  }
})
