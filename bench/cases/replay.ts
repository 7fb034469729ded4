/** The same request again, after its run of 2,000 deltas has finished. */
import { collectText } from '../harness/events.ts'
import { median } from '../harness/stats.ts'
import { parallelTurns } from '../harness/turn.ts'
import { DELTA_CHARACTERS } from '../server/model.ts'
import type { Case, Scale } from './case.ts'

const SIZES: Record<Scale, { deltas: number, replays: number }> = {
  full: { deltas: 2000, replays: 50 },
  small: { deltas: 50, replays: 3 },
}

export const replay: Case = {
  name: 'replay',
  title: 'duplicate replay of a finished run of 2,000 deltas',
  limits: {},
  metrics: {
    cpu: { label: 'CPU per replay', unit: 'ms', share: 'whole' },
    time: { label: 'whole response', unit: 'ms', share: 'whole' },
    frames: { label: 'frames', unit: '', share: 'whole' },
    bytes: { label: 'response body', unit: 'KB', share: 'whole' },
  },
  async measure(rig, scale) {
    if (rig.arm === 'direct') return {} // The Host takes no part in a replay.
    const { deltas, replays } = SIZES[scale]
    const [lane = []] = parallelTurns('run', 1, deltas, 'yielding')
    await rig.run([lane])

    const { replies: [reply] } = await rig.run([lane], 'parse')
    const characters = reply === undefined ? 0 : collectText(reply).length
    if (characters !== deltas * DELTA_CHARACTERS) throw new Error(`${rig.arm}: ${characters} characters replayed`)
    const again = [Array.from({ length: replays }, () => lane).flat()]
    await rig.run(again)
    await rig.memory()
    const batch = await rig.run(again)
    return {
      cpu: batch.cpuMs / replays,
      time: median(batch.replies.map(({ totalMs }) => totalMs)),
      frames: median(batch.replies.map(({ frames }) => frames)),
      bytes: median(batch.replies.map(({ bytes }) => bytes)) / 1000,
    }
  },
}
