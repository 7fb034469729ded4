/**
 * A small OAuth 2.0 authorization server for the example: authorization code with PKCE (RFC 6749, 7636), native
 * clients on the loopback interface (RFC 8252), issuer identification (RFC 9207). Everything is in memory and there is
 * one user. Not for production.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export const CLIENT_ID = 'example-cli'

/** A request of the client that the user has not decided, or a code that has not been exchanged. */
interface Grant {
  readonly redirectUri: string
  readonly challenge: string
  readonly state: string
}

export interface AuthorizationServer {
  readonly issuer: string
  close(): Promise<void>
}

export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const asked = new Map<string, Grant>()
  const codes = new Map<string, Grant>()
  const tokens = new Set<string>()
  const server = createServer((request, response) => {
    route(request, response).catch(() => response.writeHead(500).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer)
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /authorize':
        return authorize(url.searchParams, response)
      case 'POST /decide':
        return decide(new URLSearchParams(await text(request)), response)
      case 'POST /token':
        return exchange(new URLSearchParams(await text(request)), response)
      case 'GET /userinfo':
        return userinfo(request.headers.authorization, response)
      default:
        response.writeHead(404).end()
    }
  }

  /** Asks the user. A request that cannot be trusted is answered here, never by a redirect. */
  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirectUri = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== CLIENT_ID || !isLoopback(redirectUri)) {
      response.writeHead(400).end('unknown client or redirect URI')
      return
    }
    const challenge = query.get('code_challenge') ?? ''
    const state = query.get('state') ?? ''
    if (query.get('response_type') !== 'code' || query.get('code_challenge_method') !== 'S256' || challenge === '') {
      redirect(response, redirectUri, { error: 'invalid_request', state })
      return
    }
    const id = randomBytes(16).toString('base64url')
    asked.set(id, { redirectUri, challenge, state })
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(`<!doctype html><title>Sign in</title><h1>Allow ${CLIENT_ID} to read your name?</h1>
      <form method="post" action="/decide"><input type="hidden" name="id" value="${id}">
      <button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></form>`)
  }

  function decide(form: URLSearchParams, response: ServerResponse): void {
    const id = form.get('id') ?? ''
    const grant = asked.get(id)
    asked.delete(id)
    if (grant === undefined) {
      response.writeHead(400).end('nothing to decide')
    } else if (form.get('decision') === 'allow') {
      const code = randomBytes(16).toString('base64url')
      codes.set(code, grant)
      redirect(response, grant.redirectUri, { code, state: grant.state })
    } else {
      redirect(response, grant.redirectUri, { error: 'access_denied', state: grant.state })
    }
  }

  function exchange(form: URLSearchParams, response: ServerResponse): void {
    const code = form.get('code') ?? ''
    const grant = codes.get(code)
    // A code is good for one attempt.
    codes.delete(code)
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url')
    const valid = grant !== undefined
      && form.get('grant_type') === 'authorization_code'
      && form.get('client_id') === CLIENT_ID
      && form.get('redirect_uri') === grant.redirectUri
      && challenge === grant.challenge
    if (!valid) {
      json(response, 400, { error: 'invalid_grant' })
      return
    }
    const token = randomBytes(16).toString('base64url')
    tokens.add(token)
    json(response, 200, { access_token: token, token_type: 'Bearer' })
  }

  function userinfo(authorization: string | undefined, response: ServerResponse): void {
    if (tokens.has(authorization?.replace(/^Bearer /, '') ?? '')) json(response, 200, { name: 'Ada' })
    else json(response, 401, { error: 'invalid_token' })
  }

  function redirect(response: ServerResponse, to: string, parameters: Record<string, string>): void {
    const url = new URL(to)
    for (const [name, value] of Object.entries({ ...parameters, iss: issuer })) url.searchParams.append(name, value)
    response.writeHead(302, { location: url.href }).end()
  }

  return {
    issuer,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** RFC 8252, 7.3: any port and path on the loopback interface. */
function isLoopback(uri: string): boolean {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  return url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}
