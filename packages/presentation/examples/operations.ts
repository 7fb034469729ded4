import { createPresentationHost } from '@dsh-std/presentation'
import { copyTextImplementation, notificationImplementation, openExternalImplementation } from '@dsh-std/presentation/operations'
import type { CopyTextClient, NotificationClient, OpenExternalClient } from '@dsh-std/presentation/operations'

// A plugin that asks. It knows no user interface, only what this invocation offers.
interface Clients {
  readonly openExternal?: OpenExternalClient
  readonly copyText?: CopyTextClient
  readonly notification?: NotificationClient
}

async function signIn({ openExternal, copyText, notification }: Clients): Promise<string> {
  const uri = 'https://example.test/device'
  const opened = await openExternal?.openExternal({ uri })
  if (opened?.status === 'submitted') return 'continue in the browser'
  const copied = await copyText?.copyText({ text: uri })
  await notification?.notify({ text: 'Paste the address into a browser', deduplicationKey: 'sign-in' })
  return copied?.status === 'submitted' ? 'the address is in the clipboard' : `open ${uri}`
}

// A provider that answers: a terminal without a browser.
const clipboard: string[] = []
const provider = [
  openExternalImplementation('tui', { openExternal: () => ({ status: 'unavailable', reason: 'no-graphical-environment' }) }),
  copyTextImplementation('tui', {
    copyText: ({ text }) => {
      clipboard.push(text)
      return { status: 'submitted', value: { accepted: true } }
    },
  }),
  notificationImplementation('tui', {
    notify: ({ origin, text }) => {
      console.log(`${origin}: ${text}`)
      return { status: 'submitted', value: { accepted: true } }
    },
  }),
]

// A Host that binds the one to the other, for one invocation.
const host = createPresentationHost({ policy: { bind: [{ providers: ['tui'] }] } })
host.provide('tui', provider)
const plugin = host.admit('example.plugin', provider.map(({ protocol: { apiVersion, kind } }) => ({ apiVersion, kind })))
const invocation = host.open(plugin, { deadline: 60_000 })
console.log(await signIn(invocation.clients ?? {}))
console.log(clipboard)
host.close()
