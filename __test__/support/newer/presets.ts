/**
 * `ctx.agentPresets` of B and C (host-api §3.10, §4.1). How a composition is mounted is A's real machinery; what a caller
 * sees of it has drifted: errors are `RemoteError`s and a blank agent can be switched with `select`. C registers presets
 * instead of reading directories, and lends their scopes with `acquireScope` instead of handing out standing keys.
 */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import AgentPresets from '@deepseek-ai/dsh-agent-presets'
import type { AgentPreset } from '@deepseek-ai/dsh-agent-presets'
import { writePresets } from '../host-frame.ts'
import type { NewerAgent } from './agent.ts'
import type { NewerProjections } from './projections.ts'
import { RemoteError } from './remote-error.ts'

/** Generation B. */
export class PresetsOfB extends AgentPresets {
  /** Selections of one agent happen one after another. */
  private readonly selections = new WeakMap<object, Promise<unknown>>()

  override async resolve(id?: string): Promise<AgentPreset> {
    return await translated(() => super.resolve(id), id ?? this.defaultId)
  }

  override async mount(agentCtx: Context, id?: string): Promise<AgentPreset> {
    return await translated(() => super.mount(agentCtx, id), id ?? this.defaultId)
  }

  override async recompose(agentCtx: Context, id: string): Promise<AgentPreset> {
    const preset = await translated(() => super.recompose(agentCtx, id), id)
    this.ctx.emit('tools/change')
    return preset
  }

  /** Composes an agent that has had no turn from another preset, and logs that. */
  async select(agent: NewerAgent, id: string): Promise<AgentPreset> {
    if (typeof id !== 'string' || id === '') throw new RemoteError('gateway/bad-request', 'agentPreset must be a non-empty string')
    const before = this.selections.get(agent) ?? Promise.resolve()
    const selected = before.then(() => this.swap(agent, id))
    this.selections.set(agent, selected.catch(() => {}))
    return await selected
  }

  private async swap(agent: NewerAgent, id: string): Promise<AgentPreset> {
    this.assertBlank(agent, id)
    const preset = await this.recompose(agent.ctx, id)
    // A turn that began meanwhile runs on the composition that it was assembled from.
    this.assertBlank(agent, id)
    agent.session.append('agent-preset/selected', { agentPreset: preset.id })
    return preset
  }

  private assertBlank({ id: sessionId, session }: NewerAgent, agentPreset: string): void {
    const projections = this.ctx.root.get('sessionProjections' as never) as unknown as NewerProjections
    const { openTurnStartSeq, lastTurn } = projections.stateOf(session, 'turnBoundary') as { openTurnStartSeq: number | null, lastTurn: number }
    if (openTurnStartSeq !== null || lastTurn > 0) {
      throw new RemoteError('agent-preset/locked', `session "${sessionId}" has started a turn`, { sessionId, agentPreset })
    }
  }
}

/** A preset as C registers it: rows instead of a directory. */
export interface PresetDefinition {
  readonly id: string
  readonly name?: string
  /** The text of the rows. */
  readonly plugins: string
}

/** A composition that is held as long as it is not released. */
export interface PresetScope {
  readonly key: object
  [Symbol.asyncDispose](): Promise<void>
}

/** Generation C. */
export class PresetsOfC extends PresetsOfB {
  /** Scopes that are lent right now. */
  lent = 0

  /** Registers a preset until the calling fiber goes. */
  register({ id, plugins }: PresetDefinition): () => void {
    const root = rootOf(this)
    const dispose = this.ctx.effect(() => {
      writePresets(root, { [id]: plugins })
      return () => { rmSync(join(root, id), { recursive: true, force: true }) }
    }, `agentPresets.register(${id})`)
    return () => { void dispose() }
  }

  /** Lends a preset's scope, for readers without an agent. */
  async acquireScope(id?: string): Promise<PresetScope> {
    const key = await translated(() => super.standingKeyFor(id), id ?? this.defaultId)
    this.lent += 1
    let held = true
    return {
      key,
      [Symbol.asyncDispose]: async () => {
        if (held) this.lent -= 1
        held = false
      },
    }
  }
}

/** What C does not have any more. */
for (const gone of ['standingKeyFor', 'roots', 'authorable', 'read', 'copy', 'remove']) {
  Object.defineProperty(PresetsOfC.prototype, gone, { value: undefined, configurable: true })
}

function rootOf({ config }: AgentPresets): string {
  return (config as { roots: readonly { path: string }[] }).roots[0]!.path
}

/** Runs something of A's presets and throws what B and C throw. */
async function translated<T>(run: () => Promise<T>, agentPreset: string): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof Error) || error instanceof RemoteError) throw error
    const { available, reason } = error as { available?: readonly string[], reason?: string }
    if (available !== undefined) throw new RemoteError('agent-preset/not-found', error.message, { agentPreset, available })
    if (reason !== undefined) throw new RemoteError('agent-preset/invalid', error.message, { agentPreset, reason })
    throw error
  }
}
