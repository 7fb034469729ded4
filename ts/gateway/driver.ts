/**
 * Drives the native gateway: tells it what happened, carries out what it asks. No rule of the protocol lives here.
 *
 * @module
 */

import { NativeGateway } from '../native.ts'
import type { AgentEvents, AgentHost, HostAgent, HostTool, HostToolCall, HostToolResult } from '../host/port.ts'
import type { CallOutcome, Effect, ToolEffect } from './effects.ts'
import { ResponseSet } from './responses.ts'

/** Bits of what there is to do, as the native class documents them. */
const EFFECTS = 1, READERS = 2, DRIVE = 4, TIMER = 8
/** One more of `attemptStart`. */
const REASONING = 16

/** Where the driver reports what has no other place to go. Never content. */
export interface DriverLogger {
  warn(message: string): void
}

/** Whose thread an agent belongs to. */
export interface ThreadIdentity {
  readonly principal: { readonly tenantId: string, readonly userId: string }
  readonly threadId: string
}

/** What the driver adds to an `open` effect. */
export interface OpenOptions {
  /** Absolute path of a session's working directory. */
  workspace(sessionId: string): string
  /** Preset of a tenant's new sessions. */
  preset(tenantId: string): string | undefined
}

interface Thread {
  readonly identity: ThreadIdentity
  readonly tools: Map<string, () => void>
  agent?: HostAgent
}

interface ParkedCall {
  resolve(result: HostToolResult): void
  reject(error: Error): void
}

/** One gateway at work. */
export class GatewayDriver {
  readonly native: NativeGateway
  readonly responses: ResponseSet
  readonly #host: AgentHost
  readonly #open: OpenOptions
  readonly #logger: DriverLogger
  readonly #hot: ReturnType<NativeGateway['hotPath']>
  readonly #threads = new Map<number, Thread>()
  readonly #identities = new WeakMap<object, ThreadIdentity>()
  readonly #parked = new Map<number, ParkedCall>()
  #nextToken = 1
  #scheduled = false
  #driving = false
  #timer: { clear(): void } | undefined
  #drained: (() => void) | undefined
  #stopped: Promise<void> | undefined

  /**
   * @param config - JSON of the configuration.
   * @throws An `Error` with `code` `INVALID_CONFIG` that names the first bad field.
   */
  constructor(config: string, host: AgentHost, open: OpenOptions, logger: DriverLogger) {
    this.native = new NativeGateway(config)
    this.responses = new ResponseSet(this.native, todo => this.after(todo))
    this.#hot = this.native.hotPath()
    this.#host = host
    this.#open = open
    this.#logger = logger
  }

  /** Whose thread a live agent belongs to; `undefined` for every other object. */
  identityFor(agent: object): ThreadIdentity | undefined {
    return this.#identities.get(agent)
  }

  /** Ends every run at once, disposes every agent, and resolves when nothing is left. */
  shutdown(): Promise<void> {
    return this.#stopped ??= this.#stop()
  }

  async #stop(): Promise<void> {
    const drained = new Promise<void>((resolve) => { this.#drained = resolve })
    // At once: a Host that stops closes its sockets in the same breath, and every response has an end to write.
    this.native.shutdown()
    this.#drain()
    if (this.native.threadCount > 0) await drained
    this.#drain()
    this.#timer?.clear()
  }

  /**
   * Schedules what a call to the native class left to do. The work runs in a microtask: a call may come from inside
   * the Host's own publishing, where its agents take no orders, and what one turn of the Host produced goes out as
   * one write.
   */
  after(todo: number): void {
    // Agents that wait for their turn of the loop stay in the bits of every delta until they have had it.
    if (todo & DRIVE) this.#driveLater()
    if ((todo & ~DRIVE) === 0 || this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#drain()
    })
  }

