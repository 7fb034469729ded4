/**
 * A person at a browser with the official client, whose Host may die: every line of the script is said until it is
 * answered. What breaks off is sent again with everything that the client holds, as reloading pages do.
 */

import assert from 'node:assert/strict'
import { HttpAgent } from '@ag-ui/client'
import type { HttpAgentConfig } from '@ag-ui/client'
import { DshHttpAgent } from 'dsh-ag-ui/client'
import { browserTool } from '../gateway.ts'
import { FrameReader } from '../wire.ts'
import type { WireEvent, WireMessage } from '../wire.ts'
import { FAILURE } from './model.ts'
import type { Line } from './process.ts'
import { SECRET } from './protocol.ts'

/** What is said, and when it is done with. */
interface Part {
  /** Messages of one turn. */
  readonly says: readonly string[]
  /** The answer that is waited for; the provider's failure where there is none. */
  readonly reply?: string
  /** What the browser's Tool gives. */
  readonly picks?: string
  /** The shared state from here on. */
  readonly state?: Record<string, unknown>
}

/** Text, a browser Tool that parks, two messages in one turn, a failed turn, shared state, a backend Tool, text. */
export const SCRIPT: readonly Part[] = [
  { says: ['hello'], reply: 'Hello you' },
  { says: ['pick'], picks: 'red', reply: 'Got red.' },
  { says: ['one', 'and two'], reply: 'Both.' },
  { says: ['fail'] },
  { says: ['count'], state: { count: 1 }, reply: 'Two.' },
  { says: ['look'], reply: 'Seen.' },
  { says: ['bye'], reply: 'Bye.' },
]

/** One request and what came back. */
export interface Exchange {
  readonly events: readonly WireEvent[]
  /** Which life of the Host served it, from 0. */
  readonly life: number
  /** Ids of the messages that were sent. */
  readonly sent: readonly string[]
}

/** The clients that scripts are played with. */
export const CLIENTS = { HttpAgent, DshHttpAgent } as const

/** How often a part is tried before something must be wrong. */
const TRIES = 8

export class Person {
  readonly agent: HttpAgent
  readonly exchanges: Exchange[] = []
  /** Ids and texts of everything that was said, in order. */
  readonly said: { readonly id: string, readonly text: string }[] = []
  /** Connects again, after the Host died. */
  readonly #reconnect: () => Promise<Line>
  #line: Line
  #life = 0
  #frames = new FrameReader()
  #sent: readonly string[] = []

  constructor(client: keyof typeof CLIENTS, line: Line, reconnect: () => Promise<Line>) {
    this.#line = line
    this.#reconnect = reconnect
    const config: HttpAgentConfig = {
      url: line.url,
      threadId: 'thread-1',
      headers: { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'tenant-1', 'x-dsh-user-id': 'user-1' },
      fetch: (url, init) => this.#fetch(url, init),
    }
    this.agent = new CLIENTS[client](config)
  }

  get messages(): readonly WireMessage[] {
    return this.agent.messages as readonly WireMessage[]
  }

  /** Plays the script. After the Host died, the part that it died in and the last one: what comes between says no more. */
  async converse(script: readonly Part[] = SCRIPT): Promise<void> {
    for (const [at, part] of script.entries()) {
      if (this.#life === 0 || at === script.length - 1) await this.#play(part, `u${at}`)
    }
  }

  /** Sends what the client holds. Returns `undefined` where the connection broke off before the end. */
  async run(): Promise<readonly WireEvent[] | undefined> {
    const frames = this.#frames = new FrameReader()
    const line = this.#line
    await this.agent.runAgent({ tools: [browserTool('pick')] as never })
    this.exchanges.push({ events: frames.events, life: this.#life, sent: this.#sent })
    if (line.cut) {
      this.#line = await this.#reconnect()
      this.#life += 1
      this.agent.url = this.#line.url
    }
    const ended = ['RUN_FINISHED', 'RUN_ERROR'].includes(frames.events.at(-1)?.type ?? '')
    if (ended || !line.cut) frames.end()
    return ended ? frames.events : undefined
  }

  async #play(part: Part, id: string): Promise<void> {
    if (part.state !== undefined) this.agent.setState(part.state)
    this.#say(part.says, id)
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const events = await this.run()
      const code = events?.at(-1)?.code
      if (events === undefined || code === 'THREAD_INTERRUPTED') continue
      if (part.reply === undefined && code === FAILURE) return
      assert.equal(events.at(-1)?.type, 'RUN_FINISHED', code)
      const owed = this.#owed()
      if (owed !== undefined) this.agent.addMessage({ id: `${id}-pick-${tries}`, role: 'tool', toolCallId: owed, content: part.picks ?? '' })
      else if (part.reply !== undefined && this.messages.at(-1)?.content === part.reply) return
      // The turn came to nothing.
      else this.#say(part.says, `${id}-again-${tries}`)
    }
    assert.fail(`no answer to ${part.says.join()}: ${JSON.stringify(this.messages)}`)
  }

  #say(texts: readonly string[], id: string): void {
    for (const [at, text] of texts.entries()) {
      const message = { id: `${id}.${at}`, text }
      this.said.push(message)
      this.agent.addMessage({ id: message.id, role: 'user', content: text })
    }
  }

  /** The call that waits for the browser. */
  #owed(): string | undefined {
    const results = new Set(this.messages.map(({ toolCallId }) => toolCallId))
    return this.messages.flatMap(({ toolCalls }) => toolCalls ?? []).find(({ id }) => !results.has(id))?.id
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { messages } = JSON.parse(String(init.body)) as { messages: { id: string }[] }
    this.#sent = messages.map(({ id }) => id)
    const frames = this.#frames
    return await this.#line.fetch(url, init, (frame) => { frames.push(frame) })
  }
}
