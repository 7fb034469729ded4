/**
 * The fifteen facts about DSH that bite (host-api §0.2), on a real Host. Where the adapter is what keeps the gateway
 * safe, the test shows that it does; where a later layer must, the test holds the fact, so that a change is noticed.
 */

import assert from 'node:assert/strict'
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import * as cordis from '@deepseek-ai/cordis'
import { KNOWN_SESSION_EVENT_TYPES } from '@deepseek-ai/dsh-session'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { bootHost, callTools, fail, mountPlugin, say } from './support/host.ts'
import type { TestHost } from './support/host.ts'
import { dataOf, mountPort, openThread, ParkedTool, run, user } from './support/port.ts'
import type { MountedPort, Thread } from './support/port.ts'

async function boot(t: TestContext): Promise<{ host: TestHost, port: MountedPort }> {
  const host = await bootHost()
  t.after(() => host.dispose())
  return { host, port: await mountPort(host) }
}

/** A message as DSH takes it, past the adapter. */
const raw = (text: string, id: string = text) =>
  ({ id, role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } }) as never

/** A Tool registered past the adapter. */
const rawTool = (name: string, execute: ToolDefinition['execute'], rest: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name,
  description: 'Raw.',
  parameters: { type: 'object' },
  output: { schema: {}, render: (_args, value) => [{ type: 'text', text: String(value) }] },
  execute,
  ...rest,
})

const resultText = (thread: Thread, position = 0) => {
  const { message } = dataOf<{ message: { content: [{ content: [{ text: string }] }] } }>(thread.log.records('tool/result')[position])
  return message.content[0].content[0].text
}

test('hazard 1: nothing is appended while a session publishes', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h1')
  const refused: unknown[] = []
  const attempt = (action: () => void) => {
    try {
      action()
    } catch (error) {
      refused.push((error as { code?: string }).code ?? (error as Error).message)
    }
  }
  let disposal: Promise<void> | undefined
  thread.log.onReport = ([name]) => {
    if (name !== 'record') return
    thread.log.onReport = undefined
    attempt(() => thread.dsh.followup(raw('past the adapter')))
    attempt(() => thread.agent.deliver([user('from a report')], true))
    attempt(() => thread.agent.cancel())
    disposal = thread.agent.dispose()
  }
  host.adapter.queue(say('unheard'))
  thread.agent.deliver([user('hi')], true)
  assert.deepEqual(refused, [
    'session append cannot reenter while another append is being published', 'REENTRANT_CALL', 'REENTRANT_CALL',
  ])
  await disposal
  assert.equal(host.ctx.agents.get('h1' as never), undefined)
  const events = thread.dsh.session.events
  assert.equal(events.filter(({ type }) => type === 'turn/start').length, 1)
  assert.equal(events.at(-1)?.type, 'turn/end')
})

test('hazard 2: a route outlives its plugin unless it is wrapped in an effect', async (t) => {
  const { host } = await boot(t)
  const route = (path: string) => ({ kind: 'prefix', path, handler: (_req: unknown, res: { end(): void }) => res.end() }) as never
  const bare = await mountPlugin(host.ctx, ['webServer'], (plugin) => { plugin.webServer.register(route('/bare')) })
  await bare.dispose()
  assert.throws(() => host.ctx.webServer.register(route('/bare')), /duplicate prefix route "\/bare"/)
  for (let round = 0; round < 2; round += 1) {
    const wrapped = await mountPlugin(host.ctx, ['webServer'], (plugin) => {
      plugin.effect(() => plugin.webServer.register(route('/wrapped')), 'route')
    })
    await wrapped.dispose()
  }
  assert.equal((await fetch(`${host.url}/wrapped`)).status, 404)
})

