/** Sockets that take less than the model gives: the record holds the rest, and nobody waits for anybody (G8, G21, X10). */

import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import {
  bootGateway, FrameReader, input, nextEvent, said, say, SECRET, turnsOf, user,
} from '../support/gateway.ts'
import type { TestGateway, WireEvent } from '../support/gateway.ts'

/** More than sockets and streams of a process buffer between them. */
const PIECES = Array.from({ length: 900 }, (_, index) => String(index).padStart(1024, '.'))
const TEXT = PIECES.join('')
const LARGE = { maxRunEventBytes: 8_388_608 }

/** A long answer that lets the rest of the process run between its deltas. */
async function* speak() {
  yield { type: 'block-start' as const, index: 0, blockType: 'text' as const }
  for (const text of PIECES) {
    yield { type: 'text-delta' as const, index: 0, text }
    await new Promise(setImmediate)
  }
  yield { type: 'block-end' as const, index: 0, block: { type: 'text' as const, text: TEXT } }
  yield { type: 'finish' as const, reason: { kind: 'stop' as const } }
}

/** A client that reads only when it is told to. */
class SlowClient {
  readonly #response: Promise<IncomingMessage>

  constructor(gateway: TestGateway, body: object) {
    const headers = {
      'authorization': `Bearer ${SECRET}`, 'content-type': 'application/json', 'x-dsh-tenant-id': 'tenant-1', 'x-dsh-user-id': 'user-1',
    }
    this.#response = new Promise((resolve, reject) => {
      httpRequest(gateway.url, { method: 'POST', headers, agent: false }, resolve).on('error', reject).end(JSON.stringify(body))
    })
  }

  /** Resolves when the response has begun; nothing of its body is read. */
  async begun(): Promise<void> {
    await this.#response
  }

  /** Reads everything. */
  async read(): Promise<readonly WireEvent[]> {
    const frames = new FrameReader()
    const response = await this.#response
    response.setEncoding('utf8')
    for await (const chunk of response) frames.push(chunk as string)
    assert.ok(response.complete)
    frames.end()
    return frames.events
  }

  async leave(): Promise<void> {
    (await this.#response).destroy()
  }
}

test('a reader that stops reading holds up nobody, and still gets everything', async (t) => {
  const gateway = await bootGateway(t, LARGE)
  gateway.adapter.queue(speak, say('next'))
  const request = input({ messages: [user('u-1', 'speak')] })
  const slow = new SlowClient(gateway, request)
  await slow.begun()
  const quick = gateway.post(request)
  assert.ok(said(await quick.end()) === TEXT)
  // The run is over and the thread goes on, while most of it is still unread.
  assert.equal(said(await gateway.run({ messages: [user('u-2', 'more')] })), 'next')
  assert.ok(said(await slow.read()) === TEXT)
  assert.equal(gateway.adapter.requests.length, 2)
})

test('a replay is as patient as a live response', async (t) => {
  const gateway = await bootGateway(t, LARGE)
  gateway.adapter.queue(speak)
  const request = input({ messages: [user('u-1', 'speak')] })
  await gateway.post(request).end()
  const replays = Array.from({ length: 4 }, () => new SlowClient(gateway, request))
  await Promise.all(replays.map(replay => replay.begun()))
  const [leaving, ...staying] = replays
  await leaving?.leave()
  for (const replay of staying) assert.ok(said(await replay.read()) === TEXT)
})

test('a reader that stops reading and then leaves cancels the turn', async (t) => {
  const gateway = await bootGateway(t, LARGE)
  gateway.adapter.queue(async function* (request) {
    yield* speak()
    await new Promise<void>((resolve) => { request.signal?.addEventListener('abort', () => { resolve() }, { once: true }) })
    throw new Error('aborted')
  })
  const slow = new SlowClient(gateway, input({ messages: [user('u-1', 'speak')] }))
  await slow.begun()
  const ended = nextEvent(gateway.agent(), 'turn/end')
  await slow.leave()
  assert.equal(((await ended).data as { reason: { kind: string } }).reason.kind, 'aborted')
  assert.deepEqual(turnsOf(gateway.agent()).at(-1), 'turn/end')
})

test('unloading does not wait for a reader, and what was recorded for it still comes', async (t) => {
  const gateway = await bootGateway(t, LARGE)
  gateway.adapter.queue(speak)
  const request = input({ messages: [user('u-1', 'speak')] })
  const slow = new SlowClient(gateway, request)
  await slow.begun()
  await gateway.post(request).end()
  await gateway.unload()
  assert.deepEqual(gateway.agents, [])
  assert.ok(said(await slow.read()) === TEXT)
})
