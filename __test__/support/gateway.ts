/**
 * The gateway mounted in a test's Host, and clients of it over real HTTP.
 */

import assert from 'node:assert/strict'
import { Agent as HttpPool, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Fiber } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { WebRoute } from '@deepseek-ai/dsh-host-webserver'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import AgUi from 'dsh-ag-ui'
import type { Config } from 'dsh-ag-ui'
import { bootHost, Gate, logOf, MODEL, mountPlugin, PROVIDER } from './host.ts'
import type { BootOptions, ScriptedAdapter, TestHost } from './host.ts'
import { FrameReader } from './wire.ts'
import type { WireEvent } from './wire.ts'

export * from './host.ts'
export * from './wire.ts'

export const SECRET = 'a secret of this test'
const HEADERS = {
  'authorization': `Bearer ${SECRET}`,
  'content-type': 'application/json',
  'x-dsh-tenant-id': 'tenant-1',
  'x-dsh-user-id': 'user-1',
} as const
/** Names a request to the instrumented route. */
const TRACE = 'x-test-request'

/** What a request may differ in. A header set to `undefined` is not sent. */
export interface PostOptions {
  readonly method?: string
  /** Behind the route base. */
  readonly rest?: string
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** An answer that is not a stream. */
export interface Refusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly code: string
  readonly message: string
}

/** One request and its response. */
export class Exchange {
  readonly frames = new FrameReader()
  /** Which request of its gateway this is. */
  readonly position: number
  /** Resolves when the gateway has decided what becomes of the request: answered, admitted or waiting. */
  readonly received: Promise<void>
  readonly #request: ClientRequest
  readonly #response: Promise<IncomingMessage>
  readonly #body: Promise<string>
  #changed = Promise.withResolvers<void>()
  #over = false

