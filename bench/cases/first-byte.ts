/** Latency of the first body byte while 1, 8 or 32 threads start at once, each with a reply of 2,000 deltas. */
import { parallelTurns } from '../harness/turn.ts'
import type { Pace } from '../harness/turn.ts'
import { median } from '../harness/stats.ts'
import type { Case } from './case.ts'

/** Threads at once, and how often that is repeated in one process. */
const GROUPS = [{ threads: 1, repeats: 5 }, { threads: 8, repeats: 2 }, { threads: 32, repeats: 1 }] as const

export function firstByte(pace: Pace): Case {
  return {
    name: `first-byte-${pace}`,
    title: `first body byte (median of the threads), 2,000 deltas a run, ${pace} model`,
    limits: {},
    metrics: Object.fromEntries(GROUPS.map(({ threads }) => [
      `threads${threads}`, { label: `${threads} thread${threads === 1 ? '' : 's'} at once`, unit: 'ms', share: 'whole' as const },
    ])),
    async measure(rig, scale) {
      if (rig.arm === 'direct') return {}
      const deltas = scale === 'full' ? 2000 : 50
      await rig.run(parallelTurns('warm', 4, deltas, pace))
      const result: Record<string, number> = {}
      for (const { threads, repeats } of GROUPS) {
        const times: number[] = []
        for (let repeat = 0; repeat < repeats; repeat++) {
          const { replies } = await rig.run(parallelTurns(`group${threads}-${repeat}`, threads, deltas, pace))
          times.push(...replies.map(reply => reply.firstByteMs))
        }
        result[`threads${threads}`] = median(times)
      }
      return result
    },
  }
}
