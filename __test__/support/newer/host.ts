/**
 * A Host of generation B or C in this process, whole enough to carry the gateway over real HTTP (N8).
 *
 * No package of these generations can be installed here. This is a fake, written from host-api §3 and §4.
 *
 * Real, because it did not drift: Cordis, scopes, the agent registry, ToolRuntime and its scheduler, LlmRuntime and its
 * assembler, the system prompt, the web server, images, the file system, the Tool `ask_user_question`, the rules of crash
 * repair, and how a preset is mounted.
 *
 * Faithful to what is known: the log (no `events`, message shapes by generation, `assistant/message.stream`,
 * `assistant/attempt`, `system/message` and `developer/message` in C, no shared message source in C), frames of attempts
 * and their order, inbox and cancellation, storage by handle and its errors, `agent/created` as a serial event, approvals
 * and questions as waterfalls with the agent as carrier, `select`, `acquireScope`, `fileUploads` and its receipts, files
 * in `attachments`, the agent as the second argument of `setup` in C, where no context names it any more.
 *
 * Inference: the order of the checks inside `select`; the source kind of C's context snapshots; the file format of the
 * storage (its own); at which version of B each difference appeared (B here has all of them but C's).
 *
 * Missing: titles, compaction, subagents, workspaces, Code Mode (a test logs `tool/ptc-dispatch` itself).
 */

import { bootOf } from '../host-frame.ts'
import type { BootOptions, HostParts, TestHost } from '../host-frame.ts'
import { NewerApproval } from './approval.ts'
import { NewerAttachments } from './attachments.ts'
import type { Generation } from './generation.ts'
import { NewerLoop } from './loop.ts'
import { PresetsOfB, PresetsOfC } from './presets.ts'
import { NewerProjections } from './projections.ts'
import { NewerQuestions } from './questions.ts'
import { NewerSessions } from './session.ts'
import { NewerPersistence } from './storage.ts'
import { NewerUploads } from './uploads.ts'

export { NewerAgent } from './agent.ts'
export type { Generation } from './generation.ts'

/** A running fake. It goes wherever the real Host of the tests goes. */
export type NewerHost = TestHost & { readonly generation: Generation }

/**
 * Boots a Host of a newer generation.
 *
 * @param generation - Which one.
 * @param options - As for the real Host of generation A.
 */
export async function bootNewerHost(generation: Generation, options: BootOptions = {}): Promise<NewerHost> {
  return await bootOf(partsOf(generation), options)
}

function partsOf(generation: Generation): HostParts<Generation> {
  return {
    generation,
    sessions: ctx => ctx.plugin(NewerSessions, generation),
    persistence: (ctx, root) => ctx.plugin(NewerPersistence, root),
    async loop(ctx) {
      await ctx.plugin(NewerProjections)
      return await ctx.plugin(NewerLoop, generation)
    },
    async people(ctx) {
      await ctx.plugin(NewerQuestions)
      await ctx.plugin(NewerApproval, 'ask' as const)
    },
    async attachments(ctx, dshHome) {
      const attachments = await ctx.plugin(NewerAttachments, { dshHome } as never)
      await ctx.plugin(NewerUploads)
      return attachments
    },
    presets: (ctx, config) => ctx.plugin(generation === 'B' ? PresetsOfB : PresetsOfC, config),
  }
}
