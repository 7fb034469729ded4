/**
 * A process of its own that mounts this bundle as a DSH profile does: the rows of `cordis.patch.yml` over an empty
 * profile, through the real Loader. Started with `--expose-internals`, as the Loader needs it to resolve rows from the
 * profile. Prints a {@link BundleReport} as JSON.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HttpAgent } from '@ag-ui/client'
import Include, { applyEntryPatches, entryListSchema } from '@deepseek-ai/cordis-plugin-include'
import { load } from 'js-yaml'
import { bootHost, MODEL, PROVIDER, say } from './host.ts'
import type { TestHost } from './host.ts'

/** What the bundle does under one environment. */
export interface RowReport {
  /** Services of ours that the Host has. */
  readonly services: readonly string[]
  /** Paths, of those that are tried, where a gateway answers. */
  readonly routes: readonly string[]
  /** What the Host logged at level error. */
  readonly errors: readonly string[]
}

/** What the process prints. */
export interface BundleReport {
  /** Ids and modules of the bundle's rows, in order. */
  readonly rows: readonly (readonly [id: string, name: string])[]
  readonly cases: Readonly<Record<string, RowReport>>
  /** What the official client read from the gateway that the environment woke. */
  readonly reply: string
}

const ROOT = join(import.meta.dirname, '..', '..')
const SECRET = 'a shared secret of the test'
const REQUIRED = { DSH_AG_UI_PROVIDER: PROVIDER, DSH_AG_UI_MODEL: MODEL, DSH_AG_UI_SHARED_SECRET: SECRET }

type EntryPatch = NonNullable<Parameters<typeof applyEntryPatches>[1]>[number]

/** Each environment that is tried, and the user's own patches after the bundle's. */
const CASES: Readonly<Record<string, { env: NodeJS.ProcessEnv, patches?: EntryPatch[] }>> = {
  'nothing set': { env: {} },
  'no provider': { env: { ...REQUIRED, DSH_AG_UI_PROVIDER: undefined } },
  'no model': { env: { ...REQUIRED, DSH_AG_UI_MODEL: undefined } },
  'empty secret': { env: { ...REQUIRED, DSH_AG_UI_SHARED_SECRET: '' } },
  'all set': { env: REQUIRED },
  'other path': { env: { ...REQUIRED, DSH_AG_UI_PATH: '/other' } },
  'woken by the profile': {
    env: {},
    patches: [{
      id: 'ag-ui', disabled: false, config: { path: '/profile', provider: PROVIDER, model: MODEL, sharedSecret: SECRET },
    }],
  },
}

const bundle = load(readFileSync(join(ROOT, 'cordis.patch.yml'), 'utf8'), { schema: entryListSchema }) as EntryPatch[]

const profile = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-profile-'))
mkdirSync(join(profile, 'node_modules'))
symlinkSync(ROOT, join(profile, 'node_modules', 'dsh-ag-ui'))
writeFileSync(join(profile, 'cordis.yml'), '[]\n')

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of [...Object.keys(REQUIRED), 'DSH_AG_UI_PATH']) {
    const value = env[name]
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

/** Whether a gateway, and nobody else, asks for credentials there. */
async function isGateway(host: TestHost, path: string): Promise<boolean> {
  const response = await fetch(host.url + path, { method: 'POST', body: '{}' })
  return response.status === 401 && (await response.json() as { code: string }).code === 'UNAUTHORIZED'
}

async function chat(host: TestHost): Promise<string> {
  host.adapter.queue(say('Hello from the bundle'))
  const agent = new HttpAgent({
    url: `${host.url}/ag-ui`,
    threadId: 'bundle',
    headers: { authorization: `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'acme', 'x-dsh-user-id': 'ada' },
    initialMessages: [{ id: 'm1', role: 'user', content: 'hello' }],
  })
  const { newMessages } = await agent.runAgent({ runId: 'r1' })
  return newMessages.map(({ content }) => content).join('\n')
}

const cases: Record<string, RowReport> = {}
let reply = ''
for (const [name, { env, patches = [] }] of Object.entries(CASES)) {
  setEnvironment(env)
  const errors: string[] = []
  const host = await bootHost({ onLog: (line) => { if (line.startsWith('[error]')) errors.push(line) } })
  process.env['DSH_HOME'] = host.home
  host.ctx.baseUrl = `${pathToFileURL(profile).href}/`
  await host.ctx.plugin(Include, { path: 'cordis.yml', patches: [...structuredClone(bundle), ...patches] })
  const routes: string[] = []
  for (const path of ['/ag-ui', '/other', '/profile']) if (await isGateway(host, path)) routes.push(path)
  const services = ['agUi', 'browserTools'].filter(service => host.ctx.get(service) !== undefined)
  cases[name] = { services, routes, errors }
  if (name === 'all set') reply = await chat(host)
  await host.dispose()
}
rmSync(profile, { recursive: true })

const rows = applyEntryPatches([], bundle, (message) => { throw new Error(message) }).map(({ id, name }) => [id, name] as const)
console.log(JSON.stringify({ rows, cases, reply } satisfies BundleReport))
