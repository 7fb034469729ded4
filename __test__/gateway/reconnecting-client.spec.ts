/** Clients that come back by themselves: `reconnect` of `DshHttpAgent`, `reconnectingFetch` for every other (X1). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpAgent as HttpAgent1 } from 'ag-ui-client-1'
import { DshHttpAgent, reconnectingFetch } from 'dsh-ag-ui/client'
import type { AgentFetch, ReconnectOptions } from 'dsh-ag-ui/client'
import { VERSIONS } from '../support/client.ts'
import type { Version } from '../support/client.ts'
import { bootGateway, Gate, input, nextEvent, say, sayThrough, SECRET, transcript, turnsOf, user } from '../support/gateway.ts'
import type { ScriptEntry, WireMessage } from '../support/gateway.ts'
import { proxyTo } from '../support/proxy.ts'

const GRACE = { reconnectGraceMs: 60_000 }
const HEADERS = { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'tenant-1', 'x-dsh-user-id': 'user-1' }
const AT_ONCE: ReconnectOptions = { wait: () => Promise.resolve() }

/** A client of either version, its requests noted as `METHOD path last-event-id`. */
function clientOf(version: Version, url: string, options = AT_ONCE): { agent: DshHttpAgent, requests: string[] } {
  const requests: string[] = []
  const noting: AgentFetch = (target, init) => {
    const last = new Headers(init.headers).get('last-event-id')
    requests.push([init.method, new URL(target).pathname, ...last === null ? [] : [last]].join(' '))
    return fetch(target, init)
  }
  const config = { url, threadId: 'thread-1', headers: HEADERS }
  const agent = version === '0.0.59' ? new DshHttpAgent({ ...config, fetch: noting, reconnect: options })
    : new HttpAgent1({ ...config, fetch: reconnectingFetch(noting, options) }) as unknown as DshHttpAgent
  agent.addMessage({ id: 'u-1', role: 'user', content: 'hi' })
  return { agent, requests }
}

/** An answer in parts that each wait for their gate. */
function sayInParts(...gates: readonly Gate[]): ScriptEntry {
  return async function* ({ signal }) {
    let text = ''
    for (const [index, gate] of gates.entries()) {
      text += `part ${index} `
      yield { type: 'text-delta', index: 0, text: `part ${index} ` }
      await gate.pass(signal)
    }
    yield { type: 'block-end', index: 0, block: { type: 'text', text } }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

for (const version of VERSIONS) {
  test(`a run survives breaks anywhere, with client ${version}`, async (t) => {
    const gateway = await bootGateway(t, { ...GRACE, flushIntervalMs: 0 })
    const proxy = await proxyTo(t, gateway.url)
    const { agent, requests } = clientOf(version, proxy.url)
    const gates = [new Gate(), new Gate(), new Gate()]
    gateway.adapter.queue(sayInParts(...gates))
    let seen = 0
    const { newMessages } = await agent.runAgent({ runId: 'run-a' }, {
      onTextMessageContentEvent: () => {
        proxy.cut()
        gates[seen]?.open()
        seen += 1
      },
    })
    assert.deepEqual(transcript(newMessages as WireMessage[]), ['assistant part 0 part 1 part 2 '])
    assert.deepEqual(turnsOf(gateway.agent()), ['turn/start', 'assistant/message', 'turn/end'])
    assert.equal(requests[0], 'POST /ag-ui')
    const back = /^GET \/ag-ui\/threads\/thread-1\/runs\/run-a [0-9a-f]{8}-\d+(?:\.\d+)?$/u
    assert.ok(requests.length > 3 && requests.slice(1).every(request => back.test(request)), String(requests))
    // The thread goes on as if nothing had been.
    gateway.adapter.queue(say('fine'))
    agent.addMessage({ id: 'u-2', role: 'user', content: 'all well?' })
    const next = await agent.runAgent({ runId: 'run-b' })
    assert.deepEqual(transcript(next.newMessages as WireMessage[]), ['assistant fine'])
  })
}

test('attempts that fail are repeated after their waits, and an event makes them count anew', async (t) => {
  const gateway = await bootGateway(t, { ...GRACE, flushIntervalMs: 0 })
  const proxy = await proxyTo(t, gateway.url)
  const waits: number[] = []
  const wait = (attempt: number): Promise<void> => {
    waits.push(attempt)
    return Promise.resolve()
  }
  const { agent } = clientOf('0.0.59', proxy.url, { attempts: 3, wait })
  const gates = [new Gate(), new Gate()]
  gateway.adapter.queue(sayInParts(...gates))
  let seen = 0
  const { newMessages } = await agent.runAgent({ runId: 'run-a' }, {
    onTextMessageContentEvent: () => {
      proxy.refuse(2)
      proxy.cut()
      gates[seen]?.open()
      seen += 1
    },
  })
  assert.deepEqual(transcript(newMessages as WireMessage[]), ['assistant part 0 part 1 '])
  assert.deepEqual(waits, [1, 2, 3, 1, 2, 3])
})

/** Reads a run to its end or its failure. */
async function reading(fetching: AgentFetch, url: string, init: RequestInit = {}): Promise<string> {
  const headers = { ...HEADERS, 'content-type': 'application/json' }
  const request = input({ runId: 'run-a', messages: [user('u-1', 'hi')] })
  return await (await fetching(url, { method: 'POST', headers, body: JSON.stringify(request), ...init })).text()
}

test('when every attempt failed the run fails', async (t) => {
  const gateway = await bootGateway(t, GRACE)
  const proxy = await proxyTo(t, gateway.url)
  gateway.adapter.queue('hang')
  const waits: number[] = []
  const wait = (attempt: number): Promise<void> => {
    waits.push(attempt)
    return Promise.resolve()
  }
  const run = reading(reconnectingFetch(fetch, { attempts: 2, wait }), proxy.url)
  while (gateway.agents.length === 0 || turnsOf(gateway.agent()).length === 0) await new Promise(setImmediate)
  proxy.refuse(5)
  proxy.cut()
  await assert.rejects(run, { name: 'TypeError' })
  assert.deepEqual([waits, proxy.connections], [[1, 2], 3])
})

test('a refusal is final, and says so', async (t) => {
  const gateway = await bootGateway(t)
  const proxy = await proxyTo(t, gateway.url)
  gateway.adapter.queue('hang')
  const runUrl = (url: string): string => `${url}/threads/thread-1/runs/other`
  const run = reading(reconnectingFetch(fetch, { ...AT_ONCE, runUrl }), proxy.url)
  while (gateway.agents.length === 0 || turnsOf(gateway.agent()).length === 0) await new Promise(setImmediate)
  proxy.cut()
  await assert.rejects(run, { message: 'HTTP 404: {"code":"NOT_FOUND","message":"no such run"}', status: 404 })
})

test('a run that its user aborts ends at once, also between two attempts', async (t) => {
  const gateway = await bootGateway(t, { reconnectGraceMs: 1 })
  const proxy = await proxyTo(t, gateway.url)
  gateway.adapter.queue('hang')
  const abort = new AbortController()
  const wait = (): Promise<void> => {
    abort.abort()
    return new Promise(() => {})
  }
  const { signal } = abort
  const run = reading(reconnectingFetch(fetch, { wait }), proxy.url, { signal })
  while (gateway.agents.length === 0 || turnsOf(gateway.agent()).length === 0) await new Promise(setImmediate)
  const ended = nextEvent(gateway.agent(), 'turn/end')
  proxy.cut()
  await assert.rejects(run, { name: 'AbortError' })
  await ended
})

test('a break before the first event repeats the request, which is answered once', async (t) => {
  const gateway = await bootGateway(t, { ...GRACE, keepAliveMs: 10 })
  const proxy = await proxyTo(t, gateway.url)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'first', ''), say('second'))
  const first = gateway.post(input({ runId: 'run-0', messages: [user('u-0', 'a')] }))
  await first.next('TEXT_MESSAGE_CONTENT')
  const { agent, requests } = clientOf('0.0.59', proxy.url)
  const plain = agent.fetch
  const begun = Promise.withResolvers<void>()
  agent.fetch = async (url, init) => {
    // The answer of a request that waits begins with a comment.
    const response = await plain(url, init)
    begun.resolve()
    return response
  }
  const run = agent.runAgent({ runId: 'run-a' })
  await begun.promise
  proxy.cut()
  gate.open()
  assert.deepEqual(transcript((await run).newMessages as WireMessage[]).at(-1), 'assistant second')
  assert.deepEqual(requests, ['POST /ag-ui', 'POST /ag-ui'])
  assert.equal(gateway.adapter.requests.length, 2)
})

