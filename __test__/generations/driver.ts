/** What the conformance suite needs to know of a generation of DSH beyond what the gateway may see (host-api §4.1). */

import type { TestContext } from 'node:test'
import type { Config } from 'dsh-ag-ui'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { bootGateway, bootHost, logOf, TestGateway } from '../support/gateway.ts'
import type { BootOptions, HostGeneration } from '../support/gateway.ts'
import type { NewerPersistence } from '../support/newer/storage.ts'
import type { PresetsOfB } from '../support/newer/presets.ts'

/** One generation. */
export class Driver {
  readonly generation: HostGeneration

  constructor(generation: HostGeneration) {
    this.generation = generation
  }

  /** A Host with the gateway in it. */
  boot(t: TestContext, config: Partial<Config> = {}, options: BootOptions = {}): Promise<TestGateway> {
    return bootGateway(t, config, { ...options, generation: this.generation })
  }

  /** A Host for a gateway that is yet to be mounted. */
  async bare(t: TestContext, config: Partial<Config> = {}, options: BootOptions = {}): Promise<TestGateway> {
    const host = await bootHost({ ...options, generation: this.generation })
    t.after(() => host.dispose())
    return new TestGateway(host, config)
  }

  /** How many failed attempts the log of an agent holds: none in A, where a failed attempt is only its chunks. */
  failedAttempts(agent: Agent): number {
    return logOf(agent).filter(({ type }) => type as string === 'assistant/attempt').length
  }

  /** How many failed attempts such a log should hold. */
  expectFailed(count: number): number {
    return this.generation === 'A' ? 0 : count
  }

  /** Role of the message that a Tool's result is in the log. */
  get resultRole(): string {
    return this.generation === 'C' ? 'tool' : 'user'
  }

  /** Prefix of the events that tell of calls inside a call. */
  get dispatchEvent(): string {
    return this.generation === 'A' ? 'tool/code-dispatch' : 'tool/ptc-dispatch'
  }

  /** Switches a blank agent to another preset, the way the Host's own interface does. */
  async select(gateway: TestGateway, agent: Agent, id: string): Promise<void> {
    const presets = gateway.host.ctx.get('agentPresets')
    if (this.generation !== 'A') {
      await (presets as unknown as PresetsOfB).select(agent as never, id)
      return
    }
    await presets?.recompose(agent.ctx, id)
    agent.session.append('agent-preset/selected', { agentPreset: id })
  }

  /** An agent that another one owns. */
  createChild({ adapter, host: { ctx } }: TestGateway, parent: Agent): Promise<AgentHandle> {
    const request = { sessionId: `child-${adapter.requests.length}`, agentOptions: parent.options }
    // C is told whose child it is; before it, whoever asked through an agent's context got its child.
    return this.generation === 'C' ? ctx.agents.create({ ...request, parentAgent: parent } as never)
      : parent.ctx.agents.create(request as never)
  }

  /** Sessions that a Host holds: live ones and, where storage is by handle, those that are open for writing. */
  held({ host: { ctx } }: TestGateway): readonly unknown[] {
    const storage = ctx.get('sessionPersistence') as unknown as Partial<NewerPersistence> | undefined
    return [...ctx.agents.list().map(({ id }) => id), ...ctx.sessions.list().map(({ id }) => id), ...storage?.held ?? []]
  }
}
