/** The durable log of a session as the disk has it, read without the Host. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One message of the conversation; texts only. */
export interface Said {
  readonly role: string
  readonly text: string
  /** Of people's messages, which keep the ids that they came with. */
  readonly id?: string
  /** Names of the Tools that an assistant called. */
  readonly calls?: readonly string[]
}

/** What a log says. */
export interface DiskLog {
  /** What clients see of it: no injected context, no state calls. */
  readonly conversation: readonly Said[]
  /** Turns that were begun and not ended. */
  readonly open: readonly number[]
  /** Whether the last turn was broken off and no note says that a client was told. */
  readonly untold: boolean
}

interface Event {
  readonly type: string
  readonly data: {
    readonly turn: number
    readonly reason: { readonly kind: string }
    readonly message: Message
    readonly inserted: readonly Message[]
  }
}

interface Message {
  readonly id: string
  readonly source: { readonly kind: string, readonly form?: string }
  readonly content: readonly Block[]
}

interface Block {
  readonly type: string
  readonly text?: string
  readonly name?: string
  readonly id?: string
  readonly toolCallId?: string
  readonly content?: readonly Block[]
}

/** Reads the only log under a home; a home without one has an empty log. */
export function readLog(home: string): DiskLog {
  const [path] = globSync('sessions/*/*/session.jsonl', { cwd: home })
  const lines = path === undefined ? [] : readFileSync(join(home, path), 'utf8').split('\n').slice(1)
  // A line without an end was being written; the Host cuts it off as well.
  return projected(lines.slice(0, -1).map(line => JSON.parse(line) as Event))
}

function projected(events: readonly Event[]): DiskLog {
  const conversation: Said[] = []
  const open = new Set<number>()
  let untold = false
  const hidden = new Set<string>()
  for (const { type, data } of events) {
    const message = type === 'user/message' ? data as unknown as Message : data.message
    switch (type) {
      case 'turn/start':
        open.add(data.turn)
        untold = true
        break
      case 'turn/end':
        open.delete(data.turn)
        untold = data.reason.kind === 'interrupted'
        break
      case 'agent/inbox/spliced':
        if (data.inserted.some(({ source }) => source.form === 'interruption-told')) untold = false
        break
      case 'user/message':
        if (message.source.kind === 'user') conversation.push({ role: 'user', id: message.id, text: textOf(message.content) })
        break
      case 'assistant/message': {
        const calls = message.content.filter(block => block.type === 'tool-call')
        calls.filter(({ name }) => name === 'ag_ui_update_state').forEach(({ id = '' }) => hidden.add(id))
        const names = calls.map(({ name = '' }) => name).filter(name => name !== 'ag_ui_update_state')
        const text = textOf(message.content)
        if (text !== '' || names.length > 0) conversation.push({ role: 'assistant', text, calls: names })
        break
      }
      case 'tool/result': {
        const [block] = message.content
        if (!hidden.has(block?.toolCallId ?? '')) conversation.push({ role: 'tool', text: textOf(block?.content ?? []) })
      }
    }
  }
  return { conversation, open: [...open], untold }
}

function textOf(content: readonly Block[]): string {
  return content.map(({ type, text }) => type === 'text' ? text ?? '' : '').join('')
}
