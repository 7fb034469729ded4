/** Memory of a retained run: 16 threads keep 32 finished runs of 200 deltas each in their ledgers. */
import type { MemoryUse } from '../server/main.ts'
import { ask } from '../harness/turn.ts'
import type { Turn } from '../harness/turn.ts'
import type { Case, Scale } from './case.ts'

const SIZES: Record<Scale, { threads: number, runs: number, deltas: number }> = {
  full: { threads: 16, runs: 32, deltas: 200 },
  small: { threads: 2, runs: 3, deltas: 10 },
}

export const memory: Case = {
  name: 'memory',
  title: 'memory per retained run: 16 threads x 32 runs x 200 deltas',
  limits: {},
  metrics: {
    rss: { label: 'RSS', unit: 'KB', share: 'own' },
    heapAndExternal: { label: 'JavaScript heap + external', unit: 'KB', share: 'own' },
    heapAndNative: { label: 'JavaScript heap + native', unit: 'KB', share: 'own' },
  },
  async measure(rig, scale) {
    const { threads, runs, deltas } = SIZES[scale]
    await rig.run(conversations('warm', 4, runs >> 2, deltas))
    const before = await rig.memory()
    await rig.run(conversations('run', threads, runs, deltas))
    const after = await rig.memory()
    const growth = (key: keyof MemoryUse) => (after[key] - before[key]) / (threads * runs) / 1000
    return { rss: growth('rss'), heapAndExternal: growth('heapAndExternal'), heapAndNative: growth('heapAndNative') }
  },
}

function conversations(prefix: string, threads: number, runs: number, deltas: number): Turn[][] {
  return Array.from({ length: threads }, (_, thread) => Array.from({ length: runs }, (_, run) => ({
    threadId: `${prefix}-${thread}`,
    runId: `run-${run}`,
    messages: [ask(`message-${run}`, deltas, 'yielding')],
  })))
}
