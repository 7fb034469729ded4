/** Official clients that go on without answering, answer late, or drop what was said (X7). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DshHttpAgent } from 'dsh-ag-ui/client'
import { connect, VERSIONS } from '../support/client.ts'
import type { TestClient } from '../support/client.ts'
import {
  answer, body, bootGateway, browserTool, callTools, history, input, makeHome, outline, resultsSeen, say, SECRET, transcript, turnsOf, user,
} from '../support/gateway.ts'
import type { TestGateway, WireMessage } from '../support/gateway.ts'
import { png } from '../support/png.ts'
import { partOf, upload } from '../support/transfers.ts'

const TOOLS = [browserTool('pick'), browserTool('paint')]
const RUN = { tools: TOOLS }
const BOTH = callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }, { id: 'c-2', name: 'paint', args: { label: 'y' } }])
const PASSED_OVER = 'Error: the browser did not answer; the person went on with a new message'
const MADE = 'assistant c-1=pick({"label":"x"}) c-2=paint({"label":"y"})'

const turns = (gateway: TestGateway): number => turnsOf(gateway.agent()).filter(type => type === 'turn/start').length

/** Who said what under which id. Results of one step stand in the order of the model, or in that in which they came. */
function conversation(messages: readonly WireMessage[]): string[] {
  const lines = transcript(messages).map((line, at) => `${messages[at]?.id} ${line}`)
  const steps = Map.groupBy(lines.keys(), at => messages.findLastIndex(({ role }, before) => before <= at && role !== 'tool'))
  return [...steps.values()].flatMap(([first = 0, ...others]) => [lines[first] ?? '', ...others.map(at => lines[at] ?? '').toSorted()])
}

/** A client and a fresh reader hold the same conversation. */
async function assertConsistent(gateway: TestGateway, client: TestClient): Promise<void> {
  const reader = connect(gateway, '0.0.59')
  await reader.run()
  assert.deepEqual(conversation(client.messages), conversation(reader.messages))
}

for (const version of VERSIONS) {
  test(`words behind open calls end these for the model and join their turn, client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(BOTH, say('As you like.'), say('Next.'))
    const client = connect(gateway, version)
    await client.say('go', RUN)
    const events = await client.say('never mind', RUN)
    assert.deepEqual(body(events), [
      `result c-1 ${PASSED_OVER}`, `result c-2 ${PASSED_OVER}`,
      'TEXT_MESSAGE_START', 'text As you like.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
    ])
    assert.deepEqual(resultsSeen(gateway), [`c-1 ${PASSED_OVER}`, `c-2 ${PASSED_OVER}`])
    assert.equal(turns(gateway), 1)
    assert.deepEqual(transcript(client.messages), [
      'user go', MADE, `tool c-1 ${PASSED_OVER}`, `tool c-2 ${PASSED_OVER}`, 'user never mind', 'assistant As you like.',
    ])
    await client.say('and now?', RUN)
    assert.equal(turns(gateway), 2)
    await assertConsistent(gateway, client)
  })

  test(`one answer together with words, client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(BOTH, say('Half of it.'))
    const client = connect(gateway, version)
    await client.say('go', RUN)
    // Behind its call, as pages put it.
    client.agent.messages.splice(2, 0, { id: 'late', role: 'tool', toolCallId: 'c-2', content: 'Error: no paint' })
    await client.say('sorry', RUN)
    assert.deepEqual(resultsSeen(gateway), [`c-1 ${PASSED_OVER}`, 'c-2 Error: no paint'])
    assert.equal(turns(gateway), 1)
    await assertConsistent(gateway, client)
  })

  test(`a shortened history: what was said comes back, in one order, client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(say('One.'), say('Two.'), say('Three.'))
    const client = connect(gateway, version)
    await client.say('a')
    await client.say('b')
    const before = transcript(client.messages)
    // Once more, please: nothing is new, so nothing is done.
    client.agent.setMessages(client.agent.messages.slice(0, -1))
    await client.run()
    assert.deepEqual(transcript(client.messages), before)
    assert.equal(gateway.adapter.requests.length, 2)
    // Other words instead.
    client.agent.setMessages(client.agent.messages.slice(0, -2))
    await client.say('c')
    assert.deepEqual(transcript(client.messages), [...before, 'user c', 'assistant Three.'])
    await assertConsistent(gateway, client)
  })
}

/** An attempt that breaks off when a call of it is complete. */
const brokenOff = [...BOTH.slice(0, 4), { type: 'finish', reason: { kind: 'error', failure: { message: 'overloaded', code: 'OVERLOADED' } } }]

for (const version of VERSIONS) {
  test(`a call of an attempt that failed is taken back; a page that answers it all the same goes on, client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(brokenOff as never, say('Here I am.'))
    const client = connect(gateway, version)
    const failed = await client.say('go', RUN)
    assert.deepEqual(outline(failed).slice(-3), ['end c-1', 'MESSAGES_SNAPSHOT', 'error OVERLOADED'])
    assert.deepEqual(transcript(client.messages), ['user go'])
    assert.deepEqual(body(await client.answer({ 'c-1': 'red' }, RUN)), ['RUN_FINISHED'])
    assert.ok(body(await client.say('are you there?', RUN)).includes('text Here I am.'))
    assert.deepEqual(transcript(client.messages).slice(-2), ['user are you there?', 'assistant Here I am.'])
  })
}

