/** A2UI with the official middleware in front of the clients: surfaces, render calls, actions of a person (G19, G24). */

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { A2UIMiddleware } from '@ag-ui/a2ui-middleware'
import { HttpAgent } from '@ag-ui/client'
import type { HttpAgentConfig, Message, Middleware, RunAgentParameters } from '@ag-ui/client'
import { DshHttpAgent } from 'dsh-ag-ui/client'
import {
  answer, body, bootGateway, browserTool, callTools, Gate, history, input, logOf, makeHome, outline, resultsSeen, say, SECRET, toolsSeen, transcript, turnsOf, user,
} from '../support/gateway.ts'
import type { ScriptEntry, TestGateway, WireMessage } from '../support/gateway.ts'

const COMPONENTS = [
  { id: 'root', component: 'Column', children: ['text', 'btn'] },
  { id: 'text', component: 'Text', text: { path: '/title' } },
  { id: 'btn', component: 'Button', child: 'text', action: { event: { name: 'book', context: {} } } },
]
const SURFACE = { surfaceId: 's1', components: COMPONENTS, data: { title: 'Fly' } }
const ACTION = {
  name: 'book', surfaceId: 's1', sourceComponentId: 'btn', context: { seat: { row: 7, aisle: true }, n: 1.5 }, timestamp: '2026-01-01T00:00:00Z',
}
const SENTENCE = 'User performed action "book" on surface "s1" (component: btn). Context: {"seat":{"row":7,"aisle":true},"n":1.5}'
const RENDERED = '{"status":"rendered"}'
const RENDER = callTools([{ id: 'c-1', name: 'render_a2ui', args: SURFACE }])

/** What a client sends. */
interface Body {
  readonly runId: string
  readonly messages: readonly (WireMessage & { readonly role: string })[]
  readonly forwardedProps: Record<string, unknown>
  readonly tools: readonly { readonly name: string }[]
}

/** A client with the middleware. */
interface Page {
  readonly agent: HttpAgent
  /** Bodies of its requests. */
  readonly bodies: Body[]
  /** What was painted, in order. */
  readonly painted: Record<string, unknown>[]
  /** Resolves with the first painted content that has the member. */
  next(member: string): Promise<Record<string, unknown>>
}

type Options = ConstructorParameters<typeof A2UIMiddleware>[0]

/** The official middleware. Its types name another copy of the client's. */
const middleware = (options: Options): Middleware => new A2UIMiddleware(options) as unknown as Middleware

type AgentClass = new (config: HttpAgentConfig) => HttpAgent

function openPage(gateway: TestGateway, Agent: AgentClass, options: Options): Page {
  const bodies: Body[] = []
  const painted: Record<string, unknown>[] = []
  const waiting: { readonly member: string, resolve(content: Record<string, unknown>): void }[] = []
  const agent = new Agent({
    url: gateway.url,
    threadId: 'thread-1',
    headers: { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'tenant-1', 'x-dsh-user-id': 'user-1' },
    fetch: (url, init) => {
      bodies.push(JSON.parse(init.body as string) as Body)
      return fetch(url, init)
    },
  })
  agent.use(middleware(options))
  agent.subscribe({
    onActivitySnapshotEvent: ({ event }) => {
      assert.equal(event.activityType, 'a2ui-surface')
      painted.push(event.content)
      waiting.filter(({ member }) => member in event.content).forEach(({ resolve }) => { resolve(event.content) })
    },
  })
  const next = (member: string): Promise<Record<string, unknown>> => new Promise((resolve) => {
    const found = painted.find(content => member in content)
    if (found === undefined) waiting.push({ member, resolve })
    else resolve(found)
  })
  return { agent, bodies, painted, next }
}

let ids = 0

/** Says something, and waits for the run. */
async function tell(page: Page, text: string, run: RunAgentParameters = {}): Promise<void> {
  page.agent.addMessage({ id: `words-${++ids}`, role: 'user', content: text })
  await page.agent.runAgent(run)
}

/** Does something on a surface, and waits for the run. Returns what was sent. */
async function act(page: Page, userAction: object = ACTION): Promise<Body> {
  await page.agent.runAgent({ forwardedProps: { a2uiAction: { userAction } } })
  const sent = page.bodies.at(-1)
  assert.ok(sent !== undefined)
  return sent
}

/** What the client holds, without surfaces. */
const held = (page: Page): string[] => transcript(page.agent.messages.filter(({ role }) => role !== 'activity') as WireMessage[])

