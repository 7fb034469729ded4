import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { EventType, HttpAgent } from '@ag-ui/client'
import type { Message, RunAgentInput } from '@ag-ui/client'
import { DshHttpAgent, messagesToSend } from 'dsh-ag-ui/client'

const HISTORY: Message[] = [
  { id: 's', role: 'system', content: 'be brief' },
  { id: 'd', role: 'developer', content: 'think' },
  { id: 'u1', role: 'user', content: 'hello' },
  { id: 'r', role: 'reasoning', content: 'hm' },
  { id: 'a1', role: 'assistant', content: 'calling', toolCalls: [{ id: 'c1', type: 'function', function: { name: 'pick', arguments: '{}' } }] },
  { id: 't1', role: 'tool', toolCallId: 'c1', content: 'blue' },
  { id: 'act', role: 'activity', activityType: 'dsh-deliverables', content: { files: [] } },
  { id: 'a2', role: 'assistant', content: 'blue it is' },
  { id: 'u2', role: 'user', content: [{ type: 'text', text: 'more' }] },
]

const call = (id: string, name = 'log_a2ui_event') => ({ id, type: 'function' as const, function: { name, arguments: '{"name":"book"}' } })
const asks = (...toolCalls: ReturnType<typeof call>[]): Message => ({ id: 'p1', role: 'assistant', content: '', toolCalls })
const answers = (toolCallId: string): Message => ({ id: 'p2', role: 'tool', toolCallId, content: 'User performed action "book"' })
const ids = (messages: readonly Message[]) => messages.map(message => message.id)

describe('DshHttpAgent (G24)', () => {
  const received: { body: RunAgentInput, headers: Record<string, unknown> }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as RunAgentInput
      received.push({ body, headers: request.headers })
      const { threadId, runId } = body
      const events = [
        { type: EventType.RUN_STARTED, threadId, runId },
        { type: EventType.TEXT_MESSAGE_START, messageId: `m-${runId}`, role: 'assistant' },
        { type: EventType.TEXT_MESSAGE_CONTENT, messageId: `m-${runId}`, delta: 'ok' },
        { type: EventType.TEXT_MESSAGE_END, messageId: `m-${runId}` },
        { type: EventType.RUN_FINISHED, threadId, runId },
      ]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
    })
  })
  let url = ''

  before(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ag-ui`
  })
  after(() => server.close())
  beforeEach(() => { received.length = 0 })

  const config = () => ({ url, threadId: 'thread-1', initialMessages: HISTORY, initialState: { n: 1 }, headers: { 'x-app': 'yes' } })

  it('sends user and Tool messages where HttpAgent sends everything, and alters nothing else', async () => {
    const parameters = { runId: 'run-1', tools: [{ name: 'pick', description: 'Pick.', parameters: {} }], context: [{ description: 'page', value: '1' }], forwardedProps: { a: 1 } }
    const ours = new DshHttpAgent(config())
    const official = new HttpAgent(config())
    await ours.runAgent(parameters)
    await official.runAgent(parameters)
    const [mine, theirs] = received
    assert.ok(mine !== undefined && theirs !== undefined)
    assert.deepEqual(ids(mine.body.messages), ['u1', 't1', 'u2'])
    assert.deepEqual(ids(theirs.body.messages), ['s', 'd', 'u1', 'r', 'a1', 't1', 'a2', 'u2'])
    assert.deepEqual(mine.body, { ...theirs.body, messages: theirs.body.messages.filter(({ role }) => role === 'user' || role === 'tool') })
    assert.deepEqual([mine.headers.accept, mine.headers['x-app']], ['text/event-stream', 'yes'])
  })

  it('keeps the complete history for itself', async () => {
    const agent = new DshHttpAgent(config())
    await agent.runAgent({ runId: 'run-1' })
    assert.deepEqual(ids(agent.messages), [...ids(HISTORY), 'm-run-1'])
    agent.addMessage({ id: 'u3', role: 'user', content: 'and now?' })
    await agent.runAgent({ runId: 'run-2' })
    assert.deepEqual(ids(received[1]?.body.messages ?? []), ['u1', 't1', 'u2', 'u3'])
    assert.deepEqual(ids(agent.messages), [...ids(HISTORY), 'm-run-1', 'u3', 'm-run-2'])
  })

  it('does the same when it was cloned', async () => {
    const clone = new DshHttpAgent(config()).clone()
    assert.ok(clone instanceof DshHttpAgent)
    await clone.runAgent({ runId: 'run-1' })
    assert.deepEqual(ids(received[0]?.body.messages ?? []), ['u1', 't1', 'u2'])
  })

  it('sends the pair that the A2UI middleware adds', async () => {
    const agent = new DshHttpAgent(config())
    const pair = [asks(call('x')), answers('x')]
    agent.use((input, next) => next.run({ ...input, messages: [...input.messages, ...pair] }))
    const forwardedProps = { a2uiAction: { userAction: { name: 'book', surfaceId: 's1' } } }
    await agent.runAgent({ runId: 'run-1', forwardedProps })
    assert.deepEqual(received[0]?.body.messages.slice(-2), pair)
    assert.deepEqual(ids(received[0]?.body.messages ?? []), ['u1', 't1', 'u2', 'p1', 'p2'])
    assert.deepEqual(ids(agent.messages), [...ids(HISTORY), 'm-run-1'])
  })

  it('takes nothing else for that pair', () => {
    const sent = (...tail: Message[]) => ids(messagesToSend(tail))
    assert.deepEqual(sent(asks(call('x')), answers('x')), ['p1', 'p2'])
    assert.deepEqual(sent(asks(call('x', 'other')), answers('x')), ['p2'], 'another Tool')
    assert.deepEqual(sent(asks(call('x'), call('y')), answers('x')), ['p2'], 'several calls')
    assert.deepEqual(sent(asks(), answers('x')), ['p2'], 'no call')
    assert.deepEqual(sent(asks(call('x')), answers('y')), ['p2'], 'the result of another call')
    assert.deepEqual(sent(asks(call('x'))), [], 'no result')
    assert.deepEqual(sent(asks(call('x')), answers('x'), { id: 'u', role: 'user', content: 'hi' }), ['p2', 'u'], 'not at the end')
    assert.deepEqual(sent(), [])
  })

  it('needs nothing but the official client', () => {
    const imports = (url: URL): string[] => {
      const source = readFileSync(url, 'utf8')
      assert.doesNotMatch(source, /\b(?:process|Buffer|require)\b/u)
      const names = [...source.matchAll(/\bfrom ['"](.+?)['"]|\bimport\(['"](.+?)['"]/gu)].map(([, name = '']) => name)
      return names.flatMap(name => name.startsWith('.') ? imports(new URL(name, url)) : [name])
    }
    assert.deepEqual(imports(new URL(import.meta.resolve('dsh-ag-ui/client'))), ['@ag-ui/client'])
  })
})
