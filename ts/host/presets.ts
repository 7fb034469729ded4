/**
 * Selecting the preset of a blank session (G17, host-api §3.10): generation A leaves the steps to its callers, B and C
 * have `select`.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { readEvents } from './compat.ts'
import { codeOf, HostError, serviceMissing } from './error.ts'

/** The part of `ctx.agentPresets` that we use. */
interface Presets {
  /** Generation A: moves an agent to another composition. Its caller looks that nothing has begun, and logs it. */
  recompose?(agentCtx: Context, id: string): Promise<unknown>
  /** Generations B and C: all of it. */
  select?(agent: Agent, id: string): Promise<unknown>
}

/**
 * Composes a blank session from another preset, and logs that.
 *
 * @param ctx - The plugin's own context.
 * @param agent - A live agent.
 * @param id - The preset.
 * @throws A {@link HostError} `PRESET_LOCKED` once a turn has begun, `HOST_SERVICE_MISSING` without a preset service, or
 *   what that service throws. The composition is what it was then.
 */
export async function selectPreset(ctx: Context, agent: Agent, id: string): Promise<void> {
  const presets = ctx.get('agentPresets') as Presets | undefined
  try {
    if (presets?.select !== undefined) await presets.select(agent, id)
    else if (presets?.recompose !== undefined) await recompose(presets.recompose.bind(presets), agent, id)
    else throw serviceMissing('agentPresets')
  } catch (error) {
    throw codeOf(error) === 'agent-preset/locked' ? locked(agent, error) : error
  }
}

async function recompose(move: NonNullable<Presets['recompose']>, agent: Agent, id: string): Promise<void> {
  if (hasBegun(agent)) throw locked(agent)
  // Maintenance keeps a turn of the Host's own from beginning in the middle of it.
  await agent.runMaintenance(async () => {
    if (hasBegun(agent)) throw locked(agent)
    await move(agent.ctx, id)
    agent.session.append('agent-preset/selected', { agentPreset: id })
  })
}

function hasBegun(agent: Agent): boolean {
  return readEvents(agent.session).some(({ type }) => type === 'turn/start')
}

function locked(agent: Agent, cause?: unknown): HostError {
  return new HostError('PRESET_LOCKED', `agent "${agent.id}" has begun with its preset`, cause)
}
