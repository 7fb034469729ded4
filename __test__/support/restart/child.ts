/**
 * A process of its own with a real Host and the gateway, made to be killed. Its model and its backend Tool take each
 * step only when the test lets them, so that the process never runs ahead of what its client has received.
 */

import { subscribe } from 'node:diagnostics_channel'
import { ServerResponse } from 'node:http'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import AgUi from 'dsh-ag-ui'
import type { Config } from 'dsh-ag-ui'
import { bootHost, MODEL, mountPlugin, PROVIDER } from '../host.ts'
import type { TestHost } from '../host.ts'
import { SteppedModel } from './model.ts'
import { SECRET } from './protocol.ts'
import type { Disk, FromHost, ToHost } from './protocol.ts'

/** Longer than any test: what is not waited for stays in memory. */
const NEVER_MS = 3_600_000

let host: TestHost | undefined
let frames = 0
let grant: (() => void) | undefined

function send(message: FromHost): void {
  process.send?.(message)
}

/** Counts the frames that responses are given, at the moment that they are. */
function countFrames(): void {
  for (const name of ['write', 'end'] as const) {
    const original = ServerResponse.prototype[name] as (...args: unknown[]) => unknown
    ServerResponse.prototype[name] = function (this: ServerResponse, ...args: unknown[]): never {
      const [chunk] = args
      if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) frames += chunk.toString().split('\n\n').length - 1
      return original.apply(this, args) as never
    } as never
  }
}

async function step(disk: Disk, sessionId: string | undefined): Promise<void> {
  // What was done before this step is on the wire when the loop has turned.
  await turn()
  const session = host?.ctx.sessions.list().find(({ id }) => id === sessionId)
  if (disk === 'written' && session !== undefined) await host?.ctx.sessions.flush(session)
  await new Promise<void>((resolve) => {
    grant = resolve
    send({ type: 'ask', frames })
  })
}

async function boot(home: string, disk: Disk): Promise<void> {
  await host?.dispose()
  frames = 0
  const adapter = new SteppedModel(sessionId => step(disk, sessionId))
  host = await bootHost({ home, adapter: adapter as never, writeDelayMs: NEVER_MS })
  const config: Partial<Config> = {
    provider: PROVIDER, model: MODEL, sharedSecret: SECRET, workspaceRoot: join(home, 'workspaces'), flushIntervalMs: 0,
  }
  await host.ctx.plugin(AgUi, config as never)
  await mountPlugin(host.ctx, ['tools'], (plugin) => {
    plugin.tools.register({
      name: 'look',
      description: 'Looks at something.',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
      output: { schema: {}, render: () => [{ type: 'text', text: 'seen' }] },
      execute: async (_args, { agent }) => {
        await step(disk, agent?.session.id)
        return null
      },
      presentCall: () => ({ card: 'generic', title: 'Looking', kind: 'read' }),
    })
  })
  send({ type: 'booted', url: `${host.url}/ag-ui` })
  // A process that is killed cannot save what it compiled.
  flushCompileCache()
}

countFrames()
subscribe('http.server.request.start', () => { send({ type: 'request' }) })
process.on('message', (message: ToHost) => {
  switch (message.type) {
    case 'boot': void boot(message.home, message.disk); break
    case 'close': void host?.dispose().then(() => { send({ type: 'closed' }) }); break
    case 'step': grant?.(); break
  }
})
process.once('disconnect', () => process.exit())
