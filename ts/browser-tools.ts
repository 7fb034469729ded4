/**
 * `ctx.browserTools`: leases on Tools whose bodies run in a browser (G23).
 *
 * A caller chooses an existing Agent and brings the transport; the broker does the rest: it validates the Tools,
 * registers them in that Agent's own scope, refuses names that the Agent already has, checks the arguments of each
 * call, and settles each call in bounded time. It never creates an Agent.
 *
 * The rules for names, schemas and arguments are those of the native core ({@link BrowserToolSet}); the only thing of
 * DSH that is needed at run time is the `Service` of Cordis.
 *
 * @module dsh-ag-ui/browser-tools
 */

import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { ToolDefinition, ToolRunContext } from '@deepseek-ai/dsh-tools'
import z from '@deepseek-ai/schemastery'
import { BrowserToolSet } from 'dsh-ag-ui/native'
import type { BrowserToolRegistration, ToolSchemas } from 'dsh-ag-ui/native'

declare module '@deepseek-ai/cordis' {
  interface Context {
    browserTools: BrowserTools
  }
}

/** A Tool that a browser offers. */
export interface BrowserTool {
  /** `[A-Za-z_][A-Za-z0-9_-]{0,63}`, not reserved. */
  readonly name: string
  /** What the model reads. Not blank. */
  readonly description: string
  /** JSON Schema of the arguments, object-rooted. Absent: any object. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** A call of the model, its arguments checked. */
export interface BrowserToolCall {
  /** The Host's id of the call. Unique among the calls that are pending on one Agent. */
  readonly callId: string
  readonly name: string
  /** Plain JSON, frozen. Satisfies the Tool's parameters. */
  readonly arguments: unknown
}

/** How calls reach the browser. */
export interface BrowserToolTransport {
  /**
   * Runs a call in the browser. Several calls may be pending at once.
   *
   * @param call - The call.
   * @param signal - Aborts, with an `Error` as its reason, when the call is over for another reason: the turn was
   *   cancelled, the time is up, the lease or the Agent is gone. What is returned after that is dropped.
   * @returns The result or a promise of it: any JSON value; text reaches the model as it is, everything else as JSON
   *   text. A rejection reaches the model as an error with its message.
   */
  invoke(call: BrowserToolCall, signal: AbortSignal): unknown
}

/** The browser Tools of one owner on one Agent. */
export interface BrowserToolLease {
  readonly agent: Agent
  readonly owner: string
  /** Names of the Tools that the Agent has through this lease. */
  readonly tools: readonly string[]
  /**
   * Replaces the Tools, all or nothing. The model sees the change at its next step; calls in flight go on.
   *
   * @param tools - All Tools that the lease shall have.
   * @throws An `Error` with `code`, and `violations` when a schema is at fault. Nothing has changed then.
   */
  update(tools: readonly BrowserTool[]): void
  /** Takes the Tools back and rejects what is pending. Idempotent. */
  dispose(): void
}

/** Stable codes of {@link BrowserToolError}. */
export type BrowserToolErrorCode =
  /** The name of an owner does not match `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`. */
  | 'INVALID_BROWSER_TOOL_OWNER'
  /** The owner has a live lease on this Agent: update that one, or dispose it first. */
  | 'BROWSER_TOOL_LEASE_EXISTS'
  /** The lease is over. */
  | 'BROWSER_TOOL_LEASE_DISPOSED'
  /** The Agent is gone. */
  | 'AGENT_NOT_AVAILABLE'
  /** Tools that are no JSON. */
  | 'INVALID_FRONTEND_TOOL'
  /** The Agent got a Tool of the same name from elsewhere while the lease was live. */
  | 'FRONTEND_TOOL_NAME_COLLISION'
  /** Arguments of a call do not satisfy the Tool's parameters. */
  | 'INVALID_BROWSER_TOOL_ARGUMENTS'
  /** The browser did not answer in time. */
  | 'BROWSER_TOOL_TIMEOUT'
  /** The call was cancelled with its turn. */
  | 'BROWSER_TOOL_ABORTED'
  /** The transport failed with something that is no `Error`. */
  | 'BROWSER_TOOL_FAILED'

/** An error of the broker. Those of the Tools' validation are plain `Error`s with a `code` of the gateway's table. */
export class BrowserToolError extends Error {
  override readonly name = 'BrowserToolError'
  readonly code: BrowserToolErrorCode

