/** The redirect receiver over node:http and raw sockets (P8; spec: presentation, `ExternalRedirect`). */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, get, request as httpRequest } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import {
  externalRedirectHandler,
  openRedirectReceiver,
  RedirectNotReadyError,
} from 'dsh-ag-ui/presentation/redirect'
import type { ExternalRedirectReady } from 'dsh-ag-ui/presentation/redirect'

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

async function visit(uri: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const request = httpRequest(uri, { method, headers, agent: false })
  request.end()
  const [response] = await once(request, 'response') as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

/** Sends bytes as they are and returns everything that comes back. */
async function raw(uri: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(uri)
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
  socket.end(bytes, 'latin1')
  return await text(socket)
}

async function isClosed(uri: string): Promise<boolean> {
  try {
    await visit(uri)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  }
}

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const hasIpv6 = Object.values(networkInterfaces()).flat().some(entry => entry?.address === '::1')

test('one GET is the result, and the port is free when it arrives', async () => {
  const receiver = openRedirectReceiver()
  const ready = await receiver.ready
  assert.equal(ready.type, 'ready')
  assert.match(ready.redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{64}$/)
  const answer = await visit(`${ready.redirectUri}?code=a+b&state=%E4%BD%A0&code=2&=empty&flag`)
  assert.equal(answer.status, 200)
  const result = await receiver.result
  assert.deepEqual(result, {
    status: 'submitted',
    value: { query: { code: ['a b', '2'], state: ['你'], '': ['empty'], flag: [''] } },
  })
  assert.ok(await isClosed(ready.redirectUri))
})

test('receiver, ready and result are frozen to the bottom', async () => {
  const receiver = openRedirectReceiver()
  const ready = await receiver.ready
  await visit(`${ready.redirectUri}?a=1`)
  const result = await receiver.result
  assert.equal(result.status, 'submitted')
  if (result.status !== 'submitted') return
  for (const value of [receiver, ready, result, result.value, result.value.query, result.value.query['a']]) {
    assert.ok(Object.isFrozen(value))
  }
})

test('expiresAt is the deadline, or the longest wait when that comes first', async () => {
  const deadline = new Date(Date.now() + 60_000).toISOString()
  const one = openRedirectReceiver({ deadline })
  assert.equal((await one.ready).expiresAt, deadline)
  one.cancel()
  const before = Date.now()
  const two = openRedirectReceiver({ deadline, limits: { maxWaitMs: 30_000 } })
  const expiresAt = Date.parse((await two.ready).expiresAt ?? '')
  assert.ok(expiresAt >= before + 30_000 && expiresAt <= Date.now() + 30_000)
  two.cancel()
  assert.deepEqual(await two.result, { status: 'cancelled' })
})

test('names of the query cannot reach a prototype', async () => {
  const receiver = openRedirectReceiver()
  const { redirectUri } = await receiver.ready
  await visit(`${redirectUri}?__proto__=1&constructor=2&10=b&2=a`)
  const result = await receiver.result
  assert.ok(result.status === 'submitted')
  const { query } = result.value
  assert.equal(Object.getPrototypeOf(query), Object.prototype)
  assert.deepEqual(Object.entries(query).toSorted(([a], [b]) => a < b ? -1 : 1), [['10', ['b']], ['2', ['a']], ['__proto__', ['1']], ['constructor', ['2']]])
})

test('decodes what browsers send, byte for byte', async () => {
  const receiver = openRedirectReceiver()
  const { redirectUri } = await receiver.ready
  const path = new URL(redirectUri).pathname
  const query = 'nul=x%00y&bad=%zz%4&utf8=%FF%c3%28&plus=1+1%2B1&a=&=&&a=1&eq=b=c&semi=1;2&%e4%bd%a0=%F0%9F%94%91'
  const answer = await raw(redirectUri, `GET ${path}?${query} HTTP/1.1\r\nHost: ${new URL(redirectUri).host}\r\n\r\n`)
  assert.match(answer, /^HTTP\/1\.1 200 /)
  const result = await receiver.result
  assert.ok(result.status === 'submitted')
  assert.deepEqual(result.value.query, {
    nul: ['x\0y'],
    bad: ['%zz%4'],
    utf8: ['\u{fffd}\u{fffd}('],
    plus: ['1 1+1'],
    a: ['', '1'],
    '': [''],
    eq: ['b=c'],
    semi: ['1;2'],
    你: ['🔑'],
  })
  // The same as the platform's own parser.
  for (const [name, values] of Object.entries(result.value.query)) {
    assert.deepEqual(values, new URLSearchParams(query).getAll(name))
  }
})

test('refusals leave the pending request as it was', async () => {
  const receiver = openRedirectReceiver()
  const { redirectUri } = await receiver.ready
  const { host, pathname, origin } = new URL(redirectUri)
  const refused: readonly [string, Promise<Answer>, number][] = [
    ['HEAD', visit(redirectUri, {}, 'HEAD'), 405],
    ['POST', visit(redirectUri, {}, 'POST'), 405],
    ['OPTIONS', visit(redirectUri, {}, 'OPTIONS'), 405],
    ['another path', visit(`${origin}/callback?code=1`), 404],
    ['a longer path', visit(`${redirectUri}x?code=1`), 404],
    ['another host', visit(redirectUri, { host: `rebound.example:${new URL(redirectUri).port}` }), 421],
    ['a script', visit(redirectUri, { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }), 403],
    ['an image', visit(redirectUri, { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }), 403],
    ['a frame', visit(redirectUri, { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }), 403],
    ['a prefetch', visit(redirectUri, { 'sec-purpose': 'prefetch' }), 403],
    ['64 KB of query', visit(`${redirectUri}?code=${'a'.repeat(64_000)}`), 414],
    ['more than the parser takes', visit(`${redirectUri}?code=${'a'.repeat(70_000)}`), 414],
    ['10,000 parameters', visit(`${redirectUri}?${'a&'.repeat(8_000)}`), 400],
    ['10,000 long parameters', visit(`${redirectUri}?${'a=1&'.repeat(10_000)}`), 414],
  ]
  for (const [what, answer, status] of refused) {
    const { status: actual, headers } = await answer
    assert.equal(actual, status, what)
    if (what === 'POST') assert.equal(headers.allow, 'GET')
  }
  for (const request of [
    `GET ${pathname} HTTP/1.1\r\n\r\n`,
    `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}\r\n\r\n`,
    'GARBAGE\r\n\r\n',
    `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n${'x: y\r\n'.repeat(200)}\r\n`,
  ]) {
    assert.match(await raw(redirectUri, request), /^HTTP\/1\.[01] 4\d\d /)
  }
  assert.equal((await visit(`${redirectUri}?code=real`)).status, 200)
  assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { code: ['real'] } } })
})