/** A render call whose data waits at a gate. */
function renderThrough(gate: Gate): ScriptEntry {
  const text = JSON.stringify(SURFACE)
  const cut = text.indexOf(',"data"')
  const pieces = text.slice(0, cut).match(/.{1,40}/gsu) ?? []
  const id = 'c-1' as never
  return async function* ({ signal }) {
    yield { type: 'block-start', index: 0, blockType: 'tool-call' }
    yield { type: 'tool-call-delta', index: 0, id, name: 'render_a2ui', argumentsDelta: '' }
    for (const argumentsDelta of pieces) yield { type: 'tool-call-delta', index: 0, id, argumentsDelta }
    await gate.pass(signal)
    yield { type: 'tool-call-delta', index: 0, id, argumentsDelta: text.slice(cut) }
    yield { type: 'block-end', index: 0, block: { type: 'tool-call', id, name: 'render_a2ui', arguments: text } }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

/** The Host that finds the sessions as this one would leave them if it died now. */
async function crash(t: TestContext, gateway: TestGateway): Promise<TestGateway> {
  const { ctx, home } = gateway.host
  await ctx.sessions.flush(gateway.agent().session)
  const sessions = join(home, 'crashed')
  cpSync(join(home, 'sessions'), sessions, { recursive: true })
  return await bootGateway(t, {}, { home, sessions })
}

for (const [name, Agent] of [['HttpAgent', HttpAgent], ['DshHttpAgent', DshHttpAgent]] as const) {
  test(`a surface is painted while its arguments stream, and the call ends in the same run (${name})`, async (t) => {
    const gateway = await bootGateway(t)
    const gate = new Gate()
    gateway.adapter.queue(renderThrough(gate), say('There you are.'))
    const page = openPage(gateway, Agent, { injectA2UITool: true })
    const run = tell(page, 'show me')
    const operations = (await page.next('a2ui_operations'))['a2ui_operations'] as Record<string, unknown>[]
    assert.deepEqual(page.painted[0], { status: 'building' })
    assert.deepEqual(operations.map(operation => Object.keys(operation)[1]), ['createSurface', 'updateComponents'])
    // The model is still at it, and the person sees the components.
    assert.equal(gateway.adapter.requests.length, 1)
    gate.open()
    await run
    const final = page.painted.at(-1)?.['a2ui_operations'] as Record<string, unknown>[]
    assert.deepEqual(final[2], { version: 'v0.9', updateDataModel: { surfaceId: 's1', path: '/', value: { title: 'Fly' } } })
    assert.deepEqual(resultsSeen(gateway), [`c-1 ${RENDERED}`])
    assert.deepEqual(held(page), [
      'user show me', `assistant c-1=render_a2ui(${JSON.stringify(SURFACE)})`, `tool c-1 ${RENDERED}`, 'assistant There you are.',
    ])
    // The gateway's own result: the middleware had nothing to add.
    assert.deepEqual(page.agent.messages.filter(({ role }) => role === 'tool').map(({ id }) => id), ['result-c-1'])
    assert.equal(turnsOf(gateway.agent()).at(-1), 'turn/end')
    assert.deepEqual(toolsSeen(gateway), ['render_a2ui'])
    // All of it is history now.
    gateway.adapter.queue(say('Again.'))
    await tell(page, 'and?')
    assert.deepEqual(held(page).slice(-2), ['user and?', 'assistant Again.'])
  })

  test(`an action opens a turn as context of the model, once (${name})`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(RENDER, say('There you are.'), say('Booked.'), say('Booked again.'))
    const page = openPage(gateway, Agent, { injectA2UITool: true })
    await tell(page, 'show me')
    const before = held(page)
    const sent = await act(page)
    assert.deepEqual(sent.messages.slice(-2).map(({ role }) => role), ['assistant', 'tool'])
    const id = sent.messages.at(-1)?.id
    const told = logOf(gateway.agent()).filter(({ type }) => type === 'user/message').map(({ data }) => data as { id: string, source: object, content: { text: string }[] })
    const own = told.find(message => message.id === id)
    assert.deepEqual(own?.source, { kind: 'ag-ui', form: 'a2ui-action', sections: [] })
    const sorted = '{"context":{"n":1.5,"seat":{"aisle":true,"row":7}},"name":"book","sourceComponentId":"btn","surfaceId":"s1","timestamp":"2026-01-01T00:00:00Z"}'
    assert.deepEqual(own?.content, [{ type: 'text', text: `${SENTENCE}\n\n${sorted}` }])
    assert.ok(JSON.stringify(gateway.adapter.requests.at(-1)?.messages).includes('User performed action'))
    assert.deepEqual(held(page), [...before, 'assistant Booked.'])
    // The same pair under another run id is history; a new click is new, whatever it carries.
    const again = await gateway.run({ ...sent, runId: 'another' })
    assert.deepEqual(outline(again), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    assert.deepEqual(transcript(history(again)), held(page))
    await act(page)
    assert.deepEqual(held(page), [...before, 'assistant Booked.', 'assistant Booked again.'])
  })
}

test('a render Tool of another name, and a Tool of the page\'s own beside it', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(
    callTools([{ id: 'c-1', name: 'paint', args: SURFACE }, { id: 'c-2', name: 'pick', args: { label: 'x' } }]), say('Done.'),
  )
  const page = openPage(gateway, HttpAgent, { injectA2UITool: 'paint' })
  await tell(page, 'go', { tools: [browserTool('pick')] as never })
  // The one is over in the run, the other waits.
  assert.deepEqual(held(page).slice(2), [`tool c-1 ${RENDERED}`])
  assert.ok('a2ui_operations' in (page.painted.at(-1) ?? {}))
  page.agent.addMessage({ id: 'picked', role: 'tool', toolCallId: 'c-2', content: 'red' })
  await page.agent.runAgent({ tools: [browserTool('pick')] as never })
  assert.deepEqual(resultsSeen(gateway), [`c-1 ${RENDERED}`, 'c-2 red'])
  assert.equal(held(page).at(-1), 'assistant Done.')
})

test('what the middleware adds to a render call behind one that waits is history, also after a restart', async (t) => {
  const gateway = await bootGateway(t, {}, { home: makeHome(t) })
  gateway.adapter.queue(
    callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }, { id: 'c-2', name: 'render_a2ui', args: SURFACE }]), say('Done.'),
  )
  const tools = [browserTool('pick')] as never
  const page = openPage(gateway, HttpAgent, { injectA2UITool: true })
  await tell(page, 'go', { tools })
  // The Host holds the result back behind the earlier call's; the middleware ends the call by itself.
  const own = page.agent.messages.find(({ role }) => role === 'tool')
  assert.ok(own !== undefined && own.id !== 'result-c-2')
  assert.equal(own.content, RENDERED)
  const restarted = await crash(t, gateway)
  const interrupted = await restarted.run({ messages: page.agent.messages as object[] })
  assert.equal(interrupted.at(-1)?.code, 'THREAD_INTERRUPTED')
  page.agent.addMessage({ id: 'picked', role: 'tool', toolCallId: 'c-1', content: 'red' })
  await page.agent.runAgent({ tools })
  assert.deepEqual(resultsSeen(gateway), ['c-1 red', `c-2 ${RENDERED}`])
  assert.equal(held(page).at(-1), 'assistant Done.')
  assert.equal(page.agent.messages.filter(({ role }) => role === 'tool').length, 2)
})

