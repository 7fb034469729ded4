/** What npm gets: platform packages, exact types, and one clear error where the addon is missing (N3, N4). */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly main: string
  readonly files: readonly string[]
  readonly os: readonly string[]
  readonly cpu: readonly string[]
  readonly libc?: readonly string[]
  readonly engines: { readonly node: string }
  readonly exports: Readonly<Record<string, string | { readonly types: string, readonly default: string }>>
  readonly napi: { readonly targets: readonly string[] }
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

function readManifest(...path: string[]): Manifest {
  return JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8')) as Manifest
}

const manifest = readManifest(ROOT)

/** The platform packages, by the Rust target that each is built for. */
const PLATFORMS = {
  'x86_64-unknown-linux-gnu': { platform: 'linux-x64-gnu', os: 'linux', cpu: 'x64', libc: 'glibc' },
  'aarch64-unknown-linux-gnu': { platform: 'linux-arm64-gnu', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'x86_64-unknown-linux-musl': { platform: 'linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl' },
  'aarch64-unknown-linux-musl': { platform: 'linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl' },
  'x86_64-apple-darwin': { platform: 'darwin-x64', os: 'darwin', cpu: 'x64' },
  'aarch64-apple-darwin': { platform: 'darwin-arm64', os: 'darwin', cpu: 'arm64' },
  'x86_64-pc-windows-msvc': { platform: 'win32-x64-msvc', os: 'win32', cpu: 'x64' },
} as const

/** The platform that runs this test, as the platform packages name it. */
const HERE = readdirSync(ROOT).flatMap(file => /^dsh-ag-ui\.(.+)\.node$/.exec(file)?.[1] ?? [])[0] ?? assert.fail('the addon is not built')

function temporary(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'dsh-ag-ui-package-'))
  t.after(() => { rmSync(dir, { recursive: true }) })
  return dir
}

test('every target has its platform package, and the release workflow builds it', () => {
  assert.deepEqual(manifest.napi.targets, Object.keys(PLATFORMS))
  assert.deepEqual(readdirSync(join(ROOT, 'npm')).toSorted(), Object.values(PLATFORMS).map(({ platform }) => platform).toSorted())
  const workflow = readFileSync(join(ROOT, '.github', 'workflows', 'release.yml'), 'utf8')
  for (const [target, { platform, os, cpu, ...rest }] of Object.entries(PLATFORMS)) {
    const own = readManifest(ROOT, 'npm', platform)
    const binary = `dsh-ag-ui.${platform}.node`
    assert.deepEqual(
      { name: own.name, version: own.version, license: own.license, main: own.main, files: own.files, os: own.os, cpu: own.cpu, libc: own.libc },
      {
        name: `dsh-ag-ui-${platform}`, version: manifest.version, license: 'MIT', main: binary, files: [binary], os: [os], cpu: [cpu],
        libc: 'libc' in rest ? [rest.libc] : undefined,
      },
    )
    // Stricter engines would make package managers skip the addon where it does load (N5).
    assert.equal(own.engines.node, '>=20.3.0')
    assert.match(readFileSync(join(ROOT, 'npm', platform, 'README.md'), 'utf8'), new RegExp(target))
    assert.ok(workflow.includes(`target: ${target}\n`), target)
  }
})

test('a release depends on every platform package, in its own version', (t) => {
  assert.equal(manifest.optionalDependencies, undefined, 'written by the release only: a checkout builds its own addon')
  const dir = temporary(t)
  for (const file of ['package.json', 'npm', 'index.js', 'index.d.ts', 'lib']) cpSync(join(ROOT, file), join(dir, file), { recursive: true })
  for (const { platform } of Object.values(PLATFORMS)) writeFileSync(join(dir, 'npm', platform, `dsh-ag-ui.${platform}.node`), 'a binary')
  const napi = spawnSync(join(ROOT, 'node_modules', '.bin', 'napi'), ['pre-publish', '--npm-dir', 'npm', '--skip-optional-publish', '--no-gh-release'], {
    cwd: dir, encoding: 'utf8',
  })
  assert.equal(napi.status, 0, napi.stderr)
  assert.deepEqual(readManifest(dir).optionalDependencies,
    Object.fromEntries(Object.values(PLATFORMS).map(({ platform }) => [`dsh-ag-ui-${platform}`, manifest.version])))
})

test('what is exported exists, with types', () => {
  for (const [name, entry] of Object.entries(manifest.exports)) {
    for (const file of typeof entry === 'string' ? [entry] : [entry.types, entry.default]) {
      assert.ok(existsSync(join(ROOT, file)), `${name}: ${file}`)
    }
  }
})