test('limits are configurable and validated', async () => {
  const receiver = openRedirectReceiver({ limits: { maxQueryBytes: 61_440, maxParameters: 10_000 } })
  const { redirectUri } = await receiver.ready
  const big = 'a=1&'.repeat(10_000) + `b=${'x'.repeat(20_000)}`
  assert.equal((await visit(`${redirectUri}?${big}`)).status, 400)
  assert.equal((await visit(`${redirectUri}?${big.slice(4)}`)).status, 200)
  const result = await receiver.result
  assert.ok(result.status === 'submitted')
  assert.equal(result.value.query['a']?.length, 9_999)
  for (const value of [0, -1, 1.5, NaN, Infinity, 61_441]) {
    assert.throws(() => openRedirectReceiver({ limits: { maxQueryBytes: value } }), {
      name: 'TypeError',
      message: 'limits.maxQueryBytes must be an integer from 1 to 61440',
    })
  }
  assert.throws(() => openRedirectReceiver({ deadline: 'tomorrow' }), TypeError)
  assert.throws(() => openRedirectReceiver({ deadline: '2026' }), TypeError)
})

test('a body, headers and cookies are not exposed', async () => {
  const receiver = openRedirectReceiver()
  const { redirectUri } = await receiver.ready
  const { host, pathname } = new URL(redirectUri)
  const answer = await raw(redirectUri, `GET ${pathname}?a=1 HTTP/1.1\r\nHost: ${host}\r\nCookie: c=secret\r\nContent-Length: 6\r\n\r\nb=body`)
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { a: ['1'] } } })
})

