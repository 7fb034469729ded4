/** CPU per text delta: 32 threads stream 2,000 deltas each, all at once. */
import { collectText } from '../harness/events.ts'
import { median } from '../harness/stats.ts'
import { parallelTurns } from '../harness/turn.ts'
import type { Pace } from '../harness/turn.ts'
import { DELTA_CHARACTERS } from '../server/model.ts'
import type { Case } from './case.ts'

export function streaming(pace: Pace): Case {
  return {
    name: `streaming-${pace}`,
    title: `streaming, 32 runs x 2,000 deltas at once, ${pace} model`,
    limits: {},
    metrics: {
      cpu: { label: 'CPU per delta', unit: 'us', share: 'own' },
      main: { label: 'of it on the JavaScript thread', unit: 'us', share: 'own' },
      wall: { label: 'wall clock', unit: 'ms', share: 'whole' },
      frames: { label: 'frames per run', unit: '', share: 'whole' },
    },
    async measure(rig, scale) {
      const { runs, deltas } = scale === 'full' ? { runs: 32, deltas: 2000 } : { runs: 4, deltas: 50 }
      const warmUp = await rig.run(parallelTurns('warm', runs / 4, deltas, pace), 'parse')
      for (const reply of warmUp.replies) {
        const characters = collectText(reply).length
        if (characters !== deltas * DELTA_CHARACTERS) throw new Error(`${rig.arm}: ${characters} characters streamed`)
      }
      await rig.memory()
      const batch = await rig.run(parallelTurns('run', runs, deltas, pace))
      const microseconds = 1000 / (runs * deltas)
      const cost = { cpu: batch.cpuMs * microseconds, main: batch.mainMs * microseconds, wall: batch.wallMs }
      return rig.arm === 'direct' ? cost : { ...cost, frames: median(batch.replies.map(({ frames }) => frames)) }
    },
  }
}
