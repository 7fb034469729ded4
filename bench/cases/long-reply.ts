/** One reply of 50,000 deltas at default limits: does it reach the client? */
import { collectText } from '../harness/events.ts'
import { parallelTurns } from '../harness/turn.ts'
import type { Pace } from '../harness/turn.ts'
import { DELTA_CHARACTERS } from '../server/model.ts'
import type { Case } from './case.ts'

export function longReply(pace: Pace): Case {
  return {
    name: `long-reply-${pace}`,
    title: `one reply of 50,000 deltas at default limits, ${pace} model`,
    limits: {},
    metrics: {
      succeeded: { label: 'succeeded', unit: '', share: 'whole' },
      text: { label: 'text received', unit: '%', share: 'whole' },
      events: { label: 'events', unit: '', share: 'whole' },
      wall: { label: 'wall clock', unit: 'ms', share: 'whole' },
    },
    async measure(rig, scale) {
      if (rig.arm === 'direct') return {}
      const deltas = scale === 'full' ? 50_000 : 5000
      const { wallMs, replies: [reply] } = await rig.attempt(parallelTurns('long', 1, deltas, pace), 'parse')
      if (reply === undefined) throw new Error('no reply')
      const text = collectText(reply).length / (deltas * DELTA_CHARACTERS)
      return {
        succeeded: reply.terminal === 'RUN_FINISHED' && text === 1 ? 1 : 0,
        text: 100 * text,
        events: reply.frames,
        wall: wallMs,
      }
    },
  }
}