test('a render Tool that the page registers itself waits for it; its end may come with an action', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(RENDER, say('Booked.'))
  const tools = [{ name: 'render_a2ui', description: 'Renders.', parameters: { type: 'object' } }] as never
  const page = openPage(gateway, HttpAgent, {})
  await tell(page, 'show me', { tools })
  assert.equal(page.bodies[0]?.forwardedProps['injectA2UITool'], undefined)
  assert.deepEqual(turnsOf(gateway.agent()), ['turn/start', 'assistant/message', 'tool/call'])
  assert.equal((await gateway.refuse(input({ ...page.bodies[0], messages: [user('u-9', 'hello?')], runId: 'busy' }))).code, 'AGENT_BUSY')
  // The middleware has answered for the page, and the person acts: both go into the turn that waits.
  await page.agent.runAgent({ tools, forwardedProps: { a2uiAction: { userAction: ACTION } } })
  assert.deepEqual(page.bodies.at(-1)?.messages.map(({ role }) => role), ['user', 'assistant', 'tool', 'assistant', 'tool'])
  assert.deepEqual(resultsSeen(gateway), [`c-1 ${RENDERED}`])
  assert.equal(turnsOf(gateway.agent()).filter(type => type === 'turn/start').length, 1)
  assert.ok(JSON.stringify(gateway.adapter.requests.at(-1)?.messages).includes('User performed action'))
  assert.equal(held(page).at(-1), 'assistant Booked.')
})

