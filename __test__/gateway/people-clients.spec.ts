/** Official clients answer interrupts: their gates, their resume entries, reloads, and CopilotKit's habits (G18, X7, X9). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect, VERSIONS } from '../support/client.ts'
import type { Decision, TestClient } from '../support/client.ts'
import {
  body, bootGateway, browserTool, callTools, errorOf, history, hostTool, nextEvent, registerTools, resultsSeen, say, transcript, turnsOf,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { asking, COLOR, decisions, guard, interruptsOf, NAME } from '../support/people.ts'
import type { WireInterrupt } from '../support/wire.ts'

const DEPLOY = { id: 'c-1', name: 'deploy', args: { path: 'prod' } }
const yes = (approved: boolean): Decision => ({ status: 'resolved', payload: { approved } })
const GIVE_UP: Decision = { status: 'cancelled' }

async function boot(t: TestContext, config: object = {}): Promise<TestGateway> {
  const gateway = await bootGateway(t, { agentPreset: 'demo', ...config })
  await registerTools(gateway, hostTool('deploy', { isConcurrencySafe: () => true }))
  await guard(gateway, ['deploy'])
  return gateway
}

/** The one interrupt that a client holds. */
function held(client: TestClient): WireInterrupt {
  const [interrupt, ...others] = client.interrupts
  assert.ok(interrupt !== undefined && others.length === 0, 'the client holds one interrupt')
  return interrupt
}

const GATED = /pending interrupt\(s\) not addressed by resume/

