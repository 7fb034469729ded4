/** The port over the generations of DSH that are not installed, and what differs between them (N8). */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { SessionRecord } from 'dsh-ag-ui/host'
import { AttemptReader } from '../ts/host/attempts.ts'
import { CardReader, FRONTEND_RESULT_ID } from '../ts/host/cards.ts'
import { composedAgent, isSessionHeld, readEvents, sessionPreset, toolOutcome } from '../ts/host/compat.ts'
import { ToolCatalog } from '../ts/host/tools.ts'
import type { OwnTool } from '../ts/host/tools.ts'
import { mountPlugin } from './support/host.ts'
import { bootPuppetPort } from './support/puppet-host.ts'
import type { PuppetAgent, PuppetHost } from './support/puppet-host.ts'
import { dataOf, openThread, Recorder, user } from './support/port.ts'
import type { Thread } from './support/port.ts'

async function open(t: TestContext): Promise<Thread & { host: PuppetHost, newer: PuppetAgent }> {
  const { host, port } = await bootPuppetPort(t)
  const thread = await openThread(port, 'thread')
  await Promise.resolve() // the first read of the history lets reports go from the next microtask on
  return { ...thread, host, newer: host.agent('thread') }
}

const text = (index: number, piece: string) => ({ type: 'text-delta', index, text: piece })
const message = (id: string, content: object[]) => ({ role: 'assistant', id, content, source: { kind: 'model' } })

test('frames of an attempt are reported as chunks are, its message before its end', async (t) => {
  const { newer, log } = await open(t)
  newer.append('turn/start', { turn: 1 })
  newer.start(1, 1)
  newer.stream({ type: 'block-start', index: 0, blockType: 'text' }, text(0, 'Hel'), text(0, ''), text(0, 'lo'),
    { type: 'block-end', index: 0, block: { type: 'text', text: 'Hello' } }, { type: 'usage', usage: {} },
    { type: 'finish', reason: { kind: 'stop' } })
  newer.append('assistant/message', {
    turn: 1, step: 1, message: message('a1', [{ type: 'text', text: 'Hello' }]), stream: [{ type: 'text-chunks', texts: ['Hel', 'lo'] }],
  })
  newer.end('assistant/message')
  newer.append('step/end', { turn: 1, step: 1 })
  assert.deepEqual(log.outline(),
    ['turn/start', 'attemptStart', 'text', 'text', 'blockEnd', 'assistant/message', 'attemptEnd', 'step/end'])
  assert.deepEqual(log.of('attemptEnd'), [['attemptEnd', true]])
  assert.equal(Object.hasOwn(dataOf<object>(log.records('assistant/message')[0]), 'stream'), false)
})

test('a failed attempt is committed as an attempt, which is no message, and a retry follows', async (t) => {
  const { newer, log } = await open(t)
  newer.start(1, 1)
  newer.stream(text(0, 'half'), { type: 'finish', reason: { kind: 'error', failure: {} } })
  newer.append('assistant/attempt', { turn: 1, step: 1, stream: [{ type: 'text-chunks', texts: ['half'] }] })
  newer.end('assistant/attempt')
  newer.start(1, 1)
  newer.stream(text(0, 'again'))
  newer.end()
  newer.start(1, 1)
  newer.stream(text(0, 'cut off'))
  newer.start(1, 2)
  newer.append('assistant/message', { turn: 1, step: 2, message: message('a1', []) })
  newer.end('assistant/message')
  assert.deepEqual(log.of('attemptStart', 'text', 'attemptEnd'), [
    ['attemptStart', 1, 1], ['text', 'half'], ['attemptEnd', false],
    ['attemptStart', 1, 1], ['text', 'again'], ['attemptEnd', false],
    ['attemptStart', 1, 1], ['text', 'cut off'], ['attemptEnd', false],
    ['attemptStart', 1, 2], ['attemptEnd', true],
  ])
  assert.deepEqual(log.records().map(({ type }) => type), ['assistant/attempt', 'assistant/message'])
  assert.deepEqual(log.records()[0]?.data, { turn: 1, step: 1 })
})

test('an attempt that is open when the history is read is told whole', async (t) => {
  const { host, port } = await bootPuppetPort(t)
  const log = new Recorder()
  const agent = await port.host.open({ sessionId: 'early', workspace: join(port.workspaces, 'early') }, log.events)
  const newer = host.agent('early')
  newer.start(1, 1)
  newer.stream(text(0, 'in the log'))
  newer.append('assistant/message', { turn: 1, step: 1, message: message('a1', []) })
  newer.end('assistant/message')
  newer.start(1, 2)
  newer.stream(text(0, 'abandoned'))
  newer.end()
  newer.start(1, 2)
  newer.stream(text(0, 'still '))
  assert.deepEqual((JSON.parse(agent.history) as SessionRecord[]).map(({ seq }) => seq), [0])
  newer.stream(text(0, 'open'))
  assert.deepEqual(log.reports, [])
  await log.until(([, delta]) => delta === 'open')
  assert.deepEqual(log.reports, [['attemptStart', 1, 2], ['text', 'still '], ['text', 'open']])
})

