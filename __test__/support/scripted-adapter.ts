/**
 * A model that says what a test queued: no key, no network.
 */

import { LlmAdapter, LlmError } from '@deepseek-ai/dsh-llm'
import type { GenerateOptions, LlmModelInfo, LlmResolvedModelInfo, StreamChunk } from '@deepseek-ai/dsh-llm'

/** The provider that the kit registers, and its model. */
export const PROVIDER = 'scripted'
export const MODEL = 'demo-1'

/**
 * What one model call answers: chunks, a function of the request that makes them (asynchronously, if it likes), or
 * `hang`: one delta (`partial`), then nothing until the request is aborted.
 */
export type ScriptEntry =
  | 'hang'
  | readonly StreamChunk[]
  | ((request: GenerateOptions) => readonly StreamChunk[] | AsyncIterable<StreamChunk>)

/** One call of {@link callTools}. */
export interface ScriptedCall {
  readonly id: string
  readonly name: string
  /** Sent as JSON; a string is sent as it stands, so that it may be broken. */
  readonly args: unknown
}

/** A text answer in pieces of six characters. */
export function say(text: string): StreamChunk[] {
  return [...textBlock(0, text.match(/.{1,6}/gsu) ?? [], text), ...ending('stop')]
}

/** An answer that reasons first. */
export function think(reasoning: string, text: string): StreamChunk[] {
  return [
    { type: 'block-start', index: 0, blockType: 'reasoning' },
    { type: 'reasoning-delta', index: 0, text: reasoning },
    { type: 'block-end', index: 0, block: { type: 'reasoning', text: reasoning } },
    ...textBlock(1, [text], text),
    ...ending('stop'),
  ]
}

/** Tool calls of one message, each with its arguments in two pieces, after an optional text. */
export function callTools(calls: readonly ScriptedCall[], text?: string): StreamChunk[] {
  const chunks: StreamChunk[] = text === undefined ? [] : textBlock(0, [text], text)
  for (const [position, { id: callId, name, args }] of calls.entries()) {
    const index = position + (text === undefined ? 0 : 1)
    const json = typeof args === 'string' ? args : JSON.stringify(args)
    const half = Math.ceil(json.length / 2)
    const id = callId as never // branded, and the brand's name differs between generations
    chunks.push(
      { type: 'block-start', index, blockType: 'tool-call' },
      { type: 'tool-call-delta', index, id, name, argumentsDelta: json.slice(0, half) },
      { type: 'tool-call-delta', index, id, argumentsDelta: json.slice(half) },
      { type: 'block-end', index, block: { type: 'tool-call', id, name, arguments: json } },
    )
  }
  return [...chunks, ...ending('tool-calls')]
}

/** Some text, then a provider failure. */
export function fail(partial: string, message = 'provider failed', code = 'SCRIPT_FAILED'): StreamChunk[] {
  return [
    { type: 'block-start', index: 0, blockType: 'text' },
    { type: 'text-delta', index: 0, text: partial },
    { type: 'finish', reason: { kind: 'error', failure: { message, code } } },
  ]
}

/** Text that the output limit cuts. */
export function cut(text: string): StreamChunk[] {
  return [...textBlock(0, [text], text), ...ending('max-tokens')]
}

function textBlock(index: number, pieces: readonly string[], text: string): StreamChunk[] {
  return [
    { type: 'block-start', index, blockType: 'text' },
    ...pieces.map((piece): StreamChunk => ({ type: 'text-delta', index, text: piece })),
    { type: 'block-end', index, block: { type: 'text', text } },
  ]
}

function ending(kind: 'stop' | 'tool-calls' | 'max-tokens'): StreamChunk[] {
  return [
    { type: 'usage', usage: { inputTokens: 10, outputTokens: 5 } },
    { type: 'finish', reason: { kind } },
  ]
}

/** Holds an answer back until a test lets it go on. */
export class Gate {
  /** Resolves when an answer has come to the gate. */
  readonly reached: Promise<void>
  #arrive!: () => void
  readonly #opened: Promise<void>
  #open!: () => void

  constructor() {
    this.reached = new Promise((resolve) => { this.#arrive = resolve })
    this.#opened = new Promise((resolve) => { this.#open = resolve })
  }

  /** Lets everything through, from now on. */
  open(): void {
    this.#open()
  }

  /** Waits for {@link open}; rejects when the signal aborts. */
  async pass(signal?: AbortSignal): Promise<void> {
    this.#arrive()
    await Promise.race([this.#opened, aborted(signal)])
  }
}

/** A text answer whose second half waits at a gate. */
export function sayThrough(gate: Gate, before: string, after: string): ScriptEntry {
  return async function* ({ signal }) {
    yield { type: 'block-start', index: 0, blockType: 'text' }
    yield { type: 'text-delta', index: 0, text: before }
    await gate.pass(signal)
    if (after !== '') yield { type: 'text-delta', index: 0, text: after }
    yield { type: 'block-end', index: 0, block: { type: 'text', text: before + after } }
    yield* ending('stop')
  }
}

/** An answer that waits at a gate before its first chunk. */
export function after(gate: Gate, answer: readonly StreamChunk[]): ScriptEntry {
  return async function* ({ signal }) {
    await gate.pass(signal)
    yield* answer
  }
}

/** Answers each model call with the next queued entry; an empty queue is a provider failure. */
export class ScriptedAdapter extends LlmAdapter {
  /** Requests in the order of dispatch, without those for session titles. */
  readonly requests: GenerateOptions[] = []
  readonly #script: ScriptEntry[] = []

  /** Appends answers. */
  queue(...entries: ScriptEntry[]): void {
    this.#script.push(...entries)
  }

  override listModels(provider: string): Promise<readonly LlmModelInfo[]> {
    return Promise.resolve([{ provider, id: MODEL, name: 'Demo 1' }])
  }

  override resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    return Promise.resolve({
      provider, id: model, name: model, inputModalities: ['text', 'image'], context: { contextWindow: 100_000 },
    })
  }

  async * stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    if (options.purpose === 'session-title') {
      // The web profile asks the same provider for titles: that must not eat the script (host-api §0.2-13).
      yield* say('A title')
      return
    }
    this.requests.push(options)
    const entry = this.#script.shift()
    if (entry === undefined) throw new LlmError('script exhausted', 'SCRIPT_EXHAUSTED')
    if (entry === 'hang') {
      yield { type: 'block-start', index: 0, blockType: 'text' }
      yield { type: 'text-delta', index: 0, text: 'partial' }
      await aborted(options.signal)
    }
    const chunks = typeof entry === 'function' ? entry(options) : entry === 'hang' ? [] : entry
    if (Symbol.asyncIterator in chunks) {
      yield* chunks
      return
    }
    for (const chunk of chunks) {
      options.signal?.throwIfAborted()
      yield chunk
    }
  }
}

/** A fresh scripted model. */
export function createScriptedAdapter(): ScriptedAdapter {
  return new ScriptedAdapter()
}

/** Rejects when the signal aborts. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal === undefined) return
    const abort = (): void => reject(new Error('aborted'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
