/** Content blocks of the session log as AG-UI text. */
import type { ContentBlock, ToolResultMessage } from '@deepseek-ai/dsh-llm'

type ToolResultBlock = Extract<ContentBlock, { type: 'tool-result' }>

/** The text blocks, joined. */
export function textOf(content: readonly ContentBlock[]): string {
  let text = ''
  for (const block of content) if (block.type === 'text') text += block.text
  return text
}

/** The single block of a Tool result message. */
export function resultBlock(message: ToolResultMessage): ToolResultBlock {
  const block = message.content[0]
  if (block?.type !== 'tool-result') throw new TypeError('a tool result message holds one tool-result block')
  return block
}

/** A Tool result flattened to text, attachments as placeholders. */
export function resultText(message: ToolResultMessage): string {
  return resultBlock(message).content.map(block => {
    switch (block.type) {
      case 'text':
      case 'reasoning': return block.text
      case 'image': return '[image result]'
      default: return `[${block.type}]`
    }
  }).join('\n')
}

/** AG-UI id of the assistant message of one step. */
export function assistantMessageId(turn: number, step: number): string {
  return `assistant-${turn}.${step}`
}

/** AG-UI id of a Tool result. */
export function resultMessageId(turn: number, step: number, callId: string): string {
  return `result-${turn}.${step}.${callId}`
}
