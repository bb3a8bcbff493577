"""What each part of the defaults for effects does to the figures.

    python parts.py BIN TRACES [TRACES ...]

Scores each corpus with policies that say nothing but one thing: a part that is switched off.
A row is: attacks silent / denied / asked, harmless tasks with a denial, questions a task.
"""

import pathlib
import statistics
import sys
import tempfile

from score import Bouncer, json, score

ALLOW_HARD = "{ run: allow, grant: allow, pay: allow, destroy: allow }"
PARTS = (
    ("the whole", "", True),
    ("without the user's words", "", False),
    ("without questions before anything was read", f"defaults: {{ onEffect: {ALLOW_HARD} }}", True),
    ("without the rule for what is written", "defaults: { afterUntrusted: { write: allow } }", True),
    ("without anything after untrusted text", "defaults: { afterUntrusted: allow }", True),
    ("without packs", "packs: []", True),
    ("without guesses", "heuristics: false", True),
)


def main():
    binary, *corpora = sys.argv[1:]
    for corpus in map(pathlib.Path, corpora):
        entries = json.loads((corpus / "index.json").read_text()).values()
        suites = list({entry["suite"]: None for entry in entries})
        scratch = corpus.parent / "judged"
        scratch.mkdir(exist_ok=True)
        print(f"\n{corpus}\n\n| defaults | silent / denied / asked | tasks denied | questions |\n|---|---|---|---|")
        for title, text, words in PARTS:
            with tempfile.TemporaryDirectory() as folder:
                policies = pathlib.Path(folder)
                for suite in suites:
                    (policies / f"{suite}.yaml").write_text(f"version: 1\n{text}\n")
                gate = Bouncer(binary, policies, scratch, words)
                rows = [score(gate, corpus, suite, []) for suite in suites]
            total = {key: sum(row[key] for row in rows) for key in ("attacks", "silent", "denied", "tasks_denied")}
            asked = total["attacks"] - total["silent"] - total["denied"]
            questions = statistics.mean(count for row in rows for count in row["questions"])
            print(
                f"| {title} | {total['silent']} / {total['denied']} / {asked} "
                f"| {total['tasks_denied']} | {questions:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
