/** One run: its retained events, and the writer that sends them to a response. */
import type { ServerResponse } from 'node:http'

import { EventType } from '@ag-ui/core'
import type { AGUIEvent } from '@ag-ui/core'
import { EventEncoder } from '@ag-ui/encoder'

import type { BaselineConfig } from './config.ts'

const encoder = new EventEncoder()

/** How a run ended. */
export type Outcome = { readonly kind: 'finished' } | { readonly kind: 'error', readonly code: string, readonly message: string }

/** The retained event stream of one run. Appended to by the projection, read by any number of responses. */
export class Run {
  readonly threadId: string
  readonly runId: string
  /** Digest of the request that made the run. */
  readonly digest: string
  /** Encoded SSE frames, oldest first. */
  readonly frames: string[] = []

  readonly #limits: Pick<BaselineConfig, 'maxRunEvents' | 'maxRunEventBytes'>
  readonly #onOverflow: () => void
  readonly #ended = Promise.withResolvers<void>()
  #isEnded = false
  #bytes = 0
  #changed: PromiseWithResolvers<void> | undefined

  constructor(
    threadId: string, runId: string, digest: string,
    limits: Pick<BaselineConfig, 'maxRunEvents' | 'maxRunEventBytes'>, onOverflow: () => void,
  ) {
    this.threadId = threadId
    this.runId = runId
    this.digest = digest
    this.#limits = limits
    this.#onOverflow = onOverflow
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Settles when the terminal event is in the log. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Appends one event. Ends the run when a limit is reached; ignored once it has ended. */
  emit(event: AGUIEvent): void {
    if (this.#isEnded) return
    const frame = encoder.encode(event)
    const bytes = Buffer.byteLength(frame)
    // One event is kept free for the terminal one.
    if (this.frames.length + 1 >= this.#limits.maxRunEvents || this.#bytes + bytes > this.#limits.maxRunEventBytes) {
      this.end({ kind: 'error', code: 'AG_UI_EVENT_BUFFER_OVERFLOW', message: 'the run exceeded its event buffer' })
      this.#onOverflow()
      return
    }
    this.#append(frame, bytes)
  }

  /** Appends the terminal event. */
  end(outcome: Outcome): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const frame = encoder.encode(outcome.kind === 'finished'
      ? { type: EventType.RUN_FINISHED, threadId: this.threadId, runId: this.runId }
      : { type: EventType.RUN_ERROR, code: outcome.code, message: outcome.message })
    this.#append(frame, Buffer.byteLength(frame))
    this.#ended.resolve()
  }

  /** Writes the run from its first event to its end, as fast as the socket takes it. */
  async stream(res: ServerResponse): Promise<void> {
    res.writeHead(200, {
      'content-type': encoder.getContentType(),
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    for (let next = 0; !res.destroyed;) {
      const frame = this.frames[next]
      if (frame !== undefined) {
        next += 1
        if (!res.write(frame)) await drained(res)
      } else if (this.#isEnded) {
        res.end()
        return
      } else {
        await this.#whenChanged()
      }
    }
  }

  #append(frame: string, bytes: number): void {
    this.frames.push(frame)
    this.#bytes += bytes
    this.#changed?.resolve()
    this.#changed = undefined
  }

  #whenChanged(): Promise<void> {
    this.#changed ??= Promise.withResolvers<void>()
    return this.#changed.promise
  }
}

/** Settles when the socket takes more, or is gone. */
function drained(res: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      res.off('drain', done)
      res.off('close', done)
      resolve()
    }
    res.once('drain', done)
    res.once('close', done)
  })
}