test('the page is fixed, in the language of the reader, and keeps to itself', async () => {
  for (const [wish, language, words] of [
    ['en-GB,en;q=0.9', 'en', 'You can close this page'],
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN', '您可以关闭此页面'],
  ] as const) {
    const receiver = openRedirectReceiver()
    const { redirectUri } = await receiver.ready
    const answer = await visit(`${redirectUri}?needle=needle`, { 'accept-language': wish })
    assert.equal(answer.status, 200)
    assert.ok(answer.body.includes(words))
    assert.ok(!answer.body.includes('needle'))
    assert.equal(answer.headers['content-language'], language)
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers['referrer-policy'], 'no-referrer')
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.match(String(answer.headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-[^']+'; /)
    assert.equal(answer.headers['set-cookie'], undefined)
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
    await receiver.result
  }
})

test('an exact URI is bound and announced verbatim', async () => {
  const port = await freePort()
  const table = [
    [`http://127.0.0.1:${port}/cb`, `http://127.0.0.1:${port}/cb?code=1`],
    [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port}/?code=1`],
    [`http://127.0.0.1:${port}/%7Euser/a/../b?tenant=t%201`, `http://127.0.0.1:${port}/%7Euser/b?tenant=t+1&code=1`],
    [`HTTP://LOCALHOST:${port}/Cb`, `http://localhost:${port}/Cb?code=1`],
    ...(hasIpv6 ? [[`http://[::1]:${port}/cb`, `http://[::1]:${port}/cb?code=1`] as const] : []),
  ] as const
  for (const [exactRedirectUri, visited] of table) {
    const receiver = openRedirectReceiver({ exactRedirectUri })
    assert.equal((await receiver.ready).redirectUri, exactRedirectUri)
    assert.equal((await visit(visited)).status, 200, visited)
    const result = await receiver.result
    assert.ok(result.status === 'submitted')
    assert.deepEqual(result.value.query['code'], ['1'])
  }
})

test('localhost answers on both families', { skip: !hasIpv6 && 'no IPv6 here' }, async () => {
  for (const address of ['127.0.0.1', '::1']) {
    const port = await freePort()
    const receiver = openRedirectReceiver({ exactRedirectUri: `http://localhost:${port}/cb` })
    await receiver.ready
    const request = get({ host: address, port, path: '/cb?via=1', headers: { host: `localhost:${port}` }, agent: false })
    const [response] = await once(request, 'response') as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    response.resume()
    assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { via: ['1'] } } })
  }
})

test('a registered query has to come back', async () => {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}/cb`
  const receiver = openRedirectReceiver({ exactRedirectUri: `${base}?app=1` })
  await receiver.ready
  assert.equal((await visit(`${base}?code=1`)).status, 404)
  assert.equal((await visit(`${base}?app=2&code=1`)).status, 404)
  assert.equal((await visit(`${base}?app=1&code=1`)).status, 200)
  assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { app: ['1'], code: ['1'] } } })
})

test('a refused exact URI is a result, not an exception', async () => {
  for (const exactRedirectUri of [
    '', 'http://127.0.0.1/cb', 'http://127.0.0.1:0/', 'https://127.0.0.1:8443/', 'http://192.0.2.1:8080/',
    'http://example.org:8080/', 'http://user@127.0.0.1:8080/', 'http://127.0.0.1:8080/#x', 'http://127.0.0.1:8080/a b',
    'http://0.0.0.0:8080/', 'http://[::]:8080/', 'http://127.1:8080/', '\ud800', 'http://localhost.evil.example:80/',
  ]) {
    const receiver = openRedirectReceiver({ exactRedirectUri })
    assert.deepEqual(await receiver.result, { status: 'unavailable', reason: 'redirect-uri-rejected' }, exactRedirectUri)
    await assert.rejects(receiver.ready, (error) => {
      assert.ok(error instanceof RedirectNotReadyError)
      assert.equal(error.code, 'redirect-uri-rejected')
      return true
    })
  }
})

test('a taken address stays with its owner', async () => {
  // By this process, outside the receiver.
  const owner: Server = createServer((_, response) => response.end('mine'))
  owner.listen(0, '127.0.0.1')
  await once(owner, 'listening')
  const { port } = owner.address() as AddressInfo
  for (const host of ['127.0.0.1', 'localhost']) {
    const receiver = openRedirectReceiver({ exactRedirectUri: `http://${host}:${port}/` })
    assert.deepEqual(await receiver.result, { status: 'unavailable', reason: 'redirect-address-in-use' })
  }
  assert.equal((await visit(`http://127.0.0.1:${port}/`)).body, 'mine')
  owner.close()
  await once(owner, 'close')
  // By another process.
  const script = 'require("http").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port) })'
  const other = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(other.stdout, 'data') as [Buffer]
  const receiver = openRedirectReceiver({ exactRedirectUri: `http://127.0.0.1:${String(line).trim()}/` })
  assert.deepEqual(await receiver.result, { status: 'unavailable', reason: 'redirect-address-in-use' })
  other.kill()
  await once(other, 'exit')
  // By a receiver of ours.
  const first = openRedirectReceiver({ exactRedirectUri: `http://127.0.0.1:${port}/cb` })
  await first.ready
  const second = openRedirectReceiver({ exactRedirectUri: `http://127.0.0.1:${port}/cb` })
  assert.deepEqual(await second.result, { status: 'unavailable', reason: 'redirect-address-in-use' })
  assert.equal((await visit(`http://127.0.0.1:${port}/cb?still=1`)).status, 200)
  assert.deepEqual(await first.result, { status: 'submitted', value: { query: { still: ['1'] } } })
})