  #drain(): void {
    let todo = this.native.todo()
    while ((todo & (EFFECTS | READERS)) !== 0) {
      if (todo & EFFECTS) for (const effect of JSON.parse(this.native.effects()) as Effect[]) this.#carryOut(effect)
      if (todo & READERS) this.responses.write()
      todo = this.native.todo()
    }
    if (todo & DRIVE) this.#driveLater()
    if (todo & TIMER) this.#setTimer()
  }

  /** One agent a turn of the loop: what is decided goes out before a model that never yields starts. */
  #driveLater(): void {
    if (this.#driving) return
    this.#driving = true
    setImmediate(() => {
      this.#driving = false
      this.native.driveNext()
      this.#drain()
    })
  }

  #setTimer(): void {
    this.#timer?.clear()
    const ms = this.native.nextTimeout()
    if (ms < 0) return
    const fire = (): void => {
      this.#timer = undefined
      this.native.timeout()
      this.#drain()
      // The native class compares with the timer that is set; none is now.
      if (this.#timer === undefined) this.#setTimer()
    }
    if (ms === 0) {
      const immediate = setImmediate(fire)
      this.#timer = { clear: () => { clearImmediate(immediate) } }
    } else {
      const timeout = setTimeout(fire, Math.ceil(ms))
      timeout.unref()
      this.#timer = { clear: () => { clearTimeout(timeout) } }
    }
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'open': void this.#openAgent(effect); break
      case 'close': void this.#closeAgent(effect.thread); break
      case 'syncTools': this.#syncTools(effect.thread, effect.unregister, effect.register); break
      case 'deliver': this.#order(effect.thread, agent => { agent.deliver(effect.messages, effect.wake) }); break
      case 'cancel': this.#order(effect.thread, agent => { agent.cancel() }); break
      case 'settle': this.#settle(effect.token, effect.outcome); break
    }
  }

  async #openAgent(effect: Extract<Effect, { type: 'open' }>): Promise<void> {
    const { thread: id, sessionId, tenantId, userId, threadId } = effect
    const thread: Thread = { identity: { principal: { tenantId, userId }, threadId }, tools: new Map() }
    this.#threads.set(id, thread)
    try {
      const preset = this.#open.preset(tenantId)
      const request = {
        sessionId,
        workspace: this.#open.workspace(sessionId),
        ...preset === undefined ? {} : { preset },
      }
      const agent = await this.#host.open(request, this.#events(id, thread))
      thread.agent = agent
      this.#identities.set(agent.agent, thread.identity)
      this.after(this.native.opened(id, agent.history, agent.inheritedTools()))
    } catch (error) {
      this.#threads.delete(id)
      const code = codeOf(error)
      this.#logger.warn(`agent of a thread could not be opened (${code || nameOf(error)})`)
      // An agent that is there and could not be taken over must not keep its session from the next attempt.
      await this.#dispose(thread)
      this.after(this.native.openFailed(id, code))
      this.#forgotten()
    }
  }

  async #closeAgent(id: number): Promise<void> {
    const thread = this.#threads.get(id)
    this.#threads.delete(id)
    await this.#dispose(thread)
    this.after(this.native.closed(id))
    this.#forgotten()
  }

  async #dispose(thread: Thread | undefined): Promise<void> {
    if (thread?.agent === undefined) return
    this.#identities.delete(thread.agent.agent)
    try {
      await thread.agent.dispose()
    } catch (error) {
      this.#logger.warn(`agent of a thread did not dispose cleanly (${codeOf(error) || nameOf(error)})`)
    }
  }

  /** A thread is gone: whoever waits for the last of them learns of it. */
  #forgotten(): void {
    if (this.native.threadCount === 0) this.#drained?.()
  }

  #order(id: number, order: (agent: HostAgent) => void): void {
    const agent = this.#threads.get(id)?.agent
    if (agent === undefined) return
    try {
      order(agent)
    } catch (error) {
      this.#logger.warn(`agent of a thread refused an order (${codeOf(error) || nameOf(error)})`)
      this.after(this.native.gone(id))
    }
  }

  #syncTools(id: number, unregister: readonly string[], register: readonly ToolEffect[]): void {
    const thread = this.#threads.get(id)
    if (thread?.agent === undefined) return
    const takeBack = (name: string): void => {
      thread.tools.get(name)?.()
      thread.tools.delete(name)
    }
    let refused = false
    try {
      unregister.forEach(takeBack)
      for (const tool of register) thread.tools.set(tool.name, thread.agent.registerTool(this.#tool(id, tool)))
    } catch (error) {
      refused = true
      this.#logger.warn(`agent of a thread refused the browser's Tools (${codeOf(error) || nameOf(error)})`)
      for (const name of thread.tools.keys()) takeBack(name)
    }
    this.native.toolsSynced(id, refused)
  }

  #tool(thread: number, { name, description, parameters, concurrent }: ToolEffect): HostTool {
    return { name, description, parameters, concurrent, execute: call => this.#execute(thread, name, call) }
  }

  async #execute(thread: number, name: string, call: HostToolCall): Promise<HostToolResult> {
    const token = this.#nextToken++
    const settled = this.native.call(thread, token, call.callId, name, JSON.stringify(call.arguments))
    this.after(this.native.todo())
    if (settled !== null) return resultOf(JSON.parse(settled) as CallOutcome)
    return await new Promise((resolve, reject) => {
      const aborted = (): void => {
        if (!this.#parked.delete(token)) return
        this.after(this.native.callAborted(thread, token))
        reject(new Error('the call was cancelled'))
      }
      const done = (): void => { call.signal.removeEventListener('abort', aborted) }
      this.#parked.set(token, {
        resolve: (result) => { done(); resolve(result) },
        reject: (error) => { done(); reject(error) },
      })
      if (call.signal.aborted) aborted()
      else call.signal.addEventListener('abort', aborted, { once: true })
    })
  }

  #settle(token: number, outcome: CallOutcome): void {
    const parked = this.#parked.get(token)
    if (!this.#parked.delete(token)) return
    try {
      parked?.resolve(resultOf(outcome))
    } catch (error) {
      parked?.reject(error as Error)
    }
  }

  #events(id: number, thread: Thread): AgentEvents {
    const { native } = this
    const { text, reasoning, toolCall } = this.#hot
    // Reasoning that nobody asked for does not cross, and neither does the end of its block.
    let reasons = false
    let kept = false
    return {
      record: json => { this.after(native.record(id, json)) },
      attemptStart: (turn, step) => {
        const todo = native.attemptStart(id, turn, step)
        reasons = (todo & REASONING) !== 0
        kept = false
        this.after(todo & ~REASONING)
      },
      text: (delta) => {
        kept = false
        this.after(text(id, delta))
      },
      reasoning: (delta) => {
        if (reasons) this.after(reasoning(id, delta))
        else kept = true
      },
      toolCall: (callId, name, delta) => {
        kept = false
        this.after(toolCall(id, callId, name, delta))
      },
      blockEnd: () => {
        if (!kept) this.after(native.blockEnd(id))
        kept = false
      },
      attemptEnd: (committed) => { if (!committed) this.after(native.attemptAbandoned(id)) },
      body: (callId, running) => { this.after(native.body(id, callId, running)) },
      toolsChanged: () => {
        if (thread.agent !== undefined) this.after(native.inherited(id, thread.agent.inheritedTools()))
      },
      status: status => { this.after(native.status(id, status)) },
      gone: () => { this.after(native.gone(id)) },
    }
  }
}

/** What the model sees of an outcome; a rejection is thrown. */
function resultOf(outcome: CallOutcome): HostToolResult {
  if (outcome.status === 'rejected') throw new Error(outcome.message)
  return { text: outcome.text, ...outcome.meta === undefined ? {} : { meta: outcome.meta } }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
