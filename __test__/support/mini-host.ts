/** A small real DSH Host in this process: agents, sessions in memory, Tools, presets, and a scripted model. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Context } from '@deepseek-ai/cordis'
import Include from '@deepseek-ai/cordis-plugin-include'
import Loader from '@deepseek-ai/cordis-plugin-loader'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import AgentPresets from '@deepseek-ai/dsh-agent-presets'
import LlmRuntime, { CallId, LlmAdapter, LlmError, createUserMessage } from '@deepseek-ai/dsh-llm'
import type { GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import UserQuestionService from '@deepseek-ai/dsh-user-questions'

/** A call that the model makes; text arguments are sent as they stand, so that they may be broken. */
export interface ScriptedCall {
  readonly name: string
  readonly args: unknown
}

/** What the model sees of a finished call. */
export interface ToolResult {
  readonly callId: string
  readonly text: string
  readonly isError: boolean
}

const PRESET = 'asking'

export class MiniHost {
  readonly ctx = new Context()
  /** Requests of the model, oldest first. */
  readonly requests: GenerateOptions[] = []
  readonly #script: StreamChunk[][] = []
  readonly #home = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-mini-'))
  #agents = 0

  static async boot(): Promise<MiniHost> {
    const host = new MiniHost()
    const { ctx } = host
    ctx.baseUrl = `${pathToFileURL(join(import.meta.dirname, '..', '..')).href}/`
    await ctx.plugin(Loader)
    ctx.loader.builtins.include = Include as never
    await ctx.plugin(LlmRuntime)
    await ctx.plugin(SessionStore)
    await ctx.plugin(SystemPrompt, { persona: 'You are a test.' } as never)
    await ctx.plugin(ToolRuntime)
    await ctx.plugin(AgentRegistry)
    await ctx.plugin(AgentLoop, { agents: [] } as never)
    await ctx.plugin(UserQuestionService)
    const presets = join(host.#home, 'presets')
    mkdirSync(join(presets, PRESET), { recursive: true })
    writeFileSync(join(presets, PRESET, 'agent.cordis.yml'), `- id: ask\n  name: '@deepseek-ai/dsh-tool-ask-user'\n`)
    writeFileSync(join(presets, PRESET, 'preset.yml'), 'name: Asking\n')
    await ctx.plugin(AgentPresets, { default: PRESET, roots: [{ path: presets, trust: 'system' }], includeUserRoot: false })
    const adapter = host.#adapter()
    await ctx.plugin({ name: 'model', inject: ['llm'], apply: (plugin: Context) => { plugin.llm.registerAdapter(['scripted'], adapter) } })
    return host
  }

  async dispose(): Promise<void> {
    await this.ctx.fiber.dispose()
    rmSync(this.#home, { recursive: true, force: true })
  }

  /** A fresh root agent, composed from a preset that has the Tool `ask_user_question`. */
  agent(): Promise<AgentHandle> {
    return this.ctx.agents.create({
      sessionId: SessionId(`mini-${++this.#agents}`),
      agentOptions: { provider: 'scripted', model: 'demo' },
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
    const fiber = await this.ctx.plugin({ name: `global-${name}`, inject: ['tools'], apply: (plugin: Context) => { plugin.tools.register(definition) } })
    return async () => { await fiber.dispose() }
  }

  /**
   * The model's next answer is these calls, the one after that a text; what an earlier turn left over is forgotten.
   * Call ids are `call-0`, `call-1`, ...
   */
  scriptCalls(...calls: ScriptedCall[]): void {
    this.#script.splice(0, Infinity, callChunks(calls), textChunks('done'))
  }

  /** Sends a message and waits for the agent to come to rest. */
  async turn(agent: Agent): Promise<ToolResult[]> {
    this.start(agent)
    await agent.whenIdle()
    return toolResults(agent)
  }

  start(agent: Agent): void {
    agent.followup(createUserMessage({ content: [{ type: 'text', text: 'go' }], source: { kind: 'user' } }))
  }

  #adapter(): LlmAdapter {
    const { requests } = this
    const script = this.#script
    return new class extends LlmAdapter {
      override providerInfo(provider: string) {
        return { id: provider, name: 'Scripted' }
      }

      override async * stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
        requests.push(options)
        const chunks = script.shift()
        if (chunks === undefined) throw new LlmError('script exhausted', 'SCRIPT')
        yield * chunks
      }
    }()
  }
}

/** Results of all calls so far, in the order of the calls. */
export function toolResults(agent: Agent): ToolResult[] {
  return agent.session.events.flatMap((event) => {
    if (event.type !== 'tool/result') return []
    const block = event.data.message.content[0]
    if (block?.type !== 'tool-result') return []
    const text = block.content.map(part => part.type === 'text' ? part.text : `[${part.type}]`).join('')
    return [{ callId: block.toolCallId, text, isError: block.isError ?? false }]
  })
}

/** How the last turn ended. */
export function turnEnd(agent: Agent): string | undefined {
  const event = agent.session.events.findLast(entry => entry.type === 'turn/end')
  return event?.data.reason.kind
}

function callChunks(calls: readonly ScriptedCall[]): StreamChunk[] {
  const chunks = calls.flatMap(({ name, args }, index): StreamChunk[] => {
    const id = CallId(`call-${index}`)
    const json = typeof args === 'string' ? args : JSON.stringify(args)
    return [
      { type: 'block-start', index, blockType: 'tool-call' },
      { type: 'tool-call-delta', index, id, name, argumentsDelta: json },
      { type: 'block-end', index, block: { type: 'tool-call', id, name, arguments: json } },
    ]
  })
  return [...chunks, { type: 'finish', reason: { kind: 'tool-calls' } }]
}

function textChunks(text: string): StreamChunk[] {
  return [
    { type: 'block-start', index: 0, blockType: 'text' },
    { type: 'text-delta', index: 0, text },
    { type: 'block-end', index: 0, block: { type: 'text', text } },
    { type: 'finish', reason: { kind: 'stop' } },
  ]
}