test('without the option a broken run fails, and answers that are no stream are left alone', async (t) => {
  const gateway = await bootGateway(t)
  const proxy = await proxyTo(t, gateway.url)
  gateway.adapter.queue('hang')
  const run = reading(fetch, proxy.url)
  while (gateway.agents.length === 0 || turnsOf(gateway.agent()).length === 0) await new Promise(setImmediate)
  proxy.cut()
  await assert.rejects(run, { name: 'TypeError' })
  const refused = await reading(reconnectingFetch(fetch, AT_ONCE), proxy.url, { headers: {} })
  assert.equal((JSON.parse(refused) as { code: string }).code, 'UNAUTHORIZED')
})

test('a stream without ids stays as it is', async () => {
  const frames = 'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\ndata: {"type":"STEP'
  const broken = (ending: 'clean' | 'broken'): AgentFetch => () => Promise.resolve(new Response(new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(frames))
      if (ending === 'clean') controller.close()
    },
    pull(controller) { controller.error(new Error('cut')) },
  }), { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }))
  const clean = await reading(reconnectingFetch(broken('clean'), AT_ONCE), 'http://x/')
  assert.equal(clean, frames.slice(0, frames.lastIndexOf('data')))
  await assert.rejects(reading(reconnectingFetch(broken('broken'), AT_ONCE), 'http://x/'), { message: 'cut' })
})

test('the run is read beside where it was posted, the query kept', async () => {
  const targets: string[] = []
  const fetching: AgentFetch = (url, init) => {
    targets.push(`${init.method} ${url}`)
    const frame = init.method === 'POST' ? 'id: 0\ndata: {"type":"RUN_STARTED"}\n\nid: 1\nda' : 'id: 1\ndata: {"type":"RUN_FINISHED"}\n\n'
    return Promise.resolve(new Response(frame, { headers: { 'content-type': 'text/event-stream' } }))
  }
  for (const url of ['/api/agent', 'https://app.test/api/agent/?tenant=a#x']) {
    const text = await reading(reconnectingFetch(fetching, AT_ONCE), url)
    assert.equal(text, 'id: 0\ndata: {"type":"RUN_STARTED"}\n\nid: 1\ndata: {"type":"RUN_FINISHED"}\n\n')
  }
  assert.deepEqual(targets, [
    'POST /api/agent', 'GET /api/agent/threads/thread-1/runs/run-a',
    'POST https://app.test/api/agent/?tenant=a#x', 'GET https://app.test/api/agent/threads/thread-1/runs/run-a?tenant=a#x',
  ])
})