  constructor(request: ClientRequest, position: number, received: Promise<void>) {
    this.#request = request
    this.position = position
    this.received = received
    this.#response = new Promise((resolve, reject) => {
      request.once('response', resolve)
      request.once('error', reject)
    })
    this.#body = this.#read()
    this.#body.catch(() => {})
    this.#response.catch(() => {})
  }

  get events(): readonly WireEvent[] {
    return this.frames.events
  }

  /** The status of the answer, once it has begun. */
  get status(): Promise<number> {
    return this.#response.then(({ statusCode }) => statusCode ?? 0)
  }

  /** Waits for the first event that matches, of those that came and those that come. */
  async next(matches: string | ((event: WireEvent) => boolean)): Promise<WireEvent> {
    const test = typeof matches === 'string' ? (event: WireEvent) => event.type === matches : matches
    for (;;) {
      const found = this.events.find(test)
      if (found !== undefined) return found
      if (this.#over) {
        await this.#body
        assert.fail(`the run ended without the event: ${JSON.stringify(this.events)}`)
      }
      await this.#changed.promise
    }
  }

  /** Waits for a comment frame behind the first `count`. */
  async comment(count = 0): Promise<void> {
    while (this.frames.comments <= count && !this.#over) await this.#changed.promise
    assert.ok(this.frames.comments > count, 'a comment frame comes')
  }

  /** The whole run, after its clean end; its framing is checked. */
  async end(): Promise<readonly WireEvent[]> {
    const text = await this.#body
    const response = await this.#response
    assert.equal(response.statusCode, 200, text)
    assert.equal(response.headers['content-type'], 'text/event-stream')
    assert.equal(response.headers['cache-control'], 'no-cache, no-transform')
    assert.equal(response.headers['x-accel-buffering'], 'no')
    this.frames.end()
    return this.events
  }

  /** The body as it came, after its clean end. */
  text(): Promise<string> {
    return this.#body
  }

  /** The refusal that the answer must be. */
  async refused(): Promise<Refusal> {
    const text = await this.#body
    const { statusCode = 0, headers } = await this.#response
    assert.equal(headers['content-type'], 'application/json', text)
    const { code, message, ...others } = JSON.parse(text) as { code: string, message: string }
    assert.deepEqual(others, {})
    return { status: statusCode, headers, code, message }
  }

  /** Breaks the connection off. */
  leave(): void {
    this.#request.destroy()
  }

  async #read(): Promise<string> {
    try {
      const response = await this.#response
      const stream = response.headers['content-type'] === 'text/event-stream'
      response.setEncoding('utf8')
      let text = ''
      for await (const chunk of response) {
        text += chunk as string
        if (stream && this.frames.push(chunk as string)) this.#wake()
      }
      assert.ok(response.complete, 'the body has a clean end')
      return text
    } finally {
      this.#over = true
      this.#wake()
    }
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

/** Fields of a request; the others get harmless defaults. */
export interface InputFields {
  readonly threadId?: string
  readonly runId?: string
  readonly parentRunId?: string
  readonly messages?: readonly object[]
  readonly tools?: readonly object[]
  readonly context?: readonly object[]
  readonly state?: unknown
  readonly forwardedProps?: unknown
  readonly resume?: readonly object[]
  readonly protocolVersion?: string
}

let runs = 0

/** A request body. The run id is a fresh one unless given. */
export function input(fields: InputFields = {}): Record<string, unknown> {
  runs += 1
  return {
    threadId: 'thread-1', runId: `run-${runs}`, messages: [], tools: [], context: [], state: {}, forwardedProps: {}, ...fields,
  }
}

/** A person's message. */
export function user(id: string, content: unknown): object {
  return { id, role: 'user', content }
}

/** A browser's answer to a call. */
export function answer(id: string, toolCallId: string, content: string, others: object = {}): object {
  return { id, role: 'tool', toolCallId, content, ...others }
}

/** A browser Tool with one optional text argument. */
export function browserTool(name: string, others: object = {}): object {
  return {
    name,
    description: `Does ${name} in the page.`,
    parameters: { type: 'object', properties: { label: { type: 'string' } }, additionalProperties: false },
    ...others,
  }
}

/** The gateway in a Host. */
export class TestGateway {
  readonly host: TestHost
  readonly adapter: ScriptedAdapter
  /** The Host's side of every response that the route has seen, by {@link Exchange.position}. */
  readonly responses: ServerResponse[] = []
  readonly #config: Partial<Config>
  readonly #pool = new HttpPool({ keepAlive: false })
  readonly #received = new Map<string, () => void>()
  #plugin: Fiber | undefined
  #requests = 0

  constructor(host: TestHost, config: Partial<Config>) {
    this.host = host
    this.adapter = host.adapter
    this.#config = config
    this.#instrument()
  }

  /** The run endpoint. */
  get url(): string {
    return `${this.host.url}${this.#config.path ?? '/ag-ui'}`
  }

  /** Live root agents of the Host. */
  get agents(): readonly Agent[] {
    return this.host.ctx.agents.roots()
  }

  /** Mounts the plugin. */
  async mount(config: Partial<Config> = {}): Promise<void> {
    this.#plugin = await this.host.ctx.plugin(AgUi, configOf(this.host, { ...this.#config, ...config }) as never)
  }

  /** Unloads the plugin, and waits for that. */
  async unload(): Promise<void> {
    await this.#plugin?.dispose()
    this.#plugin = undefined
  }

  /** The live agent of a thread. */
  agentOf(threadId = 'thread-1', tenantId = 'tenant-1', userId = 'user-1'): Agent | undefined {
    return this.agents.find((agent) => {
      const identity = this.host.ctx.agUi.identityFor(agent)
      return identity?.threadId === threadId
        && identity.principal.tenantId === tenantId && identity.principal.userId === userId
    })
  }

  /** The live agent of a thread that must have one. */
  agent(threadId?: string): Agent {
    const agent = this.agentOf(threadId)
    assert.ok(agent !== undefined, 'the thread has an agent')
    return agent
  }

  /** Sends a request; a string goes out as it stands. */
  post(body: object | string, { method = 'POST', rest = '', headers = {} }: PostOptions = {}): Exchange {
    this.#requests += 1
    const trace = String(this.#requests)
    const received = new Promise<void>((resolve) => { this.#received.set(trace, resolve) })
    const sent: Record<string, string | readonly string[] | undefined> = { ...HEADERS, [TRACE]: trace, ...headers }
    const defined = Object.entries(sent).flatMap(([name, value]) =>
      value === undefined ? [] : typeof value === 'string' ? [[name, value]] : value.map(one => [name, one])).flat()
    // A list of header lines may repeat a name, but then nothing is added to it.
    const request = httpRequest(`${this.url}${rest}`, {
      method,
      agent: this.#pool,
      headers: [
        ...defined, 'host', new URL(this.url).host,
        // Without an announced length the body goes out in chunks.
        ...sent['content-length'] === undefined ? ['transfer-encoding', 'chunked'] : [],
      ] as never,
    })
    request.on('error', () => {})
    request.end(typeof body === 'string' ? body : JSON.stringify(body))
    return new Exchange(request, this.#requests, received)
  }

  /** Makes a run and waits for its end. */
  run(fields: InputFields = {}): Promise<readonly WireEvent[]> {
    return this.post(input(fields)).end()
  }

  /** Sends a request that must be refused. */
  refuse(body: object | string, options?: PostOptions): Promise<Refusal> {
    return this.post(body, options).refused()
  }

  /** Makes the Host's agents wait at a gate before they are opened. Returns what lets later ones through again. */
  holdOpening(gate: Gate): () => void {
    const agents = original(this.host.ctx.agents)
    const { create } = agents
    agents.create = async function (options) {
      await gate.pass()
      return await create.call(this, options)
    }
    return () => { agents.create = create }
  }

  /** Makes the Host's selections of presets wait. Returns the gate. */
  holdSelection(): Gate {
    const gate = new Gate()
    const presets = original(this.host.ctx.agentPresets)
    const { recompose } = presets
    presets.recompose = async function (...args) {
      await gate.pass()
      return await recompose.apply(this, args)
    }
    return gate
  }

  /** Makes the Host refuse every Tool of that name. */
  refuseTool(name: string): void {
    const tools = original(this.host.ctx.tools)
    const { register } = tools
    tools.register = function (definition) {
      if (definition.name === name) throw new Error(`the Host will not have "${name}"`)
      return register.call(this, definition)
    }
  }

  /** Resolves when the Host has noticed that the client of an exchange left. */
  left(exchange: Exchange): Promise<void> {
    const res = this.responses[exchange.position]
    return new Promise((resolve) => {
      if (res === undefined || res.closed) resolve()
      else res.once('close', resolve)
    })
  }

  /** Lets requests say when the route is done with them. */
  #instrument(): void {
    const server = original(this.host.ctx.webServer)
    const { register } = server
    server.register = (route: WebRoute) => register.call(server, {
      ...route,
      handler: async (req: IncomingMessage, res: ServerResponse) => {
        this.responses[Number(req.headers[TRACE])] = res
        await route.handler(req, res)
        this.#received.get(String(req.headers[TRACE]))?.()
      },
    })
  }
}

/** The service behind the proxy that a context hands out. */
export function original<T extends object>(service: T): T {
  return (service as { [key: symbol]: T })[Symbol.for('cordis.original')] ?? service
}

/** A whole configuration. */
export function configOf(host: TestHost, config: Partial<Config> = {}): Partial<Config> {
  return {
    provider: PROVIDER, model: MODEL, sharedSecret: SECRET, workspaceRoot: join(host.home, 'workspaces'), ...config,
  }
}

/** Boots a Host with the gateway; both go with the test. */
export async function bootGateway(t: TestContext, config: Partial<Config> = {}, options: BootOptions = {}): Promise<TestGateway> {
  const host = await bootHost(options)
  t.after(() => host.dispose())
  const gateway = new TestGateway(host, config)
  await gateway.mount()
  return gateway
}

/** A Tool of the Host: answers with its arguments as JSON unless told otherwise. */
export function hostTool(name: string, others: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name,
    description: `Does ${name}.`,
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
    output: { schema: {}, render: (_args, value) => [{ type: 'text', text: JSON.stringify(value) }] },
    execute: args => Promise.resolve(args),
    ...others,
  }
}

/** Registers Tools for every agent of the Host; disposing the result takes them back. */
export async function registerTools(gateway: TestGateway, ...tools: ToolDefinition[]): Promise<Fiber> {
  return await mountPlugin(gateway.host.ctx, ['tools'], (plugin) => {
    tools.forEach((tool) => { plugin.tools.register(tool) })
  })
}

/** Types of an agent's log that tell the shape of its turns. */
export function turnsOf(agent: Agent): string[] {
  const types = ['turn/start', 'turn/end', 'tool/call', 'tool/result', 'assistant/message']
  return logOf(agent).map(({ type }) => type).filter(type => types.includes(type))
}

interface ResultBlock { readonly toolCallId: string, readonly content: readonly { readonly type: string, readonly text?: string }[] }

/** What the model was told of each call, in the order of the last request: call id and text. */
export function resultsSeen(gateway: TestGateway): string[] {
  const messages = gateway.adapter.requests.at(-1)?.messages ?? []
  // A block in a message of the user in generations A and B, a message of its own in C.
  const results = messages.flatMap(message => 'toolCallId' in message ? [message as unknown as ResultBlock]
    : message.content.filter(block => block.type === 'tool-result') as unknown as ResultBlock[])
  return results.map(({ toolCallId, content }) => `${toolCallId} ${content.map(({ type, text }) => text ?? type).join('')}`)
}

/** Names of the Tools that the model could call, in its last request. */
export function toolsSeen(gateway: TestGateway): string[] {
  return (gateway.adapter.requests.at(-1)?.tools ?? []).map(({ name }) => name).sort()
}
