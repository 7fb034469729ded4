/** A model whose answer follows from the conversation alone, so that it says the same in every life of its Host. */

import { LlmAdapter } from '@deepseek-ai/dsh-llm'
import type { GenerateOptions, LlmModelInfo, LlmResolvedModelInfo, StreamChunk } from '@deepseek-ai/dsh-llm'
import { callTools, fail, MODEL, say } from '../scripted-adapter.ts'

/** The code of the provider's failure. */
export const FAILURE = 'SCRIPT_FAILED'

/** The chunks that clients or the log learn of; the others go with them. */
const STEPS: ReadonlySet<string> = new Set<StreamChunk['type']>(['text-delta', 'tool-call-delta', 'finish'])

/** Takes each step only when it is let. */
export class SteppedModel extends LlmAdapter {
  readonly #step: (sessionId: string | undefined) => Promise<void>

  /** @param step - Resolves when the next step may be taken. */
  constructor(step: (sessionId: string | undefined) => Promise<void>) {
    super()
    this.#step = step
  }

  override listModels(provider: string): Promise<readonly LlmModelInfo[]> {
    return Promise.resolve([{ provider, id: MODEL, name: 'Demo 1' }])
  }

  override resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    return Promise.resolve({ provider, id: model, name: model, inputModalities: ['text'], context: { contextWindow: 100_000 } })
  }

  async * stream({ messages, sessionId, signal }: GenerateOptions): AsyncIterable<StreamChunk> {
    for (const chunk of reply(messages)) {
      if (STEPS.has(chunk.type)) await this.#step(sessionId)
      signal?.throwIfAborted()
      yield chunk
    }
  }
}

type Messages = GenerateOptions['messages']

/** The answer to the newest of what people said and Tools gave. Calls have the same ids whenever they are made. */
function reply(messages: Messages): StreamChunk[] {
  const result = messages.at(lastAt(messages))?.content.find(block => block.type === 'tool-result')
  const text = textOf(messages.at(lastAt(messages))?.content ?? [])
  if (result?.type === 'tool-result') {
    switch (String(result.toolCallId)) {
      case 'call-look': return say('Seen.')
      case 'call-pick': return say(`Got ${textOf(result.content)}.`)
      default: return say('Two.')
    }
  }
  switch (text) {
    case 'hello': return say('Hello you')
    case 'look': return callTools([{ id: 'call-look', name: 'look', args: { path: 'a' } }], 'Looking.')
    case 'pick': return callTools([{ id: 'call-pick', name: 'pick', args: {} }], 'Which?')
    case 'count': return callTools([{ id: 'call-count', name: 'ag_ui_update_state', args: { state_updates: { count: 2 } } }])
    case 'and two': return say('Both.')
    case 'fail': return fail('Oh', 'the provider fails', FAILURE)
    default: return say('Bye.')
  }
}

function lastAt(messages: Messages): number {
  return messages.findLastIndex(({ role, source, content }) =>
    role === 'user' && (source.kind === 'user' || content.some(block => block.type === 'tool-result')))
}

function textOf(content: Messages[number]['content']): string {
  return content.map(block => block.type === 'text' ? block.text : '').join('')
}