test('hazard 3: a Tool is exclusive unless it says otherwise', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h3')
  const parked = new ParkedTool('browser')
  thread.agent.registerTool(parked.tool)
  host.adapter.queue(callTools([{ id: 'c1', name: 'browser', args: {} }, { id: 'c2', name: 'browser', args: {} }]), say('ok'))
  thread.agent.deliver([user('go')], true)
  const calls = [await parked.next(), await parked.next()]
  assert.equal(thread.log.records('tool/call').length, 2)
  for (const call of calls) call.resolve({ text: 'done' })
  await thread.log.untilIdle()

  const since = thread.log.reports.length
  thread.dsh.ctx.tools.register(rawTool('plain', () => Promise.resolve('done')))
  host.adapter.queue(callTools([{ id: 'c3', name: 'plain', args: {} }, { id: 'c4', name: 'plain', args: {} }]), say('ok'))
  await run(thread, 'again')
  assert.deepEqual(thread.log.outline().slice(since).filter(name => name.startsWith('tool/')),
    ['tool/call', 'tool/result', 'tool/call', 'tool/result'])
})

test('hazard 4: disposal waits for bodies, and a body that forgets its signal does not hold it', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h4')
  const parked = new ParkedTool('forgetful')
  thread.agent.registerTool(parked.tool)
  host.adapter.queue(callTools([{ id: 'c1', name: 'forgetful', args: {} }]))
  thread.agent.deliver([user('go')], true)
  const late = await parked.next()
  await thread.agent.dispose()
  const reports = thread.log.reports.length
  late.resolve({ text: 'too late' })
  await Promise.resolve()
  assert.equal(thread.log.reports.length, reports)

  const other = await openThread(port, 'h4-raw')
  const release = Promise.withResolvers<string>()
  other.dsh.ctx.tools.register(rawTool('stuck', () => release.promise))
  host.adapter.queue(callTools([{ id: 'c1', name: 'stuck', args: {} }]))
  other.agent.deliver([user('go')], true)
  await other.log.until(([name]) => name === 'body')
  let disposed = false
  const disposal = other.agent.dispose().then(() => { disposed = true })
  await new Promise<void>(resolve => setImmediate(resolve))
  assert.equal(disposed, false)
  release.resolve('at last')
  await disposal
})

test('hazard 5: the reason of an abort is no Error, and the model does not see it', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h5')
  const parked = new ParkedTool('pick')
  thread.agent.registerTool(parked.tool)
  host.adapter.queue(callTools([{ id: 'c1', name: 'pick', args: {} }]))
  thread.agent.deliver([user('go')], true)
  const { call } = await parked.next()
  thread.agent.cancel()
  await thread.log.untilIdle()
  assert.deepEqual(call.signal.reason, { kind: 'user' })
  assert.equal(resultText(thread), 'Error: Tool "pick" was aborted')
})

test('hazard 6: the Host checks neither name nor arguments of a raw Tool', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h6')
  const parked = new ParkedTool('pick', { parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } })
  thread.agent.registerTool(parked.tool)
  for (const name of ['', 'with space', 'x'.repeat(65)]) thread.agent.registerTool(new ParkedTool(name).tool)
  thread.agent.registerTool(new ParkedTool('odd', { parameters: { $schema: 'x', anyOf: [] } }).tool)
  host.adapter.queue(
    callTools([{ id: 'c1', name: 'pick', args: '{"n":' }, { id: 'c2', name: 'pick', args: { n: 'no integer' } }]), say('ok'))
  thread.agent.deliver([user('go')], true)
  const calls = [await parked.next(), await parked.next()]
  assert.deepEqual(calls.map(({ call }) => call.arguments), ['{"n":', { n: 'no integer' }])
  for (const call of calls) call.resolve({ text: 'x' })
  await thread.log.untilIdle()
  assert.throws(() => thread.agent.registerTool(new ParkedTool('run_code').tool), /reserved/)
})

