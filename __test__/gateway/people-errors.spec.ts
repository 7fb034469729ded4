/** Every way in which answers of people are refused over HTTP, with nothing changed behind it; and answers that come twice (G8, G18). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import {
  answer, body, bootGateway, browserTool, callTools, compact, Gate, history, hostTool, input, registerTools, sayThrough, resultsSeen, say, transcript,
  turnsOf, user,
} from '../support/gateway.ts'
import type { InputFields, TestGateway } from '../support/gateway.ts'
import { approve, decisions, deny, escalatingTool, interruptOf, interruptsOf, resolved, resume, turn, withdraw } from '../support/people.ts'
import type { WireInterrupt } from '../support/wire.ts'

const TOOLS = [browserTool('pick')]
const CALLS = ['build', 'pick', 'ship'].map((name, at) => ({ id: `c-${at}`, name, args: {} }))

/** A thread that waits for two people's approvals and for one browser's answer. */
async function waiting(t: TestContext, onLog?: (line: string) => void): Promise<{ gateway: TestGateway, build: WireInterrupt, ship: WireInterrupt }> {
  const gateway = await bootGateway(t, { maxPendingInterrupts: 3 }, onLog === undefined ? {} : { onLog })
  await registerTools(gateway, escalatingTool(gateway, 'build'), escalatingTool(gateway, 'ship'))
  const [build, ship] = await turn(gateway, CALLS, { tools: TOOLS })
  assert.ok(build !== undefined && ship !== undefined)
  return { gateway, build, ship }
}

const STRANGER = (id: string): object => ({ interruptId: id, status: 'cancelled' })

const CASES: readonly {
  readonly name: string
  readonly status: number
  readonly code: string
  readonly message: string
  readonly send: (build: WireInterrupt, ship: WireInterrupt) => InputFields
}[] = [
  ...[null, undefined, true, {}, { approved: 'true' }, { approved: true, forever: true }].map(payload => ({
    name: `a payload of ${JSON.stringify(payload)}`, status: 400, code: 'INVALID_INTERRUPT_RESPONSE', message: 'an approval is answered with {approved: boolean}',
    send: (build: WireInterrupt, ship: WireInterrupt) => ({ resume: [approve(ship), resolved(build, payload)] }),
  })),
  {
    name: 'an interrupt that is named twice', status: 400, code: 'DUPLICATE_INTERRUPT_RESPONSE', message: 'an interrupt is answered twice',
    send: (build, ship) => ({ resume: [approve(build), approve(ship), withdraw(build)] }),
  },
  {
    name: 'an interrupt that is not answered', status: 409, code: 'INCOMPLETE_INTERRUPT_RESPONSE', message: '1 open interrupts must be answered in the same request',
    send: build => ({ resume: [approve(build)] }),
  },
  {
    name: 'one answer and one for a stranger', status: 409, code: 'INCOMPLETE_INTERRUPT_RESPONSE', message: '1 open interrupts must be answered in the same request',
    send: build => ({ resume: [approve(build), STRANGER('interrupt-0')] }),
  },
  {
    name: 'a new message beside the answers', status: 400, code: 'INVALID_MESSAGE_BATCH', message: 'new user messages and answers to interrupts cannot share a run',
    send: (build, ship) => ({ resume: [approve(build), approve(ship)], messages: [user('u-2', 'and?')] }),
  },
  {
    name: 'a new message instead of answers', status: 409, code: 'INCOMPLETE_INTERRUPT_RESPONSE', message: '2 open interrupts must be answered in the same request',
    send: () => ({ messages: [user('u-2', 'hello?')] }),
  },
  {
    name: 'a Tool result without the answers', status: 409, code: 'INCOMPLETE_INTERRUPT_RESPONSE', message: '2 open interrupts must be answered in the same request',
    send: () => ({ messages: [answer('t-1', 'c-1', 'this')] }),
  },
  {
    name: 'a Tool result that does not fit beside the answers', status: 409, code: 'UNKNOWN_TOOL_RESULT', message: 'a Tool result answers no call that waits for the browser',
    send: (build, ship) => ({ resume: [approve(build), approve(ship)], messages: [answer('t-1', 'c-9', 'this')] }),
  },
  {
    name: 'a Tool result for a call of the Host\'s without an answer', status: 409, code: 'UNKNOWN_TOOL_RESULT', message: 'a Tool result answers no call that waits for the browser',
    send: () => ({ messages: [answer('t-1', 'c-0', '{"approved":true}')] }),
  },
  {
    name: 'more answers than can wait', status: 429, code: 'INTERRUPT_LIMIT_EXCEEDED', message: 'more than 3 answers to interrupts',
    send: (build, ship) => ({ resume: [approve(build), approve(ship), STRANGER('a'), STRANGER('b')] }),
  },
]

