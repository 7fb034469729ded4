/**
 * The playground's Backend-for-Frontend: the only thing a browser talks to. It knows the user by a cookie, adds the
 * bearer secret and the identity headers, and forwards bodies and streams untouched. Nothing that a browser sends
 * can pass for credentials or identity, because only the headers listed here are forwarded at all.
 *
 * @module
 */

import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { probeGateway, trustedHeaders } from './gateway-target.ts'
import type { GatewayTarget } from './gateway-target.ts'
import { loadPage } from './page.ts'
import type { SessionCookies } from './session-cookie.ts'

/** Every demo user belongs to this tenant. */
const TENANT = 'playground'
const AGENT_ROUTE = '/api/agent'
/** Request headers that go upstream. Credentials and identity are ours to add. */
const FORWARDED = ['accept', 'content-length', 'content-type', 'last-event-id', 'x-file-name']
/** Response headers that come back. Hop-by-hop headers and cookies do not. */
const RETURNED = ['allow', 'cache-control', 'content-disposition', 'content-length', 'content-type', 'retry-after', 'x-accel-buffering']

const SECURITY_HEADERS = {
  'content-security-policy': [
    'default-src \'none\'', 'script-src \'self\'', 'style-src \'self\'', 'img-src \'self\'', 'connect-src \'self\'',
    'base-uri \'none\'', 'form-action \'none\'', 'frame-ancestors \'none\'',
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** A running BFF. */
export interface Bff {
  readonly port: number
  /** Ends open streams and waits until the port is free. */
  stop(): Promise<void>
}

/**
 * Serves the page, the agent endpoint and the health check on loopback.
 *
 * @param port - Port to listen on; 0 takes a free one.
 * @throws When the port is taken.
 */
export async function startBff(target: GatewayTarget, cookies: SessionCookies, port: number): Promise<Bff> {
  const page = await loadPage()
  const server: Server = createServer((req, res) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) res.setHeader(name, value)
    if (!fromThisSite(req.headers)) {
      sendError(res, 403, 'FOREIGN_ORIGIN', 'this server answers only on its own loopback address')
      return
    }
    const url = req.url?.startsWith('/') === true ? URL.parse(`http://bff${req.url}`) : null
    if (url === null) {
      sendError(res, 400, 'INVALID_ADDRESS', 'this is not a path')
      return
    }
    const path = url.pathname
    if (path === AGENT_ROUTE || path.startsWith(`${AGENT_ROUTE}/threads/`)) {
      const userId = cookies.userOf(req.headers.cookie)
      if (userId === undefined) {
        sendError(res, 401, 'NOT_SIGNED_IN', 'open the page first: it sets the cookie that signs you in')
        return
      }
      forward(req, res, target, url, userId)
      return
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.setHeader('allow', 'GET, HEAD')
      sendError(res, 405, 'METHOD_NOT_ALLOWED', 'this address can only be read')
      return
    }
    if (path === '/api/health') {
      void sendHealth(res, target)
      return
    }
    const file = page.get(path)
    if (file === undefined) {
      sendError(res, 404, 'NOT_FOUND', 'there is nothing here')
      return
    }
    if (path === '/' && cookies.userOf(req.headers.cookie) === undefined) res.setHeader('set-cookie', cookies.issue())
    res.writeHead(200, { 'content-type': file.mediaType, 'content-length': file.body.length, 'cache-control': 'no-store' })
    res.end(file.body)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * Whether a request was made for a loopback name and, when a page made it, by a page of ours. A foreign site cannot
 * pass this even when its name resolves to this machine.
 */
function fromThisSite({ host, origin }: IncomingHttpHeaders): boolean {
  if (host === undefined || !/^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/.test(host)) return false
  return origin === undefined || origin === `http://${host}`
}

/** Pipes one request to the gateway and its answer back, and ends either side when the other one does. */
function forward(req: IncomingMessage, res: ServerResponse, target: GatewayTarget, url: URL, userId: string): void {
  const headers: OutgoingHttpHeaders = trustedHeaders(target, { tenantId: TENANT, userId })
  for (const name of FORWARDED) {
    const value = req.headers[name]
    if (value !== undefined) headers[name] = value
  }
  const outgoing = httpRequest(target.origin + target.path + url.pathname.slice(AGENT_ROUTE.length) + url.search, {
    method: req.method ?? 'POST', headers,
    // A connection of its own: one kept from earlier might be closed under a body that cannot be sent twice.
    agent: false,
  })
  let answered = false
  outgoing.on('response', answer => {
    answered = true
    for (const name of RETURNED) {
      const value = answer.headers[name]
      if (value !== undefined) res.setHeader(name, value)
    }
    res.writeHead(answer.statusCode ?? 502)
    res.flushHeaders()
    answer.pipe(res)
    // A stream that broke must not look like one that ended.
    answer.on('error', () => res.destroy())
  })
  outgoing.on('error', () => {
    // After an early answer the rest of the body may find a closed socket; the answer stands on its own.
    if (!answered) sendError(res, 502, 'GATEWAY_UNAVAILABLE', 'the gateway cannot be reached')
  })
  // What is left of the body has nowhere to go, but must be read before the browser can use its connection again.
  outgoing.on('close', () => req.resume())
  // The browser left, or has everything: the gateway sees a closed connection and cancels what is still running.
  res.on('close', () => {
    if (!res.writableFinished) outgoing.destroy()
  })
  req.pipe(outgoing)
}

async function sendHealth(res: ServerResponse, target: GatewayTarget): Promise<void> {
  const { provider, model } = target
  const status = await probeGateway(target) === 'ready' ? 'ok' : 'unavailable'
  sendJson(res, status === 'ok' ? 200 : 503, { status, provider, model })
}

function sendError(res: ServerResponse, status: number, code: string, message: string): void {
  sendJson(res, status, { code, message })
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value)
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' })
  res.end(body)
}
