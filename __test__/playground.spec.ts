/** The main job from outside: the BFF's duties, the process, and the page in a real Chromium (issue 2, item 6). */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'

import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'

import { startBff } from '../examples/playground/bff.ts'
import type { Bff } from '../examples/playground/bff.ts'
import { SessionCookies } from '../examples/playground/session-cookie.ts'

const MAIN = join(import.meta.dirname, '../examples/playground/main.ts')

interface Playground {
  readonly url: string
  readonly child: ChildProcess
  /** Every line of standard output so far. */
  readonly lines: string[]
  /** Sends the signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<{ code: number | null, signal: NodeJS.Signals | null }>
}

function spawnMain(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [MAIN], {
    env: { ...process.env, DSH_AG_UI_PROVIDER: '', DSH_AG_UI_MODEL: '', PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function startPlayground(env: Record<string, string>): Promise<Playground> {
  const child = spawnMain(env)
  assert.ok(child.stdout !== null && child.stderr !== null)
  const errors: string[] = []
  child.stderr.on('data', (data: Buffer) => errors.push(data.toString()))
  const lines: string[] = []
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', line => {
      lines.push(line)
      const url = /^ready (http:\/\/127\.0\.0\.1:\d+)$/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('exit', code => reject(new Error(`the playground ended with ${code} before it was ready:\n${errors.join('')}`)))
  })
  return {
    url: await ready, child, lines,
    stop: async signal => {
      const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
      child.kill(signal)
      const [code, bySignal] = await exit
      return { code, signal: bySignal }
    },
  }
}

/** Runs the process where it must refuse to start, and returns how it said so. */
async function refusal(env: Record<string, string>): Promise<{ code: number | null, stdout: string, stderr: string }> {
  const child = spawnMain(env)
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (data: Buffer) => { stdout += data.toString() })
  child.stderr?.on('data', (data: Buffer) => { stderr += data.toString() })
  const [code] = await once(child, 'close') as [number | null]
  return { code, stdout, stderr }
}

async function cookieOf(url: string): Promise<string> {
  const response = await fetch(url)
  await response.text()
  const [cookie] = response.headers.getSetCookie()
  assert.ok(cookie !== undefined)
  return cookie.split(';', 1)[0] ?? ''
}

function runInput(threadId: string, text: string): string {
  return JSON.stringify({
    threadId, runId: `run-${crypto.randomUUID()}`, state: {}, tools: [], context: [], forwardedProps: {},
    messages: [{ id: crypto.randomUUID(), role: 'user', content: text }],
  })
}

interface Received { readonly type: string, readonly [field: string]: unknown }

function eventsOf(stream: string): Received[] {
  return stream.split('\n').filter(line => line.startsWith('data:')).map(line => JSON.parse(line.slice(5)) as Received)
}

const textOf = (events: Received[]): string =>
  events.flatMap(event => event.type === 'TEXT_MESSAGE_CONTENT' ? [event['delta']] : []).join('')

