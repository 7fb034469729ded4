/**
 * One lease: Tools in an Agent's scope, and the calls that wait for a browser.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { ToolDefinition, ToolRunContext } from '@deepseek-ai/dsh-tools'
import { BrowserToolSet } from 'dsh-ag-ui/native'
import type { BrowserToolLimits, BrowserToolRegistration } from 'dsh-ag-ui/native'
import { BrowserToolError } from './types.ts'
import type { BrowserTool, BrowserToolCall, BrowserToolLease, BrowserToolTransport } from './types.ts'

/** What leases have in common. */
export interface LeaseTerms {
  /** The service's own context; needs `tools`. */
  readonly ctx: Context
  /** Bounds of the Tools of one lease. */
  readonly limits: BrowserToolLimits
  /** Longest wait for the result of a call, in milliseconds. */
  readonly toolTimeoutMs: number
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

/** @see BrowserToolLease */
export class Lease implements BrowserToolLease {
  readonly agent: Agent
  readonly owner: string
  readonly #terms: LeaseTerms
  readonly #transport: BrowserToolTransport
  readonly #registrations = new Map<string, Registration>()
  readonly #calls = new Set<PendingCall>()
  readonly #releases: (() => void)[]
  #set: BrowserToolSet
  #isLive = true

  /**
   * @param terms - What leases have in common.
   * @param agent - Who gets the Tools.
   * @param owner - Names the lease.
   * @param transport - Runs the calls.
   * @param release - Called once, when the lease is over.
   */
  constructor(
    terms: LeaseTerms, agent: Agent, owner: string, transport: BrowserToolTransport, release: () => void,
  ) {
    this.#terms = terms
    this.agent = agent
    this.owner = owner
    this.#transport = transport
    this.#releases = [release]
    this.#set = new BrowserToolSet(terms.limits)
  }

  get tools(): readonly string[] {
    return this.#isLive ? this.#set.names : []
  }

  update(tools: readonly BrowserTool[]): void {
    if (!this.#isLive) throw this.#disposed()
    const next = this.#set.replace(encodeTools(tools), this.#takenNames())
    const { unregister, register } = next.changesFrom(this.#set)
    this.#apply(unregister, register, next)
    this.#set = next
  }

  dispose(): void {
    if (!this.#isLive) return
    this.#isLive = false
    for (const { unregister } of this.#registrations.values()) unregister()
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
    this.#terms.ctx.logger.warn(`browser Tool "${name}" of owner "${this.owner}" gives way to a Tool of the same name`)
    this.#unregister(name)
    this.#set = this.#set.without(name)
    const message = `browser Tool "${name}" collides with a Tool that the Agent got from elsewhere`
    this.#failCalls(call => call.name === name, new BrowserToolError('FRONTEND_TOOL_NAME_COLLISION', message))
  }

  /**
   * Names that the Agent has without this lease. A Tool of a preset that appears behind one of ours cannot be seen
   * here; global ones can, at any time.
   */
  #takenNames(): string[] {
    const { tools } = this.#terms.ctx
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
    const { toolTimeoutMs } = this.#terms
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
        const message = `browser Tool "${name}" did not answer within ${toolTimeoutMs} ms`
        pending.fail(new BrowserToolError('BROWSER_TOOL_TIMEOUT', message))
      }, toolTimeoutMs)
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
