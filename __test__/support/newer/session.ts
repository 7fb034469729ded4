/**
 * Sessions of B and C: an append-only log without `events`, and the store of live ones (host-api §3.4, §4.1).
 */

import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import { deepFreeze } from '@deepseek-ai/dsh-llm'
import { scopeOf, scopeTarget } from '@deepseek-ai/dsh-scope'
import { snapshotJsonValue } from '@deepseek-ai/dsh-session'
import { isAbsolute } from 'node:path'
import { FORMAT_VERSION } from './generation.ts'
import type { AnyMessage, Generation, LogEvent } from './generation.ts'

/** The durable facts of a session that are not events. */
export interface SessionHeader {
  readonly version: number
  readonly id: string
  readonly createdAt: number
  readonly isSeeded: boolean
  readonly cwd?: string
  readonly parentSession?: string
  readonly origin?: 'subagent'
  readonly delegationDepth?: number
  readonly agentPreset?: string
}

/** How an event enters the conversation that the model sees. */
export interface AppendOptions {
  readonly surfaceOp?: NonNullable<LogEvent['surfaceOp']>
  readonly sourceEventSeqs?: readonly number[]
}

const SURFACE_TYPES = new Set(['user/message', 'assistant/message', 'tool/result', 'system/message', 'developer/message'])

/** One session. */
export class NewerSession {
  readonly generation: Generation
  readonly header: SessionHeader
  /** How many events came from the parent of a fork. */
  readonly inheritedEventCount: number
  /** The first event that was appended in this process. */
  readonly firstLiveSeq: number
  readonly #log: LogEvent[]
  /** Tells the observers of a live session. */
  publish: ((event: LogEvent) => void) | undefined
  #publishing = false

