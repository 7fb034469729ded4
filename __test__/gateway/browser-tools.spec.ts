/** Tools that live in the browser: parked calls, answers in one round or several, Tool sets (G11). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { argumentsOf, connect, VERSIONS } from '../support/client.ts'
import {
  answer, body, bootGateway, browserTool, callTools, history, hostTool, input, nextEvent, registerTools, resultsSeen, say,
  toolsSeen, transcript, turnsOf, user,
} from '../support/gateway.ts'

const TOOLS = [browserTool('pick'), browserTool('paint')]
const PICK = callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }])
const BOTH = callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }, { id: 'c-2', name: 'paint', args: { label: 'y' } }])

test('a call ends its run and parks the turn; the answer continues that turn', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(PICK, say('Picked red.'))
  const first = await gateway.run({ messages: [user('u-1', 'pick one')], tools: TOOLS })
  assert.deepEqual(body(first), ['call c-1 pick', 'args c-1 {"label":"x"}', 'end c-1', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  const agent = gateway.agent()
  assert.equal(agent.status, 'running')
  const second = await gateway.run({
    messages: [answer('t-1', 'c-1', 'red')], tools: TOOLS, context: [{ description: 'Page', value: 'after the click' }],
  })
  assert.deepEqual(body(second), ['TEXT_MESSAGE_START', 'text Picked red.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  assert.deepEqual(turnsOf(agent), ['turn/start', 'assistant/message', 'tool/call', 'tool/result', 'assistant/message', 'turn/end'])
  assert.deepEqual(resultsSeen(gateway), ['c-1 red'])
  assert.ok(JSON.stringify(gateway.adapter.requests[1]?.messages).includes('after the click'))
  assert.deepEqual(history(second).map(({ id }) => id).filter(id => /^[ut]-/u.test(id)), ['u-1', 't-1'])
  assert.deepEqual(transcript(history(second)), ['user pick one', 'assistant c-1=pick({"label":"x"})', 'tool c-1 red', 'assistant Picked red.'])
})

for (const version of VERSIONS) {
  test(`two parallel calls answered in two rounds with client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(BOTH, say('Both done.'))
    const client = connect(gateway, version)
    await client.say('go', { tools: TOOLS })
    assert.deepEqual(argumentsOf(client, 'c-2'), { label: 'y' })
    // The later call first: its result waits in the Host behind the earlier one's.
    const partial = await client.answer({ 'c-2': 'painted' }, { tools: TOOLS })
    assert.deepEqual(body(partial), ['MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    assert.ok(transcript(client.messages).includes('tool c-2 painted'))
    const rest = await client.answer({ 'c-1': 'picked' }, { tools: TOOLS })
    assert.deepEqual(body(rest), ['TEXT_MESSAGE_START', 'text Both done.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    assert.deepEqual(resultsSeen(gateway), ['c-1 picked', 'c-2 painted'])
    assert.equal(turnsOf(gateway.agent()).filter(type => type === 'turn/start').length, 1)
    assert.equal(client.messages.filter(({ role }) => role === 'tool').length, 2)
  })

  test(`two parallel calls answered in one round with client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(BOTH, say('Both done.'), say('Next.'))
    const client = connect(gateway, version)
    await client.say('go', { tools: TOOLS })
    await client.answer({ 'c-1': 'picked', 'c-2': 'painted' }, { tools: TOOLS })
    assert.deepEqual(resultsSeen(gateway), ['c-1 picked', 'c-2 painted'])
    await client.say('next', { tools: TOOLS })
    const reloaded = connect(gateway, version)
    await reloaded.run()
    assert.deepEqual(transcript(reloaded.messages), [
      'user go', 'assistant c-1=pick({"label":"x"}) c-2=paint({"label":"y"})', 'tool c-1 picked', 'tool c-2 painted',
      'assistant Both done.', 'user next', 'assistant Next.',
    ])
    assert.deepEqual(new Set(client.messages.map(({ id }) => id)), new Set(reloaded.messages.map(({ id }) => id)))
  })
}

test('more calls than the Host runs at once are all told, and answered in one round', async (t) => {
  const gateway = await bootGateway(t)
  const ids = Array.from({ length: 14 }, (_, index) => `c-${index}`)
  gateway.adapter.queue(callTools(ids.map(id => ({ id, name: 'pick', args: { label: id } }))), say('All.'))
  const first = await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  assert.equal(first.filter(({ type }) => type === 'TOOL_CALL_END').length, 14)
  const second = await gateway.run({ messages: ids.map(id => answer(`t-${id}`, id, `done ${id}`)), tools: TOOLS })
  assert.deepEqual(body(second), ['TEXT_MESSAGE_START', 'text All.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  assert.deepEqual(resultsSeen(gateway), ids.map(id => `${id} done ${id}`))
})

test('a call whose arguments the model got wrong fails by itself and is never parked', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([
    { id: 'c-1', name: 'pick', args: { label: 7 } }, { id: 'c-2', name: 'pick', args: { colour: 'red' } }, { id: 'c-3', name: 'pick', args: '{"label":' },
  ]), say('Sorry.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  assert.deepEqual(body(events).slice(-5), ['TEXT_MESSAGE_START', 'text Sorry.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  const seen = resultsSeen(gateway)
  assert.equal(seen.length, 3)
  assert.match(seen[0] ?? '', /^c-1 Error: invalid arguments: .*label/u)
  assert.match(seen[1] ?? '', /^c-2 Error: invalid arguments: .*colour/u)
  assert.match(seen[2] ?? '', /^c-3 Error: invalid arguments: /u)
  assert.equal(history(events).filter(({ role }) => role === 'tool').length, 3)
})

test('an error of the browser fails the call and the turn goes on', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(PICK, say('Never mind.'))
  await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const events = await gateway.run({ messages: [answer('t-1', 'c-1', '', { error: 'the user closed the dialog' })], tools: TOOLS })
  assert.deepEqual(body(events), ['TEXT_MESSAGE_START', 'text Never mind.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  assert.deepEqual(resultsSeen(gateway), ['c-1 Error: the user closed the dialog'])
  assert.deepEqual(transcript(history(events))[2], 'tool c-1 Error: the user closed the dialog')
})

test('a browser that does not answer in time fails the call', async (t) => {
  const gateway = await bootGateway(t, { frontendToolTimeoutMs: 20 })
  gateway.adapter.queue(PICK, say('It took too long.'))
  await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const agent = gateway.agent()
  if (!turnsOf(agent).includes('turn/end')) await nextEvent(agent, 'turn/end')
  assert.deepEqual(resultsSeen(gateway), ['c-1 Error: the browser did not answer within 20 ms'])
  // The turn outlived its HTTP run, and its words are in the history.
  assert.deepEqual(transcript(history(await gateway.run())).slice(-2),
    ['tool c-1 Error: the browser did not answer within 20 ms', 'assistant It took too long.'])
  // A late answer is history: the call has its result.
  assert.deepEqual(body(await gateway.run({ messages: [answer('t-1', 'c-1', 'red')], tools: TOOLS })), ['RUN_FINISHED'])
})

test('a bad continuation consumes nothing, and can be mended', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(BOTH, say('Done.'))
  await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const refuse = async (messages: object[]): Promise<string> => (await gateway.refuse(input({ messages, tools: TOOLS }))).code
  assert.equal(await refuse([user('u-2', 'hello?')]), 'AGENT_BUSY')
  assert.equal(await refuse([answer('t-1', 'c-1', 'a'), answer('t-9', 'c-9', 'b')]), 'UNKNOWN_TOOL_RESULT')
  assert.equal(await refuse([answer('t-1', 'c-1', 'a'), answer('t-2', 'c-1', 'b')]), 'INVALID_TOOL_RESULT_BATCH')
  assert.equal(await refuse([answer('t-1', 'c-1', 'a'), answer('t-1', 'c-2', 'b')]), 'INVALID_TOOL_RESULT_BATCH')
  assert.equal(await refuse([answer('t-1', 'c-1', 'a'), user('u-2', 'b')]), 'INVALID_MESSAGE_BATCH')
  assert.equal(await refuse([answer('u-1', 'c-1', 'a')]), 'MESSAGE_ID_CONFLICT')
  assert.deepEqual(turnsOf(gateway.agent()).filter(type => type === 'tool/result'), [])
  const events = await gateway.run({ messages: [answer('t-1', 'c-1', 'a'), answer('t-2', 'c-2', 'b')], tools: TOOLS })
  assert.equal(body(events).at(-1), 'RUN_FINISHED')
  assert.deepEqual(resultsSeen(gateway), ['c-1 a', 'c-2 b'])
})

test('the Tool set is that of the run, in its agent only', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('1'), say('2'), say('3'), say('4'))
  await gateway.run({ messages: [user('u-1', 'a')], tools: TOOLS })
  assert.deepEqual(toolsSeen(gateway), ['paint', 'pick'])
  await gateway.run({ threadId: 'thread-2', messages: [user('u-1', 'a')] })
  assert.deepEqual(toolsSeen(gateway), [])
  await gateway.run({ messages: [user('u-2', 'b')], tools: [browserTool('pick', { description: 'Changed.' }), browserTool('zoom')] })
  const tools = gateway.adapter.requests.at(-1)?.tools ?? []
  assert.equal(tools.find(({ name }) => name === 'pick')?.description, 'Changed.')
  assert.deepEqual(toolsSeen(gateway), ['pick', 'zoom'])
  await gateway.run({ messages: [user('u-3', 'c')] })
  assert.deepEqual(toolsSeen(gateway), [])
})

test('schemas as pages send them reach the model as the Host can enforce them', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'plain', args: { any: 1 } }, { id: 'c-2', name: 'zod', args: { a: null } }]), say('ok'))
  const zod = {
    $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', additionalProperties: false, required: ['a'],
    properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }], description: 'A name.' } },
  }
  const tools = [{ name: 'plain', description: 'Takes anything.' }, { name: 'zod', description: 'Takes a name.', parameters: zod }]
  const first = await gateway.run({ messages: [user('u-1', 'go')], tools })
  assert.equal(first.at(-1)?.type, 'RUN_FINISHED')
  const sent = gateway.adapter.requests[0]?.tools ?? []
  assert.deepEqual(sent.find(({ name }) => name === 'plain')?.parameters, { type: 'object', properties: {} })
  assert.deepEqual(sent.find(({ name }) => name === 'zod')?.parameters, {
    type: 'object', additionalProperties: false, required: ['a'],
    properties: { a: { oneOf: [{ type: 'string' }, { type: 'null' }], description: 'A name.' } },
  })
  await gateway.run({ messages: [answer('t-1', 'c-1', 'x'), answer('t-2', 'c-2', 'y')], tools })
  assert.deepEqual(resultsSeen(gateway), ['c-1 x', 'c-2 y'])
})

test('a continuation brings its own Tool set', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(PICK, say('Done.'))
  await gateway.run({ messages: [user('u-1', 'a')], tools: TOOLS })
  await gateway.run({ messages: [answer('t-1', 'c-1', 'red')], tools: [browserTool('zoom')] })
  assert.deepEqual(toolsSeen(gateway), ['zoom'])
  assert.deepEqual(resultsSeen(gateway), ['c-1 red'])
})

test('a Tool that the Host registers later takes the name back: the turn is cancelled, the call rejected', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(PICK)
  await gateway.run({ messages: [user('u-1', 'a')], tools: TOOLS })
  const agent = gateway.agent()
  const ended = nextEvent(agent, 'turn/end')
  const registered = await registerTools(gateway, hostTool('pick'))
  assert.deepEqual(((await ended).data as { reason: { kind: string } }).reason.kind, 'aborted')
  assert.equal(turnsOf(agent).filter(type => type === 'tool/result').length, 1)
  const refusal = await gateway.refuse(input({ messages: [user('u-2', 'b')], tools: TOOLS }))
  assert.equal(refusal.code, 'FRONTEND_TOOL_NAME_COLLISION')
  await registered.dispose()
  gateway.adapter.queue(say('Back.'))
  assert.ok(body(await gateway.run({ messages: [user('u-3', 'c')], tools: TOOLS })).includes('text Back.'))
})

test('a name that others registered for this agent alone is taken, too', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('Hello.'), say('Again.'))
  await gateway.run({ messages: [user('u-1', 'go')] })
  const unregister = gateway.agent().ctx.tools.register(hostTool('pick'))
  await new Promise(setImmediate)
  const request = input({ messages: [user('u-2', 'on')], tools: TOOLS })
  assert.equal((await gateway.refuse(request)).code, 'FRONTEND_TOOL_NAME_COLLISION')
  unregister()
  await new Promise(setImmediate)
  assert.ok(body(await gateway.run({ messages: [user('u-2', 'on')], tools: TOOLS })).includes('text Again.'))
})

test('the same collision under an active run ends it with its code', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue('hang')
  const active = gateway.post(input({ messages: [user('u-1', 'a')], tools: TOOLS }))
  await active.next('TEXT_MESSAGE_CONTENT')
  const ended = nextEvent(gateway.agent(), 'turn/end')
  await registerTools(gateway, hostTool('paint'))
  const events = await active.end()
  assert.equal(events.at(-1)?.code, 'FRONTEND_TOOL_NAME_COLLISION')
  await ended
  gateway.adapter.queue(say('ok'))
  assert.equal(body(await gateway.run({ messages: [user('u-2', 'b')], tools: [browserTool('pick')] })).at(-1), 'RUN_FINISHED')
})
