"""Label Studio: tasks and labelling configuration, and its exports read back.

Every field of ours stands under ``data`` and so comes back with the annotations; tasks carry no predictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchfill.review.vocabulary import REASONS, VERDICTS

__all__ = ["is_label_studio", "label_studio_config", "label_studio_decisions", "label_studio_tasks"]

TASK_FIELDS = ("blind_id", "item_hash", "question", "key")
CONFIG = """\
<View>
  <Text name="question" value="$question"/>
  <Header value="Your own answer, before you open the key"/>
  <TextArea name="answer" toName="question" rows="1" maxSubmissions="1" editable="true"/>
  <Collapse>
    <Panel value="Key">
      <Text name="key" value="$key"/>
    </Panel>
  </Collapse>
  <Header value="Verdict"/>
  <Choices name="verdict" toName="question" choice="single-radio" showInline="true" required="true">
{verdicts}
  </Choices>
  <Header value="Reasons, when you do not approve"/>
  <Choices name="reasons" toName="question" choice="multiple" showInline="true">
{reasons}
  </Choices>
  <TextArea name="comment" toName="question" rows="2" maxSubmissions="1" editable="true" placeholder="Comment"/>
</View>
"""


def label_studio_config() -> str:
    """The labelling configuration (XML): the key is folded away until it is opened, verdicts have hot keys."""
    return CONFIG.format(
        verdicts="\n".join(f'    <Choice value="{verdict}" hotkey="{verdict[0]}"/>' for verdict in VERDICTS),
        reasons="\n".join(f'    <Choice value="{reason}"/>' for reason in REASONS),
    )


def label_studio_tasks(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tasks to import, from the rows of a form."""
    return [{"data": {name: row[name] for name in TASK_FIELDS}} for row in rows]


def is_label_studio(record: Mapping[str, Any]) -> bool:
    """Whether a JSON record is a task of a Label Studio export: JSON, or JSON_MIN with its own bookkeeping."""
    return isinstance(record.get("data"), Mapping) or ("annotation_id" in record and "blind_id" in record)


def label_studio_decisions(record: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Rows of our form from one task: one an annotation. A skipped one is a row without a verdict."""
    data = record.get("data")
    if not isinstance(data, Mapping):
        yield _row(record, record, record.get("lead_time"))
        return
    annotations = record.get("annotations")
    if not isinstance(annotations, list) or not annotations:
        yield _row(data, {}, None)
        return
    for annotation in annotations:
        if not isinstance(annotation, Mapping):
            continue
        results = annotation.get("result")
        given: dict[str, Any] = {}
        for result in results if isinstance(results, list) else []:
            if isinstance(result, Mapping) and not annotation.get("was_cancelled"):
                given[str(result.get("from_name"))] = result.get("value")
        yield _row(data, given, annotation.get("lead_time"))


def _row(data: Mapping[str, Any], given: Mapping[str, Any], seconds: Any) -> dict[str, Any]:
    verdicts = _values(given.get("verdict"))
    return {
        "blind_id": data.get("blind_id"),
        "item_hash": data.get("item_hash"),
        # Several verdicts are none; the caller reports them as they are.
        "verdict": verdicts[0] if len(verdicts) == 1 else " and ".join(verdicts),
        "answer": "\n".join(_values(given.get("answer"))),
        "reasons": _values(given.get("reasons")),
        "comment": "\n".join(_values(given.get("comment"))),
        "seconds": seconds,
    }


def _values(value: Any) -> list[str]:
    """The texts of a result, however the export wraps them."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in ("choices", "text") if name in value), None)
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
