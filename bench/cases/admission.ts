/** Admission of one new message behind 200 known ones that the client resends (about 150 KB), answered by one delta. */
import { lastSnapshot } from '../harness/events.ts'
import type { Rig } from '../harness/rig.ts'
import { median } from '../harness/stats.ts'
import { ask } from '../harness/turn.ts'
import type { BenchMessage, Turn } from '../harness/turn.ts'
import { DELTA_CHARACTERS } from '../server/model.ts'
import type { Case, Scale } from './case.ts'

const THREAD = 'conversation'
/** Characters of a message: 200 of them and their ids make about 150 KB of JSON. */
const CHARACTERS = 680

const SIZES: Record<Scale, { exchanges: number, warmUps: number, runs: number }> = {
  full: { exchanges: 100, warmUps: 10, runs: 40 },
  small: { exchanges: 5, warmUps: 1, runs: 2 },
}

export const admission: Case = {
  name: 'admission',
  title: 'admission, 1 new message behind 200 known ones (150 KB), answer of 1 delta',
  limits: {},
  metrics: {
    headers: { label: 'response headers', unit: 'ms', share: 'whole' },
    total: { label: 'whole response', unit: 'ms', share: 'whole' },
    cpu: { label: 'CPU per run', unit: 'ms', share: 'own' },
    main: { label: 'of it on the JavaScript thread', unit: 'ms', share: 'own' },
    body: { label: 'request body', unit: 'KB', share: 'whole' },
  },
  async measure(rig, scale) {
    const { exchanges, warmUps, runs } = SIZES[scale]
    const known = await converse(rig, exchanges)
    const turn = (id: string): Turn => ({ threadId: THREAD, runId: `run-${id}`, known, messages: [ask(id, 1, 'blocking')] })
    const turns = (prefix: string, count: number) => [Array.from({ length: count }, (_, index) => turn(`${prefix}-${index}`))]

    await rig.run(turns('warm', warmUps))
    await rig.memory()
    const batch = await rig.run(turns('new', runs))
    const cost = { cpu: batch.cpuMs / runs, main: batch.mainMs / runs }
    if (rig.arm === 'direct') return cost
    return {
      ...cost,
      headers: median(batch.replies.map(reply => reply.headersMs)),
      total: median(batch.replies.map(reply => reply.totalMs)),
      body: JSON.stringify(known).length / 1000,
    }
  },
}

/** Builds the conversation, one exchange a run, and returns it as the client would hold it. */
async function converse(rig: Rig, exchanges: number): Promise<BenchMessage[]> {
  const padding = 'x'.repeat(CHARACTERS)
  const lane = Array.from({ length: exchanges }, (_, index): Turn => ({
    threadId: THREAD,
    runId: `exchange-${index}`,
    messages: [ask(`question-${index}`, CHARACTERS / DELTA_CHARACTERS, 'blocking', padding)],
  }))
  const last = lane.splice(-1)
  await rig.run([lane])
  const { replies: [reply] } = await rig.run([last], 'parse')
  if (reply === undefined) return []
  const messages = lastSnapshot(reply)
  if (messages.length !== 2 * exchanges) throw new Error(`${rig.arm}: the thread holds ${messages.length} messages`)
  return messages
}
