/**
 * The gateway on a Node HTTP server: reads requests for the native gateway, and hands it their responses.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HeadVerdict, RequestVerdict } from '../native.ts'
import { sendDeliverable, sendFile } from './downloads.ts'
import type { GatewayDriver } from './driver.ts'
import { sendError } from './responses.ts'
import type { Caller, Transfer } from './transfer.ts'
import { takeUpload } from './uploads.ts'

/** Names of what the route needs of the configuration. */
export interface RouteOptions {
  /** Route base, absolute. */
  readonly path: string
  readonly tenantHeader: string
  readonly userHeader: string
}

/**
 * Makes the handler of everything under `path`.
 *
 * @returns A handler that answers every request itself and never rejects.
 */
export function createHandler(driver: GatewayDriver, options: RouteOptions): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const { native, responses, transfers } = driver
  return async (req, res) => {
    const values = req.headersDistinct
    const { rest, query } = target(req.url ?? '/', options.path)
    const verdict = native.checkHead({
      method: req.method ?? '',
      rest,
      query,
      authorization: (values['authorization'] ?? []).map(utf8),
      tenant: values[options.tenantHeader] ?? [],
      user: values[options.userHeader] ?? [],
      fileName: values['x-file-name'] ?? [],
      ...req.headers['content-type'] === undefined ? {} : { contentType: req.headers['content-type'] },
      ...req.headers['content-length'] === undefined ? {} : { contentLength: req.headers['content-length'] },
    })
    if (verdict.error !== undefined) {
      // The body is not wanted: the connection ends with the answer, so that nobody has to send it.
      sendError(res, verdict.error, { connection: 'close', ...verdict.allow === undefined ? {} : { allow: verdict.allow } })
      return
    }
    const caller = { tenant: verdict.tenant ?? '', user: verdict.user ?? '' }
    const transfer = transferOf(driver, caller, verdict)
    if (transfer !== undefined) {
      await transfers.run(req, res, transfer, error => driver.answerTo(error))
      return
    }
    // Several lines of it come joined, which is no id.
    const lastEventId = req.headers['last-event-id']?.toString()
    const answer = ({ reader, error, todo }: RequestVerdict): void => {
      if (reader !== undefined) responses.add(reader, res)
      else if (error !== undefined) sendError(res, error)
      driver.after(todo)
    }
    if (verdict.reconnect !== undefined) {
      if (res.destroyed) return
      const { threadId, runId } = verdict.reconnect
      answer(native.reconnect(caller.tenant, caller.user, threadId, runId, lastEventId))
      return
    }
    const body = await readBody(req, native.maxRequestBytes)
    if (body === undefined) {
      sendError(res, native.tooLarge(), { connection: 'close' })
      return
    }
    // The client left before it had sent its request.
    if (body === null || res.destroyed) return
    answer(native.request(caller.tenant, caller.user, body, lastEventId))
  }
}

/** What a request's target says behind the route base. */
function target(url: string, path: string): { rest: string, query: string } {
  const base = 'http://host'
  const { pathname, search } = URL.canParse(url, base) ? new URL(url, base) : { pathname: '', search: '' }
  const within = pathname === path || pathname.startsWith(`${path}/`)
  // No resource has an empty segment.
  return { rest: within ? pathname.slice(path.length) : '//', query: search.slice(1) }
}

/** A header's bytes as UTF-8, which the secret is counted in; Node reads them as Latin-1. */
function utf8(value: string): string {
  return Buffer.from(value, 'latin1').toString()
}

/** What a request for anything but a run does. */
function transferOf(driver: GatewayDriver, caller: Caller, { upload, file, deliverable }: HeadVerdict): ((transfer: Transfer) => Promise<void>) | undefined {
  if (upload !== undefined) return transfer => takeUpload(driver, caller, upload, transfer)
  if (file !== undefined) return transfer => sendFile(driver, file, transfer)
  if (deliverable !== undefined) return transfer => sendDeliverable(driver, caller, deliverable, transfer)
  return undefined
}

/** The whole body; `undefined` when it is longer than `limit` bytes, `null` when the client left. */
async function readBody(req: IncomingMessage, limit: number): Promise<Buffer | undefined | null> {
  return await new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    req.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > limit) {
        req.pause()
        resolve(undefined)
      } else {
        chunks.push(chunk)
      }
    })
    req.once('end', () => { resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)) })
    req.once('error', () => { resolve(null) })
    req.once('close', () => { resolve(null) })
  })
}
