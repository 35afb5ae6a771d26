// A file of tests that share a server, which is reset before each test.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { start, useTriplane } from '@triplane/test'

const server = useTriplane()
const maps = '/api/v1/namespaces/default/configmaps'
const settings = { metadata: { name: 'settings' }, data: { color: 'blue' } }

test('an object is created', async () => {
  await server.request('POST', maps, settings)
  assert.equal((await server.request('GET', `${maps}/settings`)).data.color, 'blue')
})

test('the next test begins without it', async () => {
  await assert.rejects(server.request('GET', `${maps}/settings`), { status: 404 })
  await server.request('POST', maps, settings)
})

test('a checkpoint has the objects of its time', async () => {
  await server.request('POST', maps, settings)
  const { id } = await server.checkpoint()
  await server.request('DELETE', `${maps}/settings`)
  await server.reset(id)
  assert.equal((await server.request('GET', `${maps}/settings`)).data.color, 'blue')
})

test('start and reset are fast', async () => {
  const begun = performance.now()
  const other = await start()
  const started = performance.now() - begun
  const times = []
  for (let i = 0; i < 20; i++) {
    await other.request('POST', maps, settings)
    const before = performance.now()
    await other.reset()
    times.push(performance.now() - before)
  }
  await other.stop()
  const reset = times.sort((a, b) => a - b)[times.length / 2]
  console.log(`measured: start ${started.toFixed(0)} ms, reset ${reset.toFixed(1)} ms`)
  assert.ok(started < 10_000 && reset < 500, `start ${started} ms, reset ${reset} ms`)
})

test('a program that does not start is an error', async () => {
  await assert.rejects(start({ args: ['--no-such-flag'] }), /no-such-flag/)
  await assert.rejects(start({ binary: '/no/such/program' }), /ENOENT/)
})
