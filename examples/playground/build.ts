/**
 * Builds what the playground runs on, when it is missing or older than its sources: the native addon with cargo, and
 * the TypeScript. Compares times of files, so that a start with nothing to do costs milliseconds. All output goes to
 * standard error.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readdir, stat, utimes } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** @throws When a build command fails. */
export async function ensureBuilt(): Promise<void> {
  const addonPrefix = `dsh-ag-ui.${process.platform}-${process.arch}`
  const addons = (await readdir(ROOT)).filter(name => name.startsWith(addonPrefix) && name.endsWith('.node'))
  await buildWhenStale('build:native', ['src', 'Cargo.toml', 'Cargo.lock', 'build.rs'], addons)
  await buildWhenStale('build:ts', ['ts', 'tsconfig.json', 'index.d.ts'], ['lib/index.js'])
}

/** Runs one script of package.json unless all `products` are newer than every source. */
async function buildWhenStale(script: string, sources: readonly string[], products: readonly string[]): Promise<void> {
  const newestSource = Math.max(...await Promise.all(sources.map(path => newest(join(ROOT, path)))))
  const oldestProduct = products.length === 0 ? 0 : Math.min(...await Promise.all(products.map(path => newest(join(ROOT, path)))))
  if (oldestProduct > newestSource) return
  console.error(`playground: ${script}, because ${oldestProduct === 0 ? 'there is no build yet' : 'sources are newer than the build'}`)
  await run(script)
  // The compilers leave a product alone whose content would not change; mark it as looked at.
  const now = new Date()
  await Promise.all(products.map(path => utimes(join(ROOT, path), now, now)))
}

/** Runs a script as `pnpm run` would, with its output on standard error. */
async function run(script: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const command = manifest.scripts[script]
  if (command === undefined) throw new Error(`package.json has no script "${script}"`)
  const child = spawn(command, {
    cwd: ROOT,
    shell: true,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, PATH: [join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter) },
  })
  const [code] = await once(child, 'exit') as [number | null]
  if (code !== 0) throw new Error(`"${command}" failed${script === 'build:native' ? '; the addon needs cargo (https://rustup.rs)' : ''}`)
}

/** The newest modification time below a path in milliseconds; 0 when there is nothing. */
async function newest(path: string): Promise<number> {
  const info = await stat(path).catch(() => undefined)
  if (info === undefined) return 0
  if (!info.isDirectory()) return info.mtimeMs
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const times = await Promise.all(entries.filter(entry => entry.isFile()).map(async entry => (await stat(join(entry.parentPath, entry.name))).mtimeMs))
  return Math.max(0, ...times)
}
