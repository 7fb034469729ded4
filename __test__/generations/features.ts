/**
 * The part of the conformance suite that is about what lies beside the conversation: people, presets, files,
 * deliverables (G15-G18, N8).
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import {
  callTools, history, hostTool, input, logOf, makeHome, registerTools, resultsSeen, said, say, toolsSeen, turnsOf, user,
} from '../support/gateway.ts'
import type { InputFields, ScriptedCall, TestGateway } from '../support/gateway.ts'
import { approve, asking, COLOR, decisions, deny, guard, interruptOf, interruptsOf, reply, resume } from '../support/people.ts'
import { png } from '../support/png.ts'
import { get, mountPresent, partOf, upload } from '../support/transfers.ts'
import type { FilePart } from '../support/transfers.ts'
import type { Driver } from './driver.ts'

const choose = (agentPreset: string, id: string): InputFields => ({ forwardedProps: { agentPreset }, messages: [user(id, 'hi')] })

async function refused(gateway: TestGateway, fields: InputFields): Promise<readonly [number, string]> {
  const { status, code } = await gateway.refuse(input(fields))
  return [status, code]
}

/** Presets that the log of a thread says were selected. */
function selections(gateway: TestGateway): unknown[] {
  return logOf(gateway.agent()).filter(({ type }) => type === 'agent-preset/selected').map(({ data }) => data)
}

/** Blocks of the person's message in the log of a thread. */
function blocksOf(gateway: TestGateway, id: string): readonly { readonly type: string, readonly attachment?: { readonly attachmentId: string } }[] {
  const sent = logOf(gateway.agent()).find(({ type, data }) => type === 'user/message' && (data as { id: string }).id === id)
  return (sent?.data as { content: [] } | undefined)?.content ?? assert.fail(`the log has ${id}`)
}

/** A message with a file: sent, seen, and there after a restart. */
async function sendFile(
  t: TestContext, driver: Driver, { bytes, name, mediaType, block }: { bytes: Uint8Array, name: string, mediaType: string, block: string },
): Promise<FilePart> {
  const home = makeHome(t)
  const first = await driver.boot(t, {}, { home })
  const part = await partOf(upload(first, bytes, name, mediaType))
  const messages = [user('u-1', [{ type: 'text', text: 'See this.' }, part])]
  first.adapter.queue(say('Seen.'))
  const events = await first.run({ messages })
  assert.equal(said(events), 'Seen.')
  const [text, attached, ...others] = blocksOf(first, 'u-1')
  assert.deepEqual([text, attached?.type, others], [{ type: 'text', text: 'See this.' }, block, []])
  assert.equal(attached?.attachment?.attachmentId, `sha256:${part.metadata.sha256}`)
  assert.deepEqual(history(events)[0], messages[0])
  await first.host.dispose()

  const second = await driver.boot(t, {}, { home })
  assert.deepEqual(history(await second.run({ messages })), history(events))
  assert.deepEqual((await get(second, part.source.value).answer()).body, Buffer.from(bytes))
  assert.equal(second.adapter.requests.length, 0)
  second.adapter.queue(say('Still there.'))
  assert.equal(said(await second.run({ messages: [...history(events), user('u-2', 'And now?')] })), 'Still there.')
  return part
}

