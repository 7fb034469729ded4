/** Whose requests the gateway answers, and how it gets along with the Host's policies and its other answerers (G18, N8). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import * as askUser from '@deepseek-ai/dsh-tool-ask-user'
import { setApprovalPolicy } from '@deepseek-ai/dsh-user-approval'
import { body, bootGateway, callTools, hostTool, MODEL, PROVIDER, registerTools, resultsSeen, say, user } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { foreignAgent, shared } from '../support/answerers.ts'
import { approve, asking, COLOR, decisions, errorCodes, escalatingTool, guard, interruptOf, interruptsOf, reply, resume, turn } from '../support/people.ts'

const GUARDED = { id: 'c-1', name: 'deploy', args: {} }
const ASK = asking('c-1', COLOR)
const RED = 'c-1 {"answers":[{"id":"color","selected":["red"]}]}'

/** Runs a turn of an agent that is not the gateway's, or not a root. */
async function nativeTurn(gateway: TestGateway, agent: Agent): Promise<string[]> {
  agent.followup(createUserMessage({ content: [{ type: 'text', text: 'go' }], source: { kind: 'user' } }))
  await agent.whenIdle()
  return resultsSeen(gateway)
}

/** An agent that an agent of the gateway owns. It sees what its owner sees. */
async function childOf(gateway: TestGateway, owner: Agent): Promise<Agent> {
  const { agent } = await owner.ctx.agents.create({
    sessionId: SessionId('child'),
    agentOptions: { provider: PROVIDER, model: MODEL },
    // C is told whose child it is.
    ...gateway.host.generation === 'C' ? { parentAgent: owner } : {},
    setup: (agentCtx) => { gateway.host.ctx.agentPresets.composeFrom(agentCtx, owner.ctx) },
  })
  assert.ok(gateway.host.ctx.agents.isOwnedBy(agent.id, owner))
  return agent
}

test('a policy that never asks is the Host\'s own: nobody is asked', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('deploy'))
  await guard(gateway, ['deploy'])
  gateway.adapter.queue(say('hello'))
  await gateway.run({ messages: [user('u-0', 'hi')] })
  setApprovalPolicy(gateway.agent().session, 'never')
  gateway.adapter.queue(callTools([GUARDED]), say('So be it.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  assert.deepEqual(interruptsOf(events), [])
  assert.ok(body(events).includes('text So be it.'))
  assert.deepEqual(decisions(gateway.agent()), ['rejected'])
  assert.deepEqual(resultsSeen(gateway), ['c-1 Error: the user rejected tool "deploy"'])
})

for (const [where, boot] of [
  ['alone', async (t: TestContext) => ({ gateway: await bootGateway(t, { agentPreset: 'demo' }), other: undefined })],
  ['beside an answerer of the Host\'s', (t: TestContext) => shared(t, { agentPreset: 'demo' })],
] as const) {
  test(`children of our agents are not ours to answer for, ${where}`, async (t) => {
    const { gateway, other } = await boot(t)
    await registerTools(gateway, hostTool('deploy'))
    await guard(gateway, ['deploy'])
    gateway.adapter.queue(say('hello'))
    await gateway.run({ messages: [user('u-0', 'hi')] })
    const child = await childOf(gateway, gateway.agent())
    gateway.adapter.queue(callTools([ASK]), say('ok'))
    await nativeTurn(gateway, child)
    assert.deepEqual(errorCodes(child), ['DELEGATED_CALLER'])
    gateway.adapter.queue(callTools([{ ...GUARDED, id: 'c-2' }]), say('ok'))
    await nativeTurn(gateway, child)
    assert.deepEqual(decisions(child), [other === undefined ? 'unavailable' : 'rejected'])
    assert.deepEqual(interruptsOf(await gateway.run()), [])
  })

  test(`other agents of the Host are asked as if we were not there, ${where}`, async (t) => {
    const { gateway, other } = await boot(t)
    await registerTools(gateway, hostTool('deploy'))
    await guard(gateway, ['deploy'])
    gateway.adapter.queue(say('hello'))
    await gateway.run({ messages: [user('u-0', 'hi')] })
    const foreign = await foreignAgent(gateway)
    gateway.adapter.queue(callTools([ASK, { ...GUARDED, id: 'c-2' }]), say('ok'))
    const results = await nativeTurn(gateway, foreign)
    if (other === undefined) {
      assert.deepEqual(errorCodes(foreign), ['NO_PROVIDER', undefined])
      assert.deepEqual(decisions(foreign), ['unavailable'])
      await assert.rejects(gateway.host.ctx.userQuestions.ask({ questions: [{ id: 'q', question: '?' }] }), { code: 'NO_PROVIDER' })
    } else {
      assert.equal(results[0], 'c-1 {"answers":[{"id":"color","selected":[],"custom":"from the Host"}]}')
      assert.deepEqual([other.asked, other.approved], [['foreign'], ['foreign']])
    }
  })
}

