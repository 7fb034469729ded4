// @ts-check
/**
 * One conversation as the browser knows it: messages, cards and shared state, kept up to date by events. No DOM.
 *
 * @module
 */

/** @typedef {import('./events.js').AgUiEvent} AgUiEvent */
/** @typedef {{ id: string, type: 'function', function: { name: string, arguments: string } }} ToolCall */
/** @typedef {{ id: string, role: string, content?: any, toolCalls?: ToolCall[], toolCallId?: string, activityType?: string }} Message */
/** @typedef {{ call?: any, result?: any }} Cards */
/** @typedef {{ message: string, code?: string }} RunFailure */

export class Thread {
  /** @param {string} id */
  constructor(id) {
    this.id = id
    /** @type {Message[]} */
    this.messages = []
    /** Cards of backend calls, by call id. @type {Map<string, Cards>} */
    this.cards = new Map()
    /** `undefined` until the thread has shared state. @type {any} */
    this.state = undefined
    /** What the newest run asks a human. @type {any[]} */
    this.interrupts = []
    /** Messages of ours that no run has accepted yet. @type {Message[]} */
    this.unsent = []
    /** Messages that the newest run took along; its first snapshot may not know them yet. @type {Message[]} */
    this.accepted = []
  }

  /** @param {Message} message */
  say(message) {
    this.messages.push(message)
    this.unsent.push(message)
  }

  /** Takes back what the gateway refused, and returns it. */
  takeBackUnsent() {
    const refused = this.unsent
    this.unsent = []
    this.messages = this.messages.filter(message => !refused.includes(message))
    return refused
  }

  /**
   * The calls of these Tools that nobody has answered.
   *
   * @param {ReadonlySet<string>} names
   * @returns {ToolCall[]}
   */
  openCalls(names) {
    const answered = new Set(this.messages.map(message => message.toolCallId))
    return this.messages.flatMap(message => message.toolCalls ?? [])
      .filter(call => names.has(call.function.name) && !answered.has(call.id))
  }

  /**
   * Applies one event.
   *
   * @param {AgUiEvent} event
   * @returns {RunFailure | undefined} The failure, when the event reports that the run failed.
   */
  apply(event) {
    switch (event.type) {
      case 'RUN_STARTED':
        this.accepted = this.unsent
        this.unsent = []
        this.interrupts = []
        return undefined
      case 'TEXT_MESSAGE_START':
        this.#message(event['messageId'], event['role'] ?? 'assistant').content ??= ''
        return undefined
      case 'TEXT_MESSAGE_CONTENT':
        this.#append(event['messageId'], event['delta'])
        return undefined
      case 'REASONING_MESSAGE_START':
        this.#message(event['messageId'], 'reasoning').content ??= ''
        return undefined
      case 'REASONING_MESSAGE_CONTENT':
        this.#append(event['messageId'], event['delta'])
        return undefined
      case 'TOOL_CALL_START': {
        if (this.#call(event['toolCallId']) !== undefined) return undefined
        const owner = this.#message(event['parentMessageId'] ?? event['toolCallId'], 'assistant')
        owner.toolCalls = [...owner.toolCalls ?? [], {
          id: event['toolCallId'], type: 'function', function: { name: event['toolCallName'], arguments: '' },
        }]
        return undefined
      }
      case 'TOOL_CALL_ARGS': {
        const call = this.#call(event['toolCallId'])
        if (call !== undefined) call.function.arguments += event['delta']
        return undefined
      }
      case 'TOOL_CALL_RESULT':
        Object.assign(this.#message(event['messageId'], 'tool'), { content: event['content'], toolCallId: event['toolCallId'] })
        return undefined
      case 'MESSAGES_SNAPSHOT':
        this.#merge(event['messages'])
        return undefined
      case 'ACTIVITY_SNAPSHOT':
        Object.assign(this.#message(event['messageId'], 'activity'), { activityType: event['activityType'], content: event['content'] })
        return undefined
      case 'STATE_SNAPSHOT':
        this.state = event['snapshot']
        return undefined
      case 'CUSTOM':
        if (event['name'] === 'dsh:tool:view') this.#card(event['value'])
        return undefined
      case 'RUN_FINISHED':
        this.interrupts = event['outcome']?.interrupts ?? []
        return undefined
      case 'RUN_ERROR':
        return { message: event['message'], ...event['code'] === undefined ? {} : { code: event['code'] } }
      default:
        // Ends of messages change nothing here; what else there is shows in the inspector.
        return undefined
    }
  }

  /**
   * @param {string} id
   * @param {string} role
   * @returns {Message}
   */
  #message(id, role) {
    const known = this.messages.find(message => message.id === id)
    if (known !== undefined) return known
    const message = { id, role }
    this.messages.push(message)
    return message
  }

  /**
   * @param {string} id
   * @param {string} delta
   */
  #append(id, delta) {
    const message = this.messages.findLast(one => one.id === id)
    if (message !== undefined) message.content = (message.content ?? '') + delta
  }

  /** @param {string} id */
  #call(id) {
    return this.messages.flatMap(message => message.toolCalls ?? []).findLast(call => call.id === id)
  }

  /** @param {any} view The value of a `dsh:tool:view` event, version 1. */
  #card(view) {
    if (view?.version !== 1) return
    this.cards.set(view.callId, { ...this.cards.get(view.callId), [view.phase]: view.card })
  }

  /**
   * Takes the server's history for what it is, and keeps what the server may not know: messages that are on their
   * way, and reasoning and activities unless the snapshot has some of its own.
   *
   * @param {Message[]} snapshot
   */
  #merge(snapshot) {
    const ids = new Set(snapshot.map(message => message.id))
    const kept = ['reasoning', 'activity'].filter(role => !snapshot.some(message => message.role === role))
    const ours = new Set([...this.unsent, ...this.accepted])
    const local = this.messages.filter(message => ids.has(message.id) || kept.includes(message.role) || ours.has(message))
    const byId = new Map(snapshot.map(message => [message.id, message]))
    this.messages = local.map(message => {
      const newer = byId.get(message.id)
      byId.delete(message.id)
      return newer ?? message
    })
    this.messages.push(...byId.values())
  }
}
