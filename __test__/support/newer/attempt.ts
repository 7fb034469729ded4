/**
 * One model attempt: transient frames for those who watch, one compact record for the log (host-api §4.1). The durable
 * event is committed before the frame that says so.
 */

import { BlockAssembler } from '@deepseek-ai/dsh-llm'
import type { StreamChunk } from '@deepseek-ai/dsh-llm'

/** How an attempt was recorded. */
export type AttemptOutcome =
  | { readonly kind: 'committed', readonly eventType: 'assistant/message' | 'assistant/attempt', readonly seq: number }
  | { readonly kind: 'abandoned' }

/** A frame without what every frame carries. */
type FrameBody =
  | { readonly type: 'start', readonly turn: number, readonly step: number }
  | { readonly type: 'chunk', readonly index: number, readonly time: number, readonly chunk: StreamChunk }
  | { readonly type: 'end', readonly index: number, readonly outcome: AttemptOutcome }

/** What `agent/assistant-stream` carries. */
export type AttemptFrame = FrameBody & { readonly attemptId: string, readonly revision: number }

/** A run of deltas of one block in a record: when it began, the gaps, the pieces. */
export type StreamRecord =
  | { readonly type: 'text-chunks' | 'reasoning-chunks', readonly time0: number, readonly index: number, readonly dt: number[], readonly texts: string[] }
  | {
    readonly type: 'tool-call-chunks'
    readonly time0: number
    readonly index: number
    readonly dt: number[]
    readonly id: string
    readonly name?: string
    readonly args: string[]
  }
  | { readonly type: 'chunk', readonly time: number, readonly chunk: StreamChunk }

interface Timed { readonly time: number, readonly chunk: StreamChunk }

/** Numbers frames and attempts of one agent. */
export interface AttemptCounters {
  revision: number
  attempts: number
}

export class Attempt {
  readonly #assembler = new BlockAssembler()
  readonly #chunks: Timed[] = []
  readonly #emit: (body: FrameBody) => void
  #ended = false

  constructor(sessionId: string, counters: AttemptCounters, publish: (frame: AttemptFrame) => void) {
    counters.attempts += 1
    const attemptId = `${sessionId}:${counters.attempts}`
    this.#emit = (body) => {
      counters.revision += 1
      publish({ ...body, attemptId, revision: counters.revision })
    }
  }

  get ended(): boolean {
    return this.#ended
  }

  /** What the chunks make. */
  get result(): BlockAssembler {
    return this.#assembler
  }

  /** The chunks as the log keeps them. */
  get stream(): StreamRecord[] {
    return compact(this.#chunks)
  }

  start(turn: number, step: number): void {
    this.#emit({ type: 'start', turn, step })
  }

  push(chunk: StreamChunk): void {
    const timed = { time: Date.now(), chunk: structuredClone(chunk) }
    this.#chunks.push(timed)
    this.#assembler.push(timed.chunk)
    this.#emit({ type: 'chunk', index: this.#chunks.length - 1, ...timed })
  }

  /** Ends the attempt with the event that `append` commits; an attempt that cannot be committed is abandoned. */
  settle(eventType: 'assistant/message' | 'assistant/attempt', append: () => number): void {
    try {
      const seq = append()
      this.#end({ kind: 'committed', eventType, seq })
    } catch (error) {
      if (!this.#ended) this.abandon()
      throw error
    }
  }

  abandon(): void {
    this.#end({ kind: 'abandoned' })
  }

  #end(outcome: AttemptOutcome): void {
    this.#ended = true
    this.#emit({ type: 'end', index: this.#chunks.length, outcome })
  }
}

/** Joins the deltas of one block that follow each other. */
function compact(chunks: readonly Timed[]): StreamRecord[] {
  const records: StreamRecord[] = []
  let last = 0
  for (const { time, chunk } of chunks) {
    const run = records.at(-1)
    const dt = time - last
    last = time
    if (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') {
      const type = chunk.type === 'text-delta' ? 'text-chunks' : 'reasoning-chunks'
      if (run?.type === type && run.index === chunk.index) {
        run.dt.push(dt)
        run.texts.push(chunk.text)
      } else records.push({ type, time0: time, index: chunk.index, dt: [], texts: [chunk.text] })
    } else if (chunk.type === 'tool-call-delta') {
      const { index, id, name, argumentsDelta } = chunk
      if (run?.type === 'tool-call-chunks' && run.index === index && run.id === id && name === undefined) {
        run.dt.push(dt)
        run.args.push(argumentsDelta)
      } else {
        records.push({
          type: 'tool-call-chunks', time0: time, index, dt: [], id, ...name === undefined ? {} : { name }, args: [argumentsDelta],
        })
      }
    } else records.push({ type: 'chunk', time, chunk })
  }
  return records
}
