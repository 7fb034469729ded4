/**
 * A history-only run (no new message) of a thread of 2,000 messages. The same number of messages is built by 1 run and
 * by 200 runs; then 200 history runs follow each other on the latter.
 */
import { lastSnapshot } from '../harness/events.ts'
import type { Batch, Rig } from '../harness/rig.ts'
import { median } from '../harness/stats.ts'
import { ask } from '../harness/turn.ts'
import type { Turn } from '../harness/turn.ts'
import type { Case, Scale } from './case.ts'

const DELTAS = 20
const PADDING = 'x'.repeat(100)

const SIZES: Record<Scale, { messages: number, builders: number, reads: number, repeats: number }> = {
  full: { messages: 2000, builders: 200, reads: 40, repeats: 200 },
  small: { messages: 40, builders: 4, reads: 2, repeats: 4 },
}

export const history: Case = {
  name: 'history',
  title: 'history-only run of a thread of 2,000 messages',
  limits: { maxMessages: 4096, maxRequestBytes: 4_194_304, maxMessageBytes: 4_194_304 },
  metrics: {
    oneCpu: { label: 'CPU, messages made by 1 run', unit: 'ms', share: 'whole' },
    oneTime: { label: 'whole response, messages made by 1 run', unit: 'ms', share: 'whole' },
    manyCpu: { label: 'CPU, messages made by 200 runs', unit: 'ms', share: 'whole' },
    manyTime: { label: 'whole response, messages made by 200 runs', unit: 'ms', share: 'whole' },
    laterCpu: { label: 'CPU, the same after 200 history runs', unit: 'ms', share: 'whole' },
    laterTime: { label: 'whole response, the same after 200 history runs', unit: 'ms', share: 'whole' },
    bytes: { label: 'response body', unit: 'KB', share: 'whole' },
  },
  async measure(rig, scale) {
    if (rig.arm === 'direct') return {} // There is nothing to drive: the Host takes no part in such a run.
    const { messages, builders, reads, repeats } = SIZES[scale]
    await build(rig, 'one', messages, 1)
    await build(rig, 'many', messages, builders)
    await rig.run(readers('one', 'warm', reads)) // Nothing is measured cold.

    await rig.memory()
    const one = perRun(await rig.run(readers('one', 'read', reads)))
    await rig.memory()
    const many = perRun(await rig.run(readers('many', 'read', reads)))
    await rig.run(readers('many', 'repeat', repeats - reads))
    await rig.memory()
    const later = perRun(await rig.run(readers('many', 'later', reads)))
    return {
      oneCpu: one.cpu, oneTime: one.time, manyCpu: many.cpu, manyTime: many.time, laterCpu: later.cpu, laterTime: later.time,
      bytes: many.bytes / 1000,
    }
  },
}

/** Fills a thread with `messages` messages by `runs` runs, the last message of each an answer. */
async function build(rig: Rig, threadId: string, messages: number, runs: number): Promise<void> {
  const questions = messages / runs - 1
  const lane = Array.from({ length: runs }, (_, run): Turn => ({
    threadId,
    runId: `build-${run}`,
    messages: Array.from({ length: questions }, (_, index) => ask(`question-${run}-${index}`, DELTAS, 'blocking', PADDING)),
  }))
  await rig.run([lane])
  const { replies: [reply] } = await rig.run(readers(threadId, 'check', 1), 'parse')
  const held = reply === undefined ? 0 : lastSnapshot(reply).length
  if (held !== messages) throw new Error(`${rig.arm}: the thread holds ${held} messages, not ${messages}`)
}

function readers(threadId: string, prefix: string, count: number): Turn[][] {
  return [Array.from({ length: count }, (_, index) => ({ threadId, runId: `${prefix}-${index}`, messages: [] }))]
}

function perRun({ cpuMs, replies }: Batch): { cpu: number, time: number, bytes: number } {
  return {
    cpu: cpuMs / replies.length,
    time: median(replies.map(reply => reply.totalMs)),
    bytes: median(replies.map(reply => reply.bytes)),
  }
}
