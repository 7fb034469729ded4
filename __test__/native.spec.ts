/** The addon as a library: where it loads, how it fails, when its process ends (N5). */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { coreVersion, NativeGateway } from 'dsh-ag-ui/native'
import type * as native from 'dsh-ag-ui/native'

const ROOT = join(import.meta.dirname, '..')
type Addon = typeof native

const CONFIG = JSON.stringify({ sharedSecret: '0123456789abcdef' })
const ADDON = globSync('dsh-ag-ui.*.node', { cwd: ROOT }).map(file => join(ROOT, file))[0] ?? assert.fail('the addon is not built')

/** Loads the package, uses every kind of call, and prints what came of it. */
const USE = `
  import('dsh-ag-ui/native').then(({ coreVersion, NativeGateway }) => {
    const gateway = new NativeGateway(${JSON.stringify(CONFIG)})
    const { error } = gateway.checkHead({ method: 'GET', rest: '', authorization: [], tenant: [], user: [] })
    const { text } = gateway.hotPath()
    return [coreVersion(), error.status, text(0, 'delta'), gateway.threadCount]
  })`
const USED = [coreVersion(), 405, 0, 0]

/** The Node binaries on this machine that the addon must load in, by version: at least the one that runs this test. */
function nodes(): Map<string, string> {
  const found = new Map([[process.version, process.execPath]])
  for (const file of (process.env['PATH'] ?? '').split(delimiter).flatMap(dir => globSync('node', { cwd: dir }).map(name => join(dir, name)))) {
    try {
      const path = realpathSync(file)
      const version = execFileSync(path, ['--version'], { encoding: 'utf8' }).trim()
      const [major = 0, minor = 0] = version.slice(1).split('.').map(Number)
      if (major > 20 || major === 20 && minor >= 3) found.set(version, path)
    } catch {
      // Not a Node that runs here.
    }
  }
  return found
}

for (const [version, path] of nodes()) {
  test(`loads in Node ${version}, whose process ends by itself`, () => {
    const script = `${USE}.then(used => console.log(JSON.stringify(used)))`
    // The time is no assertion: it only keeps a process that hangs from holding the test.
    const out = execFileSync(path, ['-e', script], { cwd: ROOT, encoding: 'utf8', timeout: 60_000 })
    assert.deepEqual(JSON.parse(out), USED)
  })
}

test('loads in worker threads beside the main one, several at a time', async () => {
  const used = await Promise.all([1, 2, 3].map(() => new Promise((resolve, reject) => {
    const worker = new Worker(`${USE}.then(used => require('node:worker_threads').parentPort.postMessage(used))`, { eval: true })
    worker.once('message', resolve)
    worker.once('error', reject)
  })))
  assert.deepEqual(used, [USED, USED, USED])
  assert.equal(new NativeGateway(CONFIG).threadCount, 0)
})

test('loads twice in one process, each copy with classes of its own', () => {
  const require = createRequire(import.meta.url)
  const first = require(ADDON) as Addon
  delete require.cache[ADDON]
  const second = require(ADDON) as Addon
  assert.notEqual(first.NativeGateway, second.NativeGateway)
  const [one, two] = [new first.NativeGateway(CONFIG), new second.NativeGateway(CONFIG)]
  assert.equal(one.shutdown(), 0)
  assert.equal(one.threadCount, 0)
  assert.equal(two.maxRequestBytes, 262_144)
  assert.throws(() => first.NativeGateway.prototype.todo.call(two), { name: 'TypeError' })
})

test('what JavaScript gets wrong is an Error with a code', () => {
  assert.throws(() => new NativeGateway('{'), { name: 'Error', code: 'INVALID_CONFIG', message: /^invalid config: \$ / })
  assert.throws(() => new NativeGateway('{}'), { code: 'INVALID_CONFIG', message: /sharedSecret/ })
  assert.throws(() => new NativeGateway(1 as never), { code: 'StringExpected' })
  const gateway = new NativeGateway(CONFIG)
  assert.throws(() => gateway.checkHead({} as never), { code: 'InvalidArg', message: /method/ })
  assert.throws(() => gateway.disconnect('no' as never), { code: 'NumberExpected' })
})

/** An exported function: where its attribute stands, what it says, and how the function is declared. */
interface Export {
  readonly at: string
  readonly attribute: string
  readonly declaration: string
}

/** Every `#[napi]` function and method of the bindings. */
function* exportedFunctions(): Generator<Export> {
  for (const file of globSync('src/bindings/**/*.rs', { cwd: ROOT })) {
    const source = readFileSync(join(ROOT, file), 'utf8')
    for (let start = source.indexOf('#[napi'); start !== -1; start = source.indexOf('#[napi', start + 1)) {
      const end = endOfAttribute(source, start)
      // Other attributes and comments may stand between it and what it is on.
      const declaration = /^\s*((?:#\[[^\n]*\]|\/\/[^\n]*)\s*)*(?<head>[^{;(]*)/.exec(source.slice(end))?.groups?.['head'] ?? ''
      if (!/\bfn\b/.test(declaration)) continue
      const line = source.slice(0, start).split('\n').length
      yield { at: `${file}:${line}`, attribute: source.slice(start, end), declaration: declaration.trim() }
    }
  }
}

/** The place behind the bracket that closes an attribute; brackets in its strings do not count. */
function endOfAttribute(source: string, start: number): number {
  let depth = 0
  for (const { 0: token, index } of source.slice(start).matchAll(/"(?:[^"\\]|\\.)*"|[[\]]/g)) {
    if (token === '[') depth++
    else if (token === ']' && --depth === 0) return start + index + 1
  }
  return source.length
}

test('no panic crosses into Node: every export catches its own', () => {
  const exported = [...exportedFunctions()]
  assert.ok(exported.length > 20, `found only ${exported.length}`)
  // The promise of an async function is rejected by napi itself; a panic anywhere else would abort the process.
  const bare = exported.filter(({ attribute, declaration }) => !declaration.includes('async') && !attribute.includes('catch_unwind'))
  assert.deepEqual(bare, [])
})

test('no panic crosses into Node: a hand-written callback catches its own', () => {
  for (const file of globSync('src/bindings/**/*.rs', { cwd: ROOT })) {
    const source = readFileSync(join(ROOT, file), 'utf8')
    const callbacks = [...source.matchAll(/unsafe extern "C" fn (\w+)\([^]*?\n}/g)]
    for (const [body, name] of callbacks) {
      // `call` is the one place that turns a panic into an exception; a finalizer only gives memory back.
      const finalizer = body.includes('from_raw') && !body.includes('napi_value')
      assert.ok(finalizer || body.includes('catch_unwind') || /\bcall::</.test(body), `${file}: ${name}`)
    }
    if (callbacks.length > 0) assert.match(source, /fn call<[^]*?catch_unwind\(/, file)
  }
})
