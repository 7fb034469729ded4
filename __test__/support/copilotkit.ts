/**
 * CopilotKit in front of the gateway: the runtime that an application mounts, and the core of its pages, without React (X7).
 */

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { HttpAgent } from '@ag-ui/client'
import { installAside } from './aside.ts'
import { SECRET } from './gateway.ts'
import type { WireEvent, WireMessage } from './wire.ts'

const AGENT = 'dsh'
const BASE = '/api/copilotkit'

/** A Tool of a page. `parameters` is a Zod schema. */
export interface PageTool {
  readonly name: string
  readonly description?: string
  readonly parameters?: unknown
  readonly followUp?: boolean
  readonly type?: 'human-in-the-loop'
  readonly handler?: (args: never) => unknown
}

/** What a page is told of a run that failed. */
export interface PageError {
  readonly code: string
  readonly error: Error
}

/** A run of {@link Core}. */
interface RunParameters {
  readonly agent: HttpAgent
  readonly resume?: readonly object[]
  readonly runId?: string
  readonly forwardedProps?: object
}

interface Core {
  runAgent(parameters: RunParameters): Promise<unknown>
  stopAgent(parameters: { readonly agent: HttpAgent }): void
  connectAgent(parameters: { readonly agent: HttpAgent }): Promise<unknown>
  subscribe(subscriber: { readonly onError: (error: PageError) => void }): { unsubscribe(): void }
}

interface Packages {
  readonly CopilotKitCore: new (config: {
    readonly tools: readonly PageTool[]
    readonly agents__unsafe_dev_only: Readonly<Record<string, HttpAgent>>
  }) => Core
  /** The agent that a page has for each one that its runtime names. */
  readonly ProxiedCopilotRuntimeAgent: new (config: { readonly runtimeUrl: string, readonly agentId: string, readonly threadId: string, readonly transport: 'rest' }) => HttpAgent
  readonly CopilotRuntime: new (options: { readonly agents: Readonly<Record<string, unknown>>, readonly a2ui?: object }) => object
  readonly createCopilotNodeListener: (options: { readonly runtime: object, readonly basePath: string }) => RequestListener
  readonly HttpAgent: typeof HttpAgent
  /** The builder of schemas that pages use. */
  readonly z: Zod
}

/** As much of Zod as the tests build with. */
interface Zod {
  object(shape: Readonly<Record<string, unknown>>): unknown
  string(): { describe(text: string): unknown, optional(): unknown }
  enum(values: readonly string[]): unknown
  array(item: unknown): unknown
}

let loaded: Packages | undefined

/** The packages, installed on first use (250 MB). */
export function copilotKit(): Packages {
  if (loaded !== undefined) return loaded
  const project = installAside('copilotkit', {
    'package.json': JSON.stringify({
      name: 'copilotkit',
      private: true,
      dependencies: { '@ag-ui/client': '0.0.59', '@copilotkit/core': '1.75.0', '@copilotkit/runtime': '1.75.0', 'zod': '3.25.76' },
      pnpm: { onlyBuiltDependencies: [] },
    }, null, 2),
  })
  // They report to their makers unless they are told not to.
  Object.assign(process.env, { COPILOTKIT_TELEMETRY_DISABLED: 'true', DO_NOT_TRACK: '1' })
  const load = createRequire(join(project, 'package.json'))
  loaded = {
    ...load('@copilotkit/core') as Pick<Packages, 'CopilotKitCore' | 'ProxiedCopilotRuntimeAgent'>,
    ...load('@copilotkit/runtime/v2') as Pick<Packages, 'CopilotRuntime'>,
    ...load('@copilotkit/runtime/v2/node') as Pick<Packages, 'createCopilotNodeListener'>,
    ...load('@ag-ui/client') as Pick<Packages, 'HttpAgent'>,
    ...load('zod') as Pick<Packages, 'z'>,
  }
  return loaded
}

/** A runtime that serves one gateway: it holds the secret, and says who the user is. */
export class CopilotServer {
  readonly url: string
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`
  }

  static async start(t: TestContext, gateway: { readonly url: string }, options: { readonly a2ui?: object } = {}): Promise<CopilotServer> {
    const { CopilotRuntime, createCopilotNodeListener, HttpAgent } = copilotKit()
    const headers = { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'tenant-1', 'x-dsh-user-id': 'user-1' }
    const runtime = new CopilotRuntime({ agents: { [AGENT]: new HttpAgent({ url: gateway.url, headers }) }, ...options })
    const server = createServer(createCopilotNodeListener({ runtime, basePath: BASE }))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const started = new CopilotServer(server)
    t.after(() => started.stop())
    return started
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => { this.#server.close(resolve) })
  }
}

/** A page: it knows the runtime only. */
export class CopilotPage {
  readonly agent: HttpAgent
  /** Events of its runs, in order. */
  readonly events: WireEvent[] = []
  /** What went wrong. */
  readonly errors: PageError[] = []
  readonly #core: Core

  /** Opens a page on a thread, with Tools of its own. */
  constructor(server: CopilotServer, threadId: string, tools: readonly PageTool[] = []) {
    const { CopilotKitCore, ProxiedCopilotRuntimeAgent } = copilotKit()
    // A page finds its agents by itself only where there is a window.
    this.agent = new ProxiedCopilotRuntimeAgent({ runtimeUrl: server.url, agentId: AGENT, threadId, transport: 'rest' })
    this.#core = new CopilotKitCore({ tools, agents__unsafe_dev_only: { [AGENT]: this.agent } })
    this.agent.subscribe({ onEvent: ({ event }) => { this.events.push(event as unknown as WireEvent) } })
    this.#core.subscribe({ onError: (error) => { this.errors.push(error) } })
  }

  get messages(): readonly WireMessage[] {
    return this.agent.messages as readonly WireMessage[]
  }

  /** Says something, and waits for the run and those that follow it. */
  async say(text: string): Promise<void> {
    this.agent.addMessage({ id: randomUUID(), role: 'user', content: text })
    await this.run()
  }

  /** Runs with what the page holds. */
  async run(parameters: Omit<RunParameters, 'agent'> = {}): Promise<void> {
    await this.#core.runAgent({ agent: this.agent, ...parameters })
  }

  /** Gets what the runtime has of the thread, as a page does that has just been loaded. */
  async reconnect(): Promise<void> {
    await this.#core.connectAgent({ agent: this.agent })
  }

  /** The person presses stop. */
  stop(): void {
    this.#core.stopAgent({ agent: this.agent })
  }

  /** Waits for the first event that matches, of those that come. */
  next(matches: (event: WireEvent) => boolean): Promise<WireEvent> {
    return new Promise((resolve) => {
      const { unsubscribe } = this.agent.subscribe({
        onEvent: ({ event }) => {
          if (!matches(event as unknown as WireEvent)) return
          unsubscribe()
          resolve(event as unknown as WireEvent)
        },
      })
    })
  }
}
