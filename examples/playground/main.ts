/**
 * The playground: a real DSH Host with the gateway, and a page to try it in.
 *
 * Reads `PORT` (default 8020; 0 takes a free port), `PLAYGROUND_HOME` (directory to keep sessions in; default a
 * temporary one), and `DSH_AG_UI_PROVIDER` with `DSH_AG_UI_MODEL` to use the DSH profile of this user instead of the
 * scripted model. Prints one line on standard output, `ready http://127.0.0.1:<port>`; all else goes to standard error.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { startBff } from './bff.ts'
import type { GatewayTarget } from './gateway-target.ts'
import { bootProfileHost } from './profile-host.ts'
import { bootScriptedHost } from './scripted-host.ts'
import { SessionCookies } from './session-cookie.ts'

/** How long a stop may take before the process gives up waiting. */
const STOP_MILLISECONDS = 10_000
/** From when on a second signal means that whoever sent it will not wait. */
const IMPATIENT_MILLISECONDS = 1_000

/** What must be undone, the newest first. */
const undo: (() => Promise<void>)[] = []
const stopRequested = new AbortController()

let firstSignal: number | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // One key press may arrive twice, from the terminal and from the package manager. Later it means: now.
    if (firstSignal !== undefined && performance.now() - firstSignal > IMPATIENT_MILLISECONDS) process.exit(1)
    firstSignal ??= performance.now()
    requestStop(0)
  })
}
const starting = start().catch((error: unknown) => {
  if (stopRequested.signal.aborted) return
  console.error(error instanceof Error ? `playground: ${error.message}` : error)
  requestStop(1)
})
stopRequested.signal.addEventListener('abort', () => void starting.then(unwind))

async function start(): Promise<void> {
  const port = portOf(process.env['PORT'])
  const home = await openHome(process.env['PLAYGROUND_HOME'])
  const target = await bootTarget(home)
  undo.push(() => target.stop())
  target.failed.catch((error: Error) => {
    if (stopRequested.signal.aborted) return
    console.error(`playground: ${error.message}`)
    requestStop(1)
  })
  const bff = await startBff(target, await SessionCookies.open(home), port)
  undo.push(() => bff.stop())
  if (!stopRequested.signal.aborted) console.log(`ready http://127.0.0.1:${bff.port}`)
}

async function bootTarget(home: string): Promise<GatewayTarget> {
  const { DSH_AG_UI_PROVIDER: provider, DSH_AG_UI_MODEL: model } = process.env
  const sharedSecret = process.env['DSH_AG_UI_SHARED_SECRET'] || randomBytes(32).toString('hex')
  if (!provider && !model) return await bootScriptedHost({ home, sharedSecret })
  if (!provider || !model) throw new Error('DSH_AG_UI_PROVIDER and DSH_AG_UI_MODEL name a real model together: set both or none')
  return await bootProfileHost({ provider, model, sharedSecret, env: process.env, signal: stopRequested.signal })
}

function portOf(value: string | undefined): number {
  if (value === undefined || value === '') return 8020
  const port = Number(value)
  if (!/^\d+$/.test(value) || port > 65_535) throw new Error(`PORT must be a number from 0 to 65535, not "${value}"`)
  return port
}

async function openHome(configured: string | undefined): Promise<string> {
  if (configured !== undefined && configured !== '') {
    const home = resolve(configured)
    await mkdir(home, { recursive: true })
    return home
  }
  const home = await mkdtemp(join(tmpdir(), 'dsh-ag-ui-playground-'))
  undo.push(() => rm(home, { recursive: true, force: true }))
  return home
}

function requestStop(exitCode: number): void {
  process.exitCode = exitCode
  stopRequested.abort()
  // Nothing keeps the process once all is undone; what still does after this time is at fault.
  setTimeout(() => {
    console.error(`playground: still not stopped after ${STOP_MILLISECONDS / 1000} s`)
    process.exit(1)
  }, STOP_MILLISECONDS).unref()
}

async function unwind(): Promise<void> {
  for (const step of undo.splice(0).reverse()) {
    try {
      await step()
    } catch (error) {
      console.error('playground: while stopping:', error)
      process.exitCode = 1
    }
  }
}
