/** Live session events as the AG-UI events of one run. */
import { EventType } from '@ag-ui/core'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session'
import type { ToolRuntime } from '@deepseek-ai/dsh-tools'

import { callCard, resultCard } from './cards.ts'
import { assistantMessageId, resultMessageId, resultText, textOf } from './content.ts'
import { readMessages } from './history.ts'
import type { Outcome, Run } from './run.ts'

/** Projects the turn of one run, from its first event to its end. */
export class RunProjection {
  readonly #run: Run
  readonly #agent: Agent
  readonly #tools: ToolRuntime
  readonly #calls = new Map<string, SessionEvent<'tool/call'>>()
  /** Message whose text is being streamed. */
  #open: string | undefined
  /** Message whose text was streamed last, so that its assembled form is not sent again. */
  #streamed: string | undefined

  constructor(run: Run, agent: Agent, tools: ToolRuntime) {
    this.#run = run
    this.#agent = agent
    this.#tools = tools
  }

  handle(event: SessionEvent): void {
    switch (event.type) {
      case 'assistant/chunk': {
        const { turn, step, chunk } = event.data
        if (chunk.type === 'text-delta' && chunk.text !== '') this.#text(assistantMessageId(turn, step), chunk.text)
        break
      }
      case 'assistant/message': {
        const { turn, step, message } = event.data
        const id = assistantMessageId(turn, step)
        const text = textOf(message.content)
        if (this.#streamed !== id && text !== '') this.#text(id, text)
        this.#closeText()
        break
      }
      case 'tool/call':
        this.#toolCall(event)
        break
      case 'tool/result':
        this.#toolResult(event)
        break
      case 'step/end':
        this.#closeText()
        break
      case 'turn/end':
        this.#turnEnd(event.data.reason)
        break
    }
  }

  #text(messageId: string, delta: string): void {
    if (this.#open !== messageId) {
      this.#closeText()
      this.#run.emit({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' })
      this.#open = messageId
      this.#streamed = messageId
    }
    this.#run.emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta })
  }

  #closeText(): void {
    if (this.#open === undefined) return
    this.#run.emit({ type: EventType.TEXT_MESSAGE_END, messageId: this.#open })
    this.#open = undefined
  }

  #toolCall(event: SessionEvent<'tool/call'>): void {
    const { turn, step, callId, name } = event.data
    this.#closeText()
    this.#calls.set(callId, event)
    this.#run.emit({
      type: EventType.TOOL_CALL_START, toolCallId: callId, toolCallName: name, parentMessageId: assistantMessageId(turn, step),
    })
    this.#run.emit({ type: EventType.TOOL_CALL_ARGS, toolCallId: callId, delta: event.data.arguments })
    this.#run.emit({ type: EventType.TOOL_CALL_END, toolCallId: callId })
    this.#run.emit(callCard(this.#tools, this.#agent, event))
  }

  #toolResult(event: SessionEvent<'tool/result'>): void {
    const { turn, step, message } = event.data
    const { callId } = message.source
    this.#run.emit({
      type: EventType.TOOL_CALL_RESULT,
      messageId: resultMessageId(turn, step, callId),
      toolCallId: callId,
      role: 'tool',
      content: resultText(message),
    })
    const call = this.#calls.get(callId)
    if (call !== undefined) this.#run.emit(resultCard(this.#tools, this.#agent, call, event))
  }

  #turnEnd(reason: TurnEndReason): void {
    this.#closeText()
    const outcome = outcomeOf(reason)
    if (outcome.kind === 'finished') {
      this.#run.emit({ type: EventType.MESSAGES_SNAPSHOT, messages: readMessages(this.#agent) })
    }
    this.#run.end(outcome)
  }
}

function outcomeOf(reason: TurnEndReason): Outcome {
  switch (reason.kind) {
    case 'completed':
    case 'max-tokens': return { kind: 'finished' }
    case 'error': return { kind: 'error', code: reason.error.code, message: reason.error.message }
    case 'aborted': return { kind: 'error', code: 'AGENT_ABORTED', message: 'the turn was aborted' }
    case 'blocked': return { kind: 'error', code: 'AGENT_BLOCKED', message: 'the turn was blocked' }
    case 'interrupted': return { kind: 'error', code: 'AGENT_INTERRUPTED', message: 'the turn was interrupted' }
    default: return { kind: 'error', code: 'AGENT_EXECUTION_ERROR', message: 'the turn failed' }
  }
}
