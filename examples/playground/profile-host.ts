/**
 * A real model: the DSH profile `web` of this user, run as `dsh --profile web` in a child process.
 *
 * Providers and their credentials belong to a profile, and a profile resolves its packages from its own
 * `node_modules`, with its own copy of Cordis. Mounting its rows into a Host of ours would mix two copies, so the
 * profile runs whole and the playground talks to the gateway inside it. The profile must have `dsh-ag-ui` installed.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

import { probeGateway } from './gateway-target.ts'
import type { GatewayTarget } from './gateway-target.ts'

const PROFILE = 'web'
/** How long the profile may take to print its address, and its gateway to answer. */
const BOOT_MILLISECONDS = 60_000
/** How long the child may take to stop before it is killed. */
const STOP_MILLISECONDS = 5_000

/** How to run the profile. */
export interface ProfileHostOptions {
  readonly provider: string
  readonly model: string
  readonly sharedSecret: string
  /** Environment of the child, `DSH_HOME` and `DSH_AG_UI_PATH` among it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Gives up booting. */
  readonly signal: AbortSignal
}

/**
 * Boots the profile on a free loopback port and waits until its gateway answers.
 *
 * @throws Error that says what to install or configure when the profile, the bundle, the `dsh` command or the gateway
 *   is missing. The child is gone by then.
 */
export async function bootProfileHost(options: ProfileHostOptions): Promise<GatewayTarget> {
  const { provider, model, sharedSecret, env, signal } = options
  if (process.platform === 'win32') throw new Error('the playground runs a DSH profile on POSIX systems only; unset DSH_AG_UI_PROVIDER and DSH_AG_UI_MODEL for the scripted model')
  await requireBundle(dshHome(env))
  const child = spawn('dsh', ['--profile', PROFILE, '--port', '0', '--no-open'], {
    env: { ...env, DSH_AG_UI_PROVIDER: provider, DSH_AG_UI_MODEL: model, DSH_AG_UI_SHARED_SECRET: sharedSecret },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // A process group of its own: the command on PATH is often a shell that would not pass signals on.
  })
  const failed = ending(child)
  failed.catch(() => undefined) // The caller may look at it late; until then it must not count as unhandled.
  const stop = (): Promise<void> => stopChild(child)
  const deadline = AbortSignal.any([AbortSignal.timeout(BOOT_MILLISECONDS), signal])
  try {
    const origin = await Promise.race([announcedOrigin(child, deadline), failed])
    const target: GatewayTarget = {
      origin, path: env['DSH_AG_UI_PATH'] || '/ag-ui', sharedSecret, provider, model, failed, stop,
    }
    await Promise.race([gatewayReady(target, deadline), failed])
    return target
  } catch (error) {
    await stop()
    throw error
  }
}

/** The DSH home of an environment: `DSH_HOME` unless blank, else `~/.dsh`, as `dsh` itself resolves it. */
function dshHome(env: ProfileHostOptions['env']): string {
  const configured = env['DSH_HOME']?.trim() ?? ''
  if (configured === '') return join(homedir(), '.dsh')
  return resolve(configured.replace(/^~(?=$|[/\\])/, homedir()))
}

async function requireBundle(home: string): Promise<void> {
  const manifest = join(home, 'profiles', PROFILE, 'package.json')
  const advice = `Install the package into the profile first: dsh plugin --profile ${PROFILE} add <dsh-ag-ui or its tarball>`
  let text: string
  try {
    text = await readFile(manifest, 'utf8')
  } catch (error) {
    throw new Error(`a real model was asked for, but there is no DSH profile "${PROFILE}" at ${manifest}. ${advice}`, { cause: error })
  }
  const { dsh } = JSON.parse(text) as { dsh?: { profile?: { bundles?: readonly string[] } } }
  if (dsh?.profile?.bundles?.includes('dsh-ag-ui') !== true) {
    throw new Error(`the DSH profile "${PROFILE}" at ${manifest} does not list the bundle dsh-ag-ui. ${advice}`)
  }
}

/** Rejects when the child cannot be started, or ends. */
function ending(child: ChildProcess): Promise<never> {
  return new Promise((_resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT'
        ? new Error('a real model was asked for, but the command "dsh" is not on PATH. Install @deepseek-ai/dsh.', { cause: error })
        : error)
    })
    child.once('exit', (code, signal) => reject(new Error(`dsh --profile ${PROFILE} ended (${signal ?? `code ${code}`})`)))
  })
}

/** The address that the web profile prints. All other output goes to our standard error. */
async function announcedOrigin(child: ChildProcess, deadline: AbortSignal): Promise<string> {
  if (child.stdout === null) throw new Error('the child has no standard output')
  const lines = createInterface({ input: child.stdout })
  return await new Promise((resolveOrigin, reject) => {
    lines.on('line', line => {
      console.error(line)
      const origin = /^dsh web: (http:\/\/[^\s/]+)/.exec(line)?.[1]
      if (origin !== undefined) resolveOrigin(origin)
    })
    deadline.addEventListener('abort', () => reject(new Error(`dsh --profile ${PROFILE} did not print its address in ${BOOT_MILLISECONDS / 1000} s`)))
  })
}

async function gatewayReady(target: GatewayTarget, deadline: AbortSignal): Promise<void> {
  for (;;) {
    const answer = await probeGateway(target)
    if (answer === 'ready') return
    if (answer === 'refused') {
      throw new Error(`the gateway of the profile "${PROFILE}" refuses the shared secret; its row must read DSH_AG_UI_SHARED_SECRET`)
    }
    if (deadline.aborted) {
      throw new Error(`the profile "${PROFILE}" runs, but nothing answers as the gateway at ${target.path}; is its ag-ui row disabled or on another path (DSH_AG_UI_PATH)?`)
    }
    await sleep(250)
  }
}

/** Ends the whole group of the child, and waits until the last of it has let go of its output. */
async function stopChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.stdout === null || child.stdout.closed) return
  const group = -child.pid
  const gone = once(child, 'close')
  signalGroup(group, 'SIGTERM')
  const kill = setTimeout(() => signalGroup(group, 'SIGKILL'), STOP_MILLISECONDS)
  await gone
  clearTimeout(kill)
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(group, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // All of it has ended by itself.
  }
}
