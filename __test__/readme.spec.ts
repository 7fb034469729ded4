/** The README says what is true, and its examples run (K6). */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { TestContext } from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import type { BaseEvent } from '@ag-ui/client'
import AgUi from 'dsh-ag-ui'
import { BrowserTools } from 'dsh-ag-ui/browser-tools'
import { forwardFile, forwardRun } from '../examples/bff.ts'
import { EchoHost, serve } from '../examples/embedding.ts'
import { pushWithApproval } from '../examples/presentation.ts'
import { bootHost, MODEL, nextEvent, PROVIDER, say } from './support/host.ts'
import type { TestHost } from './support/host.ts'
import { png } from './support/png.ts'

const ROOT = join(import.meta.dirname, '..')
const SECRET = 'a shared secret of the test'
const ADA = { tenantId: 'acme', userId: 'ada' }

const read = (...path: string[]): string => readFileSync(join(ROOT, ...path), 'utf8')
let readme: string

before(() => { readme = read('README.md') })

/** The rows of the table under a heading, as cells without code marks. */
function table(heading: string): string[][] {
  const section = readme.split(/^## /m).find(part => part.startsWith(heading)) ?? assert.fail(`no section ${heading}`)
  return section.split('\n').filter(line => line.startsWith('| ')).slice(2).map(line => line.split('|').slice(1, -1).map(cell => cell.trim()))
}

interface Field { readonly meta: { readonly required?: boolean, readonly default?: unknown } }

/** Fields of a schemastery object, and what the README says of a field without a value. */
function defaults(config: unknown): [name: string, shown: string][] {
  const { dict } = config as { dict: Record<string, Field> }
  return Object.entries(dict).map(([name, { meta }]) => {
    if (meta.required === true) return [name, 'required']
    if (meta.default === undefined) return [name, 'none']
    return [name, `\`${typeof meta.default === 'string' ? meta.default : JSON.stringify(meta.default)}\``]
  })
}

test('the configuration table lists every field of the schema with its default, in order', () => {
  const rows = table('Configuration').map(([field = '', shown = '']) => [field.replaceAll('`', ''), shown])
  assert.deepEqual(rows, defaults(AgUi.Config))
})

test('the browser-tools row takes what the README says', () => {
  const shared = new Map(defaults(AgUi.Config))
  for (const [name, shown] of defaults(BrowserTools.Config)) {
    assert.ok(readme.includes(`\`${name}\``), name)
    if (shared.has(name)) assert.equal(shown, shared.get(name), name)
    else assert.ok(readme.includes(`\`${name}\` (${shown})`), name)
  }
})

/** The codes of the core: what each one says, its name and its status. */
function coreCodes(): [doc: string, code: string, status: string][] {
  const codes = [...read('src', 'gateway', 'error.rs').matchAll(/\/\/\/ ([^\n]*)\n\s+\w+ = "(\w+)", (\d{3});/g)]
  assert.ok(codes.length > 50)
  return codes.map(([, doc = '', code = '', status = '']) => [doc, code, status])
}

test('every code of the core is provoked over HTTP', () => {
  const specs = globSync('__test__/gateway/**/*.spec.ts', { cwd: ROOT }).map(file => read(file)).join('\n')
  assert.deepEqual(coreCodes().map(([, code]) => code).filter(code => !new RegExp(`\\b${code}'`).test(specs)), [])
})

test('the table of error codes lists every code of the core under its status', () => {
  const expected = new Map<string, string[]>()
  for (const [doc, code, status] of coreCodes()) {
    const row = doc.includes('in streams only') ? 'stream' : status
    expected.set(row, [...expected.get(row) ?? [], code])
  }
  const rows = table('Error codes').map(([status = '', listed = '']) => [status, [...listed.matchAll(/`(\w+)`/g)].map(([, code]) => code!).toSorted()])
  assert.deepEqual(Object.fromEntries(rows), Object.fromEntries([...expected].map(([status, list]) => [status, list.toSorted()])))
})

test('what the README shows of the examples is what they say', () => {
  for (const file of ['bff.ts', 'embedding.ts', 'presentation.ts']) {
    const [, region] = /\/\/ #region readme\n([^]*?)\/\/ #endregion/.exec(read('examples', file)) ?? assert.fail(file)
    assert.ok(readme.includes(`\`\`\`ts\n${region}\`\`\``), file)
  }
})

/** A Host with the gateway, and the environment of a BFF beside it. */
async function gateway(t: TestContext): Promise<TestHost> {
  const host = await bootHost()
  t.after(() => host.dispose())
  await host.ctx.plugin(AgUi, {
    provider: PROVIDER, model: MODEL, sharedSecret: SECRET, workspaceRoot: join(host.home, 'workspaces'),
  } as never)
  process.env['DSH_AG_UI_URL'] = `${host.url}/ag-ui`
  process.env['DSH_AG_UI_SHARED_SECRET'] = SECRET
  return host
}

/** A browser's request for one run, with headers that it has no right to send. */
function browserRequest(signal?: AbortSignal): Request {
  return new Request('http://app/api/agent', {
    method: 'POST',
    headers: {
      'content-type': 'application/json', 'authorization': 'Bearer stolen', 'x-dsh-tenant-id': 'other', 'x-dsh-user-id': 'mallory',
    },
    body: JSON.stringify({
      threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'hello' }], tools: [], context: [], state: {}, forwardedProps: {},
    }),
    ...signal === undefined ? {} : { signal },
  })
}

