/** Approvals and questions of the Host end runs as interrupts, and `resume[]` answers them (G18). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import {
  answer, body, bootGateway, browserTool, callTools, history, hostTool, input, nextEvent, outline, registerTools, resultsSeen, say, transcript, turnsOf,
  user,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import {
  approve, asking, COLOR, decisions, deny, errorCodes, escalatingTool, guard, interruptOf, interruptsOf, NAME, reply, resolved, resume, TOPPINGS,
  turn, withdraw,
} from '../support/people.ts'
import type { WireInterrupt } from '../support/wire.ts'

const GUARDED = { id: 'c-1', name: 'deploy', args: { path: 'prod' } }

/** A gateway whose Tool `deploy` needs an approval. */
async function guarded(t: Parameters<typeof bootGateway>[0], config: object = {}): Promise<TestGateway> {
  const gateway = await bootGateway(t, config)
  await registerTools(gateway, hostTool('deploy', { isConcurrencySafe: () => true }))
  await guard(gateway, ['deploy'], 'it is Friday')
  return gateway
}

/** A gateway whose model can ask. */
async function questioning(t: Parameters<typeof bootGateway>[0], config: object = {}): Promise<TestGateway> {
  return await bootGateway(t, { agentPreset: 'demo', ...config })
}

async function only(interrupts: Promise<readonly WireInterrupt[]>): Promise<WireInterrupt> {
  const [interrupt, ...others] = await interrupts
  assert.ok(interrupt !== undefined && others.length === 0)
  return interrupt
}

