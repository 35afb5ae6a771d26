// A Kubernetes API server for tests. start() runs "triplane test"; useTriplane() does so for a file of node:test.

import { spawn } from 'node:child_process'
import { request, Agent } from 'node:https'
import { createInterface } from 'node:readline'
import { after, before, beforeEach } from 'node:test'

/** START_TIMEOUT bounds the start of a server in milliseconds. */
const START_TIMEOUT = 30_000

/**
 * start starts a server and resolves when it is ready.
 *
 * @param {object} [options]
 * @param {string} [options.binary] the program; by default $TRIPLANE_BINARY, or triplane in the PATH
 * @param {string[]} [options.args] flags of "triplane test"
 * @returns {Promise<Triplane>}
 */
export async function start ({ binary = process.env.TRIPLANE_BINARY || 'triplane', args = [] } = {}) {
  const child = spawn(binary, ['test', ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', text => { log = (log + text).slice(-10_000) })
  child.stdin.on('error', () => {}) // the process has ended
  const ready = await new Promise((resolve, reject) => {
    const fail = why => reject(new Error(`${binary} test: ${why}\n${log}`))
    const timer = setTimeout(() => { child.kill('SIGKILL'); fail('not ready in time') }, START_TIMEOUT)
    child.once('error', error => { clearTimeout(timer); fail(error.message) })
    child.once('close', code => { clearTimeout(timer); fail(`ended with ${code}`) })
    createInterface({ input: child.stdout }).once('line', line => {
      clearTimeout(timer)
      try { resolve(JSON.parse(line)) } catch { fail(`unexpected output ${line}`) }
    })
  })
  // The server ends with this process, which does not wait for it.
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref()
  return new Triplane(child, ready)
}

/** Triplane is a running server. */
export class Triplane {
  #child
  #agent

  constructor (child, ready) {
    this.#child = child
    this.#agent = new Agent({ ca: ready.ca, keepAlive: true })
    /** url, token and ca are the server's address, the administrator's bearer token and the server's CA in PEM. */
    this.url = ready.url
    this.token = ready.token
    this.ca = ready.ca
    /** kubeconfig is the administrator's kubeconfig as text, kubeconfigFile as a file. */
    this.kubeconfig = ready.kubeconfig
    this.kubeconfigFile = ready.kubeconfigFile
    /** version is the release, ms how long the start took. */
    this.version = ready.version
    this.ms = ready.ms
  }

  /** reset restores the objects of the start, or of a checkpoint. */
  async reset (checkpoint = 'start') {
    return await this.request('POST', `/testing/checkpoints/${encodeURIComponent(checkpoint)}/reset`)
  }

  /** checkpoint saves all objects, and resolves to { id, objects, bytes }. */
  async checkpoint (id = '') {
    return await this.request('POST', `/testing/checkpoints?id=${encodeURIComponent(id)}`)
  }

  /**
   * request sends a request as the administrator and resolves to the decoded JSON of the response. An error has the
   * properties status and body.
   */
  request (method, path, body, contentType = 'application/json') {
    const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { authorization: `Bearer ${this.token}`, accept: 'application/json' }
    if (payload !== undefined) {
      headers['content-type'] = contentType
      headers['content-length'] = Buffer.byteLength(payload)
    }
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.url), { method, headers, agent: this.#agent }, response => {
        const chunks = []
        response.on('data', chunk => chunks.push(chunk)).on('error', reject).on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const json = (response.headers['content-type'] ?? '').startsWith('application/json')
          const decoded = json ? JSON.parse(text) : text
          if (response.statusCode < 300) return resolve(decoded)
          const message = json ? decoded.message : text.trim()
          const error = new Error(`${method} ${path}: ${response.statusCode} ${message}`)
          reject(Object.assign(error, { status: response.statusCode, body: decoded }))
        })
      })
      sent.on('error', reject).end(payload)
    })
  }

  /** stop ends the server and waits for its end. */
  async stop () {
    this.#agent.destroy()
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.ref()
    const ended = new Promise(resolve => this.#child.once('exit', resolve))
    this.#child.stdin.end()
    await ended
  }
}

/**
 * useTriplane starts a server before the tests of a file or of a suite, resets it before each of them, and stops it
 * after all. The returned object has the server's properties and methods once a test runs.
 */
export function useTriplane (options) {
  let server
  before(async () => { server = await start(options) })
  beforeEach(() => server.reset())
  after(() => server?.stop())
  return new Proxy({}, {
    get (_, name) {
      const value = server?.[name]
      return typeof value === 'function' ? value.bind(server) : value
    }
  })
}
