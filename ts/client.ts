/**
 * The client companion of the gateway (G24). Runs in browsers.
 *
 * @module dsh-ag-ui/client
 */

import { HttpAgent } from '@ag-ui/client'
import type { HttpAgentConfig, Message, RunAgentInput } from '@ag-ui/client'
import { reconnectingFetch } from './client/reconnect.ts'
import type { ReconnectOptions } from './client/reconnect.ts'

export { reconnectingFetch } from './client/reconnect.ts'
export type { AgentFetch, ReconnectOptions, RunName } from './client/reconnect.ts'

/** The call with which the A2UI middleware reports what the user did on a surface. */
const A2UI_EVENT = 'log_a2ui_event'

/** What a {@link DshHttpAgent} is made from. */
export interface DshHttpAgentConfig extends HttpAgentConfig {
  /**
   * Lets a run go on when its stream breaks; `{}` for the defaults. Without it such a run fails, as with `HttpAgent`. It is
   * worth little where the gateway's `reconnectGraceMs` is 0: then the rest of a run is the error that ended it.
   */
  readonly reconnect?: ReconnectOptions
}

/**
 * An `HttpAgent` that sends the gateway what it needs and keeps everything else to itself.
 *
 * The gateway has the durable history: of the messages it wants those of the user and the results of Tools. So the
 * request leaves out assistant, reasoning, system and developer messages (activities are never sent), except the
 * synthetic pair that `@ag-ui/a2ui-middleware` puts at the end. The local history stays complete for renderers and
 * middlewares, and the plain `HttpAgent` works as well: the gateway recognises what it has by message id.
 *
 * No user message is left out for its position: an assistant message behind it does not prove that the gateway
 * accepted it. Requests therefore grow with the user's messages; the gateway's limits apply.
 */
export class DshHttpAgent extends HttpAgent {
  constructor({ reconnect, ...config }: DshHttpAgentConfig) {
    // The global function is looked up at each call, as `HttpAgent` does: pages replace it.
    const { fetch: own = (url: string, init: RequestInit) => fetch(url, init) } = config
    super(reconnect === undefined ? config : { ...config, fetch: reconnectingFetch(own, reconnect) })
  }

  protected override requestInit(input: RunAgentInput): RequestInit {
    return super.requestInit({ ...input, messages: messagesToSend(input.messages) })
  }
}

/**
 * The messages of a request that the gateway needs, in their order.
 *
 * @param messages - A complete history.
 */
export function messagesToSend(messages: readonly Message[]): Message[] {
  const paired = a2uiCallMessage(messages)
  return messages.filter(message => message.role === 'user' || message.role === 'tool' || message === paired)
}

/** The assistant half of a synthetic pair at the very end: one call, and behind it its result. */
function a2uiCallMessage(messages: readonly Message[]): Message | undefined {
  const [message, result] = messages.slice(-2)
  if (message?.role !== 'assistant' || result?.role !== 'tool') return undefined
  const [call, ...others] = message.toolCalls ?? []
  const isPair = call?.function.name === A2UI_EVENT && others.length === 0 && call.id === result.toolCallId
  return isPair ? message : undefined
}
