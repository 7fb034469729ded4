/** The bundle in a DSH profile: which rows live, and the official client in front of them (G1; peer case 74). */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import type { BundleReport } from './support/bundle-host.ts'

const ROOT = join(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  name: string, exports: Record<string, unknown>, dsh: { bundle: { patch: string } }, files: string[]
}

let report: BundleReport

before(async () => {
  const script = join(import.meta.dirname, 'support', 'bundle-host.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-internals', script])
  report = JSON.parse(stdout) as BundleReport
})

test('the manifest names the patch, and the package ships and exports it', () => {
  assert.equal(manifest.dsh.bundle.patch, './cordis.patch.yml')
  assert.ok(manifest.files.includes('cordis.patch.yml'))
  assert.equal(manifest.exports['./cordis.patch.yml'], './cordis.patch.yml')
})

test('two rows with stable ids, of modules that the package exports', () => {
  assert.deepEqual(report.rows, [['browser-tools', 'dsh-ag-ui/browser-tools'], ['ag-ui', 'dsh-ag-ui']])
  for (const [, name] of report.rows) assert.ok(name.replace(manifest.name, '.') in manifest.exports, name)
})

test('browser-tools is always on; ag-ui is dormant until all three variables are set', () => {
  const dormant = { services: ['browserTools'], routes: [], errors: [] }
  const live = (route: string) => ({ services: ['agUi', 'browserTools'], routes: [route], errors: [] })
  assert.deepEqual(report.cases, {
    'nothing set': dormant,
    'no provider': dormant,
    'no model': dormant,
    'empty secret': dormant,
    'all set': live('/ag-ui'),
    'other path': live('/other'),
    'woken by the profile': live('/profile'),
  })
})

test('the official client talks to the gateway that the environment woke', () => {
  assert.equal(report.reply, 'Hello from the bundle')
})
