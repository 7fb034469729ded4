/** The baseline is a working gateway: the official client accepts what it streams, on a real Host. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { HttpAgent } from '@ag-ui/client'
import type { BaseEvent, Message } from '@ag-ui/client'
import type { Context } from '@deepseek-ai/cordis'
import { LlmAdapter } from '@deepseek-ai/dsh-llm'
import type { CallId, GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm'
import { defineTool } from '@deepseek-ai/dsh-tools'

import { BaselineGateway } from './baseline/index.ts'
import { CREDENTIALS, HEADERS, ROUTE, SECRET } from './server/arms.ts'
import { bootHost, MODEL } from './server/host.ts'
import { ask, bodyOf } from './harness/turn.ts'

/** Calls the Tool `add` once, then says that it is done. */
class AddingModel extends LlmAdapter {
  override async * stream({ messages }: GenerateOptions): AsyncIterable<StreamChunk> {
    if (messages.at(-1)?.source.kind === 'tool') {
      yield { type: 'block-start', index: 0, blockType: 'text' }
      yield { type: 'text-delta', index: 0, text: 'done' }
      yield { type: 'block-end', index: 0, block: { type: 'text', text: 'done' } }
      yield { type: 'finish', reason: { kind: 'stop' } }
      return
    }
    const id = 'call-1' as CallId
    yield { type: 'block-start', index: 0, blockType: 'tool-call' }
    yield { type: 'tool-call-delta', index: 0, id, name: 'add', argumentsDelta: '{"a":2,"b":3}' }
    yield { type: 'block-end', index: 0, block: { type: 'tool-call', id, name: 'add', arguments: '{"a":2,"b":3}' } }
    yield { type: 'finish', reason: { kind: 'tool-calls' } }
  }
}

let home: string
let ctx: Context
let url: string

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'dsh-ag-ui-bench-'))
  ctx = await bootHost(home)
  await ctx.plugin({
    name: 'adding',
    inject: ['llm', 'tools'],
    apply(ctx: Context) {
      ctx.llm.registerAdapter(['adding'], new AddingModel())
      ctx.tools.register(defineTool({
        name: 'add',
        description: 'Add two integers.',
        parameters: { a: { type: 'integer', required: true }, b: { type: 'integer', required: true } },
        output: { schema: { type: 'integer' }, render: (_args, value) => [{ type: 'text', text: String(value) }] },
        presentCall: args => ({ card: 'generic', title: `${args.a} + ${args.b}` }),
        async execute(args) { return args.a + args.b },
      }))
    },
  })
  const common = { sharedSecret: SECRET, workspaceRoot: join(home, 'workspaces') }
  await ctx.plugin(BaselineGateway, { ...common, ...MODEL, path: ROUTE })
  await ctx.plugin(BaselineGateway, { ...common, provider: 'adding', model: 'adding-1', path: '/adding' })
  await ctx.plugin(BaselineGateway, { ...common, ...MODEL, path: '/narrow', maxRunEvents: 8 })
  url = `http://127.0.0.1:${ctx.webServer.port}`
})

after(async () => {
  await ctx.fiber.dispose()
  await rm(home, { recursive: true })
})

async function run(path: string, threadId: string, message: Message, runId: string): Promise<{ events: BaseEvent[], agent: HttpAgent }> {
  const events: BaseEvent[] = []
  const agent = new HttpAgent({ url: url + path, threadId, headers: CREDENTIALS, initialMessages: [message] })
  await agent.runAgent({ runId }, { onEvent({ event }) { events.push(event) } })
  return { events, agent }
}

function post(path: string, body: string, headers: Record<string, string> = HEADERS, signal?: AbortSignal): Promise<Response> {
  return fetch(url + path, { method: 'POST', headers, body, ...signal === undefined ? {} : { signal } })
}

const types = (events: readonly BaseEvent[]) => events.map(({ type }) => type as string)

