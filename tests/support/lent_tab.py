"""The Web Worker that plays for a lent tab, driven from a page."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zerofleet.web

if TYPE_CHECKING:
    from playwright.sync_api import Page

STATIC = Path(zerofleet.web.__file__).parent / "assets" / "static"

ASK_PLAYER = """
async ({ player, core, requests }) => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const textOf = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const worker = new Worker(player, { type: "module" });
  const module = await WebAssembly.compile(await (await fetch(core)).arrayBuffer());
  const answers = [];
  const ask = (request, isLast) => new Promise((resolve, reject) => {
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.onmessage = ({ data }) => {
      if (data.type === "fault") reject(new Error(data.message));
      if (data.type === "games") data.episodes = data.episodes.map(textOf);
      delete data.portion;
      delete data.part;
      answers.push(data);
      if (isLast(data)) resolve();
    };
    worker.postMessage(request);
  });
  await ask({ type: "start", module, duty: { cpu: 100, gpu: 100 } }, () => true);
  for (const request of requests) {
    if (request.onnx) request.onnx = bytesOf(request.onnx);
    if (request.check) {
      const floats = (text) => new Float32Array(bytesOf(text).buffer);
      const { numRows, observations, policyLogits, outcomes } = request.check;
      const answers = { policyLogits: floats(policyLogits), outcomes: floats(outcomes) };
      request.check = { numRows, observations: bytesOf(observations), ...answers };
    }
    if (request.portion) {
      for (const name of ["seed", "worker", "version", "firstSequence"])
        request.portion[name] = BigInt(request.portion[name]);
    }
    if (request.part) request.part.seed = BigInt(request.part.seed);
    const ends = ({ type, isEnd }) => isEnd || !["games", "match"].includes(type);
    const isLast = (answer) => answer.type !== "watched" && ends(answer);
    await ask(request, isLast);
  }
  worker.terminate();
  return answers;
}
"""


def built(pattern: str) -> str:
    """The address of a built file whose name has a hash."""
    (path,) = STATIC.glob(pattern)
    return f"/static/{path.name}"


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def ask_player(
    page: "Page", requests: list[dict[str, Any]], core: str = "zerofleet-[!p]*.wasm"
) -> list[dict[str, Any]]:
    """What a new player answers to requests, one after another. Bytes go as base64; episodes come
    as bytes."""
    addresses = {"player": built("player-*.js"), "core": built(core)}
    answers: list[dict[str, Any]] = page.evaluate(ASK_PLAYER, {**addresses, "requests": requests})
    for answer in answers:
        if "episodes" in answer:
            answer["episodes"] = [base64.b64decode(each) for each in answer["episodes"]]
    return answers


def episodes_of(answers: list[dict[str, Any]]) -> list[bytes]:
    return [episode for answer in answers for episode in answer.get("episodes", [])]
