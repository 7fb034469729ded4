/** Packages that few tests need and that are too large for everybody's `node_modules`. */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

/** Directories of the commands that installing needs: `node` (this one), and pnpm in the version of this repository. */
export const COMMANDS = [dirname(process.execPath), join(ROOT, 'node_modules', '.bin')].join(delimiter)

/**
 * Installs packages beside those of this repository, on first use.
 *
 * @param name - Names the directory, and what is missing where it cannot be installed.
 * @param files - The project to install: its `package.json`, and what pnpm shall find beside it.
 * @returns The directory of the project.
 * @throws Error that says that the registry is needed, when it cannot be installed.
 */
export function installAside(name: string, files: Readonly<Record<string, string>>): string {
  const key = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 12)
  const dir = join(ROOT, 'node_modules', '.cache', `${name}-${key}`)
  const complete = join(dir, 'complete')
  if (existsSync(complete)) return dir
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text)
  const { status, stdout, stderr, error } = spawnSync('pnpm', ['install', '--ignore-workspace', '--prefer-offline', '--config.fetch-retries=1'], {
    cwd: dir, encoding: 'utf8', env: { ...process.env, PATH: [COMMANDS, process.env['PATH'] ?? ''].join(delimiter), npm_config_yes: 'true' },
  })
  if (status !== 0) {
    throw new Error(`${name} cannot be installed: its first use needs the npm registry`, { cause: error ?? new Error(`${stdout}${stderr}`) })
  }
  writeFileSync(complete, '')
  return dir
}