  constructor(generation: Generation, header: SessionHeader, seed: readonly LogEvent[] | undefined, inherited = 0) {
    this.generation = generation
    this.header = deepFreeze(header)
    this.inheritedEventCount = inherited
    this.#log = (seed ?? []).map(event => deepFreeze(structuredClone(event)))
    this.firstLiveSeq = this.#log.length
    if (seed !== undefined && this.#log.at(-1)?.type !== 'session/end-seed') this.append('session/end-seed', {})
  }

  get id(): string {
    return this.header.id
  }

  get seq(): number {
    return this.#log.length
  }

  /** Whether observers are being told of an event right now. */
  get publishing(): boolean {
    return this.#publishing
  }

  snapshotEvents(from = 0, to = this.#log.length): readonly LogEvent[] {
    return Object.freeze(this.#log.slice(from, to))
  }

  eventAt(seq: number): LogEvent | undefined {
    return this.#log[seq]
  }

  append(type: string, data: unknown, options: AppendOptions = {}): LogEvent {
    const copy = snapshotJsonValue(data as never) as unknown
    if (copy === undefined) throw new Error(`session event "${type}" carries non-JSON-serializable data`)
    assertEvent(this.generation, type, copy, options)
    if (this.#publishing) throw new Error('session append cannot reenter while another append is being published')
    const event: LogEvent = deepFreeze({ type, seq: this.#log.length, time: Date.now(), data: copy, ...options })
    this.#log.push(event)
    this.#publishing = true
    try {
      this.publish?.(event)
    } finally {
      this.#publishing = false
    }
    return event
  }

  /** What the model has been told so far. */
  deriveMessages(): AnyMessage[] {
    let surface: LogEvent[] = []
    for (const event of this.#log) {
      const { surfaceOp } = event
      if (typeof surfaceOp === 'object') {
        surface = surface.filter(({ seq }) => seq < surfaceOp.startSeq || seq > surfaceOp.endSeq)
      }
      if (surfaceOp !== undefined) surface.push(event)
    }
    return surface.map(messageOf).filter(({ role, content }) => role !== 'assistant' || content.length > 0)
  }

  /** The data of the newest event of a type. */
  last(type: string): unknown {
    return this.#log.findLast(event => event.type === type)?.data
  }
}

/** C only: which events a session has beyond those of its parent. */
export class SessionOfC extends NewerSession {
  ownEvents(): readonly LogEvent[] {
    return this.snapshotEvents(this.inheritedEventCount)
  }

  isOwnSeq(seq: number): boolean {
    return seq >= this.inheritedEventCount && seq < this.seq
  }
}

function messageOf(event: LogEvent): AnyMessage {
  return event.type === 'user/message' ? event.data as AnyMessage : (event.data as { message: AnyMessage }).message
}

/** Refuses what a log of this generation could not hold. */
function assertEvent(generation: Generation, type: string, data: unknown, { surfaceOp }: AppendOptions): void {
  const refuse = (why: string): never => { throw new Error(`session event "${type}" ${why}`) }
  if (type === 'assistant/chunk') refuse('is of an older format')
  if (SURFACE_TYPES.has(type) !== (surfaceOp !== undefined)) refuse('has a wrong surface marker')
  if (!SURFACE_TYPES.has(type)) return
  const { id, role, source, content } = messageOf({ type, seq: 0, time: 0, data })
  const roles: Record<string, string> = {
    'user/message': 'user', 'assistant/message': 'assistant', 'tool/result': generation === 'B' ? 'user' : 'tool',
    'system/message': 'system', 'developer/message': 'developer',
  }
  if (typeof id !== 'string' || id === '' || role !== roles[type] || !Array.isArray(content)) refuse('has no such message')
  if (typeof source?.kind !== 'string' || source.kind === '') refuse('has no source')
  if (generation === 'C' && source.kind === 'plugin') refuse('has a source kind that nobody owns')
  if (generation === 'C' && content.some(block => block.type === 'tool-result')) refuse('nests a result')
  if (generation === 'B' && !['user/message', 'assistant/message', 'tool/result'].includes(type)) refuse('is of a newer format')
}

/** Metadata that a caller may give a new session. */
export type SessionMeta = Partial<Omit<SessionHeader, 'version' | 'id'>>

interface PrepareOptions {
  readonly seed?: readonly LogEvent[]
  readonly meta?: SessionMeta
  readonly inheritedEventCount?: number
}

/** `ctx.sessions`. Plain members: a context hands services out behind a proxy, which private names do not pass. */
export class NewerSessions extends Service {
  readonly generation: Generation
  private readonly live = new Map<string, NewerSession>()
  private readonly root: Context
  private minted = 0

  constructor(ctx: Context, generation: Generation) {
    super(ctx, 'sessions')
    this.generation = generation
    this.root = ctx
  }

  get(id: string): NewerSession | undefined {
    return this.live.get(id)
  }

  list(): NewerSession[] {
    return [...this.live.values()]
  }

  /** Makes a session that nobody sees yet. */
  prepare(id = `session-${++this.minted}`, { seed, meta = {}, inheritedEventCount = 0 }: PrepareOptions = {}): NewerSession {
    if (this.live.has(id)) throw new Error(`session "${id}" already exists`)
    if (meta.cwd !== undefined && !isAbsolute(meta.cwd)) {
      throw new Error(`session header cwd must be an absolute path, got "${meta.cwd}"`)
    }
    const header = { isSeeded: false, createdAt: Date.now(), ...meta, version: FORMAT_VERSION[this.generation], id }
    const Session = this.generation === 'C' ? SessionOfC : NewerSession
    return new Session(this.generation, header, seed, inheritedEventCount)
  }

  /**
   * Publishes a prepared session in the scope of the calling context.
   *
   * @returns What takes it back, once.
   */
  enter(session: NewerSession): () => void {
    const { id } = session
    if (this.live.has(id)) throw new Error(`session "${id}" already exists`)
    const carrier = scopeTarget(session, scopeOf(this.ctx))
    this.live.set(id, session)
    session.publish = (event) => { this.tell(carrier, 'session/event', session, event) }
    let entered = true
    return () => {
      if (!entered) return
      entered = false
      session.publish = undefined
      this.live.delete(id)
      this.tell(carrier, 'session/disposed', session)
    }
  }

  announce(session: NewerSession): void {
    this.tell(scopeTarget(session, scopeOf(this.ctx)), 'session/created', session)
  }

  /** Creates a live session that belongs to the calling fiber. */
  create(id?: string, options?: PrepareOptions): NewerSession {
    const session = this.prepare(id, options)
    this.ctx.effect(() => this.enter(session), 'sessions.create()')
    this.announce(session)
    return session
  }

  /** Waits until what was appended is durable. Returns whether anybody makes it so. */
  async flush(session: NewerSession): Promise<boolean> {
    const args = [scopeTarget(session, scopeOf(this.ctx)), 'session/flush', session]
    const callbacks = [...this.root.events.dispatch('emit', args)]
    const results = await Promise.allSettled(callbacks.map(async (callback) => { await callback(session) }))
    const failed = results.find(result => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return callbacks.length > 0
  }

  private tell(carrier: object, name: string, ...payload: unknown[]): void {
    for (const callback of this.root.events.dispatch('emit', [carrier, name, ...payload])) {
      try {
        Promise.resolve(callback(...payload)).catch((error: unknown) => { this.root.logger.warn(`${name}: ${String(error)}`) })
      } catch (error) {
        this.root.logger.warn(`${name}: ${String(error)}`)
      }
    }
  }
}
