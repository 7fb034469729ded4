/** Tool view cards (`dsh:tool:view`), evaluated alike for live events and for history. */
import { EventType } from '@ag-ui/core'
import type { AGUIEvent } from '@ag-ui/core'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import type { ToolRuntime } from '@deepseek-ai/dsh-tools'

import { resultBlock } from './content.ts'

/** The card of a pending call. */
export function callCard(tools: ToolRuntime, agent: Agent, { data }: SessionEvent<'tool/call'>): AGUIEvent {
  const args = parseArguments(data.arguments)
  const card = attempt(() => tools.get(data.name, agent)?.presentCall?.(args))
    ?? { card: 'generic', title: data.name, rawInput: args }
  return view(data.callId, data.name, 'call', card)
}

/** The card of a settled call. */
export function resultCard(
  tools: ToolRuntime, agent: Agent, call: SessionEvent<'tool/call'>, { data }: SessionEvent<'tool/result'>,
): AGUIEvent {
  const block = resultBlock(data.message)
  const card = attempt(() => tools.get(call.data.name, agent)?.presentResult?.(parseArguments(call.data.arguments), {
    content: block.content,
    isError: block.isError ?? false,
    ...data.meta === undefined ? {} : { meta: data.meta },
  })) ?? { card: 'generic' }
  return view(call.data.callId, call.data.name, 'result', card)
}

function view(callId: string, toolName: string, phase: 'call' | 'result', card: unknown): AGUIEvent {
  return { type: EventType.CUSTOM, name: 'dsh:tool:view', value: { version: 1, callId, toolName, phase, card } }
}

/** Model arguments, or their raw text where the model's JSON is broken. */
function parseArguments(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

/** Presenters may throw on foreign arguments; the caller falls back to a generic card. */
function attempt<T>(presenter: () => T): T | undefined {
  try {
    return presenter()
  } catch {
    return undefined
  }
}
