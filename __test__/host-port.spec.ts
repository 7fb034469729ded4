import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bootHost, say } from './support/host.ts'
import { mountPort, openThread, run } from './support/port.ts'

test('creates an agent, streams its text and reports every record once', async (t) => {
  const host = await bootHost()
  t.after(() => host.dispose())
  const port = await mountPort(host)
  const thread = await openThread(port, 'thread-a')
  host.adapter.queue(say('Hello there, world.'))
  await run(thread, 'hi')
  console.log(thread.log.outline(), thread.history, JSON.stringify(thread.log.records()))
  assert.equal(thread.log.text(), 'Hello there, world.')
})
