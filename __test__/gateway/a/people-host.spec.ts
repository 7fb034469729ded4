/**
 * Generation A has one place for whoever answers questions: how the gateway takes it, and its Tool over the preset's where
 * somebody else has it (G18, N8).
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foreignAgent, OtherAnswerer, shared } from '../../support/answerers.ts'
import { bootGateway, browserTool, hostTool, input, registerTools, resultsSeen, say, toolsSeen, user } from '../../support/gateway.ts'
import { asking, COLOR, reply, resume, turn } from '../../support/people.ts'

const ASK = asking('c-1', COLOR)
const RED = 'c-1 {"answers":[{"id":"color","selected":["red"]}]}'

test('the Tool over the preset\'s is the same for the model, and no Tool of ours for anybody', async (t) => {
  const { gateway } = await shared(t, { agentPreset: 'demo' })
  gateway.adapter.queue(say('hello'))
  await gateway.run({ messages: [user('u-0', 'hi')] })
  const tools = gateway.host.ctx.tools
  const agent = gateway.agent()
  const ours = tools.get('ask_user_question', agent)
  const foreign = tools.get('ask_user_question', await foreignAgent(gateway))
  assert.ok(ours !== undefined && foreign !== undefined && ours !== foreign)
  assert.deepEqual({ ...ours, execute: foreign.execute }, { ...foreign })
  assert.deepEqual(toolsSeen(gateway), ['ask_user_question'])
  const refusal = await gateway.refuse(input({ messages: [user('u-1', 'x')], tools: [browserTool('ask_user_question')] }))
  assert.equal(refusal.code, 'FRONTEND_TOOL_NAME_COLLISION')
})

test('the Tool over the preset\'s comes and goes with it', async (t) => {
  const { gateway, other } = await shared(t, { agentPreset: 'bare' })
  const ctx = gateway.host.ctx
  gateway.adapter.queue(say('hello'))
  await gateway.run({ messages: [user('u-0', 'hi')] })
  const agent = gateway.agent()
  const tool = () => ctx.tools.get('ask_user_question', agent)
  assert.equal(tool(), undefined)
  // Composed anew, which the registry does not tell: in time for the next turn.
  await ctx.agentPresets.recompose(agent.ctx, 'demo')
  const [question] = await turn(gateway, [ASK])
  assert.ok(question !== undefined)
  gateway.adapter.queue(say('ok'))
  await resume(gateway, [reply(question, { color: ['red'] })]).end()
  assert.deepEqual(resultsSeen(gateway), [RED])
  await ctx.agentPresets.recompose(agent.ctx, 'bare')
  gateway.adapter.queue(say('ok'))
  await gateway.run({ messages: [user('u-2', 'again')] })
  assert.equal(tool(), undefined)
  assert.deepEqual(toolsSeen(gateway), [])
  // A Tool that is registered later, for everybody.
  const global = hostTool('ask_user_question')
  const fiber = await registerTools(gateway, global)
  await Promise.resolve()
  assert.notEqual(tool(), global)
  assert.equal(tool()?.description, global.description)
  await fiber.dispose()
  await Promise.resolve()
  assert.equal(tool(), undefined)
  assert.deepEqual(other.asked, [])
})

test('a browser that had the name first loses it to the Host, and then the Host\'s Tool asks through us', async (t) => {
  const { gateway } = await shared(t, { agentPreset: 'bare' })
  const tools = [browserTool('ask_user_question')]
  gateway.adapter.queue(say('hello'))
  await gateway.run({ messages: [user('u-0', 'hi')], tools })
  await gateway.host.ctx.agentPresets.recompose(gateway.agent().ctx, 'demo')
  // The registry changes, so that everybody looks again.
  await registerTools(gateway, hostTool('other'))
  await gateway.run()
  const [question] = await turn(gateway, [ASK])
  assert.equal(question?.reason, 'user_question')
})

test('the gateway takes the Host\'s place only for agents of its own, and leaves it', async (t) => {
  const gateway = await bootGateway(t, { agentPreset: 'demo' })
  const other = new OtherAnswerer()
  // No agent yet: the place is free for whoever starts after the gateway.
  const fiber = await other.mount(gateway)
  await fiber.dispose()
  await turn(gateway, [ASK])
  await assert.rejects(other.mount(gateway), { code: 'DUPLICATE_PROVIDER' })
  await gateway.unload()
  await other.mount(gateway)
})
