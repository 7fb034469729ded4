import { MessageChannel } from 'node:worker_threads'
import { attach, createPresentationHost } from '@dsh-std/presentation'
import { notificationImplementation, notificationSupport } from '@dsh-std/presentation/operations'

// The user's side, at one end of a channel: a worker, a window, another process.
const { port1, port2 } = new MessageChannel()
const screen = attach(port2, {
  participantId: 'screen',
  implementations: [notificationImplementation('screen', {
    notify: ({ text }) => {
      console.log(`shown: ${text}`)
      return { status: 'submitted', value: { accepted: true } }
    },
  })],
})

// The runtime's side, at the other. It names the endpoint; what the peer calls itself grants nothing.
const host = createPresentationHost()
await host.attach(port1, { participantId: 'screen-1' })
const invocation = host.open(host.admit('example.plugin', [notificationSupport]))
console.log(invocation.descriptor?.clientId, (await invocation.clients!.notification!.notify({ text: 'Hello' })).status)

// The end of the channel is the end of the lease, and of the clients.
screen.close()
console.log(await screen.closed)
host.close()
