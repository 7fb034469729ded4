/**
 * The official clients in front of the gateway. What they are sent is held against the framing rules beside them.
 */

import assert from 'node:assert/strict'
import { buildResumeArray, HttpAgent } from '@ag-ui/client'
import type { HttpAgentConfig } from '@ag-ui/client'
import { buildResumeArray as buildResumeArray1, HttpAgent as HttpAgent1 } from 'ag-ui-client-1'
import { SECRET } from './gateway.ts'
import { FrameReader } from './wire.ts'
import type { WireEvent, WireInterrupt, WireMessage } from './wire.ts'

/** The versions of the official client that every scenario of a client runs with. */
export const VERSIONS = ['0.0.59', '1.0.0'] as const
export type Version = typeof VERSIONS[number]

export interface ClientOptions {
  readonly threadId?: string
  readonly tenantId?: string
  readonly userId?: string
  readonly state?: unknown
}

/** What one run of a client may carry. */
export interface ClientRun {
  readonly runId?: string
  readonly tools?: readonly object[]
  readonly context?: readonly { readonly description: string, readonly value: string }[]
  readonly resume?: readonly object[]
  readonly forwardedProps?: unknown
}

/** What a person does about an interrupt. */
export type Decision = { readonly status: 'resolved', readonly payload: unknown } | { readonly status: 'cancelled' }

/** Where a gateway that takes {@link SECRET} serves runs. */
export interface Endpoint {
  readonly url: string
}

/** One browser. */
export class TestClient {
  readonly agent: HttpAgent
  readonly #name: string
  readonly #version: Version
  #ids = 0
  #frames = new FrameReader()
  #read: Promise<void> = Promise.resolve()

  constructor(gateway: Endpoint, version: Version, name: string, options: ClientOptions) {
    const { threadId = 'thread-1', tenantId = 'tenant-1', userId = 'user-1', state } = options
    this.#name = name
    this.#version = version
    const config: HttpAgentConfig = {
      url: gateway.url,
      threadId,
      headers: { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': tenantId, 'x-dsh-user-id': userId },
      fetch: (url, init) => this.#fetch(url, init),
      ...state === undefined ? {} : { initialState: state },
    }
    // Both versions have the same surface here; their types are distinct by name only.
    this.agent = version === '1.0.0' ? new HttpAgent1(config as never) as unknown as HttpAgent : new HttpAgent(config)
  }

  /** What the client holds. */
  get messages(): readonly WireMessage[] {
    return this.agent.messages as readonly WireMessage[]
  }

  get state(): unknown {
    return this.agent.state
  }

  /** Says something, and waits for the run. */
  async say(text: string, run?: ClientRun): Promise<readonly WireEvent[]> {
    this.agent.addMessage({ id: this.#id(), role: 'user', content: text })
    return await this.run(run)
  }

  /** Answers calls, and waits for the run. */
  async answer(answers: Readonly<Record<string, string>>, run?: ClientRun): Promise<readonly WireEvent[]> {
    for (const [toolCallId, content] of Object.entries(answers)) {
      this.agent.addMessage({ id: this.#id(), role: 'tool', toolCallId, content })
    }
    return await this.run(run)
  }

  /** What the client holds back for a person to answer. */
  get interrupts(): readonly WireInterrupt[] {
    return this.agent.pendingInterrupts as unknown as readonly WireInterrupt[]
  }

  /** Answers every interrupt that the client holds, by its id, and waits for the run. */
  async respond(responses: Readonly<Record<string, Decision>>, run?: ClientRun): Promise<readonly WireEvent[]> {
    const build = this.#version === '1.0.0' ? buildResumeArray1 as typeof buildResumeArray : buildResumeArray
    return await this.run({ ...run, resume: build(this.agent.pendingInterrupts, responses as never) })
  }

  /** Sends what the client holds, and waits for the run. */
  async run(run: ClientRun = {}): Promise<readonly WireEvent[]> {
    await this.agent.runAgent(run as never)
    await this.#read
    this.#frames.end()
    return this.#frames.events
  }

  #id(): string {
    this.#ids += 1
    return `${this.#name}-${this.#ids}`
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const response = await fetch(url, init)
    if (response.body === null || !response.ok) return response
    const [own, checked] = response.body.tee()
    const frames = this.#frames = new FrameReader()
    this.#read = (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of checked) frames.push(decoder.decode(chunk as Uint8Array, { stream: true }))
    })()
    // A client that leaves breaks the copy too; a run that is waited for reports it.
    this.#read.catch(() => {})
    return new Response(own, { status: response.status, headers: response.headers })
  }
}

let clients = 0

/** A browser on a thread. */
export function connect(gateway: Endpoint, version: Version, options: ClientOptions = {}): TestClient {
  clients += 1
  return new TestClient(gateway, version, `client-${clients}`, options)
}

/** The arguments of the call that a client holds under an id. */
export function argumentsOf(client: TestClient, callId: string): unknown {
  const call = client.messages.flatMap(({ toolCalls }) => toolCalls ?? []).find(({ id }) => id === callId)
  assert.ok(call !== undefined, 'the client holds the call')
  return JSON.parse(call.function.arguments)
}
