/**
 * A language model without a key: an `LlmAdapter` that answers plainly and obeys the directives of `directives.ts`
 * in the last text that a person wrote. Everything it says is a function of the request, so it can be used by tests
 * and benchmarks as well as by the playground.
 *
 * @module
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

import { LlmAdapter, LlmError } from '@deepseek-ai/dsh-llm'
import type {
  CallId, ContentBlock, GenerateOptions, LlmModelInfo, LlmProviderInfo, LlmResolvedModelInfo, Message, StreamChunk,
} from '@deepseek-ai/dsh-llm'

import { parseDirectives } from './directives.ts'
import type { Directives, Pace } from './directives.ts'

/** Provider route of {@link ScriptedModel}. */
export const SCRIPTED_PROVIDER = 'scripted'
/** The only model id that {@link ScriptedModel} lists; it answers to any other as well. */
export const SCRIPTED_MODEL = 'scripted-1'
/** Code of the failure that `[fail]` provokes. */
export const SCRIPTED_FAILURE = 'SCRIPTED_FAILURE'
/** The Tool that the gateway offers while a thread has shared state. */
const STATE_TOOL = 'ag_ui_update_state'
/** Characters in a delta of text, reasoning or arguments. */
const DELTA_CHARACTERS = 8
/** Characters of a Tool's result that the closing sentence quotes. */
const QUOTED_CHARACTERS = 160

/** The scripted provider. Stateless: one instance serves any number of agents. */
export class ScriptedModel extends LlmAdapter {
  override providerInfo(provider: string): LlmProviderInfo {
    return { id: provider, name: 'Scripted model' }
  }

  override async listModels(provider: string): Promise<readonly LlmModelInfo[]> {
    return [{ provider, id: SCRIPTED_MODEL, name: 'Scripted model' }]
  }

  override async resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    return { provider, id: model, name: 'Scripted model', inputModalities: ['text', 'image'], context: { contextWindow: 1_000_000 } }
  }

  /**
   * Answers one request.
   *
   * @throws LlmError with code {@link SCRIPTED_FAILURE} where `[fail]` asks for it; the abort reason (or an `Error`
   *   that carries it as its cause) when `options.signal` aborts.
   */
  override async * stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const { signal } = options
    const directives = parseDirectives(lastUserText(options.messages))
    const pace = options.purpose === undefined ? directives.pace : NO_PACE
    let previous: StreamChunk['type'] | undefined
    for (const beat of options.purpose === undefined ? script(directives, options) : purposeScript(options)) {
      if (beat.type === 'break') {
        if (beat.how === 'hang') await aborted(signal)
        throw new LlmError('the scripted model was told to fail', SCRIPTED_FAILURE)
      }
      if (pace.kind !== 'none' && beat.type === previous) await pause(pace, signal)
      if (signal?.aborted === true) throw abortError(signal)
      previous = beat.type
      yield beat
    }
  }
}

/** A chunk to send, or the place where the response breaks off. */
type Beat = StreamChunk | { readonly type: 'break', readonly how: 'fail' | 'hang' }

const NO_PACE: Pace = { kind: 'none' }

/** The whole response to a request of the agent loop. */
function* script(directives: Directives, options: GenerateOptions): Iterable<Beat> {
  const { ending } = directives
  const results = resultsSinceUser(options.messages)
  const calls = results.length > 0 ? [] : plannedCalls(directives, options)
  let index = 0

  if (directives.reasoning === 'first' && results.length === 0) {
    yield* block(index++, 'reasoning', pieces(`The request has ${options.messages.length} messages. I follow the script.`))
  }
  if (calls.length > 0) {
    if (directives.deltas !== undefined) yield* block(index++, 'text', numbered(directives.deltas))
    for (const [position, call] of calls.entries()) {
      if (position === 0 && 'during' in ending && ending.during === 'call') {
        yield* openCall(index, call, call.arguments.slice(0, Math.ceil(call.arguments.length / 2)))
        yield { type: 'break', how: ending.kind }
      }
      yield* openCall(index, call, call.arguments)
      yield { type: 'block-end', index, block: { type: 'tool-call', ...call } }
      index += 1
    }
    yield* finish(options, 'tool-calls')
    return
  }

  const text = results.length > 0 ? pieces(nameResults(results))
    : directives.deltas !== undefined ? numbered(directives.deltas)
      : pieces(plainAnswer(directives, options))
  switch (ending.kind) {
    case 'stop':
    case 'max-tokens':
      yield* block(index, 'text', text)
      yield* finish(options, ending.kind)
      return
    case 'fail':
    case 'hang':
      yield* open(index, 'text', text)
      yield { type: 'break', how: ending.kind }
  }
}

/** The response to a call that the Host makes for itself: a title from the first words, or a stand-in summary. */
function* purposeScript(options: GenerateOptions): Iterable<Beat> {
  const first = options.messages.find(message => message.role === 'user')
  const words = parseDirectives(textOf(first?.content ?? [])).plain.split(' ').slice(0, 6).join(' ')
  const text = options.purpose === 'session-title' && words !== '' ? words : 'Scripted conversation'
  yield* block(0, 'text', [text])
  yield* finish(options, 'stop')
}