test('the same, where the chunks are in the log', async (t) => {
  const { host, port } = await bootPuppetPort(t)
  const log = new Recorder()
  const agent = await port.host.open({ sessionId: 'early', workspace: join(port.workspaces, 'early') }, log.events)
  const older = host.agent('early')
  const chunk = (value: object) => older.append('assistant/chunk', { turn: 1, step: 1, chunk: value })
  chunk(text(0, 'failed'))
  chunk({ type: 'finish', reason: { kind: 'error', failure: {} } })
  chunk(text(0, 'retried '))
  assert.equal(agent.history, '[]')
  chunk(text(0, 'well'))
  await log.until(([, delta]) => delta === 'well')
  older.append('step/end', { turn: 1, step: 1 })
  assert.deepEqual(log.outline(), ['attemptStart', 'text', 'text', 'attemptEnd', 'step/end'])
  assert.equal(log.text(), 'retried well')
})

test('events that were appended without being published are reported in their place', async (t) => {
  const { newer, log } = await open(t)
  newer.append('turn/start', { turn: 1 })
  newer.session.push('step/start', { turn: 1, step: 1 })
  newer.session.push('request/context', {})
  newer.append('step/end', { turn: 1, step: 1 })
  assert.deepEqual(log.records().map(({ seq, type }) => [seq, type]), [[0, 'turn/start'], [1, 'step/start'], [3, 'step/end']])
})

test('an event that is published after the history took it is not reported again', async (t) => {
  const { host, port } = await bootPuppetPort(t)
  const log = new Recorder()
  const agent = await port.host.open({ sessionId: 'late', workspace: join(port.workspaces, 'late') }, log.events)
  const newer = host.agent('late')
  const event = newer.session.push('turn/start', { turn: 1 })
  assert.deepEqual(JSON.parse(agent.history), [{ type: 'turn/start', seq: 0, data: { turn: 1 } }])
  newer.publish(event)
  newer.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
  await log.untilRecord('turn/end')
  assert.deepEqual(log.outline(), ['turn/end'])
})

test('events of another session that reach the agent\'s scope are not its own', async (t) => {
  const { newer, log } = await open(t)
  newer.publish({ type: 'turn/start', seq: 0, time: 0, data: { turn: 1 } }, { id: 'child' })
  newer.append('turn/start', { turn: 7 })
  assert.deepEqual(log.records().map(({ data }) => data), [{ turn: 7 }])
})

test('a Tool result that is a message of its own gets its card', async (t) => {
  const { host, newer, log } = await open(t)
  await mountPlugin(host.ctx, ['tools'], (plugin) => {
    plugin.tools.register({
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object' },
      output: { schema: {}, render: () => [] },
      execute: () => Promise.resolve(''),
      presentResult: (args, result) => ({ card: 'generic', title: JSON.stringify([args, result]) }),
    })
  })
  newer.append('tool/call', { turn: 1, step: 1, callId: 'c1', name: 'look', arguments: '{"at":1}' })
  newer.append('tool/result', {
    turn: 1, step: 1, meta: { x: 1 },
    message: { id: 'r1', role: 'tool', toolCallId: 'c1', isError: true, content: [{ type: 'text', text: 'no' }], source: { kind: 'tool' } },
  })
  assert.deepEqual(log.records('tool/result')[0]?.card, {
    card: 'generic', title: '[{"at":1},{"content":[{"type":"text","text":"no"}],"isError":true,"meta":{"x":1}}]',
  })
})

test('sessions resume from a newer persistence, under the preset that was selected last', async (t) => {
  const { host, port } = await bootPuppetPort(t)
  const first = await openThread(port, 'thread', 'demo')
  const newer = host.agent('thread')
  newer.append('agent-preset/selected', { agentPreset: 'other' })
  first.agent.deliver([user('a', 'm-1'), user('b', 'm-2')], true)
  first.agent.cancel()
  assert.deepEqual(newer.delivered, [['inject', 'm-1'], ['followup', 'm-2'], ['cancel', 'user']])
  await first.agent.dispose()
  const second = await openThread(port, 'thread', 'demo')
  assert.deepEqual(second.history, [{ type: 'agent-preset/selected', seq: 0, data: { agentPreset: 'other' } }])
  assert.deepEqual(host.mounted, ['demo', 'other'])
  await second.agent.dispose()
  host.presets.clear()
  await assert.rejects(openThread(port, 'thread'), { code: 'AGENT_PRESET_UNKNOWN' })
})

