/**
 * Makes agents of B and C: the factory behind the real agent registry (host-api §3.2, §3.16, §4.1). An agent belongs to
 * the fiber that asked for it and to this one; its disposal waits for its turn and for the bodies of its Tools.
 */

import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import { scopeTarget } from '@deepseek-ai/dsh-scope'
import { interruptedTurnClosers } from '@deepseek-ai/dsh-session'
import { NewerAgent } from './agent.ts'
import type { NewerAgentOptions } from './agent.ts'
import { convertResult } from './generation.ts'
import type { Generation, LogEvent } from './generation.ts'
import type { NewerSession, NewerSessions, SessionMeta } from './session.ts'
import type { NewerPersistence, SessionHandle } from './storage.ts'

interface Commit { commit(): void }

interface CommonOptions {
  readonly agentOptions?: NewerAgentOptions
  readonly signal?: AbortSignal
  /** C names the agent in the call, and nowhere else. */
  readonly setup?: (agentCtx: Context, agent?: NewerAgent) => Commit | Promise<Commit | void> | void
  readonly parentAgent?: NewerAgent
}

interface CreateOptions extends CommonOptions {
  readonly sessionId: string
  readonly meta?: SessionMeta
  readonly seed?: readonly LogEvent[]
  readonly inheritedEventCount?: number
}

interface ResumeOptions extends CommonOptions {
  readonly resumeSessionId: string
}

interface Handle {
  readonly agent: NewerAgent
  dispose(): Promise<void>
}

/** A prepared session with its storage. */
interface Prepared {
  readonly session: NewerSession
  readonly stored: SessionHandle | undefined
  /** How many of its events are stored. */
  readonly storedCount: number
  readonly source: 'startup' | 'resume'
}

type Serial = (carrier: object, name: string, payload: object) => Promise<unknown>

export class NewerLoop extends Service {
  static inject = ['agents', 'sessions', 'llm', 'tools', 'systemPrompt', 'sessionProjections']
  private readonly generation: Generation
  private readonly own: { readonly ctx: Context }
  private readonly live = new Set<() => Promise<void>>()

  constructor(ctx: Context, generation: Generation) {
    super(ctx, 'agentLoop')
    this.generation = generation
    this.own = { ctx }
    ctx.effect(() => async () => { await Promise.all([...this.live].map(dispose => dispose())) }, 'agentLoop.agents()')
    ctx.effect(() => ctx.agents.setFactory(this as never), 'agentLoop.setFactory()')
  }

  async createAgent(owner: Context, options: CreateOptions): Promise<Handle> {
    const { sessionId, seed, meta, inheritedEventCount, signal } = options
    signal?.throwIfAborted()
    const session = this.sessions.prepare(sessionId, {
      ...seed === undefined ? {} : { seed }, ...meta === undefined ? {} : { meta },
      ...inheritedEventCount === undefined ? {} : { inheritedEventCount },
    })
    const stored = await this.persistence?.create(session.header, { inheritedEventCount: session.inheritedEventCount })
    return await this.publish(owner, options, { session, stored, storedCount: 0, source: 'startup' })
  }

  async resume(owner: Context, options: ResumeOptions): Promise<Handle> {
    const { persistence } = this
    if (persistence === undefined) throw new Error('cannot resume: session persistence is not configured')
    const id = options.resumeSessionId
    options.signal?.throwIfAborted()
    const stored = await persistence.open(id, 'write')
    try {
      const { events } = await stored.read()
      // What a crash left open is closed, by rules that did not drift; the log's own shape did.
      const closers = interruptedTurnClosers(events as never) as unknown as LogEvent[]
      const repaired = closers.map(event => convertResult(this.generation, event))
      await stored.append(repaired)
      const { inheritedEventCount } = stored
      const session = this.sessions.prepare(id, { seed: [...events, ...repaired], meta: stored.header, inheritedEventCount })
      const storedCount = events.length + repaired.length
      return await this.publish(owner, options, { session, stored, storedCount, source: 'resume' })
    } catch (error) {
      await stored.close()
      throw error
    }
  }

  private get sessions(): NewerSessions {
    return this.own.ctx.sessions as unknown as NewerSessions
  }

  private get persistence(): NewerPersistence | undefined {
    return this.own.ctx.get('sessionPersistence') as NewerPersistence | undefined
  }

  private async publish(owner: Context, options: CommonOptions, { session, stored, storedCount, source }: Prepared): Promise<Handle> {
    const { ctx } = this.own
    const abort = new AbortController()
    const agent = new NewerAgent(ctx, session, options.agentOptions ?? {})
    const carrier = scopeTarget(agent as object, agent)
    let leaveRegistry: (() => void) | undefined
    let leaveStore: (() => void) | undefined
    let disposing: Promise<void> | undefined
    const dispose = (): Promise<void> => disposing ??= (async () => {
      abort.abort(new Error(`agent "${agent.id}" lifecycle disposed`))
      agent.cancel({ kind: 'disposed' })
      await agent.whenIdle()
      await agent.scope.dispose()
      await stored?.close()
      if (leaveRegistry !== undefined) {
        leaveRegistry()
        this.tellDisposed(carrier, agent)
      }
      leaveStore?.()
      this.live.delete(dispose)
      await unfollow()
    })()
    this.live.add(dispose)
    // The owner's own unloading must not wait for this effect to be taken back.
    const unfollow = owner.effect(() => () => disposing === undefined ? dispose() : undefined, `agentLoop.lifecycle(${agent.id})`)
    try {
      const composed = options.setup?.(agent.ctx, ...this.generation === 'C' ? [agent] : [])
      const commit = await Promise.race([composed, aborted(abort.signal), aborted(options.signal)])
      commit?.commit()
      await stored?.append(session.snapshotEvents(storedCount))
      leaveStore = (agent.ctx.sessions as unknown as NewerSessions).enter(session)
      leaveRegistry = ctx.agents.enter(agent as never, this.ownerOf(owner, options) as never)
      ;(agent.ctx.sessions as unknown as NewerSessions).announce(session)
      await (ctx.serial as unknown as Serial)(carrier, 'agent/created', { agent, source })
      abort.signal.throwIfAborted()
      return { agent, dispose }
    } catch (error) {
      await dispose()
      throw error
    }
  }

  /** The agent that asked for this one, if an agent did. */
  private ownerOf(owner: Context, { parentAgent }: CommonOptions): NewerAgent | undefined {
    return this.generation === 'C' ? parentAgent : owner.agent as unknown as NewerAgent | undefined
  }

  private tellDisposed(carrier: object, agent: NewerAgent): void {
    const { ctx } = this.own
    for (const callback of ctx.events.dispatch('emit', [carrier, 'agent/disposed', { agent }])) {
      try {
        callback({ agent })
      } catch (error) {
        ctx.logger.warn(`agent "${agent.id}": agent/disposed listener threw: ${String(error)}`)
      }
    }
  }
}

/** Rejects when the signal aborts. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal?.reason instanceof Error ? signal.reason : new Error('agent creation aborted'))
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
