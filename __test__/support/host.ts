/**
 * A DSH Host in this process, for every end-to-end test: persistence, presets, approval, questions, attachments, a web
 * server on a port of its own, and a scripted model. The real one of generation A; the fake of B or C where a test, or
 * `DSH_GENERATION` in the environment, says so (N8).
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Context } from '@deepseek-ai/cordis'
import type { Fiber } from '@deepseek-ai/cordis'
import Include from '@deepseek-ai/cordis-plugin-include'
import Loader from '@deepseek-ai/cordis-plugin-loader'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import type { Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import AgentPresets from '@deepseek-ai/dsh-agent-presets'
import LocalAttachmentStore from '@deepseek-ai/dsh-attachment-local'
import LocalFileSystem from '@deepseek-ai/dsh-fs-local'
import WebServer from '@deepseek-ai/dsh-host-webserver'
import LlmRuntime from '@deepseek-ai/dsh-llm'
import SessionStore from '@deepseek-ai/dsh-session'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import ApprovalService from '@deepseek-ai/dsh-user-approval'
import UserQuestionService from '@deepseek-ai/dsh-user-questions'
import { createScriptedAdapter, PROVIDER } from './scripted-adapter.ts'
import type { ScriptedAdapter } from './scripted-adapter.ts'

export * from './scripted-adapter.ts'

/** The generations of DSH that a test can run on. */
export type HostGeneration = 'A' | 'B' | 'C'

/** The generation of tests that name none. */
export const GENERATION = generationOf(process.env['DSH_GENERATION'] ?? 'A')

/** What {@link bootHost} takes. */
export interface BootOptions {
  /** Default: {@link GENERATION}. */
  readonly generation?: HostGeneration
  /** Directory of all state. Default: a fresh one, removed by {@link TestHost.dispose}. */
  readonly home?: string
  /** Directory of the sessions. Default: `sessions` in the home. */
  readonly sessions?: string
  /** The model. Default: a fresh scripted one. */
  readonly adapter?: ScriptedAdapter
  /** Presets by id, as the text of their `agent.cordis.yml`. Default: {@link PRESETS}; `none` for a Host without. */
  readonly presets?: Readonly<Record<string, string>> | 'none'
  /** Mounts persistence, or not. Default `jsonl`. */
  readonly persistence?: 'jsonl' | 'none'
  /** How long persistence gathers what is logged before it writes, in milliseconds. Default 20. */
  readonly writeDelayMs?: number
  /** Mounts the services that ask people, or not. Default `mounted`. */
  readonly people?: 'mounted' | 'none'
  /** What its web server binds. Default: loopback. */
  readonly bind?: '127.0.0.1' | '0.0.0.0'
  /** Receives what the Host logs at level warn and above. Default: dropped. */
  readonly onLog?: (line: string) => void
}

/** A running Host. */
export interface TestHost {
  readonly generation: HostGeneration
  /** Its root context. */
  readonly ctx: Context
  readonly adapter: ScriptedAdapter
  readonly home: string
  /** The plugin that drives agents; unloading it disposes them all. */
  readonly loop: Fiber
  /** The plugin that is the file system. */
  readonly fs: Fiber
  /** The plugin that is the store of images. */
  readonly attachments: Fiber
  /** The plugin that serves HTTP. */
  readonly webServer: Fiber
  /** Mounts the services that ask people, on a Host that was booted without. */
  mountPeople(): Promise<Fiber>
  /** Where its web server listens, without a trailing slash. */
  readonly url: string
  /** Stops the Host and removes the home that {@link bootHost} made. Idempotent. */
  dispose(): Promise<void>
}

/** Presets of a Host unless a test brings its own: `demo` can ask the user, `bare` has no Tool. */
export const PRESETS = {
  demo: `- id: ask-user\n  name: '@deepseek-ai/dsh-tool-ask-user'\n`,
  bare: `- id: noop\n  name: ./noop.mjs\n`,
} as const

/** Bare module names in presets resolve from here. */
const PACKAGE_ROOT = join(import.meta.dirname, '..', '..')

/**
 * Writes presets as directories that `agentPresets` reads. A relative module name in a preset resolves to a module
 * beside the preset directories; `noop.mjs` is written there.
 *
 * @param dir - Preset root.
 * @param presets - `agent.cordis.yml` by preset id.
 */