test('types are exact', () => {
  const code = (file: string): string => readFileSync(join(ROOT, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '')
  for (const file of ['index.d.ts', ...globSync('lib/**/*.d.ts', { cwd: ROOT })]) assert.doesNotMatch(code(file), /\bany\b/, file)
  assert.doesNotMatch(code('index.d.ts'), /\b(Function|const enum)\b/)
})

test('peers admit every generation of DSH, and npm need not resolve any of it', () => {
  const dsh = Object.entries(manifest.peerDependencies).filter(([name]) => name.startsWith('@deepseek-ai/dsh-'))
  const tuples = ['0.1.1', '0.1.2', '0.1.3', '0.1.4', '0.1.5', '0.1.6', '0.1.7', '0.2.0', '0.2.1', '0.2.2']
  // A pre-release satisfies only a range that names its own tuple.
  const range = ['^0.1.0-rc.8', ...tuples.map(tuple => `^${tuple}-0`)].join(' || ')
  for (const [name, peer] of dsh) {
    assert.equal(peer, range, name)
    assert.equal(manifest.peerDependenciesMeta[name]?.optional, true, name)
  }
  const imported = new Set(globSync('ts/**/*.ts', { cwd: ROOT }).flatMap(file =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:from |import\()'((?:@[\w-]+\/)?[\w-]+)[^']*'/g)].map(([, name]) => name!)))
  const declared = { ...manifest.peerDependencies, ...manifest.dependencies }
  for (const name of imported) assert.ok(name === 'node' || name === manifest.name || name in declared, `${name} is imported and not declared`)
  assert.ok(dsh.length > 0)
  for (const [name] of dsh) assert.ok(imported.has(name), `${name} is declared and not imported`)
})

/** A copy of the built package without its addon. */
function copyWithoutAddon(t: TestContext): string {
  const dir = temporary(t)
  for (const file of ['package.json', 'index.js', 'lib']) cpSync(join(ROOT, file), join(dir, file), { recursive: true })
  return dir
}

interface Outcome {
  readonly version?: string
  readonly error?: { readonly code: string, readonly message: string, readonly cause: string | null }
}

/** Imports `dsh-ag-ui/native` of a copy in a process of its own. */
function importNative(dir: string, env: NodeJS.ProcessEnv = {}): Outcome {
  const script = `
    import(${JSON.stringify(pathToFileURL(join(dir, 'lib', 'native.js')).href)}).then(
      native => ({ version: native.coreVersion() }),
      ({ code, message, cause }) => ({ error: { code, message, cause: cause?.message ?? null } }),
    ).then(outcome => console.log(JSON.stringify(outcome)))`
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: dir, encoding: 'utf8', env: { ...process.env, ...env } })
  assert.equal(stderr, '')
  return JSON.parse(stdout) as Outcome
}

const BUILD = 'build it from a checkout with "pnpm build:native" (needs cargo)'

test('a missing addon is one error that names platform, package and build command', (t) => {
  assert.deepEqual(importNative(copyWithoutAddon(t)), {
    error: {
      code: 'NATIVE_ADDON_UNAVAILABLE',
      message: `dsh-ag-ui: the native addon for ${HERE} is missing (looked for ../dsh-ag-ui.${HERE}.node and dsh-ag-ui-${HERE}): `
        + `install the package dsh-ag-ui-${HERE}, or ${BUILD}`,
      cause: null,
    },
  })
})

test('an addon that does not load says why', (t) => {
  const dir = copyWithoutAddon(t)
  writeFileSync(join(dir, `dsh-ag-ui.${HERE}.node`), 'not a library')
  const { error } = importNative(dir)
  assert.equal(error?.code, 'NATIVE_ADDON_UNAVAILABLE')
  assert.ok(error.cause !== null && error.cause !== '')
  assert.equal(error.message, `dsh-ag-ui: the native addon for ${HERE} does not load (${error.cause}): `
    + `install the package dsh-ag-ui-${HERE}, or ${BUILD}`)
})

test('the addon is found beside the package, in its platform package, or where the environment says', (t) => {
  const binary = `dsh-ag-ui.${HERE}.node`
  const found = { version: manifest.version }

  const beside = copyWithoutAddon(t)
  cpSync(join(ROOT, binary), join(beside, binary))
  assert.deepEqual(importNative(beside), found)

  const apart = copyWithoutAddon(t)
  const own = join(apart, 'node_modules', `dsh-ag-ui-${HERE}`)
  mkdirSync(own, { recursive: true })
  cpSync(join(ROOT, 'npm', HERE, 'package.json'), join(own, 'package.json'))
  cpSync(join(ROOT, binary), join(own, binary))
  assert.deepEqual(importNative(apart), found)

  const elsewhere = copyWithoutAddon(t)
  assert.deepEqual(importNative(elsewhere, { NAPI_RS_NATIVE_LIBRARY_PATH: join(ROOT, binary) }), found)
})