for (const version of VERSIONS) {
  test(`a client approves, answers and goes on, ${version}`, async (t) => {
    const gateway = await boot(t)
    const client = connect(gateway, version, { state: { n: 1 } })
    gateway.adapter.queue(callTools([DEPLOY], 'Deploying.'), callTools([asking('c-2', COLOR, NAME)]), say('All set.'), say('Bye.'))
    await client.say('deploy it')
    const approval = held(client)
    assert.equal(approval.reason, 'approval')
    // It sends nothing before the person has answered.
    await assert.rejects(client.run(), GATED)
    await client.respond({ [approval.id]: yes(true) })
    const question = held(client)
    assert.equal(question.reason, 'user_question')
    const answers = [{ id: 'color', selected: ['red'] }, { id: 'name', selected: [], custom: 'Ada' }]
    const events = await client.respond({ [question.id]: { status: 'resolved', payload: { answers } } })
    assert.deepEqual(client.interrupts, [])
    assert.deepEqual(client.messages, history(events))
    assert.deepEqual(client.state, { n: 1 })
    await client.say('thanks')
    assert.deepEqual(transcript(client.messages), [
      'user deploy it', 'assistant Deploying. c-1=deploy({"path":"prod"})', 'tool c-1 {"path":"prod"}',
      `assistant c-2=ask_user_question(${JSON.stringify({ questions: [COLOR, NAME] })})`, `tool c-2 ${JSON.stringify({ answers })}`,
      'assistant All set.', 'user thanks', 'assistant Bye.',
    ])
  })

  test(`a client denies, and cancels, ${version}`, async (t) => {
    const gateway = await boot(t)
    const client = connect(gateway, version)
    gateway.adapter.queue(callTools([DEPLOY]), callTools([{ ...DEPLOY, id: 'c-2' }]), callTools([asking('c-3', COLOR)]), say('Fine.'))
    await client.say('deploy it')
    await client.respond({ [held(client).id]: yes(false) })
    await client.respond({ [held(client).id]: GIVE_UP })
    await client.respond({ [held(client).id]: GIVE_UP })
    assert.deepEqual(decisions(gateway.agent()), ['rejected', 'cancelled'])
    assert.deepEqual(resultsSeen(gateway), [
      'c-1 Error: the user rejected tool "deploy"', 'c-2 Error: approval for tool "deploy" was cancelled', 'c-3 Error: the user withdrew the request',
    ])
    assert.deepEqual(client.interrupts, [])
  })

  test(`an answer that does not fit is refused, and can be given again, ${version}`, async (t) => {
    const gateway = await boot(t)
    const client = connect(gateway, version)
    gateway.adapter.queue(callTools([DEPLOY]), say('Done.'))
    await client.say('deploy it')
    const { id } = held(client)
    await assert.rejects(client.respond({ [id]: { status: 'resolved', payload: { approved: 'yes' } } }), /400.*INVALID_INTERRUPT_RESPONSE/)
    assert.equal(held(client).id, id)
    assert.ok(body(await client.respond({ [id]: yes(true) })).includes('text Done.'))
  })

  test(`a reloaded page is told again by a plain run, and answers, ${version}`, async (t) => {
    const gateway = await boot(t)
    const client = connect(gateway, version, { state: { n: 1 } })
    gateway.adapter.queue(callTools([DEPLOY], 'Deploying.'), say('Done.'))
    await client.say('deploy it')
    const fresh = connect(gateway, version)
    await fresh.run()
    assert.deepEqual(fresh.interrupts, client.interrupts)
    assert.deepEqual(fresh.messages, client.messages)
    assert.deepEqual(fresh.state, { n: 1 })
    await fresh.respond({ [held(fresh).id]: yes(true) })
    assert.equal(transcript(fresh.messages).at(-1), 'assistant Done.')
    // The other page's answer comes too late, and its person learns it; giving up clears the gate.
    await assert.rejects(client.respond({ [held(client).id]: yes(false) }), /409.*INTERRUPT_UNAVAILABLE/)
    await client.respond({ [held(client).id]: GIVE_UP })
    assert.deepEqual(client.interrupts, [])
    assert.deepEqual(transcript(client.messages), transcript(fresh.messages))
    assert.deepEqual(decisions(gateway.agent()), ['allowed-once'])
  })

  test(`two pages that give the same answer give one, ${version}`, async (t) => {
    const gateway = await boot(t)
    const [client, twin] = [connect(gateway, version), connect(gateway, version)]
    gateway.adapter.queue(callTools([DEPLOY]), say('Done.'))
    await client.say('deploy it')
    await twin.run()
    await client.respond({ [held(client).id]: yes(true) })
    await twin.respond({ [held(twin).id]: yes(true) })
    assert.deepEqual(twin.interrupts, [])
    assert.deepEqual(transcript(twin.messages), transcript(client.messages))
    assert.deepEqual(decisions(gateway.agent()), ['allowed-once'])
  })

  test(`a gate whose request is over is cleared by the run that says something new, ${version}`, async (t) => {
    const gateway = await boot(t, { humanInteractionTimeoutMs: 300 })
    const client = connect(gateway, version)
    gateway.adapter.queue(callTools([DEPLOY]), say('Nobody came.'), say('Hello again.'))
    await client.say('deploy it')
    const agent = gateway.agent()
    if (!turnsOf(agent).includes('turn/end')) await nextEvent(agent, 'turn/end')
    await assert.rejects(client.say('hello?'), GATED)
    const events = await client.respond({ [held(client).id]: GIVE_UP })
    assert.ok(body(events).includes('text Hello again.'))
    assert.deepEqual(client.interrupts, [])
  })

  test(`CopilotKit answers under the id of the run that asked, and keeps it, ${version}`, async (t) => {
    const gateway = await boot(t)
    const client = connect(gateway, version)
    const tools = [browserTool('pick')]
    gateway.adapter.queue(callTools([DEPLOY]), callTools([{ id: 'c-2', name: 'pick', args: {} }]), say('Done.'))
    await client.say('deploy it', { runId: 'pinned', tools })
    const { id, toolCallId = '' } = held(client)
    // It also notes the answer as a Tool message of its own.
    client.agent.addMessage({ id: 'note', role: 'tool', toolCallId, content: JSON.stringify({ approved: true }) })
    const second = await client.respond({ [id]: yes(true) }, { runId: 'pinned', tools })
    assert.deepEqual(interruptsOf(second), [])
    assert.ok(body(second).includes('result c-1 {"path":"prod"}'))
    const third = await client.answer({ 'c-2': 'this' }, { runId: 'pinned', tools })
    assert.ok(body(third).includes('text Done.'))
    assert.deepEqual(resultsSeen(gateway), ['c-1 {"path":"prod"}', 'c-2 this'])
    assert.deepEqual(transcript(client.messages), [
      'user deploy it', 'assistant c-1=deploy({"path":"prod"})', 'tool c-1 {"path":"prod"}', 'assistant c-2=pick({})', 'tool c-2 this', 'assistant Done.',
    ])
    await assert.rejects(client.say('more', { runId: 'pinned' }), /409.*RUN_ID_CONFLICT/)
  })

  test(`after a restart the turn is gone, its interrupt is unknown, and the client goes on, ${version}`, async (t) => {
    const gateway = await boot(t, { humanInteractionTimeoutMs: 60_000 })
    const client = connect(gateway, version)
    gateway.adapter.queue(callTools([DEPLOY]), say('Hello again.'))
    await client.say('deploy it')
    await gateway.unload()
    await gateway.mount()
    await client.respond({ [held(client).id]: yes(true) })
    assert.deepEqual(client.interrupts, [])
    assert.deepEqual(decisions(gateway.agent()), ['cancelled'])
    assert.ok(body(await client.say('hello?')).includes('text Hello again.'))
  })
}

test('a client that is not told whose request ended keeps its gate through a failed run', async (t) => {
  const gateway = await boot(t)
  const client = connect(gateway, '0.0.59')
  gateway.adapter.queue(callTools([DEPLOY]))
  await client.say('deploy it')
  const { id } = held(client)
  // The turn goes on, and its model fails: the answer was taken all the same.
  assert.equal(errorOf(await client.respond({ [id]: yes(true) })).code, 'SCRIPT_EXHAUSTED')
  assert.equal(held(client).id, id)
  await client.respond({ [id]: yes(true) })
  assert.deepEqual(client.interrupts, [])
})
