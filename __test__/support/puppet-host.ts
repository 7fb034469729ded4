/**
 * A Host whose agents do what a test says, event by event, for tests of the port alone. It has the shape of the newer
 * generations of DSH (host-api §4). The Host that lives by itself in that shape is `newer/host.ts`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Context } from '@deepseek-ai/cordis'
import { createScope, scopeTarget } from '@deepseek-ai/dsh-scope'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import { mountPort } from './port.ts'
import type { MountedPort } from './port.ts'

interface Event { readonly type: string, readonly seq: number, readonly time: number, readonly data: unknown }
interface Message { readonly id: string }

/** Emits under a name that the installed types do not know. */
type Emit = (carrier: object, name: string, ...args: unknown[]) => void

/** A session of B or C: no `events`, a method instead. */
class PuppetSession {
  readonly id: string
  readonly header: { readonly cwd?: string, readonly agentPreset?: string, readonly version: number }
  readonly #log: Event[]

  constructor(id: string, meta: { cwd?: string, agentPreset?: string }, log: Event[]) {
    this.id = id
    this.header = { ...meta, version: 4 }
    this.#log = log
  }

  snapshotEvents(): readonly Event[] {
    return [...this.#log]
  }

  push(type: string, data: unknown): Event {
    const event = Object.freeze({ type, seq: this.#log.length, time: 0, data })
    this.#log.push(event)
    return event
  }
}

/** An agent that a test drives. */
export class PuppetAgent {
  readonly id: string
  readonly session: PuppetSession
  status: 'idle' | 'running' = 'idle'
  ctx!: Context
  readonly inbox = { remove: (_id: string): boolean => false }
  /** Messages in the order of delivery, with how. */
  readonly delivered: [how: string, id: string][] = []
  readonly #root: Context
  #attempts = 0

  constructor(root: Context, session: PuppetSession) {
    this.#root = root
    this.id = session.id
    this.session = session
  }

  followup(message: Message): void { this.delivered.push(['followup', message.id]) }
  inject(message: Message): void { this.delivered.push(['inject', message.id]) }
  cancel(cause: { kind: string }): void { this.delivered.push(['cancel', cause.kind]) }

  /** Appends a durable event and publishes it. */
  append(type: string, data: unknown): void {
    this.publish(this.session.push(type, data))
  }

  /** Publishes an event that is in the log, as of this session or of another one that is composed below this agent. */
  publish(event: Event, session: object = this.session): void {
    this.#emit('session/event', session, event)
  }

  /** Begins an attempt. */
  start(turn: number, step: number): void {
    this.#attempts += 1
    this.#frame({ type: 'start', revision: 0, turn, step })
  }

  /** Streams chunks of the attempt. */
  stream(...chunks: object[]): void {
    for (const [index, chunk] of chunks.entries()) this.#frame({ type: 'chunk', revision: 0, index, time: 0, chunk })
  }

  /** Ends the attempt; what it committed has been appended before. */
  end(eventType?: 'assistant/message' | 'assistant/attempt'): void {
    const outcome = eventType === undefined ? { kind: 'abandoned' }
      : { kind: 'committed', eventType, seq: this.session.snapshotEvents().length - 1 }
    this.#frame({ type: 'end', revision: 0, index: 0, outcome })
  }

  #frame(frame: object): void {
    this.#emit('agent/assistant-stream', { agent: this, frame: { attemptId: `a${this.#attempts}`, ...frame } })
  }

  #emit(name: string, ...args: unknown[]): void {
    (this.#root.emit as unknown as Emit).call(this.#root, scopeTarget(this as object, this), name, ...args)
  }
}

interface Options {
  readonly sessionId?: string
  readonly resumeSessionId?: string
  readonly meta?: { cwd?: string, agentPreset?: string }
  readonly setup?: (agentCtx: Context) => unknown
}

class NotFound extends Error {
  override readonly name = 'SessionPersistenceNotFoundError'
}

/** A Host on strings. */
export interface PuppetHost {
  readonly ctx: Context
  /** Presets that can be mounted. */
  readonly presets: Set<string>
  /** Presets that were mounted, in order. */
  readonly mounted: string[]
  /** The agent of a live session. */
  agent(id: string): PuppetAgent
  dispose(): Promise<void>
}

/** Boots it with the port mounted on it; both go with the test. */
export async function bootPuppetPort(t: TestContext): Promise<{ host: PuppetHost, port: MountedPort }> {
  const home = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-'))
  const host = await bootPuppetHost()
  t.after(async () => {
    await host.dispose()
    rmSync(home, { recursive: true, force: true })
  })
  return { host, port: await mountPort({ ctx: host.ctx, home } as never) }
}

async function bootPuppetHost(): Promise<PuppetHost> {
  const ctx = new Context()
  const live = new Map<string, PuppetAgent>()
  const stored = new Map<string, { meta: object, log: Event[] }>()
  const presets = new Set(['demo', 'other'])
  const mounted: string[] = []
  let loop = ctx

  async function publish(id: string, meta: object, log: Event[], options: Options) {
    const agent = new PuppetAgent(ctx, new PuppetSession(id, meta, log))
    const scope = createScope(loop, agent)
    agent.ctx = scope.ctx.extend({ agent } as never)
    try {
      await options.setup?.(agent.ctx)
    } catch (error) {
      await scope.dispose()
      throw error
    }
    live.set(id, agent)
    stored.set(id, { meta, log })
    const dispose = async () => {
      await scope.dispose()
      live.delete(id)
      ;(ctx.emit as unknown as Emit).call(ctx, scopeTarget(agent as object, agent), 'agent/disposed', { agent })
    }
    return { agent, dispose }
  }

  ctx.provide('agents', {
    get: (id: string) => live.get(id),
    create: (options: Options) => publish(options.sessionId ?? '', options.meta ?? {}, [], options),
    async resume(options: Options) {
      const id = options.resumeSessionId ?? ''
      const session = stored.get(id)
      if (session === undefined) throw new NotFound('no such session')
      return await publish(id, session.meta, [...session.log], options)
    },
  } as never)
  ctx.provide('sessions', { get: (id: string) => live.get(id)?.session } as never)
  ctx.provide('sessionPersistence' as never, {
    open() {},
    stat() {},
    list: async () => [...stored.keys()].map(id => ({ header: { id } })),
  } as never)
  ctx.provide('agentPresets' as never, {
    async mount(_agentCtx: Context, id: string) {
      if (!presets.has(id)) throw Object.assign(new Error('refused'), { code: 'agent-preset/not-found' })
      mounted.push(id)
    },
  } as never)
  await ctx.plugin(SystemPrompt, { persona: 'x' } as never)
  await ctx.plugin(ToolRuntime)
  await ctx.plugin({ name: 'loop', inject: ['tools'], apply: (plugin: Context) => { loop = plugin } })
  return {
    ctx,
    presets,
    mounted,
    agent(id) {
      const agent = live.get(id)
      if (agent === undefined) throw new Error(`no live agent "${id}"`)
      return agent
    },
    dispose: async () => { await ctx.fiber.dispose() },
  }
}
