/**
 * Drives the native gateway: tells it what happened, carries out what it asks. No rule of the protocol lives here.
 *
 * @module
 */

import { NativeGateway } from '../native.ts'
import type { HttpError } from '../native.ts'
import { codeOf, errorLabel } from '../host/error.ts'
import type { AgentEvents, AgentHost, HostAgent, HostFiles, HostStores, HostTool, RunNeeds } from '../host/port.ts'
import type { Effect, ToolEffect } from './effects.ts'
import { ErrandSet } from './errands.ts'
import type { ErrandWork } from './errands.ts'
import { reportsOf } from './reports.ts'
import { ResponseSet } from './responses.ts'
import { Refusal, TransferSet } from './transfer.ts'
import type { Transfer } from './transfer.ts'
import { Waiting } from './waiting.ts'
import { WorkLoop } from './work-loop.ts'

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

/** One gateway at work. */
export class GatewayDriver {
  readonly native: NativeGateway
  readonly responses: ResponseSet
  readonly transfers = new TransferSet()
  readonly #host: AgentHost
  readonly #open: OpenOptions
  readonly #logger: DriverLogger
  readonly #hot: ReturnType<NativeGateway['hotPath']>
  readonly #threads = new Map<number, Thread>()
  readonly #identities = new WeakMap<object, ThreadIdentity>()
  readonly #errands = new ErrandSet()
  readonly #loop: WorkLoop
  readonly #waiting: Waiting
  #drained: (() => void) | undefined
  #stopped: Promise<void> | undefined

  /**
   * @param config - JSON of the configuration.
   * @throws An `Error` with `code` `INVALID_CONFIG` that names the first bad field.
   */
  constructor(config: string, host: AgentHost, open: OpenOptions, logger: DriverLogger) {
    this.native = new NativeGateway(config)
    const after = (todo: number): void => { this.#loop.after(todo) }
    this.responses = new ResponseSet(this.native, after)
    this.#waiting = new Waiting(this.native, after)
    this.#loop = new WorkLoop(this.native, {
      effects: () => { for (const effect of JSON.parse(this.native.effects()) as Effect[]) this.#attempt(effect) },
      readers: () => { this.responses.write() },
    })
    this.#hot = this.native.hotPath()
    this.#host = host
    this.#open = open
    this.#logger = logger
  }

  /** Whose thread a live agent belongs to; `undefined` for every other object. */
  identityFor(agent: object): ThreadIdentity | undefined {
    return this.#identities.get(agent)
  }

  /** What the Host can keep at this moment. */
  get stores(): HostStores {
    return this.#host.files?.stores ?? { files: 'missing' }
  }

