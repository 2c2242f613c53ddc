// Sends a file to the mailbox demo with openapi-fetch and the types that openapi-typescript makes, and prints the uid of the transfer.
import createClient from 'openapi-fetch'
import type { paths } from './types/transfer-v2'

const content = 'sent by a client of openapi-typescript'
const api = createClient<paths>({ baseUrl: `${process.argv[2]}/transfer/v2` })
const sender = { anonSender: 'Tess', anonEmail: 'tess@example.com' }
const made = await api.POST('/public/mailbox/{key}', { params: { path: { key: 'demo' } }, body: sender })
if (!made.data) throw new Error(JSON.stringify(made.error))
const { uid } = made.data
const headers = { Authorization: made.response.headers.get('Authorization') }
const added = await api.POST('/reservations/{uid}/objects', {
  params: { path: { uid } }, headers, body: { clientId: '1', name: 'typescript.txt', intendedSize: content.length },
})
if (!added.data) throw new Error(JSON.stringify(added.error))
const put = await api.PUT('/reservations/{uid}/objects/{clientId}/content', {
  params: { path: { uid, clientId: '1' } }, headers: { ...headers, 'Content-Type': 'application/octet-stream' },
  body: content, bodySerializer: body => body,
})
if (!put.data) throw new Error(JSON.stringify(put.error))
const sent = await api.POST('/reservations/{uid}/confirm', { params: { path: { uid } }, headers })
if (!sent.data) throw new Error(JSON.stringify(sent.error))
console.log(sent.data.uid)
