/** Changes of the shared state as JSON Patch, for clients that ask for them (X3). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, VERSIONS } from '../support/client.ts'
import { bootGateway, callTools, compact, FrameReader, input, say, user } from '../support/gateway.ts'
import type { TestGateway, WireEvent } from '../support/gateway.ts'
import { Random } from '../support/random.ts'

const ASKED = { forwardedProps: { dsh: { stateDelta: true } } }
const LONG = 'x'.repeat(200)

/** Lets the model update the state, once for each, in steps of one turn. */
function updates(gateway: TestGateway, ...states: readonly object[]): void {
  const calls = states.map((state, index) => callTools([{ id: `s-${index}`, name: 'ag_ui_update_state', args: { state_updates: state } }]))
  gateway.adapter.queue(...calls, say('Done.'))
}

/** The state events of a run: a whole state, or operations. */
function statesOf(events: readonly WireEvent[]): { snapshot?: unknown, delta?: unknown }[] {
  return events.filter(({ type }) => type.startsWith('STATE_'))
    .map(({ type, snapshot, delta }) => type === 'STATE_SNAPSHOT' ? { snapshot } : { delta })
}

for (const version of VERSIONS) {
  test(`a change that is shorter than the state comes as a patch, with client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    const state = { 'notes': LONG, 'a/b': 1, 'm~n': 1, 'recipe': { title: LONG, steps: ['boil', 'serve'] } }
    const client = connect(gateway, version, { state })
    const recipe = { title: LONG, steps: ['boil', 'salt', 'serve'] }
    updates(gateway, { 'a/b': 2, 'm~n': { é: '"\n' } }, { recipe, more: [] }, { notes: '' })
    const events = await client.say('change it', ASKED)
    assert.deepEqual(statesOf(events), [
      { snapshot: state },
      { delta: [{ op: 'add', path: '/a~1b', value: 2 }, { op: 'add', path: '/m~0n', value: { é: '"\n' } }] },
      { delta: [{ op: 'add', path: '/recipe/steps/1', value: 'salt' }, { op: 'add', path: '/more', value: [] }] },
      { delta: [{ op: 'add', path: '/notes', value: '' }] },
    ])
    const expected = { 'notes': '', 'a/b': 2, 'm~n': { é: '"\n' }, recipe, 'more': [] }
    assert.equal(JSON.stringify(client.state), JSON.stringify(expected))
    // The next run begins with the whole of it.
    updates(gateway, { 'a/b': 3 })
    const next = await client.say('again', ASKED)
    assert.deepEqual(statesOf(next), [{ snapshot: expected }, { delta: [{ op: 'add', path: '/a~1b', value: 3 }] }])
    assert.deepEqual(client.state, { ...expected, 'a/b': 3 })
  })
}

test('who does not ask gets snapshots, and so does who is served shorter with one', async (t) => {
  const gateway = await bootGateway(t)
  updates(gateway, { a: 2 })
  const plain = await gateway.run({ messages: [user('u-1', 'hi')], state: { notes: LONG, a: 1 } })
  assert.deepEqual(statesOf(plain), [{ snapshot: { notes: LONG, a: 1 } }, { snapshot: { notes: LONG, a: 2 } }])
  updates(gateway, { b: 2 })
  const short = await gateway.run({ messages: [user('u-2', 'hi')], state: { b: 1 }, ...ASKED })
  assert.deepEqual(statesOf(short), [{ snapshot: { b: 1 } }, { snapshot: { b: 2 } }])
})

test('what is no object, and what a path cannot name, comes whole', async (t) => {
  const gateway = await bootGateway(t)
  await gateway.run({ state: { a: 1 }, messages: [] })
  updates(gateway, { a: LONG }, JSON.parse('{"__proto__":1}') as object)
  const events = await gateway.run({ messages: [user('u-1', 'hi')], state: [LONG], ...ASKED })
  const states = statesOf(events)
  assert.deepEqual(states.slice(0, 2), [{ snapshot: [LONG] }, { snapshot: { a: LONG } }])
  assert.equal(JSON.stringify(states[2]), `{"snapshot":{"a":"${LONG}","__proto__":1}}`)
})

test('a run read from its start has the same states', async (t) => {
  const gateway = await bootGateway(t)
  updates(gateway, { a: 2 }, { a: 3 })
  const request = input({ runId: 'run-a', messages: [user('u-1', 'hi')], state: { notes: LONG, a: 1 }, ...ASKED })
  const run = gateway.post(request)
  const whole = await run.end()
  assert.deepEqual(compact(await gateway.post(request).end()), compact(whole))
  const cut = run.frames.frames.findIndex(frame => frame.includes('STATE_DELTA'))
  const [, id = ''] = /^id: (.+)$/mu.exec(run.frames.frames[cut]!) ?? []
  const rest = gateway.post(request, { headers: { 'last-event-id': id } })
  const reader = new FrameReader()
  reader.push(run.frames.frames.slice(0, cut + 1).join('') + await rest.text())
  reader.end()
  assert.deepEqual(statesOf(reader.events), statesOf(whole))
})

for (const version of VERSIONS) {
  test(`whatever a model makes of a state, the patches make the same, with client ${version}`, async (t) => {
    const gateway = await bootGateway(t, { maxRunEvents: 10_000, maxRequestBytes: 1_000_000 })
    const random = new Random(7)
    const names = ['a', 'b', '', '~', '/', '~1', '0', 'é"', 'constructor']
    const value = (depth: number): unknown => {
      const kind = random.below(depth > 3 ? 3 : 5)
      if (kind <= 1) return random.pick([null, true, 0, 1.5, '', LONG, '"\\\n'])
      if (kind === 2) return random.pick(names)
      const size = random.below(4)
      return kind === 3 ? random.list(size, () => value(depth + 1)) : members(size, depth + 1)
    }
    const members = (size: number, depth: number): Record<string, unknown> =>
      Object.fromEntries(random.list(size, () => [random.pick(names), value(depth)]))
    const state: Record<string, unknown> = { notes: LONG, ...members(5, 0) }
    const client = connect(gateway, version, { state })
    const changes = random.list(25, () => members(3, 0))
    updates(gateway, ...changes)
    const events = await client.say('go', ASKED)
    assert.deepEqual(client.state, Object.assign({}, state, ...changes))
    assert.ok(events.some(({ type }) => type === 'STATE_DELTA'))
  })
}