test('every shape of the log and of a result is read', () => {
  const events = [{ type: 'turn/start', seq: 0, data: { turn: 1 } }]
  assert.deepEqual(readEvents({ events }), events)
  assert.deepEqual(readEvents({ snapshotEvents: () => events }), events)
  assert.deepEqual(readEvents({ seq: 1, eventAt: (seq: number) => events[seq] }), events)
  assert.throws(() => readEvents({}), /log/u)
  assert.equal(sessionPreset({ events, header: { agentPreset: 'demo' } }), 'demo')
  assert.equal(sessionPreset({ events, header: {} }), undefined)
  const content = [{ type: 'text', text: 'x' }]
  const outcome = { callId: 'c', content, isError: false, meta: undefined }
  assert.deepEqual(toolOutcome({ message: { role: 'user', content: [{ type: 'tool-result', toolCallId: 'c', content }] } }), outcome)
  assert.deepEqual(toolOutcome({ message: { role: 'tool', source: { kind: 'tool', callId: 'c' }, content } }), outcome)
  assert.equal(toolOutcome({ message: { role: 'user', content: [] } }), undefined)
})

test('the agent that a setup composes is named by its context, or beside it', () => {
  const agent = { id: 'a' } as never
  assert.equal(composedAgent({ agent } as never, undefined), agent)
  const strange = Object.defineProperty({}, 'agent', { get() { throw new Error('cannot get property "agent" without inject') } })
  assert.equal(composedAgent(strange as never, agent), agent)
})

test('a session that somebody else holds is told from one that is broken', () => {
  assert.equal(isSessionHeld(Object.assign(new Error('owned'), { name: 'SessionAlreadyOwnedError' })), true)
  assert.equal(isSessionHeld(new Error('session "s" is already owned')), false)
  assert.equal(isSessionHeld('SessionAlreadyOwnedError'), false)
})

test('interleaved blocks do not end each other, and a step ends the attempt that made nothing', () => {
  const log = new Recorder()
  const reader = new AttemptReader(log.events)
  const chunk = (value: object) => reader.chunkLogged({ turn: 1, step: 1, chunk: value as never })
  const call = (index: number, id: string, argumentsDelta: string, name?: string) =>
    chunk({ type: 'tool-call-delta', index, id, argumentsDelta, ...name === undefined ? {} : { name } })
  reader.stepEnding()
  call(0, 'a', '', 'one')
  call(1, 'b', '{', 'two')
  call(0, 'a', '')
  chunk({ type: 'block-end', index: 0 })
  call(1, 'b', '}')
  chunk({ type: 'block-end', index: 1 })
  reader.stepEnding()
  assert.deepEqual(log.reports, [
    ['attemptStart', 1, 1], ['toolCall', 'a', 'one', ''], ['toolCall', 'b', 'two', '{'], ['toolCall', 'b', undefined, '}'],
    ['blockEnd'], ['attemptEnd', false],
  ])
})

test('no presenter sees the gateway\'s own key in the metadata', () => {
  const seen: unknown[] = []
  const cards = new CardReader(() => ({ presentResult: (_args, { meta }) => { seen.push(meta) } }))
  const result = (callId: string, meta?: unknown) => {
    assert.equal(cards.ofCall({ callId, name: 'x', arguments: '' }), 'null')
    assert.equal(cards.ofResult({ message: { role: 'tool', toolCallId: callId, content: [] }, meta }), 'null')
  }
  result('a', { [FRONTEND_RESULT_ID]: 'id', shade: 'dark' })
  result('b', { [FRONTEND_RESULT_ID]: 'id' })
  result('c', { shade: 'light' })
  result('d')
  assert.equal(cards.ofResult({ message: { role: 'tool', toolCallId: 'd', content: [] } }), undefined)
  assert.deepEqual(seen, [{ shade: 'dark' }, undefined, { shade: 'light' }, undefined])
  assert.equal(cards.ofResult({ message: { role: 'tool', toolCallId: 'unknown', content: [] } }), undefined)
})

test('without the Host\'s own scopes, a name of ours that the Host has too is still seen', async (t) => {
  const { host, newer } = await open(t)
  const agent = newer as never
  const tool = (name: string): OwnTool['definition'] => ({
    name, description: '', parameters: {}, output: { schema: {}, render: () => [] }, execute: () => Promise.resolve(''),
  })
  await mountPlugin(host.ctx, ['tools'], async (plugin) => {
    let changes = 0
    const catalog = new ToolCatalog(plugin, () => { changes += 1 })
    const own = new Map<string, OwnTool>()
    const register = (name: string, shadowing: boolean) => {
      const definition = tool(name)
      catalog.quietly(agent, () => newer.ctx.tools.register(definition))
      own.set(name, { definition, shadowing })
    }
    register('mine', false)
    register('shadow', true)
    await Promise.resolve()
    assert.equal(changes, 0)
    plugin.tools.register(tool('global'))
    assert.deepEqual(catalog.inheritedBy(agent, undefined, own), ['global', 'shadow'])
    plugin.tools.register(tool('mine'))
    assert.deepEqual(catalog.inheritedBy(agent, undefined, own), ['global', 'mine', 'shadow'])
    await Promise.resolve()
    assert.equal(changes, 1)
  })
})
