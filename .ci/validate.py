"""Reads a file that cargo-lmem wrote as its consumer would: `validate.py KIND FILE [MORE…]`. Exit code 1 with a reason if it cannot."""

import json
import re
import sys
from pathlib import Path


def sarif(path, schema):
    """Against the schema of OASIS, as the crate `serde-sarif` carries it."""
    import jsonschema

    definition = json.loads(Path(schema).read_text())
    # Two patterns of the schema are no regular expressions to Python; we set no language.
    for part in ("run", "toolComponent"):
        definition["definitions"][part]["properties"]["language"].pop("pattern")
    document = json.loads(Path(path).read_text())
    jsonschema.Draft7Validator.check_schema(definition)
    jsonschema.Draft7Validator(definition).validate(document)
    # A validator that takes anything would take this too.
    broken = json.loads(json.dumps(document))
    broken["runs"][0]["results"][0]["level"] = "loud"
    assert list(jsonschema.Draft7Validator(definition).iter_errors(broken)), "the schema refuses nothing"
    names = [result["partialFingerprints"]["primaryLocationLineHash"] for result in document["runs"][0]["results"]]
    assert len(names) == len(set(names)), "two results of one name"


def gitlab(path):
    """GitLab's documentation, "Code Quality report format". GitLab drops a report that begins with a byte order mark, and all that follows an
    issue without one of the four properties that its own schema requires."""
    text = Path(path).read_bytes()
    assert not text.startswith(b"\xef\xbb\xbf")
    issues = json.loads(text)
    for issue in issues:
        assert all(isinstance(issue[name], str) for name in ("description", "check_name", "fingerprint", "severity"))
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}, issue["severity"]
        assert not Path(issue["location"]["path"]).is_absolute() and issue["location"]["lines"]["begin"] >= 1
    names = [issue["fingerprint"] for issue in issues]
    assert len(names) == len(set(names)), "two issues of one name"


def junit(path, schema):
    """Against the schema of Jenkins' xUnit plugin, and by a reader."""
    import junitparser
    import xmlschema

    definition = xmlschema.XMLSchema(schema)
    definition.validate(path)
    # A validator that takes anything would take this too.
    assert not definition.is_valid(Path(path).read_text().replace("<failure ", "<misfortune ", 1).replace("</failure>", "</misfortune>", 1))
    suites = junitparser.JUnitXml.fromfile(path)
    failed = [case for suite in suites for case in suite if any(isinstance(it, junitparser.Failure) for it in case.result)]
    assert failed and suites.failures == len(failed), f"{suites.failures} failures, {len(failed)} cases"


# The messages of reviewdog's `proto/rdf/reviewdog.proto`, as its documentation gives them: fields and their kinds.
RDFORMAT = {
    "DiagnosticResult": {"diagnostics": ["Diagnostic"], "source": "Source", "severity": "Severity"},
    "Diagnostic": {
        "message": str,
        "location": "Location",
        "severity": "Severity",
        "source": "Source",
        "code": "Code",
        "suggestions": ["Suggestion"],
        "original_output": str,
    },
    "Location": {"path": str, "range": "Range"},
    "Range": {"start": "Position", "end": "Position"},
    "Position": {"line": int, "column": int},
    "Source": {"name": str, "url": str},
    "Code": {"value": str, "url": str},
    "Suggestion": {"range": "Range", "text": str},
}


def rdformat(value, kind, at):
    if isinstance(kind, list):
        assert isinstance(value, list), at
        for index, item in enumerate(value):
            rdformat(item, kind[0], f"{at}[{index}]")
    elif kind == "Severity":
        assert value in {"ERROR", "WARNING", "INFO"}, f"{at}: {value}"
    elif isinstance(kind, str):
        assert isinstance(value, dict) and set(value) <= set(RDFORMAT[kind]), f"{at}: {value}"
        for name, part in value.items():
            rdformat(part, RDFORMAT[kind][name], f"{at}.{name}")
    else:
        assert isinstance(value, kind), f"{at}: {value}"


def rdjson(path):
    """Every place lies in its file: columns count bytes, and ends are exclusive."""
    document = json.loads(Path(path).read_text())
    rdformat(document, "DiagnosticResult", "document")
    assert document["diagnostics"], "nothing is said"
    for diagnostic in document["diagnostics"]:
        place = diagnostic["location"]
        lines = (Path(path).parent / place["path"]).read_bytes().split(b"\n")
        for part in [place["range"], *(suggestion["range"] for suggestion in diagnostic.get("suggestions", []))]:
            start, end = part["start"], part["end"]
            assert (start["line"], start["column"]) <= (end["line"], end["column"]), part
            for position in (start, end):
                assert 1 <= position["column"] <= len(lines[position["line"] - 1]) + 1, position


def github(path):
    """Workflow commands, as the runner's `ActionCommand` splits them."""
    for line in Path(path).read_text().splitlines():
        command = re.fullmatch(r"::(error|warning|notice) ?([^:]*(?:::)??)::(.*)", line)
        assert command, line
        properties = dict(part.split("=", 1) for part in command[2].split(",") if part)
        assert set(properties) <= {"file", "line", "endLine", "col", "endColumn", "title"}, properties
        if "file" in properties:
            source = Path(path).parent / properties["file"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
            assert 1 <= int(properties["line"]) <= len(source.read_text().splitlines()), line


def matcher(path, output):
    """The problem matcher of Visual Studio Code against the lines of `--message-format short`."""
    tasks = json.loads(Path(path).read_text())["tasks"]
    pattern = tasks[0]["problemMatcher"]["pattern"]
    lines = Path(output).read_text().splitlines()
    assert lines, "nothing to match"
    for line in lines:
        found = re.search(pattern["regexp"], line)
        assert found, line
        assert (Path(output).parent / found[pattern["file"]]).is_file() and int(found[pattern["line"]]) >= 1
        assert found[pattern["severity"]] in {"error", "warning"} and re.fullmatch("[a-z_]+", found[pattern["code"]])


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    {"sarif": sarif, "gitlab": gitlab, "junit": junit, "rdjson": rdjson, "github": github, "matcher": matcher}[kind](*arguments)
