// Invitations, from the mail to the membership, at the organization's own host (*.localhost is the loopback).

import { access, api, base, consign, equal, mail, page, person, picture, settle, settled, test, visitor } from "./kit.mjs";

const password = "violet-anchor-92-meadow";

/** Creates an organization whose administrator is `boss`. With `label` it gets the host LABEL.localhost. */
export async function organization(boss, name, label = "") {
  const created = await api("POST", "/id/v3/organizations", { token: await access(boss), json: { name } });
  settle(boss, created);
  if (!label) return { uid: created.body.uid, at: base };
  consign("org", "host", created.body.uid, `${label}.localhost`);
  return { uid: created.body.uid, at: base.replace("localhost", `${label}.localhost`) };
}

/** Invites an address. Returns the link in the mail. */
async function invite(boss, { uid }, address) {
  await api("POST", `/id/v3/organizations/${uid}/invitations`,
    { token: await access(boss), json: { address, roles: ["Service.Transfer.Use"] } });
  return (await mail(address, "/invitation/")).link;
}

async function open(context, url) {
  const p = await context.newPage();
  await p.goto(url);
  await settled(p);
  return p;
}

async function signIn(p, key) {
  await p.fill("[name=password]", key);
  await p.getByRole("button", { name: "Sign in", exact: true }).click();
}

export async function invitationTests() {
  await test("an invited person signs up and joins at the organization's own host", async () => {
    const boss = await person("Ida");
    const bridge = await organization(boss, "Bridge Works", "bridge");
    const link = await invite(boss, bridge, "newt@example.com");
    if (!link.startsWith(`${bridge.at}/invitation/`)) throw new Error(`the invitation is at ${link}`);
    const context = await visitor({ also: bridge.at });
    const p = await open(context, link);
    await p.getByRole("heading", { name: "Bridge Works invites you" }).waitFor();
    await p.getByText("Ida invited you to join Bridge Works.").waitFor();
    await picture(p, "invitation",
      "The link of an invitation shows who invites, at the organization's own host; the address is filled in.");
    equal(await p.inputValue("[name=address]"), "newt@example.com", "the address that is filled in");
    await p.fill("[name=password]", password);
    await p.getByRole("button", { name: "Create an account" }).click();
    await p.getByText("We’ve sent an email to newt@example.com").waitFor();
    await p.reload(); // the invitation is not lost
    await p.getByText("We’ve sent an email to newt@example.com").waitFor();
    const confirmation = (await mail("newt@example.com", "/confirm/")).link;
    if (!confirmation.startsWith(`${bridge.at}/confirm/`)) throw new Error(`the confirmation is at ${confirmation}`);
    const q = await open(context, confirmation); // another tab, which has the same session
    await q.getByRole("button", { name: "Confirm the address" }).click();
    await q.getByRole("button", { name: "Accept the invitation" }).waitFor();
    await p.getByRole("button", { name: "Accept the invitation" }).click(); // the first tab goes on by itself
    await p.getByText("You are a member of Bridge Works").waitFor();
    await picture(p, "joined", "After the confirmation one click joins the organization.");
    await p.getByRole("link", { name: "Continue" }).click();
    await p.waitForURL(`${bridge.at}/inbox`);
    const used = await open(context, link);
    await used.getByText("This invitation is unknown, was already used, or has expired.").waitFor();
  });

  await test("an invited person with an account at another host joins", async () => {
    const boss = await person("Ingo"), guest = await person("Gil");
    const harbour = await organization(boss, "Harbour Works", "harbour");
    const link = await invite(boss, harbour, guest.email);
    const p = await open(await visitor({ also: harbour.at }), link);
    equal(await p.inputValue("[name=email]"), guest.email, "the address that is filled in");
    await signIn(p, guest.password);
    await p.getByRole("button", { name: "Accept the invitation" }).click();
    await p.getByText("You are a member of Harbour Works").waitFor();
    // The sign-in page of PUBLIC_URL now goes on to the organization's host, with address and page.
    const q = await page(await visitor({ also: harbour.at }), "/login?next=%2Faccount");
    await q.fill("[name=email]", guest.email);
    await signIn(q, guest.password);
    await q.waitForURL(`${harbour.at}/login?next=%2Faccount**`);
    await settled(q);
    equal(await q.inputValue("[name=email]"), guest.email, "the address at the other host");
    await picture(q, "other-host", "Who signs in at the wrong host goes on at the right one, with the address filled in.");
    await signIn(q, guest.password);
    await q.waitForURL(`${harbour.at}/account`);
  });

  await test("a member of the free organization leaves it and joins another", async () => {
    const boss = await person("Irma"), member = await person("Finn");
    consign("org", "member", "free", member.email);
    const quay = await organization(boss, "Quay Works");
    await invite(boss, quay, member.email);
    const p = await page(await visitor(), "/login");
    await p.fill("[name=email]", member.email);
    await signIn(p, member.password);
    await p.waitForURL("**/inbox");
    await p.getByRole("heading", { name: "Invitations for you" }).waitFor();
    await p.goto(`${base}/account`);
    await p.getByRole("heading", { name: "Invitations for you" }).waitFor();
    await p.getByRole("link", { name: "View the invitation" }).click();
    await p.getByText("With one click you leave it and join Quay Works").waitFor();
    await picture(p, "leave-and-join", "A member of the free organization leaves it and joins another in one step.");
    await p.getByRole("button", { name: /^Leave .* and join Quay Works$/ }).click();
    await p.getByText("You are a member of Quay Works").waitFor();
    await p.goto(`${base}/account`);
    await p.getByText("You are a member of Quay Works").waitFor();
    equal(await p.getByRole("heading", { name: "Invitations for you" }).count(), 0, "invitations that are left");
    await p.getByRole("button", { name: "Leave the organization" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Leave the organization" }).click();
    await p.getByRole("link", { name: "Create an organization" }).waitFor();
  });
}