test('the BFF streams a run as the user that it authenticated', async (t) => {
  const host = await gateway(t)
  host.adapter.queue(say('Hello Ada'))
  const response = await forwardRun(browserRequest(), ADA)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as BaseEvent)
  assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['RUN_STARTED', 'RUN_FINISHED'])
  const [agent] = host.ctx.agents.roots()
  assert.deepEqual(host.ctx.get('agUi')?.identityFor(agent!), { principal: ADA, threadId: 't1' })
})

test('the BFF passes a refusal on', async (t) => {
  await gateway(t)
  process.env['DSH_AG_UI_SHARED_SECRET'] = 'another secret'
  const response = await forwardRun(browserRequest(), ADA)
  assert.equal(response.status, 401)
  assert.equal((await response.json() as { code: string }).code, 'UNAUTHORIZED')
})

test('the BFF passes files on, both ways and unchanged', async (t) => {
  await gateway(t)
  const bytes = png(40, 40)
  const up = new Request('http://app/api/agent/threads/t1/files', {
    method: 'POST',
    headers: {
      'content-type': 'image/png', 'content-length': String(bytes.length), 'x-file-name': 'a%20b.png', 'authorization': 'Bearer stolen', 'x-dsh-user-id': 'mallory',
    },
    body: new Blob([new Uint8Array(bytes)]).stream(),
    duplex: 'half',
  } as RequestInit)
  const uploaded = await forwardFile(up, '/threads/t1/files', ADA)
  assert.equal(uploaded.status, 201)
  const part = await uploaded.json() as { source: { value: string }, metadata: { filename: string } }
  assert.equal(part.metadata.filename, 'a b.png')
  const rest = part.source.value.slice('/ag-ui'.length)
  const down = await forwardFile(new Request(`http://app/api/agent${rest}`), rest, ADA)
  assert.deepEqual([down.status, down.headers.get('content-type'), down.headers.get('cache-control')], [200, 'image/png', 'no-store'])
  assert.equal(down.headers.get('content-disposition'), `attachment; filename="a b.png"; filename*=UTF-8''a%20b.png`)
  assert.ok(Buffer.from(await down.arrayBuffer()).equals(bytes))
  const other = await forwardFile(new Request(`http://app/api/agent${rest}`), rest, { ...ADA, userId: 'bob' })
  assert.deepEqual([other.status, (await other.json() as { code: string }).code], [403, 'FILE_FORBIDDEN'])
  for (const elsewhere of ['/threads/../../settings', '/x', '/threads/%2e%2e/x']) {
    assert.equal((await forwardFile(new Request('http://app/'), elsewhere, ADA)).status, 404, elsewhere)
  }
})

