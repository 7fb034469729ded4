/**
 * Uploads and downloads over real HTTP, and the real `present` Tool.
 */

import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { KNOWN_SESSION_EVENT_TYPES } from '@deepseek-ai/dsh-session'
import type { Session } from '@deepseek-ai/dsh-session'
import SessionProjectionRegistry from '@deepseek-ai/dsh-session-projection'
import * as present from '@deepseek-ai/dsh-tool-present'
import { original, SECRET } from './gateway.ts'
import type { TestGateway, TestHost } from './gateway.ts'

/** A whole answer. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** What a transfer may differ in. A header set to `undefined` is not sent. */
export interface TransferOptions {
  readonly method?: string
  readonly tenantId?: string
  readonly userId?: string
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** A content part, as an upload answers it. */
export interface FilePart {
  readonly type: string
  readonly source: { readonly type: string, readonly value: string, readonly mimeType: string }
  readonly metadata: { readonly filename: string, readonly size: number, readonly sha256: string }
}

/** One transfer under way. */
export class Transfer {
  readonly request: ClientRequest
  readonly #response: Promise<IncomingMessage>

  constructor(request: ClientRequest) {
    this.request = request
    this.#response = new Promise((resolve, reject) => {
      request.once('response', resolve)
      request.once('error', reject)
    })
    this.#response.catch(() => {})
  }

  /** The response, as soon as it begins. Nothing of its body is read. */
  response(): Promise<IncomingMessage> {
    return this.#response
  }

  /** The whole answer. */
  async answer(): Promise<Answer> {
    const response = await this.#response
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
  }

  /** The refusal that the answer must be. */
  async refused(): Promise<readonly [status: number, code: string, message: string]> {
    const { status, headers, body } = await this.answer()
    assert.equal(headers['content-type'], 'application/json', body.toString())
    assert.equal(headers['cache-control'], 'no-store')
    const { code, message } = JSON.parse(body.toString()) as { code: string, message: string }
    return [status, code, message]
  }

  /** Breaks the connection off. */
  leave(): void {
    this.request.destroy()
  }
}

/** Begins a request; a URL is absolute, or a path of the Host's server. */
export function transfer(gateway: TestGateway, url: string, options: TransferOptions = {}): Transfer {
  const { method = 'GET', tenantId = 'tenant-1', userId = 'user-1', headers = {} } = options
  const all = {
    'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': tenantId, 'x-dsh-user-id': userId, 'connection': 'close', ...headers,
  }
  const sent = Object.entries(all).filter(([, value]) => value !== undefined)
  const request = httpRequest(new URL(url, gateway.host.url), { method, headers: Object.fromEntries(sent) as never })
  request.on('error', () => {})
  return new Transfer(request)
}

/** Sends a GET. */
export function get(gateway: TestGateway, url: string, options: TransferOptions = {}): Transfer {
  const begun = transfer(gateway, url, options)
  begun.request.end()
  return begun
}

/** Headers of an upload. */
export function uploadHeaders(name: string, mediaType: string, length: number): Record<string, string> {
  return { 'content-length': String(length), 'content-type': mediaType, 'x-file-name': encodeURIComponent(name) }
}

/** Uploads bytes to a thread. */
export function upload(
  gateway: TestGateway, bytes: Uint8Array | string, name: string, mediaType: string,
  { thread = 'thread-1', headers = {}, ...options }: TransferOptions & { readonly thread?: string } = {},
): Transfer {
  const data = Buffer.from(bytes as string)
  const begun = transfer(gateway, `${gateway.url}/threads/${thread}/files`, {
    method: 'POST', ...options, headers: { ...uploadHeaders(name, mediaType, data.length), ...headers },
  })
  begun.request.end(data)
  return begun
}

/** The part that an upload must answer. */
export async function partOf(begun: Transfer): Promise<FilePart> {
  const { status, headers, body } = await begun.answer()
  assert.equal(status, 201, body.toString())
  assert.equal(headers['content-type'], 'application/json')
  return JSON.parse(body.toString()) as FilePart
}

/**
 * Mounts the real `present` Tool of generation B on the Host. The Host of generation A gets what the Tool builds on: its
 * projection is computed from the log here, and its event becomes a known one (host-api §3.14).
 */
export async function mountPresent({ host }: TestGateway): Promise<void> {
  if (host.generation === 'A') await prepareForPresent(host)
  await host.ctx.plugin(present, { maxFiles: 8 })
}

async function prepareForPresent({ ctx }: TestHost): Promise<void> {
  ;(KNOWN_SESSION_EVENT_TYPES as Set<string>).add('deliverables/presented')
  await ctx.plugin(SessionProjectionRegistry)
  const projections = original((ctx as unknown as { sessionProjections: object }).sessionProjections)
  Object.assign(projections, {
    stateOf(session: Session) {
      let open: number | null = null
      let last = 0
      for (const { type, seq, data } of session.events) {
        if (type === 'turn/start') [open, last] = [seq, (data as { turn: number }).turn]
        if (type === 'turn/end') open = null
      }
      return { openTurnStartSeq: open, lastTurn: last }
    },
  })
}
