/** Turns of bare agents on the Host of the kit, for tests of Tools: what the model calls, and what it sees of it. */

import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { bootHost, callTools, logOf, MODEL, mountPlugin, PROVIDER, say } from './host.ts'
import type { TestHost } from './host.ts'
import { toolOutcome } from '../../ts/host/compat.ts'

/** A call that the model makes; text arguments are sent as they stand, so that they may be broken. */
export interface ModelCall {
  readonly name: string
  readonly args: unknown
}

/** What the model sees of a finished call. */
export interface ToolResult {
  readonly callId: string
  readonly text: string
  readonly isError: boolean
}

/** A preset of the kit; it has the Tool `ask_user_question`. */
const PRESET = 'demo'

export class TurnHost {
  readonly #host: TestHost
  #agents = 0

  private constructor(host: TestHost) {
    this.#host = host
  }

  static async boot(): Promise<TurnHost> {
    return new TurnHost(await bootHost({ persistence: 'none' }))
  }

  get ctx(): TestHost['ctx'] {
    return this.#host.ctx
  }

  /** Requests of the model, oldest first. */
  get requests(): TestHost['adapter']['requests'] {
    return this.#host.adapter.requests
  }

  dispose(): Promise<void> {
    return this.#host.dispose()
  }

  /** A fresh root agent, composed from {@link PRESET}. */
  agent(): Promise<AgentHandle> {
    return this.ctx.agents.create({
      sessionId: SessionId(`turns-${++this.#agents}`),
      agentOptions: { provider: PROVIDER, model: MODEL },
      meta: { agentPreset: PRESET },
      setup: async (agentCtx) => { await this.ctx.agentPresets.mount(agentCtx, PRESET) },
    })
  }

  /** A Tool for everybody. Returns the function that takes it back. */
  async globalTool(name: string): Promise<() => Promise<void>> {
    const definition: ToolDefinition = {
      name,
      description: 'A global Tool.',
      parameters: { type: 'object' },
      output: { schema: {}, render: () => [{ type: 'text', text: 'global' }] },
      execute: () => Promise.resolve(null),
    }
    const fiber = await mountPlugin(this.ctx, ['tools'], (plugin) => { plugin.tools.register(definition) })
    return async () => { await fiber.dispose() }
  }

  /** The model's next answer is these calls, with the ids `call-0`, `call-1`, ... */
  scriptCalls(...calls: ModelCall[]): void {
    this.#host.adapter.queue(callTools(calls.map((call, index) => ({ id: `call-${index}`, ...call }))))
  }

  /** As {@link scriptCalls}, and after their results the model ends the turn. */
  scriptTurn(...calls: ModelCall[]): void {
    this.scriptCalls(...calls)
    this.#host.adapter.queue(say('done'))
  }

  /** Sends a message. */
  start(agent: Agent): void {
    agent.followup(createUserMessage({ content: [{ type: 'text', text: 'go' }], source: { kind: 'user' } }))
  }

  /** Sends a message and waits for the agent to come to rest. */
  async turn(agent: Agent): Promise<ToolResult[]> {
    this.start(agent)
    await agent.whenIdle()
    return toolResults(agent)
  }
}

/** Results of all calls so far, in the order of the calls. */
export function toolResults(agent: Agent): ToolResult[] {
  return logOf(agent).flatMap((event) => {
    if (event.type !== 'tool/result') return []
    const outcome = toolOutcome(event.data)
    if (outcome === undefined) return []
    const parts = outcome.content as readonly { readonly type: string, readonly text?: string }[]
    return [{ callId: outcome.callId, text: parts.map(({ type, text }) => text ?? `[${type}]`).join(''), isError: outcome.isError }]
  })
}

/** How the last turn ended. */
export function turnEnd(agent: Agent): string | undefined {
  const event = logOf(agent).findLast(entry => entry.type === 'turn/end')
  return event?.data.reason.kind
}
