/** Tools of the gateway in a real Host, cards of everyone's, and the Tools that an agent inherits. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { defineTool } from '@deepseek-ai/dsh-tools'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import type { SessionRecord } from 'dsh-ag-ui/host'
import { bootHost, callTools, mountPlugin, say } from './support/host.ts'
import type { BootOptions, TestHost } from './support/host.ts'
import { dataOf, mountPort, openThread, ParkedTool, run, user } from './support/port.ts'
import type { MountedPort, Thread } from './support/port.ts'

async function boot(t: TestContext, options: BootOptions = {}): Promise<{ host: TestHost, port: MountedPort }> {
  const host = await bootHost(options)
  t.after(() => host.dispose())
  return { host, port: await mountPort(host) }
}

/** A Tool of the Host's own, which settles at once. */
function backend(name: string, overrides: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name,
    description: 'A backend Tool.',
    parameters: { type: 'object' },
    output: { schema: {}, render: (_args, value) => [{ type: 'text', text: String(value) }] },
    execute: () => Promise.resolve(`${name} done`),
    ...overrides,
  }
}

const register = (host: TestHost, ...definitions: ToolDefinition[]) => mountPlugin(host.ctx, ['tools'], (plugin) => {
  for (const definition of definitions) plugin.tools.register(definition)
})

const cards = (records: readonly SessionRecord[]) =>
  records.filter(({ type }) => type === 'tool/call' || type === 'tool/result').map(({ type, seq, card }) => ({ type, seq, card }))

const textOf = (record: SessionRecord | undefined) =>
  dataOf<{ message: { content: { content: { text: string }[] }[] } }>(record).message.content[0]?.content[0]?.text

/** Starts a turn that calls Tools in parallel. */
function call(thread: Thread, host: TestHost, ...calls: { id: string, name: string, args?: unknown }[]): void {
  host.adapter.queue(callTools(calls.map(({ id, name, args = {} }) => ({ id, name, args }))), say('done'))
  thread.agent.deliver([user('go')], true)
}

test('parallel calls are parked together, and their results commit in the model\'s order', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'parallel')
  const parked = new ParkedTool('pick')
  thread.agent.registerTool(parked.tool)
  call(thread, host, { id: 'c1', name: 'pick', args: { label: 'a' } }, { id: 'c2', name: 'pick', args: { label: 'b' } })
  const [first, second] = [await parked.next(), await parked.next()]
  assert.deepEqual([first.call.callId, first.call.arguments], ['c1', { label: 'a' }])
  assert.deepEqual([second.call.callId, second.call.arguments], ['c2', { label: 'b' }])
  second.resolve({ text: 'two', meta: { shade: 'dark' } })
  await thread.log.until(([name, callId, running]) => name === 'body' && callId === 'c2' && running === false)
  assert.equal(thread.log.records('tool/result').length, 0)
  first.resolve({ text: 'one' })
  await thread.log.untilIdle()
  const results = thread.log.records('tool/result')
  assert.deepEqual(results.map(textOf), ['one', 'two'])
  assert.equal(Object.hasOwn(dataOf<object>(results[0]), 'meta'), false)
  assert.deepEqual(dataOf<{ meta: unknown }>(results[1]).meta, { shade: 'dark' })
  assert.deepEqual(thread.log.of('body'),
    [['body', 'c1', true], ['body', 'c2', true], ['body', 'c2', false], ['body', 'c1', false]])
  assert.deepEqual(cards(thread.log.records()).map(({ card }) => card), [null, null, null, null])
})

test('a body starts after its call is recorded and ends before its result is', async (t) => {
  const { host, port } = await boot(t)
  await register(host, backend('quick'))
  const thread = await openThread(port, 'body')
  call(thread, host, { id: 'c1', name: 'quick' })
  await thread.log.untilIdle()
  const outline = thread.log.outline()
  const from = outline.indexOf('tool/call')
  assert.deepEqual(outline.slice(from, from + 4), ['tool/call', 'body', 'body', 'tool/result'])
})

test('a call that policy refuses has no body', async (t) => {
  const { host, port } = await boot(t)
  await register(host, backend('danger'))
  await mountPlugin(host.ctx, [], (plugin) => {
    plugin.on('tools/pre-execute', (exec, next) =>
      exec.name === 'danger' ? Promise.resolve({ kind: 'deny', reason: 'no' }) : next())
  })
  const thread = await openThread(port, 'denied')
  call(thread, host, { id: 'c1', name: 'danger' })
  await thread.log.untilIdle()
  assert.deepEqual(thread.log.of('body'), [])
  assert.equal(textOf(thread.log.records('tool/result')[0]), 'Error: no')
})

