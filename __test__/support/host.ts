/**
 * A DSH Host in this process, for every end-to-end test: persistence, presets, approval, questions, attachments, a web
 * server on a port of its own, and a scripted model. The real one of generation A; the fake of B or C where a test, or
 * `DSH_GENERATION` in the environment, says so (N8).
 */

import type { Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import AgentPresets from '@deepseek-ai/dsh-agent-presets'
import LocalAttachmentStore from '@deepseek-ai/dsh-attachment-local'
import SessionStore from '@deepseek-ai/dsh-session'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import ApprovalService from '@deepseek-ai/dsh-user-approval'
import UserQuestionService from '@deepseek-ai/dsh-user-questions'
import { bootOf } from './host-frame.ts'
import type { BootOptions, HostGeneration, HostParts, TestHost } from './host-frame.ts'
import { bootNewerHost } from './newer/host.ts'

export * from './host-frame.ts'
export * from './scripted-adapter.ts'

/** The generation of tests that name none. */
export const GENERATION = generationOf(process.env['DSH_GENERATION'] ?? 'A')

const REAL: HostParts<'A'> = {
  generation: 'A',
  sessions: ctx => ctx.plugin(SessionStore),
  persistence: (ctx, root, writeBatchMaxDelayMs) =>
    ctx.plugin(JsonlSessionPersistence, { root, compression: 'none', writeBatchMaxDelayMs } as never),
  loop: ctx => ctx.plugin(AgentLoop, { agents: [] } as never),
  async people(ctx) {
    await ctx.plugin(UserQuestionService)
    await ctx.plugin(ApprovalService, { policy: 'ask' })
  },
  attachments: (ctx, dshHome) => ctx.plugin(LocalAttachmentStore, { dshHome } as never),
  presets: (ctx, config) => ctx.plugin(AgentPresets, config),
}

/**
 * Boots a Host.
 *
 * @param options - What differs from the default.
 * @throws What the plugin that cannot start throws.
 */
export async function bootHost(options: BootOptions = {}): Promise<TestHost> {
  const { generation = GENERATION } = options
  return generation === 'A' ? await bootOf(REAL, options) : await bootNewerHost(generation, options)
}

function generationOf(name: string): HostGeneration {
  if (name === 'A' || name === 'B' || name === 'C') return name
  throw new Error(`DSH_GENERATION names no generation of DSH: ${name}`)
}

/** An agent's log: a member in generation A, a method in B and C. */
export function logOf({ session }: Agent): readonly SessionEvent[] {
  return 'snapshotEvents' in session ? (session.snapshotEvents as () => readonly SessionEvent[]).call(session) : session.events
}

/**
 * The next event of an agent's log that satisfies a condition. Resolves outside of the Host's call stack, so that the
 * caller may act on the agent.
 *
 * @param agent - A live agent.
 * @param predicate - Which event; a string stands for its type.
 */
export function nextEvent(agent: Agent, predicate: string | ((event: SessionEvent) => boolean)): Promise<SessionEvent> {
  const matches = typeof predicate === 'string' ? (event: SessionEvent) => event.type === predicate : predicate
  return new Promise((resolve) => {
    const stop = agent.ctx.on('session/event', (session, event) => {
      if (session !== agent.session || !matches(event)) return
      stop()
      resolve(event)
    })
  })
}
