#!/usr/bin/env python3
"""Checks docs/report.schema.json, and the documents that the tests leave in target/tmp/json-documents.

Uses Python's jsonschema, which pip installs into target/jsonschema. A key that the schema does not have is a fault.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = HERE / "target/jsonschema"
DOCUMENTS = HERE / "target/tmp/json-documents"
KINDS = {"doctor", "inspect", "explain", "targets", "report"}


def strict(schema):
    """Returns the schema without the permission of further keys."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("required"), list):
        closed["additionalProperties"] = False
    return closed


def main() -> None:
    if not PACKAGES.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]
        if subprocess.run([*pip, "--target", str(PACKAGES), "jsonschema==4.*"]).returncode:
            sys.exit("pip cannot install jsonschema; the schema was not checked")
    sys.path.insert(0, str(PACKAGES))
    from jsonschema import Draft202012Validator

    schema = json.loads((HERE / "docs/report.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    validators = Draft202012Validator(schema), Draft202012Validator(strict(schema))
    documents = {file.stem: json.loads(file.read_text()) for file in DOCUMENTS.glob("*.json")}
    if documents.keys() != KINDS:
        sys.exit(f"the tests left documents of these kinds: {sorted(documents)}; run them first")
    for kind, document in documents.items():
        for validator in validators:
            validator.validate(document)
        unknown = document | {"unknown_key": 1}
        accepted = [validator.is_valid(unknown) for validator in validators]
        missing = {key: value for key, value in document.items() if key != "findings"}
        if accepted != [True, False] or validators[0].is_valid(missing):
            sys.exit(f"the schema accepts a wrong document of the kind {kind}")
    print(f"{len(documents)} documents match the schema")


if __name__ == "__main__":
    main()