test('receivers share a listener and stay apart', async () => {
  const receivers = Array.from({ length: 20 }, () => openRedirectReceiver())
  const uris = await Promise.all(receivers.map(async ({ ready }) => (await ready).redirectUri))
  assert.equal(new Set(uris.map(uri => new URL(uri).port)).size, 1)
  assert.equal(new Set(uris).size, 20)
  await Promise.all(uris.map((uri, index) => visit(`${uri}?n=${index}`)))
  const results = await Promise.all(receivers.map(({ result }) => result))
  assert.deepEqual(results, uris.map((_, index) => ({ status: 'submitted', value: { query: { n: [String(index)] } } })))
  assert.ok(await isClosed(uris[0] ?? ''))
})

test('a second hit is refused and changes nothing', async () => {
  const keep = openRedirectReceiver()
  const receiver = openRedirectReceiver()
  const { redirectUri } = await receiver.ready
  const answers = await Promise.all([1, 2, 3, 4, 5].map(n => visit(`${redirectUri}?n=${n}`)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted((a, b) => a - b), [200, 404, 404, 404, 404])
  const winner = answers.findIndex(({ status }) => status === 200) + 1
  assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { n: [String(winner)] } } })
  assert.equal((await visit(`${redirectUri}?n=6`)).status, 404)
  keep.cancel()
  await keep.result
})

test('cancelling revokes the path at once and frees the port', async () => {
  const keep = openRedirectReceiver()
  const receiver = openRedirectReceiver()
  const { redirectUri } = await receiver.ready
  receiver.cancel('not needed')
  receiver.cancel()
  assert.equal((await visit(redirectUri)).status, 404)
  assert.deepEqual(await receiver.result, { status: 'cancelled' })
  keep.cancel()
  await keep.result
  assert.ok(await isClosed(redirectUri))
})

test('a cancellation and a hit in flight agree on one winner', async () => {
  for (let round = 0; round < 50; round += 1) {
    const receiver = openRedirectReceiver()
    const { redirectUri } = await receiver.ready
    const request = get(`${redirectUri}?code=1`, { agent: false })
    const answer = once(request, 'response').then(([response]: IncomingMessage[]) => {
      response?.resume()
      return response?.statusCode
    }, () => 'dropped' as const)
    await once(request, 'finish')
    receiver.cancel()
    const result = await receiver.result
    const status = await answer
    if (result.status === 'submitted') assert.equal(status, 200)
    else assert.ok(result.status === 'cancelled' && (status === 404 || status === 'dropped'))
  }
})

test('the deadline expires the receiver', async () => {
  const receiver = openRedirectReceiver({ limits: { maxWaitMs: 1 } })
  assert.deepEqual(await receiver.result, { status: 'expired' })
  const late = openRedirectReceiver({ deadline: '2001-01-01T00:00:00Z' })
  assert.deepEqual(await late.result, { status: 'expired' })
  await assert.rejects(late.ready, { code: 'redirect-expired' })
})

test('500 strangers, silent and slow, do not keep the redirect out', async () => {
  const receiver = openRedirectReceiver()
  const { redirectUri } = await receiver.ready
  const { hostname, port, host } = new URL(redirectUri)
  const starts = ['', 'G', 'GET / HTTP/1.1\r\nHost: ', `GET /${'a'.repeat(1000)}`, 'POST / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n']
  const strangers = Array.from({ length: 500 }, (_, index) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(starts[index % starts.length] ?? '')
    return socket
  })
  const answer = await visit(`${redirectUri}?real=1`, { host })
  assert.equal(answer.status, 200)
  assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { real: ['1'] } } })
  // Nobody is left hanging: the listener is gone, and so are its connections.
  await Promise.all(strangers.map(socket => socket.closed || new Promise(resolve => socket.resume().on('close', resolve))))
  assert.ok(await isClosed(redirectUri))
})