describe('BFF before a gateway that records', () => {
  let gateway: Server
  let answer: RequestListener
  let bff: Bff
  let home: string
  let url: string
  let cookie: string

  before(async () => {
    gateway = createServer((req, res) => answer(req, res)).listen(0, '127.0.0.1')
    await once(gateway, 'listening')
    home = await mkdtemp(join(tmpdir(), 'playground-bff-'))
    bff = await startBff({
      origin: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`, path: '/ag-ui', sharedSecret: 'a-secret-of-the-test',
      provider: 'p', model: 'm', failed: new Promise(() => undefined), stop: async () => undefined,
    }, await SessionCookies.open(home), 0)
    url = `http://127.0.0.1:${bff.port}`
    cookie = await cookieOf(url)
  })
  after(async () => {
    await bff.stop()
    gateway.closeAllConnections()
    gateway.close()
    await rm(home, { recursive: true })
  })

  /** A request with headers that `fetch` would not send. */
  async function raw(path: string, method: string, headers: OutgoingHttpHeaders, body = '', target = path): Promise<{ response: IncomingMessage, text: string }> {
    const outgoing = httpRequest(url, { method, headers, path: target })
    outgoing.end(body)
    const [response] = await once(outgoing, 'response') as [IncomingMessage]
    return { response, text: (await response.toArray()).join('') }
  }

  test('replaces credentials and identity, forwards the body byte for byte', async () => {
    const body = ' {"threadId" : "ä\\u0000", "tools":[ ]}\n'
    const seen = Promise.withResolvers<{ req: IncomingMessage, body: string }>()
    answer = async (req, res) => {
      seen.resolve({ req, body: (await req.toArray()).join('') })
      res.writeHead(200, { 'content-type': 'text/event-stream', 'x-internal': 'secret', 'set-cookie': 'a=b' })
      res.end('data: {}\n\n')
    }
    const { response } = await raw('/api/agent?x=1', 'POST', {
      cookie, 'content-type': 'application/json', 'authorization': 'Bearer mine', 'x-dsh-tenant-id': 'other', 'x-dsh-user-id': 'root',
      'X-DSH-User-Id': 'root', 'x-forwarded-for': '10.0.0.1', 'connection': 'x-dsh-user-id',
    }, body)
    const { req, body: forwarded } = await seen.promise
    assert.equal(forwarded, body)
    assert.equal(req.url, '/ag-ui?x=1')
    assert.equal(req.headers.authorization, 'Bearer a-secret-of-the-test')
    assert.equal(req.headers['x-dsh-tenant-id'], 'playground')
    assert.match(String(req.headers['x-dsh-user-id']), /^demo-[0-9a-f]{16}$/)
    assert.deepEqual(Object.keys(req.headers).filter(name => name === 'cookie' || name === 'x-forwarded-for'), [])
    assert.deepEqual([response.statusCode, response.headers['content-type'], response.headers['x-internal'], response.headers['set-cookie']],
      [200, 'text/event-stream', undefined, undefined])
  })

  test('a user is the cookie, and only a genuine one', async () => {
    const users: unknown[] = []
    answer = (req, res) => {
      users.push(req.headers['x-dsh-user-id'])
      res.end()
    }
    const other = await cookieOf(url)
    for (const value of [cookie, cookie, other, `x=1; ${cookie}`]) await raw('/api/agent', 'POST', { cookie: value })
    assert.equal(users.length, 4)
    assert.equal(users[0], users[1])
    assert.notEqual(users[0], users[2])
    assert.equal(users[0], users[3])
    for (const value of ['', 'playground_session=demo-0000000000000000.00', cookie.replace(/demo-./, 'demo-g'), `${cookie.slice(0, -1)}`]) {
      const { response, text } = await raw('/api/agent', 'POST', { cookie: value })
      assert.deepEqual([response.statusCode, JSON.parse(text).code], [401, 'NOT_SIGNED_IN'])
    }
    assert.equal(users.length, 4)
  })

  test('streams unbuffered, and a browser that leaves closes the upstream request', async () => {
    const closed = Promise.withResolvers<void>()
    answer = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: 1\n\n')
      res.on('close', () => closed.resolve())
    }
    const outgoing = httpRequest(`${url}/api/agent`, { method: 'POST', headers: { cookie } })
    outgoing.end()
    const [response] = await once(outgoing, 'response') as [IncomingMessage]
    const [first] = await once(response, 'data') as [Buffer]
    assert.equal(first.toString(), 'data: 1\n\n')
    response.on('error', () => undefined)
    outgoing.destroy()
    await closed.promise
  })

  test('a stream that breaks upstream breaks here too', async () => {
    answer = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: 1\n\n', () => res.destroy())
    }
    await assert.rejects(async () => (await fetch(`${url}/api/agent`, { method: 'POST', headers: { cookie } })).text(), TypeError)
  })

  test('forwards status and JSON errors, and answers 502 itself when nobody is there', async () => {
    answer = (_req, res) => {
      res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '3' })
      res.end('{"code":"RUN_QUEUE_FULL","message":"x"}')
    }
    const { response, text } = await raw('/api/agent', 'POST', { cookie })
    assert.deepEqual([response.statusCode, response.headers['retry-after'], text], [429, '3', '{"code":"RUN_QUEUE_FULL","message":"x"}'])
    answer = (req, res) => req.once('data', () => res.destroy())
    const broken = await raw('/api/agent', 'POST', { cookie }, 'x'.repeat(1_000_000))
    assert.deepEqual([broken.response.statusCode, JSON.parse(broken.text).code], [502, 'GATEWAY_UNAVAILABLE'])
  })

  test('an answer that comes before the body is read still arrives', async () => {
    answer = (_req, res) => {
      res.writeHead(413, { 'content-type': 'application/json' })
      res.end('{"code":"REQUEST_TOO_LARGE","message":"x"}')
    }
    const { response, text } = await raw('/api/agent', 'POST', { cookie }, 'x'.repeat(1_000_000))
    assert.deepEqual([response.statusCode, JSON.parse(text).code], [413, 'REQUEST_TOO_LARGE'])
  })

  test('answers only on loopback names and only pages of its own', async () => {
    answer = () => assert.fail('must not be forwarded')
    for (const headers of [{ host: 'evil.example' }, { host: '127.0.0.1.evil.example:80' }, { origin: 'http://evil.example' }, { origin: 'null' }]) {
      const { response, text } = await raw('/api/agent', 'POST', { cookie, ...headers })
      assert.deepEqual([response.statusCode, JSON.parse(text).code], [403, 'FOREIGN_ORIGIN'])
    }
  })

  test('forwards below /threads/, nothing else beside it', async () => {
    const paths: unknown[] = []
    answer = (req, res) => {
      paths.push(req.url)
      res.end()
    }
    for (const path of ['/api/agent/threads/a%2Fb/files?q=1', '/api/agent/metrics', '/api/agent/threads/../metrics', '/api/agents']) {
      await raw(path, 'GET', { cookie })
    }
    assert.deepEqual(paths, ['/ag-ui/threads/a%2Fb/files?q=1'])
  })

  test('the page and its files carry a strict policy, and nothing else is served', async () => {
    const response = await fetch(url)
    const html = await response.text()
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(response.headers.get('content-security-policy'),
      'default-src \'none\'; script-src \'self\'; style-src \'self\'; img-src \'self\'; connect-src \'self\'; '
      + 'base-uri \'none\'; form-action \'none\'; frame-ancestors \'none\'')
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    assert.match(response.headers.get('set-cookie') ?? '', /; HttpOnly; SameSite=Strict$/)
    assert.doesNotMatch(html, /<script(?![^>]*src=)|\son[a-z]+=|style=|https?:\/\//)
    for (const path of html.matchAll(/(?:href|src)="(\/[^"]+)"/g)) {
      const file = await fetch(url + path[1])
      await file.arrayBuffer()
      assert.equal(file.status, 200, path[1])
    }
    for (const path of ['/index.html', '/page.ts', '/../package.json', '/%2e%2e/package.json', '/tsconfig.json']) {
      const { response: missing } = await raw(path, 'GET', {})
      assert.equal(missing.statusCode, 404, path)
    }
    for (const [path, status] of [['//', 404], ['*', 400], ['http://[', 400]] as const) {
      const { response: odd } = await raw('/', 'GET', {}, '', path)
      assert.equal(odd.statusCode, status, path)
    }
    const { response: wrong } = await raw('/', 'POST', {})
    assert.deepEqual([wrong.statusCode, wrong.headers.allow], [405, 'GET, HEAD'])
  })

  test('health follows the gateway', async () => {
    answer = (_req, res) => {
      res.writeHead(415, { 'content-type': 'application/json' })
      res.end('{"code":"UNSUPPORTED_MEDIA_TYPE","message":"x"}')
    }
    const well = await fetch(`${url}/api/health`)
    assert.deepEqual([well.status, await well.json()], [200, { status: 'ok', provider: 'p', model: 'm' }])
    answer = (_req, res) => res.end('<html>')
    const ill = await fetch(`${url}/api/health`)
    assert.deepEqual([ill.status, await ill.json()], [503, { status: 'unavailable', provider: 'p', model: 'm' }])
  })
})