test('calls of an exclusive Tool come one after the other', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'exclusive')
  const parked = new ParkedTool('state', { concurrent: false })
  thread.agent.registerTool(parked.tool)
  call(thread, host, { id: 'c1', name: 'state' }, { id: 'c2', name: 'state' })
  const first = await parked.next()
  assert.equal(thread.log.records('tool/call').length, 1)
  first.resolve({ text: 'one' })
  const second = await parked.next()
  second.resolve({ text: 'two' })
  await thread.log.untilIdle()
  assert.deepEqual(thread.log.records('tool/call', 'tool/result').map(({ type }) => type),
    ['tool/call', 'tool/result', 'tool/call', 'tool/result'])
})

test('a body\'s own error is what the model sees, also when it is the abort\'s', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'errors')
  const parked = new ParkedTool('pick')
  thread.agent.registerTool(parked.tool)
  call(thread, host, { id: 'c1', name: 'pick' })
  const failing = await parked.next()
  failing.reject(new Error('the page said no'))
  await thread.log.untilIdle()
  assert.equal(textOf(thread.log.records('tool/result')[0]), 'Error: the page said no')

  const since = thread.log.reports.length
  call(thread, host, { id: 'c2', name: 'pick' })
  const aborting = await parked.next()
  aborting.call.signal.addEventListener('abort', () => aborting.reject(new Error('the person went away')))
  thread.agent.cancel()
  await thread.log.untilIdle(since)
  assert.equal(textOf(thread.log.records('tool/result')[1]), 'Error: the person went away')
})

test('a Tool is visible to its agent only, and a call in flight survives its unregistration', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'lease')
  const other = await openThread(port, 'other')
  const parked = new ParkedTool('pick')
  const unregister = thread.agent.registerTool(parked.tool)
  assert.equal(host.ctx.tools.get('pick'), undefined)
  assert.equal(host.ctx.tools.get('pick', other.dsh), undefined)
  assert.throws(() => thread.agent.registerTool(parked.tool), /already registered in this scope/)
  call(thread, host, { id: 'c1', name: 'pick' })
  const inFlight = await parked.next()
  unregister()
  unregister()
  assert.equal(host.ctx.tools.get('pick', thread.dsh), undefined)
  inFlight.resolve({ text: 'kept' })
  await thread.log.untilIdle()
  assert.equal(textOf(thread.log.records('tool/result')[0]), 'kept')
  assert.deepEqual(cards(thread.log.records()).map(({ card }) => card), [null, null])
  assert.equal(host.adapter.requests.at(-1)?.tools, undefined)
})

test('cards are the same live and cold', async (t) => {
  const { host, port } = await boot(t)
  const tools = [
    defineTool({
      name: 'add',
      description: 'Adds.',
      parameters: { a: { type: 'integer', required: true }, b: { type: 'integer', required: true } },
      output: {
        schema: { type: 'integer' },
        render: (_args, value) => [{ type: 'text', text: String(value) }],
        presentationMeta: ({ a, b }, value) => ({ expression: `${a}+${b}=${value}` }),
      },
      presentCall: ({ a, b }) => ({ card: 'generic', title: `Add ${a} and ${b}`, kind: 'other' }),
      presentResult: (_args, { content, isError, meta }) =>
        ({ card: 'generic', title: `${isError} ${JSON.stringify(content)} ${JSON.stringify(meta)}` }),
      execute: ({ a, b }) => Promise.resolve(a + b),
    }) as ToolDefinition,
    backend('plain'),
    backend('broken', {
      presentCall: () => { throw new Error('presenter') },
      presentResult: () => ({ card: 'generic', rawInput: 1n }) as never,
    }),
    backend('silent', { presentCall: () => undefined, presentResult: () => undefined }),
  ]
  await register(host, ...tools)
  const thread = await openThread(port, 'cards')
  call(thread, host,
    { id: 'c1', name: 'add', args: { a: 2, b: 3 } }, { id: 'c2', name: 'plain' }, { id: 'c3', name: 'broken', args: '{"a":' },
    { id: 'c4', name: 'silent', args: '' }, { id: 'c5', name: 'nobody' })
  await thread.log.untilIdle()
  const live = cards(thread.log.records())
  assert.deepEqual(live.filter(({ type }) => type === 'tool/call').map(({ card }) => card),
    [{ card: 'generic', title: 'Add 2 and 3', kind: 'other' }, null, null, null, undefined])
  assert.deepEqual(live.filter(({ type }) => type === 'tool/result').map(({ card }) => card), [
    { card: 'generic', title: 'false [{"type":"text","text":"5"}] {"expression":"2+3=5"}' }, null, null, null, undefined,
  ])
  await thread.agent.dispose()
  const resumed = await openThread(port, 'cards')
  assert.deepEqual(cards(resumed.history), live)
  await resumed.agent.dispose()
  await host.ctx.fiber.dispose()

  const again = await boot(t, { home: host.home })
  await register(again.host, ...tools)
  assert.deepEqual(cards((await openThread(again.port, 'cards')).history), live)
})

