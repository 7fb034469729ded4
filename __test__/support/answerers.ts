/** Who else is in a Host: an interface of its own that answers, and agents that are not the gateway's. */

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Fiber } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import type {} from '@deepseek-ai/dsh-user-approval'
import type { AskUserQuestionAnswer, AskUserQuestionRequest } from '@deepseek-ai/dsh-user-questions'
import { bootGateway, MODEL, mountPlugin, PROVIDER } from './gateway.ts'
import type { TestGateway } from './gateway.ts'

/** What the Host's own interface does: answers whatever it is asked, before the gateway is there. */
export class OtherAnswerer {
  readonly asked: string[] = []
  readonly approved: string[] = []

  async mount(gateway: TestGateway): Promise<Fiber> {
    return await mountPlugin(gateway.host.ctx, ['userQuestions', 'approval'], (plugin) => {
      if (gateway.host.generation === 'A') plugin.userQuestions.registerProvider({ ask: request => this.#answer(request) })
      else plugin.on('user-questions/request' as never, ((request: AskUserQuestionRequest) => this.#answer(request)) as never)
      plugin.on('approval/request', (request) => {
        this.approved.push(request.agent.id)
        return Promise.resolve('rejected')
      })
    })
  }

  #answer({ agent, questions }: AskUserQuestionRequest): Promise<AskUserQuestionAnswer> {
    this.asked.push(agent?.id ?? 'nobody')
    return Promise.resolve({ answers: questions.map(({ id }) => ({ id, selected: [], custom: 'from the Host' })) })
  }
}

/** A Host whose own interface answers, as that of the web profile does. */
export async function shared(t: TestContext, config: object = {}): Promise<{ gateway: TestGateway, other: OtherAnswerer }> {
  const gateway = await bootGateway(t, config)
  const other = new OtherAnswerer()
  await other.mount(gateway)
  return { gateway, other }
}

/** An agent of the Host's own, from the preset that can ask. */
export async function foreignAgent(gateway: TestGateway): Promise<Agent> {
  let made: Agent | undefined
  await mountPlugin(gateway.host.ctx, ['agents', 'agentPresets'], async (plugin) => {
    const { agent } = await plugin.agents.create({
      sessionId: SessionId('foreign'),
      meta: { agentPreset: 'demo' },
      agentOptions: { provider: PROVIDER, model: MODEL },
      setup: async (agentCtx) => { await plugin.agentPresets.mount(agentCtx, 'demo') },
    })
    made = agent
  })
  assert.ok(made !== undefined)
  return made
}
