/** A real DSH Host in this process, composed as for a gateway: the services that a web profile has at host level. */
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
import ToolRuntime from '@deepseek-ai/dsh-tools'
import ApprovalService from '@deepseek-ai/dsh-user-approval'
import UserQuestionService from '@deepseek-ai/dsh-user-questions'

import { BenchModel } from './model.ts'

/** Provider route and model id of {@link BenchModel}. */
export const MODEL = { provider: 'bench', model: 'bench-1' } as const

/** Boots a Host whose sessions live under `home`, on a free loopback port. */
export async function bootHost(home: string): Promise<Context> {
  const ctx = new Context()
  ctx.logger.exporter({
    levels: { default: 2 },
    export: message => console.error(`[${message.type}] ${message.name}:`, ...message.args),
  })
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, { persona: 'You are a benchmark.' })
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
    name: 'bench-model',
    inject: ['llm'],
    apply(ctx: Context) {
      ctx.llm.registerAdapter([MODEL.provider], new BenchModel())
    },
  })
  return ctx
}
