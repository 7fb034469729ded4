/**
 * Signs in against a local authorization server and greets the user.
 *
 *     node examples/oauth/main.ts              opens your browser
 *     node examples/oauth/main.ts --print-uri  prints the page's address instead
 *
 * @module
 */

import open from 'open'
import { CLIENT_ID, startAuthorizationServer } from './authorization-server.ts'
import { signIn } from './client.ts'

const server = await startAuthorizationServer()
const print = process.argv.includes('--print-uri')
const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort())

try {
  const token = await signIn({
    issuer: server.issuer,
    clientId: CLIENT_ID,
    signal: interrupt.signal,
    async openPage(uri) {
      console.log(`Sign in at ${uri}`)
      if (!print) await open(uri)
    },
  })
  const response = await fetch(new URL('/userinfo', server.issuer), { headers: { authorization: `Bearer ${token}` } })
  const { name } = await response.json() as { name: string }
  console.log(`Hello, ${name}!`)
} finally {
  await server.close()
}
