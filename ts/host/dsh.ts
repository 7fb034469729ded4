/**
 * DeepSeek Harness as the gateway's Host.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentHandle, AgentOptions, AgentSetup } from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-agent-presets'
import type { Session, SessionId } from '@deepseek-ai/dsh-session'
import type {} from '@deepseek-ai/dsh-session-persistence'
import type {} from '@deepseek-ai/dsh-tools'
import { DshAgent } from './agent.ts'
import type { AgentSurroundings } from './agent.ts'
import { ASSISTANT_STREAM, composedAgent, isPresetUnknown, isSessionHeld, isSessionNotFound, sessionPreset } from './compat.ts'
import type { AssistantFrame } from './compat.ts'
import { HostError } from './error.ts'
import type { HostLogger } from './error.ts'
import { DshFiles } from './files.ts'
import { StoredSessions } from './persisted.ts'
import { QuestionPlace } from './questions.ts'
import type { AgentEvents, AgentHost, HostAgent, OpenAgentRequest } from './port.ts'
import { ToolCatalog } from './tools.ts'
import { Workspaces } from './workspaces.ts'

/** How the Host's agents are made. */
export interface DshHostOptions {
  /** Provider route of the agents' model; left to the Host when absent. */
  readonly provider?: string
  /** Model id; left to the Host when absent. */
  readonly model?: string
  /** Output limit of one model request, in tokens; the adapter's default when absent. */
  readonly maxTokens?: number
  /** Whether threads are registered in the Host's `workspaceRegistry`, when it has one. Default `register`. */
  readonly workspaces?: 'register' | 'ignore'
  /** Default: the context's own logger. */
  readonly logger?: HostLogger
}

/** Services that the plugin's `static inject` must name for {@link createDshHost}; all others are optional. */
export const DSH_HOST_SERVICES = ['agents', 'sessions', 'tools'] as const

/**
 * Makes DSH the gateway's Host.
 *
 * Every agent and subscription belongs to the fiber of `ctx`: unloading the plugin disposes what is left of them.
 *
 * @param ctx - The plugin's own context, with {@link DSH_HOST_SERVICES} injected.
 * @param options - How agents are made.
 */
export function createDshHost(ctx: Context, options: DshHostOptions = {}): AgentHost {
  return new DshHost(ctx, options)
}

class DshHost implements AgentHost {
  readonly files: DshFiles
  readonly #ctx: Context
  readonly #options: AgentOptions
  readonly #around: AgentSurroundings
  readonly #workspaces: Workspaces | undefined
  readonly #agents = new Map<Agent, DshAgent>()
  readonly #bySession = new Map<Session, DshAgent>()
  readonly #opening = new Set<string>()
  readonly #stored: StoredSessions

