/** `ctx.sessionProjections` of B and C: folds of a session's log (host-api §4.1). Only what our plugins can ask for. */

import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import type { NewerSession } from './session.ts'

export class NewerProjections extends Service {
  constructor(ctx: Context) {
    super(ctx, 'sessionProjections' as never)
  }

  /** The state of one fold. */
  stateOf(session: NewerSession, key: string): unknown {
    return this.snapshot(session)[key]
  }

  /** All folds. */
  snapshot(session: NewerSession): Record<string, unknown> {
    let openTurnStartSeq: number | null = null
    let lastTurn = 0
    let agentPreset = session.header.agentPreset ?? null
    for (const { type, seq, data } of session.snapshotEvents()) {
      if (type === 'turn/start') {
        openTurnStartSeq = seq
        lastTurn = (data as { turn: number }).turn
      } else if (type === 'turn/end') openTurnStartSeq = null
      else if (type === 'agent-preset/selected') ({ agentPreset } = data as { agentPreset: string })
    }
    return { turnBoundary: { openTurnStartSeq, lastTurn }, agentPreset }
  }
}
