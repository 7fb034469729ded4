/** Streams that break go on where they broke, within a grace (X1, X10). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  body, bootGateway, callTools, compact, errorOf, FrameReader, Gate, history, input, nextEvent, outline, say, sayThrough,
  transcript, turnsOf, user,
} from '../support/gateway.ts'
import type { Exchange, PostOptions, TestGateway, WireEvent } from '../support/gateway.ts'

const GRACE = { reconnectGraceMs: 60_000 }
const FIRST = { runId: 'run-a', messages: [user('u-1', 'hi')] }

const runPath = (runId = 'run-a', threadId = 'thread-1'): string => `/threads/${threadId}/runs/${runId}`

/** Asks for a run, from behind an event or from its start. */
function read(gateway: TestGateway, lastEventId?: string, { rest = runPath(), headers = {}, ...options }: PostOptions = {}): Exchange {
  const own = { 'content-type': undefined, 'content-length': '0', 'last-event-id': lastEventId }
  return gateway.post('', { method: 'GET', rest, headers: { ...own, ...headers }, ...options })
}

/** The id of the last event that came. */
function lastIdOf(exchange: Exchange): string {
  const [, id] = /^id: (.+)$/mu.exec(exchange.frames.frames.at(-1) ?? '') ?? []
  assert.ok(id !== undefined, 'an event came')
  return id
}

/** Breaks a connection off, and waits until the Host knows. */
async function breakOff(gateway: TestGateway, exchange: Exchange): Promise<string> {
  const left = gateway.left(exchange)
  exchange.leave()
  await left
  return lastIdOf(exchange)
}

/** What parts of a run make together: their ids go on growing, and their events are one whole run. */
async function joined(...parts: readonly Exchange[]): Promise<readonly WireEvent[]> {
  const reader = new FrameReader()
  for (const part of parts.slice(0, -1)) reader.push(part.frames.frames.join(''))
  reader.push(await parts.at(-1)!.text())
  reader.end()
  return reader.events
}

test('a run whose connection breaks goes on, and whoever comes back gets exactly the rest', async (t) => {
  const gateway = await bootGateway(t, GRACE)
  const [one, two] = [new Gate(), new Gate()]
  gateway.adapter.queue(async function* ({ signal }) {
    yield { type: 'text-delta', index: 0, text: 'one "quoted"\n' }
    await one.pass(signal)
    yield { type: 'text-delta', index: 0, text: 'two 漢字 ' }
    await two.pass(signal)
    yield* say('three')
  })
  const first = gateway.post(input(FIRST))
  await first.next('TEXT_MESSAGE_CONTENT')
  const second = read(gateway, await breakOff(gateway, first))
  one.open()
  await second.next('TEXT_MESSAGE_CONTENT')
  const broken = await breakOff(gateway, second)
  two.open()
  const third = read(gateway, broken)
  const whole = await read(gateway).end()
  assert.deepEqual(compact(await joined(first, second, third)), compact(whole))
  assert.deepEqual(body(whole), [
    'TEXT_MESSAGE_START', 'text one "quoted"\ntwo 漢字 three', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  assert.deepEqual(turnsOf(gateway.agent()), ['turn/start', 'assistant/message', 'turn/end'])
})

test('every event of a run, and every character of a merged delta, is a place to go on from', async (t) => {
  const gateway = await bootGateway(t)
  const text = 'a"\\\n\u0001é漢👩‍👩‍👧 end'
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'nothing', args: { text } }], text), say('bye'))
  await gateway.run(FIRST)
  // A replay has each delta merged.
  const replay = read(gateway)
  const whole = await replay.end()
  const { frames } = replay.frames
  let cuts = 0
  for (const [at, frame] of frames.entries()) {
    for (const [id, sent] of cutsOf(frame)) {
      const rest = read(gateway, id)
      const reader = new FrameReader()
      reader.push([...frames.slice(0, at), sent].join('') + await rest.text())
      reader.end()
      assert.deepEqual(compact(reader.events), compact(whole), id)
      cuts += 1
    }
  }
  // Each event, and each character of the text and of the arguments that hold it.
  assert.ok(cuts > frames.length + 2 * Array.from(text).length, String(cuts))
})

