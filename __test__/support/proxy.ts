/**
 * A TCP proxy whose connections a test breaks off, as networks do.
 */

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** What stands between a client and a server. */
export class BreakingProxy {
  /** The server's URL by way of the proxy. */
  readonly url: string
  /** Connections so far, refused ones included. */
  connections = 0
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #refuse = 0

  constructor(url: string) {
    this.url = url
  }

  /** Breaks every connection off. */
  cut(): void {
    for (const pair of this.#pairs) pair.forEach((socket) => { socket.destroy() })
    this.#pairs.clear()
  }

  /** Breaks the next connections off before anything goes through. */
  refuse(connections: number): void {
    this.#refuse = connections
  }

  /** @internal */
  accept(client: Socket, host: string, port: number): void {
    this.connections += 1
    if (this.#refuse > 0) {
      this.#refuse -= 1
      client.destroy()
      return
    }
    const server = connect(port, host)
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const [from, to] of [pair, [server, client] as const]) {
      from.on('error', () => {})
      from.once('close', () => {
        this.#pairs.delete(pair)
        to.destroy()
      })
      from.pipe(to)
    }
  }
}

/** Puts a proxy before a server; it goes with the test. */
export async function proxyTo(t: TestContext, url: string): Promise<BreakingProxy> {
  const { hostname, port, pathname } = new URL(url)
  const server = createServer((client) => { proxy.accept(client, hostname, Number(port)) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = new BreakingProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`)
  t.after(() => {
    proxy.cut()
    server.close()
  })
  return proxy
}