test('streams text, and the snapshots carry the ids of the stream', async () => {
  const { events, agent } = await run(ROUTE, 'text', ask('m1', 2, 'yielding'), 'r1')
  assert.deepEqual(types(events), [
    'RUN_STARTED', 'MESSAGES_SNAPSHOT', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  assert.deepEqual(agent.messages.map(({ id, role, content }) => ({ id, role, content })), [
    { id: 'm1', role: 'user', content: '[deltas=2][yield]' },
    { id: 'assistant-1.1', role: 'assistant', content: '0000000 0000001 ' },
  ])
})

test('streams backend Tool calls with cards, live and settled', async () => {
  const { events } = await run('/adding', 'tools', { id: 'm1', role: 'user', content: 'add' }, 'r1')
  assert.deepEqual(types(events), [
    'RUN_STARTED', 'MESSAGES_SNAPSHOT', 'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'CUSTOM', 'TOOL_CALL_RESULT', 'CUSTOM',
    'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  const again = await run('/adding', 'tools', { id: 'm1', role: 'user', content: 'add' }, 'r2')
  assert.deepEqual(types(again.events), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'CUSTOM', 'CUSTOM', 'RUN_FINISHED'])
  const cards = (list: readonly BaseEvent[]) => list.filter(({ type }) => type === 'CUSTOM')
  assert.deepEqual(cards(again.events), cards(events))
})

test('replays a duplicate byte for byte, refuses another body and a changed message', async () => {
  const body = bodyOf({ threadId: 'duplicates', runId: 'r1', messages: [ask('m1', 3, 'yielding')] })
  const [first, second] = await Promise.all([post(ROUTE, body), post(ROUTE, body)])
  assert.equal(await first.text(), await second.text())
  const refused = async (body: string) => {
    const response = await post(ROUTE, body)
    return [response.status, (await response.json()).code]
  }
  assert.deepEqual(await refused(`${body} `), [409, 'RUN_ID_CONFLICT'])
  assert.deepEqual(
    await refused(bodyOf({ threadId: 'duplicates', runId: 'r2', messages: [ask('m1', 4, 'yielding')] })), [409, 'MESSAGE_ID_CONFLICT'],
  )
})

test('refuses strangers and bad bodies', async () => {
  assert.equal((await post(ROUTE, '{}', { ...HEADERS, authorization: 'Bearer wrong' })).status, 401)
  assert.equal((await post(ROUTE, '{}', { ...HEADERS, 'x-dsh-user-id': 'no blanks' })).status, 400)
  assert.equal((await post(ROUTE, '{}')).status, 400)
  assert.equal((await post(ROUTE, `"${'x'.repeat(262_144)}"`)).status, 413)
  assert.equal((await fetch(url + ROUTE)).status, 405)
})

test('ends a run that overflows and stays usable', async () => {
  const text = await (await post('/narrow', bodyOf({ threadId: 'narrow', runId: 'r1', messages: [ask('m1', 50, 'yielding')] }))).text()
  assert.equal(text.trimEnd().split('\n\n').length, 8)
  assert.match(text, /"type":"RUN_ERROR".*AG_UI_EVENT_BUFFER_OVERFLOW/)
  const next = await (await post('/narrow', bodyOf({ threadId: 'narrow', runId: 'r2', messages: [ask('m2', 1, 'yielding')] }))).text()
  assert.match(next, /"type":"RUN_FINISHED"/)
})

test('runs of one thread follow each other, and a client that leaves cancels its turn', async () => {
  const leave = new AbortController()
  const left = await post(ROUTE, bodyOf({ threadId: 'queue', runId: 'r1', messages: [ask('m1', 3000, 'yielding')] }), HEADERS, leave.signal)
  const [agent] = ctx.agents.list().filter(({ status }) => status === 'running')
  assert.ok(agent)
  const queued = post(ROUTE, bodyOf({ threadId: 'queue', runId: 'r2', messages: [ask('m2', 1, 'yielding')] }))
  leave.abort()
  await assert.rejects(left.text())
  assert.match(await (await queued).text(), /"type":"RUN_FINISHED"/)
  const reasons = agent.session.events.flatMap(event => event.type === 'turn/end' ? [event.data.reason.kind] : [])
  assert.deepEqual(reasons, ['aborted', 'completed'])
})
