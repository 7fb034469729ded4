// @ts-check
/**
 * The page: sends what the user writes, runs the browser's Tool when the agent calls it, and keeps conversation,
 * shared state and event list in step with the stream.
 *
 * @module
 */

import { Chat } from './chat.js'
import { element } from './cards.js'
import { RequestRefused, postRun } from './events.js'
import { Inspector } from './inspector.js'
import { PeopleForm } from './people.js'
import { Thread } from './thread.js'

const DIRECTIVES = [
  ['[deltas=200]', '200 deltas of 8 characters'],
  ['[tool=get_weather {"location":"Lisbon"}]', 'a backend Tool with a card'],
  ['[tool=list_files {"folder":"src"}]', 'a list of paths'],
  ['[tool=search_files {"text":"lamp"}]', 'search matches'],
  ['[tool=read_file {"path":"src/lamp.ts"}]', 'a file'],
  ['[tool=mail_postcard {"to":"Ada"}]', 'a Tool that needs your approval'],
  ['[tool=ask_user_question {"questions":[{"id":"color","question":"Which color?","options":[{"label":"red"},{"label":"blue"}]}]}]', 'a question to you'],
  ['[tool=set_theme_color {"color":"seagreen"}]', 'a Tool that this page runs'],
  ['[state {"visited":["Lisbon"]}]', 'changes the shared state'],
  ['[reason]', 'reasons first'],
  ['[slow=40]', '40 ms between deltas'],
  ['[yield]', 'lets others run between deltas'],
  ['[max-tokens]', 'stops at the token limit'],
  ['[fail]', 'fails after partial text'],
  ['[hang]', 'waits until you stop it'],
]

/** The Tools that this page runs, by name. */
const BROWSER_TOOLS = new Map([['set_theme_color', {
  definition: {
    name: 'set_theme_color',
    description: 'Changes the accent colour of the page that the user looks at.',
    parameters: {
      type: 'object',
      properties: { color: { type: 'string', description: 'A CSS colour, for example "seagreen" or "#2f5bd7".' } },
      required: ['color'],
    },
  },
  run: (/** @type {any} */ { color }) => {
    if (typeof color !== 'string' || !CSS.supports('color', color)) throw new Error(`"${color}" is not a CSS colour`)
    document.documentElement.style.setProperty('--accent', color)
    return { status: 'success', color }
  },
}]])
const BROWSER_TOOL_NAMES = new Set(BROWSER_TOOLS.keys())

const STATE_EXAMPLE = { trip: { to: 'Lisbon', days: 3 }, visited: [] }
const STORAGE_KEY = 'playground.thread'

const page = {
  log: byId('log', HTMLElement),
  error: byId('error', HTMLElement),
  status: byId('status', HTMLElement),
  model: byId('model', HTMLElement),
  composer: byId('composer', HTMLFormElement),
  text: byId('composer-text', HTMLTextAreaElement),
  send: byId('send', HTMLButtonElement),
  stop: byId('stop', HTMLButtonElement),
  newThread: byId('new-thread', HTMLButtonElement),
  directives: byId('directives', HTMLElement),
  state: byId('state', HTMLTextAreaElement),
  stateNote: byId('state-note', HTMLElement),
  stateExample: byId('state-example', HTMLButtonElement),
}
const inspector = new Inspector(byId('events', HTMLElement), byId('event-count', HTMLElement))
const chat = new Chat(page.log, BROWSER_TOOL_NAMES)
const people = new PeopleForm(byId('people', HTMLElement), respond)

let thread = new Thread(crypto.randomUUID())
/** Aborts the run in progress. @type {AbortController | undefined} */
let running
let drawing = false

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 */
function byId(id, type) {
  const found = document.getElementById(id)
  if (!(found instanceof type)) throw new Error(`the page has no ${type.name} #${id}`)
  return found
}

