/** The arm without a gateway: the same turns, given to the same Host by a plugin in its own process. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { freezeMessage } from '@deepseek-ai/dsh-llm'
import type { MessageId } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'

import type { Turn } from '../harness/turn.ts'
import { MODEL } from './host.ts'

/** Drives turns on the Host. */
export class DirectDriver {
  readonly #ctx: Context
  readonly #home: string
  readonly #agents = new Map<string, Agent>()

  constructor(ctx: Context, home: string) {
    this.#ctx = ctx
    this.#home = home
  }

  /** Runs lanes at once and the turns of a lane one after another. */
  async run(lanes: readonly (readonly Turn[])[]): Promise<{ wallMs: number }> {
    const start = performance.now()
    await Promise.all(lanes.map(async lane => {
      for (const turn of lane) await this.#turn(turn)
    }))
    return { wallMs: performance.now() - start }
  }

  async #turn({ threadId, messages }: Turn): Promise<void> {
    const agent = this.#agents.get(threadId) ?? await this.#create(threadId)
    const queue = messages.map(({ id, content }) => freezeMessage({
      id: id as MessageId, role: 'user' as const, content: [{ type: 'text' as const, text: content }], source: { kind: 'user' as const },
    }))
    const last = queue.pop()
    for (const message of queue) agent.inject(message)
    if (last !== undefined) agent.followup(last)
    await agent.whenIdle()
  }

  async #create(threadId: string): Promise<Agent> {
    const cwd = join(this.#home, 'workspaces', threadId)
    await mkdir(cwd, { recursive: true })
    const { agent } = await this.#ctx.agents.create({ sessionId: SessionId(threadId), agentOptions: MODEL, meta: { cwd } })
    this.#agents.set(threadId, agent)
    return agent
  }
}