  /** The Host's stores; a refusal where it has none. */
  get files(): HostFiles {
    if (this.#host.files === undefined) throw this.refusal('HOST_SERVICE_MISSING')
    return this.#host.files
  }

  /** The live agent of a thread; a refusal where it is gone. */
  agentOf(thread: number): HostAgent {
    const agent = this.#threads.get(thread)?.agent
    if (agent === undefined) throw this.refusal('AGENT_NOT_AVAILABLE')
    return agent
  }

  /** What a transfer breaks off with, by a code of the gateway's. */
  refusal(code: string): Refusal {
    return new Refusal(this.native.fileRefusal(code))
  }

  /**
   * Does something with the agent of a thread, which stays for as long.
   *
   * @throws What `work` throws, or the reason of the transfer's signal.
   */
  async onErrand<T>(errand: number, transfer: Transfer, work: (begun: ErrandWork) => Promise<T>): Promise<T> {
    let end: 'kept' | 'over' = 'over'
    try {
      const begun = await this.#errands.begin(errand, transfer)
      const result = await work(begun)
      if (begun.type === 'upload') end = 'kept'
      return result
    } finally {
      this.#errands.end(errand)
      this.after(this.native.errandOver(errand, end))
    }
  }

  /** The answer to a transfer that failed in the Host. */
  answerTo(error: unknown): HttpError {
    const answer = this.native.fileRefusal(codeOf(error) ?? '')
    if (answer.status === 500) this.#logger.warn(`a file could not be transferred (${errorLabel(error)})`)
    return answer
  }

  /** Ends every run at once, disposes every agent, and resolves when nothing is left. */
  shutdown(): Promise<void> {
    return this.#stopped ??= this.#stop()
  }

  async #stop(): Promise<void> {
    const drained = new Promise<void>((resolve) => { this.#drained = resolve })
    // At once: a Host that stops closes its sockets in the same breath, and every response has an end to write.
    this.native.shutdown()
    this.#loop.drain()
    const stopped = this.transfers.stop(this.native.fileRefusal('AGENT_NOT_AVAILABLE'))
    if (this.native.threadCount > 0) await drained
    await stopped
    this.#loop.drain()
    this.#loop.stop()
  }

  /** Schedules what a call to the native class left to do. */
  after(todo: number): void {
    this.#loop.after(todo)
  }

  /** Carries one effect out. One that fails takes its thread with it, and nothing else of the batch. */
  #attempt(effect: Effect): void {
    const thread = 'thread' in effect ? effect.thread : 'token' in effect ? this.#waiting.threadOf(effect.token) : undefined
    const failed = (error: unknown): void => {
      this.#logger.warn(`an order of the gateway failed: ${effect.type} (${errorLabel(error)})`)
      if (thread !== undefined) this.after(this.native.gone(thread))
    }
    try {
      this.#carryOut(effect)?.catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  #carryOut(effect: Effect): Promise<void> | void {
    switch (effect.type) {
      case 'open': return this.#openAgent(effect)
      case 'close': return this.#closeAgent(effect.thread)
      case 'syncTools': this.#syncTools(effect.thread, effect.unregister, effect.register); break
      case 'prepare': return this.#prepare(effect.thread, effect)
      case 'deliver': this.#deliver(effect); break
      case 'cancel': this.#order(effect.thread, agent => { agent.cancel() }); break
      case 'flush': return this.#flush(effect.thread, effect.records)
      case 'noteInterruption': this.#order(effect.thread, agent => { agent.noteInterruption?.() }); break
      case 'settle': this.#waiting.settle(effect.token, effect.outcome); break
      case 'upload':
      case 'readDeliverable':
      case 'refuseErrand': this.#errands.handle(effect); break
      case 'answer': this.#waiting.answer(effect.token, effect.outcome); break
      case 'unknownInterrupts': this.#logger.warn(`thread ${effect.thread}: ${effect.count} answers to unknown interrupts were ignored`); break
    }
  }

  async #openAgent(effect: Extract<Effect, { type: 'open' }>): Promise<void> {
    const { thread: id, sessionId, tenantId, userId, threadId, mode } = effect
    const thread: Thread = { identity: { principal: { tenantId, userId }, threadId }, tools: new Map() }
    this.#threads.set(id, thread)
    try {
      const preset = this.#open.preset(tenantId)
      const request = {
        sessionId,
        workspace: this.#open.workspace(sessionId),
        mode,
        ...preset === undefined ? {} : { preset },
      }
      const agent = await this.#host.open(request, this.#reports(id, thread))
      thread.agent = agent
      this.#identities.set(agent.agent, thread.identity)
      this.after(this.native.opened(id, agent.history, agent.inheritedTools(), agent.preset))
    } catch (error) {
      this.#threads.delete(id)
      const code = codeOf(error)
      if (code === 'SESSION_UNKNOWN') {
        this.after(this.native.unknown(id))
        this.#forgotten()
        return
      }
      this.#logger.warn(`agent of a thread could not be opened (${errorLabel(error)})`)
      // An agent that is there and could not be taken over must not keep its session from the next attempt.
      await this.#dispose(thread)
      this.after(this.native.openFailed(id, code ?? ''))
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
      this.#logger.warn(`agent of a thread did not dispose cleanly (${errorLabel(error)})`)
    }
  }

  /** A thread is gone: whoever waits for the last of them learns of it. */
  #forgotten(): void {
    if (this.native.threadCount === 0) this.#drained?.()
  }

  async #prepare(id: number, { preset, files }: RunNeeds): Promise<void> {
    const agent = this.#threads.get(id)?.agent
    if (agent === undefined) return
    let code: string | undefined
    try {
      if (agent.prepare === undefined) code = 'HOST_SERVICE_MISSING'
      else await agent.prepare({ files, ...preset === undefined ? {} : { preset } })
    } catch (error) {
      code = codeOf(error) ?? ''
      if (this.native.fileRefusal(code).status === 500) this.#logger.warn(`agent of a thread could not be prepared (${errorLabel(error)})`)
    }
    this.after(this.native.prepared(id, agent.inheritedTools(), agent.preset, code))
  }

  #deliver({ thread, messages, wake }: Extract<Effect, { type: 'deliver' }>): void {
    this.#order(thread, (agent) => {
      try {
        agent.deliver(messages, wake)
      } catch (error) {
        const code = codeOf(error)
        if (code !== 'FILE_NOT_STAGED') throw error
        this.native.undelivered(thread, code)
      }
    })
  }

  #order(id: number, order: (agent: HostAgent) => void): void {
    const agent = this.#threads.get(id)?.agent
    if (agent !== undefined) order(agent)
  }

  async #flush(id: number, records: number): Promise<void> {
    const agent = this.#threads.get(id)?.agent
    try {
      await agent?.flush?.()
    } catch (error) {
      this.#logger.warn(`log of a thread was not written (${errorLabel(error)})`)
    }
    this.after(this.native.flushed(id, records))
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
      this.#logger.warn(`agent of a thread refused the browser's Tools (${errorLabel(error)})`)
      for (const name of thread.tools.keys()) takeBack(name)
    }
    this.native.toolsSynced(id, refused)
  }

  #tool(thread: number, { name, description, parameters, concurrent }: ToolEffect): HostTool {
    return { name, description, parameters, concurrent, execute: call => this.#waiting.execute(thread, name, call) }
  }

  #reports(id: number, thread: Thread): AgentEvents {
    return reportsOf(id, {
      native: this.native,
      hot: this.#hot,
      after: (todo) => { this.#loop.after(todo) },
      inherited: () => thread.agent?.inheritedTools(),
      ask: (request, signal) => this.#waiting.ask(id, request, signal),
    })
  }
}