describe('process', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`serves a run, and ${signal} ends it cleanly`, async () => {
      const temporary = await mkdtemp(join(tmpdir(), 'playground-tmp-'))
      const playground = await startPlayground({ TMPDIR: temporary })
      const health = await fetch(`${playground.url}/api/health`)
      assert.deepEqual([health.status, await health.json()], [200, { status: 'ok', provider: 'scripted', model: 'scripted-1' }])

      const cookie = await cookieOf(playground.url)
      const response = await fetch(`${playground.url}/api/agent`, {
        method: 'POST', headers: { cookie, 'content-type': 'application/json', 'authorization': 'Bearer wrong', 'x-dsh-user-id': 'someone' },
        body: runInput('t', 'hello'),
      })
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-type')?.split(';', 1)[0], 'text/event-stream')
      const events = eventsOf(await response.text())
      assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['RUN_STARTED', 'RUN_FINISHED'])
      assert.equal(textOf(events), 'You said: hello')

      // A stream is open while the signal comes; it must not hold the process up.
      const hanging = await fetch(`${playground.url}/api/agent`, {
        method: 'POST', headers: { cookie, 'content-type': 'application/json' }, body: runInput('t2', '[hang]'),
      })
      const rest = hanging.text().catch(() => 'cut off')
      assert.deepEqual(await playground.stop(signal), { code: 0, signal: null })
      await rest
      assert.deepEqual(playground.lines, [`ready ${playground.url}`])
      assert.deepEqual(await readdir(temporary), [])
      await rm(temporary, { recursive: true })
    })
  }

  test('as started by a package manager, it does not outlive it', async () => {
    // A shell that ends without passing the signal on, as the ones between npm, pnpm and the playground do.
    const shell = spawn('/bin/sh', ['-c', '"$1" "$2"; exit', 'sh', process.execPath, join(import.meta.dirname, '../examples/playground/start.ts')], {
      env: { ...process.env, DSH_AG_UI_PROVIDER: '', DSH_AG_UI_MODEL: '', PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'],
    })
    const output = createInterface({ input: shell.stdout })
    const [line] = await once(output, 'line') as [string]
    const url = line.replace(/^ready /, '')
    assert.equal((await fetch(`${url}/api/health`)).status, 200)
    const silent = once(output, 'close')
    shell.kill('SIGKILL')
    await silent
    await assert.rejects(fetch(`${url}/api/health`), TypeError)
  })

  test('users, keyed by the cookie, do not see each other\'s threads', async () => {
    const playground = await startPlayground({})
    const ask = async (cookie: string, body: string): Promise<Received[]> => eventsOf(await (await fetch(`${playground.url}/api/agent`, {
      method: 'POST', headers: { cookie, 'content-type': 'application/json' }, body,
    })).text())
    const history = JSON.stringify({ threadId: 't', runId: 'h', state: {}, tools: [], context: [], forwardedProps: {}, messages: [] })
    const [first, second] = [await cookieOf(playground.url), await cookieOf(playground.url)]
    await ask(first, runInput('t', 'a secret'))
    assert.match(JSON.stringify(await ask(first, history)), /a secret/)
    assert.doesNotMatch(JSON.stringify(await ask(second, history)), /a secret/)
    await playground.stop('SIGTERM')
  })

  test('over a kept home a user finds the conversation again after a restart', async () => {
    const home = await mkdtemp(join(tmpdir(), 'playground-home-'))
    const ask = async (url: string, cookie: string, body: string): Promise<string> => await (await fetch(`${url}/api/agent`, {
      method: 'POST', headers: { cookie, 'content-type': 'application/json' }, body,
    })).text()
    const first = await startPlayground({ PLAYGROUND_HOME: home })
    const cookie = await cookieOf(first.url)
    await ask(first.url, cookie, runInput('kept', 'remember this'))
    assert.deepEqual(await first.stop('SIGTERM'), { code: 0, signal: null })
    const second = await startPlayground({ PLAYGROUND_HOME: home })
    const history = eventsOf(await ask(second.url, cookie, JSON.stringify({
      threadId: 'kept', runId: 'h', state: {}, tools: [], context: [], forwardedProps: {}, messages: [],
    })))
    const snapshot = history.find(event => event.type === 'MESSAGES_SNAPSHOT')?.['messages'] as { role: string, content: string }[]
    assert.deepEqual(snapshot.map(({ role, content }) => [role, content]), [['user', 'remember this'], ['assistant', 'You said: remember this']])
    assert.deepEqual(await second.stop('SIGTERM'), { code: 0, signal: null })
    await rm(home, { recursive: true })
  })

  test('refuses settings that cannot work, and says why', async () => {
    const home = await mkdtemp(join(tmpdir(), 'playground-home-'))
    const cases: [Record<string, string>, RegExp][] = [
      [{ PORT: 'http' }, /PORT must be a number from 0 to 65535, not "http"/],
      [{ PORT: '65536' }, /PORT must be a number/],
      [{ DSH_AG_UI_PROVIDER: 'openai' }, /set both or none/],
      [{ DSH_AG_UI_PROVIDER: 'openai', DSH_AG_UI_MODEL: 'm', DSH_HOME: home }, /there is no DSH profile "web" at .*dsh plugin --profile web add/],
    ]
    for (const [env, message] of cases) {
      const { code, stdout, stderr } = await refusal(env)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, message)
    }
    await mkdir(join(home, 'profiles/web'), { recursive: true })
    await writeFile(join(home, 'profiles/web/package.json'), '{"dsh":{"profile":{"bundles":["@deepseek-ai/dsh-base"]}}}')
    assert.match((await refusal({ DSH_AG_UI_PROVIDER: 'p', DSH_AG_UI_MODEL: 'm', DSH_HOME: home })).stderr, /does not list the bundle dsh-ag-ui/)
    await writeFile(join(home, 'profiles/web/package.json'), '{"dsh":{"profile":{"bundles":["dsh-ag-ui"]}}}')
    assert.match((await refusal({ DSH_AG_UI_PROVIDER: 'p', DSH_AG_UI_MODEL: 'm', DSH_HOME: home, PATH: home })).stderr, /"dsh" is not on PATH/)
    await rm(home, { recursive: true })
  })

  test('with a real model it runs the profile of the user and talks to its gateway', async () => {
    const home = await mkdtemp(join(tmpdir(), 'playground-home-'))
    await mkdir(join(home, 'profiles/web'), { recursive: true })
    await writeFile(join(home, 'profiles/web/package.json'), '{"dsh":{"profile":{"bundles":["dsh-ag-ui"]}}}')
    // Stands for the command `dsh --profile web`: prints what it prints, and answers as the gateway does.
    await writeFile(join(home, 'dsh'), `#!${process.execPath}
const http = require('node:http')
const { DSH_AG_UI_PROVIDER: p, DSH_AG_UI_MODEL: m, DSH_AG_UI_SHARED_SECRET: secret, DSH_AG_UI_PATH: path } = process.env
if (process.argv.slice(2).join(' ') !== '--profile web --port 0 --no-open') process.exit(9)
const server = http.createServer((req, res) => {
  const trusted = req.headers.authorization === 'Bearer ' + secret && req.headers['x-dsh-user-id'] !== undefined
  if (req.url !== path || !trusted) { res.writeHead(401, { 'content-type': 'application/json' }); return res.end('{"code":"UNAUTHORIZED","message":""}') }
  if (req.headers['content-type'] === undefined) { res.writeHead(415, { 'content-type': 'application/json' }); return res.end('{"code":"UNSUPPORTED_MEDIA_TYPE","message":""}') }
  res.writeHead(200, { 'content-type': 'text/event-stream' }); res.end('data: ' + JSON.stringify({ type: 'RUN_FINISHED', p, m }) + '\\n\\n')
}).listen(0, '127.0.0.1', () => console.log('dsh web: http://127.0.0.1:' + server.address().port))
`)
    await chmod(join(home, 'dsh'), 0o755)
    const playground = await startPlayground({
      DSH_AG_UI_PROVIDER: 'prov', DSH_AG_UI_MODEL: 'mod', DSH_AG_UI_PATH: '/else', DSH_HOME: home,
      PATH: [home, process.env['PATH']].join(delimiter),
    })
    const health = await fetch(`${playground.url}/api/health`)
    assert.deepEqual(await health.json(), { status: 'ok', provider: 'prov', model: 'mod' })
    const response = await fetch(`${playground.url}/api/agent`, {
      method: 'POST', headers: { 'cookie': await cookieOf(playground.url), 'content-type': 'application/json' }, body: runInput('t', 'hello'),
    })
    assert.deepEqual(eventsOf(await response.text()), [{ type: 'RUN_FINISHED', p: 'prov', m: 'mod' }])
    assert.deepEqual(playground.lines, [`ready ${playground.url}`])
    assert.deepEqual(await playground.stop('SIGTERM'), { code: 0, signal: null })
    await rm(home, { recursive: true })
  })
})

