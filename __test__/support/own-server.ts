/** The gateway's handler on a web server of the application's own, beside the Host's. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerOptions } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createHandler, GatewayDriver } from 'dsh-ag-ui'
import { createDshHost } from 'dsh-ag-ui/host'
import { mountPlugin, SECRET } from './gateway.ts'
import type { TestGateway } from './gateway.ts'

/** The route base that it serves. */
export const OWN_PATH = '/g'

/** How it treats requests before the handler gets them. */
export interface OwnServerOptions extends ServerOptions {
  readonly change?: (req: IncomingMessage) => void
}

/**
 * Serves the agents of a gateway's Host.
 *
 * @returns Sends one request as bytes, with valid credentials among its headers, and gives status and code of the answer.
 */
export async function ownServer(t: TestContext, gateway: TestGateway, options: OwnServerOptions = {}):
Promise<(requestLine: string, headers: Record<string, string>, body?: string) => Promise<string>> {
  const route = { path: OWN_PATH, tenantHeader: 'x-dsh-tenant-id', userHeader: 'x-dsh-user-id' }
  let handler: ReturnType<typeof createHandler> | undefined
  await mountPlugin(gateway.host.ctx, ['agents', 'sessions', 'tools'], (ctx) => {
    const driver = new GatewayDriver(JSON.stringify({ ...route, sharedSecret: SECRET }), createDshHost(ctx), {
      workspace: id => join(gateway.host.home, id), preset: () => undefined,
    }, console)
    handler = createHandler(driver, route)
    ctx.effect(() => () => driver.shutdown())
  })
  const server = createServer(options, (req, res) => {
    options.change?.(req)
    void handler?.(req, res)
  })
  t.after(() => { server.close() })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return async (requestLine, headers, body = '') => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const all = { 'host': 'x', 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 't', 'x-dsh-user-id': 'u', ...headers }
    socket.write(`${requestLine} HTTP/1.1\r\n${Object.entries(all).map(line => line.join(': ')).join('\r\n')}\r\n\r\n${body}`)
    let text = ''
    for await (const chunk of socket) {
      text += String(chunk)
      if (text.includes('}')) break
    }
    return `${/^HTTP\/1.1 (\d+)/u.exec(text)?.[1]} ${/"code":"(\w+)"/u.exec(text)?.[1]}`
  }
}
