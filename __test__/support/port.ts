/**
 * The DSH adapter mounted in a test's Host, and a receiver that keeps what it reports.
 */

import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createDshHost, DSH_HOST_SERVICES } from 'dsh-ag-ui/host'
import type {
  AgentEvents, AgentHost, DshHostOptions, HostAgent, HostMessage, HostTool, HostToolCall, HostToolResult, SessionRecord,
} from 'dsh-ag-ui/host'
import { MODEL, mountPlugin, PROVIDER } from './host.ts'
import type { TestHost } from './host.ts'

/** One report: its name and arguments. Records are parsed. */
export type Report = readonly [name: keyof AgentEvents, ...args: unknown[]]

/** Keeps reports and lets a test wait for one. */
export class Recorder {
  readonly reports: Report[] = []
  /** Called at every report, inside the Host's call stack. */
  onReport: ((report: Report) => void) | undefined
  /** Decides about a request to a person. */
  onAsk: AgentEvents['ask'] = () => Promise.resolve({ status: 'cancelled', message: 'nobody is there' })
  readonly #waiters = new Set<() => void>()

  /** The receiver. */
  readonly events: AgentEvents = {
    record: json => this.#add(['record', JSON.parse(json)]),
    attemptStart: (turn, step) => this.#add(['attemptStart', turn, step]),
    text: delta => this.#add(['text', delta]),
    reasoning: delta => this.#add(['reasoning', delta]),
    toolCall: (callId, name, delta) => this.#add(['toolCall', callId, name, delta]),
    blockEnd: () => this.#add(['blockEnd']),
    attemptEnd: committed => this.#add(['attemptEnd', committed]),
    body: (callId, running) => this.#add(['body', callId, running]),
    toolsChanged: () => this.#add(['toolsChanged']),
    status: status => this.#add(['status', status]),
    ask: (request, signal) => {
      this.#add(['ask', request, signal])
      return this.onAsk(request, signal)
    },
    gone: () => this.#add(['gone']),
  }

  /** Reports of some names, in order. */
  of(...names: (keyof AgentEvents)[]): Report[] {
    return this.reports.filter(([name]) => names.includes(name))
  }

  /** The durable records, of some types or all. */
  records(...types: string[]): SessionRecord[] {
    const records = this.of('record').map(([, record]) => record as SessionRecord)
    return types.length === 0 ? records : records.filter(({ type }) => types.includes(type))
  }

  /** The order of things: names of reports, and the types of records in their place. */
  outline(): string[] {
    return this.reports.map(([name, value]) =>
      name === 'record' ? (value as SessionRecord).type : name === 'status' ? `status ${String(value)}` : name)
  }

  /** Text of all deltas. */
  text(): string {
    return this.of('text').map(([, delta]) => delta).join('')
  }

  /**
   * Waits for a report. The caller goes on outside of the Host's call stack.
   *
   * @param matches - Which one.
   * @param since - Number of earlier reports that do not count.
   */
  async until(matches: (report: Report) => boolean, since = 0): Promise<Report> {
    for (let index = since; ; index += 1) {
      while (index >= this.reports.length) await new Promise<void>(resolve => this.#waiters.add(resolve))
      const report = this.reports[index]
      if (report !== undefined && matches(report)) return report
    }
  }

  /** Waits for a record of a type. */
  async untilRecord(type: string, since = 0): Promise<SessionRecord> {
    const [, record] = await this.until(([name, value]) => name === 'record' && (value as SessionRecord).type === type, since)
    return record as SessionRecord
  }

  /** Waits until the agent is reported idle. */
  async untilIdle(since = 0): Promise<void> {
    await this.until(([name, status]) => name === 'status' && status === 'idle', since)
  }

  #add(report: Report): void {
    this.reports.push(report)
    this.onReport?.(report)
    for (const wake of this.#waiters) wake()
    this.#waiters.clear()
  }
}

/** The adapter in a plugin of its own. */
export interface MountedPort {
  readonly host: AgentHost
  /** The plugin's context. */
  readonly ctx: Context
  /** Directory of the threads' workspaces. */
  readonly workspaces: string
  /** Unloads the plugin. */
  unload(): Promise<void>
}

/** Mounts the adapter as a plugin would. */
export async function mountPort(host: TestHost, options: DshHostOptions = {}): Promise<MountedPort> {
  let port: AgentHost | undefined
  let ctx: Context | undefined
  const fiber = await mountPlugin(host.ctx, DSH_HOST_SERVICES, (plugin) => {
    ctx = plugin
    port = createDshHost(plugin, { provider: PROVIDER, model: MODEL, ...options })
  })
  if (port === undefined || ctx === undefined) throw new Error('the plugin was not applied')
  return {
    host: port,
    ctx,
    workspaces: join(host.home, 'workspaces'),
    unload: async () => { await fiber.dispose() },
  }
}

/** One opened agent. */
export interface Thread {
  readonly agent: HostAgent
  /** The DSH agent behind it. */
  readonly dsh: Agent
  readonly log: Recorder
  /** The history, parsed. */
  readonly history: SessionRecord[]
}

/** Opens an agent and takes its history. */
export async function openThread(port: MountedPort, sessionId: string, preset?: string): Promise<Thread> {
  const log = new Recorder()
  const workspace = join(port.workspaces, sessionId)
  const agent = await port.host.open({ sessionId, workspace, ...preset === undefined ? {} : { preset } }, log.events)
  const history = JSON.parse(agent.history) as SessionRecord[]
  return { agent, dsh: agent.agent as Agent, log, history }
}

/** The data of a record that must be there. */
export function dataOf<T>(record: SessionRecord | undefined): T {
  if (record === undefined) throw new Error('there is no such record')
  return record.data as T
}

/** Delivers messages with a wake and waits for the end of the turn. */
export async function run(thread: Thread, ...messages: (string | HostMessage)[]): Promise<void> {
  const since = thread.log.reports.length
  thread.agent.deliver(messages.map(message => typeof message === 'string' ? user(message) : message), true)
  await thread.log.untilIdle(since)
}

/** A person's message. */
export function user(text: string, id?: string): HostMessage {
  return { content: [{ type: 'text', text }], source: { kind: 'user' }, ...id === undefined ? {} : { id } }
}

/** One call that waits for the test. */
export interface ParkedCall {
  readonly call: HostToolCall
  resolve(result: HostToolResult): void
  reject(error: Error): void
}

/** A Tool whose calls wait until the test settles them; what the signal does is up to the test. */
export class ParkedTool {
  readonly tool: HostTool
  readonly #arrived: ParkedCall[] = []
  #wake: (() => void) | undefined

  constructor(name: string, overrides: Partial<HostTool> = {}) {
    this.tool = {
      name,
      description: `Asks the page for ${name}.`,
      parameters: { type: 'object', properties: { label: { type: 'string' } } },
      concurrent: true,
      execute: call => new Promise((resolve, reject) => {
        this.#arrived.push({ call, resolve, reject })
        this.#wake?.()
      }),
      ...overrides,
    }
  }

  /** The next call that arrives. */
  async next(): Promise<ParkedCall> {
    while (this.#arrived.length === 0) await new Promise<void>((resolve) => { this.#wake = resolve })
    return this.#arrived.shift() as ParkedCall
  }
}