describe('page in Chromium', () => {
  let playground: Playground
  let browser: Browser
  let page: Page
  /** What the browser complained about, policy violations among it. */
  const complaints: string[] = []

  before(async () => {
    const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
    assert.ok(existsSync(executablePath), `this test needs Chromium and there is none at ${executablePath}: install Debian's package chromium, or set CHROMIUM to its path`)
    playground = await startPlayground({})
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
    })
    page = await browser.newPage()
    page.setDefaultTimeout(20_000)
    page.on('pageerror', error => complaints.push(error.message))
    page.on('console', message => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    await page.goto(playground.url)
  })
  after(async () => {
    await browser?.close()
    await playground?.stop('SIGTERM')
  })

  const say = async (text: string): Promise<void> => {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.keyboard.press('Enter')
  }
  const status = (label: string): Promise<unknown> => page.locator('#status', { hasText: new RegExp(`^${label}$`) }).waitFor()
  const answered = (text: string): Promise<unknown> => page.locator('[data-role="assistant"] .text', { hasText: text }).last().waitFor()

  test('text appears while the run goes on, and Escape stops it', async () => {
    await say('hello')
    await answered('You said: hello')
    await status('Idle')
    await say('[deltas=3][hang]')
    await answered('0000000 0000001 0000002')
    await status('Running')
    assert.equal(await page.getByRole('button', { name: 'Send' }).isDisabled(), true)
    await page.keyboard.press('Escape')
    await status('Stopped')
  })

  test('backend Tools show their cards', async () => {
    await say('[tool=get_weather {"location":"Lisbon"}] [tool=search_files {"text":"lamp.ts"}]')
    await answered('get_weather returned')
    const weather = page.locator('.card[data-tool="get_weather"]')
    assert.equal(await weather.getAttribute('data-outcome'), 'done')
    assert.match(await weather.locator('strong').innerText(), /^Weather in Lisbon: -?\d+ °C, \w+$/)
    const search = page.locator('.card[data-tool="search_files"]')
    assert.equal(await search.getAttribute('data-card'), 'search')
    assert.deepEqual(await search.locator('p code').allInnerTexts(), ['README.md', 'src/fog.ts'])
  })

  test('the page\'s own Tool runs here and its answers continue the turn, two calls at once', async () => {
    await say('[tool=set_theme_color {"color":"rebeccapurple"}] [tool=set_theme_color {"color":"no colour"}]')
    await answered('set_theme_color returned: {"status":"success","color":"rebeccapurple"}')
    await status('Idle')
    assert.equal(await page.evaluate('document.documentElement.style.getPropertyValue("--accent")'), 'rebeccapurple')
    assert.match(await page.locator('[data-role="assistant"] .text').last().innerText(), /"no colour" is not a CSS colour/)
    const outcomes = page.locator('.card[data-tool="set_theme_color"] .outcome')
    assert.deepEqual(await outcomes.allInnerTexts(), ['done', 'failed'])
  })

  test('approvals and questions appear as one form, survive a reload, and their answers continue the turn', async () => {
    const form = page.getByRole('region', { name: 'The agent asks you' })
    const ask = '[tool=ask_user_question {"questions":[{"id":"q","question":"Which?","options":[{"label":"red"},{"label":"blue"}]},{"id":"r","question":"Why?"}]}]'
    await say('[tool=mail_postcard {"to":"Ada"}]')
    await status('Waiting for you')
    await say('hello?')
    await page.getByRole('alert').filter({ hasText: 'The agent waits for your answer above' }).waitFor()
    await page.getByLabel('Message', { exact: true }).fill('')
    await page.reload()
    await form.getByText('Allow mail_postcard?').waitFor()
    await form.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('alert').filter({ hasText: '400 INVALID_INTERRUPT_RESPONSE' }).waitFor()
    await form.getByLabel('Allow once').check()
    await form.getByRole('button', { name: 'Answer' }).click()
    await answered('mail_postcard returned: the postcard to Ada is on its way')
    await status('Idle')
    assert.equal(await form.isVisible(), false)

    await say(ask)
    await form.getByLabel('blue').check()
    await form.getByLabel('Your answer').fill('the sky')
    await form.getByRole('button', { name: 'Answer' }).click()
    await answered('ask_user_question returned: {"answers":[{"id":"q","selected":["blue"]},{"id":"r","selected":[],"custom":"the sky"}]}')
    await say('[tool=mail_postcard {"to":"Bob"}]')
    await form.getByRole('button', { name: 'Withdraw' }).click()
    await answered('mail_postcard failed: Error: approval for tool "mail_postcard" was cancelled')
    await status('Idle')
    // The refused form is the only thing that the browser had to complain about.
    assert.deepEqual(complaints.splice(0).filter(text => !/400 \(Bad Request\)/.test(text)), [])
  })

  test('shared state goes out with a message and comes back changed', async () => {
    await page.getByRole('button', { name: 'Use an example' }).click()
    await say('[state {"visited":["Lisbon"]}]')
    await answered('ag_ui_update_state returned')
    await status('Idle')
    assert.deepEqual(JSON.parse(await page.locator('#state').inputValue()), { trip: { to: 'Lisbon', days: 3 }, visited: ['Lisbon'] })
    await page.locator('#state').fill('{broken')
    await say('next')
    await page.getByRole('alert').filter({ hasText: 'the shared state is not valid JSON' }).waitFor()
    assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'next')
    await page.locator('#state').fill('')
  })

  test('a failed run shows its partial text and its code', async () => {
    await say('[deltas=2][fail]')
    await page.getByRole('alert').filter({ hasText: '(SCRIPTED_FAILURE)' }).waitFor()
    await status('Failed')
    await say('hello again')
    await answered('You said: hello again')
    assert.equal(await page.getByRole('alert').isVisible(), false)
  })

  test('the inspector lists what came, deltas of one message together', async () => {
    await page.getByRole('button', { name: 'Clear' }).click()
    await say('[deltas=500]')
    await answered('0000499')
    await status('Idle')
    const types = page.locator('#events .type')
    await types.filter({ hasText: /^RUN_FINISHED$/ }).waitFor()
    const texts = await types.allInnerTexts()
    assert.equal(texts[0], 'RUN_STARTED')
    assert.ok(texts.some(text => /^TEXT_MESSAGE_CONTENT( × \d+)?$/.test(text)))
  })

  test('a directive button writes into the message field, by keyboard too', async () => {
    await page.getByLabel('Message', { exact: true }).fill('please')
    await page.getByRole('button', { name: '[reason]: reasons first' }).focus()
    await page.keyboard.press('Enter')
    assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'please [reason]')
    assert.equal(await page.evaluate('document.activeElement.id'), 'composer-text')
    await page.getByLabel('Message', { exact: true }).fill('')
  })

  test('a reload brings the conversation back, a new thread is empty', async () => {
    const thread = new URL(page.url()).searchParams.get('thread')
    await page.goto(playground.url)
    await answered('You said: hello again')
    assert.equal(new URL(page.url()).searchParams.get('thread'), thread)
    assert.equal(await page.locator('[data-role="user"] .text').first().innerText(), 'hello')
    assert.equal(await page.locator('.card[data-tool="search_files"]').getAttribute('data-card'), 'search')
    await page.getByRole('button', { name: 'New thread' }).click()
    await page.getByText('Nothing has been said in this thread').waitFor()
    assert.notEqual(new URL(page.url()).searchParams.get('thread'), thread)
    await say('over here')
    await answered('You said: over here')
  })

  test('everything that can be operated has a name, and the browser had no complaint', async () => {
    const nameless = await page.evaluate(`[...document.querySelectorAll('button, textarea, input, [tabindex="0"]')]
      .filter(one => !(one.ariaLabel || one.innerText || one.labels?.length || one.getAttribute('aria-labelledby')))
      .map(one => one.outerHTML.slice(0, 80))`)
    assert.deepEqual(nameless, [])
    assert.deepEqual(complaints, [])
  })
})
