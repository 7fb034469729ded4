/**
 * A Host against peers that talk at random: whatever they say, every request that was asked has its one end. The link
 * alone meets 120,000 messages in Rust (`src/presentation/attach/tests.rs`); here the whole way is walked.
 */

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createPresentationHost } from 'dsh-ag-ui/presentation'
import type { TextPort } from 'dsh-ag-ui/presentation'
import { APPROVAL, SECRET } from './hosting.ts'

/** A small generator of numbers, so that a failure comes again. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const SUPPORTS = [{ apiVersion: 'presentation.dsh/v1alpha1', kind: 'UserInteraction', spec: { operations: ['approval', 'secret-input'] } }]

const templates = [
  { t: 'present' }, { t: 'release' }, { t: 'progress', value: { type: 'ready', redirectUri: 'http://127.0.0.1:1/' } },
  { t: 'result', result: { status: 'submitted', value: { decision: 'approved' } } },
  { t: 'result', result: { status: 'submitted', value: {} }, secret: '68756e74657232' },
  { t: 'result', result: { status: 'cancelled' } }, { t: 'result', result: { status: 'nonsense' } }, { t: 'result', result: null },
  { t: 'failed', code: 'implementation-failed' }, { t: 'failed', code: 'provider-disconnected' }, { t: 'cancel', reason: 'cancelled' },
]

it('leaves no request of any consumer without its end', async () => {
  let messages = 0
  const statuses = new Map<string, number>()
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = numbers(seed)
    const host = createPresentationHost({ limits: { maxConcurrentRequests: 3, maxQueuedRequests: 4 } })
    let say: (text: string | undefined) => void = () => {}
    let lose = (): void => {}
    const port: TextPort = { send: () => {}, start: events => { say = events.message; lose = events.lost }, close: () => {} }
    const attaching = host.attach(port, { participantId: 'tui' })
    say(JSON.stringify({ t: 'hello', v: 1, participant: 'x', supports: SUPPORTS }))
    const attachment = await attaching
    const { interaction } = host.open(host.admit('plugin', SUPPORTS)).clients!
    const asked: Promise<string>[] = []
    for (let step = 0; step < 40; step += 1) {
      if (random(3) === 0) {
        const input: any = random(2) === 0 ? APPROVAL : SECRET
        asked.push(interaction!.interact(input).then((result: any) => result.status, error => error.code))
      }
      let text = JSON.stringify({ ...templates[random(templates.length)], id: 1 + random(8) })
      if (random(30) === 0) text = text.slice(0, random(text.length))
      say(random(200) === 0 ? undefined : text)
      messages += 1
      if (random(4) === 0) await Promise.resolve()
    }
    if (random(2) === 0) lose()
    else attachment.close()
    for (const end of await Promise.all(asked)) statuses.set(end, (statuses.get(end) ?? 0) + 1)
    await attachment.closed
    host.close()
  }
  assert.equal(messages, 12_000)
  for (const end of ['submitted', 'cancelled', 'unavailable', 'invalid-answer', 'implementation-failed']) {
    assert.ok(statuses.has(end), `${end} was met: ${JSON.stringify([...statuses])}`)
  }
})
