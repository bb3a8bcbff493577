"""Write AgentDojo's tasks as traces that `bouncer replay` reads. No model takes part.

A harmless trace is a user task's ground truth, run in its environment: each call, then what
it returned. An attacked trace is the same in an environment with the injected text where the
suite puts it, followed by the calls of the injection task's ground truth.

    python traces.py OUT [--attack NAME] [--form json|yaml]

Beside the traces stands OUT/index.json: for each trace its suite, task, injection, and the
line from which on the calls are the attack's.
"""

import argparse
import datetime
import importlib.abc
import importlib.machinery
import json
import pathlib
import sys
import types
import warnings

warnings.filterwarnings("ignore")

VERSION = "v1.2.2"
SUITES = ("workspace", "banking", "slack", "travel")
# No ground truth looks at a model; the packages that talk to one need not be installed.
UNUSED = ("anthropic", "cohere", "google", "langchain", "openai", "requests", "torch", "transformers")


class _Anything(type):
    """A class whose every attribute is such a class."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})

    def __or__(cls, other):
        return object

    __ror__ = __or__

    def __getitem__(cls, item):
        return cls


class _Stub(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (Exception,), {}) if name.endswith("Error") else _Anything(name, (), {})


class _Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for the packages in UNUSED, installed or not, so that runs do not differ."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in UNUSED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Stub(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, _Stubs())

from agentdojo.agent_pipeline.ground_truth_pipeline import GroundTruthPipeline  # noqa: E402
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: E402
from agentdojo.attacks.attack_registry import ATTACKS  # noqa: E402
from agentdojo.attacks import baseline_attacks  # noqa: E402, F401
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402
import yaml  # noqa: E402
from pydantic import BaseModel  # noqa: E402


def stop_the_clock():
    """The tools stamp what they create with the time; two runs have to write the same."""

    class Still(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2024, 5, 15, 12, 0, 0, tzinfo=tz)

    yaml.SafeDumper.add_representer(Still, yaml.SafeDumper.represent_datetime)
    clock = types.ModuleType("datetime")
    clock.__dict__.update({name: getattr(datetime, name) for name in dir(datetime)})
    clock.datetime = Still
    for name, module in list(sys.modules.items()):
        if name.startswith("agentdojo.default_suites") and getattr(module, "datetime", None) is datetime:
            module.datetime = clock


def jsonable(value):
    """A tool's return value as JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return value


def as_result(value, error, form):
    """What an MCP server around the tool would answer.

    json: structured content, an object or wrapped into `{"result": …}`, and the same once
    more as one text block, as the protocol asks of servers. A string is one text block.
    yaml: one text block with the YAML that AgentDojo shows its models.
    """
    if error is not None:
        return {"error": {"code": -32000, "message": error}}
    if value is None:
        return {"content": "null" if form == "json" else "None"}
    if isinstance(value, str):
        return {"content": value}
    if form == "yaml":
        return {"content": tool_result_to_str(value)}
    value = jsonable(value)
    structured = value if isinstance(value, dict) else {"result": value}
    return {"content": json.dumps(value, ensure_ascii=False), "structured": structured}


def tool_schema(function):
    schema = function.parameters.model_json_schema()
    return {"name": function.name, "description": function.description, "inputSchema": schema}


class Writer:
    """Runs calls in an environment and writes them down."""

    def __init__(self, suite, environment, form):
        self.suite = suite
        self.environment = environment
        self.form = form
        self.runtime = FunctionsRuntime(suite.tools)
        tools = [tool_schema(function) for function in suite.tools]
        self.lines = [{"type": "tools", "server": suite.name, "tools": tools}]

    def call(self, call):
        """Runs a call, those in its arguments first. Returns its value."""
        arguments = {
            name: self.call(value) if isinstance(value, FunctionCall) else value for name, value in call.args.items()
        }
        arguments = json.loads(json.dumps(jsonable(arguments)))
        about = {"server": self.suite.name, "tool": call.function}
        self.lines.append({"type": "call", **about, "arguments": arguments})
        value, error = self.runtime.run_function(self.environment, call.function, dict(arguments))
        self.lines.append({"type": "result", **about, **as_result(value, error, self.form)})
        return value

    def says(self, prompt):
        """What the user types."""
        self.lines.append({"type": "user", "content": prompt})

    def run(self, task):
        for call in task.ground_truth(self.environment):
            self.call(call)

    def write(self, path):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines)
        path.write_text(text, encoding="utf-8")


def environment(suite, task, injections):
    return task.init_environment(suite.load_and_inject_default_environment(injections))


def has_calls(suite, task):
    return bool(task.ground_truth(suite.load_and_inject_default_environment({})))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--attack", default="direct", help="one of AgentDojo's attacks that needs no model's name")
    parser.add_argument("--form", choices=("json", "yaml"), default="json")
    options = parser.parse_args()
    stop_the_clock()
    # Every pair loads its environment anew; the C parser reads the same, faster.
    yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    index = {}
    for name, suite in sorted(get_suites(VERSION).items(), key=lambda item: SUITES.index(item[0])):
        out = options.out / name
        out.mkdir(parents=True, exist_ok=True)
        attack = ATTACKS[options.attack](suite, None)
        injections = {i: task for i, task in suite.injection_tasks.items() if has_calls(suite, task)}
        for task_id, task in suite.user_tasks.items():
            writer = Writer(suite, environment(suite, task, {}), options.form)
            writer.says(task.PROMPT)
            writer.run(task)
            path = out / f"{task_id}.jsonl"
            writer.write(path)
            index[str(path.relative_to(options.out))] = {"suite": name, "task": task_id}
            for injection_id, injection in injections.items():
                planted = attack.attack(task, injection)
                writer = Writer(suite, environment(suite, task, planted), options.form)
                writer.says(task.PROMPT)
                writer.run(task)
                before = len(writer.lines)
                writer.run(injection)
                path = out / f"{task_id}.{injection_id}.jsonl"
                writer.write(path)
                index[str(path.relative_to(options.out))] = {
                    "suite": name,
                    "task": task_id,
                    "injection": injection_id,
                    "attack_from": before + 1,
                }
    text = json.dumps(index, indent=1)
    (options.out / "index.json").write_text(text + "\n")
    harmless = sum("injection" not in entry for entry in index.values())
    print(f"{harmless} harmless traces, {len(index) - harmless} attacked ones", file=sys.stderr)


if __name__ == "__main__":
    main()
