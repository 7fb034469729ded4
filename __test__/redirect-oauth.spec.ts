/** The OAuth example end to end (P8): authorization code, PKCE, state, issuer. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { after, before, test } from 'node:test'
import { CLIENT_ID, startAuthorizationServer } from '../examples/oauth/authorization-server.ts'
import type { AuthorizationServer } from '../examples/oauth/authorization-server.ts'
import { signIn, SignInError } from '../examples/oauth/client.ts'

let server: AuthorizationServer

before(async () => {
  server = await startAuthorizationServer()
})

after(() => server.close())

/** Does what a user and a browser do: reads the page, decides, follows the redirect. Returns the last page. */
async function decide(uri: string, decision: 'allow' | 'deny'): Promise<string> {
  const page = await (await fetch(uri)).text()
  const id = /name="id" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const answer = await fetch(new URL('/decide', uri), { method: 'POST', body: new URLSearchParams({ id, decision }) })
  return await answer.text()
}

test('signs in', async () => {
  let page: Promise<string> | undefined
  const token = await signIn({
    issuer: server.issuer,
    clientId: CLIENT_ID,
    openPage: (uri) => {
      page = decide(uri, 'allow')
    },
  })
  assert.match(await page ?? '', /You can close this page/)
  const answer = await fetch(new URL('/userinfo', server.issuer), { headers: { authorization: `Bearer ${token}` } })
  assert.deepEqual(await answer.json(), { name: 'Ada' })
})

test('signs in through a registered callback', async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  let asked = ''
  const token = await signIn({
    issuer: server.issuer,
    clientId: CLIENT_ID,
    exactRedirectUri: `http://localhost:${port}/oauth/callback?client=cli`,
    openPage: (uri) => {
      asked = new URL(uri).searchParams.get('redirect_uri') ?? ''
      void decide(uri, 'allow')
    },
  })
  assert.equal(asked, `http://localhost:${port}/oauth/callback?client=cli`)
  assert.ok(token.length > 0)
})

test('a denial is the user\'s answer', async () => {
  await assert.rejects(
    signIn({ issuer: server.issuer, clientId: CLIENT_ID, openPage: uri => void decide(uri, 'deny') }),
    new SignInError('access_denied'),
  )
})

for (const [what, forge, code] of [
  ['a foreign state', (url: URL) => url.searchParams.set('state', 'forged'), 'state_mismatch'],
  ['no state', (url: URL) => url.searchParams.delete('state'), 'state_mismatch'],
  ['a second code', (url: URL) => url.searchParams.append('code', 'other'), 'invalid_response'],
  ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example'), 'issuer_mismatch'],
  ['a made-up code', (url: URL) => url.searchParams.set('code', 'guess'), 'invalid_grant'],
] as const) {
  test(`refuses ${what}`, async () => {
    const openPage = async (uri: string): Promise<void> => {
      const { searchParams } = new URL(uri)
      const forged = new URL(searchParams.get('redirect_uri') ?? '')
      forged.search = String(new URLSearchParams({ code: 'c', state: searchParams.get('state') ?? '', iss: server.issuer }))
      forge(forged)
      await fetch(forged)
    }
    await assert.rejects(signIn({ issuer: server.issuer, clientId: CLIENT_ID, openPage }), new SignInError(code))
  })
}

test('a cancelled sign-in leaves nothing open', async () => {
  const controller = new AbortController()
  let redirectUri = ''
  const flow = signIn({
    issuer: server.issuer,
    clientId: CLIENT_ID,
    signal: controller.signal,
    openPage: (uri) => {
      redirectUri = new URL(uri).searchParams.get('redirect_uri') ?? ''
      controller.abort()
    },
  })
  await assert.rejects(flow, new SignInError('cancelled'))
  await assert.rejects(fetch(redirectUri), (error: Error) => (error.cause as NodeJS.ErrnoException).code === 'ECONNREFUSED')
})

test('the example runs', async () => {
  const main = fileURLToPath(new URL('../examples/oauth/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, '--print-uri'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  let output = ''
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const uri = /^Sign in at (\S+)\n/m.exec(output)?.[1]
    if (uri !== undefined && !output.includes('Hello')) await decide(uri, 'allow')
  }
  assert.deepEqual(await exit, [0, null])
  assert.match(output, /Hello, Ada!\n$/)
})
