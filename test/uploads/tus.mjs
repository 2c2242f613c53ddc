// tus-js-client against the server, through a network that is cut: a file that a later upload goes on with, one of unknown size, one
// whose bytes begin with the creation, and one that is ended. With the mode parallel: a file in three partial uploads. Called by
// test/uploads.sh.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { DefaultHttpStack, FileUrlStorage, Upload } from 'tus-js-client'
import { args, call, patient, signIn, sum, transfer } from './site.mjs'

const [file, state, mode] = args
const size = statSync(file).size

const { uid, bearer } = await call('POST', `${transfer}/public/mailbox/demo`, null, { anonSender: 'Sam', anonEmail: 'sam@example.com' })
const requests = []

// send uploads a source to its end, or until so many bytes are sent.
function send(source, options, { until = Infinity, resume = false } = {}) {
  return new Promise((resolve, reject) => {
    const upload = new Upload(source, {
      endpoint: `${transfer}/reservations/${uid}/tus`,
      headers: { Authorization: `Bearer ${bearer}` },
      retryDelays: [50, 200, 500, 1000, 1000, 1000],
      httpStack: new DefaultHttpStack(),
      urlStorage: new FileUrlStorage(state),
      onAfterResponse: (request, answer) => { requests.push(`${request.getMethod()} ${answer.getStatus()}`) },
      onProgress: (sent) => { if (sent >= until) upload.abort().then(() => resolve(upload), reject) },
      onSuccess: () => resolve(upload),
      onError: reject,
      ...options,
    })
    if (!resume) { upload.start(); return }
    upload.findPreviousUploads().then((earlier) => {
      assert.ok(earlier.length > 0, 'the earlier upload is stored')
      upload.resumeFromPreviousUpload(earlier[0])
      upload.start()
    }, reject)
  })
}

// oneByOne sends files in one stream each. It returns their names with their sums.
async function oneByOne() {
  const metadata = { filename: 'large.bin', filetype: 'application/octet-stream', relativePath: 'folder/large.bin' }
  const first = await send(createReadStream(file), { metadata }, { until: size * 0.4 })
  const second = await send(createReadStream(file), { metadata }, { resume: true })
  assert.equal(second.url, first.url)
  console.log('aborted at 40 % and gone on with')

  const half = size >> 1
  const small = () => new PassThrough().end(readFileSync(file).subarray(0, 2_000_000))
  await send(small(), { metadata: { filename: 'deferred.bin' }, uploadLengthDeferred: true, chunkSize: 700_000,
    storeFingerprintForResuming: false })
  console.log('length told at the end')
  await send(readFileSync(file).subarray(half, half + 1_000_000),
    { metadata: { filename: 'creation.bin' }, uploadDataDuringCreation: true, storeFingerprintForResuming: false })
  console.log('bytes with the creation')
  const ended = await send(readFileSync(file).subarray(0, 3_000_000),
    { metadata: { filename: 'ended.bin' }, chunkSize: 500_000, storeFingerprintForResuming: false }, { until: 500_000 })
  await ended.abort(true)
  const gone = await patient(ended.url, { method: 'HEAD', headers: { Authorization: `Bearer ${bearer}`, 'Tus-Resumable': '1.0.0' } })
  assert.equal(gone.status, 404)
  console.log('ended by the client')
  return {
    'folder/large.bin': await sum(createReadStream(file)),
    'deferred.bin': await sum(small()),
    'creation.bin': createHash('sha256').update(readFileSync(file).subarray(half, half + 1_000_000)).digest('hex'),
  }
}

// parallel sends a file in three partial uploads at once, which the server makes one file of.
async function parallel() {
  const options = { metadata: { filename: 'parallel.bin' }, parallelUploads: 3 }
  await send(createReadStream(file), options, { until: size * 0.4 })
  const { url } = await send(createReadStream(file), options, { resume: true })
  console.log('aborted at 40 % and gone on with')
  const again = await send(createReadStream(file), options, { resume: true })
  assert.equal(again.url, url, 'a client that got no answer makes no second file')
  const headers = { Authorization: `Bearer ${bearer}`, 'Tus-Resumable': '1.0.0' }
  let told
  for (let tries = 0; tries < 100 && !told?.get('Upload-Offset'); tries++) {
    if (told) await new Promise((done) => { setTimeout(done, 100) })
    told = (await patient(url, { method: 'HEAD', headers })).headers
  }
  assert.equal(told.get('Upload-Offset'), String(size))
  assert.equal(told.get('Upload-Concat').replace('final;', '').split(' ').length, 3)
  console.log('made one file of three uploads')
  return { 'parallel.bin': await sum(createReadStream(file)) }
}

const want = mode === 'parallel' ? await parallel() : await oneByOne()
const { uid: delivered } = await call('POST', `${transfer}/reservations/${uid}/confirm`, bearer)
const token = await signIn()
const { objects } = await call('GET', `${transfer}/transfers/${delivered}`, token)
assert.deepEqual(objects.map((o) => o.name).sort(), Object.keys(want).sort())
for (const o of objects) {
  const answer = await patient(`${transfer}/transfers/${delivered}/objects/${o.uid}/content`,
    { headers: { Authorization: `Bearer ${token}` } })
  assert.equal(await sum(answer.body), want[o.name], `${o.name} differs`)
}
const counted = {}
for (const r of requests) counted[r] = (counted[r] ?? 0) + 1
console.log('delivered as sent;', JSON.stringify(counted))
