import { createPresentationHost } from '@dsh-std/presentation'
import { externalRedirectImplementation, externalRedirectSupport } from '@dsh-std/presentation/callback'
import type { ExternalRedirectClient } from '@dsh-std/presentation/callback'

// A plugin that needs a browser's redirect, as OAuth does. The query is untrusted input.
async function authorize(redirect: ExternalRedirectClient): Promise<string> {
  const call = redirect.receive()
  const { redirectUri } = await call.ready
  console.log(`the browser is sent to ${new URL(redirectUri).hostname}`)
  const result = await call.result
  return result.status === 'submitted' ? `code ${result.value.query.code?.[0]}` : result.status
}

// A provider that announces its receiver once, and answers with what arrived there.
const provider = externalRedirectImplementation('tui', {
  receive: async (_request, { progress }) => {
    progress({ type: 'ready', redirectUri: 'http://127.0.0.1:49152/one-time-path' })
    return { status: 'submitted', value: { query: { code: ['abc'], state: ['xyz'] } } }
  },
})

// A Host that binds the one to the other.
const host = createPresentationHost()
host.provide('tui', [provider])
const invocation = host.open(host.admit('example.oauth', [externalRedirectSupport]))
console.log(await authorize(invocation.clients!.externalRedirect!))
host.close()
