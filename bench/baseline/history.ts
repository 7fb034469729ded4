/** The durable log as an AG-UI transcript with the settled cards of its Tool calls. */
import type { AGUIEvent, AssistantMessage, Message } from '@ag-ui/core'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import type { ToolRuntime } from '@deepseek-ai/dsh-tools'

import { callCard, resultCard } from './cards.ts'
import { assistantMessageId, resultMessageId, resultText, textOf } from './content.ts'

/** The messages of the log, in order, with the ids that live events use. */
export function readMessages(agent: Agent): Message[] {
  const messages: Message[] = []
  for (const event of agent.session.events) {
    switch (event.type) {
      case 'user/message':
        if (event.data.source.kind === 'user') {
          messages.push({ id: event.data.id, role: 'user', content: textOf(event.data.content) })
        }
        break
      case 'assistant/message': {
        const message = assistantMessage(event)
        if (message !== undefined) messages.push(message)
        break
      }
      case 'tool/result': {
        const { turn, step, message } = event.data
        messages.push({
          id: resultMessageId(turn, step, message.source.callId),
          role: 'tool',
          toolCallId: message.source.callId,
          content: resultText(message),
        })
        break
      }
    }
  }
  return messages
}

/** The cards of every settled call of the log, in order. */
export function readCards(agent: Agent, tools: ToolRuntime): AGUIEvent[] {
  const calls = new Map<string, SessionEvent<'tool/call'>>()
  const cards: AGUIEvent[] = []
  for (const event of agent.session.events) {
    if (event.type === 'tool/call') {
      calls.set(event.data.callId, event)
    } else if (event.type === 'tool/result') {
      const call = calls.get(event.data.message.source.callId)
      if (call !== undefined) cards.push(callCard(tools, agent, call), resultCard(tools, agent, call, event))
    }
  }
  return cards
}

function assistantMessage({ data }: SessionEvent<'assistant/message'>): AssistantMessage | undefined {
  const content = textOf(data.message.content)
  const toolCalls = data.message.content.filter(block => block.type === 'tool-call').map(block => ({
    id: block.id, type: 'function' as const, function: { name: block.name, arguments: block.arguments },
  }))
  if (content === '' && toolCalls.length === 0) return undefined
  return {
    id: assistantMessageId(data.turn, data.step),
    role: 'assistant',
    ...content === '' ? {} : { content },
    ...toolCalls.length === 0 ? {} : { toolCalls },
  }
}
