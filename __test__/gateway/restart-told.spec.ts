/** Before a run's end is told its log is on the disk, and an interruption is told once for good (G8, G20). */

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import {
  body, bootGateway, browserTool, callTools, errorOf, Gate, hostTool, input, logOf, makeHome, outline, registerTools, said, say, user,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { mountPort, openThread, run } from '../support/port.ts'
import { bootHost } from '../support/host.ts'

/** Lets the Host write nothing of a session until the gate opens. */
function holdDisk(gateway: TestGateway, gate: Gate): void {
  gateway.host.ctx.on('session/flush', async () => { await gate.pass() })
}

/** Copies of the sessions as a process that died inside of a turn leaves them. */
async function interrupted(t: TestContext): Promise<{ home: string, sessions: string }> {
  const home = makeHome(t)
  const gateway = await bootGateway(t, {}, { home })
  gateway.adapter.queue('hang')
  const broken = gateway.post(input({ messages: [user('u-1', 'go')] }))
  await broken.next('TEXT_MESSAGE_CONTENT')
  await gateway.host.ctx.sessions.flush(gateway.agent().session)
  const sessions = join(home, 'left')
  cpSync(join(home, 'sessions'), sessions, { recursive: true })
  await gateway.host.dispose()
  return { home, sessions }
}

test('the end of a run waits for the disk, and the next run for both', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  holdDisk(gateway, gate)
  gateway.adapter.queue(say('one'), say('two'))
  const first = gateway.post(input({ messages: [user('u-1', 'a')] }))
  await gate.reached
  const second = gateway.post(input({ messages: [user('u-2', 'b')] }))
  await second.received
  await first.next('TEXT_MESSAGE_END')
  assert.equal(first.events.at(-1)?.type, 'TEXT_MESSAGE_END')
  assert.equal(second.events.length, 0)
  gate.open()
  assert.equal(said(await first.end()), 'one')
  assert.equal(said(await second.end()), 'two')
})

test('a turn that waits for the browser is on the disk before its run ends', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  holdDisk(gateway, gate)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]))
  const parked = gateway.post(input({ messages: [user('u-1', 'a')], tools: [browserTool('pick')] }))
  await gate.reached
  await parked.next('TOOL_CALL_END')
  assert.equal(parked.events.at(-1)?.type, 'TOOL_CALL_END')
  gate.open()
  assert.deepEqual(outline(await parked.end()).slice(-2), ['MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
})

test('a client that leaves meanwhile finds its run finished', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  holdDisk(gateway, gate)
  gateway.adapter.queue(say('one'))
  const request = input({ messages: [user('u-1', 'a')] })
  const left = gateway.post(request)
  await gate.reached
  left.leave()
  await gateway.left(left)
  gate.open()
  assert.equal(said(await gateway.post(request).end()), 'one')
})

test('a disk that fails is warned of and fails no run', async (t) => {
  const lines: string[] = []
  const gateway = await bootGateway(t, {}, { onLog: (line) => { lines.push(line) } })
  gateway.host.ctx.on('session/flush', () => Promise.reject(new TypeError('content that no log may show')))
  gateway.adapter.queue(say('one'))
  assert.equal(said(await gateway.run({ messages: [user('u-1', 'a')] })), 'one')
  const [warned] = lines.filter(line => line.includes('writing the log'))
  assert.match(warned ?? '', /agui-[0-9a-f]+" failed \(TypeError\)$/u)
  assert.ok(!lines.join('\n').includes('content that'))
})

test('a disk that hangs holds a run up for five seconds', async (t) => {
  const lines: string[] = []
  const host = await bootHost()
  t.after(() => host.dispose())
  const port = await mountPort(host, { logger: { warn: (line) => { lines.push(line) } } })
  const thread = await openThread(port, 'hanging')
  host.adapter.queue(say('ok'))
  await run(thread, 'hi')
  const gate = new Gate()
  host.ctx.on('session/flush', async () => { await gate.pass() })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const flushed = thread.agent.flush?.()
  await gate.reached
  assert.deepEqual(lines, [])
  t.mock.timers.tick(5000)
  await flushed
  t.mock.timers.reset()
  assert.match(lines.join(), /writing the log of agent "hanging" takes longer/u)
  gate.open()
})

test('an interruption is told once, over restarts and idle closes; no model learns of the note', async (t) => {
  const left = await interrupted(t)
  const first = await bootGateway(t, {}, left)
  const told = await first.run({ messages: [user('u-1', 'go')] })
  assert.equal(errorOf(told).code, 'THREAD_INTERRUPTED')
  await first.host.dispose()
  const second = await bootGateway(t, { threadIdleMs: 1 }, left)
  for (let life = 0; life < 2; life += 1) {
    const closed = new Promise<void>((resolve) => { second.host.ctx.on('agent/disposed', () => { resolve() }) })
    assert.deepEqual(body(await second.run({ messages: [user('u-1', 'go')] })), ['RUN_FINISHED'])
    await closed
  }
  second.adapter.queue(say('again'))
  const next = await second.run({ messages: [user('u-1', 'go'), user('u-2', 'go on')] })
  assert.equal(said(next), 'again')
  assert.ok(!JSON.stringify([next, second.adapter.requests]).includes('interrupted the last turn'))
})

test('an interruption is told when the note is on the disk', async (t) => {
  const gateway = await bootGateway(t, {}, await interrupted(t))
  const gate = new Gate()
  holdDisk(gateway, gate)
  const read = gateway.post(input())
  await gate.reached
  await read.next('MESSAGES_SNAPSHOT')
  assert.deepEqual(outline(read.events), ['RUN_STARTED', 'MESSAGES_SNAPSHOT'])
  assert.deepEqual(logOf(gateway.agent()).slice(-2).map(({ type }) => type), ['agent/inbox/spliced', 'agent/inbox/spliced'])
  assert.deepEqual([...gateway.agent().inbox.nextTurn, ...gateway.agent().inbox.nextStep], [])
  gate.open()
  assert.equal(errorOf(await read.end()).code, 'THREAD_INTERRUPTED')
})

test('an order that fails takes its thread with it and nothing else', async (t) => {
  const lines: string[] = []
  const gateway = await bootGateway(t, {}, { onLog: (line) => { lines.push(line) } })
  await registerTools(gateway, hostTool('look'))
  // A Tool that the Host takes and does not give back, and one that it refuses.
  const tools = (gateway.host.ctx.tools as unknown as { [key: symbol]: typeof gateway.host.ctx.tools })[Symbol.for('cordis.original')]
  assert.ok(tools !== undefined)
  const { register } = tools
  tools.register = function (definition) {
    if (definition.name === 'refused') throw new Error('the Host will not have it')
    const unregister = register.call(this, definition)
    return definition.name === 'kept' ? () => { throw new RangeError('content that no log may show') } : unregister
  }
  const failing = gateway.post(input({
    threadId: 'failing', messages: [user('u-1', 'a')], tools: [browserTool('kept'), browserTool('refused')],
  }))
  gateway.adapter.queue(say('fine'))
  const fine = gateway.post(input({ threadId: 'fine', messages: [user('u-1', 'a')] }))
  assert.equal(errorOf(await failing.end()).code, 'AGENT_NOT_AVAILABLE')
  assert.equal(said(await fine.end()), 'fine')
  assert.ok(lines.some(line => line.endsWith('an order of the gateway failed: syncTools (RangeError)')), lines.join('\n'))
  assert.ok(!lines.join('\n').includes('content that'))
})