test('an action is known after a restart, and its id belongs to it', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue(say('Booked.'))
  const page = openPage(first, DshHttpAgent, { injectA2UITool: true })
  const sent = await act(page)
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  const again = await second.run({ ...sent })
  assert.deepEqual(outline(again), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  assert.deepEqual(transcript(history(again)), ['assistant Booked.'])
  const other = { ...ACTION, context: { seat: 8 } }
  const conflict = withPair({ ...sent, runId: 'other' }, other, SENTENCE.replace(/\{.*/u, '{"seat":8}'))
  assert.equal((await second.refuse(conflict)).code, 'MESSAGE_ID_CONFLICT')
  assert.equal(second.adapter.requests.length, 0)
})

/** The request with another action in its pair, and in its envelope. */
function withPair(sent: Body, userAction: object, sentence: string): Body {
  const [call, result] = sent.messages.slice(-2) as [WireMessage, WireMessage]
  const [made] = call.toolCalls ?? []
  const calls = [{ ...made, function: { name: 'log_a2ui_event', arguments: JSON.stringify(userAction) } }]
  return {
    ...sent,
    forwardedProps: { ...sent.forwardedProps, a2uiAction: { userAction } },
    messages: [...sent.messages.slice(0, -2), { ...call, toolCalls: calls } as WireMessage, { ...result, content: sentence }],
  }
}

/** What a client with this history sends for the action, caught on its way. */
async function bodyOfAction(initialMessages: readonly Message[]): Promise<Body> {
  let sent = ''
  const agent = new HttpAgent({
    url: 'http://127.0.0.1/caught',
    threadId: 'thread-1',
    initialMessages: [...initialMessages],
    fetch: (_url, init) => {
      sent = init.body as string
      const { threadId, runId } = JSON.parse(sent) as { threadId: string, runId: string }
      const events = ['RUN_STARTED', 'RUN_FINISHED'].map(type => `data: ${JSON.stringify({ type, threadId, runId })}\n\n`)
      return Promise.resolve(new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } }))
    },
  })
  agent.use(middleware({ injectA2UITool: true }))
  await agent.runAgent({ forwardedProps: { a2uiAction: { userAction: ACTION } } })
  return JSON.parse(sent) as Body
}

test('an action that is not exactly what the middleware makes is refused and changes nothing', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('Hello.'), say('Booked.'))
  const page = openPage(gateway, HttpAgent, { injectA2UITool: true })
  await tell(page, 'hi')
  const good = await bodyOfAction(page.agent.messages)
  const envelope = (a2uiAction: unknown): object => ({ ...good, forwardedProps: { ...good.forwardedProps, a2uiAction } })
  const action = (userAction: unknown): object => envelope({ userAction })
  const history = good.messages.slice(0, -2)
  const [call, result] = good.messages.slice(-2) as [WireMessage, WireMessage]
  const messages = (...tail: object[]): object => ({ ...good, messages: [...history, ...tail] })
  const { name: _name, ...nameless } = ACTION
  const { surfaceId: _surface, ...homeless } = ACTION
  const others: object[] = [
    envelope(true), envelope([]), envelope({}), envelope({ userAction: ACTION, more: 1 }),
    action(null), action('book'), action(nameless), action(homeless), action({ ...ACTION, name: 7 }), action({ ...ACTION, context: [] }),
    action({ ...ACTION, context: 'x' }), action({ ...ACTION, timestamp: 1 }), action({ ...ACTION, extra: true }), action({ ...ACTION, name: '' }),
    action({ ...ACTION, name: 'x'.repeat(2000) }), action({ ...ACTION, context: { seat: 8 } }),
    messages(), messages(call), messages(result), messages(result, call), messages(call, result, user('u-9', 'x')),
    messages(call, { ...result, toolCallId: 'other' }), messages(call, { ...result, content: 'User performed something' }),
    messages(call, { ...result, error: 'no' }), messages({ ...call, toolCalls: [] }, result),
    messages({ ...call, toolCalls: [...call.toolCalls ?? [], ...call.toolCalls ?? []] }, result),
    withPair(good, ACTION, SENTENCE.replace('book', 'cancel')), withPair(good, ACTION, `${SENTENCE} now`),
  ]
  const before = logOf(gateway.agent()).length
  for (const [at, bad] of others.entries()) {
    const refusal = await gateway.refuse({ ...bad, runId: `bad-${at}` })
    assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_A2UI_ACTION'], JSON.stringify(bad))
  }
  const mixed = await gateway.refuse({ ...good, messages: [...history, user('u-9', 'and'), call, result], runId: 'mixed' })
  assert.deepEqual([mixed.status, mixed.code], [400, 'INVALID_MESSAGE_BATCH'])
  // A pair that nothing announces answers no call.
  const bare = await gateway.refuse({ ...good, forwardedProps: {}, runId: 'bare' })
  assert.equal(bare.code, 'UNKNOWN_TOOL_RESULT')
  assert.equal(logOf(gateway.agent()).length, before)
  assert.equal(body(await gateway.run({ ...good, runId: 'good' })).at(1), 'text Booked.')
})

test('the middleware\'s end of a call that nobody knows any more is history', async (t) => {
  const gateway = await bootGateway(t)
  const events = await gateway.run({ messages: [answer('t-1', 'nobody', RENDERED)] })
  assert.deepEqual(outline(events), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
})
