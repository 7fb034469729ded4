/** The model of the benchmarks: `[deltas=N]` in the last message that has it, `[yield]` for a turn of the event loop a delta. */
import { setImmediate } from 'node:timers/promises'

import { LlmAdapter } from '@deepseek-ai/dsh-llm'
import type { GenerateOptions, LlmResolvedModelInfo, Message, StreamChunk } from '@deepseek-ai/dsh-llm'

/** Characters of one delta. */
export const DELTA_CHARACTERS = 8

export class BenchModel extends LlmAdapter {
  override async resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    return { provider, id: model, name: model, context: { contextWindow: 100_000_000 } }
  }

  override async * stream({ messages, signal }: GenerateOptions): AsyncIterable<StreamChunk> {
    const { deltas, yields } = readScript(messages)
    yield { type: 'block-start', index: 0, blockType: 'text' }
    let text = ''
    for (let n = 0; n < deltas; n++) {
      if (yields) await setImmediate()
      signal?.throwIfAborted()
      const delta = `${String(n).padStart(DELTA_CHARACTERS - 1, '0')} `
      text += delta
      yield { type: 'text-delta', index: 0, text: delta }
    }
    yield { type: 'block-end', index: 0, block: { type: 'text', text } }
    yield { type: 'usage', usage: { inputTokens: 1, outputTokens: deltas } }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

function readScript(messages: readonly Message[]): { deltas: number, yields: boolean } {
  for (const message of messages.toReversed()) {
    for (const block of message.content) {
      const match = block.type === 'text' ? /\[deltas=(\d+)\](\[yield\])?/.exec(block.text) : null
      if (match !== null) return { deltas: Number(match[1]), yields: match[2] !== undefined }
    }
  }
  return { deltas: 1, yields: false }
}
