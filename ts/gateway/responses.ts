/**
 * HTTP responses of runs: writes what the native gateway has for each, as fast as its socket takes it.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { HttpError, NativeGateway } from '../native.ts'

/** Bits beside a reader's handle, as the native class documents them. */
const HEAD = 1, ERROR = 4

/** Proxies must neither hold back nor compress a stream. */
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const

interface Response {
  readonly res: ServerResponse
  /** The socket is full; `drain` will come. */
  full: boolean
}

/** The responses of one gateway. */
export class ResponseSet {
  readonly #native: NativeGateway
  readonly #after: (todo: number) => void
  readonly #responses = new Map<number, Response>()

  constructor(native: NativeGateway, after: (todo: number) => void) {
    this.#native = native
    this.#after = after
  }

  /** Binds a response to its reader. */
  add(reader: number, res: ServerResponse): void {
    this.#responses.set(reader, { res, full: false })
    res.once('close', () => {
      // After a regular end the reader is gone already.
      if (this.#responses.delete(reader)) this.#after(this.#native.disconnect(reader))
    })
  }

  /** Writes everything that is ready. */
  write(): void {
    for (let ready = this.#native.nextReader(); ready >= 0; ready = this.#native.nextReader()) {
      this.#writeOne(Math.floor(ready / 8), ready % 8)
    }
  }

  #writeOne(reader: number, bits: number): void {
    const response = this.#responses.get(reader)
    if (response === undefined) return
    const { res } = response
    if (bits & ERROR) {
      const error = this.#native.readerError()
      this.#native.read(reader)
      this.#responses.delete(reader)
      if (error !== null) sendError(res, error)
      return
    }
    if (bits & HEAD) res.writeHead(200, STREAM_HEADERS)
    if (response.full) return
    const chunk = this.#native.read(reader)
    if (this.#native.wasLast()) {
      this.#responses.delete(reader)
      res.end(chunk)
    } else if (chunk.length === 0) {
      // Whoever comes back may have everything so far: the response begins all the same.
      if (bits & HEAD) res.flushHeaders()
    } else if (!res.write(chunk)) {
      response.full = true
      res.once('drain', () => {
        response.full = false
        this.#after(this.#native.drained(reader))
      })
    }
  }
}

/** Answers a request that is refused. */
export function sendError(res: ServerResponse, error: HttpError, headers: Record<string, string> = {}): void {
  if (res.destroyed) return
  res.writeHead(error.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(error.body),
    'cache-control': 'no-store',
    ...headers,
  })
  res.end(error.body)
}