test('a receiver that nobody references lives on', async () => {
  const script = `
    import { openRedirectReceiver } from 'dsh-ag-ui/presentation/redirect'
    const { result, ready } = openRedirectReceiver({ keepAlive: 'until-settled' })
    const { redirectUri } = await ready
    for (let i = 0; i < 5; i += 1) { gc(); await new Promise(setImmediate) }
    await fetch(redirectUri + '?alive=1')
    console.log(JSON.stringify(await result))`
  const { stdout, code } = await run(script, '--expose-gc')
  assert.equal(stdout, '{"status":"submitted","value":{"query":{"alive":["1"]}}}\n')
  assert.equal(code, 0)
})

test('a process with nothing else to do exits, receivers open or not', async () => {
  const open = `
    import { openRedirectReceiver } from 'dsh-ag-ui/presentation/redirect'
    const { ready } = openRedirectReceiver()
    console.log((await ready).redirectUri)`
  for (const ending of ['', 'process.exit(0)', 'process.exitCode = 0']) {
    const { stdout, code } = await run(`${open}\n${ending}`)
    assert.equal(code, 0)
    assert.ok(await isClosed(stdout.trim()))
  }
})

test('a process waits for its receiver when told to', async () => {
  const script = `
    import { openRedirectReceiver } from 'dsh-ag-ui/presentation/redirect'
    const { ready, result } = openRedirectReceiver({ keepAlive: 'until-settled' })
    console.log((await ready).redirectUri)
    await result`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const [line] = await once(child.stdout, 'data') as [Buffer]
  // The page arrives whole although the process ends with the result.
  assert.match((await visit(`${String(line).trim()}?code=1`)).body, /<\/html>/)
  assert.deepEqual(await exit, [0, null])
})

test('receivers of a worker end with it', async () => {
  const worker = new Worker(`
    const { parentPort } = require('node:worker_threads')
    import('dsh-ag-ui/presentation/redirect').then(async ({ openRedirectReceiver }) => {
      const { ready } = openRedirectReceiver({ keepAlive: 'until-settled' })
      parentPort.postMessage((await ready).redirectUri)
    })`, { eval: true })
  const [uri] = await once(worker, 'message') as [string]
  assert.equal((await visit(`${uri}x`)).status, 404)
  await worker.terminate()
  // The port goes when the native half is finalised, right after the worker.
  while (!await isClosed(`${uri}x`));
})

test('the handler announces once, then submits', async () => {
  const { receive } = externalRedirectHandler()
  const announced: ExternalRedirectReady[] = []
  const ready = Promise.withResolvers<ExternalRedirectReady>()
  const context = {
    signal: new AbortController().signal,
    progress(value: ExternalRedirectReady) {
      assert.equal(this, context)
      announced.push(value)
      ready.resolve(value)
    },
  }
  const result = receive({ requestId: 'r', invocationId: 'i', origin: 'o', mode: 'http-get' }, context)
  await visit(`${(await ready.promise).redirectUri}?code=1`)
  assert.deepEqual(await result, { status: 'submitted', value: { query: { code: ['1'] } } })
  assert.equal(announced.length, 1)
})

test('the handler takes its receiver back when the call is aborted', async () => {
  const { receive } = externalRedirectHandler()
  const controller = new AbortController()
  const request = { requestId: 'r', invocationId: 'i', origin: 'o', mode: 'http-get' } as const
  let uri = ''
  const result = receive(request, {
    signal: controller.signal,
    progress: ({ redirectUri }) => {
      uri = redirectUri
      controller.abort()
    },
  })
  assert.deepEqual(await result, { status: 'cancelled' })
  assert.ok(await isClosed(uri))
  assert.deepEqual(await receive(request, { signal: controller.signal, progress: () => assert.fail() }), { status: 'cancelled' })
  // An exact URI that is refused announces nothing.
  const rejected = await receive({ ...request, exactRedirectUri: 'http://example.org/' }, {
    signal: new AbortController().signal,
    progress: () => assert.fail(),
  })
  assert.deepEqual(rejected, { status: 'unavailable', reason: 'redirect-uri-rejected' })
})

async function run(script: string, ...flags: string[]): Promise<{ stdout: string, code: number | null }> {
  const child = spawn(process.execPath, [...flags, '--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const stdout = await text(child.stdout)
  const [code] = await exit as [number | null]
  return { stdout, code }
}
