// Demo data for the pictures: an engineering office whose people receive and send files.

import { access, api, browser, person, settle } from "./kit.mjs";

const transfer = "/transfer/v2", identity = "/id/v3";

/** Draws a portrait from the colours of background, skin, hair and shirt. */
async function portrait([ground, skin, hair, shirt]) {
  const p = await browser.newPage();
  const url = await p.evaluate(([ground_, skin_, hair_, shirt_]) => {
    const c = Object.assign(document.createElement("canvas"), { width: 500, height: 500 }), d = c.getContext("2d");
    const disc = (x, y, rx, ry, colour) => { d.fillStyle = colour; d.beginPath(); d.ellipse(x, y, rx, ry, 0, 0, 7); d.fill(); };
    d.fillStyle = ground_;
    d.fillRect(0, 0, 500, 500);
    disc(250, 190, 120, 130, hair_);
    disc(250, 520, 190, 170, shirt_);
    d.fillStyle = skin_;
    d.fillRect(210, 280, 80, 90);
    disc(250, 225, 88, 108, skin_);
    disc(250, 130, 100, 48, hair_);
    return c.toDataURL("image/jpeg", 0.9);
  }, [ground, skin, hair, shirt]);
  await p.close();
  return Buffer.from(url.split(",")[1], "base64");
}

/** Delivers files to a mailbox anonymously, or from a person to others. @returns {Promise<any>} the transfer */
async function deliver(where, { token, reservation = {}, files, ...details }) {
  const opened = await api("POST", where, { token, json: reservation, expect: 201 });
  const at = `${transfer}/reservations/${opened.body.uid}`, pass = { token: opened.token };
  for (const [i, [name, size]] of files.entries()) {
    await api("POST", `${at}/objects`, { ...pass, json: { clientId: `f${i}`, name, intendedSize: size } });
    await api("PUT", `${at}/objects/f${i}/content`, { ...pass, bytes: Buffer.alloc(size, 0x20), type: "application/octet-stream" });
  }
  await api("PATCH", at, { ...pass, json: details });
  return (await api("POST", `${at}/confirm`, pass)).body;
}

const questions = {
  fieldsSchema: {
    type: "object", title: "About the delivery", required: ["kind"],
    properties: { kind: { type: "string", enum: ["Drawing", "Survey", "Invoice"] }, project: { type: "string" },
      due: { type: "string", format: "date" } },
  },
  uiSchema: {
    "ui:order": ["kind", "project", "due"],
    kind: { "ui:widget": "select", "ui:title": "What is it?",
      "ui:options": { enumOptions: ["Drawing", "Survey", "Invoice"].map((v) => ({ value: v, label: v })) } },
    project: { "ui:widget": "text", "ui:title": "Project", "ui:placeholder": "Harbour bridge",
      "ui:description": "As it stands on the order", "ui:options": {} },
    due: { "ui:widget": "date", "ui:title": "Needed by", "ui:options": {} },
  },
};

