/** A thread's agent belongs to the Host too: its own interface may speak to it. That is the thread's history, and no run's stream. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import {
  answer, body, bootGateway, browserTool, callTools, Gate, history, input, nextEvent, outline, said, say, sayThrough, transcript, user,
} from '../support/gateway.ts'

/** What a person types into the Host's own interface. */
function native(text: string): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
}

test('a turn that the Host queued behind a run is not of that run', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'mine ', 'alone'), say('theirs'))
  const run = gateway.post(input({ messages: [user('u-1', 'ours')] }))
  await run.next('TEXT_MESSAGE_CONTENT')
  const agent = gateway.agent()
  agent.followup(native('the Host asks'))
  let turns = 0
  const over = nextEvent(agent, ({ type }) => type === 'turn/end' && ++turns === 2)
  gate.open()
  const events = await run.end()
  assert.equal(said(events), 'mine alone')
  await over
  assert.deepEqual(transcript(history(await gateway.run())), ['user ours', 'assistant mine alone', 'user the Host asks', 'assistant theirs'])
})

test('a run that comes while the Host\'s own turn is under way waits for it', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  gateway.adapter.queue(say('hello'), sayThrough(gate, 'their ', 'words'), say('my words'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  gateway.agent().followup(native('the Host asks'))
  await gate.reached
  const run = gateway.post(input({ messages: [user('u-2', 'and me?')] }))
  await run.received
  const read = await gateway.run()
  assert.deepEqual(transcript(history(read)), ['user hi', 'assistant hello', 'user the Host asks'])
  assert.deepEqual(run.events, [])
  gate.open()
  const events = await run.end()
  assert.deepEqual(body(events).slice(0, 3), ['TEXT_MESSAGE_START', 'text my words', 'TEXT_MESSAGE_END'])
  assert.deepEqual(transcript(history(events)).slice(2), ['user the Host asks', 'assistant their words', 'user and me?', 'assistant my words'])
})

for (const [what, messages] of [
  ['one message', [user('u-2', 'and me?')]],
  ['several messages', [user('u-2', 'and'), user('u-3', 'me?')]],
] as const) {
  test(`a run of ${what} that was admitted just before the Host's own turn began is not mixed with it`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(say('hello'), say('their words'), say('my words'))
    await gateway.run({ messages: [user('u-1', 'hi')] })
    const run = gateway.post(input({ messages }))
    // Admitted, and not yet handed to the agent.
    await run.received
    gateway.agent().followup(native('the Host asks'))
    const events = await run.end()
    assert.deepEqual(body(events).slice(0, 3), ['TEXT_MESSAGE_START', 'text my words', 'TEXT_MESSAGE_END'])
    assert.deepEqual(outline(events).at(-1), 'RUN_FINISHED')
    assert.deepEqual(transcript(history(events)).slice(2, 4), ['user the Host asks', 'assistant their words'])
  })
}

test('what the Host says to the agent meanwhile is not of the run that then begins', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  gateway.adapter.queue(say('hello'), sayThrough(gate, 'their ', 'words'), say('their more'), say('my words'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  const agent = gateway.agent()
  agent.followup(native('the Host asks'))
  await gate.reached
  const run = gateway.post(input({ messages: [user('u-2', 'and me?')] }))
  await run.received
  agent.followup(native('and asks again'))
  gate.open()
  assert.equal(said(await run.end()), 'my words')
})

test('steering by the Host joins the turn under way, and the run shows that turn', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Both then.'))
  const tools = [browserTool('pick')]
  await gateway.run({ messages: [user('u-1', 'go')], tools })
  gateway.agent().steer(native('mind the Host'))
  const events = await gateway.run({ messages: [answer('t-1', 'c-1', 'red')], tools })
  assert.equal(said(events), 'Both then.')
  assert.deepEqual(transcript(history(events)), [
    'user go', 'assistant c-1=pick({})', 'tool c-1 red', 'user mind the Host', 'assistant Both then.',
  ])
})

test('a Host that cancels a parked turn frees the thread', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('on'))
  const tools = [browserTool('pick')]
  await gateway.run({ messages: [user('u-1', 'go')], tools })
  const agent = gateway.agent()
  const ended = nextEvent(agent, 'turn/end')
  agent.cancel({ kind: 'user' })
  await ended
  const events = await gateway.run({ messages: [user('u-2', 'never mind')], tools })
  assert.equal(said(events), 'on')
  assert.equal(history(events).filter(({ role }) => role === 'tool').length, 1)
})
