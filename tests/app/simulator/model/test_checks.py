"""The local model refuses what the real API refuses, and says why."""

import json

import pytest

from app.simulator.model.binding import BETA, bind, sign
from app.simulator.model.checks import check_headers, read_request
from app.simulator.model.refusal import ErrorAnswer

ASK = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
CALL = {
    "role": "assistant",
    "content": [
        {
            "type": "thinking",
            "thinking": "t",
            "signature": sign({"model": "m", "messages": [ASK]}, "t"),
        },
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"b": 1, "a": 2}},
    ],
}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def body(*messages, **more) -> bytes:
    request = {"model": "m", "max_tokens": 100, "messages": list(messages or [ASK]), **more}
    return json.dumps(request).encode()


def with_content(message: dict, *blocks: dict) -> dict:
    return {**message, "content": list(blocks)}


def test_good_requests_pass_as_they_are():
    tools = [{"name": "read", "input_schema": SCHEMA, "strict": True}]
    good = body(ASK, tools=tools, thinking={"type": "adaptive"}, stream=True)
    assert read_request(good) == json.loads(good)


def test_user_messages_in_a_row_are_one_turn():
    read_request(body(ASK, CALL, RESULT, ASK, ASK))
    with pytest.raises(ErrorAnswer, match="without `tool_result`"):
        read_request(body(ASK, CALL, ASK, RESULT))


@pytest.mark.parametrize(
    ("request_body", "words"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "dictionary"),
        (body(temperature=0.5), "temperature: Extra inputs"),
        (body(max_tokens="5"), "max_tokens"),
        (body(messages=[]), "messages"),
        (body(ASK, with_content(CALL, *ASK["content"]), CALL, RESULT), "alternate"),
        (body(with_content(CALL, *ASK["content"]), ASK), "first message"),
        (body(ASK, CALL), "prefill"),
        (body(with_content(ASK, {"type": "text", "text": ""})), "non-whitespace"),
        (body(with_content(ASK, {"type": "text", "text": " \n"})), "non-whitespace"),
        (body(ASK, with_content(CALL, {"type": "text", "text": "\t"}), ASK), "non-whitespace"),
        (body(thinking=DROP), "block_binding"),
        (body(with_content(ASK)), "content"),
        (body(with_content(ASK, CALL["content"][1])), "tool_use"),
        (body(ASK, CALL, ASK), "without `tool_result`"),
        (body(RESULT), "must have one `tool_use`"),
        (body(ASK, CALL, with_content(RESULT, *RESULT["content"] * 2)), "single result"),
        (body(ASK, CALL, with_content(RESULT, *ASK["content"], *RESULT["content"])), "first"),
        (body(ASK, with_content(CALL, *CALL["content"][1:] * 2), RESULT), "unique"),
        (body(ASK, CALL, RESULT, CALL, RESULT), "unique"),
        (body(thinking={"type": "enabled", "budget_tokens": 2000}), "thinking.type"),
        (body(tool_choice={"type": "tool", "name": "read"}), "tool_choice"),
        (body(tools=[{"name": "a", "input_schema": SCHEMA}] * 2), "unique"),
        (body(tools=[{"name": "a b", "input_schema": SCHEMA}]), "tools.0.name"),
        (body(tools=[{"name": "a", "input_schema": {"type": "string"}}]), "'object'"),
        (body(cache_control={"type": "ephemeral", "ttl": "2h"}), "ttl"),
        (body(output_config={"effort": "extreme"}), "effort"),
    ],
)
def test_bad_requests_are_refused_with_a_reason(request_body, words):
    with pytest.raises(ErrorAnswer, match=words) as caught:
        read_request(request_body)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {**SCHEMA, "properties": {"a": {"type": "string", "maxLength": 5}}},
        {**SCHEMA, "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        {**SCHEMA, "properties": {"a": {"anyOf": [{"type": "integer", "minimum": 1}]}}},
        {**SCHEMA, "$defs": {"X": {"type": "array", "items": {"type": "null"}, "minItems": 2}}},
        {**SCHEMA, "properties": {"a": True}},
    ],
)
def test_strict_schemas_hold_only_what_the_api_enforces(schema):
    tool = {"name": "a", "input_schema": schema}
    read_request(body(tools=[tool]))
    with pytest.raises(ErrorAnswer, match="input_schema"):
        read_request(body(tools=[{**tool, "strict": True}]))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m[0]["content"][0].update(text="hello!"),
        lambda m: m[1]["content"][0].update(thinking="u"),
        lambda m: m[1]["content"][0].update(signature="c2ln"),
        lambda m: m.insert(0, ASK) or m.insert(1, {"role": "assistant", "content": "x"}),
    ],
)
def test_thinking_is_bound_to_what_it_was_signed_over(change):
    messages = json.loads(json.dumps([ASK, CALL, RESULT]))
    change(messages)
    with pytest.raises(ErrorAnswer, match="signature"):
        bind(read_request(body(*messages)))


@pytest.mark.parametrize(
    "head",
    [
        {"model": "other"},
        {"system": "You are somebody else."},
        {"tools": [{"name": "read", "input_schema": SCHEMA}]},
    ],
)
def test_thinking_is_bound_to_the_head_of_its_conversation(head):
    with pytest.raises(ErrorAnswer, match=r"messages\.1\.content\.0: Invalid `signature`"):
        bind(read_request(body(ASK, CALL, RESULT, **head)))


def test_unbound_thinking_is_dropped_where_the_request_says_so():
    changed = body(ASK, CALL, RESULT, system="New.", thinking=DROP)
    request = read_request(changed, betas=BETA)
    seen, dropped = bind(request)
    assert (dropped, seen["messages"][1]["content"]) == (1, CALL["content"][1:])
    thought = {"type": "thinking", "thinking": "u", "signature": sign(seen, "u")}
    more = [with_content(CALL, thought), ASK]
    _, dropped = bind(
        read_request(body(ASK, CALL, RESULT, *more, system="New.", thinking=DROP), betas=BETA)
    )
    assert dropped == 1, "what was thought after the change is bound to what was seen"


def test_an_argument_order_that_is_lost_on_the_way_is_noticed():
    later = [ASK, CALL, RESULT]
    thought = {
        "type": "thinking",
        "thinking": "u",
        "signature": sign({"model": "m", "messages": later}, "u"),
    }
    call = {"type": "tool_use", "id": "t2", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t2"}
    more = [with_content(CALL, thought, call), with_content(RESULT, result)]
    bind(read_request(body(*later, *more)))
    swapped = json.loads(json.dumps(later))
    swapped[1]["content"][1]["input"] = {"a": 2, "b": 1}
    with pytest.raises(ErrorAnswer, match=r"messages\.3\.content\.0"):
        bind(read_request(body(*swapped, *more)))


def test_a_key_and_a_version_must_be_there():
    check_headers({"x-api-key": "k", "anthropic-version": "v"})
    check_headers({"authorization": "Bearer k", "anthropic-version": "v"})
    with pytest.raises(ErrorAnswer) as caught:
        check_headers({"anthropic-version": "v"})
    assert caught.value.status == 401
    with pytest.raises(ErrorAnswer, match="anthropic-version"):
        check_headers({"x-api-key": "k"})