test('inherited Tools are those of the Host and of the preset, without ours', async (t) => {
  const { host, port } = await boot(t)
  await register(host, backend('global'))
  const thread = await openThread(port, 'inherited', 'demo')
  assert.deepEqual(thread.agent.inheritedTools(), ['ask_user_question', 'global'])
  const unregister = thread.agent.registerTool(new ParkedTool('ask_user_question').tool)
  thread.agent.registerTool(new ParkedTool('mine').tool)
  assert.deepEqual(thread.agent.inheritedTools(), ['ask_user_question', 'global'])
  unregister()
  assert.deepEqual(thread.agent.inheritedTools(), ['ask_user_question', 'global'])
  assert.deepEqual((await openThread(port, 'bare', 'bare')).agent.inheritedTools(), ['global'])
})

test('a Tool of the Host that comes later under one of our names is reported once', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'collision')
  const other = await openThread(port, 'bystander')
  thread.agent.registerTool(new ParkedTool('pick').tool)
  await Promise.resolve()
  assert.deepEqual([thread.log.of('toolsChanged'), other.log.of('toolsChanged')], [[], []])
  const fiber = await register(host, backend('pick'), backend('other'), backend('third'))
  await thread.log.until(([name]) => name === 'toolsChanged')
  assert.deepEqual(thread.agent.inheritedTools(), ['other', 'pick', 'third'])
  await fiber.dispose()
  await thread.log.until(([name]) => name === 'toolsChanged', 1)
  assert.deepEqual(thread.agent.inheritedTools(), [])
  assert.equal(thread.log.of('toolsChanged').length, 2)
  assert.equal(other.log.of('toolsChanged').length, 2)
})

test('changes that nobody inherits are not reported', async (t) => {
  const { host, port } = await boot(t)
  const thread = await openThread(port, 'quiet')
  const other = await openThread(port, 'loud')
  const release = other.dsh.ctx.tools.register(backend('scoped'))
  await Promise.resolve()
  release()
  const fiber = await register(host, backend('blink'))
  await thread.log.until(([name]) => name === 'toolsChanged')
  await fiber.dispose()
  await thread.log.until(([name]) => name === 'toolsChanged', 1)
  assert.deepEqual(thread.log.outline(), ['toolsChanged', 'toolsChanged'])
  assert.deepEqual(thread.agent.inheritedTools(), [])
})

test('threads are grouped under workspaces once the Host has a registry, and its failure fails nothing', async (t) => {
  const warnings: string[] = []
  const host = await bootHost()
  t.after(() => host.dispose())
  const port = await mountPort(host, { logger: { warn: message => warnings.push(message) } })
  const early = await openThread(port, 'early')
  const attached: string[] = []
  let settle = Promise.withResolvers<void>()
  await mountPlugin(host.ctx, [], (plugin) => {
    plugin.provide('workspaceRegistry', {
      create: (path: string) => Promise.resolve({
        attachSession: (sessionId: string) => {
          attached.push(`${path} ${sessionId}`)
          settle.resolve()
          if (sessionId === 'unlucky') throw Object.assign(new Error('secret path'), { code: 'WS' })
        },
      }),
    })
  })
  await settle.promise
  assert.deepEqual(attached, [`${early.dsh.session.header.cwd} early`])
  settle = Promise.withResolvers()
  const late = await openThread(port, 'unlucky')
  await settle.promise
  assert.equal(attached[1], `${late.dsh.session.header.cwd} unlucky`)
  host.adapter.queue(say('fine'))
  await run(late, 'hi')
  await late.agent.dispose()
  assert.deepEqual(warnings, ['session "unlucky" is not grouped under a workspace: WS'])
})