export function writePresets(dir: string, presets: Readonly<Record<string, string>> = PRESETS): void {
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'noop.mjs'), `export const name = 'noop'\nexport function apply() {}\n`)
  for (const [id, composition] of Object.entries(presets)) {
    mkdirSync(join(dir, id), { recursive: true })
    writeFileSync(join(dir, id, 'agent.cordis.yml'), composition.replaceAll('name: ./', `name: ${dir}/`))
    writeFileSync(join(dir, id, 'preset.yml'), `name: ${id}\n`)
  }
}

/**
 * Boots a Host.
 *
 * @param options - What differs from the default.
 * @throws What the plugin that cannot start throws.
 */
export async function bootHost(options: BootOptions = {}): Promise<TestHost> {
  const { generation = GENERATION } = options
  if (generation !== 'A') {
    const { bootNewerHost } = await import('./newer/host.ts') // which builds on this module
    return await bootNewerHost(generation, options)
  }
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
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, { persona: 'You are a demo agent.' } as never)
  await ctx.plugin(ToolRuntime)
  await ctx.plugin(AgentRegistry)
  if (options.persistence !== 'none') {
    const { writeDelayMs = 20 } = options
    await ctx.plugin(JsonlSessionPersistence, {
      root: sessions, compression: 'none', writeBatchMaxDelayMs: writeDelayMs,
    } as never)
  }
  const loop = await ctx.plugin(AgentLoop, { agents: [] } as never)
  const mountPeople = (): Promise<Fiber> => mountPlugin(ctx, [], async (people) => {
    await people.plugin(UserQuestionService)
    await people.plugin(ApprovalService, { policy: 'ask' })
  })
  if (options.people !== 'none') await mountPeople()
  const attachments = await ctx.plugin(LocalAttachmentStore, { dshHome: home } as never)
  const fs = await ctx.plugin(LocalFileSystem, { cwd: home } as never)
  if (presets !== 'none') {
    const root = join(home, 'presets')
    writePresets(root, presets)
    await ctx.plugin(AgentPresets, {
      default: Object.keys(presets)[0] ?? 'demo', roots: [{ path: root, trust: 'system' }], includeUserRoot: false,
    })
  }
  const webServer = await ctx.plugin(WebServer, { host: options.bind ?? '127.0.0.1', port: 0 } as never)
  await mountPlugin(ctx, ['llm'], (plugin) => { plugin.llm.registerAdapter([PROVIDER], adapter) })
  let disposed: Promise<void> | undefined
  return {
    generation,
    ctx,
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

function generationOf(name: string): HostGeneration {
  if (name === 'A' || name === 'B' || name === 'C') return name
  throw new Error(`DSH_GENERATION names no generation of DSH: ${name}`)
}

/** An agent's log: a member in generation A, a method in B and C. */
export function logOf({ session }: Agent): readonly SessionEvent[] {
  return 'snapshotEvents' in session ? (session.snapshotEvents as () => readonly SessionEvent[]).call(session) : session.events
}

/**
 * Mounts a plugin of the test's own and waits for it.
 *
 * @param ctx - A Host's context.
 * @param inject - Services that the plugin needs.
 * @param apply - Its body.
 * @returns Its fiber; `dispose()` unloads it.
 */
export async function mountPlugin(
  ctx: Context, inject: readonly string[], apply: (plugin: Context) => void | Promise<void>,
): Promise<Fiber> {
  return await ctx.plugin({ name: 'test-plugin', inject: [...inject], apply })
}

/**
 * The next event of an agent's log that satisfies a condition. Resolves outside of the Host's call stack, so that the
 * caller may act on the agent.
 *
 * @param agent - A live agent.
 * @param predicate - Which event; a string stands for its type.
 */
export function nextEvent(agent: Agent, predicate: string | ((event: SessionEvent) => boolean)): Promise<SessionEvent> {
  const matches = typeof predicate === 'string' ? (event: SessionEvent) => event.type === predicate : predicate
  return new Promise((resolve) => {
    const stop = agent.ctx.on('session/event', (session, event) => {
      if (session !== agent.session || !matches(event)) return
      stop()
      resolve(event)
    })
  })
}