test('hazard 7: creating over a stored session fails late, so what is stored is resumed', async (t) => {
  const { host, port } = await boot(t)
  const first = await openThread(port, 'h7')
  host.adapter.queue(say('one'))
  await run(first, 'hi')
  await first.agent.dispose()

  const clash = await host.ctx.agents.create({
    sessionId: 'h7' as never, agentOptions: { provider: 'scripted', model: 'demo-1' }, meta: { cwd: join(port.workspaces, 'h7') },
  })
  host.adapter.queue(say('unpersisted'))
  clash.agent.followup(raw('unpersisted'))
  await clash.agent.whenIdle()
  await assert.rejects(host.ctx.sessions.flush(clash.agent.session), /id collision/)
  await assert.rejects(openThread(port, 'h7'), { code: 'SESSION_LIVE' })
  await clash.dispose()

  const second = await openThread(port, 'h7')
  assert.equal(second.history.filter(({ type }) => type === 'turn/start').length, 1)
  assert.equal(await host.ctx.sessions.flush(second.dsh.session), true)
})

test('hazard 8: a session without an event is not stored, and opens again', async (t) => {
  const { host, port } = await boot(t)
  await (await openThread(port, 'h8')).agent.dispose()
  assert.deepEqual(await host.ctx.sessionPersistence.list(), [])
  await assert.rejects(host.ctx.agents.resume({ resumeSessionId: 'h8' as never }), { message: 'session "h8" not found' })
  const again = await openThread(port, 'h8')
  assert.deepEqual(again.history, [])
  host.adapter.queue(say('ok'))
  await run(again, 'hi')
})

test('hazard 9: a failed attempt leaves no message, a cancelled one does', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h9')
  host.adapter.queue(fail('half a sen'))
  await run(thread, 'hi')
  assert.deepEqual(thread.log.records('assistant/message'), [])
  assert.deepEqual(thread.log.of('text', 'attemptEnd'), [['text', 'half a sen'], ['attemptEnd', false]])
  const reason = dataOf<{ reason: { kind: string, error: { code: string } } }>(thread.log.records('turn/end')[0]).reason
  assert.deepEqual([reason.kind, reason.error.code], ['error', 'SCRIPT_FAILED'])

  const since = thread.log.reports.length
  host.adapter.queue('hang')
  thread.agent.deliver([user('again')], true)
  await thread.log.until(([name]) => name === 'text', since)
  thread.agent.cancel()
  await thread.log.untilIdle(since)
  assert.equal(dataOf<{ interrupted?: true }>(thread.log.records('assistant/message')[0]).interrupted, true)
})

test('hazard 10: a log with a type of our own would never resume, so none is appended', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h10', 'demo')
  const parked = new ParkedTool('pick')
  thread.agent.registerTool(parked.tool)
  host.adapter.queue(callTools([{ id: 'c1', name: 'pick', args: {} }]), say('ok'))
  thread.agent.deliver([user('ctx'), user('go')], true)
  const call = await parked.next()
  call.resolve({ text: 'blue', meta: { any: 1 } })
  await thread.log.untilIdle()
  assert.deepEqual(thread.dsh.session.events.filter(({ type }) => !KNOWN_SESSION_EVENT_TYPES.has(type)), [])
  const { seq } = thread.dsh.session
  const { path } = host.ctx.sessionPersistence.locate(thread.dsh.session.header) as { path: string }
  await thread.agent.dispose()
  await host.ctx.sessionPersistence.inspect('h10' as never)
  appendFileSync(path, `${JSON.stringify({ type: 'ag-ui/mark', seq, time: 1, data: {} })}\n`)
  await assert.rejects(openThread(port, 'h10'), /ag-ui\/mark.*unknown to this harness/s)
  assert.deepEqual(host.ctx.agents.list(), [])
})

test('hazard 11: a source kind of our own is kept, stored and resumed', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h11')
  const source = { kind: 'ag-ui', part: 'context', nested: { deep: [1] } }
  host.adapter.queue(say('ok'))
  await run(thread, { id: 'ctx', content: [{ type: 'text', text: 'context' }], source }, user('hi', 'm-1'))
  await thread.agent.dispose()
  const again = await openThread(port, 'h11')
  const kept = again.history.find(({ data }) => (data as { id?: string }).id === 'ctx')
  assert.deepEqual(dataOf<{ source: unknown }>(kept).source, source)
})