/** Every id that ends in a frame, with the part of the frame that goes with it. */
function cutsOf(frame: string): [id: string, sent: string][] {
  const [, entry, offset, data = ''] = /^id: ([0-9a-f]{8}-\d+)(\.\d+)?\ndata: (.*)\n\n$/u.exec(frame) ?? assert.fail(frame)
  if (offset === undefined) return [[`${entry}`, frame]]
  const { delta = '', ...event } = JSON.parse(data) as WireEvent
  return Array.from(delta).map((_, index, characters) => {
    const sent = characters.slice(0, index + 1).join('')
    const id = `${entry}.${Buffer.byteLength(JSON.stringify(sent)) - 2}`
    return [id, `id: ${id}\ndata: ${JSON.stringify({ ...event, delta: sent })}\n\n`]
  })
}

test('what is not there is not found, and nothing is opened for it', async (t) => {
  const gateway = await bootGateway(t, GRACE)
  assert.deepEqual(await codeOf(read(gateway)), [404, 'NOT_FOUND'])
  assert.deepEqual(await codeOf(gateway.post(input(FIRST), { headers: { 'last-event-id': '00000000-2' } })), [404, 'NOT_FOUND'])
  assert.deepEqual(gateway.agents, [])
  gateway.adapter.queue(say('ok'))
  await gateway.run(FIRST)
  const others: PostOptions[] = [
    { rest: runPath('run-b') }, { rest: runPath('run-a', 'thread-2') }, { rest: '/threads/thread-1/runs' },
    { headers: { 'x-dsh-user-id': 'user-2' } }, { headers: { 'x-dsh-tenant-id': 'tenant-2' } },
  ]
  for (const other of others) assert.deepEqual(await codeOf(read(gateway, undefined, other)), [404, 'NOT_FOUND'])
  assert.equal(gateway.agents.length, 1)
  assert.equal(gateway.adapter.requests.length, 1)
})

test('bad heads and ids have their codes', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('a\nb'))
  const run = gateway.post(input(FIRST))
  await run.end()
  const [record = '', last = ''] = lastIdOf(run).split('-')
  const [, delta = ''] = /^id: [0-9a-f]{8}-(\d+)\.\d+$/mu.exec(run.frames.frames.join('')) ?? []
  // None of this run, without its offset, inside of an escape, beyond the text.
  const places = ['x', '-1', '01', '1.0', `${Number(last) + 1}`, delta, `${last}.1`, `${delta}.2`, `${delta}.99`, '1, 2']
  // No id, and of another record.
  for (const id of [...places.map(place => `${record}-${place}`), last, `x${lastIdOf(run).slice(1)}`, `00000000-${last}`]) {
    assert.deepEqual(await codeOf(read(gateway, id)), [400, 'INVALID_AGUI_INPUT'], id)
    const again = gateway.post(input({ ...FIRST }), { headers: { 'last-event-id': id } })
    assert.deepEqual(await codeOf(again), [400, 'INVALID_AGUI_INPUT'], id)
  }
  assert.deepEqual(await codeOf(read(gateway, undefined, { rest: runPath('a%20b') })), [400, 'INVALID_IDENTITY'])
  assert.deepEqual(await codeOf(read(gateway, undefined, { rest: runPath('run-a', '%ff') })), [400, 'INVALID_IDENTITY'])
  assert.deepEqual(await codeOf(read(gateway, undefined, { headers: { 'x-dsh-user-id': undefined } })), [400, 'INVALID_IDENTITY'])
  assert.deepEqual(await codeOf(read(gateway, undefined, { headers: { authorization: 'Bearer no' } })), [401, 'UNAUTHORIZED'])
  const refusal = await gateway.refuse(input(FIRST), { rest: runPath() })
  assert.deepEqual([refusal.status, refusal.code, refusal.headers['allow']], [405, 'METHOD_NOT_ALLOWED', 'GET'])
  // Whatever a client accepts and however it spells an id.
  const odd = read(gateway, '', { rest: runPath('run%2Da'), headers: { accept: 'image/png' } })
  assert.deepEqual(compact(await odd.end()), compact(run.events))
})

async function codeOf(exchange: Exchange): Promise<[number, string]> {
  const { status, code } = await exchange.refused()
  return [status, code]
}

test('the same request again goes on from where it was, and another one does not', async (t) => {
  const gateway = await bootGateway(t, GRACE)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'Hello ', 'world'))
  const request = input(FIRST)
  const first = gateway.post(request)
  await first.next('TEXT_MESSAGE_CONTENT')
  const headers = { 'last-event-id': await breakOff(gateway, first) }
  const second = gateway.post(request, { headers })
  gate.open()
  const events = await joined(first, second)
  assert.deepEqual(compact(events), compact(await gateway.post(request).end()))
  const other = gateway.post(input({ ...FIRST, messages: [user('u-2', 'ho')] }), { headers })
  assert.deepEqual(await codeOf(other), [409, 'RUN_ID_CONFLICT'])
  assert.equal(gateway.adapter.requests.length, 1)
})

