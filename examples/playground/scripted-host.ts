/**
 * A real DSH Host inside this process, with the scripted model instead of a provider that needs a key.
 *
 * @module
 */

import { join } from 'node:path'

import { Context } from '@deepseek-ai/cordis'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LocalAttachmentStore from '@deepseek-ai/dsh-attachment-local'
import LocalFileSystem from '@deepseek-ai/dsh-fs-local'
import WebServer from '@deepseek-ai/dsh-host-webserver'
import LlmRuntime from '@deepseek-ai/dsh-llm'
import SessionStore from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import * as askUser from '@deepseek-ai/dsh-tool-ask-user'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import ApprovalService from '@deepseek-ai/dsh-user-approval'
import UserQuestionService from '@deepseek-ai/dsh-user-questions'

import { mountGateway } from './gateway.ts'
import type { GatewayTarget } from './gateway-target.ts'
import { SCRIPTED_MODEL, SCRIPTED_PROVIDER, ScriptedModel } from './scripted-model.ts'
import { playgroundTools } from './tools.ts'

/** How to boot the Host. */
export interface ScriptedHostOptions {
  /** Directory of sessions, attachments and workspaces. Reused when it holds earlier ones. */
  readonly home: string
  /** Bearer secret between the BFF and the gateway. */
  readonly sharedSecret: string
}

/**
 * Boots the Host on a free loopback port.
 *
 * @throws When a service or the gateway refuses to start; nothing is left running then.
 */
export async function bootScriptedHost({ home, sharedSecret }: ScriptedHostOptions): Promise<GatewayTarget> {
  const ctx = new Context()
  const path = '/ag-ui'
  // Without an exporter the Host's warnings stay in a ring buffer. Standard output belongs to the ready line.
  ctx.logger.exporter({
    levels: { default: 2 },
    export: message => console.error(`[${message.type}] ${message.name}:`, ...message.args),
  })
  try {
    await ctx.plugin(LlmRuntime)
    await ctx.plugin(SessionStore)
    await ctx.plugin(SystemPrompt, { persona: 'You are the agent of the dsh-ag-ui playground.' })
    await ctx.plugin(ToolRuntime)
    await ctx.plugin(AgentRegistry)
    await ctx.plugin(JsonlSessionPersistence, { root: join(home, 'sessions'), compression: 'none' })
    await ctx.plugin(AgentLoop, { agents: [] })
    await ctx.plugin(UserQuestionService)
    await ctx.plugin(ApprovalService, { policy: 'ask' })
    await ctx.plugin(LocalAttachmentStore, { dshHome: home })
    await ctx.plugin(LocalFileSystem, { cwd: home })
    await ctx.plugin(WebServer, { host: '127.0.0.1', port: 0 })
    await ctx.plugin({
      name: 'scripted-model',
      inject: ['llm'],
      apply(inner: Context) {
        inner.llm.registerAdapter([SCRIPTED_PROVIDER], new ScriptedModel())
      },
    })
    await ctx.plugin(askUser)
    await ctx.plugin(playgroundTools)
    await mountGateway(ctx, {
      provider: SCRIPTED_PROVIDER, model: SCRIPTED_MODEL, sharedSecret, path, workspaceRoot: join(home, 'workspaces'),
    })
  } catch (error) {
    await ctx.fiber.dispose()
    throw error
  }
  return {
    origin: `http://127.0.0.1:${ctx.webServer.port}`,
    path,
    sharedSecret,
    provider: SCRIPTED_PROVIDER,
    model: SCRIPTED_MODEL,
    failed: new Promise(() => undefined),
    stop: async () => {
      await ctx.fiber.dispose()
    },
  }
}