  constructor(ctx: Context, options: DshHostOptions) {
    const { provider, model, maxTokens, workspaces = 'register', logger = ctx.logger } = options
    this.#ctx = ctx
    this.files = new DshFiles(ctx)
    this.#stored = new StoredSessions(ctx)
    this.#options = {
      ...provider === undefined ? {} : { provider },
      ...model === undefined ? {} : { model },
      ...maxTokens === undefined ? {} : { maxTokens },
    }
    this.#workspaces = workspaces === 'register' ? new Workspaces(ctx, logger) : undefined
    this.#around = {
      ctx,
      logger,
      questions: new QuestionPlace(ctx, logger, agent => this.#agents.get(agent)?.people),
      catalog: new ToolCatalog(ctx, () => {
        for (const agent of this.#agents.values()) agent.toolsChanged()
      }),
      released: async (agent) => {
        this.#forget(agent)
        await this.#workspaces?.release(agent.agent.id)
      },
    }
    // For every delta the Host asks each listener's scope whether it is meant, so that one an agent would cost each agent
    // a look at all the others.
    ctx.on('session/event', (session, event) => { this.#bySession.get(session)?.logged(event) })
    ctx.on(ASSISTANT_STREAM as never, (({ agent, frame }: { agent: Agent, frame: AssistantFrame }) => {
      this.#agents.get(agent)?.frame(frame)
    }) as never)
    ctx.on('agent/status', ({ agent, status }) => { this.#agents.get(agent)?.statusChanged(status) })
    // Emitted when the agent's own scope is already unwound.
    ctx.on('agent/disposed', ({ agent }) => { this.#agents.get(agent)?.disposed() })
  }

  async open(request: OpenAgentRequest, events: AgentEvents): Promise<HostAgent> {
    const { sessionId, mode = 'resume-or-create' } = request
    this.#assertFree(sessionId)
    this.#opening.add(sessionId)
    try {
      // Whoever only asks leaves no trace.
      if (mode === 'resume' && !existsSync(request.workspace) && !await this.#stored.has(sessionId)) throw unknown(sessionId)
      const made = await mkdir(request.workspace, { recursive: true })
      // A thread that has been here before may still be on its way to the disk, where no listing finds it.
      const mayBeStored = made === undefined || await this.#stored.has(request.sessionId)
      const resumed = mayBeStored ? await this.#resume(request, events) : undefined
      if (resumed !== undefined) return resumed
      if (mode === 'resume') throw unknown(sessionId)
      const created = await this.#create(request, events)
      await this.#stored.add(request.sessionId)
      return created
    } finally {
      this.#opening.delete(sessionId)
    }
  }

  /** Resumes what is stored. The attempt changes nothing when there is nothing. */
  async #resume(request: OpenAgentRequest, events: AgentEvents): Promise<HostAgent | undefined> {
    if (this.#ctx.get('sessionPersistence') === undefined) return undefined
    try {
      return await this.#compose(request, events, sessionPreset, setup => this.#ctx.agents.resume({
        resumeSessionId: request.sessionId as SessionId,
        agentOptions: this.#options,
        setup,
      }))
    } catch (error) {
      if (isSessionNotFound(error, request.sessionId)) return undefined
      throw error
    }
  }

  #create(request: OpenAgentRequest, events: AgentEvents): Promise<HostAgent> {
    const { sessionId, workspace, preset } = request
    return this.#compose(request, events, () => preset, setup => this.#ctx.agents.create({
      sessionId: sessionId as SessionId,
      meta: { cwd: workspace, ...preset === undefined ? {} : { agentPreset: preset } },
      agentOptions: this.#options,
      setup,
    }))
  }

  async #compose(
    request: OpenAgentRequest,
    events: AgentEvents,
    presetOf: (session: object) => string | undefined,
    publish: (setup: AgentSetup) => Promise<AgentHandle>,
  ): Promise<HostAgent> {
    let opened: DshAgent | undefined
    try {
      const handle = await publish(async (agentCtx: Context, named?: Agent) => {
        const agent = composedAgent(agentCtx, named)
        if (agent === undefined) throw new Error('the Host composes an agent without naming it')
        opened = new DshAgent(this.#around, agent, events)
        this.#agents.set(agent, opened)
        this.#bySession.set(agent.session, opened)
        await opened.attach(agentCtx)
        await this.#mountPreset(agentCtx, presetOf(agent.session))
      })
      if (opened === undefined) throw new Error('the Host published an agent that was not composed')
      opened.adopt(handle)
      this.#workspaces?.add(request.sessionId, handle.agent.session.header.cwd ?? request.workspace)
      return opened
    } catch (error) {
      // The Host has rolled the agent back.
      if (opened !== undefined) this.#forget(opened)
      if (isSessionHeld(error)) throw live(request.sessionId, error)
      throw error
    }
  }

  async #mountPreset(agentCtx: Context, preset: string | undefined): Promise<void> {
    if (preset === undefined) return
    const presets = this.#ctx.get('agentPresets')
    if (presets === undefined) {
      throw new HostError('AGENT_PRESETS_UNAVAILABLE', `agent preset "${preset}" needs the Host's agentPresets service`)
    }
    try {
      await presets.mount(agentCtx, preset)
    } catch (error) {
      const code = isPresetUnknown(error) ? 'AGENT_PRESET_UNKNOWN' : 'AGENT_PRESET_INVALID'
      throw new HostError(code, `agent preset "${preset}" cannot be mounted`, error)
    }
  }

  #forget({ agent }: DshAgent): void {
    this.#agents.delete(agent)
    this.#bySession.delete(agent.session)
  }

  #assertFree(sessionId: string): void {
    const id = sessionId as SessionId
    if (this.#opening.has(sessionId) || this.#ctx.agents.get(id) !== undefined || this.#ctx.sessions.get(id) !== undefined) {
      throw live(sessionId)
    }
  }
}

function unknown(sessionId: string): HostError {
  return new HostError('SESSION_UNKNOWN', `session "${sessionId}" is not stored`)
}

function live(sessionId: string, cause?: unknown): HostError {
  return new HostError('SESSION_LIVE', `session "${sessionId}" is already live`, cause)
}
