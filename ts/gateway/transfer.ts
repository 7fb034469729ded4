/**
 * Requests that are no runs: uploads and downloads, answered once, broken off with their client or with the gateway.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpError } from '../native.ts'
import { sendError } from './responses.ts'

/** Who asks, as the trusted headers say. */
export interface Caller {
  readonly tenant: string
  readonly user: string
}

/** Broke off for a reason that the client is told. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly answer: HttpError

  constructor(answer: HttpError) {
    super('refused')
    this.answer = answer
  }
}

/** The client is gone, or has its answer already. */
class Broken extends Error {
  override readonly name = 'Broken'
}

/** One request and its response. */
export class Transfer {
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #controller = new AbortController()

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req
    this.#res = res
    res.once('close', () => {
      if (!res.writableFinished) this.#controller.abort(new Broken('the client left'))
    })
  }

  /** Aborts when the client leaves or the transfer is broken off. Its reason is an `Error`. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Breaks the transfer off: whoever works for it learns of it by {@link signal}. */
  break(answer: HttpError): void {
    this.#controller.abort(new Refusal(answer))
  }

  /**
   * The body, exactly `length` bytes of it, as fast as it is taken.
   *
   * @param length - What the head announced.
   * @param mismatch - The answer to a body of another length.
   */
  async* body(length: number, mismatch: () => Refusal): AsyncGenerator<Uint8Array> {
    // The socket stays: it takes the answer.
    const chunks = this.#req.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>
    let read = 0
    for (;;) {
      const { done, value } = await this.#orAbort(chunks.next())
      if (done === true) break
      read += value.length
      if (read > length) throw mismatch()
      yield value
    }
    if (read !== length) throw mismatch()
  }

  /** Sends a JSON answer. */
  async json(status: number, body: string): Promise<void> {
    this.#res.writeHead(status, {
      'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store',
    })
    this.#res.end(body)
    await this.#finished()
  }

  /**
   * Sends a file, as fast as the client takes it. The head goes out with the first of it, so that a file that cannot be
   * read is an error answer.
   *
   * @throws What `data` throws before its first piece. Later failures break the connection off.
   */
  async file(head: { readonly size: number, readonly mediaType: string, readonly disposition: string }, data: AsyncIterable<Uint8Array>): Promise<void> {
    const res = this.#res
    const pieces = data[Symbol.asyncIterator]()
    let left = head.size
    try {
      let piece = await this.#orAbort(pieces.next())
      res.writeHead(200, {
        'content-type': head.mediaType,
        'content-length': head.size,
        'content-disposition': head.disposition,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      for (; piece.done !== true; piece = await this.#orAbort(pieces.next())) {
        left -= piece.value.length
        if (left < 0) break
        if (!res.write(piece.value)) await this.#drained()
      }
      if (left === 0) res.end()
      // The client sees that it does not have all of it.
      else res.destroy()
      await this.#finished()
    } catch (error) {
      if (!res.headersSent) throw error
      res.destroy()
    } finally {
      // Whoever still reads has the signal to learn from.
      pieces.return?.().catch(() => {})
    }
  }

  /** Answers a failure. `answerOf` says what a failure of the Host is called. */
  fail(error: unknown, answerOf: (error: unknown) => HttpError): void {
    const reason: unknown = this.signal.aborted ? this.signal.reason : error
    if (reason instanceof Broken || this.#res.headersSent) {
      this.#res.destroy()
      return
    }
    const answer = reason instanceof Refusal ? reason.answer : answerOf(reason)
    // What is left of the body is not wanted; the connection ends with the answer.
    sendError(this.#res, answer, this.#req.complete ? {} : { connection: 'close' })
    // Whoever read it may still wait for more, and would hold it back.
    this.#req.removeAllListeners('readable')
    this.#req.resume()
  }

  #orAbort<T>(work: Promise<T>): Promise<T> {
    const { signal } = this
    return new Promise((resolve, reject) => {
      const abort = (): void => { reject(signal.reason as Error) }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
      work.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort) })
    })
  }

  #drained(): Promise<void> {
    return this.#orAbort(new Promise((resolve) => { this.#res.once('drain', resolve) }))
  }

  /** The socket has taken everything, or is gone. */
  #finished(): Promise<void> {
    if (this.#res.closed) return Promise.resolve()
    return this.#orAbort(new Promise((resolve) => { this.#res.once('close', resolve) }))
  }
}

/** The transfers of one gateway. */
export class TransferSet {
  readonly #active = new Map<Transfer, Promise<void>>()
  #end: HttpError | undefined

  /**
   * Carries a transfer out. Never rejects.
   *
   * @param work - Answers the request, or throws.
   * @param answerOf - What a failure of `work` is called.
   */
  async run(req: IncomingMessage, res: ServerResponse, work: (transfer: Transfer) => Promise<void>, answerOf: (error: unknown) => HttpError): Promise<void> {
    const transfer = new Transfer(req, res)
    const running = this.#end === undefined ? work(transfer) : Promise.reject(new Refusal(this.#end))
    const done = running.catch((error: unknown) => { transfer.fail(error, answerOf) })
    this.#active.set(transfer, done)
    await done
    this.#active.delete(transfer)
  }

  /** Breaks everything off, refuses what comes later, and resolves when nothing is left. */
  async stop(answer: HttpError): Promise<void> {
    this.#end = answer
    for (const transfer of this.#active.keys()) transfer.break(answer)
    await Promise.all(this.#active.values())
  }
}