test('our agents come to us although another answerer was there before', async (t) => {
  const { gateway, other } = await shared(t, { agentPreset: 'demo' })
  await registerTools(gateway, escalatingTool(gateway, 'ship'), hostTool('deploy'))
  await guard(gateway, ['deploy'])
  const [question] = await turn(gateway, [ASK])
  assert.equal(question?.reason, 'user_question')
  assert.equal(question.toolCallId, 'c-1')
  assert.deepEqual(question.metadata, { dsh: { questions: [COLOR] } })
  gateway.adapter.queue(callTools([{ ...GUARDED, id: 'c-2' }]), callTools([{ id: 'c-3', name: 'ship', args: {} }]), say('Done.'))
  const deploy = interruptOf(await resume(gateway, [reply(question, { color: ['red'] })]).end())
  assert.deepEqual(resultsSeen(gateway), [RED])
  const ship = interruptOf(await resume(gateway, [approve(deploy)]).end())
  await resume(gateway, [approve(ship)]).end()
  assert.deepEqual(decisions(gateway.agent()), ['allowed-once', 'allowed-once'])
  assert.deepEqual([other.asked, other.approved], [[], []])
})

test('bad arguments of the model fail the call, and nobody is asked', async (t) => {
  const { gateway, other } = await shared(t, { agentPreset: 'demo' })
  const bad = [{}, { questions: [] }, { questions: [{ id: 'q' }] }, { questions: [null] }, { questions: 'x' }, 'broken {']
  const calls = bad.map((args, at) => ({ id: `c-${at}`, name: 'ask_user_question', args }))
  gateway.adapter.queue(callTools(calls), say('Sorry.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  assert.ok(body(events).includes('text Sorry.'))
  assert.equal(errorCodes(gateway.agent()).length, bad.length)
  assert.ok(resultsSeen(gateway).every(line => / Error: /.test(line)), resultsSeen(gateway).join('\n'))
  assert.deepEqual(other.asked, [])
})

test('a Host that asks nobody needs no service, and services may come later and come again', async (t) => {
  const gateway = await bootGateway(t, {}, { people: 'none' })
  const { ctx } = gateway.host
  // It waits for what it asks through.
  void ctx.plugin(askUser)
  await registerTools(gateway, hostTool('deploy'))
  await guard(gateway, ['deploy'])
  gateway.adapter.queue(callTools([GUARDED]), say('ok'))
  const events = await gateway.run({ messages: [user('u-0', 'go')] })
  assert.deepEqual(interruptsOf(events), [])
  assert.deepEqual(resultsSeen(gateway), ['c-1 Error: tool "deploy" requires approval (not yet supported)'])
  for (const round of [1, 2]) {
    const people = await gateway.host.mountPeople()
    const deploy = { ...GUARDED, id: `d-${round}` }
    const [approval] = await turn(gateway, [deploy], { messages: [user(`u-${round}`, 'go')] })
    assert.ok(approval !== undefined)
    gateway.adapter.queue(callTools([{ ...ASK, id: `q-${round}` }]), say('ok'))
    const question = interruptOf(await resume(gateway, [approve(approval)]).end())
    assert.equal(question.reason, 'user_question')
    await resume(gateway, [reply(question, { color: ['red'] })]).end()
    assert.equal(resultsSeen(gateway).at(-1), RED.replace('c-1', `q-${round}`))
    await people.dispose()
  }
})