test('the same of a client that keeps what the model says to itself', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(brokenOff as never, say('Here I am.'))
  const [go, late] = [user('u-1', 'go'), answer('t-1', 'c-1', 'red')]
  await gateway.run({ messages: [go], ...RUN })
  assert.deepEqual(body(await gateway.run({ messages: [go, late], ...RUN })), ['RUN_FINISHED'])
  assert.ok(body(await gateway.run({ messages: [go, late, user('u-2', 'on')], ...RUN })).includes('text Here I am.'))
})

test('calls whose bodies have not begun are passed over, too', async (t) => {
  const gateway = await bootGateway(t)
  // More than the Host runs at once.
  const ids = Array.from({ length: 14 }, (_, index) => `c-${index}`)
  gateway.adapter.queue(callTools(ids.map(id => ({ id, name: 'pick', args: { label: id } }))), say('None of them.'))
  const client = connect(gateway, '0.0.59')
  await client.say('go', RUN)
  client.agent.messages.push({ id: 'one', role: 'tool', toolCallId: 'c-13', content: 'the last' })
  await client.say('enough', RUN)
  assert.deepEqual(resultsSeen(gateway), [...ids.slice(0, -1).map(id => `${id} ${PASSED_OVER}`), 'c-13 the last'])
  assert.equal(turns(gateway), 1)
  await assertConsistent(gateway, client)
})

test('words with an image join the turn that waits', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(BOTH, say('A picture.'))
  const client = connect(gateway, '0.0.59')
  await client.say('go', RUN)
  const part = await partOf(upload(gateway, png(8, 8), 'a.png', 'image/png'))
  client.agent.addMessage({ id: 'picture', role: 'user', content: [{ type: 'text', text: 'Rather this.' }, part as never] })
  await client.run(RUN)
  const last = gateway.adapter.requests.at(-1)?.messages.flatMap(({ content }) => content.map(block => block.type))
  assert.ok(last?.includes('image'))
  assert.equal(turns(gateway), 1)
  assert.equal(transcript(client.messages).at(-1), 'assistant A picture.')
  await assertConsistent(gateway, client)
})

test('the companion keeps its copy to itself: it has to answer before it goes on', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(BOTH, say('Thanks.'))
  const agent = new DshHttpAgent({
    url: gateway.url,
    threadId: 'thread-1',
    headers: { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'tenant-1', 'x-dsh-user-id': 'user-1' },
  })
  agent.addMessage({ id: 'u-1', role: 'user', content: 'go' })
  await agent.runAgent({ tools: TOOLS as never })
  const refused = await gateway.refuse(input({ messages: [user('u-1', 'go'), user('u-2', 'never mind')], tools: TOOLS }))
  assert.deepEqual([refused.status, refused.code], [409, 'AGENT_BUSY'])
  for (const [id, call] of [['t-1', 'c-1'], ['t-2', 'c-2']] as const) agent.addMessage({ id, role: 'tool', toolCallId: call, content: 'yes' })
  await agent.runAgent({ tools: TOOLS as never })
  assert.equal(transcript(agent.messages as WireMessage[]).at(-1), 'assistant Thanks.')
})

test('what was passed over stays so after a restart', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue(BOTH, say('As you like.'))
  const client = connect(first, '0.0.59')
  await client.say('go', RUN)
  const events = await client.say('never mind', RUN)
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  const cold = await second.run({ messages: client.messages, tools: TOOLS })
  assert.deepEqual(body(cold), ['RUN_FINISHED'])
  assert.deepEqual(history(cold), history(events))
  // A form that is filled in now answers nothing.
  assert.deepEqual(body(await second.run({ messages: [answer('late', 'c-1', 'red')], tools: TOOLS })), ['RUN_FINISHED'])
})
