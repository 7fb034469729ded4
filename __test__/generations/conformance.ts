/**
 * The gateway over one generation of DSH, whole, over HTTP: what every generation must do alike (N8). The rest of the
 * gateway's tests run over B and C too, as a gate of their own.
 */

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Context } from '@deepseek-ai/cordis'
import { connect, VERSIONS } from '../support/client.ts'
import {
  answer, body, browserTool, callTools, errorOf, fail, Gate, history, hostTool, input, logOf, makeHome, mountPlugin, nextEvent, outline, registerTools, resultsSeen, said, say, sayThrough, think, toolsSeen, transcript, turnsOf, user,
} from '../support/gateway.ts'
import type { HostGeneration, ScriptEntry, TestGateway, WireEvent } from '../support/gateway.ts'
import { Driver } from './driver.ts'
import { features } from './features.ts'

const PICK = [browserTool('pick')]
const LOOK = hostTool('look', {
  output: { schema: {}, render: () => [{ type: 'text', text: 'a tree' }], presentationMeta: () => ({ height: 3 }) },
  isConcurrencySafe: () => true,
  presentCall: args => ({ card: 'generic', title: `Looking at ${(args as { path: string }).path}`, kind: 'read' }),
  presentResult: (_args, { content, isError, meta }) => ({ card: 'terminal', output: JSON.stringify([content, isError, meta]), exitCode: 0 }),
})

/** Lets the Host retry what the provider failed at. */
async function retry({ host: { ctx } }: TestGateway, times = Infinity): Promise<void> {
  let left = times
  await mountPlugin(ctx, [], (plugin) => {
    plugin.on('agent/request-error', (_request, next) => left-- > 0 ? Promise.resolve({ kind: 'retry' as const }) : next())
  })
}

/** An answer that breaks off: the chunks up to the `count`th, then a failure. */
function broken(answer: ReturnType<typeof say>, count: number): ScriptEntry {
  return [...answer.slice(0, count), { type: 'finish', reason: { kind: 'error', failure: { message: 'gone', code: 'LOST' } } }]
}

/** Ids of what a run streamed, by type of event. */
const streamed = (events: readonly WireEvent[], type: string, key: 'messageId' | 'toolCallId') =>
  events.filter(event => event.type === type).map(event => event[key])