async function build() {
  const mara = await person("Mara Lindqvist", "mara@harbour.example");
  const colleagues = [];
  for (const [name, address] of [["Ben Okafor", "ben"], ["Chloé Martin", "chloe"], ["Dmitri Sokolov", "dmitri"]]) {
    colleagues.push(await person(name, `${address}@harbour.example`));
  }
  let token = await access(mara);
  const created = await api("POST", `${identity}/organizations`, { token, json: { name: "Harbour Engineers" } });
  settle(mara, created);
  const organization = new URL(created.location, "http://x").pathname;
  token = await access(mara);
  const { body: { profile } } = await api("GET", organization, { token });
  await api("PUT", `${organization}/profile`, { token, json: {
    ...profile, name: "Harbour Engineers", addressLine1: "Quay 7", postCode: "20457", city: "Hamburg", country: "Germany",
      phoneNumber: "+49 40 555 0170",
    legalNoticeUrl: "https://harbour.example/legal", privacyPolicyUrl: "https://harbour.example/privacy" } });

  const boxes = [["mara.lindqvist", "Drawings, surveys, and what the crane sees.", questions], ["ben", "Structural analysis", {}],
    ["chloe", "Invoices and orders", {}], ["dmitri", "Site supervision",
      { absent: true, absenceMessage: "I am on site until Monday, 30 November.\nIn a hurry? Ben takes files for me: ben@harbour.example" }]];
  const uids = [];
  for (const [i, who] of [mara, ...colleagues].entries()) {
    if (i > 0) {
      const invitation = await api("POST", `${organization}/invitations`,
        { token, json: { address: who.email, roles: ["Service.Transfer.Use", ...(i === 2 ? ["Contract.Read"] : [])] } });
      await settle(who, await api("POST", `${identity}/invitations/${invitation.body.key}/accept`, { token: await access(who) }));
    }
    const own = await access(who), [vanityLink, slogan, more] = boxes[i];
    uids.push((await api("PUT", `${transfer}/mailbox`, { token: own, json: { vanityLink, slogan, ...more } })).body.uid);
  }
  const faces = [["#bfe3dc", "#f2c9a8", "#8a4b23", "#1d5c63"], ["#f5d9a8", "#7a4a2b", "#1c1513", "#334e8c"],
    ["#dcd2f0", "#f3d0b8", "#3b2a24", "#7d3c6d"]];
  for (const [i, face] of faces.entries()) {
    await api("PUT", `${identity}/profile/avatar`,
      { token: await access([mara, ...colleagues][i]), bytes: await portrait(face), type: "image/jpeg" });
  }
  await api("POST", `${transfer}/mailboxgroups`, { token,
    json: { name: "Site office", description: "Everything about the harbour bridge.", vanityLink: "harbour", mailboxUids: uids } });
  await api("POST", `${organization}/invitations`, { token, json: { address: "ingrid@harbour.example", roles: ["Service.Transfer.Use"] } });
  return { mara, colleagues, organization, token };
}

async function correspondence({ mara, colleagues: [ben] }) {
  const token = await access(mara), box = `${transfer}/public/mailbox/mara.lindqvist`;
  const from = (anonSender, anonEmail, subject, message, files,
    fields) => deliver(box, { anonSender, anonEmail, subject, message, files, fields });
  await from("Wharf & Sons", "office@wharf.example", "Invoice 2026-118", "", [["Invoice 2026-118.pdf", 84_000]], { kind: "Invoice" });
  await from("Priya Nair", "priya@survey.example", "Soundings of the basin",
    "The eastern wall is done; the western one follows on Thursday.",
    [["Soundings east.laz", 2_400_000], ["Report.pdf", 310_000]], { kind: "Survey", project: "Harbour bridge" });
  await deliver(box, { token: await access(ben), anonSender: "Ben Okafor", anonEmail: ben.email, subject: "Load cases, second run",
    message: "", files: [["load-cases.xlsx", 96_000]], fields: { kind: "Drawing" } });
  await from("Sam Stranger", "sam@example.com", "Plans of the bridge",
    "As agreed on the phone: both sheets and the photographs.\nPlease tell me whether sheet 2 opens.",
    [["Bridge, sheet 1.pdf", 1_900_000], ["Bridge, sheet 2.pdf", 2_100_000], ["Photographs/crane.jpg", 640_000],
      ["Photographs/quay.jpg", 580_000]],
    { kind: "Drawing", project: "Harbour bridge", due: "2026-12-04" });
  const sent = (recipients, more) => deliver(`${transfer}/reservations`,
    { token, reservation: { recipients, ttl: 7, ...more }, files: [["Tender documents.zip", 1_200_000]], subject: "Tender documents",
      message: "Closing date is the 11th." });
  const to = (email) => ({ email, destinationType: "to" });
  const coded = await sent([to("lena@bidders.example")], { protection: "recipientAuthentication" });
  await sent([to("tom@bidders.example"), to("uma@bidders.example")], {});
  const locked = await sent([], { protection: "password", password: "opensesame-42" });
  return { coded, locked };
}

let built;
/** Creates the demo data once. Returns its people and links. */
export const world = () => (built ??= build().then(async (w) => ({ ...w, ...await correspondence(w) })));