test('without a grace the turn is cancelled at once, and the rest of the run says so', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue('hang')
  const run = gateway.post(input(FIRST))
  await run.next('TEXT_MESSAGE_CONTENT')
  const ended = nextEvent(gateway.agent(), 'turn/end')
  const rest = read(gateway, await breakOff(gateway, run))
  assert.deepEqual(outline((await joined(run, rest)).slice(-1)), ['error CLIENT_DISCONNECTED'])
  assert.deepEqual((await ended).data, { turn: 1, reason: { kind: 'aborted', reason: { kind: 'user' } } })
})

test('when its grace is over the turn is cancelled', async (t) => {
  const gateway = await bootGateway(t, { reconnectGraceMs: 30 })
  gateway.adapter.queue('hang')
  const run = gateway.post(input(FIRST))
  await run.next('TEXT_MESSAGE_CONTENT')
  const ended = nextEvent(gateway.agent(), 'turn/end')
  await breakOff(gateway, run)
  assert.deepEqual((await ended).data, { turn: 1, reason: { kind: 'aborted', reason: { kind: 'user' } } })
  assert.equal(errorOf(await read(gateway).end()).code, 'CLIENT_DISCONNECTED')
})

test('a run may end while nobody reads it', async (t) => {
  const gateway = await bootGateway(t, GRACE)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'Hello ', 'world'), say('next'))
  const run = gateway.post(input(FIRST))
  await run.next('TEXT_MESSAGE_CONTENT')
  const last = await breakOff(gateway, run)
  const ended = nextEvent(gateway.agent(), 'turn/end')
  gate.open()
  await ended
  const events = await joined(run, read(gateway, last))
  assert.deepEqual(transcript(history(events)), ['user hi', 'assistant Hello world'])
  assert.deepEqual(body(await gateway.run({ messages: [user('u-2', 'more')] })).slice(1, 2), ['text next'])
})

test('a client that waits in the queue keeps its place in its grace', async (t) => {
  const gateway = await bootGateway(t, GRACE)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'first', ''), say('second'), say('third'))
  const first = gateway.post(input(FIRST))
  await first.next('TEXT_MESSAGE_CONTENT')
  const second = gateway.post(input({ runId: 'run-b', messages: [user('u-2', 'b')] }))
  await second.received
  const third = gateway.post(input({ runId: 'run-c', messages: [user('u-3', 'c')] }))
  await third.received
  const left = gateway.left(second)
  second.leave()
  await left
  const back = read(gateway, undefined, { rest: runPath('run-b') })
  await back.received
  gate.open()
  assert.deepEqual(body(await back.end()).slice(1, 2), ['text second'])
  assert.deepEqual(transcript(history(await third.end())), [
    'user hi', 'assistant first', 'user b', 'assistant second', 'user c', 'assistant third',
  ])
})

test('unloading ends a run in its grace, and leaves nothing', async (t) => {
  const gateway = await bootGateway(t, GRACE)
  gateway.adapter.queue('hang')
  const run = gateway.post(input(FIRST))
  await run.next('TEXT_MESSAGE_CONTENT')
  await breakOff(gateway, run)
  await gateway.unload()
  assert.deepEqual(gateway.agents, [])
  await gateway.mount()
  assert.deepEqual(await codeOf(read(gateway)), [404, 'NOT_FOUND'])
})

test('who has everything so far gets its answer at once, and comments while it waits', async (t) => {
  const gateway = await bootGateway(t, { ...GRACE, keepAliveMs: 30 })
  gateway.adapter.queue('hang')
  const run = gateway.post(input(FIRST))
  await run.next('TEXT_MESSAGE_CONTENT')
  const rest = read(gateway, lastIdOf(run))
  assert.equal(await rest.status, 200)
  await rest.comment(1)
  assert.deepEqual(rest.events, [])
})

test('who has all of a run that is over gets an empty answer', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('ok'))
  const run = gateway.post(input(FIRST))
  await run.end()
  const nothing = read(gateway, lastIdOf(run))
  assert.equal(await nothing.text(), '')
  assert.equal(await nothing.status, 200)
})
