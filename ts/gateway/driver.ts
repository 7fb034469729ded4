/**
 * Drives the native gateway: tells it what happened, carries out what it asks. No rule of the protocol lives here.
 *
 * @module
 */

import { NativeGateway } from '../native.ts'
import type { HttpError } from '../native.ts'
import type {
  AgentEvents, AgentHost, HostAgent, HostFiles, HostStores, HostTool, HostToolCall, HostToolResult, PersonOutcome, PersonRequest, RunNeeds,
} from '../host/port.ts'
import type { CallOutcome, Effect, ToolEffect } from './effects.ts'
import { ErrandSet } from './errands.ts'
import type { ErrandWork } from './errands.ts'
import { ResponseSet } from './responses.ts'
import { Refusal, TransferSet } from './transfer.ts'
import type { Transfer } from './transfer.ts'

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
  readonly thread: number
  resolve(result: HostToolResult): void
  reject(error: Error): void
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
  readonly #parked = new Map<number, ParkedCall>()
  readonly #errands = new ErrandSet()
  /** Requests to people that wait, by token. */
  readonly #asked = new Map<number, (outcome: PersonOutcome) => void>()
  #nextToken = 0
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

  /** What the Host can keep at this moment. */
  get stores(): HostStores {
    return this.#host.files?.stores ?? { files: 'missing' }
  }

  /** The Host's stores; a refusal where it has none. */
  get files(): HostFiles {
    if (this.#host.files === undefined) throw new Refusal(this.native.fileRefusal('HOST_SERVICE_MISSING'))
    return this.#host.files
  }

  /** The live agent of a thread. */
  agentOf(thread: number): HostAgent | undefined {
    return this.#threads.get(thread)?.agent
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
    const answer = this.native.fileRefusal(codeOf(error))
    if (answer.status === 500) this.#logger.warn(`a file could not be transferred (${codeOf(error) || nameOf(error)})`)
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
    this.#drain()
    const stopped = this.transfers.stop(this.native.fileRefusal('AGENT_NOT_AVAILABLE'))
    if (this.native.threadCount > 0) await drained
    await stopped
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
      if (todo & EFFECTS) for (const effect of JSON.parse(this.native.effects()) as Effect[]) this.#attempt(effect)
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

  /** Carries one effect out. One that fails takes its thread with it, and nothing else of the batch. */
  #attempt(effect: Effect): void {
    const thread = 'thread' in effect ? effect.thread : 'token' in effect ? this.#parked.get(effect.token)?.thread : undefined
    const failed = (error: unknown): void => {
      this.#logger.warn(`an order of the gateway failed: ${effect.type} (${codeOf(error) || nameOf(error)})`)
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
      case 'settle': this.#settle(effect.token, effect.outcome); break
      case 'upload':
      case 'readDeliverable':
      case 'refuseErrand': this.#errands.handle(effect); break
      case 'answer': this.#asked.get(effect.token)?.(effect.outcome); break
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
      const agent = await this.#host.open(request, this.#events(id, thread))
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

  async #prepare(id: number, { preset, files }: RunNeeds): Promise<void> {
    const agent = this.#threads.get(id)?.agent
    if (agent === undefined) return
    let code: string | undefined
    try {
      if (agent.prepare === undefined) code = 'HOST_SERVICE_MISSING'
      else await agent.prepare({ files, ...preset === undefined ? {} : { preset } })
    } catch (error) {
      code = codeOf(error)
      if (this.native.fileRefusal(code).status === 500) this.#logger.warn(`agent of a thread could not be prepared (${code || nameOf(error)})`)
    }
    this.after(this.native.prepared(id, agent.inheritedTools(), agent.preset, code))
  }

  #deliver({ thread, messages, wake }: Extract<Effect, { type: 'deliver' }>): void {
    this.#order(thread, (agent) => {
      try {
        agent.deliver(messages, wake)
      } catch (error) {
        if (codeOf(error) !== 'FILE_NOT_STAGED') throw error
        this.native.undelivered(thread, codeOf(error))
      }
    })
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

  async #flush(id: number, records: number): Promise<void> {
    const agent = this.#threads.get(id)?.agent
    try {
      await agent?.flush?.()
    } catch (error) {
      this.#logger.warn(`log of a thread was not written (${codeOf(error) || nameOf(error)})`)
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
      this.#logger.warn(`agent of a thread refused the browser's Tools (${codeOf(error) || nameOf(error)})`)
      for (const name of thread.tools.keys()) takeBack(name)
    }
    this.native.toolsSynced(id, refused)
  }

  #tool(thread: number, { name, description, parameters, concurrent }: ToolEffect): HostTool {
    return { name, description, parameters, concurrent, execute: call => this.#execute(thread, name, call) }
  }

  async #execute(thread: number, name: string, call: HostToolCall): Promise<HostToolResult> {
    const token = this.#takeToken()
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
        thread,
        resolve: (result) => { done(); resolve(result) },
        reject: (error) => { done(); reject(error) },
      })
      if (call.signal.aborted) aborted()
      else call.signal.addEventListener('abort', aborted, { once: true })
    })
  }

  /** A token that no call holds; as large as the native class takes. */
  #takeToken(): number {
    do this.#nextToken = (this.#nextToken + 1) % 2 ** 32
    while (this.#parked.has(this.#nextToken))
    return this.#nextToken
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

  #ask(thread: number, request: PersonRequest, signal: AbortSignal): Promise<PersonOutcome> {
    if (signal.aborted) return Promise.resolve(TAKEN_BACK)
    const token = this.#nextToken++
    const settled = this.native.ask(thread, token, JSON.stringify(request))
    this.after(this.native.todo())
    if (settled !== null) return Promise.resolve(JSON.parse(settled) as PersonOutcome)
    return new Promise((resolve) => {
      const aborted = (): void => {
        this.after(this.native.askAborted(thread, token))
        settle(TAKEN_BACK)
      }
      const settle = (outcome: PersonOutcome): void => {
        this.#asked.delete(token)
        signal.removeEventListener('abort', aborted)
        resolve(outcome)
      }
      this.#asked.set(token, settle)
      signal.addEventListener('abort', aborted, { once: true })
    })
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
      ask: (request, signal) => this.#ask(id, request, signal),
      gone: () => { this.after(native.gone(id)) },
    }
  }
}

/** A request that the Host took back. */
const TAKEN_BACK: PersonOutcome = { status: 'cancelled', message: 'the request was aborted before the user answered' }

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
