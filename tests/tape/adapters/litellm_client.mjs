// OpenAI's own SDK: what litellm_clients.py says. The package is looked up where TAPE_LITELLM_NODE says.
import { createRequire } from "node:module";
import path from "node:path";

const OpenAI = createRequire(path.join(process.env.TAPE_LITELLM_NODE, "package.json"))("openai");
const [url, session, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, defaultHeaders: { "x-tape-session": session } });
const ask = (content, more) =>
  client.chat.completions.create({ model: "small", max_tokens: 50, messages: [{ role: "user", content }], ...more });

const plain = (await ask("hello tokens=5")).choices[0].message.content;
let streamed = "";
for await (const one of await ask("hello tokens=5", { stream: true })) streamed += one.choices[0].delta.content ?? "";
const parameters = { type: "object", properties: { query: { type: "string" } } };
const tools = [{ type: "function", function: { name: "search", parameters } }];
const called = (await ask("tool=1", { tools })).choices[0].message.tool_calls[0].function.name;
try {
  await ask("x".repeat(6000), { model: "big" });
} catch (error) {
  console.log(JSON.stringify([plain.length, streamed.length, called, [error.constructor.name, error.status]]));
}
