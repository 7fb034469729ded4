/** A Host that keeps large results out of its log: the client may go on with what it sent, or with what it was shown (G8, G11). */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import SpillStore from '@deepseek-ai/dsh-spill-local'
import * as spillPolicy from '@deepseek-ai/dsh-spill-policy'
import { answer, body, bootGateway, browserTool, callTools, history, input, makeHome, resultsSeen, say, user } from '../support/gateway.ts'
import type { TestGateway, WireMessage } from '../support/gateway.ts'

const TOOLS = [browserTool('pick')]
/** As in the web profile. */
const MAX_INLINE_BYTES = 50_000
const LARGE = 'red '.repeat(20_000)
const FIELDS = { metadata: { source: 'page', deep: { a: [1, null] } }, encryptedValue: 'sealed', subagentRunId: 'sub-1' }
const ORIGINAL = answer('t-1', 'c-1', LARGE, FIELDS)

/** A Host with the policy that its web profile has. */
async function bootSpilling(t: TestContext, home: string): Promise<TestGateway> {
  const gateway = await bootGateway(t, {}, { home })
  await gateway.host.ctx.plugin(SpillStore, { root: join(home, 'spilled') } as never)
  await gateway.host.ctx.plugin(spillPolicy, { maxInlineBytes: MAX_INLINE_BYTES } as never)
  return gateway
}

const results = (messages: readonly WireMessage[]) => messages.filter(({ role }) => role === 'tool')

/** Both forms are the same message; with any public field changed they are another one. */
async function checkForms(gateway: TestGateway, shown: WireMessage): Promise<void> {
  const send = (message: object) => ({ messages: [message], tools: TOOLS })
  for (const form of [ORIGINAL, shown]) {
    assert.deepEqual(body(await gateway.run(send(form))), ['RUN_FINISHED'])
    for (const changed of [
      { content: `${LARGE}!` }, { metadata: { source: 'elsewhere' } }, { metadata: undefined }, { encryptedValue: 'open' },
      { subagentRunId: undefined }, { error: 'no' },
    ]) {
      const { code } = await gateway.refuse(input(send({ ...form, ...changed })))
      assert.equal(code, 'MESSAGE_ID_CONFLICT', JSON.stringify(Object.keys(changed)))
    }
  }
  assert.deepEqual(results(history(await gateway.run())), [shown])
}

test('a large result is known as it was sent and as it is shown, live and after a restart', async (t) => {
  const home = makeHome(t)
  const first = await bootSpilling(t, home)
  first.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Thanks.'))
  await first.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const events = await first.run({ messages: [ORIGINAL], tools: TOOLS })
  const [shown, ...others] = results(history(events))
  assert.ok(shown !== undefined && others.length === 0)
  const { content, ...fields } = shown
  assert.ok(typeof content === 'string' && content.length < MAX_INLINE_BYTES + 1 && content.includes('stored at'))
  assert.deepEqual(fields, { id: 't-1', role: 'tool', toolCallId: 'c-1', ...FIELDS })
  assert.deepEqual(resultsSeen(first), [`c-1 ${content}`])
  await checkForms(first, shown)
  await first.host.dispose()
  // The first request of the next life is the one that is held against the log.
  for (const opening of [{ ...ORIGINAL, content: 'blue' }, ORIGINAL, shown]) {
    const next = await bootSpilling(t, home)
    const sent = { messages: [user('u-1', 'go'), opening], tools: TOOLS }
    if (opening === ORIGINAL || opening === shown) assert.deepEqual(body(await next.run(sent)), ['RUN_FINISHED'])
    else assert.equal((await next.refuse(input(sent))).code, 'MESSAGE_ID_CONFLICT')
    await checkForms(next, shown)
    await next.host.dispose()
  }
})

test('a large error of the browser may be sent again', async (t) => {
  const gateway = await bootSpilling(t, makeHome(t))
  const failed = answer('t-1', 'c-1', '', { error: LARGE })
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Sorry.'))
  await gateway.run({ messages: [user('u-1', 'go')], tools: TOOLS })
  const [shown] = results(history(await gateway.run({ messages: [failed], tools: TOOLS })))
  for (const form of [failed, shown]) {
    assert.deepEqual(body(await gateway.run({ messages: [form as object], tools: TOOLS })), ['RUN_FINISHED'])
  }
})