test('hazard 12: others answer first, but not for our agents', async (t) => {
  const { host, port } = await boot(t)
  // What the web profile's own plugin does: takes the one question seat and claims every approval.
  host.ctx.userQuestions.registerProvider({ ask: () => Promise.resolve({ answers: [] }) })
  await mountPlugin(host.ctx, [], (plugin) => { plugin.on('approval/request', () => Promise.resolve('rejected')) })
  assert.throws(() => host.ctx.userQuestions.registerProvider({ ask: () => Promise.resolve({ answers: [] }) }),
    { code: 'DUPLICATE_PROVIDER' })
  await mountPlugin(host.ctx, ['tools'], (plugin) => {
    plugin.tools.register(rawTool('danger', () => Promise.resolve('done')))
    plugin.on('tools/pre-execute', () => Promise.resolve({ kind: 'ask' }))
  })
  const thread = await openThread(port, 'h12')
  thread.log.onAsk = () => Promise.resolve({ status: 'allowed' })
  const ask = async (id: string) => {
    host.adapter.queue(callTools([{ id, name: 'danger', args: {} }]), say('ok'))
    await run(thread, id)
  }
  await ask('c1')
  // Only who listens in the agent's own scope and asks to be first comes before us.
  const late = thread.dsh.ctx.on('approval/request', () => Promise.resolve('rejected'))
  await ask('c2')
  late()
  thread.dsh.ctx.on('approval/request', () => Promise.resolve('rejected'), { prepend: true })
  await ask('c3')
  assert.deepEqual([0, 1, 2].map(at => resultText(thread, at)), ['done', 'done', 'Error: the user rejected tool "danger"'])
  assert.equal(thread.log.records('approval/asked').length, 3)
})

test('hazard 13: other model calls of the Host report nothing, its own messages keep their source', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'h13')
  await mountPlugin(host.ctx, ['llm'], async (plugin) => {
    for await (const _ of plugin.llm.stream({ provider: 'scripted', model: 'demo-1', messages: [], purpose: 'session-title' }));
  })
  assert.deepEqual([thread.log.reports, host.adapter.requests], [[], []])
  host.adapter.queue(say('ok'))
  await run(thread, 'hi')
  assert.deepEqual(thread.log.records('user/message').map(({ data }) => (data as { source: { kind: string } }).source.kind),
    ['user', 'plugin'])
})

test('hazard 14: no value of DSH or Cordis is imported when the adapter loads', () => {
  assert.equal('FiberState' in cordis, false)
  const lib = join(import.meta.dirname, '..', 'lib', 'host')
  const sources = readdirSync(lib).filter(name => name.endsWith('.js')).map(name => readFileSync(join(lib, name), 'utf8'))
  assert.ok(sources.length > 5)
  const imports = sources.flatMap(source => [...source.matchAll(/^\s*(?:import|export) [^;]*?from '([^']+)'/gmu)].map(([, name]) => name))
  assert.deepEqual(imports.filter(name => name?.startsWith('@deepseek-ai/')), [])
})

test('hazard 15: a message to a disposed agent is lost silently, so it is refused', async (t) => {
  const { port } = await boot(t)
  const thread = await openThread(port, 'h15')
  await thread.agent.dispose()
  thread.dsh.followup(raw('lost'))
  assert.throws(() => thread.dsh.ctx.on('agent/status', () => {}), { code: 'INACTIVE_EFFECT' })
  assert.throws(() => thread.agent.deliver([user('lost')], true), { code: 'AGENT_GONE' })
  assert.throws(() => thread.agent.deliver([user('lost')], false), { code: 'AGENT_GONE' })
  await thread.dsh.whenIdle()
  assert.deepEqual(thread.log.reports, [])
})
