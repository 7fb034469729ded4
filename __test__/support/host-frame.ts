/**
 * What Hosts of every generation have in common: their options, their order of start, and the parts that did not drift.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
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
import { createScriptedAdapter, PROVIDER } from './scripted-adapter.ts'
import type { ScriptedAdapter } from './scripted-adapter.ts'

/** The generations of DSH that a test can run on. */
export type HostGeneration = 'A' | 'B' | 'C'

/** What a Host may differ in. */
export interface BootOptions {
  /** Default: that of the environment. */
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
  /** Stops the Host and removes the home that was made for it. Idempotent. */
  dispose(): Promise<void>
}

/** What each generation has in its own way, in the order in which it is mounted. */
export interface HostParts<G extends HostGeneration> {
  readonly generation: G
  sessions(ctx: Context): PromiseLike<unknown>
  persistence(ctx: Context, root: string, writeDelayMs: number): PromiseLike<unknown>
  loop(ctx: Context): PromiseLike<Fiber>
  /** The services that ask people. */
  people(ctx: Context): Promise<void>
  attachments(ctx: Context, dshHome: string): PromiseLike<Fiber>
  presets(ctx: Context, config: PresetsConfig): PromiseLike<unknown>
}

/** Configuration of `agentPresets`. */
export interface PresetsConfig {
  readonly default: string
  readonly roots: { path: string, trust: 'system' }[]
  readonly includeUserRoot: boolean
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
 * Boots a Host of these parts.
 *
 * @param parts - What its generation has in its own way.
 * @param options - What differs from the default.
 * @throws What the plugin that cannot start throws.
 */
export async function bootOf<G extends HostGeneration>(parts: HostParts<G>, options: BootOptions): Promise<TestHost & { readonly generation: G }> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'dsh-ag-ui-'))
  const { adapter = createScriptedAdapter(), sessions = join(home, 'sessions'), writeDelayMs = 20, presets = PRESETS, onLog } = options
  const ctx = new Context()
  ctx.baseUrl = `${pathToFileURL(PACKAGE_ROOT).href}/`
  ctx.logger.exporter({
    levels: { default: 2 },
    export: message => onLog?.(`[${message.type}] ${message.name}: ${message.args.map(String).join(' ')}`),
  })
  await ctx.plugin(Loader)
  ctx.loader.builtins.include = Include as never
  await ctx.plugin(LlmRuntime)
  await parts.sessions(ctx)
  await ctx.plugin(SystemPrompt, { persona: 'You are a demo agent.' } as never)
  await ctx.plugin(ToolRuntime)
  await ctx.plugin(AgentRegistry)
  if (options.persistence !== 'none') await parts.persistence(ctx, sessions, writeDelayMs)
  const loop = await parts.loop(ctx)
  const mountPeople = (): Promise<Fiber> => mountPlugin(ctx, [], people => parts.people(people))
  if (options.people !== 'none') await mountPeople()
  const attachments = await parts.attachments(ctx, home)
  const fs = await ctx.plugin(LocalFileSystem, { cwd: home } as never)
  if (presets !== 'none') {
    const root = join(home, 'presets')
    writePresets(root, presets)
    await parts.presets(ctx, { default: Object.keys(presets)[0] ?? 'demo', roots: [{ path: root, trust: 'system' }], includeUserRoot: false })
  }
  const webServer = await ctx.plugin(WebServer, { host: options.bind ?? '127.0.0.1', port: 0 } as never)
  await mountPlugin(ctx, ['llm'], (plugin) => { plugin.llm.registerAdapter([PROVIDER], adapter) })
  let disposed: Promise<void> | undefined
  return {
    generation: parts.generation,
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

/** A directory of one test, for Hosts that follow each other. */
export function makeHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-'))
  t.after(() => { rmSync(home, { recursive: true, force: true }) })
  return home
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
