/**
 * The gateway without DSH: an application's own agents behind the same endpoint. This one repeats what it is told.
 *
 *     node examples/embedding.ts
 */

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHandler, GatewayDriver } from 'dsh-ag-ui'
import type { AgentEvents, AgentHost, HostAgent, HostMessage, OpenAgentRequest } from 'dsh-ag-ui'

/** Agents whose sessions live as long as the process. */
class EchoHost implements AgentHost {
  readonly #logs = new Map<string, object[]>()

  async open({ sessionId }: OpenAgentRequest, events: AgentEvents): Promise<HostAgent> {
    const log = this.#logs.get(sessionId) ?? []
    this.#logs.set(sessionId, log)
    return new EchoAgent(log, events)
  }
}

class EchoAgent implements HostAgent {
  readonly agent = this
  readonly #log: object[]
  readonly #events: AgentEvents
  #queue: HostMessage[] = []

  constructor(log: object[], events: AgentEvents) {
    this.#log = log
    this.#events = events
  }

  get history(): string {
    return JSON.stringify(this.#log)
  }

  deliver(messages: readonly HostMessage[], wake: boolean): void {
    this.#queue.push(...messages)
    if (!wake) return
    this.#events.status('running')
    setImmediate(() => { this.#turn() })
  }

  #turn(): void {
    const messages = this.#queue
    this.#queue = []
    const turn = this.#log.filter(record => 'type' in record && record.type === 'turn/start').length + 1
    this.#append('turn/start', { turn })
    for (const { id = randomUUID(), content, source } of messages) {
      this.#append('user/message', { id, role: 'user', content, source })
    }
    const said = messages.filter(({ source }) => source.kind === 'user').flatMap(({ content }) => content).map(block => block.type === 'text' ? block.text : '(a file)')
    const reply = `You said: ${said.join(' / ')}`
    // A live attempt: deltas first, then the record that settles them.
    this.#events.attemptStart(turn, 1)
    for (const word of reply.split(/(?<= )/)) this.#events.text(word)
    this.#append('assistant/message', {
      turn, step: 1, message: { id: randomUUID(), role: 'assistant', content: [{ type: 'text', text: reply }] },
    })
    this.#events.attemptEnd(true)
    this.#append('turn/end', { turn, reason: { kind: 'completed' } })
    this.#events.status('idle')
  }

  #append(type: string, data: object): void {
    const record = { type, seq: this.#log.length, data }
    this.#log.push(record)
    this.#events.record(JSON.stringify(record))
  }

  // A turn is over before anybody could cancel it, and its model calls no Tools.
  cancel(): void { this.#queue = [] }
  registerTool(): () => void { return () => {} }
  inheritedTools(): string[] { return [] }
  async dispose(): Promise<void> { this.#queue = [] }
}

// #region readme
/** Serves agents of the application's own; `shutdown` of the driver ends every run and disposes every agent. */
export function serve(host: AgentHost, sharedSecret: string): { server: Server, driver: GatewayDriver } {
  const route = { path: '/ag-ui', tenantHeader: 'x-dsh-tenant-id', userHeader: 'x-dsh-user-id' }
  const driver = new GatewayDriver(JSON.stringify({ ...route, sharedSecret }), host, {
    workspace: sessionId => join(tmpdir(), 'workspaces', sessionId),
    preset: () => undefined,
  }, console)
  const handler = createHandler(driver, route)
  const server = createServer((req, res) => {
    // The handler answers everything under its path.
    if (/^\/ag-ui(?=[/?]|$)/.test(req.url ?? '')) void handler(req, res)
    else res.writeHead(404).end()
  })
  return { server, driver }
}
// #endregion

export { EchoHost }

if (import.meta.main) {
  const { server, driver } = serve(new EchoHost(), process.env['DSH_AG_UI_SHARED_SECRET'] ?? 'only-for-trying-out')
  server.listen(8021, '127.0.0.1', () => { console.log('http://127.0.0.1:8021/ag-ui') })
  process.once('SIGINT', () => {
    void driver.shutdown().then(() => { server.close() })
  })
}