/** A block's start and deltas without its end. */
function* open(index: number, type: 'text' | 'reasoning', deltas: Iterable<string>): Generator<StreamChunk, string> {
  yield { type: 'block-start', index, blockType: type }
  const delta = type === 'text' ? 'text-delta' : 'reasoning-delta'
  let whole = ''
  for (const text of deltas) {
    whole += text
    yield { type: delta, index, text }
  }
  return whole
}

function* block(index: number, type: 'text' | 'reasoning', deltas: Iterable<string>): Generator<StreamChunk, void> {
  const text = yield* open(index, type, deltas)
  yield { type: 'block-end', index, block: { type, text } }
}

/** A call's start and these of its arguments, without its end. */
function* openCall(index: number, { id, name }: PlannedCall, json: string): Iterable<StreamChunk> {
  yield { type: 'block-start', index, blockType: 'tool-call' }
  for (const [position, argumentsDelta] of pieces(json).entries()) {
    yield { type: 'tool-call-delta', index, id, ...position === 0 ? { name } : {}, argumentsDelta }
  }
}

function* finish(options: GenerateOptions, kind: 'stop' | 'tool-calls' | 'max-tokens'): Iterable<StreamChunk> {
  yield { type: 'usage', usage: { inputTokens: options.messages.length, outputTokens: 1 } }
  yield { type: 'finish', reason: { kind } }
}

async function pause(pace: Pace, signal: AbortSignal | undefined): Promise<void> {
  if (pace.kind === 'yield') await nextTurn()
  else if (pace.kind === 'slow') {
    // The caller reads the signal right after; here it only cuts the pause short.
    await sleep(pace.milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
  }
}

interface PlannedCall {
  readonly id: CallId
  readonly name: string
  readonly arguments: string
}

interface NamedResult {
  readonly name: string
  readonly text: string
  readonly outcome: 'returned' | 'failed'
}

function lastUserIndex(messages: readonly Message[]): number {
  return messages.findLastIndex(message => message.role === 'user' && message.source.kind === 'user')
}

/** What the person last wrote. Context that plugins inject is not the person's. */
function lastUserText(messages: readonly Message[]): string {
  return textOf(messages[lastUserIndex(messages)]?.content ?? [])
}

/** The Tool results that came since the person last wrote. */
function resultsSinceUser(messages: readonly Message[]): NamedResult[] {
  const names = new Map<string, string>()
  const results: NamedResult[] = []
  for (const block of messages.slice(lastUserIndex(messages) + 1).flatMap(message => message.content)) {
    if (block.type === 'tool-call') names.set(block.id, block.name)
    else if (block.type === 'tool-result') {
      results.push({
        name: names.get(block.toolCallId) ?? block.toolCallId,
        text: textOf(block.content),
        outcome: block.isError === true ? 'failed' : 'returned',
      })
    }
  }
  return results
}

/**
 * The calls that a text asks for. Their ids name the length of the history, so that they are unique in a session,
 * also after a failed step and after a restart, and the same in every run of a test.
 */
function plannedCalls(directives: Directives, options: GenerateOptions): PlannedCall[] {
  const wanted = [...directives.tools]
  if (offersState(options)) {
    for (const json of directives.stateUpdates) wanted.push({ name: STATE_TOOL, arguments: `{"state_updates":${json}}` })
  }
  return wanted.map((tool, index) => ({
    id: `call_${options.messages.length}_${index + 1}` as CallId, name: tool.name, arguments: tool.arguments,
  }))
}

function offersState(options: GenerateOptions): boolean {
  return options.tools?.some(tool => tool.name === STATE_TOOL) ?? false
}

function plainAnswer(directives: Directives, options: GenerateOptions): string {
  const notes: string[] = []
  if (directives.plain !== '') notes.push(`You said: ${directives.plain}`)
  if (directives.stateUpdates.length > 0 && !offersState(options)) notes.push('This thread has no shared state to update.')
  return notes.length > 0 ? notes.join(' ') : 'The scripted model is here. Write something, or use a directive.'
}

function nameResults(results: readonly NamedResult[]): string {
  return results.map(({ name, text, outcome }) => {
    const quoted = text.length > QUOTED_CHARACTERS ? `${text.slice(0, QUOTED_CHARACTERS)}…` : text
    return outcome === 'failed' ? `${name} failed: ${quoted}` : `${name} returned: ${quoted}`
  }).join('\n')
}

function textOf(content: readonly ContentBlock[]): string {
  return content.map(block => block.type === 'text' ? block.text : '').filter(text => text !== '').join('\n')
}

/** Cuts a text into deltas without splitting a code point. */
function pieces(text: string): string[] {
  return text.match(new RegExp(`.{1,${DELTA_CHARACTERS}}`, 'gsu')) ?? []
}

/** `count` deltas of 8 characters that carry their own number, so that a gap or a repetition shows. */
function* numbered(count: number): Iterable<string> {
  for (let index = 0; index < count; index += 1) yield `${String(index).padStart(DELTA_CHARACTERS - 1, '0')} `
}

/** Rejects when the signal aborts; never settles before, and never at all without a signal. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal === undefined) return
    if (signal.aborted) reject(abortError(signal))
    else signal.addEventListener('abort', () => reject(abortError(signal)), { once: true })
  })
}

/** The Host aborts with plain objects as reasons; what is thrown should be an `Error`. */
function abortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('the request was aborted', { cause: signal.reason })
}
