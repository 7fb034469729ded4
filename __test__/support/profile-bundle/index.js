/**
 * A DSH bundle for tests of a profile: a model provider that needs no key, and a window into the Host.
 *
 * The model says what the newest message that holds a script tells it to: a JSON array with one entry a model call, each
 * `{ "say": text }`, `{ "call": [{ "id", "name", "args" }] }` or `{ "hang": text }` (one delta, then nothing until the
 * call is aborted). Nothing is kept in memory, so a script survives a restart of the Host.
 */

import { LlmAdapter } from '@deepseek-ai/dsh-llm'

export const name = 'scripted-model'
export const inject = ['llm', 'webServer']

/** The answer to calls for a purpose of the Host's own: tests look for it where it must not be. */
const ASIDE = 'Aside of the Host'

/** `FiberState.ACTIVE` of Cordis, which has no such export at run time. */
const ACTIVE = 2

class ScriptedModel extends LlmAdapter {
  /** Calls for each purpose of the Host's own. */
  asides = new Counters()
  /** What the newest call of a turn carried: texts of the user messages, the Host's own among them, and names of Tools. */
  request = { texts: [], tools: [] }

  async* stream({ purpose, messages, tools = [], signal }) {
    if (purpose !== undefined) {
      this.asides.count(purpose)
      yield* text(ASIDE)
      yield finish('stop')
      return
    }
    this.request = {
      texts: messages.filter(({ role }) => role === 'user').map(textOf).filter(words => words !== ''),
      tools: tools.map(tool => tool.name),
    }
    const step = nextStep(messages)
    if (step.say !== undefined) {
      yield* text(step.say)
      yield finish('stop')
    } else if (step.hang !== undefined) {
      yield { type: 'block-start', index: 0, blockType: 'text' }
      yield { type: 'text-delta', index: 0, text: step.hang }
      await new Promise((_resolve, reject) => {
        if (signal.aborted) reject(new Error('aborted'))
        else signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
      })
    } else {
      for (const [index, { id, name: tool, args }] of step.call.entries()) {
        const json = JSON.stringify(args)
        yield { type: 'block-start', index, blockType: 'tool-call' }
        yield { type: 'tool-call-delta', index, id, name: tool, argumentsDelta: json }
        yield { type: 'block-end', index, block: { type: 'tool-call', id, name: tool, arguments: json } }
      }
      yield finish('tool-calls')
    }
  }
}

/** Counters that can be waited for. */
class Counters {
  #counts = new Map()
  #changed = Promise.withResolvers()

  count(key) {
    this.#counts.set(key, this.#of(key) + 1)
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Resolves when `key` has been counted `times` times. */
  async reach(key, times) {
    while (this.#of(key) < times) await this.#changed.promise
  }

  #of(key) {
    return this.#counts.get(key) ?? 0
  }
}

function nextStep(messages) {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const script = messages[at].role === 'user' ? scriptOf(messages[at]) : undefined
    if (script === undefined) continue
    const done = messages.slice(at).filter(({ role }) => role === 'assistant').length
    return script[done] ?? { say: 'The script is over.' }
  }
  return { say: 'There is no script.' }
}

function scriptOf(message) {
  try {
    const script = JSON.parse(textOf(message))
    return Array.isArray(script) ? script : undefined
  } catch {
    return undefined // what people and the Host say otherwise
  }
}

function textOf({ content }) {
  return content.map(part => part.text ?? '').join('')
}

function* text(words) {
  yield { type: 'block-start', index: 0, blockType: 'text' }
  yield { type: 'text-delta', index: 0, text: words }
  yield { type: 'block-end', index: 0, block: { type: 'text', text: words } }
}

function finish(kind) {
  return { type: 'finish', reason: { kind } }
}

/**
 * Adds the route `/scripted`, which answers with JSON:
 *
 * - `/scripted/has?of=<service>`: whether the service is there now;
 * - `/scripted/activated?of=<class>&times=<n>`: when the plugin of that class has become active so often;
 * - `/scripted/asides?of=<purpose>&times=<n>`: when the model has been called so often for that purpose;
 * - `/scripted/request`: the newest call of a turn.
 */
export function apply(ctx) {
  const model = new ScriptedModel()
  const activations = new Counters()
  ctx.llm.registerAdapter(['scripted'], model)
  const count = (fiber) => { if (fiber.state === ACTIVE) activations.count(fiber.runtime?.callback.name) }
  for (const runtime of ctx.registry.values()) for (const fiber of runtime.fibers) count(fiber)
  // Not `ctx.inject`: when a plugin restarts in place, whoever injects it may be called before it is active again.
  ctx.on('internal/status', count, { global: true })
  const answers = {
    has: service => ctx.get(service) !== undefined,
    activated: (plugin, times) => activations.reach(plugin, times),
    asides: (purpose, times) => model.asides.reach(purpose, times),
    request: () => model.request,
  }
  ctx.effect(() => ctx.webServer.register({
    kind: 'prefix',
    path: '/scripted',
    handler: async (req, res) => {
      const { pathname, searchParams } = new URL(req.url, 'http://host')
      const answer = await answers[pathname.split('/').at(-1)](searchParams.get('of'), Number(searchParams.get('times')))
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(answer ?? null))
    },
  }), 'scripted-model: route')
}
