/**
 * A Host of generation B or C in this process, whole enough to carry the gateway over real HTTP (N8).
 *
 * No package of these generations can be installed here. This is a fake, written from host-api §3 and §4.
 *
 * Real, because it did not drift: Cordis, scopes, the agent registry, ToolRuntime and its scheduler, LlmRuntime and its
 * assembler, the system prompt, the web server, images, the file system, the Tool `ask_user_question`, the rules of crash
 * repair, and how a preset is mounted.
 *
 * Faithful to what is known: the log (no `events`, message shapes by generation, `assistant/message.stream`,
 * `assistant/attempt`, `system/message` and `developer/message` in C, no shared message source in C), frames of attempts
 * and their order, inbox and cancellation, storage by handle and its errors, `agent/created` as a serial event, approvals
 * and questions as waterfalls with the agent as carrier, `select`, `acquireScope`, `fileUploads` and its receipts, files
 * in `attachments`, the agent as the second argument of `setup` in C, where no context names it any more.
 *
 * Inference: the order of the checks inside `select`; the source kind of C's context snapshots; the file format of the
 * storage (its own); at which version of B each difference appeared (B here has all of them but C's).
 *
 * Missing: titles, compaction, subagents, workspaces, Code Mode (a test logs `tool/ptc-dispatch` itself).
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Context } from '@deepseek-ai/cordis'
import type { Fiber } from '@deepseek-ai/cordis'
import Include from '@deepseek-ai/cordis-plugin-include'
import Loader from '@deepseek-ai/cordis-plugin-loader'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import LocalFileSystem from '@deepseek-ai/dsh-fs-local'
import WebServer from '@deepseek-ai/dsh-host-webserver'
import LlmRuntime from '@deepseek-ai/dsh-llm'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import { createScriptedAdapter, mountPlugin, PRESETS, PROVIDER, writePresets } from '../host.ts'
import type { BootOptions, TestHost } from '../host.ts'
import { NewerApproval } from './approval.ts'
import { NewerAttachments } from './attachments.ts'
import type { Generation } from './generation.ts'
import { NewerLoop } from './loop.ts'
import { PresetsOfB, PresetsOfC } from './presets.ts'
import { NewerProjections } from './projections.ts'
import { NewerQuestions } from './questions.ts'
import { NewerSessions } from './session.ts'
import { NewerPersistence } from './storage.ts'
import { NewerUploads } from './uploads.ts'

export { NewerAgent } from './agent.ts'
export type { Generation } from './generation.ts'

/** A running fake. It goes wherever the real Host of the tests goes. */
export interface NewerHost extends TestHost {
  readonly generation: Generation
}

const PACKAGE_ROOT = join(import.meta.dirname, '..', '..', '..')

/**
 * Boots a Host of a newer generation.
 *
 * @param generation - Which one.
 * @param options - As for the real Host of generation A.
 */
export async function bootNewerHost(generation: Generation, options: BootOptions = {}): Promise<NewerHost> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'dsh-ag-ui-'))
  const { adapter = createScriptedAdapter(), sessions = join(home, 'sessions'), presets = PRESETS, onLog } = options
  const ctx = new Context()
  ctx.baseUrl = `${pathToFileURL(PACKAGE_ROOT).href}/`
  ctx.logger.exporter({
    levels: { default: 2 },
    export: message => onLog?.(`[${message.type}] ${message.name}: ${message.args.map(String).join(' ')}`),
  })
  await ctx.plugin(Loader)
  ctx.loader.builtins.include = Include as never
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(NewerSessions, generation)
  await ctx.plugin(SystemPrompt, { persona: 'You are a demo agent.' } as never)
  await ctx.plugin(ToolRuntime)
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(NewerProjections)
  if (options.persistence !== 'none') await ctx.plugin(NewerPersistence, sessions)
  const loop = await ctx.plugin(NewerLoop, generation)
  const mountPeople = (): Promise<Fiber> => mountPlugin(ctx, [], async (people) => {
    await people.plugin(NewerQuestions)
    await people.plugin(NewerApproval, 'ask' as const)
  })
  if (options.people !== 'none') await mountPeople()
  const attachments = await ctx.plugin(NewerAttachments, { dshHome: home } as never)
  await ctx.plugin(NewerUploads)
  const fs = await ctx.plugin(LocalFileSystem, { cwd: home } as never)
  if (presets !== 'none') {
    const root = join(home, 'presets')
    writePresets(root, presets)
    await ctx.plugin(generation === 'B' ? PresetsOfB : PresetsOfC, {
      default: Object.keys(presets)[0] ?? 'demo', roots: [{ path: root, trust: 'system' }], includeUserRoot: false,
    })
  }
  const webServer = await ctx.plugin(WebServer, { host: options.bind ?? '127.0.0.1', port: 0 } as never)
  await mountPlugin(ctx, ['llm'], (plugin) => { plugin.llm.registerAdapter([PROVIDER], adapter) })
  let disposed: Promise<void> | undefined
  return {
    ctx,
    generation,
    adapter,
    home,
    loop,
    fs,
    attachments,
    webServer,
    mountPeople,
    url: `http://127.0.0.1:${ctx.webServer.port}`,
    dispose: () => disposed ??= (async () => {
      await ctx.fiber.dispose()
      if (options.home === undefined) rmSync(home, { recursive: true, force: true })
    })(),
  }
}
