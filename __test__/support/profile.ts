/**
 * A real DSH profile: the published `dsh` command, a home of its own, and this package installed from its tarball (N7).
 */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { COMMANDS, installAside } from './aside.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NAME = 'web'
/** The provider of the bundle in `profile-bundle`. */
export const PROFILE_PROVIDER = 'scripted'
/** What that provider answers when the Host asks for something on its own account, such as a title. */
export const ASIDE = 'Aside of the Host'

/** What is installed as the `dsh` command. The vendored packages are those that this release of it boots with. */
const CLI = {
  'package.json': JSON.stringify({
    name: 'dsh-cli',
    private: true,
    dependencies: { '@deepseek-ai/dsh': '0.1.0-rc.8' },
    pnpm: {
      overrides: {
        '@deepseek-ai/cordis': '4.0.1',
        '@deepseek-ai/cordis-plugin-hmr': '1.0.16',
        '@deepseek-ai/cordis-plugin-include': '1.0.6',
        '@deepseek-ai/cordis-plugin-loader': '1.0.2',
        '@deepseek-ai/cordis-plugin-timer': '1.1.3',
      },
    },
  }, null, 2),
  // DSH asks for its own packages by ranges; a later release must not join the set under test.
  '.pnpmfile.cjs': `const pin = dependencies => {
  for (const [name, range] of Object.entries(dependencies ?? {})) if (range === '^0.1.0-rc.8') dependencies[name] = '0.1.0-rc.8'
}
module.exports = { hooks: { readPackage: (manifest) => { pin(manifest.dependencies); pin(manifest.peerDependencies); return manifest } } }
`,
}

/** Directories of the commands that a profile needs. */
const PATH = [COMMANDS, process.env['PATH'] ?? ''].join(delimiter)

function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd, encoding: 'utf8', env: { ...withoutDsh(), npm_config_yes: 'true', ...env },
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

/** The environment of this process without what could configure a Host, and with {@link PATH}. */
function withoutDsh(): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DSH_'))), PATH }
}

/** The `dsh` command, installed on first use (280 MB): the script to run with `node`. */
function installDsh(): string {
  return join(installAside('dsh-cli', CLI), 'node_modules', '@deepseek-ai', 'dsh', 'lib', 'bin.js')
}

/** A DSH home with the profile `web`, which has this package and the scripted model. */
export class Profile {
  readonly home: string
  /** The user's own patch layer, which a running Host watches. */
  readonly #patchFile: string
  readonly #dsh: string
  readonly #hosts = new Set<ProfileHost>()

  private constructor(dsh: string) {
    this.#dsh = dsh
    this.home = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-home-'))
    this.#patchFile = join(this.home, 'profiles', NAME, 'cordis.patch.yml')
  }

  /** Packs this package and installs it in a new home, as a user does. */
  static create(): Profile {
    const profile = new Profile(installDsh())
    try {
      run('pnpm', ['pack', '--pack-destination', profile.home], ROOT)
      const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { name: string, version: string }
      profile.#add(join(profile.home, `${name}-${version}.tgz`))
      profile.#add(`file:${join(import.meta.dirname, 'profile-bundle')}`)
    } catch (error) {
      rmSync(profile.home, { recursive: true })
      throw error
    }
    return profile
  }

  /** Replaces the user's own patch layer, at once: a running Host never reads half of it. */
  patch(yaml: string): void {
    const next = `${this.#patchFile}.next`
    writeFileSync(next, yaml)
    renameSync(next, this.#patchFile)
  }

  /**
   * Starts `dsh --profile web`.
   *
   * @param env - Beside the environment of this process.
   */
  start(env: NodeJS.ProcessEnv = {}): ProfileHost {
    const child = spawn(process.execPath, [this.#dsh, '--profile', NAME, '--port', '0', '--no-open'], {
      cwd: this.home,
      env: { ...withoutDsh(), DSH_HOME: this.home, DSH_TELEMETRY_DISABLED: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const host = new ProfileHost(child)
    this.#hosts.add(host)
    return host
  }

  /** Kills what still runs, and removes the home. */
  async dispose(): Promise<void> {
    for (const host of this.#hosts) await host.kill()
    rmSync(this.home, { recursive: true })
  }

  #add(spec: string): void {
    run(process.execPath, [this.#dsh, 'plugin', '--profile', NAME, 'add', '--prefer-offline', spec], this.home, { DSH_HOME: this.home })
  }
}

/** One call of the model in a turn. */
export interface ModelRequest {
  /** Texts of the user messages, those that the Host added among them. */
  readonly texts: readonly string[]
  /** Names of the agent's Tools. */
  readonly tools: readonly string[]
}

/** How a Host ended. */
export interface HostExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running `dsh --profile web`. */
export class ProfileHost {
  /** Resolves when the process is gone and its output is complete. */
  readonly exit: Promise<HostExit>
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  readonly #origin: Promise<string>

  constructor(child: ChildProcess) {
    assert.ok(child.stdout !== null && child.stderr !== null)
    this.#child = child
    this.exit = once(child, 'close').then(([code, signal]) => ({ code, signal }) as HostExit)
    this.#origin = new Promise((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream! }).on('line', (line) => {
          this.#lines.push(line)
          const origin = /^dsh web: (http:\/\/[^\s/]+)/.exec(line)?.[1]
          if (origin !== undefined) resolve(origin)
        })
      }
      void this.exit.then(({ code, signal }) => {
        reject(new Error(`dsh ended (${signal ?? `code ${code}`}) before it was up:\n${this.output}`))
      })
    })
    this.#origin.catch(() => {}) // Whoever waits for it is told.
  }

  /** Everything that it has printed. */
  get output(): string {
    return this.#lines.join('\n')
  }

  /** The address that it printed. */
  origin(): Promise<string> {
    return this.#origin
  }

  /** Where a gateway is, or would be. */
  async url(path = '/ag-ui'): Promise<string> {
    return await this.#origin + path
  }

  /** Whether the Host has a service. */
  async has(service: string): Promise<boolean> {
    return await this.#ask(`has?of=${service}`) as boolean
  }

  /** Waits until a plugin, named by its class, has become active for the `times`th time. */
  async activated(plugin: 'AgUi' | 'BrowserTools', times = 1): Promise<void> {
    await this.#ask(`activated?of=${plugin}&times=${times}`)
  }

  /** Waits until the model has been called for a purpose of the Host's own. */
  async calledFor(purpose: string): Promise<void> {
    await this.#ask(`asides?of=${purpose}&times=1`)
  }

  /** What the model was given last. */
  async request(): Promise<ModelRequest> {
    return await this.#ask('request') as ModelRequest
  }

  /** Asks it to stop. Await {@link exit}. */
  terminate(): void {
    this.#child.kill('SIGTERM')
  }

  /** Kills it if it still runs. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exit
  }

  async #ask(question: string): Promise<unknown> {
    const response = await fetch(`${await this.#origin}/scripted/${question}`)
    return await response.json()
  }
}