test('every refusal has its status, its code and its words, and changes nothing', async (t) => {
  const { gateway, build, ship } = await waiting(t)
  const before = (await gateway.run()).slice(1)
  for (const { name, status, code, message, send } of CASES) {
    const refusal = await gateway.refuse(input({ tools: TOOLS, ...send(build, ship) }))
    assert.deepEqual([refusal.status, refusal.code, refusal.message], [status, code, message], name)
    const { resume: _, ...fields } = { resume: [], ...input() }
    const after = (await gateway.post(fields).end()).slice(1)
    assert.deepEqual(after.map(event => ({ ...event, runId: '' })), before.map(event => ({ ...event, runId: '' })), name)
  }
  assert.deepEqual(decisions(gateway.agent()), [])
  gateway.adapter.queue(say('Done.'))
  await resume(gateway, [approve(build), deny(ship)], { tools: TOOLS, messages: [answer('t-1', 'c-1', 'this')] }).end()
  assert.deepEqual(resultsSeen(gateway), ['c-0 "allowed-once"', 'c-1 this', 'c-2 "rejected"'])
  for (const entries of [[deny(build), approve(ship)], [approve(build), resolved(ship, { approved: 0 })]]) {
    const refusal = await gateway.refuse(input({ resume: entries }))
    assert.deepEqual([refusal.status, refusal.code, refusal.message], [409, 'INTERRUPT_UNAVAILABLE', 'an answered interrupt no longer waits'])
  }
})

test('the same run id replays, and another one finds the answers given', async (t) => {
  const { gateway, build, ship } = await waiting(t)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'Half', ' done.'))
  const entries = [approve(build), approve(ship)]
  const request = input({ resume: entries, tools: TOOLS, messages: [answer('t-1', 'c-1', 'this')] })
  const first = gateway.post(request)
  await first.next('TEXT_MESSAGE_CONTENT')
  const twin = gateway.post(request)
  await twin.received
  // Word for word under another run id, while the first is at work: nothing new, so the history is read.
  const late = await gateway.post(input({ resume: entries, tools: TOOLS })).end()
  assert.deepEqual(interruptsOf(late), [])
  gate.open()
  const events = await first.end()
  assert.deepEqual(compact(await twin.end()), compact(events))
  assert.deepEqual(compact(await gateway.post(request).end()), compact(events))
  const conflict = await gateway.refuse({ ...request, resume: [approve(build), deny(ship)] })
  assert.equal(conflict.code, 'RUN_ID_CONFLICT')
  assert.deepEqual(decisions(gateway.agent()), ['allowed-once', 'allowed-once'])
  assert.equal(turnsOf(gateway.agent()).filter(type => type === 'turn/start').length, 1)
})

test('an answer that waits for its turn is held against what waits then', async (t) => {
  const { gateway, build, ship } = await waiting(t)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'Half', ' done.'))
  const active = resume(gateway, [approve(build), approve(ship)], { tools: TOOLS, messages: [answer('t-1', 'c-1', 'this')] })
  await active.next('TEXT_MESSAGE_CONTENT')
  const late = resume(gateway, [deny(build), deny(ship)], { tools: TOOLS })
  await late.received
  gate.open()
  await active.end()
  const refusal = await late.refused()
  assert.deepEqual([refusal.status, refusal.code], [409, 'INTERRUPT_UNAVAILABLE'])
})

test('interrupts of another thread are unknown here, ignored, and noted without content', async (t) => {
  const lines: string[] = []
  const { gateway, build, ship } = await waiting(t, line => lines.push(line))
  const entries = [approve(build), approve(ship)]
  gateway.adapter.queue(say('hello'))
  await gateway.run({ threadId: 'thread-2', messages: [user('u-1', 'hi')] })
  const read = await gateway.run({ threadId: 'thread-2', resume: entries })
  assert.deepEqual(body(read), ['RUN_FINISHED'])
  assert.deepEqual(transcript(history(read)), ['user hi', 'assistant hello'])
  assert.deepEqual(decisions(gateway.agent()), [])
  assert.deepEqual(lines.filter(line => /interrupt/.test(line)).map(line => line.replace(/thread \d+/, 'thread N')), [
    '[warn] ag-ui: thread N: 2 answers to unknown interrupts were ignored',
  ])
  assert.equal(interruptsOf(await gateway.run()).length, 2)
})

test('an answer under the run id that asked is a new run; everything else under it conflicts', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, escalatingTool(gateway, 'build'), hostTool('plain'))
  gateway.adapter.queue(callTools([CALLS[0]!]))
  const asking = input({ runId: 'same', messages: [user('u-1', 'go')] })
  const first = await gateway.post(asking).end()
  const interrupt = interruptOf(first)
  for (const fields of [{ messages: [user('u-1', 'go'), user('u-2', 'x')] }, { messages: [] }, { state: { n: 1 } }]) {
    assert.equal((await gateway.refuse({ ...asking, ...fields })).code, 'RUN_ID_CONFLICT')
  }
  gateway.adapter.queue(say('Done.'))
  const answering = input({ runId: 'same', resume: [approve(interrupt)] })
  const second = await gateway.post(answering).end()
  assert.ok(body(second).includes('text Done.'))
  // Both are kept under the id, each for its own request.
  assert.deepEqual(compact(await gateway.post(asking).end()), compact(first))
  assert.deepEqual(compact(await gateway.post(answering).end()), compact(second))
  assert.equal((await gateway.refuse(input({ runId: 'same', resume: [withdraw(interrupt)] }))).code, 'RUN_ID_CONFLICT')
})