function redraw() {
  if (drawing) return
  drawing = true
  requestAnimationFrame(() => {
    drawing = false
    chat.draw(thread)
    people.draw(thread.interrupts)
    inspector.draw()
  })
}

/**
 * One run, and follow-up runs for as long as the agent calls Tools of this page. What waits in the thread goes out
 * with the first; when nothing waits, it only fetches the history.
 *
 * @param {unknown} [state] New shared state; absent to leave it as it is.
 * @param {import('./people.js').ResumeEntry[]} [resume] What a person answered.
 */
async function converse(state, resume) {
  const current = thread
  const abort = new AbortController()
  running = abort
  setStatus('running', current.unsent.length === 0 ? 'Loading history' : 'Running')
  showError(undefined)
  let outcome = 'Idle'
  try {
    for (;;) {
      const failure = await runOnce(current, state, resume, abort.signal)
      if (abort.signal.aborted) break
      if (failure !== undefined) {
        showError(`The run failed: ${failure.message}${failure.code === undefined ? '' : ` (${failure.code})`}`)
        outcome = 'Failed'
        break
      }
      if (current.interrupts.length > 0) {
        outcome = 'Waiting for you'
        break
      }
      if (!answerOpenCalls(current)) break
      state = undefined
      resume = undefined
    }
  } catch (error) {
    const refused = current.takeBackUnsent()
    if (abort.signal.aborted) outcome = 'Stopped'
    else {
      outcome = 'Failed'
      showError(describe(error))
      const text = refused.find(message => message.role === 'user')?.content
      if (typeof text === 'string' && page.text.value === '') page.text.value = text
    }
  } finally {
    // Another thread may have been opened meanwhile; the page is its own then.
    if (running === abort) {
      running = undefined
      setStatus(outcome === 'Failed' ? 'failed' : 'idle', outcome)
    }
    redraw()
  }
}

/**
 * @param {Thread} current
 * @param {unknown} state
 * @param {import('./people.js').ResumeEntry[] | undefined} resume
 * @param {AbortSignal} signal
 */
async function runOnce(current, state, resume, signal) {
  const input = {
    threadId: current.id,
    runId: crypto.randomUUID(),
    messages: current.unsent,
    tools: [...BROWSER_TOOLS.values()].map(tool => tool.definition),
    context: [],
    forwardedProps: {},
    ...state === undefined ? {} : { state },
    ...resume === undefined ? {} : { resume },
  }
  /** @type {import('./thread.js').RunFailure | undefined} */
  let failure
  let ended = false
  for await (const event of postRun('/api/agent', input, signal)) {
    if (signal.aborted) return undefined
    inspector.add(event)
    failure = current.apply(event) ?? failure
    ended ||= event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR'
    if (event.type === 'STATE_SNAPSHOT') showState(current)
    redraw()
  }
  if (!ended) throw new Error('the stream ended before the run did')
  return failure
}

/**
 * Runs the calls of this page's Tools and queues their answers.
 *
 * @param {Thread} current
 * @returns {boolean} Whether there was anything to answer.
 */
function answerOpenCalls(current) {
  const calls = current.openCalls(BROWSER_TOOL_NAMES)
  for (const call of calls) {
    let content
    try {
      content = JSON.stringify(BROWSER_TOOLS.get(call.function.name)?.run(JSON.parse(call.function.arguments || '{}')))
    } catch (error) {
      content = `Error: ${describe(error)}`
    }
    current.say({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content })
  }
  redraw()
  return calls.length > 0
}

/** @throws {Error} When the field holds something that is not JSON. */
function stateToSend() {
  if (page.state.value.trim() === '') return undefined
  try {
    return JSON.parse(page.state.value)
  } catch (error) {
    throw new Error('the shared state is not valid JSON', { cause: error })
  }
}

/** @param {Thread} current */
function showState(current) {
  page.state.value = JSON.stringify(current.state, null, 2)
  page.stateNote.textContent = `Received at ${new Date().toLocaleTimeString()}.`
}