test('an approval ends the run, and the answer continues the same turn', async (t) => {
  const gateway = await guarded(t)
  gateway.adapter.queue(callTools([GUARDED], 'Shall I?'), say('Deployed.'))
  const first = await gateway.run({ messages: [user('u-1', 'deploy')] })
  assert.deepEqual(body(first), [
    'TEXT_MESSAGE_START', 'text Shall I?', 'TEXT_MESSAGE_END',
    'call c-1 deploy', 'args c-1 {"path":"prod"}', 'end c-1', 'card call c-1 generic',
    'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  const interrupt = interruptOf(first)
  assert.deepEqual({ ...interrupt, id: '', responseSchema: {} }, {
    id: '', reason: 'approval', message: 'Allow deploy? it is Friday', toolCallId: 'c-1', responseSchema: {},
    metadata: { dsh: { toolName: 'deploy', reason: 'it is Friday' } },
  })
  assert.equal(decisions(gateway.agent()).length, 0)

  const second = await resume(gateway, [approve(interrupt)]).end()
  assert.deepEqual(body(second), [
    'result c-1 {"path":"prod"}', 'card result c-1 generic',
    'TEXT_MESSAGE_START', 'text Deployed.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  assert.deepEqual(interruptsOf(second), [])
  assert.deepEqual(decisions(gateway.agent()), ['allowed-once'])
  assert.deepEqual(turnsOf(gateway.agent()).filter(type => type.startsWith('turn/')), ['turn/start', 'turn/end'])
  assert.deepEqual(transcript(history(second)), [
    'user deploy', 'assistant Shall I? c-1=deploy({"path":"prod"})', 'tool c-1 {"path":"prod"}', 'assistant Deployed.',
  ])
})

for (const [what, entry, outcome, told] of [
  ['a refusal', deny, 'rejected', 'c-1 Error: the user rejected tool "deploy"'],
  ['a withdrawal', withdraw, 'cancelled', 'c-1 Error: approval for tool "deploy" was cancelled'],
] as const) {
  test(`${what} keeps the operation from happening, and the model hears of it`, async (t) => {
    const gateway = await guarded(t)
    const interrupt = await only(turn(gateway, [GUARDED]))
    gateway.adapter.queue(say('As you like.'))
    const events = await resume(gateway, [entry(interrupt)]).end()
    assert.ok(body(events).includes('text As you like.'))
    assert.deepEqual(decisions(gateway.agent()), [outcome])
    assert.deepEqual(resultsSeen(gateway), [told])
  })
}

test('a grant is for one operation: the next one asks again', async (t) => {
  const gateway = await guarded(t)
  const first = await only(turn(gateway, [GUARDED]))
  gateway.adapter.queue(callTools([{ ...GUARDED, id: 'c-2' }]), say('Done.'))
  const second = interruptOf(await resume(gateway, [approve(first)]).end())
  assert.notEqual(second.id, first.id)
  assert.equal(second.toolCallId, 'c-2')
  await resume(gateway, [deny(second)]).end()
  assert.deepEqual(decisions(gateway.agent()), ['allowed-once', 'rejected'])
})

for (const [what, asked, given, told] of [
  ['one option', COLOR, { id: 'color', selected: ['blue'] }, { id: 'color', selected: ['blue'] }],
  ['words instead of an option', COLOR, { id: 'color', selected: [], custom: 'green, please' }, { id: 'color', selected: [], custom: 'green, please' }],
  ['several options', TOPPINGS, { id: 'toppings', selected: ['honey', 'nuts'] }, { id: 'toppings', selected: ['honey', 'nuts'] }],
  ['options and words', TOPPINGS, { custom: 'figs', selected: ['nuts'], id: 'toppings' }, { id: 'toppings', selected: ['nuts'], custom: 'figs' }],
  ['words where there is nothing to choose', NAME, { id: 'name', selected: [], custom: ' Ada ' }, { id: 'name', selected: [], custom: ' Ada ' }],
] as const) {
  test(`a question is answered with ${what}`, async (t) => {
    const gateway = await questioning(t)
    const interrupt = await only(turn(gateway, [asking('c-1', asked)]))
    const { multi_select: multiSelect, ...question } = { multi_select: undefined, ...asked }
    assert.equal(interrupt.reason, 'user_question')
    assert.equal(interrupt.message, asked.question)
    assert.equal(interrupt.toolCallId, 'c-1')
    assert.deepEqual(interrupt.metadata, { dsh: { questions: [{ ...question, ...multiSelect === undefined ? {} : { multiSelect } }] } })
    gateway.adapter.queue(say('Thank you.'))
    const events = await resume(gateway, [resolved(interrupt, { answers: [given] })]).end()
    assert.ok(body(events).includes('text Thank you.'))
    assert.deepEqual(resultsSeen(gateway), [`c-1 ${JSON.stringify({ answers: [told] })}`])
  })
}

test('a question that is withdrawn fails with the Host\'s own error', async (t) => {
  const gateway = await questioning(t)
  const interrupt = await only(turn(gateway, [asking('c-1', COLOR)]))
  gateway.adapter.queue(say('Never mind.'))
  await resume(gateway, [withdraw(interrupt)]).end()
  assert.deepEqual(errorCodes(gateway.agent()), ['ASK_ABORTED'])
  assert.deepEqual(resultsSeen(gateway), ['c-1 Error: the user withdrew the request'])
})

test('the schema of an answer is what is accepted', async (t) => {
  const gateway = await questioning(t)
  const interrupt = await only(turn(gateway, [asking('c-1', COLOR, TOPPINGS, NAME)]))
  assert.equal(interrupt.message, `${COLOR.question}\n${TOPPINGS.question}\n${NAME.question}`)
  const valid = new Ajv({ strict: false }).compile(interrupt.responseSchema ?? {})
  const red = { id: 'color', selected: ['red'] }
  const nuts = { id: 'toppings', selected: ['nuts'], custom: 'x' }
  const ada = { id: 'name', selected: [], custom: 'Ada' }
  const bad = [
    [red, nuts], [red, nuts, ada, ada], [red, red, ada], [red, nuts, { ...ada, id: 'other' }],
    [{ ...red, selected: ['red', 'blue'] }, nuts, ada], [{ ...red, custom: 'x' }, nuts, ada], [{ ...red, selected: ['green'] }, nuts, ada],
    [{ ...red, selected: [] }, nuts, ada], [{ ...red, selected: [], custom: ' ' }, nuts, ada], [{ id: 'color' }, nuts, ada],
    [red, { ...nuts, selected: ['nuts', 'nuts'] }, ada], [red, { id: 'toppings', selected: [] }, ada], [red, { ...nuts, custom: '' }, ada],
    [red, nuts, { id: 'name', selected: [] }], [red, nuts, { ...ada, selected: ['Ada'] }], [red, nuts, { ...ada, more: 1 }],
  ]
  for (const answers of bad) {
    const payload = { answers }
    assert.equal(valid(payload), false, JSON.stringify(payload))
    const refusal = await gateway.refuse(input({ resume: [resolved(interrupt, payload)] }))
    assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_INTERRUPT_RESPONSE'], JSON.stringify(payload))
  }
  assert.deepEqual(turnsOf(gateway.agent()).filter(type => type === 'tool/result'), [])
  const good = { answers: [ada, red, nuts] }
  assert.ok(valid(good))
  gateway.adapter.queue(say('ok'))
  await resume(gateway, [resolved(interrupt, good)]).end()
  assert.deepEqual(resultsSeen(gateway), [`c-1 ${JSON.stringify({ answers: [red, nuts, ada] })}`])
})

test('everything that waits is asked together, beside the browser\'s calls, and answered together', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, escalatingTool(gateway, 'build'), escalatingTool(gateway, 'ship'))
  const tools = [browserTool('pick')]
  const calls = ['build', 'pick', 'ship'].map((name, at) => ({ id: `c-${at}`, name, args: {} }))
  const interrupts = await turn(gateway, calls, { tools })
  assert.deepEqual(interrupts.map(({ toolCallId, message }) => [toolCallId, message]), [
    ['c-0', 'Allow build? build wants more'], ['c-2', 'Allow ship? ship wants more'],
  ])
  gateway.adapter.queue(say('All done.'))
  const [build, ship] = interrupts as [WireInterrupt, WireInterrupt]
  const events = await resume(gateway, [deny(ship), approve(build)], { tools, messages: [answer('t-1', 'c-1', 'this one')] }).end()
  assert.deepEqual(body(events).filter(line => line.startsWith('result')), ['result c-0 "allowed-once"', 'result c-2 "rejected"'])
  assert.deepEqual(resultsSeen(gateway), ['c-0 "allowed-once"', 'c-1 this one', 'c-2 "rejected"'])
})

test('people and the browser may answer one after the other', async (t) => {
  const gateway = await guarded(t)
  const tools = [browserTool('pick')]
  const interrupt = await only(turn(gateway, [{ id: 'c-0', name: 'pick', args: {} }, GUARDED], { tools }))
  // The approval is given, and the run ends again: the browser still owes its answer.
  const second = await resume(gateway, [approve(interrupt)], { tools }).end()
  assert.deepEqual(interruptsOf(second), [])
  assert.deepEqual(turnsOf(gateway.agent()).at(-1), 'tool/call')
  gateway.adapter.queue(say('Both.'))
  await gateway.run({ tools, messages: [answer('t-1', 'c-0', 'this')] })
  assert.deepEqual(resultsSeen(gateway), ['c-0 this', 'c-1 {"path":"prod"}'])
})

test('a question holds later calls back; the browser may answer them beside it', async (t) => {
  const gateway = await questioning(t)
  const tools = [browserTool('pick')]
  const interrupt = await only(turn(gateway, [asking('c-0', COLOR), { id: 'c-1', name: 'pick', args: {} }], { tools }))
  gateway.adapter.queue(say('Thanks.'))
  await resume(gateway, [reply(interrupt, { color: ['red'] })], { tools, messages: [answer('t-1', 'c-1', 'this')] }).end()
  assert.deepEqual(resultsSeen(gateway), ['c-0 {"answers":[{"id":"color","selected":["red"]}]}', 'c-1 this'])
})

test('reading the history tells the same again, with the state, and never prolongs or adds', async (t) => {
  const gateway = await guarded(t)
  gateway.adapter.queue(callTools([GUARDED]))
  const first = await gateway.run({ messages: [user('u-1', 'go')], state: { n: 1 } })
  const again = await gateway.run()
  assert.deepEqual(outline(again), ['RUN_STARTED', 'state {"n":1}', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  assert.deepEqual(again.at(-1)?.outcome, first.at(-1)?.outcome)
  assert.deepEqual(history(again), history(first))
  // A request that comes later waits for the next continuation.
  const agent = gateway.agent()
  const late = gateway.host.ctx.userQuestions.ask({ agent, questions: [{ id: 'late', question: 'Still there?' }] })
  assert.deepEqual((await gateway.run()).at(-1)?.outcome, first.at(-1)?.outcome)
  const tools = [browserTool('pick')]
  gateway.adapter.queue(callTools([{ id: 'c-2', name: 'pick', args: {} }]))
  const second = interruptOf(await resume(gateway, [approve(interruptOf(first))], { tools }).end())
  assert.equal(second.message, 'Still there?')
  assert.equal(second.toolCallId, undefined)
  gateway.adapter.queue(say('ok'))
  await resume(gateway, [reply(second, { late: 'yes' })], { tools, messages: [answer('t-1', 'c-2', 'x')] }).end()
  assert.deepEqual(await late, { answers: [{ id: 'late', selected: [], custom: 'yes' }] })
})

test('what is asked after a run ended is told by whoever reads next', async (t) => {
  const gateway = await bootGateway(t)
  const tools = [browserTool('pick')]
  assert.deepEqual(await turn(gateway, [{ id: 'c-1', name: 'pick', args: {} }], { tools }), [])
  const answered = gateway.host.ctx.userQuestions.ask({ agent: gateway.agent(), questions: [{ id: 'q', question: 'Now?' }] })
  assert.equal((await gateway.refuse(input({ messages: [user('u-2', 'hello?')], tools }))).code, 'AGENT_BUSY')
  const interrupt = interruptOf(await gateway.run({ tools }))
  gateway.adapter.queue(say('ok'))
  await resume(gateway, [reply(interrupt, { q: 'yes' })], { tools, messages: [answer('t-1', 'c-1', 'x')] }).end()
  assert.deepEqual(await answered, { answers: [{ id: 'q', selected: [], custom: 'yes' }] })
})

test('a request whose time runs out is cancelled, and the turn goes on without its run', async (t) => {
  const gateway = await guarded(t, { humanInteractionTimeoutMs: 300 })
  gateway.adapter.queue(callTools([GUARDED]), say('Nobody came.'))
  const interrupt = interruptOf(await gateway.run({ messages: [user('u-1', 'go')] }))
  const agent = gateway.agent()
  if (!turnsOf(agent).includes('turn/end')) await nextEvent(agent, 'turn/end')
  assert.deepEqual(decisions(agent), ['cancelled'])
  const read = await gateway.run()
  assert.deepEqual(interruptsOf(read), [])
  assert.equal(transcript(history(read)).at(-1), 'assistant Nobody came.')
  assert.equal((await gateway.refuse(input({ resume: [approve(interrupt)] }))).code, 'INTERRUPT_UNAVAILABLE')
  assert.deepEqual(body(await resume(gateway, [withdraw(interrupt)]).end()).at(-1), 'RUN_FINISHED')
  assert.deepEqual(decisions(agent), ['cancelled'])
})

test('a question whose time runs out says so to the model', async (t) => {
  const gateway = await questioning(t, { humanInteractionTimeoutMs: 40 })
  gateway.adapter.queue(callTools([asking('c-1', COLOR)]), say('I choose red.'))
  await gateway.run({ messages: [user('u-1', 'go')] })
  const agent = gateway.agent()
  if (!turnsOf(agent).includes('turn/end')) await nextEvent(agent, 'turn/end')
  assert.deepEqual(resultsSeen(gateway), ['c-1 Error: the user did not answer within 40 ms'])
  assert.deepEqual(errorCodes(agent), ['ASK_ABORTED'])
})

test('cancelling the turn takes its requests back', async (t) => {
  const gateway = await guarded(t)
  const interrupt = await only(turn(gateway, [GUARDED]))
  const agent = gateway.agent()
  const ended = nextEvent(agent, 'turn/end')
  agent.cancel({ kind: 'user' })
  await ended
  await agent.whenIdle()
  assert.deepEqual(decisions(agent), ['cancelled'])
  assert.deepEqual(interruptsOf(await gateway.run()), [])
  assert.equal((await gateway.refuse(input({ resume: [approve(interrupt)] }))).code, 'INTERRUPT_UNAVAILABLE')
  // The stale gate of a client is cleared by the very request that goes on.
  gateway.adapter.queue(say('Again.'))
  const events = await resume(gateway, [withdraw(interrupt)], { messages: [user('u-2', 'go on')] }).end()
  assert.ok(body(events).includes('text Again.'))
})

test('a client that leaves while its answer is at work cancels the turn, and what it asks next', async (t) => {
  const gateway = await guarded(t)
  const interrupt = await only(turn(gateway, [GUARDED]))
  gateway.adapter.queue('hang')
  const active = resume(gateway, [approve(interrupt)])
  await active.next('TEXT_MESSAGE_CONTENT')
  const ended = nextEvent(gateway.agent(), 'turn/end')
  active.leave()
  assert.equal(((await ended).data as { reason: { kind: string } }).reason.kind, 'aborted')
  assert.deepEqual(interruptsOf(await gateway.run()), [])
})

test('unloading ends what waits, and waits for it', async (t) => {
  const gateway = await guarded(t, { agentPreset: 'demo' })
  await registerTools(gateway, escalatingTool(gateway, 'ship'))
  const calls = [{ id: 'c-1', name: 'ship', args: {} }, GUARDED]
  const interrupts = await turn(gateway, calls.map((call, at) => ({ ...call, id: `c-${at}` })))
  assert.equal(interrupts.length, 2)
  const agent = gateway.agent()
  // Without a signal nobody but the gateway can end it.
  const loose = gateway.host.ctx.userQuestions.ask({ agent, questions: [{ id: 'q', question: 'Now?' }] })
  loose.catch(() => {})
  await gateway.unload()
  await assert.rejects(loose, { code: 'ASK_ABORTED' })
  assert.deepEqual(decisions(agent), ['cancelled', 'cancelled'])
  assert.deepEqual(gateway.agents, [])
  // In its next life the gateway knows nothing of it, and goes on.
  await gateway.mount()
  const stale = interrupts.map(approve)
  assert.deepEqual(interruptsOf(await resume(gateway, stale).end()), [])
  gateway.adapter.queue(say('Back.'))
  assert.ok(body(await resume(gateway, stale, { messages: [user('u-2', 'hi')] }).end()).includes('text Back.'))
})

test('requests beyond the limit end at once', async (t) => {
  const gateway = await bootGateway(t, { maxPendingInterrupts: 1 })
  await registerTools(gateway, escalatingTool(gateway, 'build'), escalatingTool(gateway, 'ship'))
  const calls = ['build', 'ship'].map((name, at) => ({ id: `c-${at}`, name, args: {} }))
  const interrupt = await only(turn(gateway, calls))
  gateway.adapter.queue(say('ok'))
  await resume(gateway, [approve(interrupt)]).end()
  assert.deepEqual(resultsSeen(gateway), ['c-0 "allowed-once"', 'c-1 "cancelled"'])
})

test('interrupts that no record can hold cancel the turn that asks', async (t) => {
  const gateway = await questioning(t, { maxRunEventBytes: 20_000 })
  const options = Array.from({ length: 60 }, (_, at) => ({ label: `${'x'.repeat(100)}${at}` }))
  gateway.adapter.queue(callTools([asking('c-1', { ...COLOR, options })]))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  assert.equal(events.at(-1)?.code, 'AG_UI_EVENT_BUFFER_OVERFLOW')
  await gateway.agent().whenIdle()
  assert.equal(turnsOf(gateway.agent()).at(-1), 'turn/end')
})