/** Registers the scenarios for one generation. */
export function features(driver: Driver): void {
  const { generation } = driver

  test(`${generation}: an approval is given, the next is refused, and a question is answered, all in one turn`, async (t) => {
    const gateway = await driver.boot(t, { agentPreset: 'demo' })
    await registerTools(gateway, hostTool('deploy'))
    await guard(gateway, ['deploy'], 'it is Friday')
    const deploy = (id: string): ScriptedCall => ({ id, name: 'deploy', args: {} })
    gateway.adapter.queue(callTools([deploy('c-1')], 'May I?'), callTools([deploy('c-2')]), callTools([asking('c-3', COLOR)]), say('Thanks.'))
    const first = interruptOf(await gateway.run({ messages: [user('u-1', 'go')] }))
    assert.deepEqual([first.reason, first.toolCallId, first.message], ['approval', 'c-1', 'Allow deploy? it is Friday'])
    assert.deepEqual(interruptsOf(await gateway.run()), [first])
    const second = interruptOf(await resume(gateway, [approve(first)]).end())
    assert.deepEqual([second.reason, second.toolCallId], ['approval', 'c-2'])
    const third = interruptOf(await resume(gateway, [deny(second)]).end())
    assert.deepEqual([third.reason, third.toolCallId, third.message], ['user_question', 'c-3', COLOR.question])
    assert.equal(said(await resume(gateway, [reply(third, { color: ['red'] })]).end()), 'Thanks.')
    assert.deepEqual(decisions(gateway.agent()), ['allowed-once', 'rejected'])
    assert.deepEqual(resultsSeen(gateway), [
      'c-1 {}', 'c-2 Error: the user rejected tool "deploy"', 'c-3 {"answers":[{"id":"color","selected":["red"]}]}',
    ])
    assert.deepEqual(turnsOf(gateway.agent()).filter(type => type.startsWith('turn/')), ['turn/start', 'turn/end'])
  })

  test(`${generation}: a blank thread chooses a preset that its tenant was granted, and then it has that one`, async (t) => {
    const home = makeHome(t)
    const config = { agentPreset: 'bare', selectableAgentPresets: { 'tenant-1': ['demo', 'bare'] } }
    const first = await driver.boot(t, config, { home })
    first.adapter.queue(say('one'))
    await first.run(choose('demo', 'u-1'))
    assert.deepEqual(toolsSeen(first), ['ask_user_question'])
    assert.deepEqual(selections(first), [{ agentPreset: 'demo' }])
    assert.deepEqual(await refused(first, choose('bare', 'u-2')), [409, 'PRESET_LOCKED'])
    assert.deepEqual(await refused(first, choose('nobody', 'u-2')), [403, 'PRESET_NOT_ALLOWED'])
    await first.host.dispose()
    const second = await driver.boot(t, config, { home })
    assert.deepEqual(await refused(second, choose('bare', 'u-2')), [409, 'PRESET_LOCKED'])
    second.adapter.queue(say('two'))
    await second.run(choose('demo', 'u-2'))
    assert.deepEqual(toolsSeen(second), ['ask_user_question'])
    assert.deepEqual(selections(second), [{ agentPreset: 'demo' }])
  })

  test(`${generation}: a turn that the Host begins while a preset is selected`, async (t) => {
    const gateway = await driver.boot(t, { agentPreset: 'bare', selectableAgentPresets: { 'tenant-1': ['demo'] } })
    const gate = gateway.holdSelection()
    const run = gateway.post(input(choose('demo', 'u-1')))
    await gate.reached
    const agent = gateway.agent()
    gateway.adapter.queue(say('of the Host'), say('of the run'))
    agent.followup({ id: 'own', role: 'user', content: [{ type: 'text', text: 'x' }], source: { kind: 'user' } } as never)
    if (generation === 'A') {
      // It waits for the selection, which is maintenance of the agent.
      gate.open()
      assert.equal(said(await run.end()), 'of the run')
      const types = logOf(agent).map(({ type }) => type).filter(type => type === 'turn/start' || type === 'agent-preset/selected')
      assert.deepEqual(types, ['agent-preset/selected', 'turn/start', 'turn/start'])
      assert.deepEqual(toolsSeen(gateway), ['ask_user_question'])
    } else {
      // It begins, and the Host's own selection finds that and is locked.
      await agent.whenIdle()
      gate.open()
      const { status, code } = await run.refused()
      assert.deepEqual([status, code], [409, 'PRESET_LOCKED'])
      assert.equal(said(await gateway.run({ messages: [user('u-2', 'without')] })), 'of the run')
      assert.deepEqual(selections(gateway), [])
      assert.deepEqual(toolsSeen(gateway), [])
    }
  })

  test(`${generation}: an image goes from its upload into a message, and stays through a restart`, async (t) => {
    const part = await sendFile(t, driver, { bytes: png(8, 8), name: 'a.png', mediaType: 'image/png', block: 'image' })
    assert.equal(part.type, 'image')
  })

  test(`${generation}: a file of another type, where the Host can hold it`, async (t) => {
    const bytes = Buffer.from('a note')
    if (generation === 'A') {
      const gateway = await driver.boot(t)
      assert.deepEqual((await upload(gateway, bytes, 'note.txt', 'text/plain').refused()).slice(0, 2), [501, 'HOST_SERVICE_MISSING'])
    } else {
      const part = await sendFile(t, driver, { bytes, name: 'note.txt', mediaType: 'text/plain', block: 'file' })
      assert.deepEqual([part.type, part.metadata.filename, part.metadata.size], ['document', 'note.txt', 6])
    }
  })

  test(`${generation}: a deliverable is an activity, can be downloaded, and stays through a restart`, async (t) => {
    const home = makeHome(t)
    const first = await driver.boot(t, {}, { home })
    await mountPresent(first)
    await first.run()
    writeFileSync(join(first.agent().session.header.cwd ?? assert.fail('the session has a directory'), 'out.txt'), 'made')
    first.adapter.queue(callTools([{ id: 'c-1', name: 'present', args: { files: [{ path: 'out.txt' }] } }]), say('Here.'))
    const events = await first.run({ messages: [user('u-1', 'make it')] })
    const [activity, ...others] = events.filter(({ type }) => type === 'ACTIVITY_SNAPSHOT')
    assert.ok(activity !== undefined, 'the run has an activity')
    const { callId, files: [file] } = activity.content as unknown as { callId: string, files: readonly { path: string, url: string }[] }
    assert.deepEqual([activity.activityType, callId, file?.path, others], ['dsh-deliverables', 'c-1', 'out.txt', []])
    assert.equal((await get(first, file?.url ?? '').answer()).body.toString(), 'made')
    await first.host.dispose()
    const second = await driver.boot(t, {}, { home })
    await mountPresent(second)
    assert.deepEqual((await second.run()).filter(({ type }) => type === 'ACTIVITY_SNAPSHOT'), [activity])
    assert.equal((await get(second, file?.url ?? '').answer()).body.toString(), 'made')
  })
}