test('the BFF lets a browser go on with a run, and passes nothing else on', async (t) => {
  const host = await gateway(t)
  host.adapter.queue(say('Hello Ada'))
  const whole = await (await forwardRun(browserRequest(), ADA)).text()
  const cut = whole.indexOf('\n\n', whole.indexOf('TEXT_MESSAGE_CONTENT')) + 2
  const id = [...whole.slice(0, cut).matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? assert.fail('no event came')
  const run = 'http://app/api/agent/threads/t1/runs/r1'
  const rest = await forwardRun(new Request(run, { headers: { 'last-event-id': id } }), ADA)
  assert.equal(rest.headers.get('content-type'), 'text/event-stream')
  const text = (frames: string): string => [...frames.matchAll(/"delta":"(.*)"/g)].map(([, delta]) => delta).join('')
  assert.equal(text(whole.slice(0, cut) + await rest.text()), text(whole))
  assert.equal((await forwardRun(new Request(run), { ...ADA, userId: 'eve' })).status, 404)
  for (const other of ['/threads/t1/files', '/../metrics', '/threads/t1/runs/r1/x', '/x']) {
    assert.equal((await forwardRun(new Request(`http://app/api/agent${other}`), ADA)).status, 404, other)
  }
})

test('a browser that leaves the BFF ends the turn', async (t) => {
  const host = await gateway(t)
  host.adapter.queue('hang')
  const browser = new AbortController()
  const response = await forwardRun(browserRequest(browser.signal), ADA)
  const reader = response.body!.getReader()
  await reader.read()
  const agent = host.ctx.agents.roots()[0]!
  const ended = nextEvent(agent, 'turn/end')
  browser.abort()
  await assert.rejects(async () => { while (!(await reader.read()).done); })
  assert.deepEqual((await ended).data, { turn: 1, reason: { kind: 'aborted', reason: { kind: 'user' } } })
})

test('agents of an application without DSH stand behind the same endpoint', async (t) => {
  const { server, driver } = serve(new EchoHost(), SECRET)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    await driver.shutdown()
    server.close()
  })
  const agent = new HttpAgent({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ag-ui`,
    threadId: 'echo',
    headers: { authorization: `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'acme', 'x-dsh-user-id': 'ada' },
  })
  agent.addMessage({ id: 'u1', role: 'user', content: 'one' })
  const first = await agent.runAgent({ runId: 'r1' })
  agent.addMessage({ id: 'u2', role: 'user', content: 'two' })
  const second = await agent.runAgent({ runId: 'r2' })
  assert.deepEqual([first, second].map(({ newMessages }) => newMessages.map(({ role, content }) => [role, content])), [
    [['assistant', 'You said: one']],
    [['assistant', 'You said: two']],
  ])
  assert.deepEqual(agent.messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant'])
  assert.equal(driver.native.threadCount, 1)
  // What this port leaves out is not there.
  const upload = await fetch(`${agent.url}/threads/echo/files`, {
    method: 'POST', body: 'x', headers: { ...agent.headers, 'x-file-name': 'x', 'content-type': 'text/plain' },
  })
  assert.deepEqual([upload.status, (await upload.json() as { code: string }).code], [501, 'HOST_SERVICE_MISSING'])
  const download = await fetch(`${agent.url}/threads/echo/deliverables/0/files/0`, { headers: agent.headers })
  assert.deepEqual([download.status, (await download.json() as { code: string }).code], [404, 'FILE_NOT_FOUND'])
})

test('a plugin gets its approval from the rule of a policy', async () => {
  assert.equal(await pushWithApproval('main'), 'approved')
})
