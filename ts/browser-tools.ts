/**
 * `ctx.browserTools`: leases on Tools whose bodies run in a browser (G23).
 *
 * A caller chooses an existing Agent and brings the transport; the broker does the rest: it validates the Tools,
 * registers them in that Agent's own scope, refuses names that the Agent already has, checks the arguments of each
 * call, and settles each call in bounded time. It never creates an Agent.
 *
 * The rules for names, schemas and arguments are those of the native core; the only thing of DSH that is needed at run
 * time is the `Service` of Cordis.
 *
 * @module dsh-ag-ui/browser-tools
 */

import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import z from '@deepseek-ai/schemastery'
import type { BrowserToolLimits, ToolSchemas } from 'dsh-ag-ui/native'
import { Lease } from './browser-tools/lease.ts'
import type { LeaseTerms } from './browser-tools/lease.ts'
import { BrowserToolError } from './browser-tools/types.ts'
import type { BrowserTool, BrowserToolLease, BrowserToolTransport } from './browser-tools/types.ts'

export { BrowserToolError } from './browser-tools/types.ts'
export type {
  BrowserTool, BrowserToolCall, BrowserToolErrorCode, BrowserToolLease, BrowserToolTransport,
} from './browser-tools/types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    browserTools: BrowserTools
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
  toolTimeoutMs?: number
  /** What happens to schemas outside the subset that DSH enforces. Default `normalize`. */
  toolSchemas?: ToolSchemas
}

/** A configuration with its defaults filled in. */
type ResolvedConfig = Required<BrowserToolsConfig>

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
    toolTimeoutMs: z.natural().min(1).max(MAX_DELAY).default(300_000),
    toolSchemas: z.union(['strict', 'normalize'] as const).default('normalize'),
  })

  /** Not `#private`: callers reach the service through a proxy of Cordis. */
  private readonly broker: Broker

  constructor(ctx: Context, config: BrowserToolsConfig = {}) {
    super(ctx, 'browserTools')
    this.broker = new Broker(ctx, BrowserTools.Config(config) as ResolvedConfig)
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
class Broker implements LeaseTerms {
  readonly ctx: Context
  readonly limits: BrowserToolLimits
  readonly toolTimeoutMs: number
  readonly #leases = new Map<Agent, Map<string, Lease>>()
  #isCheckDue = false

  constructor(ctx: Context, { toolTimeoutMs, ...limits }: ResolvedConfig) {
    this.ctx = ctx
    this.limits = limits
    this.toolTimeoutMs = toolTimeoutMs
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

  #all(): Lease[] {
    return [...this.#leases.values()].flatMap(leases => [...leases.values()])
  }

  /** Tools came or went, perhaps ours. Looks for collisions once the Host has finished telling everyone. */
  #toolsChanged(): void {
    if (this.#isCheckDue) return
    this.#isCheckDue = true
    queueMicrotask(() => {
      this.#isCheckDue = false
      if (this.ctx.get('tools') === undefined) return // and this service is about to go, too
      for (const lease of this.#all()) lease.withdrawCollisions()
    })
  }
}
