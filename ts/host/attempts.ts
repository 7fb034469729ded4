/**
 * Live model attempts, told alike for every generation of DSH (host-api §4.2).
 *
 * @module
 */

import type { AssistantFrame, ChunkData, StreamChunk } from './compat.ts'
import type { AgentEvents } from './port.ts'

/** What an attempt reports. */
export type AttemptSink = Pick<AgentEvents, 'attemptStart' | 'text' | 'reasoning' | 'toolCall' | 'blockEnd' | 'attemptEnd'>

/** No block is open. */
const NO_BLOCK = -1

/**
 * Turns chunks (A) or frames (B, C) into the calls of {@link AttemptSink}. A Host feeds one of the two.
 *
 * This is the delta path: one call a chunk, no allocation.
 */
export class AttemptReader {
  /** Where reports go; replaced when the agent opens and closes. */
  sink: AttemptSink
  #open = false
  /** Index of the block whose delta was reported last. */
  #block = NO_BLOCK

  constructor(sink: AttemptSink) {
    this.sink = sink
  }

  /** Whether an attempt has begun and not ended. */
  get open(): boolean {
    return this.#open
  }

  /** Generation A: a chunk was logged. The first one begins the attempt; a failed finish abandons it. */
  chunkLogged(data: ChunkData): void {
    const { chunk } = data
    if (!this.#open) this.#start(data.turn, data.step)
    if (chunk.type === 'finish') {
      const { kind } = chunk.reason
      if (kind === 'error' || kind === 'aborted') this.#end(false)
    } else this.#chunk(chunk)
  }

  /** Generation A: the message that the open attempt made has been logged. */
  messageLogged(): void {
    if (this.#open) this.#end(true)
  }

  /** Generation A: the step is about to close; an attempt still open made no message. */
  stepEnding(): void {
    if (this.#open) this.#end(false)
  }

  /** Generations B and C: a frame of the stream. Its durable event, if any, was logged before the end frame. */
  frame(frame: AssistantFrame): void {
    switch (frame.type) {
      case 'start':
        if (this.#open) this.#end(false)
        this.#start(frame.turn, frame.step)
        return
      case 'chunk':
        if (this.#open) this.#chunk(frame.chunk)
        return
      case 'end':
        if (this.#open) this.#end(frame.outcome.kind === 'committed' && frame.outcome.eventType === 'assistant/message')
    }
  }

  #start(turn: number, step: number): void {
    this.#open = true
    this.#block = NO_BLOCK
    this.sink.attemptStart(turn, step)
  }

  #end(committed: boolean): void {
    this.#open = false
    this.sink.attemptEnd(committed)
  }

  #chunk(chunk: StreamChunk): void {
    switch (chunk.type) {
      case 'text-delta':
        if (chunk.text === '') return
        this.#block = chunk.index
        this.sink.text(chunk.text)
        return
      case 'reasoning-delta':
        if (chunk.text === '') return
        this.#block = chunk.index
        this.sink.reasoning(chunk.text)
        return
      case 'tool-call-delta':
        if (chunk.argumentsDelta === '' && chunk.name === undefined) return
        this.#block = chunk.index
        this.sink.toolCall(chunk.id, chunk.name, chunk.argumentsDelta)
        return
      case 'block-end':
        // Blocks may interleave: only the end of the one that was written last says something about it.
        if (chunk.index !== this.#block) return
        this.#block = NO_BLOCK
        this.sink.blockEnd()
    }
  }
}