/** @param {unknown} error */
function describe(error) {
  if (error instanceof RequestRefused) return `Refused with ${error.status} ${error.code}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}

/** @param {string | undefined} message */
function showError(message) {
  page.error.hidden = message === undefined
  page.error.textContent = message ?? ''
}

/**
 * @param {'idle' | 'running' | 'failed'} state
 * @param {string} label
 */
function setStatus(state, label) {
  page.status.dataset['state'] = state
  page.status.textContent = label
  page.log.setAttribute('aria-busy', String(state === 'running'))
  enable()
}

function enable() {
  page.send.disabled = running !== undefined
  page.stop.disabled = running === undefined
}

/** @param {import('./people.js').ResumeEntry[]} entries */
function respond(entries) {
  if (running !== undefined) return
  // What waits for this page may be answered beside it.
  answerOpenCalls(thread)
  void converse(undefined, entries)
}

function send() {
  const text = page.text.value.trim()
  if (text === '' || running !== undefined) return
  if (thread.interrupts.length > 0) {
    showError('The agent waits for your answer above, or for you to withdraw it.')
    return
  }
  let state
  try {
    state = stateToSend()
  } catch (error) {
    showError(describe(error))
    return
  }
  page.text.value = ''
  thread.say({ id: crypto.randomUUID(), role: 'user', content: text })
  redraw()
  void converse(state)
}

/**
 * Opens a thread: remembered for the next visit, and named in the address so that another browser can follow.
 *
 * @param {string} id
 */
function open(id) {
  running?.abort()
  running = undefined
  thread = new Thread(id)
  localStorage.setItem(STORAGE_KEY, id)
  const address = new URL(location.href)
  address.searchParams.set('thread', id)
  history.replaceState(null, '', address)
  page.state.value = ''
  page.stateNote.textContent = 'No shared state yet.'
  inspector.clear()
  showError(undefined)
  setStatus('idle', 'Idle')
  redraw()
}

/** @param {string} directive */
function insert(directive) {
  const { text } = page
  const before = text.value.slice(0, text.selectionStart)
  const gap = before === '' || /\s$/.test(before) ? '' : ' '
  text.setRangeText(`${gap}${directive}`, text.selectionStart, text.selectionEnd, 'end')
  text.focus()
}

async function showModel() {
  try {
    const { status, provider, model } = await (await fetch('/api/health')).json()
    page.model.textContent = `${provider} / ${model}${status === 'ok' ? '' : ` (${status})`}`
  } catch (error) {
    page.model.textContent = `no answer from the server (${describe(error)})`
  }
}

page.composer.addEventListener('submit', event => {
  event.preventDefault()
  send()
})
page.text.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  send()
})
document.addEventListener('keydown', event => {
  if (event.key === 'Escape') running?.abort()
})
page.stop.addEventListener('click', () => running?.abort())
page.newThread.addEventListener('click', () => {
  open(crypto.randomUUID())
  page.text.focus()
})
page.stateExample.addEventListener('click', () => {
  page.state.value = JSON.stringify(STATE_EXAMPLE, null, 2)
  page.stateNote.textContent = 'Goes out with the next message.'
})
page.state.addEventListener('input', () => {
  page.stateNote.textContent = 'Edited; goes out with the next message.'
})
byId('clear-events', HTMLButtonElement).addEventListener('click', () => inspector.clear())
page.directives.append(...DIRECTIVES.map(([directive = '', meaning = '']) => {
  const button = element('button', { 'type': 'button', 'title': meaning, 'aria-label': `${directive}: ${meaning}` }, directive)
  button.addEventListener('click', () => insert(directive))
  return element('li', {}, button)
}))

const remembered = new URL(location.href).searchParams.get('thread') ?? localStorage.getItem(STORAGE_KEY)
open(remembered ?? thread.id)
if (remembered !== null) void converse()
void showModel()