  /**
   * @param code - Stable code.
   * @param message - For people, and for the model where a call fails.
   */
  constructor(code: BrowserToolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Configuration of the `browser-tools` row. */
export interface BrowserToolsConfig {
  /** Most Tools of one lease. Default 32. */
  maxTools?: number
  /** Most UTF-8 bytes of the JSON of one lease's Tools. Default 131072. */
  maxToolBytes?: number
  /** Deepest nesting of arrays and objects in the parameters of one Tool. Default 16. */
  maxToolSchemaDepth?: number
  /** Longest wait for the result of a call, in milliseconds. Default 300000. */
  timeoutMs?: number
  /** What happens to schemas outside the subset that DSH enforces. Default `normalize`. */
  toolSchemas?: ToolSchemas
}

/** The longest delay that a timer keeps, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1
const MAX_COUNT = 2 ** 32 - 1
const OWNER = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

/** The Cordis service behind `ctx.browserTools`. */
export class BrowserTools extends Service {
  static inject = ['tools']

  static Config: z<BrowserToolsConfig> = z.object({
    maxTools: z.natural().min(1).max(MAX_COUNT).default(32),
    maxToolBytes: z.natural().min(1).max(MAX_COUNT).default(131_072),
    maxToolSchemaDepth: z.natural().min(1).max(MAX_COUNT).default(16),
    timeoutMs: z.natural().min(1).max(MAX_DELAY).default(300_000),
    toolSchemas: z.union(['strict', 'normalize'] as const).default('normalize'),
  })

  /** Not `#private`: callers reach the service through a proxy of Cordis. */
  private readonly broker: Broker

  constructor(ctx: Context, config: BrowserToolsConfig = {}) {
    super(ctx, 'browserTools')
    this.broker = new Broker(ctx, BrowserTools.Config(config))
  }

  /**
   * Leases Tools to an Agent. The lease ends with `dispose()`, with the plugin that called `bind`, with the Agent,
   * and with this service, whichever comes first.
   *
   * @param agent - A live Agent of this Host. Only this one gets the Tools.
   * @param owner - Names the lease: one owner has at most one on one Agent. Any stable id of the caller's, such as
   *   that of a page or a connection: `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`. It grants nothing.
   * @param tools - The Tools, at first. May be empty.
   * @param transport - Runs the calls.
   * @throws An `Error` with `code`, and `violations` when a schema is at fault. Nothing is registered then.
   */
  bind(agent: Agent, owner: string, tools: readonly BrowserTool[], transport: BrowserToolTransport): BrowserToolLease {
    return this.broker.bind(this.ctx, agent, owner, tools, transport)
  }
}

export default BrowserTools

/** All leases of one service. */
class Broker {
  readonly ctx: Context
  readonly config: Required<BrowserToolsConfig>
  readonly #leases = new Map<Agent, Map<string, Lease>>()
  #changesAreOurs = false
  #isCheckDue = false

  constructor(ctx: Context, config: BrowserToolsConfig) {
    this.ctx = ctx
    this.config = config as Required<BrowserToolsConfig>
    ctx.effect(() => () => {
      for (const lease of this.#all()) lease.dispose()
    }, 'browser-tools: leases')
    ctx.on('tools/change', () => this.#toolsChanged())
  }

  bind(
    caller: Context, agent: Agent, owner: string, tools: readonly BrowserTool[], transport: BrowserToolTransport,
  ): Lease {
    if (typeof owner !== 'string' || !OWNER.test(owner)) {
      throw new BrowserToolError('INVALID_BROWSER_TOOL_OWNER', `browser Tool owner must match ${OWNER.source}`)
    }
    const leases = this.#leases.get(agent) ?? new Map<string, Lease>()
    if (leases.has(owner)) {
      throw new BrowserToolError('BROWSER_TOOL_LEASE_EXISTS', `owner "${owner}" has a live lease on this Agent`)
    }
    const lease = new Lease(this, agent, owner, transport, () => {
      leases.delete(owner)
      if (leases.size === 0) this.#leases.delete(agent)
    })
    leases.set(owner, lease)
    this.#leases.set(agent, leases)
    try {
      lease.endWith(caller)
      lease.endWithAgent()
      lease.update(tools)
    } catch (error) {
      lease.dispose()
      throw error
    }
    return lease
  }

  /** Changes an Agent's own scope. That is no news to other leases: nobody inherits from it. */
  quietly<T>(change: () => T): T {
    this.#changesAreOurs = true
    try {
      return change()
    } finally {
      this.#changesAreOurs = false
    }
  }

  #all(): Lease[] {
    return [...this.#leases.values()].flatMap(leases => [...leases.values()])
  }

  /** Tools came or went somewhere. Looks after it once the Host has finished telling everyone. */
  #toolsChanged(): void {
    if (this.#changesAreOurs || this.#isCheckDue) return
    this.#isCheckDue = true
    queueMicrotask(() => {
      this.#isCheckDue = false
      for (const lease of this.#all()) lease.withdrawCollisions()
    })
  }
}

interface Registration {
  readonly definition: ToolDefinition
  readonly unregister: () => void
}

/** A call that waits for the browser. */
interface PendingCall {
  readonly name: string
  fail(error: BrowserToolError): void
}

class Lease implements BrowserToolLease {
  readonly agent: Agent
  readonly owner: string
  readonly #broker: Broker
  readonly #transport: BrowserToolTransport
  readonly #registrations = new Map<string, Registration>()
  readonly #calls = new Set<PendingCall>()
  readonly #releases: (() => void)[]
  #set: BrowserToolSet
  #isLive = true

  constructor(broker: Broker, agent: Agent, owner: string, transport: BrowserToolTransport, release: () => void) {
    this.#broker = broker
    this.agent = agent
    this.owner = owner
    this.#transport = transport
    this.#releases = [release]
    this.#set = new BrowserToolSet(broker.config)
  }

  get tools(): readonly string[] {
    return this.#isLive ? this.#set.names : []
  }

  update(tools: readonly BrowserTool[]): void {
    if (!this.#isLive) throw this.#disposed()
    const next = this.#set.replace(encodeTools(tools), this.#takenNames())
    const { unregister, register } = next.changesFrom(this.#set)
    this.#broker.quietly(() => this.#apply(unregister, register, next))
    this.#set = next
  }

  dispose(): void {
    if (!this.#isLive) return
    this.#isLive = false
    this.#broker.quietly(() => {
      for (const { unregister } of this.#registrations.values()) unregister()
    })
    this.#registrations.clear()
    this.#failCalls(() => true, this.#disposed())
    for (const release of this.#releases.splice(0)) release()
  }

  /** Ends the lease with the plugin that asked for it. */
  endWith(caller: Context): void {
    // The disposer comes back here when the lease ends first.
    this.#releases.push(caller.effect(() => () => this.dispose(), `browser-tools: lease of ${this.owner}`))
  }

  /** Ends the lease with its Agent. */
  endWithAgent(): void {
    try {
      this.endWith(this.agent.ctx)
    } catch (cause) {
      throw new BrowserToolError('AGENT_NOT_AVAILABLE', 'the Agent is gone', { cause })
    }
  }

  /** Takes back Tools whose names the Agent now has from elsewhere: ours must not stand in front of them. */
  withdrawCollisions(): void {
    const taken = this.#takenNames()
    for (let name = this.#set.collision(taken); name !== null; name = this.#set.collision(taken)) {
      this.#withdraw(name)
    }
  }

  #withdraw(name: string): void {
    this.#broker.ctx.logger.warn(`browser Tool "${name}" of owner "${this.owner}" gives way to a Tool of the same name`)
    this.#broker.quietly(() => this.#registrations.get(name)?.unregister())
    this.#registrations.delete(name)
    this.#set = this.#set.without(name)
    const message = `browser Tool "${name}" collides with a Tool that the Agent got from elsewhere`
    this.#failCalls(call => call.name === name, new BrowserToolError('FRONTEND_TOOL_NAME_COLLISION', message))
  }

  /**
   * Names that the Agent has without this lease. A Tool of a preset that appears behind one of ours cannot be seen
   * here; global ones can, at any time.
   */
  #takenNames(): string[] {
    const { tools } = this.#broker.ctx
    const isOurs = (name: string): boolean => {
      const ours = this.#registrations.get(name)
      return ours !== undefined && tools.get(name, this.agent) === ours.definition
    }
    const visible = tools.schemas(this.agent).map(schema => schema.name)
    return [...tools.schemas().map(schema => schema.name), ...visible.filter(name => !isOurs(name))]
  }

  /** Makes the Agent's scope what `next` says, or leaves it as it was. */
  #apply(unregister: readonly string[], register: readonly BrowserToolRegistration[], next: BrowserToolSet): void {
    const before = new Map(this.#registrations)
    try {
      for (const name of unregister) this.#unregister(name)
      for (const tool of register) this.#register(this.#define(tool, next))
    } catch (error) {
      for (const [name, { definition }] of this.#registrations) {
        if (before.get(name)?.definition !== definition) this.#unregister(name)
      }
      for (const [name, { definition }] of before) {
        if (!this.#registrations.has(name)) this.#register(definition)
      }
      throw error
    }
  }

  #register(definition: ToolDefinition): void {
    const unregister = this.agent.ctx.tools.register(definition)
    this.#registrations.set(definition.name, { definition, unregister })
  }

  #unregister(name: string): void {
    this.#registrations.get(name)?.unregister()
    this.#registrations.delete(name)
  }

  #define({ name, description, parameters }: BrowserToolRegistration, set: BrowserToolSet): ToolDefinition {
    return {
      name,
      description,
      parameters: JSON.parse(parameters) as Record<string, unknown>,
      output: {
        schema: {},
        render: (_args, value) => [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
      },
      // The Host holds the calls behind an exclusive one back until that has its result; the browser gets all at once.
      isConcurrencySafe: () => true,
      execute: (args, exec) => this.#execute(name, args, exec, set),
    }
  }

  /** The body of a Tool. Settles within the time limit, and at once when the call is aborted or the lease ends. */
  async #execute(name: string, args: unknown, exec: ToolRunContext, set: BrowserToolSet): Promise<unknown> {
    if (!this.#isLive) throw this.#disposed()
    if (exec.agent !== undefined && exec.agent !== this.agent) {
      throw new BrowserToolError('AGENT_NOT_AVAILABLE', `browser Tool "${name}" belongs to another Agent`)
    }
    // The Host hands over broken JSON of the model as text, which no object schema accepts.
    const violations = set.check(name, JSON.stringify(args ?? null))
    if (violations.length > 0) {
      const message = `invalid arguments for browser Tool "${name}": ${violations.join('; ')}`
      throw new BrowserToolError('INVALID_BROWSER_TOOL_ARGUMENTS', message)
    }
    return this.#call({ callId: exec.callId, name, arguments: args }, exec.signal)
  }

  #call(call: BrowserToolCall, turn: AbortSignal): Promise<unknown> {
    const { name } = call
    const { timeoutMs } = this.#broker.config
    return new Promise((resolve, reject) => {
      const controller = new AbortController()
      const pending: PendingCall = {
        name,
        fail: (error) => {
          end()
          reject(error)
          controller.abort(error)
        },
      }
      // The reason of the Host's signal is no Error and means nothing to a model.
      const onAbort = (): void => {
        pending.fail(new BrowserToolError('BROWSER_TOOL_ABORTED', `call of browser Tool "${name}" was cancelled`))
      }
      const timer = setTimeout(() => {
        const message = `browser Tool "${name}" did not answer within ${timeoutMs} ms`
        pending.fail(new BrowserToolError('BROWSER_TOOL_TIMEOUT', message))
      }, timeoutMs)
      timer.unref()
      const end = (): void => {
        clearTimeout(timer)
        turn.removeEventListener('abort', onAbort)
        this.#calls.delete(pending)
      }
      this.#calls.add(pending)
      if (turn.aborted) return onAbort()
      turn.addEventListener('abort', onAbort, { once: true })
      // Whatever comes after `fail` finds the promise settled.
      invoke(this.#transport, call, controller.signal).finally(end).then(resolve, reject)
    })
  }

  #failCalls(which: (call: PendingCall) => boolean, error: BrowserToolError): void {
    for (const call of [...this.#calls].filter(which)) call.fail(error)
  }

  #disposed(): BrowserToolError {
    return new BrowserToolError('BROWSER_TOOL_LEASE_DISPOSED', `browser Tool lease of "${this.owner}" is disposed`)
  }
}

/** Runs the transport. `undefined` reads as `null`; a failure is always an `Error`, so that the model can read it. */
async function invoke(transport: BrowserToolTransport, call: BrowserToolCall, signal: AbortSignal): Promise<unknown> {
  try {
    return await transport.invoke(call, signal) ?? null
  } catch (error) {
    if (error instanceof Error) throw error
    const message = typeof error === 'string' ? error : `browser Tool "${call.name}" failed`
    throw new BrowserToolError('BROWSER_TOOL_FAILED', message, { cause: error })
  }
}

function encodeTools(tools: readonly BrowserTool[]): string {
  try {
    return JSON.stringify(tools) ?? 'null'
  } catch (cause) {
    throw new BrowserToolError('INVALID_FRONTEND_TOOL', 'browser Tools must be plain JSON', { cause })
  }
}
