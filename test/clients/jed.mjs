// Loads the bundle of every locale from a server into jed, as a browser would, and compares its translations with the PO
// form of the same bundle. Called by test/jed.sh with the server's URL.
import assert from 'node:assert/strict'
import Jed from 'jed'

const [url] = process.argv.slice(2)
const identity = `${url}/id/v3`
const { availableLocales } = await (await fetch(`${identity}/environment`)).json()
assert.equal(availableLocales.length, 8)

// unquote returns the joined quoted lines of a PO entry.
const unquote = (lines) => lines.map((l) => JSON.parse(l.slice(l.indexOf('"')))).join('')

// entries parses a PO file: [{ msgctxt, msgid, msgid_plural, msgstr: […] }].
function entries(po) {
  return po.split(/\n\s*\n/).flatMap((block) => {
    const lines = block.split('\n').filter((l) => l && !l.startsWith('#'))
    const entry = { msgstr: [] }
    for (let i = 0; i < lines.length;) {
      const [, name, index] = lines[i].match(/^(\w+)(?:\[(\d+)\])? "/)
      let end = i + 1
      while (end < lines.length && lines[end].startsWith('"')) end++
      const text = unquote(lines.slice(i, end))
      if (name === 'msgstr') entry.msgstr[Number(index ?? 0)] = text
      else entry[name] = text
      i = end
    }
    return entry.msgid ? [entry] : []
  })
}

for (const locale of availableLocales) {
  const answer = await fetch(`${identity}/i18n/${locale}`, { headers: { Accept: 'application/json' } })
  assert.equal(answer.status, 200)
  const jed = new Jed(await answer.json())
  const po = await (await fetch(`${identity}/i18n/${locale}`, { headers: { Accept: 'text/x-gettext-translation' } })).text()
  const all = entries(po)
  assert.ok(all.length > 60, `${locale} has ${all.length} entries only`)
  for (const { msgctxt, msgid, msgid_plural, msgstr } of all) {
    if (!msgid_plural) {
      assert.equal(msgctxt ? jed.pgettext(msgctxt, msgid) : jed.gettext(msgid), msgstr[0], `${locale}: ${msgid}`)
      continue
    }
    const said = new Set()
    for (let n = 0; n <= 200; n++) said.add(jed.ngettext(msgid, msgid_plural, n))
    assert.deepEqual([...said].sort(), [...new Set(msgstr)].sort(), `${locale}: plural forms of ${msgid}`)
  }
  console.log(`${locale}: ${all.length} entries`)
}