/** Registers the suite for one generation. */
export function conformance(generation: HostGeneration): void {
  const driver = new Driver(generation)
  features(driver)

  for (const version of VERSIONS) {
    test(`${generation}: client ${version} talks; ids of the stream are ids of the history; the Host's own words stay out`, async (t) => {
      const gateway = await driver.boot(t)
      const client = connect(gateway, version)
      gateway.adapter.queue(say('Hello there.'), think('hmm', 'So it is.'))
      const first = await client.say('hi', { context: [{ description: 'Page', value: 'Draft 7' }] })
      const second = await client.say('is it?')
      assert.deepEqual(transcript(client.messages), ['user hi', 'assistant Hello there.', 'user is it?', 'assistant So it is.'])
      const ids = [first, second].flatMap(events => streamed(events, 'TEXT_MESSAGE_START', 'messageId'))
      assert.deepEqual(client.messages.filter(({ role }) => role === 'assistant').map(({ id }) => id), ids)
      // The log holds more than people said: our context, and what the Host tells the model of itself.
      const kinds = logOf(gateway.agent()).flatMap(({ type, data }) =>
        type === 'user/message' ? [(data as { source: { kind: string } }).source.kind] : [])
      assert.deepEqual(kinds, ['ag-ui', 'user', generation === 'C' ? 'system-prompt' : 'plugin', 'user'])
    })

    test(`${generation}: client ${version} holds calls, results and cards of the Host's Tools as its history does`, async (t) => {
      const gateway = await driver.boot(t)
      await registerTools(gateway, LOOK, hostTool('broken', { execute: () => Promise.reject(new Error('no luck')) }))
      const client = connect(gateway, version)
      const calls = [{ id: 'c-1', name: 'look', args: { path: 'a' } }, { id: 'c-2', name: 'broken', args: {} }]
      gateway.adapter.queue(callTools(calls, 'Let me see.'), say('A tree.'))
      const events = await client.say('look')
      assert.deepEqual(body(events), [
        'TEXT_MESSAGE_START', 'text Let me see.', 'TEXT_MESSAGE_END',
        'call c-1 look', 'args c-1 {"path":"a"}', 'end c-1', 'call c-2 broken', 'args c-2 {}', 'end c-2',
        'card call c-1 generic', 'result c-1 a tree', 'card result c-1 terminal',
        'card call c-2 generic', 'result c-2 Error: no luck', 'card result c-2 generic',
        'TEXT_MESSAGE_START', 'text A tree.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
      ])
      const card = events.find(({ value }) => value?.phase === 'result')?.value?.card
      assert.deepEqual(card, { card: 'terminal', output: '[[{"type":"text","text":"a tree"}],false,{"height":3}]', exitCode: 0 })
      assert.deepEqual(client.messages, history(events))
      assert.deepEqual(streamed(events, 'TOOL_CALL_RESULT', 'messageId'), history(events).filter(({ role }) => role === 'tool').map(({ id }) => id))
      const results = logOf(gateway.agent()).filter(({ type }) => type === 'tool/result')
      assert.deepEqual(results.map(({ data }) => (data as { message: { role: string } }).message.role), [driver.resultRole, driver.resultRole])
      assert.deepEqual(resultsSeen(gateway), ['c-1 a tree', 'c-2 Error: no luck'])
    })

    test(`${generation}: client ${version} answers what its page was called for, beside the Host's own Tool`, async (t) => {
      const gateway = await driver.boot(t)
      await registerTools(gateway, LOOK)
      const client = connect(gateway, version)
      gateway.adapter.queue(callTools([
        { id: 'c-1', name: 'pick', args: { label: 'a' } }, { id: 'c-2', name: 'look', args: { path: 'a' } }, { id: 'c-3', name: 'pick', args: {} },
      ]), say('Thanks.'))
      const parked = await client.say('pick', { tools: PICK })
      assert.equal(parked.at(-1)?.type, 'RUN_FINISHED')
      assert.equal(gateway.agent().status, 'running')
      const half = await client.answer({ 'c-1': 'red' }, { tools: PICK })
      assert.ok(!body(half).some(line => line.startsWith('result c-3')))
      const events = await client.answer({ 'c-3': 'blue' }, { tools: PICK })
      assert.equal(said(events), 'Thanks.')
      assert.deepEqual(resultsSeen(gateway), ['c-1 red', 'c-2 a tree', 'c-3 blue'])
      assert.deepEqual(client.messages, history(events))
      assert.deepEqual(turnsOf(gateway.agent()), [
        'turn/start', 'assistant/message', 'tool/call', 'tool/call', 'tool/call', 'tool/result', 'tool/result', 'tool/result',
        'assistant/message', 'turn/end',
      ])
    })

    test(`${generation}: client ${version} shares its state`, async (t) => {
      const gateway = await driver.boot(t)
      const client = connect(gateway, version, { state: { count: 1 } })
      gateway.adapter.queue(callTools([{ id: 's-1', name: 'ag_ui_update_state', args: { state_updates: { count: 2 } } }]), say('Counted.'))
      const events = await client.say('count')
      assert.ok(outline(events).includes('state {"count":2}'))
      assert.deepEqual(client.state, { count: 2 })
      assert.deepEqual(transcript(client.messages), ['user count', 'assistant Counted.'])
    })

    test(`${generation}: client ${version} ends with the history, whatever it saw of attempts that came to nothing`, async (t) => {
      const gateway = await driver.boot(t)
      await registerTools(gateway, LOOK)
      await retry(gateway)
      const client = connect(gateway, version)
      const lost = callTools([{ id: 'c-1', name: 'look', args: { path: 'lost' } }, { id: 'c-9', name: 'pick', args: {} }], 'I look at')
      const found = callTools([{ id: 'c-1', name: 'look', args: { path: 'found' } }], 'I look.')
      // A text, half a call, two calls of the next attempt's id and of nobody's: each is seen, and each is taken back.
      gateway.adapter.queue(
        fail('Let me th'), broken(lost, 5), broken(lost, lost.length - 2), found,
        broken(think('hmm', 'It is'), 5), say('A tree.'))
      const events = await client.say('look', { tools: PICK })
      assert.equal(events.at(-1)?.type, 'RUN_FINISHED')
      assert.deepEqual(client.messages, history(events))
      assert.deepEqual(transcript(client.messages), ['user look', 'assistant I look. c-1=look({"path":"found"})', 'tool c-1 a tree', 'assistant A tree.'])
      // The opening, one retraction an abandoned attempt that was seen, the end.
      assert.equal(streamed(events, 'MESSAGES_SNAPSHOT', 'messageId').length, 1 + 4 + 1)
      assert.equal(driver.failedAttempts(gateway.agent()), driver.expectFailed(4))
      const again = connect(gateway, version)
      await again.run({ tools: PICK })
      assert.deepEqual(again.messages, client.messages)
    })

    test(`${generation}: client ${version} is healed by its next run when the last attempt failed too`, async (t) => {
      const gateway = await driver.boot(t)
      await retry(gateway, 1)
      const client = connect(gateway, version)
      gateway.adapter.queue(fail('One '), fail('Two ', 'quota exceeded', 'RATE_LIMITED'), say('Three.'))
      assert.deepEqual(errorOf(await client.say('count')), { code: 'RATE_LIMITED', message: 'quota exceeded' })
      assert.equal(driver.failedAttempts(gateway.agent()), driver.expectFailed(2))
      await client.say('again')
      assert.deepEqual(transcript(client.messages), ['user count', 'user again', 'assistant Three.'])
    })
  }

  test(`${generation}: what an agent's child says and does is not its parent's`, async (t) => {
    const gateway = await driver.boot(t)
    const delegate = hostTool('delegate', {
      async execute(_args, { agent }) {
        const child = await driver.createChild(gateway, agent!)
        child.agent.followup({ id: 'task', role: 'user', content: [{ type: 'text', text: 'do it' }], source: { kind: 'user' } } as never)
        await child.agent.whenIdle()
        await child.dispose()
        return 'delegated'
      },
    })
    await registerTools(gateway, LOOK, delegate)
    gateway.adapter.queue(
      callTools([{ id: 'c-1', name: 'delegate', args: {} }]),
      callTools([{ id: 'c-1', name: 'look', args: { path: 'a' } }], 'The child looks.'), say('The child has seen it.'),
      say('Done.'))
    const events = await gateway.run({ messages: [user('u-1', 'go')] })
    assert.deepEqual(body(events), [
      'call c-1 delegate', 'args c-1 {}', 'end c-1', 'card call c-1 generic', 'result c-1 "delegated"', 'card result c-1 generic',
      'TEXT_MESSAGE_START', 'text Done.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
    ])
    assert.equal(gateway.adapter.requests.length, 4)
  })

  test(`${generation}: a call that the output limit cut is taken back by the history`, async (t) => {
    const gateway = await driver.boot(t)
    const [start, first] = callTools([{ id: 'c-1', name: 'pick', args: { label: 'red' } }])
    assert.ok(start !== undefined && first !== undefined)
    const client = connect(gateway, '1.0.0')
    gateway.adapter.queue([start, first, { type: 'finish', reason: { kind: 'max-tokens' } }], say('Shorter.'))
    const events = await client.say('pick', { tools: PICK })
    assert.deepEqual(body(events).slice(0, 3), ['call c-1 pick', 'args c-1 {"label"', 'end c-1'])
    assert.equal(events.at(-1)?.type, 'RUN_FINISHED')
    assert.deepEqual(client.messages, history(events))
    await client.say('shorter', { tools: PICK })
    assert.deepEqual(transcript(client.messages), ['user pick', 'user shorter', 'assistant Shorter.'])
  })

  test(`${generation}: an attempt that the Host cannot record ends the run, and the next one is whole`, async (t) => {
    const gateway = await driver.boot(t)
    const unusable = { type: 'usage', usage: { inputTokens: Number.NaN, outputTokens: 1 } } as const
    gateway.adapter.queue([...say('Hello').slice(0, -2), unusable, { type: 'finish', reason: { kind: 'stop' } }], say('Now.'))
    const events = await gateway.run({ messages: [user('u-1', 'hi')] })
    assert.deepEqual(body(events).slice(0, 3), ['TEXT_MESSAGE_START', 'text Hello', 'TEXT_MESSAGE_END'])
    assert.equal(events.at(-1)?.type, 'RUN_ERROR')
    const next = await gateway.run({ messages: [user('u-1', 'hi'), user('u-2', 'again')] })
    assert.deepEqual(transcript(history(next)), ['user hi', 'user again', 'assistant Now.'])
  })

  test(`${generation}: calls inside a call are no calls of the model's`, async (t) => {
    const gateway = await driver.boot(t)
    const { ctx } = gateway.host
    const program = hostTool('program', {
      async execute(_args, { agent, callId, token, signal }) {
        const log = agent?.session.append.bind(agent.session) as (type: string, data: object) => void
        const call = { rootCallId: callId, parentCallId: callId, subCallId: `${callId}:code:1`, name: 'look', arguments: '{"path":"in"}' }
        log(`${driver.dispatchEvent}-start`, call)
        const result = await ctx.tools.execute({
          callId: call.subCallId as never, name: 'look', arguments: { path: 'in' }, parent: token, signal, ...agent === undefined ? {} : { agent },
        })
        log(driver.dispatchEvent, { ...call, isError: result.isError, content: result.content })
        return result.isError ? 'failed' : 'ran'
      },
    })
    await registerTools(gateway, LOOK, program)
    gateway.adapter.queue(callTools([{ id: 'c-1', name: 'program', args: {} }]), say('Done.'))
    const events = await gateway.run({ messages: [user('u-1', 'run')] })
    assert.deepEqual(body(events), [
      'call c-1 program', 'args c-1 {}', 'end c-1', 'card call c-1 generic', 'result c-1 "ran"', 'card result c-1 generic',
      'TEXT_MESSAGE_START', 'text Done.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
    ])
    assert.equal(logOf(gateway.agent()).filter(({ type }) => type.startsWith(driver.dispatchEvent)).length, 2)
  })

  test(`${generation}: an exclusive Tool holds the page's calls back, parallel ones do not`, async (t) => {
    const gateway = await driver.boot(t)
    const gate = new Gate()
    await registerTools(gateway, hostTool('slow', { execute: async (_args, { signal }) => { await gate.pass(signal); return 'slow' } }))
    gateway.adapter.queue(callTools([{ id: 'c-1', name: 'slow', args: {} }, { id: 'c-2', name: 'pick', args: {} }]), say('ok'))
    const run = gateway.post(input({ messages: [user('u-1', 'go')], tools: PICK }))
    await gate.reached
    assert.deepEqual(turnsOf(gateway.agent()).filter(type => type === 'tool/call').length, 1)
    gate.open()
    assert.equal((await run.end()).at(-1)?.type, 'RUN_FINISHED')
    assert.equal(said(await gateway.run({ messages: [answer('t-1', 'c-2', 'red')], tools: PICK })), 'ok')
    assert.deepEqual(resultsSeen(gateway), ['c-1 "slow"', 'c-2 red'])
  })

  test(`${generation}: Tools that come and go between runs are the model's, not the conversation's`, async (t) => {
    const gateway = await driver.boot(t)
    gateway.adapter.queue(say('one'), say('two'), say('three'))
    await gateway.run({ messages: [user('u-1', 'a')], tools: PICK })
    assert.deepEqual(toolsSeen(gateway), ['pick'])
    await gateway.run({ messages: [user('u-2', 'b')], tools: [browserTool('paint')] })
    assert.deepEqual(toolsSeen(gateway), ['paint'])
    const events = await gateway.run({ messages: [user('u-3', 'c')] })
    assert.deepEqual(toolsSeen(gateway), [])
    assert.deepEqual(transcript(history(events)), ['user a', 'assistant one', 'user b', 'assistant two', 'user c', 'assistant three'])
    const told = logOf(gateway.agent()).filter(({ type }) => ['system/message', 'developer/message'].includes(type)).map(({ type }) => type as string)
    assert.deepEqual(told, generation === 'C' ? ['system/message', 'developer/message', 'developer/message'] : [])
  })

  test(`${generation}: a client that leaves cancels its turn, and what was said stays`, async (t) => {
    const gateway = await driver.boot(t)
    gateway.adapter.queue('hang', say('Welcome back.'))
    const run = gateway.post(input({ messages: [user('u-1', 'hi')] }))
    await run.next('TEXT_MESSAGE_CONTENT')
    const agent = gateway.agent()
    const ended = nextEvent(agent, 'turn/end')
    run.leave()
    assert.deepEqual((await ended).data, { turn: 1, reason: { kind: 'aborted', reason: { kind: 'user' } } })
    const next = await gateway.run({ messages: [user('u-1', 'hi'), user('u-2', 'again')] })
    assert.deepEqual(transcript(history(next)), ['user hi', 'assistant partial', 'user again', 'assistant Welcome back.'])
  })

  test(`${generation}: a client that leaves before a word was said leaves nothing behind`, async (t) => {
    const gateway = await driver.boot(t)
    const gate = new Gate()
    gateway.adapter.queue(async function* ({ signal }) { await gate.pass(signal); yield* say('never') }, say('Welcome back.'))
    const run = gateway.post(input({ messages: [user('u-1', 'hi')] }))
    await gate.reached
    const ended = nextEvent(gateway.agent(), 'turn/end')
    run.leave()
    await ended
    assert.equal(driver.failedAttempts(gateway.agent()), driver.expectFailed(1))
    const next = await gateway.run({ messages: [user('u-2', 'again')] })
    assert.deepEqual(transcript(history(next)), ['user hi', 'user again', 'assistant Welcome back.'])
  })

  test(`${generation}: a session comes back with its history, its cards, and what it accepted`, async (t) => {
    const home = makeHome(t)
    const first = await driver.boot(t, {}, { home })
    await registerTools(first, LOOK)
    await retry(first)
    first.adapter.queue(fail('I wi'), callTools([{ id: 'c-1', name: 'look', args: { path: 'a' } }], 'Let me.'), say('Seen.'))
    const live = await first.run({ messages: [user('u-1', 'look')], context: [{ description: 'Page', value: 'x' }] })
    const before = await first.run()
    await first.host.dispose()
    const second = await driver.boot(t, {}, { home })
    await registerTools(second, LOOK)
    const cold = await second.run()
    assert.deepEqual(cold.slice(1, -1), before.slice(1, -1))
    assert.deepEqual(history(cold), history(live))
    assert.equal((await second.refuse(input({ messages: [user('u-1', 'changed')] }))).code, 'MESSAGE_ID_CONFLICT')
    second.adapter.queue(say('On.'))
    assert.equal(said(await second.run({ messages: [...history(live), user('u-2', 'more')] })), 'On.')
    assert.deepEqual(logOf(second.agent()).map(({ seq }, index) => seq - index).filter(shift => shift !== 0), [])
  })

  test(`${generation}: a turn that a crash broke is told once, with a result for each call`, async (t) => {
    const home = makeHome(t)
    const first = await driver.boot(t, {}, { home })
    await registerTools(first, LOOK)
    first.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }, { id: 'c-2', name: 'look', args: { path: 'a' } }]))
    await first.run({ messages: [user('u-1', 'go')], tools: PICK })
    await first.host.ctx.sessions.flush(first.agent().session)
    const sessions = join(home, 'crashed')
    cpSync(join(home, 'sessions'), sessions, { recursive: true })
    await first.host.dispose()
    const second = await driver.boot(t, {}, { home, sessions })
    await registerTools(second, LOOK)
    const told = await second.run({ messages: [user('u-2', 'well?')], tools: PICK })
    assert.equal(errorOf(told).code, 'THREAD_INTERRUPTED')
    const results = history(told).filter(({ role }) => role === 'tool')
    assert.deepEqual(results.map(({ toolCallId }) => toolCallId), ['c-1', 'c-2'])
    assert.match(String(results[0]?.content), /interrupted/u)
    second.adapter.queue(say('Sorry.'))
    const next = await second.run({ messages: [user('u-2', 'well?')], tools: PICK })
    assert.deepEqual(transcript(history(next)).at(-1), 'assistant Sorry.')
    assert.equal(history(next).filter(({ role }) => role === 'tool').length, 2)
  })

  test(`${generation}: presets are composed, an unknown one is refused, and what the Host selects is what comes back`, async (t) => {
    const home = makeHome(t)
    const first = await driver.boot(t, { agentPreset: 'demo' }, { home })
    await assert.rejects((await driver.bare(t, { agentPreset: 'nobody' })).mount(), /nobody/u)
    first.adapter.queue(say('a'), say('b'))
    await first.run({ messages: [user('u-1', 'hi')] })
    assert.deepEqual(toolsSeen(first), ['ask_user_question'])
    // A thread that was only looked at is blank.
    await first.run({ threadId: 'blank' })
    await driver.select(first, first.agent('blank'), 'bare')
    await first.run({ threadId: 'blank', messages: [user('u-1', 'hi')] })
    assert.deepEqual(toolsSeen(first), [])
    await first.host.dispose()
    const second = await driver.boot(t, { agentPreset: 'demo' }, { home })
    second.adapter.queue(say('c'), say('d'))
    await second.run({ threadId: 'blank', messages: [user('u-2', 'hi')] })
    assert.deepEqual(toolsSeen(second), [])
    await second.run({ messages: [user('u-2', 'hi')] })
    assert.deepEqual(toolsSeen(second), ['ask_user_question'])
  })

  test(`${generation}: unloading leaves nothing, as often as one likes, also in the middle of a turn`, async (t) => {
    const gateway = await driver.boot(t)
    const { ctx } = gateway.host
    const mine = (): unknown => [driver.held(gateway), ctx.tools.schemas().map(({ name }) => name), listeners(ctx)]
    await gateway.unload()
    const before = mine()
    for (let round = 1; round <= 3; round += 1) {
      await gateway.mount()
      gateway.adapter.queue(say(`round ${round}`), callTools([{ id: `c-${round}`, name: 'pick', args: {} }]))
      await gateway.run({ messages: [user(`u-${round}`, 'hi')] })
      await gateway.run({ messages: [user(`v-${round}`, 'pick')], tools: PICK })
      gateway.adapter.queue('hang')
      const run = gateway.post(input({ threadId: 'other', messages: [user(`w-${round}`, 'hi')] }))
      await run.next('TEXT_MESSAGE_CONTENT')
      assert.equal(gateway.agents.length, 2)
      await gateway.unload()
      assert.equal(errorOf(await run.end()).code, 'AGENT_NOT_AVAILABLE')
      assert.deepEqual(mine(), before)
    }
    await gateway.mount()
    const kept = history(await gateway.run()).filter(({ role }) => role === 'user')
    assert.deepEqual(kept.map(({ id }) => id), [1, 2, 3].flatMap(round => [`u-${round}`, `v-${round}`]))
  })

  test(`${generation}: a Host without what is optional serves all that needs none of it`, async (t) => {
    const gateway = await driver.boot(t, {}, { presets: 'none', persistence: 'none' })
    gateway.adapter.queue(say('ok'))
    assert.deepEqual(transcript(history(await gateway.run({ messages: [user('u-1', 'hi')] }))), ['user hi', 'assistant ok'])
    await assert.rejects((await driver.bare(t, { agentPreset: 'demo' }, { presets: 'none' })).mount(), /agentPresets/u)
  })

  test(`${generation}: a session that somebody else writes to is not served, and then it is`, async (t) => {
    const gateway = await driver.boot(t)
    const { ctx } = gateway.host
    gateway.adapter.queue(say('one'), say('two'))
    const first = await gateway.run({ messages: [user('u-1', 'a')] })
    const { id } = gateway.agent()
    await gateway.unload()
    const other = await ctx.agents.resume({ resumeSessionId: id })
    await gateway.mount()
    const refusal = await gateway.refuse(input({ messages: [user('u-2', 'b')] }))
    assert.deepEqual([refusal.status, refusal.code], [500, 'AGENT_EXECUTION_ERROR'])
    await other.dispose()
    const next = await gateway.run({ messages: [user('u-2', 'b')] })
    assert.deepEqual(history(next).slice(0, 2), history(first))
    assert.equal(said(next), 'two')
  })

  test(`${generation}: a run that waits for its text sees the whole of it, as slowly as it comes`, async (t) => {
    const gateway = await driver.boot(t, { flushIntervalMs: 0 })
    const gate = new Gate()
    gateway.adapter.queue(sayThrough(gate, 'Slow', 'ly.'))
    const run = gateway.post(input({ messages: [user('u-1', 'hi')] }))
    assert.equal((await run.next('TEXT_MESSAGE_CONTENT')).delta, 'Slow')
    gate.open()
    assert.deepEqual(body(await run.end()), ['TEXT_MESSAGE_START', 'text Slowly.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  })
}

/** How many listeners the Host has, by event. */
function listeners(ctx: Context): Record<string, number> {
  const { _hooks } = ctx.events as unknown as { _hooks: Record<string, readonly unknown[]> }
  return Object.fromEntries(Object.entries(_hooks).map(([name, hooks]) => [name, [...hooks].length] as const).filter(([, count]) => count > 0))
}
